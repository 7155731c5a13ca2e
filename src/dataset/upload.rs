//! Writes an upload to disk: decompressed, limited and hashed, never held in memory as a whole.

use super::expansion::{Counted, Expanding, ExpandsTooMuch};
use super::formats::records::FileReading;
use super::formats::upload_format::{FileCompression, UploadFormat};
use super::{DatasetError, DatasetStore, Ingested, UploadOptions};
use crate::storage::files::{TempFile, hex};
use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::rc::Rc;

/// Limits of an upload.
#[derive(Debug, Clone, Copy)]
pub struct UploadLimits {
    /// Bytes after decompression.
    pub bytes: u64,
    /// Columns of the table.
    pub columns: usize,
    /// Cells of the table: rows times columns.
    pub cells: usize,
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
        let read = Rc::default();
        let counted = Counted { source, count: Rc::clone(&read) };
        Ok(match self {
            Self::Identity => Box::new(counted.source),
            Self::Gzip => Box::new(Expanding::new(flate2::read::MultiGzDecoder::new(counted), read)),
            Self::Deflate => {
                let decoder = flate2::bufread::ZlibDecoder::new(BufReader::new(counted));
                Box::new(Expanding::new(Deflated(decoder), read))
            }
            Self::Zstd => {
                let mut decoder = zstd::Decoder::new(counted)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Box::new(Expanding::new(decoder, read))
            }
        })
    }

    /// The error text for a stream that cannot be decoded.
    pub fn unreadable(self, error: &io::Error) -> String {
        if let Some(bomb) = error.get_ref().and_then(|cause| cause.downcast_ref::<ExpandsTooMuch>()) {
            return bomb.to_string();
        }
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

/// A decoded upload on disk, not yet looked at.
pub struct Received {
    pub(super) file: TempFile,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    /// The first bytes, by which a format is recognised.
    beginning: Vec<u8>,
}

/// Bytes at the beginning of an upload that are looked at.
const BEGINNING: usize = 1 << 12;

/// Writes the decoded `source` into `file`. If its format is not `declared`, a compressed file is decompressed.
pub(super) fn receive(
    mut source: impl Read,
    encoding: ContentEncoding,
    declared: Option<UploadFormat>,
    limit: u64,
    mut file: TempFile,
) -> Result<Received, DatasetError> {
    let unreadable = |error| DatasetError::Unreadable { detail: encoding.unreadable(&error) };
    let mut first = Vec::new();
    source.by_ref().take(4).read_to_end(&mut first).map_err(unreadable)?;
    let encoding = match (encoding, FileCompression::of(&first), declared) {
        (ContentEncoding::Identity, Some(compression), Some(_)) => {
            let name = compression.name();
            let detail = format!("this is a {name} file: send it with the header `content-encoding: {name}`");
            return Err(DatasetError::WrongFormat { detail });
        }
        (ContentEncoding::Identity, Some(FileCompression::Gzip), None) => ContentEncoding::Gzip,
        (ContentEncoding::Identity, Some(FileCompression::Zstd), None) => ContentEncoding::Zstd,
        (encoding, _, _) => encoding,
    };
    let unreadable = |error| DatasetError::Unreadable { detail: encoding.unreadable(&error) };
    let mut decoded = encoding.decoder(first.as_slice().chain(source)).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut beginning = Vec::new();
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
        beginning.extend_from_slice(&chunk[..count.min(BEGINNING - beginning.len())]);
        hash.update(&chunk[..count]);
        file.write_all(&chunk[..count])?;
    }
    if bytes == 0 {
        return Err(DatasetError::Empty);
    }
    file.flush()?;
    Ok(Received { file, bytes, sha256: hex(&hash.finalize()), beginning })
}

impl Received {
    /// The format, as declared, or as the first bytes or the name of the file say.
    pub(super) fn format(
        &self,
        declared: Option<UploadFormat>,
        file_name: Option<&str>,
    ) -> Result<UploadFormat, DatasetError> {
        let wrong = |detail| Err(DatasetError::WrongFormat { detail });
        let named = declared.or_else(|| file_name.and_then(UploadFormat::of_file_name));
        match (declared, UploadFormat::of_magic(&self.beginning), named) {
            (Some(declared), Some(found), _) if declared != found => {
                wrong(format!("this is {}: send it as {}", found.title(), found.media_type()))
            }
            (_, Some(found), _) => Ok(found),
            (_, None, Some(named @ (UploadFormat::Parquet | UploadFormat::ArrowFile))) => {
                let text = UploadFormat::of_text(&self.beginning);
                wrong(format!(
                    "this is not {}: its first bytes are different; if it is {}, send it as {}",
                    named.title(),
                    text.title(),
                    text.media_type()
                ))
            }
            (_, None, Some(named @ (UploadFormat::Json | UploadFormat::Ndjson))) if !begins_json(&self.beginning) => {
                let text = UploadFormat::of_text(&self.beginning);
                let (title, found, media_type) = (named.title(), text.title(), text.media_type());
                wrong(format!("this is not {title}: it begins like {found}; send it as {media_type}"))
            }
            (_, None, Some(named)) => Ok(named),
            (_, None, None) => Ok(UploadFormat::of_text(&self.beginning)),
        }
    }
}

impl DatasetStore {
    /// With the program that reads Parquet and Arrow files; without it they are refused.
    #[must_use]
    pub fn with_program(mut self, program: Option<PathBuf>) -> Self {
        self.program = program;
        self
    }

    /// Takes in a table. Blocks while the body arrives. A table that is there already is verified, and written again if
    /// it is damaged.
    pub fn ingest(
        &self,
        body: impl Read,
        options: &UploadOptions,
        limits: UploadLimits,
    ) -> Result<Ingested, DatasetError> {
        self.ingest_received(self.receive(body, options.encoding, options.format, limits)?, options, limits)
    }

    /// Writes a body to disk. Blocks while it arrives.
    pub fn receive(
        &self,
        body: impl Read,
        encoding: ContentEncoding,
        format: Option<UploadFormat>,
        limits: UploadLimits,
    ) -> Result<Received, DatasetError> {
        receive(body, encoding, format, limits.bytes, self.directory.temporary_file()?)
    }

    /// Takes in a table that has arrived.
    pub fn ingest_received(
        &self,
        received: Received,
        options: &UploadOptions,
        limits: UploadLimits,
    ) -> Result<Ingested, DatasetError> {
        let format = received.format(options.format, options.file_name.as_deref())?;
        let mut csv = options.csv;
        if options.format.is_none() && format == UploadFormat::Tsv {
            csv.delimiter = b'\t';
        }
        let reading = FileReading { format, csv, limits, program: self.program.as_deref() };
        self.ingest_records(&received, reading, options)
            .map_err(|error| if format.counts_rows() { error.in_rows() } else { error })
    }
}

/// Whether a text begins as JSON tables do.
fn begins_json(beginning: &[u8]) -> bool {
    matches!(UploadFormat::of_text(beginning), UploadFormat::Json | UploadFormat::Ndjson)
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

    /// 1 GiB of one byte, in a few kilobytes.
    #[test]
    fn a_body_that_decompresses_without_end_is_refused_early() {
        let folder = tempfile::tempdir().unwrap();
        let directory = crate::storage::files::DataDir::open(folder.path()).unwrap();
        let bomb = zstd::encode_all(io::repeat(b'1').take(1 << 30), 1).unwrap();
        assert!(bomb.len() < 1 << 17, "{}", bomb.len());
        let file = directory.temporary_file().unwrap();
        let path = file.path().to_owned();
        let outcome = receive(bomb.as_slice(), ContentEncoding::Zstd, None, 4 << 30, file);
        assert!(matches!(outcome, Err(DatasetError::Unreadable { detail }) if detail.contains("256 times as long")));
        assert!(!path.exists());
        let honest = zstd::encode_all(&vec![b'1'; 1 << 20][..], 1).unwrap();
        let file = directory.temporary_file().unwrap();
        assert_eq!(receive(honest.as_slice(), ContentEncoding::Zstd, None, 4 << 30, file).unwrap().bytes, 1 << 20);
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
