//! A function that is being assessed, ready to predict.

use crate::features::Precision;
use crate::model::{Extras, Function, Scorer};
use ndarray::Array2;

/// The parts of a function with the engine that computes it.
pub(crate) struct ScoredFunction<'a> {
    pub(crate) parts: Function<'a>,
    scorer: Scorer,
}

impl<'a> ScoredFunction<'a> {
    pub(crate) fn new(parts: Function<'a>) -> Self {
        Self { parts, scorer: Scorer::new(parts) }
    }

    /// The outputs, rows×k, for rows of raw codes.
    pub(crate) fn predict(&self, rows: &[&[f64]]) -> Array2<f64> {
        self.scorer.compute(self.parts, rows, Extras::default()).values
    }

    /// Predictive standard deviations, where the fit has them.
    pub(crate) fn spreads(&self, rows: &[&[f64]]) -> Option<Array2<f64>> {
        self.scorer.compute(self.parts, rows, Extras { spreads: true, ..Extras::default() }).spreads
    }

    /// ψ of rows of raw codes, in f64, as predictions evaluate it.
    pub(crate) fn features(&self, rows: &[&[f64]]) -> Array2<f64> {
        let inputs = self.parts.inputs.prepare(rows.iter().copied());
        match self.parts.precision {
            Precision::Mixed => self.parts.map.projector::<f32>().transform(inputs.view()).mapv(f64::from),
            Precision::Double => self.parts.map.projector::<f64>().transform(inputs.view()),
        }
    }

    /// Standard deviations over the draw of the features, where the fit has them.
    pub(crate) fn error_bars(&self, rows: &[&[f64]]) -> Option<Array2<f64>> {
        self.scorer.compute(self.parts, rows, Extras { error_bars: true, ..Extras::default() }).error_bars
    }
}
