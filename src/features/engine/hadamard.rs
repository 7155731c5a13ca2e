//! Products of inputs with structured frequencies, in one precision.
//!
//! A row is transformed in place within its own vectors, so that a single row costs no more than
//! one of many and its bits do not depend on its neighbours. An index of the row is split into the
//! place within a cache line and the number of the line: H within a line is a product with a small
//! matrix of signs (a broadcast and a fused multiply-add each, no shuffles), H over the lines is
//! butterflies, eight vectors at a time so that one pass over memory does three stages. A line is as
//! long as the widest vector, so that the order of all additions, and with it every bit, is the same
//! with narrower ones.

use crate::features::Structured;
use crate::linalg::{Aligned, Real, checkpoint};
use pulp::{Arch, Simd, WithSimd};

/// Bytes of a line: the widest vector.
const LINE_BYTES: usize = 64;

/// Columns of the corner: at least as many as a line has numbers.
const MOST_LANES: usize = 16;

/// Rows between two questions whether to stop.
const ROWS_AT_ONCE: usize = 16;

/// The factors of H D₁ H D₂ H D₃ and the norms.
pub(crate) struct Hadamard<T> {
    /// p.
    order: usize,
    input_dim: usize,
    /// For each block the signs of D₃, D₂, D₁ as ±1 and then the scaled norms, p each.
    factors: Aligned<T>,
    /// H of order 16, row by row; its top left corner of order w is H of order w.
    corner: Aligned<T>,
}

impl<T: Real> Hadamard<T> {
    pub(crate) fn new(structured: &Structured) -> Self {
        let p = structured.order();
        let scale = 1.0 / (p as f64).powf(1.5);
        let sign = |negative: bool| T::from_f64(if negative { -1.0 } else { 1.0 });
        let mut factors = Aligned::zeros(structured.signs.len() / 3 * 4);
        let blocks = structured.signs.chunks_exact(3 * p).zip(structured.norms.chunks(p));
        for (factors, (signs, norms)) in factors.chunks_exact_mut(4 * p).zip(blocks) {
            let signs = signs.iter().map(|&negative| sign(negative));
            let values = signs.chain(norms.iter().map(|norm| T::from_f64(norm * scale)));
            factors.iter_mut().zip(values).for_each(|(factor, value)| *factor = value);
        }
        let mut corner = Aligned::zeros(MOST_LANES * MOST_LANES);
        for (index, cell) in corner.iter_mut().enumerate() {
            let (i, j) = (index / MOST_LANES, index % MOST_LANES);
            *cell = sign((i & j).count_ones() % 2 == 1); // (−1)^⟨i,j⟩
        }
        Self { order: p, input_dim: structured.input_dim, factors, corner }
    }

    /// Angles per row: m, padded.
    pub(crate) fn stride(&self) -> usize {
        self.factors.len() / 4
    }

    /// vᵀx of every draw for each row: `inputs` is rows×d, `angles` rows×stride. The instructions do not show in the bits.
    pub(crate) fn project(&self, arch: Arch, inputs: &[T], angles: &mut [T]) {
        let rows = inputs.chunks_exact(self.input_dim).zip(angles.chunks_exact_mut(self.stride()));
        for (row, (input, angles)) in rows.enumerate() {
            if row % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 {
                checkpoint();
            }
            arch.dispatch(ProjectRow { hadamard: self, input, angles });
        }
    }
}

/// One row through every block. A struct and not a closure: pulp does not promise to inline a
/// closure into its vectorised caller, and then the loops come out with the baseline instructions.
struct ProjectRow<'a, T> {
    hadamard: &'a Hadamard<T>,
    input: &'a [T],
    /// One stride.
    angles: &'a mut [T],
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> WithSimd for ProjectRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let p = self.hadamard.order;
        for (factors, block) in self.hadamard.factors.chunks_exact(4 * p).zip(self.angles.chunks_exact_mut(p)) {
            let (signs, factors) = factors.split_at(p);
            let (head, padding) = block.split_at_mut(self.input.len());
            for ((value, input), sign) in head.iter_mut().zip(self.input).zip(signs) {
                *value = *input * *sign;
            }
            padding.fill(T::zero());
            for factors in factors.chunks_exact(p) {
                match LINE_BYTES / size_of::<T::Vector<S>>() {
                    1 => within_lines::<S, T, 1>(simd, block, &self.hadamard.corner),
                    2 => within_lines::<S, T, 2>(simd, block, &self.hadamard.corner),
                    4 => within_lines::<S, T, 4>(simd, block, &self.hadamard.corner),
                    8 => within_lines::<S, T, 8>(simd, block, &self.hadamard.corner),
                    _ => within_lines::<S, T, 16>(simd, block, &self.hadamard.corner),
                }
                let vectors = T::vectors_mut::<S>(block);
                across_lines::<S, T>(simd, vectors);
                for (vector, factor) in vectors.iter_mut().zip(T::vectors::<S>(factors)) {
                    *vector = T::multiply(simd, *vector, *factor);
                }
            }
        }
    }
}

/// H over the numbers of every line, which has V vectors.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn within_lines<S: Simd, T: Real, const V: usize>(simd: S, block: &mut [T], corner: &[T]) {
    for values in block.chunks_exact_mut(LINE_BYTES / size_of::<T>()) {
        let mut sums = [T::splat(simd, T::zero()); V];
        for (value, column) in values.iter().zip(corner.chunks_exact(MOST_LANES)) {
            let value = T::splat(simd, *value);
            for (sum, signs) in sums.iter_mut().zip(T::vectors::<S>(column)) {
                *sum = T::multiply_add(simd, value, *signs, *sum);
            }
        }
        T::vectors_mut::<S>(values).copy_from_slice(&sums);
    }
}

/// H over the numbers of the lines.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn across_lines<S: Simd, T: Real>(simd: S, vectors: &mut [T::Vector<S>]) {
    let mut stride = LINE_BYTES / size_of::<T::Vector<S>>();
    while 8 * stride <= vectors.len() {
        for group in vectors.chunks_exact_mut(8 * stride) {
            three_stages::<S, T>(simd, group, stride);
        }
        stride *= 8;
    }
    while 2 * stride <= vectors.len() {
        for group in vectors.chunks_exact_mut(2 * stride) {
            one_stage::<S, T>(simd, group, stride);
        }
        stride *= 2;
    }
}

/// The stage that joins vectors `stride` apart, over a group of two strides.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn one_stage<S: Simd, T: Real>(simd: S, group: &mut [T::Vector<S>], stride: usize) {
    let (upper, lower) = group.split_at_mut(stride);
    for (a, b) in upper.iter_mut().zip(lower) {
        (*a, *b) = T::butterfly(simd, *a, *b);
    }
}

/// The stages of one, two and four strides over a group of eight, in registers.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn three_stages<S: Simd, T: Real>(simd: S, group: &mut [T::Vector<S>], stride: usize) {
    let (low, high) = group.split_at_mut(4 * stride);
    let (v0, low) = low.split_at_mut(stride);
    let (v1, low) = low.split_at_mut(stride);
    let (v2, v3) = low.split_at_mut(stride);
    let (v4, high) = high.split_at_mut(stride);
    let (v5, high) = high.split_at_mut(stride);
    let (v6, v7) = high.split_at_mut(stride);
    let v3 = &mut v3[..stride];
    let v7 = &mut v7[..stride];
    for i in 0..stride {
        let (a0, a1) = T::butterfly(simd, v0[i], v1[i]);
        let (a2, a3) = T::butterfly(simd, v2[i], v3[i]);
        let (a4, a5) = T::butterfly(simd, v4[i], v5[i]);
        let (a6, a7) = T::butterfly(simd, v6[i], v7[i]);
        let (b0, b2) = T::butterfly(simd, a0, a2);
        let (b1, b3) = T::butterfly(simd, a1, a3);
        let (b4, b6) = T::butterfly(simd, a4, a6);
        let (b5, b7) = T::butterfly(simd, a5, a7);
        (v0[i], v4[i]) = T::butterfly(simd, b0, b4);
        (v1[i], v5[i]) = T::butterfly(simd, b1, b5);
        (v2[i], v6[i]) = T::butterfly(simd, b2, b6);
        (v3[i], v7[i]) = T::butterfly(simd, b3, b7);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{FeatureMap, Frequencies, Kernel, MapKind, Sampling};
    use crate::linalg::{InstructionSet, Real, bulk_instructions};

    /// vᵀx from the definition: H by its signs, no fast transform.
    fn angle(structured: &Structured, draw: usize, input: &[f64]) -> f64 {
        let p = structured.order();
        let signs = &structured.signs[draw / p * 3 * p..][..3 * p];
        let mut values = input.to_vec();
        values.resize(p, 0.0);
        for signs in signs.chunks_exact(p) {
            for (value, &negative) in values.iter_mut().zip(signs) {
                *value *= if negative { -1.0 } else { 1.0 };
            }
            let row = |i: usize| {
                let term =
                    |(j, value): (usize, &f64)| if (i & j).count_ones().is_multiple_of(2) { *value } else { -*value };
                values.iter().enumerate().map(term).sum()
            };
            values = (0..p).map(row).collect();
        }
        values[draw % p] * structured.norms[draw] / (p as f64).powf(1.5)
    }

    fn agrees<T: Real>(input_dim: usize, draws: usize, rows: usize, tolerance: f64) {
        let kernel = Kernel::Gaussian { bandwidth: (input_dim as f64).sqrt() };
        let map = FeatureMap::sample(kernel, MapKind::Phase, Sampling::Structured, 5, draws, input_dim);
        let Frequencies::Structured(structured) = map.frequencies else { panic!("structured") };
        let hadamard = Hadamard::<T>::new(&structured);
        let inputs: Vec<T> = (0..rows * input_dim).map(|i| T::from_f64((i as f64 * 0.37).sin())).collect();
        let mut angles = vec![T::one(); rows * hadamard.stride()];
        hadamard.project(bulk_instructions(), &inputs, &mut angles);
        for set in InstructionSet::ALL.into_iter().filter_map(InstructionSet::arch) {
            let mut again = vec![T::zero(); angles.len()];
            hadamard.project(set, &inputs, &mut again);
            assert!(again.iter().zip(&angles).all(|(one, other)| one.to_f64().to_bits() == other.to_f64().to_bits()));
        }
        for (input, angles) in inputs.chunks(input_dim).zip(angles.chunks(hadamard.stride())) {
            let input: Vec<f64> = input.iter().map(|value| value.to_f64()).collect();
            for draw in (0..draws).step_by(draws.div_ceil(9)).chain([draws - 1]) {
                let difference = Real::to_f64(angles[draw]) - angle(&structured, draw, &input);
                assert!(difference.abs() < tolerance, "d = {input_dim}, draw {draw}: {difference}");
            }
        }
    }

    #[test]
    fn it_is_the_product_of_the_matrices_at_every_order() {
        // Orders 64 to 2,048, padded and full, draws that end within a block.
        for (input_dim, draws) in [(1, 64), (7, 100), (64, 64), (100, 300), (256, 256), (512, 700), (1024, 1024)] {
            agrees::<f64>(input_dim, draws, 2, 1e-12);
            agrees::<f32>(input_dim, draws, 3, 1e-5);
        }
        agrees::<f32>(2048, 2100, 1, 1e-5);
    }
}
