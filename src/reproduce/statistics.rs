//! Means, standard errors and slopes on logarithmic axes.

use super::book::Book;
use crate::plots::{Axis, Drawing, Scale, Spot, Trace, XyChart};
use std::fmt::Write;

/// A mean with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub(super) value: f64,
    /// The sample deviation over the root of the count; 0 for a single value.
    pub(super) error: f64,
}

impl Mean {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|other| (other - value).powi(2)).sum();
        let error = if values.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
        Self { value, error }
    }

    /// With as many digits as its standard error says something about.
    pub(super) fn text(self) -> String {
        if self.value != 0.0 && self.value.abs() < 1e-3 {
            return format!("{:.3e} ± {:.1e}", self.value, self.error);
        }
        if self.error <= 0.0 {
            return format!("{:.4}", self.value);
        }
        let digits = (1.0 - self.error.log10().floor()).clamp(0.0, 12.0) as usize;
        format!("{:.digits$} ± {:.digits$}", self.value, self.error)
    }
}

/// The slope of log y on log x, by least squares, with the standard error that those of y give if they are independent.
pub(super) fn slope(points: &[(f64, Mean)]) -> Mean {
    let shares = shares(points.iter().map(|(x, _)| *x));
    let value = points.iter().zip(&shares).map(|((_, y), share)| share * y.value.ln()).sum();
    let parts = points.iter().zip(&shares).map(|((_, y), share)| (share * y.error / y.value).powi(2));
    Mean { value, error: parts.sum::<f64>().sqrt() }
}

/// The same slope where a repetition has the same draws or rows at every place: the error is that of the slopes of single
/// repetitions, to first order.
pub(super) fn slope_of_repeats(book: &Book, case: &str, places: &[f64], quantity: &str) -> Mean {
    let shares = shares(places.iter().copied());
    let mut single: Vec<f64> = Vec::new();
    for (x, share) in places.iter().zip(&shares) {
        let values = book.values(case, *x, quantity);
        let mean = Mean::of(&values).value;
        single.resize(values.len(), 0.0);
        single.iter_mut().zip(&values).for_each(|(single, value)| *single += share * value / mean);
    }
    Mean { error: Mean::of(&single).error, ..slope(&means(book, case, places, quantity)) }
}

/// The same slope where all values are independent, with as many repetitions at a place as it has: each counts the same. The
/// error takes their relative spread to be that of all places together, because a few repetitions do not show their own.
pub(super) fn pooled_slope(book: &Book, case: &str, places: &[f64], quantity: &str) -> Mean {
    let values: Vec<(f64, Vec<f64>)> = places.iter().map(|x| (x.ln(), book.values(case, *x, quantity))).collect();
    let weight = |found: &[f64]| found.len() as f64;
    let total: f64 = values.iter().map(|(_, found)| weight(found)).sum();
    let centre = values.iter().map(|(x, found)| weight(found) * x).sum::<f64>() / total;
    let spread: f64 = values.iter().map(|(x, found)| weight(found) * (x - centre).powi(2)).sum();
    let part = |(x, found): &(f64, Vec<f64>)| weight(found) * (x - centre) * Mean::of(found).value.ln();
    let value = values.iter().map(part).sum::<f64>() / spread;
    let square = |found: &[f64]| {
        let mean = Mean::of(found).value;
        found.iter().map(|value| (value / mean - 1.0).powi(2)).sum::<f64>()
    };
    let freedom = (total - values.len() as f64).max(1.0);
    let variance = values.iter().map(|(_, found)| square(found)).sum::<f64>() / freedom;
    Mean { value, error: (variance / spread).sqrt() }
}

/// What each place adds to a slope: log y times this.
fn shares(places: impl Iterator<Item = f64>) -> Vec<f64> {
    let logs: Vec<f64> = places.map(f64::ln).collect();
    let centre = logs.iter().sum::<f64>() / logs.len() as f64;
    let spread: f64 = logs.iter().map(|x| (x - centre).powi(2)).sum();
    logs.iter().map(|x| (x - centre) / spread).collect()
}

/// Means of one quantity at several places.
pub(super) fn means(book: &Book, case: &str, places: &[f64], quantity: &str) -> Vec<(f64, Mean)> {
    places.iter().map(|x| (*x, Mean::of(&book.values(case, *x, quantity)))).collect()
}

/// A line of a chart.
pub(super) fn series(name: &str, points: &[(f64, Mean)]) -> Trace {
    let spots = points.iter().map(|(x, mean)| Spot::with_error(*x, mean.value, mean.error));
    Trace { name: name.to_owned(), drawing: Drawing::Line, spots: spots.collect() }
}

/// A chart of means with bars of one standard error; both axes are logarithmic.
pub(super) fn chart(title: &str, x: &str, y: &str, traces: Vec<Trace>) -> XyChart {
    let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Logarithmic };
    let names: Vec<&str> = traces.iter().map(|trace| trace.name.as_str()).collect();
    let description = format!("Means with bars of one standard error for {}.", names.join("; "));
    XyChart { title: title.to_owned(), description, x: axis(x), y: axis(y), traces }
}

/// A Markdown table.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "--:|".repeat(heads.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | ")); // writing to a string cannot fail
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::book::Key;
    use crate::training::Unwatched;

    #[test]
    fn a_power_law_has_its_exponent_and_the_error_by_hand() {
        let points: Vec<(f64, Mean)> =
            [1.0, 10.0, 100.0].map(|x: f64| (x, Mean { value: 3.0 / x, error: 0.3 / x })).to_vec();
        let found = slope(&points);
        assert!((found.value + 1.0).abs() < 1e-12);
        // The shares of the outer points are ±1/(2 ln 10), the relative errors 0.1.
        assert!((found.error - 0.1 / (2.0_f64.sqrt() * 10_f64.ln())).abs() < 1e-12);
        let mean = Mean::of(&[1.0, 2.0, 3.0]);
        assert!(mean.value == 2.0 && (mean.error - 3_f64.sqrt().recip()).abs() < 1e-15);
        assert_eq!((Mean { value: 12.3456, error: 0.0321 }).text(), "12.346 ± 0.032");
    }

    /// Repetitions that are off by one factor at every place have the same slope; those that are off at one place have not.
    #[test]
    fn what_a_repetition_shares_is_no_error_of_its_slope() {
        let folder = tempfile::tempdir().unwrap();
        let places = [1.0, 10.0, 100.0];
        let keys = Key::all(&["a".to_owned()], &places, 2);
        let mut book = Book::open(&folder.path().join("x.csv"), &["shared", "own"], keys.clone(), &Unwatched).unwrap();
        for key in &keys {
            let off = if key.repeat == 0 { 0.9 } else { 1.1 };
            let own = if key.x > 50.0 { off } else { 1.0 };
            book.record(key, &[off / key.x, own / key.x]).unwrap();
        }
        let of = |quantity: &str| slope_of_repeats(&book, "a", &places, quantity);
        assert!((of("shared").value + 1.0).abs() < 1e-12 && of("shared").error < 1e-12);
        // ±0.1 at the last place, whose share is 1/(2 ln 10): a standard error of 0.1 of it.
        assert!((of("own").error - 0.1 / (2.0 * 10_f64.ln())).abs() < 1e-12);
        assert!(slope(&means(&book, "a", &places, "shared")).error > 0.02);
    }

    /// Three values at 1 and one at 10: their mean of logarithms is at (ln 10)/4, the weighted squares are ¾·ln² 10.
    #[test]
    fn a_pooled_slope_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let mut keys = Key::all(&["a".to_owned()], &[1.0], 3);
        keys.push(Key::new("a", 10.0, 0));
        let mut book = Book::open(&folder.path().join("x.csv"), &["one"], keys.clone(), &Unwatched).unwrap();
        for (key, value) in keys.iter().zip([0.9, 1.0, 1.1, 0.1]) {
            book.record(key, &[value]).unwrap();
        }
        let found = pooled_slope(&book, "a", &[1.0, 10.0], "one");
        assert!((found.value + 1.0).abs() < 1e-12, "{found:?}");
        // A relative variance of 0.02 over two degrees of freedom.
        assert!((found.error - (0.01 / 0.75_f64).sqrt() / 10_f64.ln()).abs() < 1e-12, "{found:?}");
    }
}
