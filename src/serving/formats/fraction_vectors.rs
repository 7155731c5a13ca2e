//! Decimal fractions such as `-0.25,` read 32 bytes at a time, with AVX2.
//!
//! One comparison finds the bytes that are not digits: the sign, the point, the comma after the number. The digits,
//! without the point, are moved to the end of a vector and joined to one integer w in three steps. w·10⁻ᵏ is then one
//! multiplication with 64 bits of 5⁻ᵏ, which determines the rounding in all but two cases in a thousand [after Lemire
//! 2021]; those are left to the reader of single numbers. Nothing branches on the sign or on the number of digits, which
//! the processor could not predict.
//!
//! Worth its place by `benches/json_rows.rs`: with fast-float2 alone a batch of 1,000 rows of 90 numbers with all digits
//! takes 27% longer (2,048 features: 4.4 ms instead of 3.4 ms), one of 8 numbers 19% longer (512 features).

use pulp::NullaryFnOnce;
use pulp::x86::V3;
use std::arch::x86_64::__m256i;

/// Most digits whose integer is sure to fit 64 bits.
const MOST_DIGITS: usize = 19;

/// Bytes of a vector.
const WIDTH: usize = 32;

/// Bytes before a number that are loaded with its digits and masked out.
const BEFORE: usize = WIDTH + 1;

/// The bytes before a number, and a vector that begins with it.
type Window = [u8; BEFORE + WIDTH];

/// Reads a run of fractions and returns where it ends; see [`super::json_numbers::RunReader::read`].
pub(super) struct ReadFractions<'a> {
    pub(super) simd: V3,
    pub(super) text: &'a [u8],
    pub(super) start: usize,
    pub(super) spaced: bool,
    pub(super) numbers: &'a mut Vec<f64>,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl NullaryFnOnce for ReadFractions<'_> {
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        let gap = 1 + usize::from(self.spaced);
        let Some(mut rest) = self.start.checked_sub(BEFORE).and_then(|from| self.text.get(from..)) else {
            return self.start;
        };
        while let Some(window) = rest.first_chunk() {
            let Some((number, comma)) = read_fraction(self.simd, window) else { break };
            if self.spaced && rest.get(BEFORE + comma + 1) != Some(&b' ') {
                break;
            }
            self.numbers.push(number);
            rest = &rest[comma + gap..];
        }
        self.text.len() - rest.len() + BEFORE
    }
}

/// The number at the start of the last vector of a window, and the position in that vector of the comma after it.
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[inline(always)]
fn read_fraction(simd: V3, window: &Window) -> Option<(f64, usize)> {
    let (v, avx) = (simd.avx2, simd.avx);
    // Shifted so that the digits are the ten smallest signed bytes.
    let moved = v._mm256_sub_epi8(load(window, BEFORE), avx._mm256_set1_epi8((b'0' ^ 0x80).cast_signed()));
    let others = v._mm256_cmpgt_epi8(moved, avx._mm256_set1_epi8(i8::MIN + 9));
    let others = v._mm256_movemask_epi8(others).cast_unsigned();
    let (sign, marks) = ((others & 1) as usize, others & !1);
    let (point, comma) = (marks.trailing_zeros() as usize, (marks & marks.wrapping_sub(1)).trailing_zeros() as usize);
    if comma >= WIDTH {
        return None;
    }
    let text: &[u8; WIDTH] = window.last_chunk()?;
    let (whole, fraction, digits) = (point - sign, comma - point - 1, comma - sign - 1);
    if fraction == 0 || digits > MOST_DIGITS || text[point] != b'.' || text[comma] != b',' {
        return None;
    }
    if sign != usize::from(text[0] == b'-') || (whole != 1 && (whole == 0 || text[sign] == b'0')) {
        return None;
    }
    let w = join_digits(simd, window, comma, fraction, digits);
    let size = if w == 0 { 0.0 } else { FIFTHS[fraction].multiply(w)? };
    Some((f64::from_bits(size.to_bits() | (sign as u64) << 63), comma))
}

/// The digits before the comma as one integer: those of the fraction in their place, those before the point moved one
/// byte to the right, over the point, and zeros before them.
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[inline(always)]
fn join_digits(simd: V3, window: &Window, comma: usize, fraction: usize, digits: usize) -> u64 {
    let (v, avx) = (simd.avx2, simd.avx);
    let (in_fraction, in_number) = (pulp::cast(LAST_BYTES[fraction].0), pulp::cast(LAST_HALVES[digits].0));
    let bytes = v._mm256_blendv_epi8(load(window, comma), load(window, comma + 1), in_fraction);
    let values = v._mm256_and_si256(bytes, in_number);
    // Each step multiplies the left of two neighbours by a power of ten and adds the right.
    let pairs = v._mm256_maddubs_epi16(values, avx._mm256_set1_epi16(10 + (1 << 8)));
    let fours = v._mm256_madd_epi16(pairs, avx._mm256_set1_epi32(100 + (1 << 16)));
    let eights = v._mm256_madd_epi16(v._mm256_packus_epi32(fours, fours), avx._mm256_set1_epi32(10_000 + (1 << 16)));
    let [high, _, low, _]: [u64; 4] = pulp::cast(eights); // packing duplicated each half
    (high >> 32) * 10_u64.pow(16) + (low & 0xffff_ffff) * 10_u64.pow(8) + (low >> 32)
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[inline(always)]
fn load(window: &Window, at: usize) -> __m256i {
    let bytes: &[u8; WIDTH] = window[at..].first_chunk().expect("the window goes on for a vector");
    pulp::cast(*bytes)
}

/// A mask for the bytes of a vector.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct ByteMask([u8; WIDTH]);

/// The last n bytes, by n.
static LAST_BYTES: [ByteMask; MOST_DIGITS + 1] = last(0xff);

/// The low four bits of the last n bytes, by n: the value of an ASCII digit.
static LAST_HALVES: [ByteMask; MOST_DIGITS + 1] = last(0x0f);

const fn last(bits: u8) -> [ByteMask; MOST_DIGITS + 1] {
    let mut all = [ByteMask([0; WIDTH]); MOST_DIGITS + 1];
    let mut n = 1;
    while n <= MOST_DIGITS {
        all[n] = all[n - 1];
        all[n].0[WIDTH - n] = bits;
        n += 1;
    }
    all
}

/// 10⁻ᵏ, its 5⁻ᵏ in 64 bits.
#[derive(Clone, Copy)]
struct Fifth {
    /// ⌊2^(63 + bits)/5ᵏ⌋ for a 5ᵏ of so many bits: its highest bit is set.
    reciprocal: u64,
    /// The exponent bits of the result if neither w nor the product has leading zeros.
    exponent: u64,
}

/// By k, from 1 on, while 5ᵏ < 2⁶³.
static FIFTHS: [Fifth; 28] = Fifth::all();

impl Fifth {
    const fn all() -> [Self; 28] {
        let mut all = [Self { reciprocal: 0, exponent: 0 }; 28];
        let (mut power, mut five) = (1, 5_u64);
        while power < all.len() {
            let bits = five.ilog2() + 1;
            let reciprocal = ((1_u128 << (63 + bits)) / five as u128) as u64;
            // The product's first 53 bits, times 2^(12 − bits − k). The first of them is in no double but raises its
            // exponent by one; that of the least double is −1074.
            all[power] = Self { reciprocal, exponent: (1074 + 12 - bits as u64 - power as u64) << 52 };
            power += 1;
            five = five.wrapping_mul(5); // the last product is not used
        }
        all
    }

    /// w/10ᵏ, rounded to the nearest double; w is not 0. None if 64 bits do not determine the rounding.
    #[inline]
    fn multiply(self, w: u64) -> Option<f64> {
        const LOST: u32 = 11;
        const HALF: u64 = 1 << (LOST - 1);
        let zeros = w.leading_zeros();
        // The reciprocal is too small by less than one, so the product is too small by less than 2⁶⁴: the exact value is
        // less than two above `high`, and less than four after the shift by the one leading zero that it may have.
        let high = ((u128::from(w << zeros) * u128::from(self.reciprocal)) >> 64) as u64;
        let short = high.leading_zeros() & 1;
        let high = high << short;
        if high.wrapping_add(3) & (2 * HALF - 4) == HALF {
            return None;
        }
        // Rounded up to 2⁵³ it carries into the exponent.
        let kept = ((high >> (LOST - 1)) + 1) >> 1;
        Some(f64::from_bits(self.exponent + kept - (u64::from(zeros + short) << 52)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(w: u64, k: usize) -> bool {
        let expected: f64 = format!("{w}e-{k}").parse().unwrap();
        FIFTHS[k].multiply(w).is_none_or(|found| found.to_bits() == expected.to_bits())
    }

    #[test]
    fn products_round_as_the_standard_library_does() {
        let (mut state, mut undetermined) = (1_u64, 0);
        for i in 0..200_000_usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (w, k) = (state >> (i % 60), 1 + i % 27);
            assert!(w == 0 || agrees(w, k), "{w}e-{k}");
            undetermined += usize::from(w > 0 && FIFTHS[k].multiply(w).is_none());
        }
        assert!(undetermined < 2_000, "{undetermined} of 200,000");
    }

    /// Halfway between two doubles, and one unit to either side.
    #[test]
    fn ties_go_to_the_even_double_or_to_the_other_reader() {
        for k in 1..=27_u32 {
            for odd in [(1_u64 << 54) - 1, (1 << 53) + 1, (1 << 53) + 3, 0x2f_1234_5678_9abd] {
                let exact = u128::from(odd) * 5_u128.pow(k);
                for w in [exact - 1, exact, exact + 1].into_iter().filter_map(|w| u64::try_from(w).ok()) {
                    assert!(agrees(w, k as usize), "{w}e-{k}");
                }
            }
        }
    }
}
