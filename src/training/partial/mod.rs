//! Partial statistics: what one pass over some of the rows found, as a value that merges and a file that travels.
//!
//! Sums of integers do not depend on their order, so the bytes of merged statistics depend neither on how the rows were cut
//! into parts nor on which parts were merged first. `docs/distributed.md` describes the bytes. Files are treated as hostile:
//! magic, version, length and checksum are checked before anything is decoded or allocated by a number from the file.

/// Why statistics were refused.
mod error;

/// The first bytes of a file.
mod header;

/// Moments of the columns of a table.
mod table_moments;

/// What is known of a table before training: counts, moments and a sample.
mod table_profile;

pub use error::PartialError;
pub use header::PARTIAL_HEADER;
pub use table_moments::TableMoments;
pub use table_profile::{SampledRow, TableProfile};

use crate::features::Precision;
use crate::solver::{GramSums, InstructionSet};
use header::{Header, Pass};
use std::io::Read;

/// The statistics of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Partial {
    /// SHA-256 of what the pass was asked to do: statistics of different tasks do not add up.
    pub spec: [u8; 32],
    /// The instructions they were computed with, since other instructions may round otherwise.
    pub instructions: InstructionSet,
    /// What was summed.
    pub statistics: PassStatistics,
}

/// The statistics of one kind of pass.
#[derive(Debug, Clone, PartialEq)]
pub enum PassStatistics {
    /// Moments of inputs and targets.
    Moments(Box<TableMoments>),
    /// A Gram matrix and the sums beside it, of features in this precision.
    Gram(Precision, Box<GramSums>),
    /// Counts, moments of all columns and a sample of the rows.
    Profile(Box<TableProfile>),
    /// Moments of the absolute errors of a function, as inputs, and of the targets.
    Errors(Box<TableMoments>),
}

impl Partial {
    /// Adds the statistics of other rows. Refused by name unless both come of the same pass by the same spec, precision and
    /// instructions; these statistics are then of no use only if their sum is beyond the grid.
    pub fn merge(&mut self, other: &Self) -> Result<(), PartialError> {
        let (own, its) = (self.header(), other.header());
        if own.pass != its.pass {
            return Err(PartialError::OtherPass { own: own.pass.name(), other: its.pass.name() });
        }
        if own.spec != its.spec {
            return Err(PartialError::OtherSpec);
        }
        if own.precision != its.precision {
            return Err(PartialError::OtherPrecision);
        }
        if own.instructions != its.instructions {
            let (own, other) = (own.instructions.name(), its.instructions.name());
            return Err(PartialError::OtherInstructions { own, other });
        }
        match (&mut self.statistics, &other.statistics) {
            (PassStatistics::Moments(sums), PassStatistics::Moments(more))
            | (PassStatistics::Errors(sums), PassStatistics::Errors(more)) => sums.merge(more),
            (PassStatistics::Gram(_, sums), PassStatistics::Gram(_, more)) => Ok(sums.merge(more)?),
            (PassStatistics::Profile(sums), PassStatistics::Profile(more)) => sums.merge(more),
            (
                PassStatistics::Moments(_)
                | PassStatistics::Gram(..)
                | PassStatistics::Profile(_)
                | PassStatistics::Errors(_),
                _,
            ) => Err(PartialError::OtherPass { own: own.pass.name(), other: its.pass.name() }),
        }
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; PARTIAL_HEADER]; // filled in when the rest is known
        match &self.statistics {
            PassStatistics::Moments(moments) | PassStatistics::Errors(moments) => moments.write(&mut bytes),
            PassStatistics::Gram(_, sums) => sums.write(&mut bytes),
            PassStatistics::Profile(profile) => profile.write(&mut bytes),
        }
        self.header().fill_in(&mut bytes);
        bytes
    }

    /// The statistics of a file.
    pub fn decode(bytes: &[u8]) -> Result<Self, PartialError> {
        let (header, payload) = Header::split(bytes)?;
        let Header { spec, instructions, rows, .. } = header;
        let statistics = match (header.pass, header.precision) {
            (Pass::Moments, None) => PassStatistics::Moments(Box::new(TableMoments::read(payload)?)),
            (Pass::Gram, Some(precision)) => PassStatistics::Gram(
                precision,
                Box::new(GramSums::read(rows, payload).ok_or(PartialError::Inconsistent)?),
            ),
            (Pass::Profile, None) => PassStatistics::Profile(Box::new(TableProfile::read(payload)?)),
            (Pass::Errors, None) => PassStatistics::Errors(Box::new(TableMoments::read(payload)?)),
            (Pass::Moments | Pass::Profile | Pass::Errors, Some(_)) | (Pass::Gram, None) => {
                return Err(PartialError::Inconsistent);
            }
        };
        let partial = Self { spec, instructions, statistics };
        if partial.header().rows == rows { Ok(partial) } else { Err(PartialError::Inconsistent) }
    }

    /// Adds all of several files that follow each other to a total, which is none before the first.
    pub fn add_all(total: &mut Option<Self>, mut source: impl Read, limit: u64) -> Result<(), PartialError> {
        while let Some(partial) = Self::read_next(&mut source, limit)? {
            match total {
                None => *total = Some(partial),
                Some(total) => total.merge(&partial)?,
            }
        }
        Ok(())
    }

    /// The next of several files that follow each other, of at most `limit` bytes; none at the end of the source. The header is
    /// checked before the rest is read, and memory grows with the bytes that arrive, not with the length that the header states.
    fn read_next(source: &mut impl Read, limit: u64) -> Result<Option<Self>, PartialError> {
        let mut bytes = Vec::new();
        source.by_ref().take(PARTIAL_HEADER as u64).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let stated = Header::read(&bytes)?.payload_length;
        if stated > limit {
            return Err(PartialError::TooLarge { stated, limit });
        }
        source.take(stated).read_to_end(&mut bytes)?;
        Self::decode(&bytes).map(Some)
    }

    /// Rows that these are statistics of.
    pub fn row_count(&self) -> u64 {
        self.header().rows
    }

    fn header(&self) -> Header {
        let (pass, precision, rows) = match &self.statistics {
            PassStatistics::Moments(moments) => (Pass::Moments, None, moments.rows),
            PassStatistics::Gram(precision, sums) => (Pass::Gram, Some(*precision), sums.row_count()),
            PassStatistics::Profile(profile) => (Pass::Profile, None, profile.rows),
            PassStatistics::Errors(moments) => (Pass::Errors, None, moments.rows),
        };
        let Self { spec, instructions, .. } = self;
        Header { pass, spec: *spec, precision, instructions: *instructions, rows, payload_length: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{ColumnMoments, MomentSums};
    use crate::solver::{BlockGram, GramGrid, Reach, Width};
    use crate::sums::ExactSum;
    use ndarray::Array2;
    use sha2::{Digest, Sha256};

    fn gram(width: Width, rows: usize) -> Partial {
        let number = |(i, j): (usize, usize)| ((i * 31 + j * 17) as f64 * 0.37).sin();
        let (features, targets) = (Array2::from_shape_fn((rows, 5), number), Array2::from_shape_fn((rows, 2), number));
        let reach = Reach { feature: 1.0, weight: 1000.0, targets: vec![1.0, 1.0] };
        let mut sums = GramSums::new(5, GramGrid::new(&reach, width));
        sums.add(&[BlockGram::of(features, targets.view(), None)], 1).unwrap();
        let statistics = PassStatistics::Gram(Precision::Double, Box::new(sums));
        Partial { spec: [7; 32], instructions: InstructionSet::of_this_machine(), statistics }
    }

    fn moments(values: &[f64]) -> Partial {
        let mut column = ColumnMoments::EMPTY;
        for value in values {
            column.observe(*value);
        }
        let mut sums = MomentSums::EMPTY;
        sums.add(&column);
        let mut weight = ExactSum::ZERO;
        weight.add(values.len() as f64);
        let moments = TableMoments {
            rows: values.len() as u64,
            weight,
            inputs: vec![sums, MomentSums::EMPTY],
            targets: vec![sums],
        };
        let statistics = PassStatistics::Moments(Box::new(moments));
        Partial { spec: [9; 32], instructions: InstructionSet::of_this_machine(), statistics }
    }

    /// Of rows whose hashes are these.
    fn profile(hashes: &[u64]) -> Partial {
        let mut profile = TableProfile::empty(2, 3);
        profile.rows = hashes.len() as u64;
        profile.parts = [profile.rows, 0, 0, 0];
        let row = |hash: &u64| SampledRow { hash: *hash, file: 1, row: 7 * hash, cells: vec![*hash as f64, f64::NAN] };
        profile.keep(hashes.iter().map(row));
        let statistics = PassStatistics::Profile(Box::new(profile));
        Partial { spec: [5; 32], instructions: InstructionSet::of_this_machine(), statistics }
    }

    fn all() -> [Partial; 4] {
        let moments = moments(&[1.5, f64::NAN, -1e300, 4.0]);
        [gram(Width::Narrow, 40), gram(Width::Wide, 9), moments, profile(&[9, 2, 4, 7])]
    }

    /// Whatever the order, the rows with the smallest hashes are kept.
    #[test]
    fn samples_merge_to_the_sample_of_all_rows() {
        let merged = |parts: &[&[u64]]| {
            let mut total = profile(parts[0]);
            parts[1..].iter().for_each(|part| total.merge(&profile(part)).unwrap());
            total.encode()
        };
        let whole = merged(&[&[8, 3, 5, 1, 9, 2]]);
        for parts in [[&[8_u64, 3][..], &[5, 1, 9, 2]], [&[5, 1, 9, 2], &[3, 8]], [&[], &[1, 2, 3, 5, 8, 9]]] {
            assert_eq!(merged(&parts), whole);
        }
        assert_eq!(merged(&[&[1], &[9], &[2, 8], &[5, 3]]), whole);
        let PassStatistics::Profile(found) = Partial::decode(&whole).unwrap().statistics else { panic!() };
        assert_eq!(found.sample.iter().map(|row| row.hash).collect::<Vec<_>>(), [1, 2, 3]);
    }

    /// The file with its checksum made right again, as a hostile writer would.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes[header::CHECKSUM].fill(0);
        let checksum = Sha256::digest(&bytes);
        bytes[header::CHECKSUM].copy_from_slice(&checksum);
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        for partial in all() {
            let bytes = partial.encode();
            assert_eq!(Partial::decode(&bytes).unwrap().encode(), bytes);
            assert_eq!(Partial::read_next(&mut &bytes[..], 1 << 20).unwrap().unwrap().encode(), bytes);
            assert_eq!(sealed(bytes.clone()), bytes);
            let refusal = Partial::read_next(&mut &bytes[..], 100).unwrap_err();
            assert!(matches!(refusal, PartialError::TooLarge { limit: 100, .. }), "{refusal}");
        }
    }

    #[test]
    fn a_file_that_was_cut_or_changed_or_added_to_is_refused() {
        for partial in all() {
            let bytes = partial.encode();
            for length in 0..bytes.len() {
                assert!(Partial::decode(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
            }
            let cut = Partial::decode(&bytes[..bytes.len() - 1]).unwrap_err();
            assert!(matches!(cut, PartialError::Truncated { .. }), "{cut}");
            let longer = [&bytes[..], &[0]].concat();
            assert!(matches!(Partial::decode(&longer), Err(PartialError::Appended { .. })));
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                assert!(Partial::decode(&changed).is_err(), "byte {at}");
            }
        }
        assert!(matches!(Partial::decode(b"PK\x03\x04 and so on"), Err(PartialError::NotPartial)));
    }

    /// With a right checksum, what the numbers say must still fit.
    #[test]
    fn files_that_contradict_themselves_are_refused() {
        let bytes = gram(Width::Narrow, 40).encode();
        let with = |range: std::ops::Range<usize>, value: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[range].copy_from_slice(value);
            Partial::decode(&sealed(bytes))
        };
        let refusal = with(8..12, &2_u32.to_le_bytes()).unwrap_err();
        assert!(refusal.to_string().contains("version 2; this build reads 1"), "{refusal}");
        assert!(matches!(with(12..16, &77_u32.to_le_bytes()), Err(PartialError::Unknown { .. })));
        assert!(matches!(with(12..16, &1_u32.to_le_bytes()), Err(PartialError::Inconsistent)));
        assert!(matches!(with(52..56, &99_u32.to_le_bytes()), Err(PartialError::Unknown { .. })));
        let payload = PARTIAL_HEADER;
        let mut unordered = profile(&[1, 2]);
        if let PassStatistics::Profile(profile) = &mut unordered.statistics {
            profile.sample.reverse();
        }
        assert!(matches!(Partial::decode(&unordered.encode()), Err(PartialError::Inconsistent)));
        for (offset, value) in [(0, 64_u32), (0, 128), (4, u32::MAX), (4, 6), (8, 1 << 30), (12, 1 << 20)] {
            let refusal = with(payload + offset..payload + offset + 4, &value.to_le_bytes());
            assert_eq!(refusal.is_ok(), offset == 0 && value == 64, "{offset} {value}");
        }
        // The first number of the diagonal, beyond the grid.
        let first = payload + 20 + 2 * 4;
        assert!(matches!(with(first..first + 8, &i64::MAX.to_le_bytes()), Err(PartialError::Inconsistent)));
        assert!(matches!(with(first..first + 8, &(-1_i64).to_le_bytes()), Err(PartialError::Inconsistent)));
    }

    #[test]
    fn statistics_that_do_not_belong_together_are_refused_by_name() {
        let refusal = |change: &dyn Fn(&mut Partial)| {
            let mut other = gram(Width::Narrow, 40);
            change(&mut other);
            gram(Width::Narrow, 40).merge(&other).unwrap_err()
        };
        assert!(matches!(refusal(&|other| other.spec[3] = 0), PartialError::OtherSpec));
        let other_set = |other: &mut Partial| {
            other.instructions = match other.instructions {
                InstructionSet::Scalar => InstructionSet::Avx2,
                InstructionSet::Avx2 | InstructionSet::Avx512 | InstructionSet::Neon => InstructionSet::Scalar,
            };
        };
        let mixed = refusal(&other_set);
        assert!(matches!(mixed, PartialError::OtherInstructions { .. }) && mixed.to_string().contains("scalar"));
        assert!(matches!(refusal(&|other| *other = moments(&[1.0])), PartialError::OtherPass { .. }));
        assert!(matches!(refusal(&|other| *other = gram(Width::Wide, 40)), PartialError::Sums(_)));
        let mixed = |other: &mut Partial| {
            if let PassStatistics::Gram(precision, _) = &mut other.statistics {
                *precision = Precision::Mixed;
            }
        };
        assert!(matches!(refusal(&mixed), PartialError::OtherPrecision));
        let mut first = moments(&[1.0]);
        let mut second = moments(&[1.0]);
        if let PassStatistics::Moments(moments) = &mut second.statistics {
            moments.inputs.pop();
        }
        assert!(first.merge(&second).is_err());
    }
}
