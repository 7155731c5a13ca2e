//! Decimal fractions read 32 bytes at a time.
//!
//! One comparison tells the bytes that are no digits: the sign, the point, the comma behind. The digits, without the
//! point, are moved to the end of a vector and become w by three steps that join neighbours; w·10⁻ᵏ is rounded as in
//! [`super::decimal`]. Nothing branches on the sign or on how many digits there are, which nobody can foresee.

use super::decimal::{FIFTHS, MOST_DIGITS};
use pulp::NullaryFnOnce;
use pulp::x86::V3;
use std::arch::x86_64::__m256i;

/// Bytes of a vector.
const WIDTH: usize = 32;

/// Bytes before a number, whatever they are, that are loaded with its digits.
const BEFORE: usize = WIDTH + 1;

/// A vector from the start of a number on, and what lies before it.
type Window = [u8; BEFORE + WIDTH];

/// Numbers to be read and where they are put.
pub(super) struct FractionRun<'a> {
    pub(super) simd: V3,
    pub(super) text: &'a [u8],
    pub(super) start: usize,
    pub(super) spaced: bool,
    pub(super) numbers: &'a mut Vec<f64>,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl NullaryFnOnce for FractionRun<'_> {
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

/// The number that the last vector of a window begins with, and where in that vector the comma behind it lies.
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[inline(always)]
fn read_fraction(simd: V3, window: &Window) -> Option<(f64, usize)> {
    let (v, avx) = (simd.avx2, simd.avx);
    // Moved so that the digits are the ten least of signed bytes.
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

/// The digits before the comma as one number: those of the fraction where they lie, the whole ones a byte later, where
/// the point was, and zeros before them.
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[inline(always)]
fn join_digits(simd: V3, window: &Window, comma: usize, fraction: usize, digits: usize) -> u64 {
    let (v, avx) = (simd.avx2, simd.avx);
    let (in_fraction, in_number) = (pulp::cast(LAST_BYTES[fraction].0), pulp::cast(LAST_HALVES[digits].0));
    let bytes = v._mm256_blendv_epi8(load(window, comma), load(window, comma + 1), in_fraction);
    let values = v._mm256_and_si256(bytes, in_number);
    // Each step multiplies the left of two neighbours, which is the lower half of a factor, and adds the right.
    let pairs = v._mm256_maddubs_epi16(values, avx._mm256_set1_epi16(10 + (1 << 8)));
    let fours = v._mm256_madd_epi16(pairs, avx._mm256_set1_epi32(100 + (1 << 16)));
    let eights = v._mm256_madd_epi16(v._mm256_packus_epi32(fours, fours), avx._mm256_set1_epi32(10_000 + (1 << 16)));
    let [high, _, low, _]: [u64; 4] = pulp::cast(eights); // packing has doubled each half
    (high >> 32) * 10_u64.pow(16) + (low & 0xffff_ffff) * 10_u64.pow(8) + (low >> 32)
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[inline(always)]
fn load(window: &Window, at: usize) -> __m256i {
    let bytes: &[u8; WIDTH] = window[at..].first_chunk().expect("the window goes on for a vector");
    pulp::cast(*bytes)
}

/// Bits of some bytes of a vector.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct ByteMask([u8; WIDTH]);

/// The last n bytes, by n.
static LAST_BYTES: [ByteMask; MOST_DIGITS + 1] = last(0xff);

/// The lower halves of the last n bytes, by n: those of a digit are its value.
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
