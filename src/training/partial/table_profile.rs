//! What is known of a table before training: how many rows each part has, the moments of every column, and a sample.

use super::PartialError;
use crate::dataset::{MOMENT_BYTES, MomentSums};

/// A row of a sample. Rows are compared by this order, whatever their cells are.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledRow {
    /// Of seed, file and row: the smallest are kept.
    pub hash: u64,
    /// The file, as a hash of its name.
    pub file: u64,
    /// Its place in the file, from 0.
    pub row: u64,
    /// One of each column.
    pub cells: Vec<f64>,
}

impl SampledRow {
    /// What decides whether a row is kept, and where.
    pub fn key(&self) -> (u64, u64, u64) {
        (self.hash, self.file, self.row)
    }
}

/// Counts, moments and a sample of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableProfile {
    /// Rows.
    pub rows: u64,
    /// Training, validation, calibration and unlabelled rows.
    pub parts: [u64; 4],
    /// Of each column.
    pub columns: Vec<MomentSums>,
    /// Most rows of the sample.
    pub capacity: u32,
    /// The rows with the smallest keys, in their order.
    pub sample: Vec<SampledRow>,
}

/// Rows, parts, columns, capacity and sampled rows.
const COUNTS: usize = 8 + 4 * 8 + 4 + 4 + 8;

impl TableProfile {
    /// Of no rows.
    pub fn empty(columns: usize, capacity: u32) -> Self {
        Self { rows: 0, parts: [0; 4], columns: vec![MomentSums::EMPTY; columns], capacity, sample: Vec::new() }
    }

    /// Bytes of a profile of so many columns, without its sample.
    pub fn byte_count(columns: usize) -> usize {
        COUNTS + columns * MOMENT_BYTES
    }

    /// Takes in rows of cells for the sample.
    pub fn keep(&mut self, rows: impl Iterator<Item = SampledRow>) {
        let room = self.capacity as usize;
        let last = (self.sample.len() >= room).then(|| self.sample.last().map(SampledRow::key)).flatten();
        self.sample.extend(rows.filter(|row| last.is_none_or(|last| row.key() < last)));
        self.sample.sort_by_key(SampledRow::key);
        self.sample.truncate(room);
    }

    /// Adds the profile of other rows.
    pub fn merge(&mut self, other: &Self) -> Result<(), PartialError> {
        if (self.columns.len(), self.capacity) != (other.columns.len(), other.capacity) {
            return Err(PartialError::OtherColumns);
        }
        self.rows += other.rows;
        self.parts.iter_mut().zip(other.parts).for_each(|(own, more)| *own += more);
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, more)| own.merge(more));
        self.keep(other.sample.iter().cloned());
        Ok(())
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.rows.to_le_bytes());
        self.parts.iter().for_each(|count| bytes.extend(count.to_le_bytes()));
        bytes.extend((self.columns.len() as u32).to_le_bytes());
        bytes.extend(self.capacity.to_le_bytes());
        bytes.extend((self.sample.len() as u64).to_le_bytes());
        self.columns.iter().for_each(|sums| bytes.extend(sums.to_bytes()));
        for SampledRow { hash, file, row, cells } in &self.sample {
            for number in [hash, file, row] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        }
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, PartialError> {
        let (counts, rest) = bytes.split_at_checked(COUNTS).ok_or(PartialError::Inconsistent)?;
        let long = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| counts[at + i]));
        let (columns, capacity, sampled) = (short(40) as usize, short(44), long(counts, 48));
        let row_bytes = 8 * (3 + columns);
        let (moments, sample) = rest.split_at_checked(columns * MOMENT_BYTES).ok_or(PartialError::Inconsistent)?;
        if sampled > u64::from(capacity) || sample.len() as u64 != sampled * row_bytes as u64 {
            return Err(PartialError::Inconsistent);
        }
        let column = |bytes: &[u8]| {
            let bytes: &[u8; MOMENT_BYTES] = bytes.try_into().map_err(|_| PartialError::Inconsistent)?;
            MomentSums::of_bytes(bytes).ok_or(PartialError::Inconsistent)
        };
        let row = |bytes: &[u8]| SampledRow {
            hash: long(bytes, 0),
            file: long(bytes, 8),
            row: long(bytes, 16),
            cells: (0..columns).map(|column| f64::from_bits(long(bytes, 24 + 8 * column))).collect(),
        };
        let profile = Self {
            rows: long(counts, 0),
            parts: std::array::from_fn(|part| long(counts, 8 + 8 * part)),
            columns: moments.chunks_exact(MOMENT_BYTES).map(column).collect::<Result<_, _>>()?,
            capacity,
            sample: sample.chunks_exact(row_bytes).map(row).collect(),
        };
        let of_parts = profile.parts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
        let ordered = profile.sample.is_sorted_by(|one, next| one.key() < next.key());
        let known = profile.sample.iter().flat_map(|row| &row.cells).all(|cell| !cell.is_infinite());
        let sound = of_parts == Some(profile.rows) && sampled <= profile.rows && ordered && known;
        if sound { Ok(profile) } else { Err(PartialError::Inconsistent) }
    }
}
