//! Answers as flat columns, for formats that have no nesting.

use super::answer::{Answer, Interval, OutputValue, Shares};
use super::flags::Warning;

/// A column of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerColumn<'a> {
    pub(super) name: String,
    pub(super) cells: Cells<'a>,
}

/// The cells of a column, one per row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cells<'a> {
    /// None for an infinite end of an interval.
    Numbers(Vec<Option<f64>>),
    Texts(Vec<String>),
    Lists(Vec<Vec<String>>),
    Truths(Vec<bool>),
    Warnings(Vec<Vec<Warning<'a>>>),
}

impl<'a> Answer<'a> {
    /// The columns of the answer. Their names depend only on the outputs and the model: `value`,
    /// `interval_low` and `interval_high`, with several targets `value.price`; `label`, `probability.red`,
    /// `decision_value`, `label_set`; `top_1` and `top_1_probability`; `contribution_baseline` and `contribution.area`;
    /// `in_range`, `interval_in_range`, `label_set_in_range` and `warnings`.
    pub(super) fn columns(&self) -> Vec<AnswerColumn<'a>> {
        let mut columns = Vec::new();
        for row in 0..self.predictions.values.nrows() {
            let mut at = Cursor { columns: &mut columns, next: 0, first_row: row == 0 };
            for output in self.listed() {
                let name = match output.name() {
                    "probabilities" => "probability",
                    "decision_values" => "decision_value",
                    name => name,
                };
                at.push(name, self.value_of(output, row));
            }
            for (rank, top) in self.top_labels(row).into_iter().flatten().enumerate() {
                at.text(|| format!("top_{}", rank + 1), top.label);
                if let Some(probability) = top.probability {
                    at.number(|| format!("top_{}_probability", rank + 1), Some(probability));
                }
            }
        }
        columns
    }
}

/// Fills the columns with one row, from left to right.
struct Cursor<'c, 'a> {
    columns: &'c mut Vec<AnswerColumn<'a>>,
    next: usize,
    first_row: bool,
}

impl<'a> Cursor<'_, 'a> {
    fn push(&mut self, name: &str, value: OutputValue<'a>) {
        match value {
            OutputValue::Number(number) => self.number(|| name.to_owned(), Some(number)),
            OutputValue::Label(label) => self.text(|| name.to_owned(), label),
            OutputValue::Named(numbers) => {
                for (part, number) in numbers.names.iter().zip(numbers.values) {
                    self.number(|| format!("{name}.{part}"), Some(number));
                }
            }
            OutputValue::Interval(interval) => {
                self.interval(name, None, interval);
                self.in_range(name, interval.in_range);
            }
            OutputValue::Intervals(intervals) => {
                let in_range = intervals.values.first().and_then(|interval| interval.in_range);
                for (target, interval) in intervals.names.iter().zip(intervals.values) {
                    self.interval(name, Some(target), interval);
                }
                self.in_range(name, in_range);
            }
            OutputValue::LabelSet(set) => {
                let labels = set.labels.into_iter().map(str::to_owned).collect();
                if let Cells::Lists(cells) = self.cells(|| name.to_owned(), || Cells::Lists(Vec::new())) {
                    cells.push(labels);
                }
                self.in_range(name, set.in_range);
            }
            OutputValue::Truth(truth) => self.truth(|| name.to_owned(), truth),
            OutputValue::Warnings(warnings) => {
                if let Cells::Warnings(cells) = self.cells(|| name.to_owned(), || Cells::Warnings(Vec::new())) {
                    cells.push(warnings);
                }
            }
            OutputValue::Contributions(shares) => self.shares(None, shares),
            OutputValue::ContributionsByOutput(named) => {
                for (output, shares) in named.names.iter().zip(named.values) {
                    self.shares(Some(output), shares);
                }
            }
            OutputValue::TopLabels(_) => {} // columns of their own
        }
    }

    fn interval(&mut self, name: &str, target: Option<&String>, interval: Interval) {
        let target = || target.map_or_else(String::new, |target| format!(".{target}"));
        self.number(|| format!("{name}_low{}", target()), interval.low);
        self.number(|| format!("{name}_high{}", target()), interval.high);
    }

    /// A column of its own, if the model keeps ranges.
    fn in_range(&mut self, name: &str, in_range: Option<bool>) {
        if let Some(in_range) = in_range {
            self.truth(|| format!("{name}_in_range"), in_range);
        }
    }

    fn truth(&mut self, name: impl FnOnce() -> String, truth: bool) {
        if let Cells::Truths(cells) = self.cells(name, || Cells::Truths(Vec::new())) {
            cells.push(truth);
        }
    }

    fn shares(&mut self, output: Option<&String>, shares: Shares) {
        let output = || output.map_or_else(String::new, |output| format!(".{output}"));
        self.number(|| format!("contribution_baseline{}", output()), Some(shares.baseline));
        for (column, number) in shares.columns.columns.iter().zip(shares.columns.numbers) {
            self.number(|| format!("contribution{}.{}", output(), column.name), Some(number));
        }
    }

    fn number(&mut self, name: impl FnOnce() -> String, number: Option<f64>) {
        if let Cells::Numbers(cells) = self.cells(name, || Cells::Numbers(Vec::new())) {
            cells.push(number);
        }
    }

    fn text(&mut self, name: impl FnOnce() -> String, text: &str) {
        if let Cells::Texts(cells) = self.cells(name, || Cells::Texts(Vec::new())) {
            cells.push(text.to_owned());
        }
    }

    /// The next column; the first row creates it.
    fn cells(&mut self, name: impl FnOnce() -> String, empty: impl FnOnce() -> Cells<'a>) -> &mut Cells<'a> {
        if self.first_row {
            self.columns.push(AnswerColumn { name: name(), cells: empty() });
        }
        self.next += 1;
        &mut self.columns[self.next - 1].cells
    }
}
