//! Runs of decimal fractions such as `0.25,-1.5,3.0,`: what a table of measured numbers is made of.

#[cfg(target_arch = "x86_64")]
use super::fraction_vectors::FractionRun;

/// Reads runs by vector instructions, where the machine has them.
#[derive(Clone, Copy)]
pub(super) struct RunReader {
    #[cfg(target_arch = "x86_64")]
    simd: Option<pulp::x86::V3>,
}

impl RunReader {
    /// With what the machine has.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            simd: pulp::x86::V3::try_new(),
        }
    }

    /// Appends the numbers from `start` on, as long as each has a point, no exponent, not too many digits, and a comma
    /// behind it, followed by a blank if they are `spaced`. Where the next number begins, which is another reader's.
    #[inline]
    pub(super) fn read(self, text: &[u8], start: usize, spaced: bool, numbers: &mut Vec<f64>) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = self.simd {
            return simd.vectorize(FractionRun { simd, text, start, spaced, numbers });
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (text, spaced, numbers);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serving::formats::decimal::read_number;

    /// Room for a look before the first number of a text and behind its last.
    const ROOM: &str = "                                        ";

    fn run(text: &str, spaced: bool) -> (Vec<f64>, usize) {
        let (mut numbers, padded) = (Vec::new(), format!("{ROOM}{text}{ROOM}"));
        let end = RunReader::new().read(padded.as_bytes(), ROOM.len(), spaced, &mut numbers);
        (numbers, end - ROOM.len())
    }

    /// Whether this machine reads runs at all; one that does not has nothing to compare.
    fn reads_runs() -> bool {
        run("0.5,", false).0 == [0.5]
    }

    /// Every number of a text by the reader of single ones.
    fn one_by_one(text: &str) -> Vec<u64> {
        let numbers = text.split(',').map(str::trim_start).filter(|number| !number.is_empty());
        numbers.map(|number| read_number(number.as_bytes(), 0).unwrap().0.to_bits()).collect()
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_machine_with_avx2_reads_runs() {
        assert_eq!(reads_runs(), pulp::x86::V3::try_new().is_some());
    }

    #[test]
    fn runs_are_what_single_numbers_are() {
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

    /// Numbers printed as short as they can be, as clients do, are read in runs but for those at a tie.
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

    /// At the edges of a text there is no room for a look: nothing is read, and nothing panics.
    #[test]
    fn edges_are_left_to_the_other_reader() {
        let text = "0.5,1.5,2.5,";
        for start in 0..=text.len() {
            assert_eq!(RunReader::new().read(text.as_bytes(), start, false, &mut Vec::new()), start);
        }
    }
}
