//! The file format of a fitted model; the only folder that names bincode.
//!
//! ```text
//! offset  bytes
//!      0      8  magic "BOCHNER\0"
//!      8      4  format, little-endian
//!     12      8  payload length, little-endian
//!     20     32  SHA-256 of the payload
//!     52      …  payload
//! ```
//!
//! Format 2 is written; formats 1 and 2 are read. `docs/artifact-format.md` describes both byte by byte. Files are
//! treated as hostile: magic, format, length and checksum are checked before anything is decoded, shapes and finiteness
//! after. The bytes depend on the data, the spec and the seed alone, so training twice gives the same file.

/// Why an artifact was refused.
mod error;

/// The first 52 bytes.
mod header;

/// The parts of a model as files hold them.
mod stored;

/// Format 1.
mod v1;

/// Format 2.
mod v2;

/// Whether the parts of a model fit each other.
pub(crate) mod soundness;

pub use error::ArtifactError;
pub use header::ARTIFACT_HEADER;

use super::FittedModel;
use crate::storage::files::hex;
use header::{FileHeader, FormatVersion};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::Read;

/// The artifact of a model.
pub fn encode(model: &FittedModel) -> Result<Vec<u8>, ArtifactError> {
    let mut bytes = vec![0; ARTIFACT_HEADER]; // filled in when the payload is known
    v2::write(model, &mut bytes)?;
    FileHeader::fill_in(&mut bytes, FormatVersion::Two);
    Ok(bytes)
}

/// The model of an artifact.
pub fn decode(bytes: &[u8]) -> Result<FittedModel, ArtifactError> {
    let (header, payload) = FileHeader::split(bytes)?;
    let model = match header.format {
        FormatVersion::One => v1::read(payload),
        FormatVersion::Two => v2::read(payload),
    }?;
    soundness::check(&model)?;
    Ok(model)
}

/// The model of an artifact that streams in. The header is checked before the payload is read, and memory grows with
/// the bytes that arrive, not with the length that the header states.
pub fn read_artifact(mut source: impl Read, limit: u64) -> Result<FittedModel, ArtifactError> {
    let mut bytes = Vec::new();
    source.by_ref().take(ARTIFACT_HEADER as u64).read_to_end(&mut bytes).map_err(ArtifactError::Read)?;
    let left = artifact_length(&bytes, limit)? - ARTIFACT_HEADER as u64;
    // One byte more, so that something appended is seen.
    source.take(left + 1).read_to_end(&mut bytes).map_err(ArtifactError::Read)?;
    decode(&bytes)
}

/// The length of an artifact by its header, which `start` must hold; its payload may have `limit` bytes.
pub fn artifact_length(start: &[u8], limit: u64) -> Result<u64, ArtifactError> {
    let stated = FileHeader::read(start)?.payload_length;
    if stated > limit {
        return Err(ArtifactError::TooLarge { stated, limit });
    }
    Ok(ARTIFACT_HEADER as u64 + stated)
}

/// What is known of an artifact before it is decoded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArtifactHeader {
    /// 1 or 2.
    pub format_version: u32,
    /// Of the whole file.
    pub bytes: usize,
    /// Of the whole file, as the registry has it; the header's own checksum is that of the payload.
    pub sha256: String,
}

/// The header of an artifact whose length and checksum are right.
pub fn read_header(bytes: &[u8]) -> Result<ArtifactHeader, ArtifactError> {
    let (header, _) = FileHeader::split(bytes)?;
    Ok(ArtifactHeader {
        format_version: header.format.number(),
        bytes: bytes.len(),
        sha256: hex(&Sha256::digest(bytes)),
    })
}
