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
    /// Zstandard.
    Zstd,
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
    let mut decoded: Box<dyn Read> = match encoding {
        ContentEncoding::Identity => Box::new(source),
        ContentEncoding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(source)),
        ContentEncoding::Zstd => Box::new(zstd::Decoder::new(source).map_err(|error| unreadable(encoding, &error))?),
    };
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut chunk = vec![0; 1 << 16];
    loop {
        let count = decoded.read(&mut chunk).map_err(|error| unreadable(encoding, &error))?;
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

fn unreadable(encoding: ContentEncoding, error: &std::io::Error) -> DatasetError {
    let detail = match encoding {
        ContentEncoding::Identity => format!("the connection broke ({error})"),
        ContentEncoding::Gzip => format!("the gzip stream is damaged or ends early ({error})"),
        ContentEncoding::Zstd => format!("the zstd stream is damaged or ends early ({error})"),
    };
    DatasetError::Unreadable { detail }
}
