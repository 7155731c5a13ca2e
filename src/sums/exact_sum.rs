//! A sum of numbers and products of two numbers, without rounding.
//!
//! A fixed-point number wide enough for the product of any two f64, from 2^-2148 to 2^2048, times 2^125. [Kulisch 2013,
//! "Computer Arithmetic and Validity"] Two such sums of the same numbers have the same limbs, whatever the order.

/// The exponent of the lowest bit: the square of the smallest f64.
const LOWEST: i32 = -2148;

/// 2148 + 2048 bits, and 125 for carries, with the sign.
const LIMBS: usize = 68;

/// Bytes of a sum.
pub const EXACT_SUM_BYTES: usize = 8 * LIMBS;

/// Σ of finite numbers, in two's complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactSum([u64; LIMBS]);

impl ExactSum {
    /// Of nothing.
    pub const ZERO: Self = Self([0; LIMBS]);

    /// Adds a finite number.
    pub fn add(&mut self, value: f64) {
        self.add_product(1, value, 1.0);
    }

    /// Adds count·a·b of finite numbers.
    pub fn add_product(&mut self, count: u64, a: f64, b: f64) {
        assert!(a.is_finite() && b.is_finite());
        let ((a_negative, a, a_exponent), (b_negative, b, b_exponent)) = (decoded(a), decoded(b));
        let product = u128::from(a) * u128::from(b); // 106 bits, so that 22 bits of the count have room beside it
        let place = (a_exponent + b_exponent - LOWEST) as usize;
        for shift in [0, 22, 44] {
            let part = count >> shift & ((1 << 22) - 1);
            if part != 0 {
                self.add_bits(product * u128::from(part), place + shift, a_negative != b_negative);
            }
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        let mut carry = false;
        for (limb, more) in self.0.iter_mut().zip(&other.0) {
            let (sum, first) = limb.overflowing_add(*more);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*limb, carry) = (sum, first | second);
        }
    }

    /// The nearest f64, ties to even.
    pub fn to_f64(&self) -> f64 {
        let (negative, limbs) = self.magnitude();
        let Some(top) = limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
        let highest = (64 * top as u32 + 63 - limbs[top].leading_zeros()).cast_signed();
        // The last bit that a number of this size has, and no number has one below 2^-1074.
        let last = (highest - 52).max(-1074 - LOWEST);
        let bit = |at: i32| at >= 0 && limbs[at as usize / 64] >> (at % 64) & 1 == 1;
        let kept = (last..=highest).rev().fold(0_u64, |bits, at| bits << 1 | u64::from(bit(at)));
        let below = || {
            let (limb, bits) = ((last - 1) as usize / 64, (last - 1) % 64);
            limbs[..limb].iter().any(|limb| *limb != 0) || limbs[limb] & ((1 << bits) - 1) != 0
        };
        let up = last > 0 && bit(last - 1) && (kept & 1 == 1 || below());
        let size = scaled((kept + u64::from(up)) as f64, last + LOWEST);
        if negative { -size } else { size }
    }

    /// Numbers of 32 bits each whose sum this is, as long as each is an f64.
    pub fn pieces(&self) -> impl Iterator<Item = f64> {
        let (negative, limbs) = self.magnitude();
        let halves = move |at: usize| [(limbs[at] & 0xffff_ffff, 64 * at), (limbs[at] >> 32, 64 * at + 32)];
        let sign = if negative { -1.0 } else { 1.0 };
        let piece =
            move |(bits, place): (u64, usize)| sign * scaled(bits as f64, (place as u32).cast_signed() + LOWEST);
        (0..LIMBS).flat_map(halves).filter(|(bits, _)| *bits != 0).map(piece)
    }

    /// The sum as bytes, lowest first.
    pub fn to_bytes(&self) -> [u8; EXACT_SUM_BYTES] {
        let mut bytes = [0; EXACT_SUM_BYTES];
        bytes.chunks_exact_mut(8).zip(&self.0).for_each(|(bytes, limb)| bytes.copy_from_slice(&limb.to_le_bytes()));
        bytes
    }

    /// The sum of these bytes; all bytes are some sum.
    pub fn of_bytes(bytes: &[u8; EXACT_SUM_BYTES]) -> Self {
        Self(std::array::from_fn(|limb| u64::from_le_bytes(std::array::from_fn(|i| bytes[8 * limb + i]))))
    }

    fn add_bits(&mut self, magnitude: u128, place: usize, negative: bool) {
        let (first, shift) = (place / 64, place % 64);
        let low = magnitude << shift;
        let high = if shift == 0 { 0 } else { (magnitude >> (128 - shift)) as u64 };
        let parts = [low as u64, (low >> 64) as u64, high];
        let mut carry = false;
        for (at, limb) in self.0[first..].iter_mut().enumerate() {
            let part = parts.get(at).copied().unwrap_or(0);
            if at >= parts.len() && !carry {
                break;
            }
            let step = if negative { u64::overflowing_sub } else { u64::overflowing_add };
            let (sum, over) = step(*limb, part);
            let (sum, again) = step(sum, u64::from(carry));
            (*limb, carry) = (sum, over | again);
        }
    }

    fn magnitude(&self) -> (bool, [u64; LIMBS]) {
        let negative = self.0[LIMBS - 1] >> 63 == 1;
        let mut limbs = self.0;
        if negative {
            let mut carry = true;
            for limb in &mut limbs {
                let (sum, over) = (!*limb).overflowing_add(u64::from(carry));
                (*limb, carry) = (sum, over);
            }
        }
        (negative, limbs)
    }
}

/// (negative, m, e) with |value| = m·2^e.
fn decoded(value: f64) -> (bool, u64, i32) {
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    (value.is_sign_negative(), mantissa, exponent)
}

/// value·2^exponent for an exact result, or infinity; in two steps, since 2^exponent alone may be no f64.
fn scaled(value: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    let power = |exponent: i32| if exponent > 1023 { f64::INFINITY } else { super::power_of_two(exponent.max(-1022)) };
    if exponent < -1022 { value * power(half) * power(exponent - half) } else { value * power(exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn sum_of(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::ZERO;
        for value in values {
            sum.add(*value);
        }
        sum
    }

    #[test]
    fn a_number_comes_back_as_it_is() {
        let smallest = f64::from_bits(1);
        for value in [0.0, 1.0, -1.5, 0.1, f64::MAX, f64::MIN, f64::MIN_POSITIVE, smallest, -3.0 * smallest, 1e-310] {
            assert_eq!(sum_of(&[value]).to_f64(), value);
            assert_eq!(sum_of(&[value]).pieces().sum::<f64>(), value);
        }
        assert_eq!(sum_of(&[f64::MAX, f64::MAX]).to_f64(), f64::INFINITY);
        assert_eq!(sum_of(&[f64::MAX, f64::MAX, -f64::MAX]).to_f64(), f64::MAX);
    }

    #[test]
    fn nothing_is_lost_on_the_way_and_the_end_is_rounded_once() {
        assert_eq!(sum_of(&[1e300, 1.0, -1e300]).to_f64(), 1.0);
        assert_eq!(sum_of(&[1.0, 1e-300, -1.0]).to_f64(), 1e-300);
        let half_step = f64::EPSILON / 2.0;
        assert_eq!(sum_of(&[1.0, half_step]).to_f64(), 1.0); // a tie goes to the even one
        assert_eq!(sum_of(&[1.0, half_step, 1e-300]).to_f64(), 1.0 + f64::EPSILON);
        assert_eq!(sum_of(&[1.0 + f64::EPSILON, half_step]).to_f64(), 1.0 + 2.0 * f64::EPSILON);
        let mut product = ExactSum::ZERO;
        product.add_product(3, 1.0 + f64::EPSILON, 1.0 + f64::EPSILON);
        product.add(-3.0);
        product.add(-6.0 * f64::EPSILON);
        assert_eq!(product.to_f64(), 3.0 * f64::EPSILON * f64::EPSILON);
        product.add_product(1, f64::MAX, f64::MAX);
        product.add_product(1, f64::from_bits(1), f64::from_bits(1));
        product.add_product(1, -f64::MAX, f64::MAX);
        assert_eq!(product.to_f64(), 3.0 * f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn the_order_and_the_parts_do_not_matter() {
        let mut stream = Stream::new(5, Purpose::Searches, 1);
        let values: Vec<f64> =
            (0..500).map(|_| (stream.uniform() - 0.5) * 10_f64.powf(600.0 * stream.uniform() - 300.0)).collect();
        let whole = sum_of(&values);
        let reversed: Vec<f64> = values.iter().rev().copied().collect();
        assert_eq!(sum_of(&reversed), whole);
        for cut in [0, 1, 77, 499, 500] {
            let mut merged = sum_of(&values[cut..]);
            merged.merge(&sum_of(&values[..cut]));
            assert_eq!(merged, whole);
            assert_eq!(ExactSum::of_bytes(&merged.to_bytes()), whole);
        }
    }
}
