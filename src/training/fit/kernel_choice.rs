//! How inputs are scaled and which kernel is fitted: as the spec says, or by search.

use super::automatic::search_kernel;
use super::bandwidth::{mean_distance, median_distance};
use super::metric::learn_metric;
use super::search::CodedRows;
use crate::dataset::{ColumnMoments, Encoding, Scaling, ScalingRule};
use crate::features::Kernel;
use crate::model::{InputPipeline, MetricReport, SearchReport, TargetCoding};
use crate::training::rows::run::Run;
use crate::training::spec::rules::MetricRule;
use crate::training::stage::TrainError;
use crate::training::{BandwidthRule, TrainSpec};

/// The scaling and the kernel that are fitted.
pub(crate) struct KernelChoice {
    pub(crate) scaling: ScalingRule,
    pub(crate) inputs: InputPipeline,
    pub(crate) kernel: Kernel,
    /// How the metric was learned, if it was.
    pub(crate) metric: Option<MetricReport>,
    /// The scaling before a metric changed it.
    pub(crate) unweighted: Scaling,
    /// What was tried where a search chose all of this, and the seconds of each candidate.
    pub(crate) search: Option<(SearchReport, Vec<f64>)>,
}

impl KernelChoice {
    /// As the spec says; where scaling is searched for, the one with the smaller error at its own best bandwidth. A metric
    /// is learned on inputs of that scaling.
    pub(crate) fn make(
        run: &Run,
        encoding: &Encoding,
        moments: &[ColumnMoments],
        coding: &TargetCoding,
        spec: &TrainSpec,
    ) -> Result<Self, TrainError> {
        if let Some(size) = spec.search_size() {
            return search_kernel(run, (encoding, moments), coding, spec, size);
        }
        let searched = [ScalingRule::Standard, ScalingRule::Minmax];
        let candidates = spec.scaling.as_ref().map_or(&searched[..], std::slice::from_ref);
        let mut best: Option<(f64, Self)> = None;
        for &rule in candidates {
            let inputs = InputPipeline::fit(encoding, rule, moments);
            let variances = inputs.scaling.scaled_variances(moments);
            let (kernel, error) = resolve_kernel(&CodedRows { run, inputs: &inputs, coding }, spec, &variances)?;
            if best.as_ref().is_none_or(|(smallest, _)| error < *smallest) {
                let unweighted = inputs.scaling.clone();
                best = Some((error, Self { scaling: rule, inputs, kernel, metric: None, unweighted, search: None }));
            }
        }
        best.expect("there is a candidate").1.with_metric(run, coding, spec)
    }

    /// With the metric that the spec asks for.
    fn with_metric(self, run: &Run, coding: &TargetCoding, spec: &TrainSpec) -> Result<Self, TrainError> {
        let Some(bandwidth) = self.kernel.bandwidth().filter(|_| spec.metric != MetricRule::None) else {
            return Ok(self);
        };
        let learned = learn_metric(run, (&self.inputs, coding), spec, bandwidth)?;
        Ok(Self {
            inputs: learned.inputs,
            kernel: spec.kernel.with_bandwidth(learned.bandwidth),
            metric: Some(learned.report),
            ..self
        })
    }
}

/// The kernel with its bandwidth, and the error of a search for it.
fn resolve_kernel(rows: &CodedRows, spec: &TrainSpec, variances: &[f64]) -> Result<(Kernel, f64), TrainError> {
    let (run, inputs) = (rows.run, rows.inputs);
    let (bandwidth, error) = match spec.bandwidth {
        BandwidthRule::Fixed(value) => (value, 0.0),
        BandwidthRule::MeanDistance => (mean_distance(run, spec.kernel, inputs, variances)?, 0.0),
        BandwidthRule::Median => (median_distance(run, spec.kernel, inputs)?, 0.0),
        // A metric is learned from a coarse bandwidth; the finer search follows it.
        BandwidthRule::Search if spec.metric != MetricRule::None => {
            rows.search_coarsely(spec, mean_distance(run, spec.kernel, inputs, variances)?)?
        }
        BandwidthRule::Search => rows.search_bandwidth(spec, mean_distance(run, spec.kernel, inputs, variances)?)?,
        BandwidthRule::Grid => rows.search_grid(spec)?,
    };
    if bandwidth > 0.0 && bandwidth.is_finite() {
        Ok((spec.kernel.with_bandwidth(bandwidth), error))
    } else {
        Err(TrainError::Data(format!(
            "the bandwidth rule gives {bandwidth}: most rows are equal; set bandwidth to a number"
        )))
    }
}
