//! What a prediction says: which outputs were asked for, and how they are written.

use super::error::ApiError;
use super::predictions::invalid;
use crate::model::{FittedModel, Head, Predictor};
use ndarray::{Array2, ArrayView1};
use serde_json::{Map, Value, json};

/// The outputs of a request.
#[derive(Clone, Copy)]
pub(super) struct Outputs {
    /// Whether outputs were named, so that each prediction is an object.
    named: bool,
    value: bool,
    pub(super) spread: bool,
}

/// What was computed for all rows of a request.
pub(super) struct Computed {
    pub(super) values: Array2<f64>,
    spreads: Option<Vec<Vec<f64>>>,
}

impl Outputs {
    /// Reads the `outputs` of a request; the plain value without any.
    pub(super) fn read(outputs: Option<&Value>, model: &FittedModel) -> Result<Self, ApiError> {
        let Some(outputs) = outputs else { return Ok(Self { named: false, value: true, spread: false }) };
        let names = outputs.as_array().filter(|names| !names.is_empty());
        let names = names.ok_or_else(|| invalid("/outputs", "must be a list of outputs, such as [\"value\"]"))?;
        let mut read = Self { named: true, value: false, spread: false };
        for (index, name) in names.iter().enumerate() {
            match name.as_str() {
                Some("value") => read.value = true,
                Some("spread") if model.spread.is_some() => read.spread = true,
                Some("spread") => {
                    let detail = "this model keeps no spread; train it with \"spread\": true";
                    return Err(invalid(format!("/outputs/{index}"), detail));
                }
                _ => return Err(invalid(format!("/outputs/{index}"), "must be value or spread")),
            }
        }
        Ok(read)
    }

    /// Computes what was asked for.
    pub(super) fn compute(self, predictor: &Predictor, rows: &[&[f64]]) -> Computed {
        let spreads = if self.spread { predictor.spreads(rows) } else { None };
        Computed { values: predictor.predict(rows), spreads }
    }

    /// The predictions as JSON, one a row.
    pub(super) fn render(self, computed: &Computed, head: &Head) -> Value {
        let prediction = |(index, values): (usize, ArrayView1<f64>)| {
            let value = by_target(head, values.iter().copied());
            if !self.named {
                return value;
            }
            let mut object = Map::new();
            if self.value {
                object.insert("value".into(), value);
            }
            if let Some(spreads) = &computed.spreads {
                object.insert("spread".into(), by_target(head, spreads[index].iter().copied()));
            }
            Value::Object(object)
        };
        computed.values.rows().into_iter().enumerate().map(prediction).collect()
    }
}

/// A single target's number as it is, several under their names.
fn by_target(head: &Head, numbers: impl Iterator<Item = f64>) -> Value {
    let mut numbers = numbers.map(|number| json!(number));
    match head.targets() {
        [_] => numbers.next().unwrap_or_default(),
        targets => Value::Object(targets.iter().cloned().zip(numbers).collect()),
    }
}
