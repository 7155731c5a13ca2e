//! A fitted model made ready to predict.

use super::insight::contributions::Contributor;
use super::{ErrorBars, Extras, FittedModel, Predictions, Scorer};
use crate::features::{Frequencies, Precision};
use ndarray::Array2;
use std::sync::OnceLock;

/// Bytes of one input's frequencies that panels are padded to.
const PANEL_PADDING: usize = 512;

/// About what the small parts of a model take: columns, labels, the report.
const REST_BYTES: usize = 4096;

/// A fitted model with its function made ready.
pub struct Predictor {
    model: FittedModel,
    scorer: Scorer,
    /// Made when it is first asked for.
    contributor: OnceLock<Option<Contributor>>,
}

impl Predictor {
    /// Prepares a model.
    pub fn new(model: FittedModel) -> Self {
        Self { scorer: Scorer::new(model.function()), model, contributor: OnceLock::new() }
    }

    /// The model.
    pub fn model(&self) -> &FittedModel {
        &self.model
    }

    /// Gives the model back.
    pub fn into_model(self) -> FittedModel {
        self.model
    }

    /// Drops the sums that only adding rows needs.
    #[must_use]
    pub fn without_statistics(mut self) -> Self {
        self.model.statistics = None;
        self
    }

    /// The outputs (rows×k) for rows of raw codes, one slice per row in the order of the model's
    /// columns.
    ///
    /// ```
    /// use bochner::dataset::Cell;
    /// use bochner::model::{Predictor, read_artifact};
    ///
    /// let file = std::fs::File::open("tests/fixtures/artifacts/ridge.bochner").unwrap();
    /// let predictor = Predictor::new(read_artifact(file, 1 << 30).unwrap());
    /// let columns = &predictor.model().inputs.encoding.columns; // x, colour, even
    /// let cells = [Cell::Number(0.3), Cell::Text("green"), Cell::Boolean(true)];
    /// let row: Vec<f64> = columns.iter().zip(cells).map(|(column, cell)| column.code(cell).unwrap()).collect();
    /// let values = predictor.predict(&[&row]); // one row, one target
    /// assert!((values[[0, 0]] - 1.5587).abs() < 1e-3);
    /// ```
    pub fn predict(&self, rows: &[&[f64]]) -> Array2<f64> {
        self.compute(rows, Extras::default()).values
    }

    /// The predictive standard deviations, rows×k, for models that keep them.
    pub fn spreads(&self, rows: &[&[f64]]) -> Option<Array2<f64>> {
        self.compute(rows, Extras { spreads: true, ..Extras::default() }).spreads
    }

    /// The standard deviations over the draw of the features, rows×k, for models that keep them.
    pub fn error_bars(&self, rows: &[&[f64]]) -> Option<Array2<f64>> {
        self.compute(rows, Extras { error_bars: true, ..Extras::default() }).error_bars
    }

    /// The outputs and the requested extras, in one pass over the features.
    pub fn compute(&self, rows: &[&[f64]], extras: Extras) -> Predictions {
        let mut predictions = self.scorer.compute(self.model.function(), rows, extras);
        if extras.contributions {
            let contributor = self.contributor.get_or_init(|| Contributor::new(self.model.function()));
            let values = predictions.values.view();
            let share_out = |contributor: &Contributor| contributor.share_out(&self.model.inputs, rows, values);
            predictions.contributions = contributor.as_ref().map(share_out);
        }
        predictions
    }

    /// Multiplications that a row takes.
    pub fn operations_per_row(&self, extras: Extras) -> usize {
        let model = &self.model;
        let spread = model.spread.as_ref().filter(|_| extras.spreads).map_or(0, |spread| spread.factor.len());
        let bars = model.error_bars.as_ref().filter(|_| extras.error_bars).map_or(0, ErrorBars::number_count);
        let frequencies = model.map.draw_count() * model.map.input_dim();
        let shares = if extras.contributions { frequencies * (2 + model.intercepts.len()) } else { 0 };
        model.map.operations_per_row() + model.weights.len() + spread + bars + shares
    }

    /// About how many bytes it holds in memory.
    pub fn memory_bytes(&self) -> usize {
        let (model, map) = (&self.model, &self.model.map);
        // Heavy-tailed frequencies are kept in f64 whatever the features are.
        let width = match model.precision {
            Precision::Mixed if !map.kernel.is_heavy_tailed() || model.is_exact() => 4,
            Precision::Mixed | Precision::Double => 8,
        };
        let frequencies = match &map.frequencies {
            // Points are held by rows and by coordinates.
            Frequencies::Dense(points) if model.is_exact() => points.len() * (16 + 2 * width),
            // As drawn, and in panels that are padded to whole groups.
            Frequencies::Dense(drawn) => {
                8 * drawn.len() + width * drawn.nrows().next_multiple_of(PANEL_PADDING / width) * drawn.ncols()
            }
            // A byte for each sign, and then four factors where there are three signs.
            Frequencies::Structured(structured) => {
                structured.signs.len() + 8 * structured.norms.len() + structured.signs.len() / 3 * 4 * width
            }
        };
        let scales = map.scales.as_ref().map_or(0, |scales| 3 * scales.factors.len());
        let numbers = scales
            + 2 * map.phases.len()
            + 2 * model.weights.len()
            + model.spread.as_ref().map_or(0, |spread| spread.factor.len())
            + model.error_bars.as_ref().map_or(0, ErrorBars::number_count)
            + model.inputs.metric_root.as_ref().map_or(0, Array2::len)
            + model.calibration_scores().map_or(0, <[f64]>::len);
        frequencies + 8 * numbers + model.spec.len() + REST_BYTES
    }
}
