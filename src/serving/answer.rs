//! Predictions with the outputs that were asked for, written as JSON here and as columns in [`super::answer_columns`].

use super::flags::Warning;
use super::{Output, Outputs, RowFlags};
use crate::dataset::InputColumn;
use crate::model::{FittedModel, Head, Labels, Predictions};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// The answer for a block of rows. Serialises as a list with one element per row.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// What the request asked for.
    pub outputs: &'a Outputs,
    /// The model that made the predictions.
    pub model: &'a FittedModel,
    /// One row for each row of the block.
    pub predictions: &'a Predictions,
    /// The flags of the rows, if the outputs show them.
    pub flags: Option<&'a RowFlags>,
}

/// One output of one row.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutputValue<'a> {
    Number(f64),
    Label(&'a str),
    Named(Named<'a, f64>),
    Interval(Interval),
    Intervals(Named<'a, Interval>),
    Contributions(Shares<'a>),
    ContributionsByOutput(Named<'a, Shares<'a>>),
    LabelSet(LabelSet<'a>),
    TopLabels(Vec<RankedLabel<'a>>),
    Truth(bool),
    Warnings(Vec<Warning<'a>>),
}

/// A prediction interval. An infinite end is null: there were too few calibration rows for this δ.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Interval {
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    coverage: f64,
    /// Whether the inputs lie in the range of the fitted rows: the coverage says nothing about others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_range: Option<bool>,
}

/// A conformal set of labels.
#[derive(Debug, Serialize)]
pub(super) struct LabelSet<'a> {
    /// The most probable first.
    pub(super) labels: Vec<&'a str>,
    coverage: f64,
    /// As in an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) in_range: Option<bool>,
}

/// The shares of the columns in one output.
#[derive(Debug, Serialize)]
pub(super) struct Shares<'a> {
    /// The output at the typical row, which the shares are added to.
    pub(super) baseline: f64,
    pub(super) columns: ByColumn<'a>,
}

/// A number for each column; serialises as an object.
#[derive(Debug)]
pub(super) struct ByColumn<'a> {
    pub(super) columns: &'a [InputColumn],
    pub(super) numbers: Vec<f64>,
}

impl Serialize for ByColumn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().map(|column| &column.name).zip(&self.numbers))
    }
}

/// A label, with its probability if the model is calibrated.
#[derive(Debug, Serialize)]
pub(super) struct RankedLabel<'a> {
    pub(super) label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) probability: Option<f64>,
}

/// Values by name; serialises as an object in this order.
#[derive(Debug)]
pub(super) struct Named<'a, T> {
    pub(super) names: &'a [String],
    pub(super) values: Vec<T>,
}

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.names.iter().zip(&self.values))
    }
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.predictions.values.nrows();
        let mut list = serializer.serialize_seq(Some(rows))?;
        for row in 0..rows {
            list.serialize_element(&RowAnswer { answer: *self, row })?;
        }
        list.end()
    }
}

/// The answer for one row.
pub(super) struct RowAnswer<'a> {
    pub(super) answer: Answer<'a>,
    pub(super) row: usize,
}

impl Serialize for RowAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (answer, row) = (self.answer, self.row);
        if answer.is_plain() {
            return answer.value_of(Output::plain(answer.model), row).serialize(serializer);
        }
        let mut object = serializer.serialize_map(None)?;
        for output in answer.listed() {
            object.serialize_entry(output.name(), &answer.value_of(output, row))?;
        }
        if let Some(labels) = answer.top_labels(row) {
            object.serialize_entry("top_k", &OutputValue::TopLabels(labels))?;
        }
        object.end()
    }
}

impl<'a> Answer<'a> {
    /// The decided label of each row.
    pub fn labels(&self) -> Vec<String> {
        let text = |row| match self.value_of(Output::Label, row) {
            OutputValue::Label(label) => label.to_owned(),
            _ => String::new(),
        };
        (0..self.predictions.values.nrows()).map(text).collect()
    }

    /// The label set of each row, as a JSON list.
    pub fn label_sets(&self) -> Vec<String> {
        let text = |row| match self.value_of(Output::LabelSet, row) {
            OutputValue::LabelSet(set) => serde_json::json!(set.labels).to_string(),
            _ => String::new(),
        };
        (0..self.predictions.values.nrows()).map(text).collect()
    }

    /// The warnings of each row, as a JSON list.
    pub fn warning_lists(&self) -> Vec<String> {
        (0..self.predictions.values.nrows()).map(|row| serde_json::json!(self.warnings(row)).to_string()).collect()
    }

    /// Whether the inputs of each row lie in the range of the fitted rows.
    pub fn in_range(&self) -> Vec<bool> {
        (0..self.predictions.values.nrows()).map(|row| self.is_in_range(row).unwrap_or_default()).collect()
    }

    fn is_in_range(&self, row: usize) -> Option<bool> {
        self.flags.and_then(|flags| flags.in_range(row))
    }

    fn warnings(&self, row: usize) -> Vec<Warning<'a>> {
        self.flags.map_or_else(Vec::new, |flags| flags.warnings(self.model, row))
    }

    /// The numbers of an output, row by row; an interval counts as two numbers, infinite where it has no end.
    pub fn numbers(&self, output: Output) -> Vec<f64> {
        let mut numbers = Vec::new();
        let ends =
            |interval: &Interval| [interval.low.unwrap_or(f64::NEG_INFINITY), interval.high.unwrap_or(f64::INFINITY)];
        for row in 0..self.predictions.values.nrows() {
            match self.value_of(output, row) {
                OutputValue::Number(number) => numbers.push(number),
                OutputValue::Named(named) => numbers.extend(named.values),
                OutputValue::Interval(interval) => numbers.extend(ends(&interval)),
                OutputValue::Intervals(intervals) => numbers.extend(intervals.values.iter().flat_map(ends)),
                OutputValue::Contributions(shares) => numbers.extend(shares.columns.numbers),
                OutputValue::ContributionsByOutput(named) => {
                    numbers.extend(named.values.into_iter().flat_map(|shares| shares.columns.numbers));
                }
                OutputValue::Label(_)
                | OutputValue::LabelSet(_)
                | OutputValue::TopLabels(_)
                | OutputValue::Truth(_)
                | OutputValue::Warnings(_) => {}
            }
        }
        numbers
    }

    /// Whether the answer is a bare value or label per row, because no outputs were named.
    fn is_plain(&self) -> bool {
        self.outputs.named.is_none() && self.outputs.top_k.is_none()
    }

    /// The outputs in the order of the request.
    pub(super) fn listed(&self) -> impl Iterator<Item = Output> + use<'a> {
        let named = self.outputs.named.as_deref();
        let plain = named.is_none().then(|| Output::plain(self.model));
        plain.into_iter().chain(named.into_iter().flatten().copied())
    }

    /// One output of one row.
    pub(super) fn value_of(&self, output: Output, row: usize) -> OutputValue<'a> {
        let values = self.predictions.values.row(row);
        let values = values.to_slice().expect("values are row-major");
        let of_row = |numbers: &Option<ndarray::Array2<f64>>| numbers.as_ref().map(|all| all.row(row).to_vec());
        match (output, &self.model.head) {
            (Output::Spread, head) => by_target(head, of_row(&self.predictions.spreads).unwrap_or_default()),
            (Output::ErrorBar, head) => by_target(head, of_row(&self.predictions.error_bars).unwrap_or_default()),
            (Output::CertifiedErrorBar, head) => {
                let bars = of_row(&self.predictions.error_bars).unwrap_or_default();
                by_target(head, self.outputs.certified.as_ref().map_or_else(Vec::new, |made| made.bars(&bars)))
            }
            (Output::Interval, head) => self.interval(head, row, values),
            (Output::Contributions, head) => self.contributions(head, row),
            (Output::InRange, _) => OutputValue::Truth(self.is_in_range(row).unwrap_or_default()),
            (Output::Warnings, _) => OutputValue::Warnings(self.warnings(row)),
            (Output::Label, Head::Labels(labels)) => OutputValue::Label(&labels.labels[labels.decide(values)]),
            (Output::Probabilities, Head::Labels(labels)) => OutputValue::Named(Named {
                names: &labels.labels,
                values: labels.probabilities(values).unwrap_or_default(),
            }),
            (Output::DecisionValues, Head::Labels(labels)) => match values {
                [value] => OutputValue::Number(*value),
                values => OutputValue::Named(Named { names: &labels.labels, values: values.to_vec() }),
            },
            (Output::LabelSet, Head::Labels(labels)) => self.label_set(labels, row, values),
            (_, head) => match (head.targets(), values) {
                ([_], [number]) => OutputValue::Number(*number), // the most common case allocates nothing
                (names, _) => OutputValue::Named(Named { names, values: values.to_vec() }),
            },
        }
    }

    /// What each column adds to the output of the typical row.
    fn contributions(&self, head: &'a Head, row: usize) -> OutputValue<'a> {
        let columns = self.model.inputs.encoding.columns.as_slice();
        let Some(found) = &self.predictions.contributions else {
            return OutputValue::Contributions(Shares {
                baseline: f64::NAN,
                columns: ByColumn { columns: &[], numbers: Vec::new() },
            });
        };
        let numbers = found.shares.row(row).to_vec();
        let shares = numbers.chunks(columns.len().max(1)).zip(&found.baseline).map(|(numbers, baseline)| Shares {
            baseline: *baseline,
            columns: ByColumn { columns, numbers: numbers.to_vec() },
        });
        let mut shares: Vec<Shares> = shares.collect();
        match (head, shares.len()) {
            (_, 1) => OutputValue::Contributions(shares.remove(0)),
            (Head::Numbers { targets }, _) => {
                OutputValue::ContributionsByOutput(Named { names: targets, values: shares })
            }
            (Head::Labels(labels), _) => {
                OutputValue::ContributionsByOutput(Named { names: &labels.labels, values: shares })
            }
        }
    }

    /// f ± q, where q is the conformal quantile at δ.
    fn interval(&self, head: &'a Head, row: usize, values: &[f64]) -> OutputValue<'a> {
        let spreads = self.predictions.spreads.as_ref().filter(|_| self.outputs.scaled);
        let spreads = spreads.map(|spreads| spreads.row(row).to_vec());
        let scales = spreads.as_ref().unwrap_or(&self.model.interval_scales);
        let in_range = self.is_in_range(row);
        let of_target = |(value, scale): (&f64, &f64)| {
            let half = self.outputs.quantile * scale;
            let end = |end: f64| end.is_finite().then_some(end);
            Interval { low: end(value - half), high: end(value + half), coverage: 1.0 - self.outputs.delta, in_range }
        };
        let intervals: Vec<Interval> = values.iter().zip(scales).map(of_target).collect();
        match (head.targets(), intervals.as_slice()) {
            ([_], [interval]) => OutputValue::Interval(*interval),
            (names, _) => OutputValue::Intervals(Named { names, values: intervals }),
        }
    }

    /// The labels whose conformal score is at most q, most probable first.
    fn label_set(&self, labels: &'a Labels, row: usize, values: &[f64]) -> OutputValue<'a> {
        let scores = labels.conformal_scores(values);
        let most_probable_first = by_size(&labels.probabilities_at(1.0, values)).into_iter();
        let within = most_probable_first.filter(|&at| scores[at] <= self.outputs.quantile);
        let labels = within.map(|label| labels.labels[label].as_str()).collect();
        OutputValue::LabelSet(LabelSet { labels, coverage: 1.0 - self.outputs.delta, in_range: self.is_in_range(row) })
    }

    /// The `top_k` most probable labels of a row, if they are asked for.
    pub(super) fn top_labels(&self, row: usize) -> Option<Vec<RankedLabel<'a>>> {
        let (count, labels) = (self.outputs.top_k?, self.model.head.labels()?);
        let values = self.predictions.values.row(row).to_vec();
        let probabilities = labels.probabilities(&values);
        let scores = probabilities.clone().unwrap_or_else(|| match values.as_slice() {
            [value] => vec![-value, *value],
            values => values.to_vec(),
        });
        let ranked = |label: usize| RankedLabel {
            label: labels.labels[label].as_str(),
            probability: probabilities.as_ref().map(|probabilities| probabilities[label]),
        };
        Some(by_size(&scores).into_iter().take(count).map(ranked).collect())
    }
}

/// A bare number for a single target, numbers by name for several.
fn by_target(head: &Head, numbers: Vec<f64>) -> OutputValue<'_> {
    match (head.targets(), numbers.as_slice()) {
        ([_], [number]) => OutputValue::Number(*number),
        (names, _) => OutputValue::Named(Named { names, values: numbers }),
    }
}

/// Indices of the numbers, largest first; equal ones keep their order.
fn by_size(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&left, &right| f64::total_cmp(&numbers[right], &numbers[left]));
    order
}
