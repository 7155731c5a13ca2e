//! Numbers rounded to multiples of a power of two, as integers.

use std::ops::Neg;

/// Integers that count multiples of a unit.
pub trait GridInt: Copy + Default + PartialOrd + Neg<Output = Self> + Send + Sync {
    /// No sum exceeds 2 to this power; the bit above it shows one that does.
    const LIMIT: i32;

    /// 2 to the power [`LIMIT`](Self::LIMIT).
    const MOST: Self;

    /// The nearest integer, ties to even, of a number of at most 2 to the power [`LIMIT`](Self::LIMIT).
    fn rounded(value: f64) -> Self;

    /// self + other, where both and the result are within the limit.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// Whether it is within the limit.
    fn fits(self) -> bool {
        (-Self::MOST..=Self::MOST).contains(&self)
    }

    /// The nearest number.
    fn to_f64(self) -> f64;

    /// self + the nearest integer of `value`; none where either is beyond the limit or not a number.
    fn checked_plus(self, value: f64) -> Option<Self> {
        let sum = || self.plus(Self::rounded(value));
        (value.abs() <= power_of_two(Self::LIMIT)).then(sum).filter(|sum| sum.fits())
    }
}

/// Added to a number below 2^83, makes its last bit that of 2^32.
const COARSE: f64 = 1.5 * (1_u64 << 52) as f64 * (1_u64 << 32) as f64;

/// Added to a number below 2^51, makes its last bit that of 1.
const FINE: f64 = 1.5 * (1_u64 << 52) as f64;

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl GridInt for i64 {
    const LIMIT: i32 = 62;
    const MOST: Self = 1 << Self::LIMIT;

    /// Vectors of AVX2 have no conversion to 64 bits. The high and the low half are each read from the bits of a sum; the
    /// number minus its high half has no rounding error.
    #[inline(always)]
    fn rounded(value: f64) -> Self {
        let high = value + COARSE;
        let low = (value - (high - COARSE)) + FINE;
        let high = high.to_bits().wrapping_sub(COARSE.to_bits());
        let low = low.to_bits().wrapping_sub(FINE.to_bits());
        (high << 32).wrapping_add(low).cast_signed()
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn to_f64(self) -> f64 {
        self as f64
    }
}

#[allow(clippy::inline_always)] // as for i64
impl GridInt for i128 {
    const LIMIT: i32 = 126;
    const MOST: Self = 1 << Self::LIMIT;

    #[inline(always)]
    fn rounded(value: f64) -> Self {
        let whole = value.round_ties_even();
        // The short way for almost all numbers: a conversion to 128 bits is a call.
        if whole.abs() < (1_u64 << 62) as f64 { Self::from(whole as i64) } else { whole as Self }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn to_f64(self) -> f64 {
        self as f64
    }
}

/// 2^exponent, which must be a normal number.
pub fn power_of_two(exponent: i32) -> f64 {
    assert!((-1022..=1023).contains(&exponent), "2^{exponent} is not a normal number");
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The smallest e with `bound` ≤ 2^e, where the bound is taken a thousandth larger than it is: what is summed may exceed
/// it by its own rounding.
pub fn exponent_above(bound: f64) -> i32 {
    let bound = bound.abs() * (1.0 + 1.0 / 1024.0);
    // A number with exponent field f is below 2^(f − 1022).
    ((bound.to_bits() >> 52) & 0x7ff) as i32 - 1022
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn both_integers_round_to_the_nearest_and_ties_to_even() {
        let by_hand =
            [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.49, 0), (-7.51, -8), (3e9 + 0.5, 3_000_000_000)];
        for (value, expected) in by_hand {
            assert_eq!((i64::rounded(value), i128::rounded(value)), (expected, i128::from(expected)), "{value}");
        }
        let limit = power_of_two(62);
        assert_eq!((i64::rounded(limit), i64::rounded(-limit)), (1 << 62, -(1 << 62)));
        assert_eq!(i128::rounded(power_of_two(126)), 1 << 126);
        let mut stream = Stream::new(3, Purpose::Searches, 0);
        for _ in 0..100_000 {
            let value = (stream.uniform() - 0.5) * power_of_two((stream.uniform() * 64.0) as i32 - 1);
            assert_eq!(i64::rounded(value), value.round_ties_even() as i64, "{value:e}");
            assert_eq!(i128::rounded(value * limit), (value * limit).round_ties_even() as i128, "{value:e}");
        }
    }

    #[test]
    fn what_is_beyond_the_limit_is_noticed() {
        let limit = power_of_two(62);
        assert_eq!(0_i64.checked_plus(limit), Some(1 << 62));
        assert_eq!((1_i64 << 62).checked_plus(1.0), None);
        assert_eq!(i64::checked_plus(-(1 << 62), -limit), None);
        for value in [2.0 * limit, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(0_i64.checked_plus(value), None);
        }
        assert_eq!((1_i128 << 126).checked_plus(power_of_two(126)), None);
    }

    #[test]
    fn exponents_leave_room_for_rounding() {
        for (bound, exponent) in
            [(1.0, 1), (0.99, 0), (3.0, 2), (1000.0, 10), (1024.0, 11), (0.0, -1022), (5e-324, -1022)]
        {
            assert_eq!(exponent_above(bound), exponent, "{bound}");
        }
    }
}
