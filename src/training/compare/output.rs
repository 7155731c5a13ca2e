//! A comparison as text, CSV and chart.

use super::comparison::{Comparison, SamplingSummary};
use crate::plots::{Axis, Drawing, Scale, Spot, Trace, XyChart};
use std::fmt::Write;

impl Comparison {
    /// One row for each size, one column for each sampling: mean ± standard error. Markdown.
    pub fn to_text(&self) -> String {
        let samplings = self.samplings();
        let mut text = format!("| {} | {} |\n|--:", self.axis_name(), samplings.join(" | "));
        text.push_str(&"|--:".repeat(samplings.len()));
        text.push_str("|\n");
        for size in self.sizes() {
            let cells = samplings.iter().map(|sampling| {
                let found = self.summary.iter().find(|cell| cell.sampling == *sampling && size_of(cell) == size);
                found.map_or_else(String::new, cell)
            });
            let _ = writeln!(text, "| {size} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
        text
    }

    /// Means, standard errors and differences to the first sampling, one line each.
    pub fn to_csv(&self) -> String {
        let mut text = "sampling,features,labels_per_class,repetitions,metric,mean,standard_error,difference,\
                        difference_standard_error\n"
            .to_owned();
        let optional = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        for cell in &self.summary {
            let labels = cell.labels_per_class.map_or_else(String::new, |labels| labels.to_string());
            let _ = writeln!(
                text,
                "{},{},{labels},{},{},{},{},{},{}",
                cell.sampling,
                cell.features,
                cell.repetitions,
                self.metric,
                cell.mean,
                optional(cell.standard_error),
                optional(cell.difference),
                optional(cell.difference_standard_error)
            );
        }
        text
    }

    /// Mean errors by size, with bars of one standard error to each side.
    pub fn chart(&self) -> XyChart {
        let samplings = self.samplings();
        let traces = samplings.iter().map(|sampling| {
            let cells = self.summary.iter().filter(|cell| cell.sampling == *sampling);
            let spot = |cell: &SamplingSummary| {
                Spot::with_error(size_of(cell) as f64, cell.mean, cell.standard_error.unwrap_or(0.0))
            };
            Trace { name: (*sampling).to_owned(), drawing: Drawing::Line, spots: cells.map(spot).collect() }
        });
        let repetitions = self.repetitions.len();
        let metric = match self.metric.as_str() {
            "rmse" => format!("test RMSE of {}", self.target),
            _ => "share of wrong labels on test rows".to_owned(),
        };
        XyChart {
            title: format!("{}: error by {}, {}", self.dataset, self.axis_name(), self.learner),
            description: format!(
                "Mean {metric} over {repetitions} random splits, with bars of one standard error, for {}.",
                samplings.join(", ")
            ),
            x: Axis { label: self.axis_name().to_owned(), scale: Scale::Logarithmic },
            y: Axis { label: metric, scale: Scale::Linear },
            traces: traces.collect(),
        }
    }

    /// In the order of the request.
    fn samplings(&self) -> Vec<&str> {
        let mut samplings: Vec<&str> = Vec::new();
        for cell in &self.summary {
            if !samplings.contains(&cell.sampling.as_str()) {
                samplings.push(&cell.sampling);
            }
        }
        samplings
    }

    /// Ascending.
    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.summary.iter().map(size_of).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn axis_name(&self) -> &'static str {
        if self.summary.iter().any(|cell| cell.labels_per_class.is_some()) { "labels per class" } else { "features" }
    }
}

/// What the axis shows: labels per class where they were limited, features otherwise.
fn size_of(cell: &SamplingSummary) -> usize {
    cell.labels_per_class.unwrap_or(cell.features)
}

/// A mean with as many digits as its standard error says something about.
fn cell(cell: &SamplingSummary) -> String {
    let Some(error) = cell.standard_error.filter(|error| *error > 0.0) else {
        return format!("{:.4}", cell.mean);
    };
    let digits = (1.0 - error.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{:.digits$} ± {error:.digits$}", cell.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plots::Size;

    fn comparison() -> Comparison {
        let cell = |sampling: &str, features, mean, standard_error, difference| SamplingSummary {
            sampling: sampling.into(),
            features,
            labels_per_class: None,
            repetitions: 20,
            mean,
            standard_error,
            difference,
            difference_standard_error: difference.map(|_| 0.5),
        };
        Comparison {
            dataset: "houses".into(),
            target: "price".into(),
            learner: "ridge".into(),
            metric: "rmse".into(),
            summary: vec![
                cell("plain", 20, 12.3456, Some(0.0321), None),
                cell("plain", 50, 11.0, None, None),
                cell("elss1", 20, 11.5, Some(2.5), Some(-0.8456)),
                cell("elss1", 50, 10.0, Some(0.25), Some(-1.0)),
            ],
            repetitions: Vec::new(),
            trials: Vec::new(),
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_size_and_digits_by_the_standard_error() {
        let expected = "| features | plain | elss1 |\n|--:|--:|--:|\n| 20 | 12.346 ± 0.032 | 11.5 ± 2.5 |\n\
                        | 50 | 11.0000 | 10.00 ± 0.25 |\n";
        assert_eq!(comparison().to_text(), expected);
    }

    #[test]
    fn csv_has_every_number_in_full() {
        let text = comparison().to_csv();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "plain,20,,20,rmse,12.3456,0.0321,,");
        assert_eq!(lines[3], "elss1,20,,20,rmse,11.5,2.5,-0.8456,0.5");
        assert!(lines.iter().all(|line| line.split(',').count() == 9), "{text}");
    }

    #[test]
    fn the_chart_has_a_trace_for_each_sampling() {
        let chart = comparison().chart();
        assert_eq!(chart.traces.len(), 2);
        assert_eq!(chart.traces[1].spots[0], Spot { x: 20.0, y: 11.5, interval: Some((9.0, 14.0)) });
        assert_eq!(chart.traces[0].spots[1], Spot::plain(50.0, 11.0), "one repetition has no standard error");
        assert!(chart.to_svg(Size::Wide).contains("test RMSE of price"));
    }
}
