//! Format 2: a list of sections, each with a tag, flags and a length, so that files can gain parts.
//!
//! To keep something new of a model, add a [`Section`] with a struct of its own under `stored`, write it here and read
//! it with a value for files that lack it. Mark it as required if a build that does not know it would predict wrongly;
//! such a build then refuses the file by the name of the section, and skips the section otherwise. Sections that exist
//! never change. `docs/artifact-format.md` describes the bytes.

/// Tags, flags and lengths.
mod sections;

use super::ArtifactError;
use super::stored::Numbers;
use super::stored::evidence::{StoredEvidence, StoredMeasured};
use super::stored::extras::{StoredErrorBars, StoredSpread, StoredStatistics};
use super::stored::features::{
    StoredFrequencies, StoredKernel, StoredMapKind, StoredPrecision, feature_map, weight_matrix,
};
use super::stored::head::StoredHead;
use super::stored::inputs::{StoredInputs, StoredMissingRule};
use super::stored::report::StoredReport;
use crate::model::{FittedModel, Head, InputPipeline};
use sections::{Section, Sections, write_section};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct InputSection<'a> {
    #[serde(borrow)]
    inputs: StoredInputs<'a>,
    missing: StoredMissingRule,
}

#[derive(Serialize, Deserialize)]
struct FeatureSection<'a> {
    kernel: StoredKernel,
    map: StoredMapKind,
    precision: StoredPrecision,
    frequencies: StoredFrequencies<'a>,
    phases: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
struct WeightSection<'a> {
    /// s×k, row by row.
    weights: Numbers<'a>,
    intercepts: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
struct IntervalSection<'a> {
    failure_probability: f64,
    scales: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
struct OriginSection<'a> {
    /// JSON.
    spec: &'a str,
    dataset: &'a str,
}

/// Appends the sections of a model. Their order is fixed, so the same model always gives the same bytes.
pub(super) fn write(model: &FittedModel, bytes: &mut Vec<u8>) -> Result<(), ArtifactError> {
    write_section(bytes, Section::Head, &StoredHead::from(&model.head))?;
    let inputs = InputSection { inputs: (&model.inputs).into(), missing: model.missing.into() };
    write_section(bytes, Section::Inputs, &inputs)?;
    let features = FeatureSection {
        kernel: model.map.kernel.into(),
        map: model.map.kind.into(),
        precision: model.precision.into(),
        frequencies: (&model.map.frequencies).into(),
        phases: (&model.map.phases).into(),
    };
    write_section(bytes, Section::Features, &features)?;
    let intercepts = (&model.intercepts).into();
    let weights = WeightSection { weights: model.weights.iter().copied().collect(), intercepts };
    write_section(bytes, Section::Weights, &weights)?;
    if let Some(spread) = &model.spread {
        write_section(bytes, Section::Spread, &StoredSpread::from(spread))?;
    }
    if let Some(bars) = &model.error_bars {
        write_section(bytes, Section::ErrorBars, &StoredErrorBars::from(bars))?;
    }
    let scales = (&model.interval_scales).into();
    let intervals = IntervalSection { failure_probability: model.failure_probability, scales };
    write_section(bytes, Section::Intervals, &intervals)?;
    if let Some(statistics) = &model.statistics {
        write_section(bytes, Section::Statistics, &StoredStatistics::from(statistics))?;
    }
    write_section(bytes, Section::Origin, &OriginSection { spec: &model.spec, dataset: &model.dataset })?;
    write_section(bytes, Section::Report, &StoredReport::from(&model.report))?;
    if let Some(evidence) = &model.evidence {
        write_section(bytes, Section::Evidence, &StoredEvidence::from(evidence))?;
    }
    write_section(bytes, Section::Measured, &StoredMeasured::from(&model.measured))
}

/// The model of a payload, not yet checked for soundness.
pub(super) fn read(payload: &[u8]) -> Result<FittedModel, ArtifactError> {
    let sections = Sections::split(payload)?;
    let head = Head::from(sections.read::<StoredHead>(Section::Head)?);
    let InputSection { inputs, missing } = sections.read(Section::Inputs)?;
    let inputs = InputPipeline::from(inputs);
    let FeatureSection { kernel, map, precision, frequencies, phases } = sections.read(Section::Features)?;
    let map = feature_map(kernel, map, frequencies, phases, inputs.encoding.input_dim())?;
    let WeightSection { weights, intercepts } = sections.read(Section::Weights)?;
    let IntervalSection { failure_probability, scales } = sections.read(Section::Intervals)?;
    let OriginSection { spec, dataset } = sections.read(Section::Origin)?;
    Ok(FittedModel {
        weights: weight_matrix(&map, head.output_count(), weights)?,
        head,
        inputs,
        missing: missing.into(),
        map,
        precision: precision.into(),
        intercepts: intercepts.into_owned(),
        spread: sections.find::<StoredSpread>(Section::Spread)?.map(Into::into),
        error_bars: sections.find::<StoredErrorBars>(Section::ErrorBars)?.map(Into::into),
        interval_scales: scales.into_owned(),
        statistics: sections.find::<StoredStatistics>(Section::Statistics)?.map(Into::into),
        spec: spec.to_owned(),
        dataset: dataset.to_owned(),
        report: sections.read::<StoredReport>(Section::Report)?.into(),
        failure_probability,
        evidence: sections.find::<StoredEvidence>(Section::Evidence)?.map(Into::into),
        measured: sections.read::<StoredMeasured>(Section::Measured)?.into(),
    })
}
