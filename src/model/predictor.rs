//! A fitted model prepared for predictions: O(sd) per row.

use super::{ErrorBars, FittedModel};
use crate::features::{Frequencies, Precision, Projector, Wave};
use crate::linalg::{instructions_for, mixed_dot};
use ndarray::{Array1, Array2, ArrayView1};

/// Rows that are encoded and scaled together. The features of a row are multiplied with the weights at once and never
/// stored.
const BLOCK_ROWS: usize = 256;

/// Bytes of one input's frequencies that panels are padded to.
const PANEL_PADDING: usize = 512;

/// About what the small parts of a model take: columns, labels, the report.
const REST_BYTES: usize = 4096;

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

/// What to compute beside the outputs, for models that keep what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extras {
    /// Predictive standard deviations: O(s²) a row.
    pub spreads: bool,
    /// Standard deviations over the draw of the features.
    pub error_bars: bool,
}

/// What was computed for some rows, each rows×k. The result for a row has the same bits in every batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Wᵀψ + c.
    pub values: Array2<f64>,
    /// Predictive standard deviations, if requested and kept.
    pub spreads: Option<Array2<f64>>,
    /// Standard deviations over features, if requested and kept.
    pub error_bars: Option<Array2<f64>>,
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
        let shape = (rows.len(), self.model.intercepts.len());
        let spread = self.model.spread.as_ref().filter(|_| extras.spreads);
        let bars = self.model.error_bars.as_ref().filter(|_| extras.error_bars);
        let mut predictions = Predictions {
            values: Array2::zeros(shape),
            spreads: spread.map(|_| Array2::zeros(shape)),
            error_bars: bars.map(|_| Array2::zeros(shape)),
        };
        for (block, codes) in rows.chunks(BLOCK_ROWS).enumerate() {
            let first = block * BLOCK_ROWS;
            match &self.engine {
                Engine::Mixed(projector) => self.compute_block(projector, codes, first, &mut predictions),
                Engine::Double(projector) => self.compute_block(projector, codes, first, &mut predictions),
            }
        }
        predictions
    }

    /// Multiplications that a row takes.
    pub fn operations_per_row(&self, extras: Extras) -> usize {
        let model = &self.model;
        let spread = model.spread.as_ref().filter(|_| extras.spreads).map_or(0, |spread| spread.factor.len());
        let bars = model.error_bars.as_ref().filter(|_| extras.error_bars).map_or(0, ErrorBars::number_count);
        model.map.operations_per_row() + model.weights.len() + spread + bars
    }

    /// About how many bytes it holds in memory.
    pub fn memory_bytes(&self) -> usize {
        let (model, map) = (&self.model, &self.model.map);
        // Heavy-tailed frequencies are kept in f64 whatever the features are.
        let width = match self.engine {
            Engine::Mixed(_) if !map.kernel.is_heavy_tailed() || model.is_exact() => 4,
            Engine::Mixed(_) | Engine::Double(_) => 8,
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
        let numbers = 2 * map.phases.len()
            + 2 * model.weights.len()
            + model.spread.as_ref().map_or(0, |spread| spread.factor.len())
            + model.error_bars.as_ref().map_or(0, ErrorBars::number_count)
            + model.calibration_scores().map_or(0, <[f64]>::len);
        frequencies + 8 * numbers + model.spec.len() + REST_BYTES
    }

    /// All of one block, whose first row is row `first` of `predictions`; sums in f64.
    fn compute_block<T: Wave>(
        &self,
        projector: &Projector<T>,
        codes: &[&[f64]],
        first: usize,
        predictions: &mut Predictions,
    ) {
        let inputs = self.model.inputs.prepare(codes.iter().copied());
        let arch = instructions_for(codes.len());
        let weights = self.weights.as_slice().expect("weights are row-major");
        let intercepts = &self.model.intercepts;
        projector.transform_by(inputs.view(), 1, |offset, features| {
            let at = first + offset;
            let values = predictions.values.as_slice_mut().expect("a fresh array is row-major");
            let outputs = weights.chunks_exact(features.len()).zip(intercepts);
            for (value, (weights, intercept)) in values[at * intercepts.len()..].iter_mut().zip(outputs) {
                *value = mixed_dot(arch, features, weights) + intercept;
            }
            if let (Some(spreads), Some(spread)) = (&mut predictions.spreads, &self.model.spread) {
                let deviations = spread.standard_deviations(features.iter().map(|feature| feature.to_f64()));
                spreads.row_mut(at).assign(&ArrayView1::from(&deviations));
            }
            if let (Some(error_bars), Some(bars)) = (&mut predictions.error_bars, &self.model.error_bars) {
                let features: Array1<f64> = features.iter().map(|feature| feature.to_f64()).collect();
                error_bars.row_mut(at).assign(&ArrayView1::from(&bars.standard_deviations(features.view())));
            }
        });
    }
}
