//! Cosine and sine of whole slices: the inner loop of every feature.

use crate::features::Exponential;
use pulp::Arch;
use std::ops::Neg;

/// A precision that can evaluate a·cos and a·sin over slices.
pub trait Wave: Exponential + Circular {
    /// With the instructions given, `cosines[i] = amplitude·cos(angles[i])`, `sines[i] = amplitude·sin(angles[i])`.
    fn cos_sin(arch: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self], sines: &mut [Self]) {
        // A branch-free loop that the compiler vectorises for this machine. A fused multiply-add rounds once on every
        // machine, so the bits are the same everywhere; machines without the instruction emulate it slowly.
        let far = arch.dispatch(|| {
            let mut far = false;
            for ((angle, cosine), sine) in angles.iter().zip(&mut *cosines).zip(&mut *sines) {
                let (c, s) = angle.small_cos_sin();
                *cosine = amplitude * c;
                *sine = amplitude * s;
                far |= is_far(*angle);
            }
            far
        });
        // Rare: angles so large that the reduction above would lose digits.
        if far {
            for ((angle, cosine), sine) in
                angles.iter().zip(cosines).zip(sines).filter(|((angle, _), _)| is_far(**angle))
            {
                let (c, s) = angle.any_cos_sin();
                *cosine = amplitude * c;
                *sine = amplitude * s;
            }
        }
    }

    /// `cosines[i] = amplitude·cos(angles[i])`.
    fn cosines(arch: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self]) {
        let far = arch.dispatch(|| {
            let mut far = false;
            for (angle, cosine) in angles.iter().zip(&mut *cosines) {
                *cosine = amplitude * angle.small_cos_sin().0;
                far |= is_far(*angle);
            }
            far
        });
        if far {
            for (angle, cosine) in angles.iter().zip(cosines).filter(|(angle, _)| is_far(**angle)) {
                *cosine = amplitude * angle.any_cos_sin().0;
            }
        }
    }
}

impl Wave for f32 {}

impl Wave for f64 {}

#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of the loop it stands in
fn is_far<T: Circular>(angle: T) -> bool {
    angle > T::REDUCIBLE || angle < -T::REDUCIBLE
}

/// Cosine and sine of one number, the same on every platform.
pub trait Circular: Copy + PartialOrd + Neg<Output = Self> {
    /// Up to this angle multiples of π/2 are subtracted without loss of accuracy.
    const REDUCIBLE: Self;

    /// (cos x, sin x) for |x| ≤ [`REDUCIBLE`](Self::REDUCIBLE), without a branch.
    fn small_cos_sin(self) -> (Self, Self);

    /// (cos x, sin x) for any x.
    fn any_cos_sin(self) -> (Self, Self);
}

#[allow(clippy::inline_always)] // must take on the vector instructions of the loop it stands in
impl Circular for f32 {
    const REDUCIBLE: Self = 8192.0;

    #[inline(always)]
    fn small_cos_sin(self) -> (Self, Self) {
        /// Adding and subtracting 1.5·2^23 rounds to the nearest integer and leaves it in the low bits.
        const ROUNDER: f32 = 12_582_912.0;
        /// π/2 in three parts, the first two short enough for exact products: k < 2^13. [Cody & Waite 1980]
        const HIGH: f32 = 1.570_312_5;
        const MIDDLE: f32 = 4.837_513e-4;
        const LOW: f32 = 7.549_79e-8;
        let shifted = self.mul_add(std::f32::consts::FRAC_2_PI, ROUNDER);
        let quadrant = shifted.to_bits(); // its low two bits are k mod 4
        let k = shifted - ROUNDER;
        let r = (-k).mul_add(LOW, (-k).mul_add(MIDDLE, (-k).mul_add(HIGH, self))); // x = k·π/2 + r, |r| ≤ π/4
        let z = r * r;
        let odd = z.mul_add(z.mul_add(-1.951_529_6e-4, 8.332_161e-3), -1.666_665_5e-1);
        let sine = (r * z).mul_add(odd, r);
        let even = z.mul_add(z.mul_add(2.443_315_7e-5, -1.388_731_6e-3), 4.166_664_6e-2);
        let cosine = z.mul_add(z.mul_add(even, -0.5), 1.0);
        let (c, s) = if quadrant & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
        let cosine_sign = (quadrant.wrapping_add(1) & 2) << 30;
        let sine_sign = (quadrant & 2) << 30;
        (Self::from_bits(c.to_bits() ^ cosine_sign), Self::from_bits(s.to_bits() ^ sine_sign))
    }

    fn any_cos_sin(self) -> (Self, Self) {
        let (sine, cosine) = libm::sincos(f64::from(self));
        (cosine as Self, sine as Self)
    }
}

#[allow(clippy::inline_always)] // as for f32
impl Circular for f64 {
    const REDUCIBLE: Self = 524_288.0;

    /// The coefficients are those of fdlibm, good to the last digit on |r| ≤ π/4.
    #[inline(always)]
    fn small_cos_sin(self) -> (Self, Self) {
        /// Adding and subtracting 1.5·2^52 rounds to the nearest integer and leaves it in the low bits.
        const ROUNDER: f64 = 6_755_399_441_055_744.0;
        /// π/2 in three parts, the first two of 33 bits: k < 2^20 multiplies them exactly.
        const HIGH: f64 = 1.570_796_326_734_125_6;
        const MIDDLE: f64 = 6.077_100_506_303_966e-11;
        const LOW: f64 = 2.022_266_248_795_950_6e-21;
        let shifted = self * std::f64::consts::FRAC_2_PI + ROUNDER;
        let quadrant = shifted.to_bits(); // its low two bits are k mod 4
        let k = shifted - ROUNDER;
        let r = ((self - k * HIGH) - k * MIDDLE) - k * LOW; // x = k·π/2 + r, |r| ≤ π/4
        let z = r * r;
        let odd = 8.333_333_333_322_49e-3
            + z * (-1.984_126_982_985_795e-4
                + z * (2.755_731_370_707_006_8e-6 + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10)));
        let sine = r + r * z * (-1.666_666_666_666_663_2e-1 + z * odd);
        let even = -1.388_888_888_887_411e-3
            + z * (2.480_158_728_947_673e-5
                + z * (-2.755_731_435_139_066_3e-7 + z * (2.087_572_321_298_175e-9 - z * 1.135_964_755_778_819_5e-11)));
        let cosine = 1.0 - (0.5 * z - z * z * (4.166_666_666_666_66e-2 + z * even));
        let (c, s) = if quadrant & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
        let cosine_sign = (quadrant.wrapping_add(1) & 2) << 62;
        let sine_sign = (quadrant & 2) << 62;
        (Self::from_bits(c.to_bits() ^ cosine_sign), Self::from_bits(s.to_bits() ^ sine_sign))
    }

    fn any_cos_sin(self) -> (Self, Self) {
        let (sine, cosine) = libm::sincos(self);
        (cosine, sine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{InstructionSet, Real};

    /// The largest error of cos and sin: in units of the last place of the result where that is at least ½, in units of
    /// the last place of ½ below, where zeros leave no digits to compare.
    fn largest_error<T: Wave + Real>(angles: &[T]) -> f64 {
        let zeros = || vec![T::zero(); angles.len()];
        let (mut cosines, mut sines, mut alone) = (zeros(), zeros(), zeros());
        T::cos_sin(Arch::new(), T::one(), angles, &mut cosines, &mut sines);
        T::cosines(Arch::new(), T::one(), angles, &mut alone);
        for set in InstructionSet::ALL.into_iter().filter_map(InstructionSet::arch) {
            let mut again = (zeros(), zeros());
            T::cos_sin(set, T::one(), angles, &mut again.0, &mut again.1);
            assert!(again.0.iter().zip(&cosines).all(|(one, other)| one.to_f64() == other.to_f64()));
            assert!(again.1.iter().zip(&sines).all(|(one, other)| one.to_f64() == other.to_f64()));
        }
        let mut largest: f64 = 0.0;
        for (((angle, cosine), sine), alone) in angles.iter().zip(cosines).zip(sines).zip(alone) {
            assert!(cosine.to_f64() == alone.to_f64());
            let (s, c) = libm::sincos(angle.to_f64());
            for (found, exact) in [(cosine, c), (sine, s)] {
                let unit = T::EPSILON / if exact.abs() < 1.0 { 2.0 } else { 1.0 };
                largest = largest.max((found.to_f64() - exact).abs() / unit);
            }
        }
        largest
    }

    #[test]
    fn it_is_within_two_units_of_the_last_place() {
        let angles: Vec<f32> = (-400_000..400_000).map(|i| i as f32 * 2.5e-4).collect();
        let wide: Vec<f64> = (-400_000..400_000).map(|i| f64::from(i) * 2.5e-4).collect();
        assert!(largest_error(&angles) <= 2.0, "{}", largest_error(&angles));
        assert!(largest_error(&wide) <= 2.0, "{}", largest_error(&wide));
    }

    #[test]
    fn far_angles_are_right_too() {
        let mut angles: Vec<f32> = (-8192..8192).map(|i| i as f32).collect();
        angles.extend([8192.5, -9e4, 1e7, 3e9]);
        assert!(largest_error(&angles) <= 2.0, "{}", largest_error(&angles));
        let mut angles: Vec<f64> = (-524_288..524_288).step_by(7).map(f64::from).collect();
        angles.extend([524_288.5, -9e6, 1e15, 3e200]);
        assert!(largest_error(&angles) <= 2.0, "{}", largest_error(&angles));
    }

    #[test]
    fn the_amplitude_multiplies_both() {
        let (mut cosine, mut sine) = ([0.0; 1], [0.0; 1]);
        f64::cos_sin(Arch::new(), 3.0, &[0.5], &mut cosine, &mut sine);
        assert!((cosine[0] - 3.0 * 0.5_f64.cos()).abs() < 1e-15 && (sine[0] - 3.0 * 0.5_f64.sin()).abs() < 1e-15);
    }
}
