//! The inputs of a text column with many levels: each level is a fixed row of signs, made of its text alone.
//!
//! Signs of different levels are as good as independent, so two rows of them, scaled to length 1, have a squared distance
//! near 2, which is that of two indicators: 64 inputs stand for any number of levels. They depend on no target and on no
//! row, except that levels with few rows share one row of signs.

/// Inputs of a column whose levels are signs.
pub const LEVEL_INPUTS: usize = u64::BITS as usize;

/// Levels up to which each has an indicator of its own.
pub const MOST_INDICATORS: usize = 200;

/// Levels with fewer rows are taken together.
const FEWEST_ROWS: u64 = 3;

/// 1/√64: a row of signs has length 1.
const SIGN: f64 = 0.125;

/// The signs of the levels of one column, as the bits of a number: bit i is the sign of input i, 1 for plus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelSigns {
    /// In the order of the levels; none for a rare one.
    pub of_levels: Vec<Option<u64>>,
    /// Of rare levels, and of levels that are not known at all. None if no rare level was seen: then all inputs are 0, in
    /// the middle of the others.
    pub of_others: Option<u64>,
}

impl LevelSigns {
    /// The signs of these levels if there are too many for indicators.
    pub(super) fn of(levels: &[String]) -> Option<Self> {
        let of_levels = || levels.iter().map(|level| Some(signs(level))).collect();
        (levels.len() > MOST_INDICATORS).then(|| Self { of_levels: of_levels(), of_others: None })
    }

    /// Takes the levels with few rows together; `rows` are those of each level.
    pub(super) fn join_rare(&mut self, rows: &[u64]) {
        let rare = |rows: &u64| *rows < FEWEST_ROWS;
        for (level, _) in self.of_levels.iter_mut().zip(rows).filter(|(_, rows)| rare(rows)) {
            *level = None;
        }
        // No level is an empty text, so that these are nobody else's.
        self.of_others = rows.iter().any(|rows| *rows > 0 && rare(rows)).then(|| signs(""));
    }

    /// Levels that are taken together.
    pub fn rare_count(&self) -> usize {
        self.of_levels.iter().filter(|level| level.is_none()).count()
    }

    /// The level whose signs are most like these means of inputs: the most frequent one, nearly.
    pub(crate) fn nearest_to(&self, means: &[f64]) -> Option<usize> {
        let product = |signs: u64| {
            let mut inputs = [0.0; LEVEL_INPUTS];
            write(Some(signs), &mut inputs);
            inputs.iter().zip(means).map(|(input, mean)| input * mean).sum::<f64>()
        };
        let products = self.of_levels.iter().enumerate().filter_map(|(level, signs)| Some((level, product((*signs)?))));
        products.max_by(|left, right| left.1.total_cmp(&right.1)).map(|(level, _)| level)
    }

    /// Writes the inputs of a code; one below 0 is a level that is not known.
    pub(super) fn write(&self, code: f64, inputs: &mut [f64]) {
        let own = if code < 0.0 { None } else { self.of_levels.get(code as usize).copied().flatten() };
        write(own.or(self.of_others), inputs);
    }
}

fn write(signs: Option<u64>, inputs: &mut [f64]) {
    match signs {
        None => inputs.fill(0.0),
        Some(signs) => {
            for (bit, input) in inputs.iter_mut().enumerate() {
                *input = if signs >> bit & 1 == 1 { SIGN } else { -SIGN };
            }
        }
    }
}

/// 64 bits that depend on every byte of the text: FNV-1a, then the last steps of SplitMix64, which mix its weak low bits.
fn signs(text: &str) -> u64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(count: usize) -> Vec<String> {
        (0..count).map(|level| format!("{:05}", 10 * level)).collect()
    }

    fn inputs(signs: &LevelSigns, code: f64) -> [f64; LEVEL_INPUTS] {
        let mut inputs = [9.0; LEVEL_INPUTS];
        signs.write(code, &mut inputs);
        inputs
    }

    #[test]
    fn different_levels_are_nearly_at_right_angles() {
        assert_eq!(LevelSigns::of(&levels(MOST_INDICATORS)), None);
        let signs = LevelSigns::of(&levels(1000)).unwrap();
        let rows: Vec<_> = (0..1000).map(|level| inputs(&signs, f64::from(level))).collect();
        let product = |left: usize, right: usize| -> f64 {
            rows[left].iter().zip(&rows[right]).map(|(left, right)| left * right).sum()
        };
        assert_eq!(product(7, 7), 1.0);
        let pairs = (0..1000).flat_map(|left| (0..left).map(move |right| (left, right)));
        let (mut sum, mut squares, mut largest) = (0.0, 0.0, 0.0_f64);
        for (left, right) in pairs {
            let product = product(left, right);
            (sum, squares, largest) = (sum + product, squares + product * product, largest.max(product.abs()));
        }
        let count = 499_500.0;
        // Independent signs have mean 0 and mean square 1/64.
        assert!((sum / count).abs() < 0.005 && (squares / count * 64.0 - 1.0).abs() < 0.02, "{sum} {squares}");
        assert!(largest < 0.8, "{largest}");
    }

    #[test]
    fn rare_levels_and_unknown_ones_are_alike() {
        let mut signs = LevelSigns::of(&levels(300)).unwrap();
        assert_eq!(inputs(&signs, -1.0), [0.0; LEVEL_INPUTS]);
        let mut rows = vec![5; 300];
        (rows[3], rows[4], rows[5]) = (0, 2, 3);
        signs.join_rare(&rows);
        assert_eq!(signs.rare_count(), 2);
        let others = inputs(&signs, -2.0);
        assert_eq!([inputs(&signs, 3.0), inputs(&signs, 4.0)], [others, others]);
        assert!(inputs(&signs, 5.0) != others && others[0].abs() == SIGN);
        (rows[3], rows[4]) = (0, 3);
        let mut signs = LevelSigns::of(&levels(300)).unwrap();
        signs.join_rare(&rows);
        // No row is like an unknown level, so it is in the middle.
        assert_eq!((inputs(&signs, -1.0), inputs(&signs, 3.0)), ([0.0; LEVEL_INPUTS], [0.0; LEVEL_INPUTS]));
    }

    #[test]
    fn the_level_of_most_rows_is_the_nearest_to_the_mean() {
        let signs = LevelSigns::of(&levels(300)).unwrap();
        let mut means = [0.0; LEVEL_INPUTS];
        for level in (0..300).chain(std::iter::repeat_n(123, 100)) {
            means.iter_mut().zip(inputs(&signs, f64::from(level))).for_each(|(mean, input)| *mean += input / 400.0);
        }
        assert_eq!(signs.nearest_to(&means), Some(123));
    }
}
