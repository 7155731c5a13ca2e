//! Cosine and sine of whole slices: the inner loop of every feature.

use super::Exponential;
use pulp::Arch;

/// A precision that can evaluate a·cos and a·sin over slices.
pub trait Wave: Exponential {
    /// With the instructions given, `cosines[i] = amplitude·cos(angles[i])`, `sines[i] = amplitude·sin(angles[i])`.
    fn cos_sin(arch: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self], sines: &mut [Self]);

    /// `cosines[i] = amplitude·cos(angles[i])`.
    fn cosines(arch: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self]);
}

impl Wave for f64 {
    fn cos_sin(_: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self], sines: &mut [Self]) {
        for ((angle, cosine), sine) in angles.iter().zip(cosines).zip(sines) {
            let (s, c) = angle.sin_cos();
            *cosine = amplitude * c;
            *sine = amplitude * s;
        }
    }

    fn cosines(_: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self]) {
        for (angle, cosine) in angles.iter().zip(cosines) {
            *cosine = amplitude * f64::cos(*angle);
        }
    }
}

impl Wave for f32 {
    /// One branch-free loop that the compiler turns into whatever vectors this machine has. No
    /// fused multiply-add, so every machine rounds alike.
    fn cos_sin(arch: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self], sines: &mut [Self]) {
        arch.dispatch(|| {
            for ((angle, cosine), sine) in angles.iter().zip(&mut *cosines).zip(&mut *sines) {
                let (c, s) = small_cos_sin(*angle);
                *cosine = amplitude * c;
                *sine = amplitude * s;
            }
        });
        // Rare: far outliers. Their reduction needs more digits than f32 has.
        if angles.iter().any(|angle| angle.abs() > REDUCIBLE) {
            for ((angle, cosine), sine) in angles.iter().zip(cosines).zip(sines) {
                if angle.abs() > REDUCIBLE {
                    let (s, c) = f64::from(*angle).sin_cos();
                    *cosine = amplitude * c as f32;
                    *sine = amplitude * s as f32;
                }
            }
        }
    }

    fn cosines(arch: Arch, amplitude: Self, angles: &[Self], cosines: &mut [Self]) {
        arch.dispatch(|| {
            for (angle, cosine) in angles.iter().zip(&mut *cosines) {
                *cosine = amplitude * small_cos_sin(*angle).0;
            }
        });
        if angles.iter().any(|angle| angle.abs() > REDUCIBLE) {
            for (angle, cosine) in angles.iter().zip(cosines) {
                if angle.abs() > REDUCIBLE {
                    *cosine = amplitude * f64::from(*angle).cos() as f32;
                }
            }
        }
    }
}

/// Up to here k·π/2 is subtracted exactly: k < 2^13 keeps k·HIGH and k·MIDDLE within 24 bits.
const REDUCIBLE: f32 = 8192.0;

/// π/2 in three parts, the first two short enough for exact products. [Cody & Waite 1980]
const HIGH: f32 = 1.570_312_5;
const MIDDLE: f32 = 4.837_513e-4;
const LOW: f32 = 7.549_79e-8;

/// Adding and subtracting 1.5·2^23 rounds to the nearest integer and leaves it in the low bits.
const ROUNDER: f32 = 12_582_912.0;

/// (cos x, sin x) for |x| ≤ [`REDUCIBLE`].
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of the loop it stands in
fn small_cos_sin(x: f32) -> (f32, f32) {
    let shifted = x * std::f32::consts::FRAC_2_PI + ROUNDER;
    let quadrant = shifted.to_bits(); // its low two bits are k mod 4
    let k = shifted - ROUNDER;
    let r = ((x - k * HIGH) - k * MIDDLE) - k * LOW; // x = k·π/2 + r, |r| ≤ π/4
    let z = r * r;
    let sine = r + r * z * (-1.666_665_5e-1 + z * (8.332_161e-3 - z * 1.951_529_6e-4));
    let cosine = 1.0 - 0.5 * z + z * z * (4.166_664_6e-2 - z * (1.388_731_6e-3 - z * 2.443_315_7e-5));
    let (c, s) = if quadrant & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
    let cosine_sign = (quadrant.wrapping_add(1) & 2) << 30;
    let sine_sign = (quadrant & 2) << 30;
    (f32::from_bits(c.to_bits() ^ cosine_sign), f32::from_bits(s.to_bits() ^ sine_sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest_error(angles: &[f32]) -> f64 {
        let mut cosines = vec![0.0; angles.len()];
        let mut sines = vec![0.0; angles.len()];
        f32::cos_sin(Arch::new(), 1.0, angles, &mut cosines, &mut sines);
        let mut alone = vec![0.0; angles.len()];
        f32::cosines(Arch::new(), 1.0, angles, &mut alone);
        assert_eq!(cosines, alone);
        let mut largest: f64 = 0.0;
        for ((angle, cosine), sine) in angles.iter().zip(cosines).zip(sines) {
            let (s, c) = f64::from(*angle).sin_cos();
            largest = largest.max((f64::from(cosine) - c).abs()).max((f64::from(sine) - s).abs());
        }
        largest
    }

    #[test]
    fn f32_is_within_two_units_of_the_last_place_of_one() {
        let angles: Vec<f32> = (-400_000..400_000).map(|i| i as f32 * 2.5e-4).collect();
        assert!(largest_error(&angles) < 2.0 * f64::from(f32::EPSILON));
    }

    #[test]
    fn far_angles_are_right_too() {
        let mut angles: Vec<f32> = (-8192..8192).map(|i| i as f32).collect();
        angles.extend([8192.5, -9e4, 1e7, 3e9]);
        assert!(largest_error(&angles) < 2.0 * f64::from(f32::EPSILON));
    }

    #[test]
    fn the_amplitude_multiplies_both() {
        let (mut cosine, mut sine) = ([0.0; 1], [0.0; 1]);
        f64::cos_sin(Arch::new(), 3.0, &[0.5], &mut cosine, &mut sine);
        assert_eq!((cosine[0], sine[0]), (3.0 * 0.5_f64.cos(), 3.0 * 0.5_f64.sin()));
    }
}
