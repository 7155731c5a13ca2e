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
use super::stored::choices::StoredChoices;
use super::stored::distance::{StoredDistance, StoredExactScore};
use super::stored::evidence::{RestOfModel, StoredEvidence, StoredMeasured};
use super::stored::explanations::StoredExplanations;
use super::stored::extras::{StoredErrorBars, StoredSpread, StoredStatistics};
use super::stored::features::{
    StoredFrequencies, StoredKernel, StoredMapKind, StoredPrecision, feature_map, weight_matrix,
};
use super::stored::head::StoredHead;
use super::stored::inputs::{StoredInputs, StoredMissingRule, StoredNotations, StoredRanges, StoredSigns};
use super::stored::insight::cross_validation::StoredCrossValidation;
use super::stored::insight::held_out::StoredHeldOut;
use super::stored::insight::individual_curves::StoredIndividualCurves;
use super::stored::insight::learner_choice::StoredLearnerChoice;
use super::stored::metric::{StoredFinals, StoredMetricReport, StoredMetricRoot, StoredSearch};
use super::stored::report::StoredReport;
use super::stored::selection::{StoredScales, StoredSelection, StoredTrials};
use crate::model::{Explanations, FeatureTrials, FittedModel, Head, InputPipeline, Measured, SearchReport};
use ndarray::Array2;
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
    if let Some(notations) = StoredNotations::of(&model.inputs.encoding) {
        write_section(bytes, Section::Notations, &notations)?;
    }
    if let Some(signs) = StoredSigns::of(&model.inputs.encoding) {
        write_section(bytes, Section::Signs, &signs)?;
    }
    if let Some(ranges) = &model.ranges {
        write_section(bytes, Section::Ranges, &StoredRanges::from(ranges))?;
    }
    let features = FeatureSection {
        kernel: model.map.kernel.into(),
        map: model.map.kind.into(),
        precision: model.precision.into(),
        frequencies: (&model.map.frequencies).into(),
        phases: (&model.map.phases).into(),
    };
    write_section(bytes, Section::Features, &features)?;
    if let Some(scales) = &model.map.scales {
        write_section(bytes, Section::Scales, &StoredScales::from(scales))?;
    }
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
    write_section(bytes, Section::Measured, &StoredMeasured::from(&model.measured))?;
    if let Some(selection) = &model.selection {
        write_section(bytes, Section::Selection, &StoredSelection::from(selection))?;
    }
    if let Some(trials) = &model.trials {
        write_section(bytes, Section::Trials, &StoredTrials::from(trials))?;
    }
    if let Some(root) = &model.inputs.metric_root {
        write_section(bytes, Section::MetricRoot, &StoredMetricRoot { root: root.iter().copied().collect() })?;
    }
    if let Some(report) = &model.metric {
        write_section(bytes, Section::MetricReport, &StoredMetricReport::from(report))?;
    }
    if let Some(report) = &model.search {
        write_section(bytes, Section::Search, &StoredSearch::from(report))?;
        if let Some(finals) = report.finals {
            write_section(bytes, Section::SearchFinals, &StoredFinals::from(finals))?;
        }
    }
    if let Some(explanations) = &model.explanations {
        write_section(bytes, Section::Explanations, &StoredExplanations::from(explanations))?;
        if let Some(curves) = StoredIndividualCurves::of(explanations) {
            write_section(bytes, Section::IndividualCurves, &curves)?;
        }
    }
    if let Some(sample) = &model.held_out {
        write_section(bytes, Section::HeldOut, &StoredHeldOut::from(sample))?;
    }
    if let Some(found) = &model.cross_validation {
        write_section(bytes, Section::CrossValidation, &StoredCrossValidation::from(found))?;
    }
    if let Some(found) = &model.learning_curve {
        write_section(bytes, Section::LearningCurve, &StoredCrossValidation::from(found))?;
    }
    if let Some(choice) = model.learner_choice {
        write_section(bytes, Section::LearnerChoice, &StoredLearnerChoice::from(choice))?;
    }
    let evidence = model.evidence.as_ref();
    if let Some(choices) = evidence.and_then(|evidence| StoredChoices::of(evidence.choices, model.report.design_rows)) {
        write_section(bytes, Section::Choices, &choices)?;
    }
    if let Some(score) = model.measured.exact_score {
        write_section(bytes, Section::ExactScore, &StoredExactScore::from(score))?;
    }
    match StoredDistance::of(model) {
        Some(distance) => write_section(bytes, Section::Distance, &distance),
        None => Ok(()),
    }
}

/// M^½ for d inputs.
fn metric_root(stored: StoredMetricRoot, d: usize) -> Result<Array2<f64>, ArtifactError> {
    let root = Array2::from_shape_vec((d, d), stored.root.into_owned());
    root.map_err(|_| ArtifactError::Shape("metric and encoding"))
}

fn explanations(sections: &Sections) -> Result<Option<Explanations>, ArtifactError> {
    let found = sections.find::<StoredExplanations>(Section::Explanations)?.map(Explanations::from);
    Ok(match sections.find::<StoredIndividualCurves>(Section::IndividualCurves)? {
        Some(curves) => found.map(|found| curves.add_to(found)),
        None => found,
    })
}

fn search(sections: &Sections) -> Result<Option<SearchReport>, ArtifactError> {
    let found = sections.find::<StoredSearch>(Section::Search)?.map(SearchReport::from);
    Ok(match sections.find::<StoredFinals>(Section::SearchFinals)? {
        Some(finals) => found.map(|found| finals.add_to(found)),
        None => found,
    })
}

/// The model of a payload, not yet checked for soundness.
pub(super) fn read(payload: &[u8]) -> Result<FittedModel, ArtifactError> {
    let sections = Sections::split(payload)?;
    let head = Head::from(sections.read::<StoredHead>(Section::Head)?);
    let InputSection { inputs, missing } = sections.read(Section::Inputs)?;
    let root = sections.find::<StoredMetricRoot>(Section::MetricRoot)?;
    let mut inputs = InputPipeline::from(inputs);
    if let Some(notations) = sections.find::<StoredNotations>(Section::Notations)?
        && !notations.give_to(&mut inputs.encoding)
    {
        return Err(ArtifactError::Shape("notations and columns"));
    }
    if let Some(signs) = sections.find::<StoredSigns>(Section::Signs)?
        && !signs.give_to(&mut inputs.encoding)
    {
        return Err(ArtifactError::Shape("signs and levels"));
    }
    inputs.metric_root = root.map(|stored| metric_root(stored, inputs.encoding.input_dim())).transpose()?;
    let FeatureSection { kernel, map, precision, frequencies, phases } = sections.read(Section::Features)?;
    let mut map = feature_map(kernel, map, frequencies, phases, inputs.encoding.input_dim())?;
    map.scales = sections.find::<StoredScales>(Section::Scales)?.map(Into::into);
    let WeightSection { weights, intercepts } = sections.read(Section::Weights)?;
    let IntervalSection { failure_probability, scales } = sections.read(Section::Intervals)?;
    let OriginSection { spec, dataset } = sections.read(Section::Origin)?;
    let precision = precision.into();
    let chosen = sections.find::<StoredChoices>(Section::Choices)?;
    let report = sections.read::<StoredReport>(Section::Report)?;
    let report = report.of(chosen.as_ref().map_or(0, |chosen| chosen.design_rows));
    let choices = chosen.map(|chosen| chosen.choices());
    let selection = sections.find::<StoredSelection>(Section::Selection)?.map(Into::into);
    let trials: Option<FeatureTrials> = sections.find::<StoredTrials>(Section::Trials)?.map(Into::into);
    let per_draw = map.kind.columns_per_draw();
    let rest = RestOfModel {
        precision,
        kernel: map.kernel,
        head: &head,
        report: &report,
        spec,
        choices,
        selection: selection.as_ref(),
        enough_features: trials.as_ref().and_then(|trials| trials.enough_draws(per_draw)),
    };
    let evidence = sections.find::<StoredEvidence>(Section::Evidence)?.map(|stored| stored.of(&rest));
    let model = FittedModel {
        weights: weight_matrix(&map, head.output_count(), weights)?,
        head,
        inputs,
        ranges: sections.find::<StoredRanges>(Section::Ranges)?.map(Into::into),
        missing: missing.into(),
        map,
        selection,
        trials,
        precision,
        intercepts: intercepts.into_owned(),
        spread: sections.find::<StoredSpread>(Section::Spread)?.map(Into::into),
        error_bars: sections.find::<StoredErrorBars>(Section::ErrorBars)?.map(Into::into),
        interval_scales: scales.into_owned(),
        statistics: sections.find::<StoredStatistics>(Section::Statistics)?.map(Into::into),
        spec: spec.to_owned(),
        dataset: dataset.to_owned(),
        report,
        metric: sections.find::<StoredMetricReport>(Section::MetricReport)?.map(Into::into),
        learner_choice: sections.find::<StoredLearnerChoice>(Section::LearnerChoice)?.map(Into::into),
        search: search(&sections)?,
        explanations: explanations(&sections)?,
        held_out: sections.find::<StoredHeldOut>(Section::HeldOut)?.map(Into::into),
        cross_validation: sections.find::<StoredCrossValidation>(Section::CrossValidation)?.map(Into::into),
        learning_curve: sections.find::<StoredCrossValidation>(Section::LearningCurve)?.map(Into::into),
        failure_probability,
        evidence,
        measured: Measured {
            exact_score: sections.find::<StoredExactScore>(Section::ExactScore)?.map(Into::into),
            ..sections.read::<StoredMeasured>(Section::Measured)?.into()
        },
    };
    Ok(match sections.find::<StoredDistance>(Section::Distance)? {
        Some(distance) => distance.add_to(model),
        None => model,
    })
}
