//! The first 52 bytes, which both formats have in common.

use super::ArtifactError;
use sha2::{Digest, Sha256};

const MAGIC: [u8; 8] = *b"BOCHNER\0";

/// Bytes of an artifact that tell how long it is.
pub const ARTIFACT_HEADER: usize = 52;

/// The formats that this build reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormatVersion {
    One,
    Two,
}

impl FormatVersion {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    fn of_number(found: u32) -> Result<Self, ArtifactError> {
        [Self::One, Self::Two]
            .into_iter()
            .find(|format| format.number() == found)
            .ok_or(ArtifactError::Format { found })
    }
}

/// The header of an artifact.
pub(super) struct FileHeader {
    pub(super) format: FormatVersion,
    pub(super) payload_length: u64,
    checksum: [u8; 32],
}

impl FileHeader {
    /// Reads the header at the start of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ArtifactError> {
        if bytes.len() < ARTIFACT_HEADER || bytes[..8] != MAGIC {
            return Err(ArtifactError::Magic);
        }
        Ok(Self {
            format: FormatVersion::of_number(u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i])))?,
            payload_length: u64::from_le_bytes(std::array::from_fn(|i| bytes[12 + i])),
            checksum: std::array::from_fn(|i| bytes[20 + i]),
        })
    }

    /// The header and the payload of a whole file, when its length and checksum are right.
    pub(super) fn split(bytes: &[u8]) -> Result<(Self, &[u8]), ArtifactError> {
        let header = Self::read(bytes)?;
        let payload = &bytes[ARTIFACT_HEADER..];
        if header.payload_length != payload.len() as u64 {
            return Err(ArtifactError::Length { stated: header.payload_length, found: payload.len() as u64 });
        }
        if Sha256::digest(payload).as_slice() != header.checksum {
            return Err(ArtifactError::Checksum);
        }
        Ok((header, payload))
    }

    /// Fills in the header of a file whose payload is complete.
    pub(super) fn fill_in(bytes: &mut [u8], format: FormatVersion) {
        let (header, payload) = bytes.split_at_mut(ARTIFACT_HEADER);
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&format.number().to_le_bytes());
        header[12..20].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        header[20..].copy_from_slice(&Sha256::digest(payload));
    }
}
