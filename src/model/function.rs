//! The function of a model, Wᵀψ(x) + c, made ready to compute: O(sd) a row.

use super::{Contributions, ErrorBars, InputPipeline, Spread};
use crate::features::{FeatureMap, Precision, Projector, Wave};
use crate::linalg::{instructions_for, mixed_dot};
use ndarray::{Array1, Array2, ArrayView1};
use std::borrow::Cow;

/// Rows that are encoded and scaled at once. Their features are never held together: each row's are multiplied with the
/// weights as soon as they are made.
const BLOCK_ROWS: usize = 256;

/// The parts of a model that a prediction reads; they exist before the model has been assessed.
#[derive(Clone, Copy)]
pub struct Function<'a> {
    /// Raw rows to inputs.
    pub inputs: &'a InputPipeline,
    /// ψ.
    pub map: &'a FeatureMap,
    /// In which ψ is evaluated.
    pub precision: Precision,
    /// W, s×k.
    pub weights: &'a Array2<f64>,
    /// c.
    pub intercepts: &'a [f64],
    /// For predictive standard deviations.
    pub spread: Option<&'a Spread>,
    /// For standard deviations over the draw of the features.
    pub error_bars: Option<&'a ErrorBars>,
}

/// What is to be computed beside the outputs themselves; only for models that keep what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extras {
    /// Predictive standard deviations: O(s²) a row.
    pub spreads: bool,
    /// Standard deviations over the draw of the features.
    pub error_bars: bool,
    /// The share of each column in the outputs.
    pub contributions: bool,
}

/// What was computed for some rows, each rows×k but the contributions. A row's numbers have the same bits whatever rows come with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Wᵀψ + c.
    pub values: Array2<f64>,
    /// Predictive standard deviations, where asked for and kept.
    pub spreads: Option<Array2<f64>>,
    /// Standard deviations over features, where asked for and kept.
    pub error_bars: Option<Array2<f64>>,
    /// The shares of the columns, where asked for and the features are waves.
    pub contributions: Option<Contributions>,
}

/// The feature map in the precision it was trained in, and the weights in the order they are read.
pub struct Scorer {
    /// Whether the metric is part of the engine's frequencies, so that a full one costs nothing more.
    folded: bool,
    /// Wᵀ, k×s, so that the weights of an output lie side by side.
    weights: Array2<f64>,
    engine: Engine,
}

enum Engine {
    Mixed(Projector<f32>),
    Double(Projector<f64>),
}

impl Scorer {
    /// Prepares a function.
    pub fn new(function: Function) -> Self {
        let root = function.inputs.metric_root.as_ref().filter(|_| function.map.is_foldable());
        let map = root.map_or(Cow::Borrowed(function.map), |root| Cow::Owned(function.map.folded(root)));
        let engine = match function.precision {
            Precision::Mixed => Engine::Mixed(map.projector()),
            Precision::Double => Engine::Double(map.projector()),
        };
        let weights = function.weights.t().as_standard_layout().into_owned();
        Self { folded: root.is_some(), weights, engine }
    }

    /// Everything that is asked for about each row of codes, with the parts of the function it was made for.
    pub fn compute(&self, function: Function, rows: &[&[f64]], extras: Extras) -> Predictions {
        let shape = (rows.len(), function.intercepts.len());
        let function = Function {
            spread: function.spread.filter(|_| extras.spreads),
            error_bars: function.error_bars.filter(|_| extras.error_bars),
            ..function
        };
        let mut predictions = Predictions {
            values: Array2::zeros(shape),
            spreads: function.spread.map(|_| Array2::zeros(shape)),
            error_bars: function.error_bars.map(|_| Array2::zeros(shape)),
            contributions: None,
        };
        for (block, codes) in rows.chunks(BLOCK_ROWS).enumerate() {
            let first = block * BLOCK_ROWS;
            match &self.engine {
                Engine::Mixed(projector) => self.compute_block(function, projector, codes, first, &mut predictions),
                Engine::Double(projector) => self.compute_block(function, projector, codes, first, &mut predictions),
            }
        }
        predictions
    }

    /// All of one block, whose first row is row `first` of `predictions`; sums in f64.
    fn compute_block<T: Wave>(
        &self,
        function: Function,
        projector: &Projector<T>,
        codes: &[&[f64]],
        first: usize,
        predictions: &mut Predictions,
    ) {
        let codes = codes.iter().copied();
        let inputs = if self.folded { function.inputs.prepare_scaled(codes) } else { function.inputs.prepare(codes) };
        let arch = instructions_for(inputs.nrows());
        let weights = self.weights.as_slice().expect("weights are row-major");
        let intercepts = function.intercepts;
        projector.transform_by(inputs.view(), 1, |offset, features| {
            let at = first + offset;
            let values = predictions.values.as_slice_mut().expect("a fresh array is row-major");
            let outputs = weights.chunks_exact(features.len()).zip(intercepts);
            for (value, (weights, intercept)) in values[at * intercepts.len()..].iter_mut().zip(outputs) {
                *value = mixed_dot(arch, features, weights) + intercept;
            }
            if let (Some(spreads), Some(spread)) = (&mut predictions.spreads, function.spread) {
                let deviations = spread.standard_deviations(features.iter().map(|feature| feature.to_f64()));
                spreads.row_mut(at).assign(&ArrayView1::from(&deviations));
            }
            if let (Some(error_bars), Some(bars)) = (&mut predictions.error_bars, function.error_bars) {
                let features: Array1<f64> = features.iter().map(|feature| feature.to_f64()).collect();
                error_bars.row_mut(at).assign(&ArrayView1::from(&bars.standard_deviations(features.view())));
            }
        });
    }
}
