//! Rounds of fit and gradients, and the metric that is kept: the one of the smallest leave-one-out error, if it gains more
//! than chance would.

use super::matrix::Metric;
use super::round::{RoundFit, RoundRows};
use crate::model::{InputPipeline, MetricKind, MetricReport, MetricRound, TargetCoding};
use crate::training::fit::search::CodedRows;
use crate::training::rows::run::Run;
use crate::training::spec::rules::MetricRule;
use crate::training::stage::TrainError;
use crate::training::{BandwidthRule, TrainSpec};

/// Rounds of each form of metric.
const ROUNDS: usize = 4;

/// Standard errors that a gain must exceed.
pub(in crate::training::fit) const STANDARD_ERRORS: f64 = 2.0;

/// What a learned metric changes of a kernel.
pub(crate) struct LearnedMetric {
    /// The pipeline with the metric.
    pub(crate) inputs: InputPipeline,
    pub(crate) bandwidth: f64,
    pub(crate) report: MetricReport,
}

/// A metric and the fit in its coordinates.
struct Candidate {
    metric: Metric,
    round: usize,
    fit: RoundFit,
}

/// Learns the metric that a spec asks for, on inputs that are scaled, starting from a bandwidth without one.
pub(crate) fn learn_metric(
    run: &Run,
    (scaled, coding): (&InputPipeline, &TargetCoding),
    spec: &TrainSpec,
    bandwidth: f64,
) -> Result<LearnedMetric, TrainError> {
    let rows = RoundRows::of(run, coding, spec);
    // No metric gets as good a bandwidth as the rounds have, on the same features.
    let fit = |inputs: &InputPipeline, bandwidth: f64| match spec.bandwidth {
        BandwidthRule::Search => rows.fit_near(inputs, bandwidth),
        BandwidthRule::Fixed(_) | BandwidthRule::MeanDistance | BandwidthRule::Median | BandwidthRule::Grid => {
            rows.fit(inputs, bandwidth)
        }
    };
    let without = Candidate { metric: Metric::Identity, round: 0, fit: fit(scaled, bandwidth)? };
    let varying = scaled.input_dim() - scaled.scaling.constant_count();
    // With one input a metric is a bandwidth.
    let kinds: &[MetricKind] = if varying < 2 { &[] } else { spec.metric.kinds(spec.kernel) };
    let mut rounds = vec![without.describe()];
    let mut best = Vec::new();
    for &kind in kinds {
        let mut tried: Vec<Candidate> = Vec::with_capacity(ROUNDS);
        for round in 1..=ROUNDS {
            let last = tried.last().unwrap_or(&without);
            let before = last.metric.applied_to(scaled);
            let products = rows.gradient_products((&before, &last.metric), &last.fit, kind)?;
            let metric = Metric::of(products, scaled)?;
            let fit = fit(&metric.applied_to(scaled), last.fit.bandwidth)?;
            let next = Candidate { metric, round, fit };
            rounds.push(next.describe());
            tried.push(next);
        }
        best.extend(tried.into_iter().min_by(|left, right| left.error().total_cmp(&right.error())));
    }
    let nearest = best.iter().min_by(|left, right| left.error().total_cmp(&right.error()));
    let (gain, gain_standard_error) = nearest.map_or((0.0, 0.0), |nearest| nearest.gain_over(&without));
    // A full metric has to gain on a diagonal one as that has to on none.
    let kept = best.iter().fold(&without, |kept, next| {
        let (gain, standard_error) = next.gain_over(kept);
        if gain > STANDARD_ERRORS * standard_error { next } else { kept }
    });
    let inputs = kept.metric.applied_to(scaled);
    let bandwidth = if spec.bandwidth == BandwidthRule::Search {
        CodedRows { run, inputs: &inputs, coding }.refine_bandwidth(spec, kept.fit.bandwidth)?.0
    } else {
        kept.fit.bandwidth
    };
    let report = MetricReport {
        chosen: kept.metric.kind(),
        effective_rank: kept.metric.effective_rank(scaled),
        relevances: kept.metric.relevances(scaled),
        rounds,
        rows: rows.row_count(),
        loo_rows: kept.fit.residuals.squares.len(),
        gain,
        gain_standard_error,
    };
    Ok(LearnedMetric { inputs, bandwidth, report })
}

impl Candidate {
    /// Mean squared leave-one-out residual.
    fn error(&self) -> f64 {
        self.fit.residuals.error()
    }

    /// By how much the error is smaller than that of another on the same rows, and the standard error of that.
    fn gain_over(&self, other: &Self) -> (f64, f64) {
        self.fit.residuals.gain_over(&other.fit.residuals)
    }

    fn describe(&self) -> MetricRound {
        MetricRound {
            kind: self.metric.kind(),
            round: self.round,
            bandwidth: self.fit.bandwidth,
            lambda: self.fit.lambda,
            loo_mse: self.error(),
        }
    }
}

impl MetricRule {
    /// The forms that are tried, from the simplest; rules other than `search` try one.
    pub(in crate::training::fit) fn kinds(self, kernel: crate::features::KernelShape) -> &'static [MetricKind] {
        match self {
            Self::None => &[],
            Self::Diagonal => &[MetricKind::Diagonal],
            Self::Full => &[MetricKind::Full],
            Self::Search if Self::Full.refusal(kernel).is_some() => &[MetricKind::Diagonal],
            Self::Search => &[MetricKind::Diagonal, MetricKind::Full],
        }
    }
}
