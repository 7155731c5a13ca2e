//! What a prediction says: which outputs were asked for, and how they are written.

use super::error::ApiError;
use super::predictions::invalid;
use crate::model::{FittedModel, Head, Labels, Predictor};
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
}

impl Output {
    const ALL: [(&'static str, Self); 5] = [
        ("value", Self::Value),
        ("spread", Self::Spread),
        ("label", Self::Label),
        ("probabilities", Self::Probabilities),
        ("decision_values", Self::DecisionValues),
    ];

    /// Why a model does not have it.
    fn refusal(self, model: &FittedModel) -> Option<&'static str> {
        match (self, &model.head) {
            (Self::Value | Self::Spread, Head::Labels(_)) => {
                Some("this model predicts labels: ask for label, probabilities or decision_values")
            }
            (Self::Label | Self::Probabilities | Self::DecisionValues, Head::Numbers { .. }) => {
                Some("this model predicts numbers: ask for value or spread")
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
}

/// What was computed for all rows of a request.
pub(super) struct Computed {
    pub(super) values: Array2<f64>,
    spreads: Option<Vec<Vec<f64>>>,
}

impl Outputs {
    /// Reads the `outputs` and `top_k` of a request.
    pub(super) fn read(outputs: Option<&Value>, top_k: Option<&Value>, model: &FittedModel) -> Result<Self, ApiError> {
        let top_k = top_k.map(|top_k| read_top_k(top_k, model)).transpose()?;
        let Some(outputs) = outputs else { return Ok(Self { named: None, top_k }) };
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
        Ok(Self { named: Some(named), top_k })
    }

    /// Multiplications a row takes beyond the plain prediction.
    pub(super) fn extra_work(&self, model: &FittedModel) -> usize {
        if self.wants(Output::Spread) { model.weights.nrows().pow(2) } else { 0 }
    }

    /// Computes what was asked for.
    pub(super) fn compute(&self, predictor: &Predictor, rows: &[&[f64]]) -> Computed {
        let spreads = if self.wants(Output::Spread) { predictor.spreads(rows) } else { None };
        Computed { values: predictor.predict(rows), spreads }
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

    fn wants(&self, output: Output) -> bool {
        self.named.as_ref().is_some_and(|named| named.contains(&output))
    }
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
