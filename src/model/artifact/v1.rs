//! Format 1: one record with every part in a fixed order. Read, no longer written.

use super::ArtifactError;
use super::stored::Numbers;
use super::stored::evidence::{RestOfModel, StoredEvidence, StoredMeasured};
use super::stored::extras::{StoredErrorBars, StoredSpread, StoredStatistics};
use super::stored::features::{
    StoredFrequencies, StoredKernel, StoredMapKind, StoredPrecision, feature_map, weight_matrix,
};
use super::stored::head::StoredHead;
use super::stored::inputs::{StoredInputs, StoredMissingRule};
use super::stored::report::StoredReport;
use crate::model::{FittedModel, Head, InputPipeline};
use serde::Deserialize;

/// The payload, in bincode with integers of variable length.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
struct PayloadV1<'a> {
    #[serde(borrow)]
    head: StoredHead<'a>,
    #[serde(borrow)]
    inputs: StoredInputs<'a>,
    missing: StoredMissingRule,
    kernel: StoredKernel,
    map: StoredMapKind,
    frequencies: StoredFrequencies<'a>,
    phases: Numbers<'a>,
    precision: StoredPrecision,
    /// s×k, row by row.
    weights: Numbers<'a>,
    intercepts: Numbers<'a>,
    spread: Option<StoredSpread<'a>>,
    error_bars: Option<StoredErrorBars<'a>>,
    interval_scales: Numbers<'a>,
    statistics: Option<StoredStatistics<'a>>,
    spec: &'a str,
    dataset: &'a str,
    #[serde(borrow)]
    report: StoredReport<'a>,
    failure_probability: f64,
    evidence: Option<StoredEvidence<'a>>,
    measured: StoredMeasured,
}

/// The model of a payload, not yet checked for soundness.
pub(super) fn read(payload: &[u8]) -> Result<FittedModel, ArtifactError> {
    let (stored, read): (PayloadV1, usize) =
        bincode::serde::borrow_decode_from_slice(payload, bincode::config::standard())?;
    if read != payload.len() {
        return Err(ArtifactError::Shape("bytes follow the last part"));
    }
    let head = Head::from(stored.head);
    let inputs = InputPipeline::from(stored.inputs);
    let input_dim = inputs.encoding.input_dim();
    let map = feature_map(stored.kernel, stored.map, stored.frequencies, stored.phases, input_dim)?;
    let (precision, report) = (stored.precision.into(), stored.report.of(0));
    let rest = RestOfModel {
        precision,
        kernel: map.kernel,
        head: &head,
        report: &report,
        spec: stored.spec,
        choices: None,
        selection: None,
        enough_features: None,
    };
    let evidence = stored.evidence.map(|stored| stored.of(&rest));
    Ok(FittedModel {
        selection: None,
        trials: None,
        weights: weight_matrix(&map, head.output_count(), stored.weights)?,
        head,
        inputs,
        ranges: None,
        missing: stored.missing.into(),
        map,
        precision,
        intercepts: stored.intercepts.into_owned(),
        spread: stored.spread.map(Into::into),
        error_bars: stored.error_bars.map(Into::into),
        interval_scales: stored.interval_scales.into_owned(),
        statistics: stored.statistics.map(Into::into),
        spec: stored.spec.to_owned(),
        dataset: stored.dataset.to_owned(),
        report,
        metric: None,
        learner_choice: None,
        search: None,
        explanations: None,
        held_out: None,
        cross_validation: None,
        learning_curve: None,
        failure_probability: stored.failure_probability,
        evidence,
        measured: stored.measured.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ARTIFACT_HEADER;

    /// A field that moved, went or came would change the bytes.
    #[test]
    fn the_committed_payloads_are_what_the_structs_write() {
        for artifact in [
            include_bytes!("../../../tests/fixtures/artifacts/ridge.bochner").as_slice(),
            include_bytes!("../../../tests/fixtures/artifacts/laplace.bochner"),
            include_bytes!("../../../tests/fixtures/artifacts/logistic.bochner"),
            include_bytes!("../../../tests/fixtures/artifacts/structured-hinge.bochner"),
            include_bytes!("../../../tests/fixtures/artifacts/exact.bochner"),
        ] {
            let payload = &artifact[ARTIFACT_HEADER..];
            let config = bincode::config::standard();
            let (stored, _): (PayloadV1, usize) = bincode::serde::borrow_decode_from_slice(payload, config).unwrap();
            assert!(bincode::serde::encode_to_vec(&stored, config).unwrap() == payload);
        }
    }
}
