//! The moments of a column from those of its blocks, without rounding in between.

use super::ColumnMoments;
use crate::sums::{EXACT_SUM_BYTES, ExactSum};

/// Bytes of the sums of one column.
pub const MOMENT_BYTES: usize = 5 * 8 + 2 * EXACT_SUM_BYTES;

/// Sums over blocks of rows of one column: the same in any order of the blocks and for any tree of merges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentSums {
    count: u64,
    missing: u64,
    /// Σ of count·mean over the blocks.
    values: ExactSum,
    /// Σ of squares + count·mean² over the blocks.
    squares: ExactSum,
    /// Of a block whose moments are not finite.
    overflowed: bool,
    min: f64,
    max: f64,
}

impl MomentSums {
    /// Of no block.
    pub const EMPTY: Self = Self {
        count: 0,
        missing: 0,
        values: ExactSum::ZERO,
        squares: ExactSum::ZERO,
        overflowed: false,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
    };

    /// Adds a block.
    pub fn add(&mut self, block: &ColumnMoments) {
        self.missing += block.missing;
        if block.count == 0.0 {
            return;
        }
        let count = block.count as u64;
        self.count += count;
        if block.mean.is_finite() && block.squares.is_finite() {
            self.values.add_product(count, block.mean, 1.0);
            self.squares.add_product(count, block.mean, block.mean);
            self.squares.add(block.squares);
        } else {
            self.overflowed = true;
        }
        self.min = self.min.min(block.min);
        self.max = self.max.max(block.max);
    }

    /// Adds the blocks of another.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.missing += other.missing;
        self.values.merge(&other.values);
        self.squares.merge(&other.squares);
        self.overflowed |= other.overflowed;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The sums as bytes: counts, Σx, Σx², whether squares overflowed, smallest and largest value.
    pub fn to_bytes(&self) -> [u8; MOMENT_BYTES] {
        let mut bytes = Vec::with_capacity(MOMENT_BYTES);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.missing.to_le_bytes());
        bytes.extend(self.values.to_bytes());
        bytes.extend(self.squares.to_bytes());
        bytes.extend(u64::from(self.overflowed).to_le_bytes());
        bytes.extend(self.min.to_le_bytes());
        bytes.extend(self.max.to_le_bytes());
        std::array::from_fn(|at| bytes[at])
    }

    /// The sums of these bytes; none where the smallest and the largest value are not those of so many values.
    pub fn of_bytes(bytes: &[u8; MOMENT_BYTES]) -> Option<Self> {
        const AFTER: usize = 16 + 2 * EXACT_SUM_BYTES;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let sum = |at: usize| ExactSum::of_bytes(&std::array::from_fn(|i| bytes[at + i]));
        let sums = Self {
            count: number(0),
            missing: number(8),
            values: sum(16),
            squares: sum(16 + EXACT_SUM_BYTES),
            overflowed: match number(AFTER) {
                0 => false,
                1 => true,
                _ => return None,
            },
            min: f64::from_bits(number(AFTER + 8)),
            max: f64::from_bits(number(AFTER + 16)),
        };
        let sound = if sums.count == 0 {
            (sums.min, sums.max) == (f64::INFINITY, f64::NEG_INFINITY)
        } else {
            sums.min.is_finite() && sums.max.is_finite() && sums.min <= sums.max
        };
        sound.then_some(sums)
    }

    /// The moments of all blocks. Σ(x − p)² = Σx² − 2pΣx + np² has no rounding error for any p; the one that is near the
    /// mean leaves the little that is between them to subtract.
    pub fn moments(&self) -> ColumnMoments {
        let empty = ColumnMoments { missing: self.missing, ..ColumnMoments::EMPTY };
        if self.count == 0 {
            return empty;
        }
        let count = self.count as f64;
        let (min, max) = (self.min, self.max);
        if max <= min {
            return ColumnMoments { count, mean: min, min, max, ..empty };
        }
        let near = (self.values.to_f64() / count).clamp(min, max);
        if self.overflowed || !near.is_finite() {
            return ColumnMoments { count, mean: near, squares: f64::INFINITY, min, max, ..empty };
        }
        let (mut left, mut squares) = (self.values, self.squares);
        for piece in self.values.pieces() {
            squares.add_product(2, -near, piece);
        }
        squares.add_product(self.count, near, near);
        left.add_product(self.count, -near, 1.0);
        let left = left.to_f64();
        let squares = (squares.to_f64() - left * left / count).max(0.0);
        ColumnMoments { count, mean: near + left / count, squares, min, max, ..empty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(values: &[f64]) -> ColumnMoments {
        let mut moments = ColumnMoments::EMPTY;
        for value in values {
            moments.observe(*value);
        }
        moments
    }

    fn sums(blocks: &[&[f64]]) -> MomentSums {
        let mut sums = MomentSums::EMPTY;
        for values in blocks {
            sums.add(&block(values));
        }
        sums
    }

    #[test]
    fn they_are_those_of_all_values() {
        let blocks: [&[f64]; 3] = [&[1e9 + 1.0, f64::NAN, 1e9 + 4.0], &[1e9 - 2.0], &[1e9 + 7.5, f64::NAN, 1e9]];
        let (found, whole) = (sums(&blocks).moments(), block(&blocks.concat()));
        assert_eq!((found.missing, found.count, found.min, found.max), (2, 5.0, 1e9 - 2.0, 1e9 + 7.5));
        assert_eq!(found.mean, 1e9 + 2.1);
        // Σ(x − mean)² by hand, from 1, 4, −2, 7.5 and 0.
        assert!((found.squares - 55.2).abs() < 1e-5 && (whole.squares - 55.2).abs() < 1e-5, "{}", found.squares);
        assert_eq!(sums(&[&[]]).moments().variance(), 0.0);
    }

    #[test]
    fn neither_the_order_of_blocks_nor_the_tree_of_merges_shows() {
        let values: Vec<f64> = (0..900).map(|i| (f64::from(i) * 0.37).sin() * 10_f64.powi(i % 9) + 1e5).collect();
        let blocks: Vec<&[f64]> = values.chunks(100).collect();
        let whole = sums(&blocks);
        let reversed: Vec<&[f64]> = blocks.iter().rev().copied().collect();
        let mut merged = sums(&reversed[4..]);
        merged.merge(&sums(&reversed[..4]));
        assert_eq!(merged, whole);
    }

    /// What the squares of blocks cannot hold is told from what they can, and constant columns of any size stay so.
    #[test]
    fn large_numbers() {
        assert_eq!(sums(&[&[1e300, 1e300], &[1e300]]).moments().squares, 0.0);
        assert_eq!(sums(&[&[1e300], &[1e300]]).moments().mean, 1e300);
        assert_eq!(sums(&[&[1e200], &[-1e200]]).moments().squares, f64::INFINITY);
        assert_eq!(sums(&[&[1e200, -1e200], &[1.0]]).moments().variance(), f64::INFINITY);
        assert!((sums(&[&[1e153], &[-1e153]]).moments().squares / 2e306 - 1.0).abs() < 1e-14);
    }
}
