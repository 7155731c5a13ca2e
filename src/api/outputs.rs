//! What a prediction says: which outputs were asked for, and how they are written.

use super::error::ApiError;
use super::predictions::invalid;
use crate::model::{ErrorBars, FittedModel, Head, Labels, Predictor};
use crate::theory::conformal::conformal_quantile;
use ndarray::{Array2, ArrayView1};
use serde_json::{Map, Value, json};

/// One output of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// The predicted number.
    Value,
    /// Its standard deviation by the model's own account.
    Spread,
    /// The decided label.
    Label,
    /// Of every label.
    Probabilities,
    /// What the label was decided by.
    DecisionValues,
    /// Where the observation lies, with a guaranteed probability.
    Interval,
    /// Labels among which the true one is, with a guaranteed probability.
    LabelSet,
    /// How far the prediction may be from the exact kernel method: a standard deviation over features.
    ErrorBar,
}

impl Output {
    const ALL: [(&'static str, Self); 8] = [
        ("value", Self::Value),
        ("spread", Self::Spread),
        ("label", Self::Label),
        ("probabilities", Self::Probabilities),
        ("decision_values", Self::DecisionValues),
        ("interval", Self::Interval),
        ("label_set", Self::LabelSet),
        ("error_bar", Self::ErrorBar),
    ];

    /// Why a model does not have it.
    fn refusal(self, model: &FittedModel) -> Option<&'static str> {
        match (self, &model.head) {
            (Self::Value | Self::Spread | Self::Interval | Self::ErrorBar, Head::Labels(_)) => {
                Some("this model predicts labels: ask for label, probabilities, decision_values or label_set")
            }
            (Self::Label | Self::Probabilities | Self::DecisionValues | Self::LabelSet, Head::Numbers { .. }) => {
                Some("this model predicts numbers: ask for value, interval, error_bar or spread")
            }
            (Self::Interval | Self::LabelSet, _) if model.calibration_scores().is_none() => {
                Some("no rows were left untouched to calibrate with; train it with a calibration_fraction above 0")
            }
            (Self::ErrorBar, _) if model.error_bars.is_none() => {
                Some("this model keeps no error bars; train it with \"error_bars\": true and at least two draws")
            }
            (Self::Spread, Head::Numbers { .. }) if model.spread.is_none() => {
                Some("this model keeps no spread; train it with \"spread\": true")
            }
            (Self::Probabilities, Head::Labels(labels)) if labels.slope.is_none() => {
                Some("this model was not calibrated; train it with a calibration_fraction above 0")
            }
            _ => None,
        }
    }
}

/// The outputs of a request.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    /// None asks for the plain value or label.
    named: Option<Vec<Output>>,
    /// How many of the likeliest labels to list.
    top_k: Option<usize>,
    /// δ of intervals and label sets.
    delta: f64,
}

/// What was computed for all rows of a request.
pub(super) struct Computed {
    pub(super) values: Array2<f64>,
    spreads: Option<Vec<Vec<f64>>>,
    error_bars: Option<Vec<Vec<f64>>>,
    /// The conformal quantile at δ, infinite where rows were too few for it.
    quantile: f64,
    /// Units of the quantile, one a target.
    scales: Vec<f64>,
    /// Whether its units are the spreads of each row instead.
    scaled: bool,
}

impl Outputs {
    /// Reads the `outputs`, `top_k` and `delta` of a request.
    pub(super) fn read(body: &Map<String, Value>, model: &FittedModel) -> Result<Self, ApiError> {
        let top_k = body.get("top_k").map(|top_k| read_top_k(top_k, model)).transpose()?;
        let delta = body.get("delta").map_or(Ok(model.failure_probability), read_delta)?;
        let Some(outputs) = body.get("outputs") else { return Ok(Self { named: None, top_k, delta }) };
        let names = outputs.as_array().filter(|names| !names.is_empty());
        let names = names.ok_or_else(|| invalid("/outputs", "must be a list of outputs, such as [\"value\"]"))?;
        let mut named = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let place = format!("/outputs/{index}");
            let known = Output::ALL.iter().find(|(known, _)| name == known);
            let (_, output) = known.ok_or_else(|| {
                let all = Output::ALL.map(|(name, _)| name).join(", ");
                invalid(place.clone(), format!("must be one of {all}"))
            })?;
            if let Some(reason) = output.refusal(model) {
                return Err(invalid(place, reason));
            }
            named.push(*output);
        }
        Ok(Self { named: Some(named), top_k, delta })
    }

    /// Multiplications a row takes beyond the plain prediction.
    pub(super) fn extra_work(&self, model: &FittedModel) -> usize {
        let spread = if self.needs_spreads(model) { model.weights.nrows().pow(2) } else { 0 };
        let bars = model.error_bars.as_ref().filter(|_| self.wants(Output::ErrorBar));
        spread + bars.map_or(0, ErrorBars::number_count)
    }

    /// Computes what was asked for.
    pub(super) fn compute(&self, predictor: &Predictor, rows: &[&[f64]]) -> Computed {
        let spreads = if self.needs_spreads(predictor.model()) { predictor.spreads(rows) } else { None };
        let error_bars = if self.wants(Output::ErrorBar) { predictor.error_bars(rows) } else { None };
        let model = predictor.model();
        let quantile = model.calibration_scores().map(|scores| conformal_quantile(scores, self.delta));
        Computed {
            values: predictor.predict(rows),
            spreads,
            error_bars,
            quantile: quantile.unwrap_or(f64::INFINITY),
            scales: model.interval_scales.clone(),
            scaled: model.scales_intervals(),
        }
    }

    /// The predictions as JSON, one a row.
    pub(super) fn render(&self, computed: &Computed, head: &Head) -> Value {
        computed
            .values
            .rows()
            .into_iter()
            .enumerate()
            .map(|(row, values)| self.prediction(computed, head, row, values))
            .collect()
    }

    fn prediction(&self, computed: &Computed, head: &Head, row: usize, values: ArrayView1<f64>) -> Value {
        let values = values.to_vec();
        let plain = match head {
            Head::Numbers { .. } => Output::Value,
            Head::Labels(_) => Output::Label,
        };
        let render = |output: Output| match (output, head) {
            (Output::Spread, _) => by_target(head, computed.spreads.as_ref().map_or(&[], |spreads| &spreads[row])),
            (Output::ErrorBar, _) => by_target(head, computed.error_bars.as_ref().map_or(&[], |bars| &bars[row])),
            (Output::Interval, _) => self.interval(computed, head, row, &values),
            (Output::LabelSet, Head::Labels(labels)) => self.label_set(computed, labels, &values),
            (Output::Label, Head::Labels(labels)) => json!(labels.labels[labels.decide(&values)]),
            (Output::Probabilities, Head::Labels(labels)) => {
                by_label(labels, &labels.probabilities(&values).unwrap_or_default())
            }
            (Output::DecisionValues, Head::Labels(labels)) => by_label(labels, &values),
            _ => by_target(head, &values),
        };
        let only = [plain];
        let named = match (&self.named, self.top_k) {
            (Some(named), _) => named.as_slice(),
            (None, Some(_)) => &only,
            (None, None) => return render(plain),
        };
        let name = |output: &Output| Output::ALL.iter().find(|(_, known)| known == output).map_or("", |(name, _)| name);
        let mut object: Map<String, Value> =
            named.iter().map(|output| (name(output).to_owned(), render(*output))).collect();
        if let (Some(count), Head::Labels(labels)) = (self.top_k, head) {
            object.insert("top_k".into(), likeliest(labels, &values, count));
        }
        Value::Object(object)
    }

    /// f ± q; without ends where the calibration rows are too few for δ.
    fn interval(&self, computed: &Computed, head: &Head, row: usize, values: &[f64]) -> Value {
        let spreads = computed.spreads.as_ref().filter(|_| computed.scaled);
        let scales = spreads.map_or(&computed.scales, |spreads| &spreads[row]);
        let of_target = |(value, scale): (&f64, &f64)| {
            let half = computed.quantile * scale;
            let end = |end: f64| if end.is_finite() { json!(end) } else { Value::Null };
            json!({"low": end(value - half), "high": end(value + half), "coverage": 1.0 - self.delta})
        };
        let intervals: Vec<Value> = values.iter().zip(scales).map(of_target).collect();
        match head.targets() {
            [_] => intervals.into_iter().next().unwrap_or_default(),
            targets => Value::Object(targets.iter().cloned().zip(intervals).collect()),
        }
    }

    /// The labels whose probability is at least 1 − q, likeliest first.
    fn label_set(&self, computed: &Computed, labels: &Labels, values: &[f64]) -> Value {
        let probabilities = labels.probabilities(values).unwrap_or_default();
        let mut within: Vec<usize> =
            (0..probabilities.len()).filter(|&label| 1.0 - probabilities[label] <= computed.quantile).collect();
        within.sort_by(|&left, &right| f64::total_cmp(&probabilities[right], &probabilities[left]));
        let names: Vec<&String> = within.iter().map(|&label| &labels.labels[label]).collect();
        json!({"labels": names, "coverage": 1.0 - self.delta})
    }

    fn needs_spreads(&self, model: &FittedModel) -> bool {
        self.wants(Output::Spread) || (self.wants(Output::Interval) && model.scales_intervals())
    }

    fn wants(&self, output: Output) -> bool {
        self.named.as_ref().is_some_and(|named| named.contains(&output))
    }
}

fn read_delta(delta: &Value) -> Result<f64, ApiError> {
    let number = delta.as_f64().filter(|delta| *delta > 0.0 && *delta < 1.0);
    number.ok_or_else(|| invalid("/delta", "must be a number between 0 and 1"))
}

fn read_top_k(top_k: &Value, model: &FittedModel) -> Result<usize, ApiError> {
    let Some(labels) = model.head.labels() else {
        return Err(invalid("/top_k", "is for models that predict labels, and this one predicts numbers"));
    };
    let count = top_k.as_u64().and_then(|count| usize::try_from(count).ok());
    count
        .filter(|count| (1..=labels.labels.len()).contains(count))
        .ok_or_else(|| invalid("/top_k", format!("must be a whole number from 1 to {}", labels.labels.len())))
}

/// A single target's number as it is, several under their names.
fn by_target(head: &Head, numbers: &[f64]) -> Value {
    match (head.targets(), numbers) {
        ([_], [number]) => json!(number),
        (targets, numbers) => Value::Object(targets.iter().cloned().zip(numbers.iter().map(|x| json!(x))).collect()),
    }
}

/// One number for two labels, which is positive for the second; otherwise one under each label.
fn by_label(labels: &Labels, numbers: &[f64]) -> Value {
    match numbers {
        [number] => json!(number),
        numbers => Value::Object(labels.labels.iter().cloned().zip(numbers.iter().map(|x| json!(x))).collect()),
    }
}

/// The likeliest labels, with their probabilities where the model has them.
fn likeliest(labels: &Labels, values: &[f64], count: usize) -> Value {
    let probabilities = labels.probabilities(values);
    let scores = match (&probabilities, values) {
        (Some(probabilities), _) => probabilities.clone(),
        (None, [value]) => vec![-value, *value],
        (None, values) => values.to_vec(),
    };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&left, &right| f64::total_cmp(&scores[right], &scores[left]));
    let entry = |&label: &usize| {
        let mut entry = json!({"label": labels.labels[label]});
        if let Some(probabilities) = &probabilities {
            entry["probability"] = json!(probabilities[label]);
        }
        entry
    };
    order.iter().take(count).map(entry).collect()
}
