//! Numbers of JSON as doubles, correctly rounded, for texts that hold little else.
//!
//! A number is w·10ᵉ, and with up to nineteen digits w fits 64 bits. Where w < 2⁵³ and |e| ≤ 22 one operation on
//! doubles rounds once [Clinger 1990]. Else, for −27 ≤ e < 0, w is multiplied with 64 bits of 5ᵉ, which tells the
//! rounding but for two cases in a thousand [after Lemire 2021]. What is left, those, long numbers and far exponents,
//! the standard library reads.

/// Digits that surely fit 64 bits.
pub(super) const MOST_DIGITS: usize = 19;

/// Powers of ten that are doubles.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The number at `start` as JSON writes it, and where it ends; none where there is no number.
#[inline]
pub(super) fn read_number(text: &[u8], start: usize) -> Option<(f64, usize)> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let mut digits = Digits { sum: 0, at: first };
    digits.read_few(text);
    let whole = digits.at - first;
    if whole == 0 || (whole > 1 && text[first] == b'0') {
        return None;
    }
    let mut fraction = 0;
    if text.get(digits.at) == Some(&b'.') {
        digits.at += 1;
        let point = digits.at;
        digits.read_many(text);
        fraction = digits.at - point;
        if fraction == 0 {
            return None;
        }
    }
    let mantissa = &text[first..digits.at];
    let (power, end) = match text.get(digits.at) {
        Some(b'e' | b'E') => read_power(text, digits.at + 1)?,
        _ => (0, digits.at),
    };
    let fits = whole + fraction <= MOST_DIGITS || significant_digits(mantissa) <= MOST_DIGITS;
    let quick = if fits { scaled(digits.sum, power - i64::try_from(fraction).ok()?) } else { None };
    let size = match quick {
        Some(size) => size,
        None => std::str::from_utf8(&text[first..end]).ok()?.parse().ok()?,
    };
    Some((if negative { -size } else { size }, end))
}

/// Digits read so far as one number, modulo 2⁶⁴.
struct Digits {
    sum: u64,
    at: usize,
}

impl Digits {
    /// Reads on while there are digits.
    #[inline]
    fn read_few(&mut self, text: &[u8]) {
        while let Some(digit) = text.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            self.sum = self.sum.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
    }

    /// The same, eight at a time where there are so many.
    #[inline]
    fn read_many(&mut self, text: &[u8]) {
        while let Some(eight) = text.get(self.at..self.at + 8).and_then(eight_digits) {
            self.sum = self.sum.wrapping_mul(100_000_000).wrapping_add(eight);
            self.at += 8;
        }
        self.read_few(text);
    }
}

/// Eight bytes as a number if all are digits: neighbours are joined to pairs, pairs to fours, fours to eight.
#[inline]
fn eight_digits(bytes: &[u8]) -> Option<u64> {
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let bytes = u64::from_le_bytes(bytes.try_into().ok()?);
    // A digit is 0x30 to 0x39: its high half stays 3 when six is added.
    if (bytes & HIGH) | ((bytes.wrapping_add(0x0606_0606_0606_0606) & HIGH) >> 4) != ZEROS | ZEROS >> 4 {
        return None;
    }
    let pairs = (bytes - ZEROS).wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(1 + (10_000 << 32)) >> 32)
}

/// The exponent behind an `e`; one too long to matter counts as far.
fn read_power(text: &[u8], start: usize) -> Option<(i64, usize)> {
    const FAR: i64 = 1 << 20;
    let sign = text.get(start).filter(|byte| matches!(byte, b'+' | b'-'));
    let mut at = start + usize::from(sign.is_some());
    let first = at;
    let mut power = 0;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        power = FAR.min(power * 10 + i64::from(digit - b'0'));
        at += 1;
    }
    (at > first).then_some((if sign == Some(&b'-') { -power } else { power }, at))
}

/// The digits from the first that is not zero on.
fn significant_digits(mantissa: &[u8]) -> usize {
    let zeros = mantissa.iter().take_while(|byte| matches!(byte, b'0' | b'.')).count();
    mantissa[zeros..].iter().filter(|byte| **byte != b'.').count()
}

/// w·10ᵉ, where this is the place to compute it.
#[inline]
fn scaled(w: u64, exponent: i64) -> Option<f64> {
    const EXACT: u64 = 1 << 53;
    match usize::try_from(exponent.unsigned_abs()).ok()? {
        _ if w == 0 => Some(0.0),
        power if w <= EXACT && power < TENS.len() => {
            Some(if exponent < 0 { w as f64 / TENS[power] } else { w as f64 * TENS[power] })
        }
        power if exponent < 0 => FIFTHS.get(power)?.multiply(w),
        _ => None,
    }
}

/// 10⁻ᵏ, its 5⁻ᵏ in 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Fifth {
    /// ⌊2^(63 + bits)/5ᵏ⌋ for a 5ᵏ of so many bits: its highest bit is set.
    reciprocal: u64,
    /// What the bits of a double begin with if its w and the product have no zeros ahead.
    exponent: u64,
}

/// By k, from 1 on: while 5ᵏ < 2⁶³.
pub(super) static FIFTHS: [Fifth; 28] = Fifth::all();

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

    /// w/10ᵏ, rounded to the nearest double; w is not 0. None where 64 bits do not tell to which side.
    #[inline]
    pub(super) fn multiply(self, w: u64) -> Option<f64> {
        const LOST: u32 = 11;
        const HALF: u64 = 1 << (LOST - 1);
        let zeros = w.leading_zeros();
        // The reciprocal is less than one too small, so that the product lacks less than 2⁶⁴: what is meant lies from
        // `high` to less than two above it, and to less than four when the one zero it may have ahead is gone.
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

    /// The same as the standard library reads, to the bit, and all of it.
    fn agrees(text: &str) {
        let expected: f64 = text.parse().unwrap();
        for behind in ["", ",1", "]", "   "] {
            let padded = format!("{text}{behind}");
            let (found, end) = read_number(padded.as_bytes(), 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.to_bits(), end), (expected.to_bits(), text.len()), "{text}: {found} {expected}");
        }
    }

    /// Scatters the bits of a number.
    fn scattered(number: u64) -> u64 {
        let bits = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    #[test]
    fn it_reads_what_the_standard_library_reads() {
        for text in [
            "0",
            "-0",
            "0.0",
            "1",
            "-1.5",
            "12345678",
            "123456789012345678",
            "9007199254740993",
            "0.1",
            "-0.3e-5",
            "1e22",
            "1e23",
            "1E+5",
            "9999999999999999999",
            "18446744073709551615",
            "99999999999999999999",
            "0.00000000000000000000000000001",
            "1e-400",
            "1e400",
            "4.9e-324",
            "2.2250738585072014e-308",
            "0.000012345678901234567",
            "123456789.123456789123456789",
            "1e99999999999999999999",
            "0e99999999999",
        ] {
            agrees(text);
        }
    }

    #[test]
    fn it_rounds_as_the_standard_library_does() {
        for i in 0..200_000_u64 {
            let bits = scattered(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let digits = bits >> (scattered(bits) % 64);
            agrees(&format!("{digits}e-{}", bits % 30));
            agrees(&format!("0.{digits}"));
            agrees(&format!("{}.{digits}e{}", bits % 1000, bits.cast_signed() % 12));
            let double = f64::from_bits(bits);
            if double.is_finite() {
                agrees(&format!("{double:e}"));
            }
            agrees(&format!("{}", (bits >> 11) as f64 / (1_u64 << 53) as f64));
        }
    }

    /// Halfway between two doubles, and one digit to either side.
    #[test]
    fn ties_go_to_the_even_double() {
        for power in 1..=27_u32 {
            // (2k + 1)/2 units of the last place are an odd number of 2⁻ᵖ.
            for odd in [(1_u64 << 54) - 1, (1 << 53) + 1, (1 << 53) + 3, 0x2f_1234_5678_9abd] {
                let exact = u128::from(odd) * 5_u128.pow(power.min(27));
                if exact < 10_u128.pow(19) {
                    for digits in [exact - 1, exact, exact + 1] {
                        agrees(&format!("{digits}e-{power}"));
                    }
                }
            }
        }
        for text in ["9007199254740993.0", "4503599627370496.5", "4503599627370497.5", "1125899906842624.125"] {
            agrees(text);
        }
    }

    #[test]
    fn what_json_does_not_allow_is_no_number() {
        for text in ["", "-", "+1", ".5", "1.", "01", "-01", "1e", "1e+", "NaN", "Infinity", "-Infinity", "0x1", "e5"] {
            let found = read_number(text.as_bytes(), 0).filter(|(_, end)| *end == text.len());
            assert_eq!(found, None, "{text}");
        }
    }
}
