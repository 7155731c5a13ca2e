//! A learned metric: its root, where it is not part of the scaling, and the rounds that it came from; and the search that
//! it may have been part of.

use super::{Numbers, converted};
use crate::dataset::ScalingRule;
use crate::model::{MetricKind, MetricReport, MetricRound, SearchCandidate, SearchFinals, SearchReport};
use serde::{Deserialize, Serialize};

/// M^½, d×d, row by row.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredMetricRoot<'a> {
    pub(in crate::model::artifact) root: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredMetricReport<'a> {
    chosen: StoredMetricKind,
    effective_rank: f64,
    relevances: Numbers<'a>,
    rounds: Vec<StoredMetricRound>,
    rows: usize,
    loo_rows: usize,
    gain: f64,
    gain_standard_error: f64,
}

#[derive(Serialize, Deserialize)]
struct StoredMetricRound {
    kind: StoredMetricKind,
    round: usize,
    bandwidth: f64,
    lambda: f64,
    loo_mse: f64,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredSearch<'a> {
    effort: &'a str,
    rows: usize,
    loo_rows: usize,
    features: usize,
    chosen: usize,
    gain: f64,
    gain_standard_error: f64,
    #[serde(borrow)]
    candidates: Vec<StoredCandidate<'a>>,
}

/// Stands in a section of its own.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredFinals {
    first: usize,
    features: usize,
}

#[derive(Serialize, Deserialize)]
struct StoredCandidate<'a> {
    kernel: &'a str,
    nu: Option<f64>,
    scaling: StoredScalingRule,
    metric: StoredMetricKind,
    round: usize,
    bandwidth: f64,
    lambda: f64,
    loo_mse: f64,
}

#[derive(Serialize, Deserialize)]
enum StoredScalingRule {
    Standard,
    Minmax,
    Unit,
    None,
}

#[derive(Serialize, Deserialize)]
enum StoredMetricKind {
    None,
    Diagonal,
    Full,
}

impl<'a> From<&'a MetricReport> for StoredMetricReport<'a> {
    fn from(report: &'a MetricReport) -> Self {
        Self {
            chosen: report.chosen.into(),
            effective_rank: report.effective_rank,
            relevances: (&report.relevances).into(),
            rounds: converted(&report.rounds),
            rows: report.rows,
            loo_rows: report.loo_rows,
            gain: report.gain,
            gain_standard_error: report.gain_standard_error,
        }
    }
}

impl From<StoredMetricReport<'_>> for MetricReport {
    fn from(stored: StoredMetricReport) -> Self {
        Self {
            chosen: stored.chosen.into(),
            effective_rank: stored.effective_rank,
            relevances: stored.relevances.into_owned(),
            rounds: converted(stored.rounds),
            rows: stored.rows,
            loo_rows: stored.loo_rows,
            gain: stored.gain,
            gain_standard_error: stored.gain_standard_error,
        }
    }
}

impl From<&MetricRound> for StoredMetricRound {
    fn from(&MetricRound { kind, round, bandwidth, lambda, loo_mse }: &MetricRound) -> Self {
        Self { kind: kind.into(), round, bandwidth, lambda, loo_mse }
    }
}

impl From<StoredMetricRound> for MetricRound {
    fn from(stored: StoredMetricRound) -> Self {
        let StoredMetricRound { kind, round, bandwidth, lambda, loo_mse } = stored;
        Self { kind: kind.into(), round, bandwidth, lambda, loo_mse }
    }
}

impl From<MetricKind> for StoredMetricKind {
    fn from(kind: MetricKind) -> Self {
        match kind {
            MetricKind::None => Self::None,
            MetricKind::Diagonal => Self::Diagonal,
            MetricKind::Full => Self::Full,
        }
    }
}

impl From<StoredMetricKind> for MetricKind {
    fn from(stored: StoredMetricKind) -> Self {
        match stored {
            StoredMetricKind::None => Self::None,
            StoredMetricKind::Diagonal => Self::Diagonal,
            StoredMetricKind::Full => Self::Full,
        }
    }
}

impl<'a> From<&'a SearchReport> for StoredSearch<'a> {
    fn from(report: &'a SearchReport) -> Self {
        Self {
            effort: &report.effort,
            rows: report.rows,
            loo_rows: report.loo_rows,
            features: report.features,
            chosen: report.chosen,
            gain: report.gain,
            gain_standard_error: report.gain_standard_error,
            candidates: converted(&report.candidates),
        }
    }
}

impl From<StoredSearch<'_>> for SearchReport {
    fn from(stored: StoredSearch) -> Self {
        Self {
            effort: stored.effort.to_owned(),
            rows: stored.rows,
            loo_rows: stored.loo_rows,
            features: stored.features,
            chosen: stored.chosen,
            gain: stored.gain,
            gain_standard_error: stored.gain_standard_error,
            candidates: converted(stored.candidates),
            finals: None,
        }
    }
}

impl From<SearchFinals> for StoredFinals {
    fn from(finals: SearchFinals) -> Self {
        Self { first: finals.first, features: finals.features }
    }
}

impl StoredFinals {
    pub(in crate::model::artifact) fn add_to(self, report: SearchReport) -> SearchReport {
        SearchReport { finals: Some(SearchFinals { first: self.first, features: self.features }), ..report }
    }
}

impl<'a> From<&'a SearchCandidate> for StoredCandidate<'a> {
    fn from(candidate: &'a SearchCandidate) -> Self {
        Self {
            kernel: &candidate.kernel,
            nu: candidate.nu,
            scaling: match candidate.scaling {
                ScalingRule::Standard => StoredScalingRule::Standard,
                ScalingRule::Minmax => StoredScalingRule::Minmax,
                ScalingRule::Unit => StoredScalingRule::Unit,
                ScalingRule::None => StoredScalingRule::None,
            },
            metric: candidate.metric.into(),
            round: candidate.round,
            bandwidth: candidate.bandwidth,
            lambda: candidate.lambda,
            loo_mse: candidate.loo_mse,
        }
    }
}

impl From<StoredCandidate<'_>> for SearchCandidate {
    fn from(stored: StoredCandidate) -> Self {
        Self {
            kernel: stored.kernel.to_owned(),
            nu: stored.nu,
            scaling: match stored.scaling {
                StoredScalingRule::Standard => ScalingRule::Standard,
                StoredScalingRule::Minmax => ScalingRule::Minmax,
                StoredScalingRule::Unit => ScalingRule::Unit,
                StoredScalingRule::None => ScalingRule::None,
            },
            metric: stored.metric.into(),
            round: stored.round,
            bandwidth: stored.bandwidth,
            lambda: stored.lambda,
            loo_mse: stored.loo_mse,
        }
    }
}
