//! How inputs are scaled and which kernel is fitted: as the spec says, or by search.

use super::bandwidth::{mean_distance, median_distance};
use super::search::CodedRows;
use crate::dataset::{ColumnMoments, Encoding, Scaling, ScalingRule};
use crate::features::Kernel;
use crate::model::{InputPipeline, TargetCoding};
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use crate::training::{BandwidthRule, TrainSpec};

/// The scaling and the kernel that are fitted.
pub(crate) struct KernelChoice {
    pub(crate) scaling: ScalingRule,
    pub(crate) inputs: InputPipeline,
    pub(crate) kernel: Kernel,
}

impl KernelChoice {
    /// As the spec says; where scaling is searched for, the one with the smaller error at its own best bandwidth.
    pub(crate) fn make(
        run: &Run,
        encoding: &Encoding,
        moments: &[ColumnMoments],
        coding: &TargetCoding,
        spec: &TrainSpec,
    ) -> Result<Self, TrainError> {
        let searched = [ScalingRule::Standard, ScalingRule::Minmax];
        let candidates = spec.scaling.as_ref().map_or(&searched[..], std::slice::from_ref);
        let mut best: Option<(f64, Self)> = None;
        for &rule in candidates {
            let scaling = Scaling::fit(rule, moments);
            let variances = scaling.scaled_variances(moments);
            let inputs = InputPipeline { encoding: encoding.clone(), scaling };
            let (kernel, error) = resolve_kernel(&CodedRows { run, inputs: &inputs, coding }, spec, &variances)?;
            if best.as_ref().is_none_or(|(smallest, _)| error < *smallest) {
                best = Some((error, Self { scaling: rule, inputs, kernel }));
            }
        }
        Ok(best.expect("there is a candidate").1)
    }
}

/// The kernel with its bandwidth, and the error of a search for it.
fn resolve_kernel(rows: &CodedRows, spec: &TrainSpec, variances: &[f64]) -> Result<(Kernel, f64), TrainError> {
    let (run, inputs) = (rows.run, rows.inputs);
    let (bandwidth, error) = match spec.bandwidth {
        BandwidthRule::Fixed(value) => (value, 0.0),
        BandwidthRule::MeanDistance => (mean_distance(run, spec.kernel, inputs, variances)?, 0.0),
        BandwidthRule::Median => (median_distance(run, spec.kernel, inputs)?, 0.0),
        BandwidthRule::Search => rows.search_bandwidth(spec, mean_distance(run, spec.kernel, inputs, variances)?)?,
    };
    if bandwidth > 0.0 && bandwidth.is_finite() {
        Ok((spec.kernel.with_bandwidth(bandwidth), error))
    } else {
        Err(TrainError::Data(format!(
            "the bandwidth rule gives {bandwidth}: most rows are equal; set bandwidth to a number"
        )))
    }
}
