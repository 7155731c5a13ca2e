//! The numbers of JSON rows: single ones by fast-float2, runs of fractions such as `0.25,-1.5,3.0,` by vector instructions.

#[cfg(target_arch = "x86_64")]
use super::fraction_vectors::ReadFractions;

/// The number at `start`, correctly rounded, and where it ends; none if JSON has no number there.
#[inline]
pub(super) fn read_number(text: &[u8], start: usize) -> Option<(f64, usize)> {
    let rest = text.get(start..)?;
    let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
    let whole = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let point_alone = unsigned.get(whole) == Some(&b'.') && !unsigned.get(whole + 1).is_some_and(u8::is_ascii_digit);
    // fast-float2 accepts more than JSON: a plus sign, leading zeros, a point without digits on both sides, `inf`.
    if whole == 0 || (whole > 1 && unsigned[0] == b'0') || point_alone {
        return None;
    }
    let (number, length) = fast_float2::parse_partial(rest).ok()?;
    Some((number, start + length))
}

/// Reads runs of fractions if the machine has AVX2.
#[derive(Clone, Copy)]
pub(super) struct RunReader {
    #[cfg(target_arch = "x86_64")]
    simd: Option<pulp::x86::V3>,
}

impl RunReader {
    /// Looks for AVX2.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            simd: pulp::x86::V3::try_new(),
        }
    }

    /// Appends the numbers from `start` on while each has a point, no exponent, at most 19 digits and a comma after it,
    /// followed by a blank if they are `spaced`. Returns the start of the next number, which is left to [`read_number`].
    #[inline]
    pub(super) fn read(self, text: &[u8], start: usize, spaced: bool, numbers: &mut Vec<f64>) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = self.simd {
            return simd.vectorize(ReadFractions { simd, text, start, spaced, numbers });
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (text, spaced, numbers);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors are loaded around a number: bytes before the first and after the last.
    const ROOM: &str = "                                        ";

    fn run(text: &str, spaced: bool) -> (Vec<f64>, usize) {
        let (mut numbers, padded) = (Vec::new(), format!("{ROOM}{text}{ROOM}"));
        let end = RunReader::new().read(padded.as_bytes(), ROOM.len(), spaced, &mut numbers);
        (numbers, end - ROOM.len())
    }

    /// Whether this machine reads runs; without AVX2 there is nothing to test.
    fn reads_runs() -> bool {
        run("0.5,", false).0 == [0.5]
    }

    /// Every number of a text by the standard library.
    fn one_by_one(text: &str) -> Vec<u64> {
        let numbers = text.split(',').map(str::trim_start).filter(|number| !number.is_empty());
        numbers.map(|number| number.parse::<f64>().unwrap().to_bits()).collect()
    }

    #[test]
    fn single_numbers_are_what_the_standard_library_reads() {
        for text in [
            "0",
            "-0",
            "0.0",
            "-1.5",
            "9007199254740993",
            "-0.3e-5",
            "1e23",
            "1E+5",
            "18446744073709551616",
            "0.00000000000000000000000000001",
            "1e-400",
            "1e400",
            "4.9e-324",
            "2.2250738585072014e-308",
            "4503599627370497.5",
            "123456789.123456789123456789",
            "1e99999999999999999999",
            "0e99999999999",
        ] {
            let expected: f64 = text.parse().unwrap();
            for behind in ["", ",1", "]", "   "] {
                let (found, end) = read_number(format!("{text}{behind}").as_bytes(), 0).unwrap();
                assert_eq!((found.to_bits(), end), (expected.to_bits(), text.len()), "{text}");
            }
        }
    }

    #[test]
    fn what_json_does_not_allow_is_not_a_number() {
        for text in
            ["", "-", "+1", ".5", "-.5", "1.", "1.e5", "01", "-01", "1e", "1e+", "NaN", "inf", "-Infinity", "0x1", "e5"]
        {
            let found = read_number(text.as_bytes(), 0).filter(|(_, end)| *end == text.len());
            assert_eq!(found, None, "{text}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_machine_with_avx2_reads_runs() {
        assert_eq!(reads_runs(), pulp::x86::V3::try_new().is_some());
    }

    #[test]
    fn runs_are_what_the_standard_library_reads() {
        if !reads_runs() {
            return;
        }
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut read = 0;
        for round in 0..20_000 {
            let spaced = round % 2 == 1;
            let mut random_number = || {
                let (sign, size) = (["", "-"][random(2) as usize], random(8) as u32);
                let whole = random(10_u64.pow(size));
                let fraction: String = (0..=random(18)).map(|_| char::from(b'0' + random(10) as u8)).collect();
                format!("{sign}{whole}.{fraction}{}", if spaced { ", " } else { "," })
            };
            let text: String = (0..8).map(|_| random_number()).collect();
            let (numbers, end) = run(&text, spaced);
            read += numbers.len();
            let found: Vec<u64> = numbers.iter().map(|number| number.to_bits()).collect();
            assert_eq!(found, one_by_one(&text[..end]), "{text}");
        }
        assert!(read > 60_000, "only {read} of 160,000 in runs"); // those of up to nineteen digits, up to the first other
    }

    /// Shortest decimals, as clients print them, are read in runs except for the few whose rounding is undetermined.
    #[test]
    fn shortest_decimals_are_read_back() {
        if !reads_runs() {
            return;
        }
        let mut read = 0;
        for i in 0..50_000_u32 {
            let number = f64::from(i) * 0.618_033_988_7 % 1.0 * 4.0 - 2.0;
            if let [found] = run(&format!("{number:?},"), false).0[..] {
                assert_eq!(found.to_bits(), number.to_bits());
                read += 1;
            }
        }
        assert!(read > 49_000, "only {read} of 50,000");
    }

    #[test]
    fn a_run_ends_before_anything_else() {
        if !reads_runs() {
            return;
        }
        for other in [
            "1",
            "-1",
            "1.",
            "-.5",
            ".5",
            "01.5",
            "-00.5",
            "+1.5",
            "1.5e3",
            "1.5E3",
            "1.5.5",
            "1..5",
            "--1.5",
            "null",
            "\"1.5\"",
            "[1.5",
            "1.5]",
            "1.5 ",
            " 1.5",
            "\u{fffd}.5",
            "1,5",
            "12345678.123456789012",
            "0.12345678901234567890123456789012345",
        ] {
            let text = format!("0.5,-2.25,{other},0.5,");
            let (numbers, end) = run(&text, false);
            assert_eq!((numbers, end), (vec![0.5, -2.25], 10), "{text}");
        }
        assert_eq!(run("0.5, 1.5,2.5, 3.5, ", true), (vec![0.5], 5), "a missing blank");
        assert_eq!(run("0.5,1.5, 2.5,", false), (vec![0.5, 1.5], 8), "a blank too many");
        assert_eq!(run("-0.0,0.0,", false).0.iter().map(|zero| zero.to_bits()).collect::<Vec<_>>(), [1 << 63, 0]);
    }

    /// Near the ends of a text there is no room for a vector: nothing is read, and nothing panics.
    #[test]
    fn edges_are_left_to_the_other_reader() {
        let text = "0.5,1.5,2.5,";
        for start in 0..=text.len() {
            assert_eq!(RunReader::new().read(text.as_bytes(), start, false, &mut Vec::new()), start);
        }
    }
}
