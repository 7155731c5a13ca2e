//! Scrambled Sobol points through the quantile function.
//!
//! Points that fill the unit cube more evenly than random ones, transformed by the same inversion as
//! independent draws. Each point is uniform by itself (Owen scrambling), so the estimate is unbiased.

use crate::features::{Frequencies, Kernel};
use crate::linalg::checkpoint;
use ndarray::Array2;
use std::f64::consts::TAU;

/// Dimensions of one Sobol sequence; further dimensions come from independently scrambled copies.
const DIMENSIONS_TOGETHER: usize = 256;

/// Points of one scrambling.
const POINTS_TOGETHER: usize = 1 << 16;

/// Draws `count` frequencies, draw j from Sobol point j; its phase, if any, is one more dimension.
pub(crate) fn sample(
    kernel: Kernel,
    phased: bool,
    seed: u64,
    count: usize,
    input_dim: usize,
) -> (Frequencies, Vec<f64>) {
    let mut frequencies = Array2::zeros((count, input_dim)); // m×d
    let dimensions = kernel.uniforms_per_draw(input_dim);
    let mut uniforms = vec![0.0; dimensions];
    for (j, mut row) in frequencies.rows_mut().into_iter().enumerate() {
        checkpoint();
        for (dimension, uniform) in uniforms.iter_mut().enumerate() {
            *uniform = coordinate(seed, j, dimension);
        }
        kernel.frequency(&uniforms, row.as_slice_mut().expect("a fresh array is row-major"));
    }
    let phases = if phased { (0..count).map(|j| TAU * coordinate(seed, j, dimensions)).collect() } else { Vec::new() };
    (Frequencies::Dense(frequencies), phases)
}

/// One coordinate of one point, in the open interval (0, 1).
fn coordinate(seed: u64, point: usize, dimension: usize) -> f64 {
    // sobol_burley returns multiples of 2^-24 including 0; the middle of each cell is inside (0, 1).
    const HALF_CELL: f64 = 1.0 / (1 << 25) as f64;
    let copy = (dimension / DIMENSIONS_TOGETHER + ((point / POINTS_TOGETHER) << 16)) as u64;
    let scramble = (seed ^ copy.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
    let (point, dimension) = ((point % POINTS_TOGETHER) as u32, (dimension % DIMENSIONS_TOGETHER) as u32);
    f64::from(sobol_burley::sample(point, dimension, scramble as u32)) + HALF_CELL
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 256 first points hold one in each of 256 equal intervals, in every dimension.
    #[test]
    fn points_are_stratified() {
        for dimension in [0, 1, 17, 255, 256, 700] {
            let mut seen = [false; 256];
            for point in 0..256 {
                let x = coordinate(9, point, dimension);
                assert!(x > 0.0 && x < 1.0);
                seen[(x * 256.0) as usize] = true;
            }
            assert!(seen.iter().all(|seen| *seen), "dimension {dimension}");
        }
    }
}
