//! The part of a row by a hash of seed, file and row: it needs no list of all rows, and no count of them.

use crate::dataset::Part;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Shares of the labelled rows that are held out. A row falls into a part by its own hash, so that the sizes of the parts are
/// binomial instead of exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HashSplit {
    pub(crate) seed: u64,
    pub(crate) validation: f64,
    pub(crate) calibration: f64,
}

/// What a hash of a row is for; hashes for different uses are independent.
#[derive(Debug, Clone, Copy)]
enum Use {
    Part = 1,
    Sample = 2,
}

impl HashSplit {
    /// A file as rows are hashed with it.
    pub(crate) fn file(name: &str) -> u64 {
        let digest = Sha256::digest(name.as_bytes());
        u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
    }

    /// What a row is used for.
    pub(crate) fn part(&self, (file, row): (u64, u64), labelled: bool) -> Part {
        if !labelled {
            return Part::Unlabelled;
        }
        let place = (self.hash(Use::Part, file, row) >> 11) as f64 / (1_u64 << 53) as f64;
        if place < self.validation {
            Part::Validation
        } else if place < self.validation + self.calibration {
            Part::Calibration
        } else {
            Part::Training
        }
    }

    /// A sample is that of the rows with the smallest of these.
    pub(crate) fn sample_key(&self, (file, row): (u64, u64)) -> u64 {
        self.hash(Use::Sample, file, row)
    }

    fn hash(&self, purpose: Use, file: u64, row: u64) -> u64 {
        mixed(mixed(mixed(self.seed ^ (purpose as u64) << 56) ^ file) ^ row)
    }
}

/// The output function of SplitMix64: every bit of the input changes half of the output. [Steele, Lea & Flood 2014]
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within five standard deviations of the shares, and independent of the choice of the sample.
    #[test]
    fn parts_have_their_shares_in_every_file_and_in_samples() {
        let split = HashSplit { seed: 7, validation: 0.2, calibration: 0.1 };
        for name in ["a.parquet", "b.parquet"] {
            let file = HashSplit::file(name);
            let rows = 0..40_000_u64;
            let count = |rows: &[u64], part| rows.iter().filter(|row| split.part((file, **row), true) == part).count();
            let near = |found: usize, of: usize, share: f64| {
                let spread = (of as f64 * share * (1.0 - share)).sqrt();
                (found as f64 - of as f64 * share).abs() < 5.0 * spread
            };
            let all: Vec<u64> = rows.collect();
            let sampled: Vec<u64> =
                all.iter().copied().filter(|row| split.sample_key((file, *row)) < u64::MAX / 8).collect();
            assert!(near(sampled.len(), all.len(), 0.125));
            for rows in [&all, &sampled] {
                assert!(near(count(rows, Part::Validation), rows.len(), 0.2));
                assert!(near(count(rows, Part::Calibration), rows.len(), 0.1));
            }
            assert_eq!(split.part((file, 3), false), Part::Unlabelled);
        }
    }

    /// A change here would change every model of a table in files.
    #[test]
    fn hashes_stay_what_they_are() {
        let split = HashSplit { seed: 1, validation: 0.5, calibration: 0.0 };
        let file = HashSplit::file("part-00000.parquet");
        let parts: Vec<bool> = (0..16).map(|row| split.part((file, row), true) == Part::Validation).collect();
        let written: String = parts.iter().map(|held_out| if *held_out { 'v' } else { 't' }).collect();
        assert_eq!(written, "vvtvtttvttvtvtvv");
    }
}
