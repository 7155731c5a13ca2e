//! A fitted model made ready to predict: O(sd) a row.

use super::{ErrorBars, FittedModel, Spread};
use crate::features::{Frequencies, Precision, Projector, Wave};
use ndarray::{Array2, ArrayView1, ArrayViewMut2, Axis};

/// Rows whose features are held at once, and features: a model of very many takes fewer rows.
const BLOCK_ROWS: usize = 256;
const BLOCK_FEATURES: usize = 1 << 22;

/// A fitted model with its feature map in the precision it was trained in.
pub struct Predictor {
    model: FittedModel,
    /// Wᵀ, k×s, so that the weights of an output lie side by side.
    weights: Array2<f64>,
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
        Self { weights: model.weights.t().as_standard_layout().into_owned(), model, engine }
    }

    /// The model.
    pub fn model(&self) -> &FittedModel {
        &self.model
    }

    /// Gives the model back.
    pub fn into_model(self) -> FittedModel {
        self.model
    }

    /// The outputs (rows×k) for rows of raw codes, one slice per row in the order of the model's
    /// columns.
    pub fn predict(&self, rows: &[&[f64]]) -> Array2<f64> {
        let mut outputs = Array2::zeros((rows.len(), self.model.intercepts.len()));
        let at_once = (BLOCK_FEATURES / self.weights.ncols().max(1)).clamp(1, BLOCK_ROWS);
        for (block, outputs) in rows.chunks(at_once).zip(outputs.axis_chunks_iter_mut(Axis(0), at_once)) {
            match &self.engine {
                Engine::Mixed(projector) => self.predict_block(projector, block, outputs),
                Engine::Double(projector) => self.predict_block(projector, block, outputs),
            }
        }
        outputs
    }

    /// The predictive standard deviations of each row, one a target, for models that keep them: O(s²)
    /// a row.
    pub fn spreads(&self, rows: &[&[f64]]) -> Option<Vec<Vec<f64>>> {
        let spread = self.model.spread.as_ref()?;
        let of_block = |block: &[&[f64]]| match &self.engine {
            Engine::Mixed(projector) => self.spreads_of_block(projector, spread, block),
            Engine::Double(projector) => self.spreads_of_block(projector, spread, block),
        };
        Some(rows.chunks(BLOCK_ROWS).flat_map(of_block).collect())
    }

    /// The standard deviations over the draw of the features of each row, one a target, for models that keep
    /// them.
    pub fn error_bars(&self, rows: &[&[f64]]) -> Option<Vec<Vec<f64>>> {
        let bars = self.model.error_bars.as_ref()?;
        let of_block = |block: &[&[f64]]| match &self.engine {
            Engine::Mixed(projector) => self.error_bars_of_block(projector, bars, block),
            Engine::Double(projector) => self.error_bars_of_block(projector, bars, block),
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
            // Points are held by rows and by coordinates.
            Frequencies::Dense(points) if self.model.is_exact() => points.len() * (16 + 2 * width),
            Frequencies::Dense(frequencies) => frequencies.len() * (8 + width),
            Frequencies::Structured(structured) => 2 * (structured.signs.len() + 8 * structured.norms.len()),
        };
        let factor = self.model.spread.as_ref().map_or(0, |spread| spread.factor.len());
        let bars = self.model.error_bars.as_ref().map_or(0, ErrorBars::number_count);
        frequencies + (2 * self.model.weights.len() + factor + bars) * 8 + 4096
    }

    fn error_bars_of_block<T: Wave>(
        &self,
        projector: &Projector<T>,
        bars: &ErrorBars,
        block: &[&[f64]],
    ) -> Vec<Vec<f64>> {
        let features = projector.transform(self.model.inputs.prepare(block.iter().copied()).view()); // rows×s
        let features = features.mapv(T::to_f64);
        features.rows().into_iter().map(|row| bars.standard_deviations(row)).collect()
    }

    fn spreads_of_block<T: Wave>(&self, projector: &Projector<T>, spread: &Spread, block: &[&[f64]]) -> Vec<Vec<f64>> {
        let features = projector.transform(self.model.inputs.prepare(block.iter().copied()).view()); // rows×s
        let deviations = |row: ArrayView1<T>| spread.standard_deviations(row.iter().map(|value| value.to_f64()));
        features.rows().into_iter().map(deviations).collect()
    }

    /// Wᵀψ + c for a block, summed in f64.
    fn predict_block<T: Wave>(&self, projector: &Projector<T>, block: &[&[f64]], mut outputs: ArrayViewMut2<f64>) {
        let inputs = self.model.inputs.prepare(block.iter().copied());
        let features = projector.transform(inputs.view()); // rows×s
        for (row, mut outputs) in features.rows().into_iter().zip(outputs.rows_mut()) {
            for ((output, weights), intercept) in
                outputs.iter_mut().zip(self.weights.rows()).zip(&self.model.intercepts)
            {
                let sum: f64 = row.iter().zip(weights).map(|(value, weight)| value.to_f64() * weight).sum();
                *output = sum + intercept;
            }
        }
    }
}
