//! The first bytes of a file of partial statistics.

use super::PartialError;
use crate::features::Precision;
use crate::solver::InstructionSet;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Bytes before the sums.
pub const PARTIAL_HEADER: usize = 104;

/// Where the checksum is. It is that of the whole file with zeros in its own place.
pub(super) const CHECKSUM: Range<usize> = 72..104;

const MAGIC: &[u8; 8] = b"BOCHPART";
const VERSION: u32 = 1;

/// The kind of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Moments,
    Gram,
    Profile,
    Errors,
}

impl Pass {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Moments => "moments",
            Self::Gram => "gram",
            Self::Profile => "profile",
            Self::Errors => "errors",
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::Moments => 1,
            Self::Gram => 2,
            Self::Profile => 3,
            Self::Errors => 4,
        }
    }

    fn numbered(number: u32) -> Option<Self> {
        [Self::Moments, Self::Gram, Self::Profile, Self::Errors].into_iter().find(|pass| pass.number() == number)
    }
}

/// What is known of a file before its sums are read.
pub(super) struct Header {
    pub(super) pass: Pass,
    pub(super) spec: [u8; 32],
    /// None where no features are made.
    pub(super) precision: Option<Precision>,
    pub(super) instructions: InstructionSet,
    pub(super) rows: u64,
    pub(super) payload_length: u64,
}

impl Header {
    /// Reads the header, which `start` must hold, without the checksum.
    pub(super) fn read(start: &[u8]) -> Result<Self, PartialError> {
        if !start.starts_with(&MAGIC[..start.len().min(8)]) {
            return Err(PartialError::NotPartial);
        }
        let Some(start) = start.get(..PARTIAL_HEADER) else {
            return Err(PartialError::Truncated { expected: PARTIAL_HEADER as u64, found: start.len() as u64 });
        };
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| start[at + i]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| start[at + i]));
        if short(8) != VERSION {
            return Err(PartialError::OtherVersion { found: short(8) });
        }
        let unknown = |what, at| PartialError::Unknown { what, found: short(at) };
        Ok(Self {
            pass: Pass::numbered(short(12)).ok_or_else(|| unknown("pass", 12))?,
            spec: std::array::from_fn(|i| start[16 + i]),
            precision: match short(48) {
                0 => None,
                32 => Some(Precision::Mixed),
                64 => Some(Precision::Double),
                _ => return Err(unknown("precision", 48)),
            },
            instructions: InstructionSet::numbered(short(52)).ok_or_else(|| unknown("instruction set", 52))?,
            rows: long(56),
            payload_length: long(64),
        })
    }

    /// The header and the sums of a file whose length and checksum are right.
    pub(super) fn split(bytes: &[u8]) -> Result<(Self, &[u8]), PartialError> {
        let header = Self::read(bytes)?;
        let (expected, found) = (header.payload_length.saturating_add(PARTIAL_HEADER as u64), bytes.len() as u64);
        if found < expected {
            return Err(PartialError::Truncated { expected, found });
        }
        if found > expected {
            return Err(PartialError::Appended { extra: found - expected });
        }
        if checksum(bytes) != bytes[CHECKSUM] {
            return Err(PartialError::Damaged);
        }
        Ok((header, &bytes[PARTIAL_HEADER..]))
    }

    /// Writes the header of a file whose sums are there.
    pub(super) fn fill_in(&self, bytes: &mut [u8]) {
        let payload_length = (bytes.len() - PARTIAL_HEADER) as u64;
        let precision: u32 = match self.precision {
            None => 0,
            Some(Precision::Mixed) => 32,
            Some(Precision::Double) => 64,
        };
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.pass.number().to_le_bytes());
        bytes[16..48].copy_from_slice(&self.spec);
        bytes[48..52].copy_from_slice(&precision.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.instructions.number().to_le_bytes());
        bytes[56..64].copy_from_slice(&self.rows.to_le_bytes());
        bytes[64..72].copy_from_slice(&payload_length.to_le_bytes());
        let checksum = checksum(bytes);
        bytes[CHECKSUM].copy_from_slice(&checksum);
    }
}

fn checksum(bytes: &[u8]) -> [u8; 32] {
    let digest = Sha256::new().chain_update(&bytes[..CHECKSUM.start]).chain_update([0; 32]);
    digest.chain_update(&bytes[CHECKSUM.end..]).finalize().into()
}
