//! Bytes of an upload onto disk: decoded, limited, hashed, never held whole in memory.

use super::DatasetError;
use crate::files::{TempFile, hex};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};

/// What an upload may cost.
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
    /// Not at all.
    Identity,
    /// gzip, one or more members.
    Gzip,
    /// zlib, which HTTP calls deflate.
    Deflate,
    /// Zstandard.
    Zstd,
}

impl ContentEncoding {
    /// The decoded bytes of `source`.
    pub fn decoder<'a>(self, source: impl Read + 'a) -> std::io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Identity => Box::new(source),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(source)),
            Self::Deflate => Box::new(flate2::read::ZlibDecoder::new(source)),
            Self::Zstd => Box::new(zstd::Decoder::new(source)?),
        })
    }

    /// Words for a stream that does not decode.
    pub fn unreadable(self, error: &std::io::Error) -> String {
        match self {
            Self::Identity => format!("the connection broke ({error})"),
            Self::Gzip => format!("the gzip stream is damaged or ends early ({error})"),
            Self::Deflate => format!("the deflate stream is damaged or ends early ({error})"),
            Self::Zstd => format!("the zstd stream is damaged or ends early ({error})"),
        }
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
