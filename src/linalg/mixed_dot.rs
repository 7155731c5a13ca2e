//! Dot products of features in either precision with weights in f64, with the same bits on every machine. BLAS has
//! neither: it takes one precision, and its order of summation depends on the processor.

use super::Real;
use pulp::{Arch, Simd, WithSimd};

/// Partial sums: enough to hide the latency of an addition in any vector width.
const SUMS: usize = 32;

/// Σ xᵢwᵢ in f64, with the instructions given.
pub fn mixed_dot<T: Real>(arch: Arch, values: &[T], weights: &[f64]) -> f64 {
    arch.dispatch(MixedDot { values, weights })
}

struct MixedDot<'a, T> {
    values: &'a [T],
    weights: &'a [f64],
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> WithSimd for MixedDot<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut sums = [0.0; SUMS];
        let (values, last_values) = self.values.as_chunks::<SUMS>();
        let (weights, last_weights) = self.weights.as_chunks::<SUMS>();
        for (values, weights) in values.iter().zip(weights) {
            for lane in 0..SUMS {
                sums[lane] += values[lane].to_f64() * weights[lane];
            }
        }
        // The remainder has a sum of its own: indexing the partial sums by it would keep them in memory, four times
        // as slow.
        let rest: f64 = last_values.iter().zip(last_weights).map(|(value, weight)| value.to_f64() * weight).sum();
        sums.iter().sum::<f64>() + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::instructions_for;

    /// Whole numbers, so that every order of summation is exact.
    #[test]
    fn sums_of_any_length_are_right() {
        for length in [0, 1, 31, 32, 33, 100] {
            let values: Vec<f32> = (0..length).map(|i| (i % 7) as f32 - 3.0).collect();
            let weights: Vec<f64> = (0..length).map(|i| f64::from(i % 5)).collect();
            let expected: f64 = values.iter().zip(&weights).map(|(value, weight)| f64::from(*value) * weight).sum();
            for rows in [1, 1000] {
                assert_eq!(mixed_dot(instructions_for(rows), &values, &weights), expected);
            }
        }
    }
}
