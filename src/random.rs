//! Reproducible randomness: a counter-based generator. A draw depends only on the seed, the purpose and an index, not on
//! thread counts, platforms or the number of earlier draws.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The use of a random stream; streams of different purposes are independent.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// Random frequencies; the index is the draw.
    Frequencies = 1,
    /// The choice of held-out rows.
    Split = 2,
    /// Phases of a phase map; the index is the draw.
    Phases = 3,
    /// Directions of orthogonal draws; the index is the draw or the block.
    Directions = 4,
    /// Norms of orthogonal draws; the index is the draw.
    Norms = 5,
    /// The seed of the feature draws that searches use.
    Searches = 16,
    /// The choice of features from a pool; the index is the draw.
    PoolDraws = 17,
    /// The choice of a few rows of each group.
    FewRows = 20,
    /// The seed of the feature draws that a metric is learned on.
    Metric = 24,
    /// Orders in which the values of a column are permuted; the index is the permutation.
    Permutations = 25,
}

/// One stream of random numbers.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// Stream `index` of `purpose` under `seed`.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8] = purpose as u8;
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(index);
        Self(generator)
    }

    /// Uniform on the open interval (0, 1), on a grid of 2^53 midpoints.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1_u64 << 53) as f64)
    }

    /// Standard normal, by inversion of one uniform; the same bits on every platform.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }
}

/// Coefficients of one rational approximation, lowest degree first.
type Rational = ([f64; 8], [f64; 8]);

/// Φ⁻¹(p) for p in (0, 1), relative error about 1e-16.
/// [Wichura 1988, *Applied Statistics* 37, algorithm AS 241, PPND16]
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let value = if r <= 5.0 { ratio(&SHOULDER, r - 1.6) } else { ratio(&TAIL, r - 5.0) };
    value.copysign(q)
}

fn ratio((numerator, denominator): &Rational, x: f64) -> f64 {
    let horner = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    horner(numerator) / horner(denominator)
}

const CENTRE: Rational = (
    [
        3.387_132_872_796_366_6,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
);

const SHOULDER: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const TAIL: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Φ⁻¹ from 40-digit arithmetic.
    #[test]
    fn the_quantile_matches_high_precision_values() {
        let table = [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.975, 1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813_7),
            (1e-10, -6.361_340_902_404_056),
            (1e-20, -9.262_340_089_798_408),
        ];
        for (p, expected) in table {
            assert!((normal_quantile(p) - expected).abs() <= 4e-15 * f64::max(1.0, expected.abs()), "{p}");
        }
    }

    #[test]
    fn a_stream_depends_on_seed_purpose_and_index_alone() {
        let first = |seed, purpose, index| Stream::new(seed, purpose, index).uniform();
        let reference = first(7, Purpose::Frequencies, 3);
        assert_eq!(reference, first(7, Purpose::Frequencies, 3));
        assert_ne!(reference, first(8, Purpose::Frequencies, 3));
        assert_ne!(reference, first(7, Purpose::Split, 3));
        assert_ne!(reference, first(7, Purpose::Frequencies, 4));
    }

    /// The generator is part of what a seed means: these values may never change.
    #[test]
    fn the_generator_is_frozen() {
        let mut stream = Stream::new(0, Purpose::Frequencies, 0);
        let draws: Vec<String> = (0..2).map(|_| format!("{:.15}", stream.normal())).collect();
        assert_eq!(draws, ["-0.675454948025257", "-0.471028742522937"]);
    }

    #[test]
    fn normals_have_the_moments_of_a_normal() {
        const COUNT: u32 = 200_000;
        let mut stream = Stream::new(1, Purpose::Frequencies, 0);
        let (mut sum, mut square, mut fourth) = (0.0, 0.0, 0.0);
        for _ in 0..COUNT {
            let z = stream.normal();
            sum += z;
            square += z * z;
            fourth += z.powi(4);
        }
        let n = f64::from(COUNT);
        // Five standard errors of each moment: Var z = 1, Var z² = 2, Var z⁴ = 96.
        assert!((sum / n).abs() < 5.0 / n.sqrt());
        assert!((square / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        assert!((fourth / n - 3.0).abs() < 5.0 * (96.0 / n).sqrt());
    }
}
