//! The sums of a Gram matrix as bytes: the grid, then one flat list of integers.

use super::gram_grid::{GramGrid, Width};
use super::gram_sums::{GramSums, Products};
use crate::sums::GridInt;
use ndarray::Array2;

/// Width, features, two exponents, targets.
const SIZES: usize = 20;

/// Exponents of bounds of f64 lie within.
const EXPONENTS: std::ops::RangeInclusive<i32> = -1_100..=1_100;

impl GramSums {
    /// Bytes of the sums of s features and k targets, where the integers of the matrix have 64 bits.
    pub fn narrow_byte_count(s: usize, k: usize) -> usize {
        SIZES + 4 * k + 8 * (s * (s + 1) / 2) + 16 * (k * s + s + 2 * k + 1)
    }

    /// Appends the sums: integers in two's complement, little-endian.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        if let Width::Narrow = self.grid.width {
            bytes.reserve_exact(Self::narrow_byte_count(self.features.len(), self.targets.len()));
        }
        let width: u32 = match self.grid.width {
            Width::Narrow => 64,
            Width::Wide => 128,
        };
        bytes.extend(width.to_le_bytes());
        bytes.extend((self.features.len() as u32).to_le_bytes());
        bytes.extend(self.grid.feature.to_le_bytes());
        bytes.extend(self.grid.weight.to_le_bytes());
        bytes.extend((self.targets.len() as u32).to_le_bytes());
        self.grid.targets.iter().for_each(|target| bytes.extend(target.to_le_bytes()));
        match &self.products {
            Products::Narrow(sums) => write_triangle(sums, bytes, |sum, bytes| bytes.extend(sum.to_le_bytes())),
            Products::Wide(sums) => write_triangle(sums, bytes, |sum, bytes| bytes.extend(sum.to_le_bytes())),
        }
        let beside = [&self.moments, &self.features, &self.targets, &self.target_squares];
        beside.into_iter().flatten().chain([&self.weight]).for_each(|sum| bytes.extend(sum.to_le_bytes()));
    }

    /// The sums over `rows` rows that some bytes are; none where they are not sums. Nothing is allocated before the sizes that
    /// the bytes state are found to be theirs.
    pub fn read(rows: u64, bytes: &[u8]) -> Option<Self> {
        let (sizes, rest) = bytes.split_at_checked(SIZES)?;
        let number = |at: usize| i32::from_le_bytes(std::array::from_fn(|i| sizes[at + i]));
        let width = match number(0) {
            64 => Width::Narrow,
            128 => Width::Wide,
            _ => return None,
        };
        let (s, k) = (u64::from(number(4).cast_unsigned()), u64::from(number(16).cast_unsigned()));
        let triangle = u128::from(s) * u128::from(s + 1) / 2 * u128::from(number(0).unsigned_abs()) / 8;
        let beside = (u128::from(k) * u128::from(s) + u128::from(s) + 2 * u128::from(k) + 1) * 16;
        if rest.len() as u128 != 4 * u128::from(k) + triangle + beside || s == 0 {
            return None;
        }
        let (s, k) = (s as usize, k as usize);
        let (targets, rest) = rest.split_at(4 * k);
        let exponent = |bytes: &[u8]| i32::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        let grid = GramGrid {
            width,
            feature: number(8),
            weight: number(12),
            targets: targets.chunks_exact(4).map(exponent).collect(),
        };
        let exponents = grid.targets.iter().chain([&grid.feature, &grid.weight]);
        if !exponents.into_iter().all(|exponent| EXPONENTS.contains(exponent)) {
            return None;
        }
        let (triangle, beside) = rest.split_at(triangle as usize);
        let mut sums = Self::new(s, grid);
        match &mut sums.products {
            Products::Narrow(sums) => read_triangle(sums, triangle, |bytes: &[u8; 8]| i64::from_le_bytes(*bytes))?,
            Products::Wide(sums) => read_triangle(sums, triangle, |bytes: &[u8; 16]| i128::from_le_bytes(*bytes))?,
        }
        let (integers, _) = beside.as_chunks::<16>();
        let mut integers = integers.iter().map(|bytes: &[u8; 16]| i128::from_le_bytes(*bytes));
        for list in [&mut sums.moments, &mut sums.features, &mut sums.targets, &mut sums.target_squares] {
            list.iter_mut().zip(&mut integers).for_each(|(sum, integer)| *sum = integer);
        }
        sums.weight = integers.next()?;
        sums.sample_count = rows;
        let beside = [&sums.moments, &sums.features, &sums.targets, &sums.target_squares];
        let fit = beside.into_iter().flatten().all(|sum| sum.fits()) && sums.weight.fits();
        let signs = sums.target_squares.iter().chain([&sums.weight]).all(|sum| *sum >= 0);
        (fit && signs).then_some(sums)
    }
}

fn write_triangle<I: GridInt>(sums: &Array2<I>, bytes: &mut Vec<u8>, write: impl Fn(I, &mut Vec<u8>)) {
    for (row, sums) in sums.rows().into_iter().enumerate() {
        sums.iter().take(row + 1).for_each(|sum| write(*sum, bytes));
    }
}

/// None where a sum is beyond the limit, or one of squares below zero.
fn read_triangle<I: GridInt, const N: usize>(
    sums: &mut Array2<I>,
    bytes: &[u8],
    read: impl Fn(&[u8; N]) -> I,
) -> Option<()> {
    let (chunks, _) = bytes.as_chunks::<N>();
    let mut integers = chunks.iter().map(read);
    for (row, mut sums) in sums.rows_mut().into_iter().enumerate() {
        for sum in sums.iter_mut().take(row + 1) {
            *sum = integers.next().filter(|integer| integer.fits())?;
        }
        if sums[row].to_f64() < 0.0 {
            return None;
        }
    }
    Some(())
}
