//! Candidates that were tried, each with its leave-one-out residuals on the same rows.

use crate::dataset::{ColumnMoments, Encoding, ScalingRule};
use crate::features::KernelShape;
use crate::model::{InputPipeline, MetricKind, SearchCandidate};
use crate::training::fit::bandwidth::mean_distance;
use crate::training::fit::metric::{Metric, Residuals, RoundFit, RoundRows};
use crate::training::rows::run::Run;
use crate::training::stage::{Stage, TrainError};
use std::sync::Arc;
use std::time::Instant;

/// Everything that a candidate is.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) shape: KernelShape,
    pub(super) scaling: ScalingRule,
    pub(super) metric: Arc<Metric>,
    /// Of learning the metric; 0 without one.
    pub(super) round: usize,
    pub(super) bandwidth: f64,
}

impl Point {
    /// Whether a fit of this one tells what a fit of the other would.
    fn is_nearly(&self, other: &Self) -> bool {
        let alike = (self.shape, self.scaling) == (other.shape, other.scaling);
        alike && Arc::ptr_eq(&self.metric, &other.metric) && (self.bandwidth / other.bandwidth - 1.0).abs() < 1e-6
    }
}

/// A candidate with its error.
pub(super) struct Tried {
    pub(super) point: Point,
    pub(super) lambda: f64,
    pub(super) residuals: Residuals,
    pub(super) error: f64,
    pub(super) seconds: f64,
}

impl Tried {
    pub(super) fn kind(&self) -> MetricKind {
        self.point.metric.kind()
    }

    /// As reports show it.
    pub(super) fn describe(&self) -> SearchCandidate {
        let nu = if let KernelShape::Matern { nu } = self.point.shape { Some(nu) } else { None };
        SearchCandidate {
            kernel: self.point.shape.name().to_owned(),
            nu,
            scaling: self.point.scaling,
            metric: self.kind(),
            round: self.point.round,
            bandwidth: self.point.bandwidth,
            lambda: self.lambda,
            loo_mse: self.error,
        }
    }
}

/// What candidates are tried on, and those that were.
pub(super) struct Trials<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) rows: RoundRows<'a>,
    encoding: &'a Encoding,
    moments: &'a [ColumnMoments],
    pub(super) tried: Vec<Tried>,
    most: usize,
    spent: usize,
    /// Of the stage, before the first and after the last candidate.
    progress: (f64, f64),
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        run: &'a Run<'a>,
        rows: RoundRows<'a>,
        (encoding, moments): (&'a Encoding, &'a [ColumnMoments]),
        most: usize,
        progress: (f64, f64),
    ) -> Self {
        Self { run, rows, encoding, moments, tried: Vec::new(), most, spent: 0, progress }
    }

    /// Scaled inputs without a metric.
    pub(super) fn scaled(&self, rule: ScalingRule) -> InputPipeline {
        InputPipeline::fit(self.encoding, rule, self.moments)
    }

    /// The mean distance between rows, which bandwidths of different kernels and scalings are compared by.
    pub(super) fn mean_distance(&self, shape: KernelShape, rule: ScalingRule) -> Result<f64, TrainError> {
        let scaled = self.scaled(rule);
        let variances = scaled.scaling.scaled_variances(self.moments);
        mean_distance(self.run, shape, &scaled, &variances)
    }

    /// Fits a candidate, whatever is left.
    pub(super) fn fit(&self, point: &Point) -> Result<RoundFit, TrainError> {
        self.fit_near(point, self.tried.last().map(|last| last.lambda))
    }

    /// The same from a λ near which the best may be.
    fn fit_near(&self, point: &Point, near: Option<f64>) -> Result<RoundFit, TrainError> {
        let inputs = point.metric.applied_to(&self.scaled(point.scaling));
        self.rows.fit_kernel(&inputs, point.shape.with_bandwidth(point.bandwidth), near)
    }

    /// Tries a candidate; none where nothing is left for it or it has no finite error, which the first one must have.
    pub(super) fn measure(&mut self, point: Point) -> Result<Option<(usize, RoundFit)>, TrainError> {
        let near = self.tried.last().map(|last| last.lambda);
        self.measure_near(point, near)
    }

    /// The same from a λ near which the best may be.
    pub(super) fn measure_near(
        &mut self,
        point: Point,
        near: Option<f64>,
    ) -> Result<Option<(usize, RoundFit)>, TrainError> {
        let usable = point.bandwidth > 0.0 && point.bandwidth.is_finite();
        if self.spent >= self.most || !usable {
            return Ok(None);
        }
        let start = Instant::now();
        let fit = match self.fit_near(&point, near) {
            Err(TrainError::Data(_)) if !self.tried.is_empty() => None,
            found => Some(found?),
        };
        self.spend(1)?;
        let Some(fit) = fit else { return Ok(None) };
        let (lambda, residuals, error) = (fit.lambda, fit.residuals.clone(), fit.residuals.error());
        self.tried.push(Tried { point, lambda, residuals, error, seconds: start.elapsed().as_secs_f64() });
        Ok(Some((self.tried.len() - 1, fit)))
    }

    /// Counts work that is no candidate of its own.
    pub(super) fn spend(&mut self, candidates: usize) -> Result<(), TrainError> {
        self.spent += candidates;
        let ((from, to), done) = (self.progress, self.spent as f64 / self.most as f64);
        self.run.tick(Stage::Search, (from + (to - from) * done).min(to))
    }

    /// From a candidate along smaller or else larger bandwidths, as long as the error falls. The index of the best.
    pub(super) fn descend(&mut self, from: usize, factor: f64) -> Result<usize, TrainError> {
        let mut best = from;
        for step in [factor.recip(), factor] {
            loop {
                let point = &self.tried[best].point;
                let next = Point { bandwidth: step * point.bandwidth, ..point.clone() };
                let known = self.tried.iter().position(|tried| tried.point.is_nearly(&next));
                let found = if known.is_some() { known } else { self.measure(next)?.map(|(index, _)| index) };
                let Some(index) = found else { break };
                if self.tried[index].error >= self.tried[best].error {
                    break;
                }
                best = index;
            }
            if best != from {
                break;
            }
        }
        Ok(best)
    }

    /// The candidate of the smallest error among some.
    pub(super) fn best(&self, among: impl Fn(&Tried) -> bool) -> Option<usize> {
        let indices = (0..self.tried.len()).filter(|&index| among(&self.tried[index]));
        indices.min_by(|&left, &right| self.tried[left].error.total_cmp(&self.tried[right].error))
    }
}
