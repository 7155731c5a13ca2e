//! Writes an upload to disk: decompressed, limited and hashed, never held in memory as a whole.

use super::DatasetError;
use crate::storage::files::{TempFile, hex};
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Read, Write};

/// Limits of an upload.
#[derive(Debug, Clone, Copy)]
pub struct UploadLimits {
    /// Bytes after decompression.
    pub bytes: u64,
    /// Columns of the table.
    pub columns: usize,
    /// Distinct values of a text column.
    pub levels: usize,
}

/// How the body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentEncoding {
    /// No compression.
    Identity,
    /// gzip, one or more members.
    Gzip,
    /// zlib, which HTTP calls deflate.
    Deflate,
    /// Zstandard.
    Zstd,
}

/// A zstd stream may use a window of 2 to this power: 8 MiB, the limit for HTTP. [RFC 9659]
const WINDOW_LOG: u32 = 23;

impl ContentEncoding {
    /// The decoded bytes of `source`.
    pub fn decoder<'a>(self, source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Identity => Box::new(source),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(source)),
            Self::Deflate => Box::new(Deflated(flate2::bufread::ZlibDecoder::new(BufReader::new(source)))),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::new(source)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Box::new(decoder)
            }
        })
    }

    /// The error text for a stream that cannot be decoded.
    pub fn unreadable(self, error: &io::Error) -> String {
        match self {
            Self::Identity => format!("the connection was lost ({error})"),
            Self::Gzip => format!("the gzip stream is damaged or ends early ({error})"),
            Self::Deflate => format!("the deflate stream is damaged or ends early ({error})"),
            Self::Zstd => {
                format!("the zstd stream is damaged or ends early, or needs a window of more than 8 MiB ({error})")
            }
        }
    }
}

/// One zlib stream with nothing after it. The decoder alone would ignore trailing bytes.
struct Deflated<R>(flate2::bufread::ZlibDecoder<BufReader<R>>);

impl<R: Read> Read for Deflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        if count == 0 && !buffer.is_empty() && !self.0.get_mut().fill_buf()?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes follow the end of the stream"));
        }
        Ok(count)
    }
}

/// A decoded upload on disk.
pub(super) struct Spool {
    pub(super) file: TempFile,
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// Writes the decoded `source` into `file`.
pub(super) fn spool(
    source: impl Read,
    encoding: ContentEncoding,
    limit: u64,
    mut file: TempFile,
) -> Result<Spool, DatasetError> {
    let unreadable = |error| DatasetError::Unreadable { detail: encoding.unreadable(&error) };
    let mut decoded = encoding.decoder(source).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut chunk = vec![0; 1 << 16];
    loop {
        let count = decoded.read(&mut chunk).map_err(unreadable)?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        if bytes > limit {
            return Err(DatasetError::TooLarge { limit });
        }
        hash.update(&chunk[..count]);
        file.write_all(&chunk[..count])?;
    }
    if bytes == 0 {
        return Err(DatasetError::Empty);
    }
    Ok(Spool { file, bytes, sha256: hex(&hash.finalize()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    #[test]
    fn a_stream_that_asks_for_much_memory_is_refused() {
        for (window_log, fine) in [(WINDOW_LOG, true), (WINDOW_LOG + 1, false), (27, false)] {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(window_log).unwrap();
            encoder.write_all(b"a,b\n1,2\n").unwrap();
            let stream = encoder.finish().unwrap();
            let mut decoded = Vec::new();
            let outcome = ContentEncoding::Zstd.decoder(stream.as_slice()).unwrap().read_to_end(&mut decoded);
            assert_eq!(outcome.is_ok(), fine, "{window_log}");
        }
    }

    #[test]
    fn bytes_after_a_compressed_stream_are_seen() {
        let text = b"a,b\n1,2\n".repeat(1000);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        let streams = [
            (ContentEncoding::Deflate, zlib.finish().unwrap()),
            (ContentEncoding::Gzip, gzip.finish().unwrap()),
            (ContentEncoding::Zstd, zstd::encode_all(text.as_slice(), 1).unwrap()),
        ];
        let decode = |encoding: ContentEncoding, bytes: &[u8]| {
            let mut decoded = Vec::new();
            encoding.decoder(bytes)?.read_to_end(&mut decoded).map(|_| decoded)
        };
        for (encoding, stream) in streams {
            assert_eq!(decode(encoding, &stream).unwrap(), text);
            assert!(decode(encoding, &[&stream, &b"junk"[..]].concat()).is_err(), "{encoding:?}");
            assert!(decode(encoding, &stream[..stream.len() - 3]).is_err(), "{encoding:?}");
            let twice = decode(encoding, &[stream.as_slice(), &stream].concat());
            // gzip and zstd streams may follow each other; zlib has no such thing.
            assert_eq!(twice.ok(), (encoding != ContentEncoding::Deflate).then(|| text.repeat(2)));
        }
    }
}
