//! What the columns of a model do to its outputs.

use crate::dataset::{ColumnKind, InputColumn, format_instant};
use crate::model::{FittedModel, Head};
use serde_json::{Value, json};

/// Importance and partial dependence of every column, measured at training.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanations {
    /// Training rows that sensitivities and dependences are averages over.
    pub rows: usize,
    /// Validation rows that were permuted.
    pub permuted_rows: usize,
    /// In the order of the model's columns.
    pub columns: Vec<ColumnExplanation>,
    /// The training rows with curves of their own, by their number in the dataset, from 1.
    pub individual_rows: Vec<usize>,
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnExplanation {
    /// For each output, the root of the mean squared gradient times the column's standard deviation; empty where the
    /// function has no gradient with a mean square.
    pub sensitivities: Vec<f64>,
    /// Without validation rows there is none.
    pub permutation: Option<Permutation>,
    /// Values of the column; levels by their number.
    pub points: Vec<f64>,
    /// The mean output over the rows with the column at each point, points×k; empty where it was not computed.
    pub dependence: Vec<f64>,
    /// The output of each individual row with the column at each point, rows×points×k.
    pub individual: Vec<f64>,
}

/// What permuting a column over validation rows does to the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permutation {
    /// The increase of the mean loss.
    pub increase: f64,
    /// Its standard error, over rows.
    pub standard_error: f64,
}

impl Explanations {
    /// Whether it fits a model with these columns and outputs.
    pub fn is_consistent(&self, columns: &[InputColumn], outputs: usize) -> bool {
        let fits = |(own, column): (&ColumnExplanation, &InputColumn)| {
            [0, outputs].contains(&own.sensitivities.len())
                && [0, own.points.len() * outputs].contains(&own.dependence.len())
                && own.individual.len() == self.individual_rows.len() * own.points.len() * outputs
                && (column.levels.is_empty() || own.points.len() <= column.levels.len())
        };
        self.columns.len() == columns.len() && self.columns.iter().zip(columns).all(fits)
    }
}

impl FittedModel {
    /// The explanations as the service shows them; none if they were not kept.
    pub fn explain(&self) -> Option<Value> {
        let found = self.explanations.as_ref()?;
        let names: Vec<&str> = match &self.head {
            Head::Numbers { targets } => targets.iter().map(String::as_str).collect(),
            Head::Labels(labels) if self.intercepts.len() == 1 => vec![labels.target.as_str()],
            Head::Labels(labels) => labels.labels.iter().map(String::as_str).collect(),
        };
        let by_output = |numbers: &mut dyn Iterator<Item = Value>| {
            names.iter().map(|name| (*name).to_owned()).zip(numbers).collect::<serde_json::Map<String, Value>>()
        };
        let column = |(column, own): (&InputColumn, &ColumnExplanation)| {
            let curve = |values: &[f64], output: usize| {
                json!(values.iter().skip(output).step_by(names.len()).collect::<Vec<_>>())
            };
            let points = own.points.iter().map(|point| written(column, *point)).collect::<Vec<_>>();
            let size = (own.points.len() * names.len()).max(1);
            let individual = found.individual_rows.iter().zip(own.individual.chunks(size)).map(|(row, values)| {
                json!({"row": row, "outputs": by_output(&mut (0..names.len()).map(|output| curve(values, output)))})
            });
            let individual = individual.collect::<Vec<_>>();
            let sensitivities = by_output(&mut own.sensitivities.iter().map(|value| json!(value)));
            let dependence = (!own.dependence.is_empty()).then(|| {
                json!({
                    "points": points,
                    "outputs": by_output(&mut (0..names.len()).map(|output| curve(&own.dependence, output))),
                })
            });
            json!({
                "column": column.name,
                "sensitivity": (!own.sensitivities.is_empty()).then_some(sensitivities),
                "permutation": own.permutation.map(|found| {
                    json!({"loss_increase": found.increase, "standard_error": found.standard_error})
                }),
                "partial_dependence": dependence,
                "individual_curves": (!individual.is_empty()).then(|| json!({"points": points, "curves": individual})),
            })
        };
        let columns = self.inputs.encoding.columns.iter().zip(&found.columns).map(column).collect::<Vec<_>>();
        Some(json!({"rows": found.rows, "permuted_rows": found.permuted_rows, "columns": columns}))
    }
}

/// A point of a column as tables write it.
fn written(column: &InputColumn, point: f64) -> Value {
    match column.kind {
        ColumnKind::Numeric => json!(point),
        ColumnKind::Boolean => json!(point != 0.0),
        ColumnKind::Date | ColumnKind::Datetime => json!(format_instant(point)),
        ColumnKind::Text => Value::Null,
        ColumnKind::Categorical => json!(column.levels.get(point as usize)),
    }
}
