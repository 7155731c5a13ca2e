//! The moments of the columns of a table, as one pass finds them.

use super::PartialError;
use crate::dataset::{MOMENT_BYTES, MomentSums};
use crate::sums::{EXACT_SUM_BYTES, ExactSum};

/// Moments of all inputs and targets over some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMoments {
    /// Rows.
    pub rows: u64,
    /// What the weights of the rows sum to; their number without weights.
    pub weight: ExactSum,
    /// Of each encoded input.
    pub inputs: Vec<MomentSums>,
    /// Of each target.
    pub targets: Vec<MomentSums>,
}

/// Rows, inputs and targets.
const COUNTS: usize = 16;

impl TableMoments {
    /// Bytes of the moments of so many inputs and targets.
    pub fn byte_count(columns: usize) -> usize {
        COUNTS + EXACT_SUM_BYTES + columns * MOMENT_BYTES
    }

    /// Adds the moments of other rows.
    pub fn merge(&mut self, other: &Self) -> Result<(), PartialError> {
        if (self.inputs.len(), self.targets.len()) != (other.inputs.len(), other.targets.len()) {
            return Err(PartialError::OtherColumns);
        }
        self.rows += other.rows;
        self.weight.merge(&other.weight);
        let columns = self.inputs.iter_mut().chain(&mut self.targets);
        columns.zip(other.inputs.iter().chain(&other.targets)).for_each(|(sums, more)| sums.merge(more));
        Ok(())
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.rows.to_le_bytes());
        bytes.extend((self.inputs.len() as u32).to_le_bytes());
        bytes.extend((self.targets.len() as u32).to_le_bytes());
        bytes.extend(self.weight.to_bytes());
        self.inputs.iter().chain(&self.targets).for_each(|sums| bytes.extend(sums.to_bytes()));
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, PartialError> {
        let (counts, rest) = bytes.split_at_checked(COUNTS).ok_or(PartialError::Inconsistent)?;
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| counts[at + i])) as usize;
        let rows = u64::from_le_bytes(std::array::from_fn(|i| counts[i]));
        let (inputs, targets) = (short(8), short(12));
        let (weight, columns) = rest.split_at_checked(EXACT_SUM_BYTES).ok_or(PartialError::Inconsistent)?;
        if columns.len() != (inputs + targets) * MOMENT_BYTES {
            return Err(PartialError::Inconsistent);
        }
        let weight: &[u8; EXACT_SUM_BYTES] = weight.try_into().map_err(|_| PartialError::Inconsistent)?;
        let column = |bytes: &[u8]| -> Result<MomentSums, PartialError> {
            let bytes: &[u8; MOMENT_BYTES] = bytes.try_into().map_err(|_| PartialError::Inconsistent)?;
            MomentSums::of_bytes(bytes).ok_or(PartialError::Inconsistent)
        };
        let mut columns = columns.chunks_exact(MOMENT_BYTES).map(column);
        Ok(Self {
            rows,
            weight: ExactSum::of_bytes(weight),
            inputs: columns.by_ref().take(inputs).collect::<Result<_, _>>()?,
            targets: columns.collect::<Result<_, _>>()?,
        })
    }
}
