//! The exponential of whole slices: the inner loop of most exact kernels.

use crate::linalg::{Real, bulk_instructions};

/// A precision that can evaluate exp over slices.
pub trait Exponential: Real {
    /// `values[i] = exp(−rate·values[i])`, for numbers and a rate that are not negative.
    fn decays(rate: Self, values: &mut [Self]);

    /// |x|.
    #[must_use]
    #[inline]
    fn magnitude(self) -> Self {
        Self::from_f64(self.to_f64().abs())
    }

    /// √x. Rounding the root of more than twice the digits is rounding the root itself, to the last bit.
    #[must_use]
    #[inline]
    fn root(self) -> Self {
        Self::from_f64(self.to_f64().sqrt())
    }
}

/// Adding and subtracting 1.5·2^(digits) rounds to the nearest integer and leaves it in the low bits.
const ROUNDER_SINGLE: f32 = 12_582_912.0;
const ROUNDER_DOUBLE: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts, the first short enough for exact products. [Cody & Waite 1980]
const HIGH_SINGLE: f32 = 0.693_359_4;
const LOW_SINGLE: f32 = -2.121_944_4e-4;
const HIGH_DOUBLE: f64 = 6.931_471_803_691_238e-1;
const LOW_DOUBLE: f64 = 1.908_214_929_270_587_7e-10;

/// Beyond these exp(−x) is below every normal number, and taken at the edge.
const EDGE_SINGLE: f32 = 87.0;
const EDGE_DOUBLE: f64 = 708.0;

impl Exponential for f32 {
    fn decays(rate: Self, values: &mut [Self]) {
        bulk_instructions().dispatch(|| {
            for value in &mut *values {
                *value = single(-(rate * *value).min(EDGE_SINGLE));
            }
        });
    }
}

impl Exponential for f64 {
    fn decays(rate: Self, values: &mut [Self]) {
        bulk_instructions().dispatch(|| {
            for value in &mut *values {
                *value = double(-(rate * *value).min(EDGE_DOUBLE));
            }
        });
    }
}

/// exp x = 2^k·exp r with |r| ≤ ln(2)/2, the latter by its series.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of the loop it stands in
fn single(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER_SINGLE;
    let k = shifted - ROUNDER_SINGLE;
    let r = (x - k * HIGH_SINGLE) - k * LOW_SINGLE;
    let tail = 4.166_666_7e-2 + r * (8.333_334e-3 + r * (1.388_888_9e-3 + r * 1.984_127e-4));
    let series = 1.0 + (r + r * r * (0.5 + r * (0.166_666_67 + r * tail)));
    f32::from_bits(series.to_bits().wrapping_add(shifted.to_bits() << 23))
}

#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn double(x: f64) -> f64 {
    const INVERSE_FACTORIALS: [f64; 12] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ];
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER_DOUBLE;
    let k = shifted - ROUNDER_DOUBLE;
    let r = (x - k * HIGH_DOUBLE) - k * LOW_DOUBLE;
    let mut tail = 0.0;
    for coefficient in INVERSE_FACTORIALS {
        tail = tail * r + coefficient;
    }
    let series = 1.0 + (r + r * r * tail);
    f64::from_bits(series.to_bits().wrapping_add(shifted.to_bits() << 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_precisions_are_within_two_units_of_the_last_place() {
        let numbers: Vec<f64> = (0..200_000).map(|i| f64::from(i) * 4.3e-4).collect();
        let mut double = numbers.clone();
        f64::decays(1.0, &mut double);
        let mut single: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
        let rounded = single.clone();
        f32::decays(1.0, &mut single);
        for (i, number) in numbers.iter().enumerate() {
            let of_double = double[i] / (-number).exp() - 1.0;
            let of_single = f64::from(single[i]) / (-f64::from(rounded[i])).exp() - 1.0;
            assert!(of_double.abs() < 2.0 * f64::EPSILON, "{number}: {of_double:e}");
            assert!(of_single.abs() < 2.0 * f64::from(f32::EPSILON), "{number}: {of_single:e}");
        }
    }

    #[test]
    fn roots_of_singles_are_those_of_their_own_precision() {
        let mut bits = 1_u32;
        while bits < f32::INFINITY.to_bits() {
            let number = f32::from_bits(bits);
            assert_eq!((number.root(), (-number).magnitude()), (number.sqrt(), number), "{number:e}");
            bits += 10_007;
        }
    }

    #[test]
    fn one_at_zero_and_nearly_nothing_far_away() {
        let (mut double, mut single) = ([0.0, 1e300, f64::INFINITY], [0.0_f32, 1e30, f32::INFINITY]);
        f64::decays(3.0, &mut double);
        f32::decays(3.0, &mut single);
        assert_eq!((double[0], single[0]), (1.0, 1.0));
        assert!(double[1..].iter().all(|value| (0.0..1e-300).contains(value)));
        assert!(single[1..].iter().all(|value| (0.0..1e-37).contains(value)));
    }
}
