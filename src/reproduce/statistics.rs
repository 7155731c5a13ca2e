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

/// The slope of log y on log x, by least squares, with the standard error that those of y give.
pub(super) fn slope(points: &[(f64, Mean)]) -> Mean {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.value.ln())).collect();
    let centre = logs.iter().map(|(x, _)| x).sum::<f64>() / logs.len() as f64;
    let spread: f64 = logs.iter().map(|(x, _)| (x - centre).powi(2)).sum();
    let share = |x: f64| (x - centre) / spread;
    let value = logs.iter().map(|(x, y)| share(*x) * y).sum();
    let variance: f64 = logs.iter().zip(points).map(|((x, _), (_, y))| (share(*x) * y.error / y.value).powi(2)).sum();
    Mean { value, error: variance.sqrt() }
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
}
