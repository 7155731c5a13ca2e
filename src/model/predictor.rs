//! A fitted model made ready to predict: O(sd) a row.

use super::{FittedModel, Spread};
use crate::features::{Frequencies, Precision, Projector, Wave};
use ndarray::{Array1, ArrayView1, ArrayView2};

/// Rows whose features are held at once.
const BLOCK_ROWS: usize = 256;

/// A fitted model with its feature map in the precision it was trained in.
pub struct Predictor {
    model: FittedModel,
    engine: Engine,
}

enum Engine {
    Mixed(Projector<f32>),
    Double(Projector<f64>),
}

impl Predictor {
    /// Prepares a model.
    pub fn new(model: FittedModel) -> Self {
        let engine = match model.precision {
            Precision::Mixed => Engine::Mixed(model.map.projector()),
            Precision::Double => Engine::Double(model.map.projector()),
        };
        Self { model, engine }
    }

    /// The model.
    pub fn model(&self) -> &FittedModel {
        &self.model
    }

    /// Gives the model back.
    pub fn into_model(self) -> FittedModel {
        self.model
    }

    /// Predicts rows of raw codes, one slice per row in the order of the model's columns.
    pub fn predict(&self, rows: &[&[f64]]) -> Vec<f64> {
        let predict = |block: &[&[f64]]| match &self.engine {
            Engine::Mixed(projector) => self.predict_block(projector, block),
            Engine::Double(projector) => self.predict_block(projector, block),
        };
        rows.chunks(BLOCK_ROWS).flat_map(predict).collect()
    }

    /// The predictive standard deviation of each row, for models that keep it: O(s²) a row.
    pub fn spreads(&self, rows: &[&[f64]]) -> Option<Vec<f64>> {
        let spread = self.model.spread.as_ref()?;
        let of_block = |block: &[&[f64]]| match &self.engine {
            Engine::Mixed(projector) => self.spreads_of_block(projector, spread, block),
            Engine::Double(projector) => self.spreads_of_block(projector, spread, block),
        };
        Some(rows.chunks(BLOCK_ROWS).flat_map(of_block).collect())
    }

    /// About how many bytes it holds in memory.
    pub fn memory_bytes(&self) -> usize {
        let width = match self.engine {
            Engine::Mixed(_) => 4,
            Engine::Double(_) => 8,
        };
        let frequencies = match &self.model.map.frequencies {
            Frequencies::Dense(frequencies) => frequencies.len() * (8 + width),
            Frequencies::Structured(structured) => 2 * (structured.signs.len() + 8 * structured.norms.len()),
        };
        let factor = self.model.spread.as_ref().map_or(0, |spread| spread.factor.len());
        frequencies + (self.model.weights.len() + factor) * 8 + 4096
    }

    fn spreads_of_block<T: Wave>(&self, projector: &Projector<T>, spread: &Spread, block: &[&[f64]]) -> Vec<f64> {
        let features = projector.transform(self.model.inputs.prepare(block.iter().copied()).view()); // rows×s
        let deviation = |row: ArrayView1<T>| spread.standard_deviation(row.iter().map(|value| value.to_f64()));
        features.rows().into_iter().map(deviation).collect()
    }

    fn predict_block<T: Wave>(&self, projector: &Projector<T>, block: &[&[f64]]) -> Vec<f64> {
        let inputs = self.model.inputs.prepare(block.iter().copied());
        let features = projector.transform(inputs.view()); // rows×s
        (products(features.view(), self.model.weights.view()) + self.model.intercept).to_vec()
    }
}

/// Ψw, summed in f64.
fn products<T: Wave>(features: ArrayView2<T>, weights: ArrayView1<f64>) -> Array1<f64> {
    let product = |row: ArrayView1<T>| row.iter().zip(weights).map(|(value, weight)| value.to_f64() * weight).sum();
    features.rows().into_iter().map(product).collect()
}
