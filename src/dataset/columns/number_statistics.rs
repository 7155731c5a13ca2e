//! Counts and moments of numbers, and the first cells of a sort with their lines.

use std::collections::HashSet;

/// Running statistics of the numbers of a column.
pub(super) struct NumberStatistics {
    pub(super) count: u64,
    /// Distinct numbers as bits, up to the limit.
    distinct: HashSet<u64>,
    limit: usize,
    /// Numbers that were there before, as long as distinct ones were counted.
    pub(super) repeats: u64,
    pub(super) all_integers: bool,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
    /// Σ(x − mean)², updated by Welford's recurrence.
    squares: f64,
    /// Σ(x − mean)³, likewise, for the skewness.
    cubes: f64,
}

impl NumberStatistics {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            count: 0,
            distinct: HashSet::new(),
            limit,
            repeats: 0,
            all_integers: true,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
            cubes: 0.0,
        }
    }

    pub(super) fn add(&mut self, number: f64) {
        self.count += 1;
        if self.distinct.len() < self.limit {
            self.repeats += u64::from(!self.distinct.insert((number + 0.0).to_bits())); // −0 counts as 0
        }
        self.all_integers &= number.fract() == 0.0;
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        let count = self.count as f64;
        let step = number - self.mean;
        let part = step / count;
        let square = step * part * (count - 1.0);
        self.mean += part;
        self.cubes += square * part * (count - 2.0) - 3.0 * part * self.squares;
        self.squares += step * (number - self.mean);
    }

    pub(super) fn distinct(&self) -> u64 {
        self.distinct.len() as u64
    }

    pub(super) fn distinct_is_lower_bound(&self) -> bool {
        self.distinct.len() >= self.limit
    }

    /// With divisor n.
    pub(super) fn std(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }

    /// The third standardised moment; 0 for constants.
    pub(super) fn skewness(&self) -> f64 {
        let variance = self.squares / self.count as f64;
        if variance > 0.0 { self.cubes / self.count as f64 / variance.powf(1.5) } else { 0.0 }
    }
}

/// How many cells of one sort there were, and the first of them.
#[derive(Default)]
pub(super) struct CountedCells {
    pub(super) count: u64,
    pub(super) first: Vec<(u64, String)>,
}

impl CountedCells {
    /// Cells that findings and errors name.
    const SHOWN: usize = 5;

    pub(super) fn add(&mut self, line: u64, cell: &str) {
        self.count += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push((line, shorten(cell)));
        }
    }

    /// The first cells of several sorts in the order of their lines.
    pub(super) fn merged<'a>(sorts: impl IntoIterator<Item = &'a Self>) -> Vec<(u64, String)> {
        let mut all: Vec<(u64, String)> = sorts.into_iter().flat_map(|kept| kept.first.clone()).collect();
        all.sort();
        all.truncate(Self::SHOWN);
        all
    }
}

/// The first characters of a cell, for error texts.
fn shorten(cell: &str) -> String {
    const SHOWN: usize = 40;
    if cell.chars().count() <= SHOWN { cell.to_owned() } else { cell.chars().take(SHOWN).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_two_passes() {
        let numbers = [1.0, 4.0, -2.5, 10.0, 4.0, 0.25];
        let mut statistics = NumberStatistics::new(100);
        for number in numbers {
            statistics.add(number);
        }
        let mean = numbers.iter().sum::<f64>() / 6.0;
        let moment = |power| numbers.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / 6.0;
        assert!((statistics.mean - mean).abs() < 1e-12 && (statistics.std() - moment(2).sqrt()).abs() < 1e-12);
        assert!((statistics.skewness() - moment(3) / moment(2).powf(1.5)).abs() < 1e-12);
        assert_eq!((statistics.distinct(), statistics.repeats, statistics.all_integers), (5, 1, false));
    }
}
