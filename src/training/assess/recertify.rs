//! Measuring later what training left out: the rows are read again, the weights stay.

use super::comparison::Compared;
use super::evidence::of_own_draws;
use super::scored_function::ScoredFunction;
use crate::dataset::{Part, Rows, Schema};
use crate::model::{FitReport, FittedModel, TargetCoding};
use crate::solver::{Leverage, SolveError};
use crate::theory::{ErrorEstimates, Evidence, SamplingKind};
use crate::training::fit::ridge::leverages;
use crate::training::rows::parting::parted;
use crate::training::rows::run::Run;
use crate::training::stage::{Clock, Observer, Stage, TrainError, Trained};
use crate::training::{Resources, TrainSpec};

/// The model with everything measured that training left out, from the rows it was trained on: `spec` says which
/// of them were held out.
pub fn recertify(
    model: FittedModel,
    spec: &TrainSpec,
    (rows, schema): (&dyn Rows, &Schema),
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Trained, TrainError> {
    let mut clock = Clock::start();
    observer.progress(Stage::Scale, 0.0);
    let rows = parted(rows, schema, spec)?;
    let run = Run::new(rows, resources.threads, observer);
    let (_, targets) = run.moments(&model.inputs.encoding, Part::Training)?;
    let coding = match &model.head.labels() {
        Some(labels) => TargetCoding::Classes { count: labels.labels.len() },
        None => TargetCoding::of_numbers(&targets),
    };
    clock.lap(Stage::Scale);

    let Some(evidence) = model.evidence.clone() else {
        return Ok(Trained { model, stage_seconds: clock.laps, candidate_seconds: Vec::new() });
    };
    let evidence = with_spectrum(&run, &model, evidence, &coding)?;
    clock.lap(Stage::Accumulate);

    let model = compared(&run, model, evidence, &coding, resources)?;
    clock.lap(Stage::Certify);
    Ok(Trained { model, stage_seconds: clock.laps, candidate_seconds: Vec::new() })
}

/// The eigenvalues of G and the leverages, whatever its order, where they are not known.
fn with_spectrum(
    run: &Run,
    model: &FittedModel,
    evidence: Evidence,
    coding: &TargetCoding,
) -> Result<Evidence, TrainError> {
    if evidence.spectrum.is_some() && evidence.pool.is_some() {
        return Ok(evidence);
    }
    let tick = |done| run.tick(Stage::Accumulate, done);
    let features = (&model.map, model.precision);
    let gram = run.accumulate(&run.all_rows(), &model.inputs, features, coding, tick)?;
    let leverage = Leverage::new(&gram.into_normal_equations()).map_err(SolveError::from)?;
    let draws = model.map.draw_count();
    let own = || of_own_draws(leverages(&leverage, evidence.ridge, draws), draws, evidence.sample_count);
    Ok(Evidence {
        spectrum: Some(leverage.spectrum()),
        pool: evidence.pool.clone().or_else(|| Some(own())),
        ..evidence
    })
}

/// Next to the exact method, where the model is a ridge fit on features of rows that count the same.
fn compared(
    run: &Run,
    model: FittedModel,
    evidence: Evidence,
    coding: &TargetCoding,
    resources: Resources,
) -> Result<FittedModel, TrainError> {
    let of_features = evidence.sampling != SamplingKind::NoFeatures;
    if evidence.target_mean_square.is_none() || evidence.rows_weighted || !of_features {
        return Ok(FittedModel { evidence: Some(evidence), ..model });
    }
    let function = ScoredFunction::new(model.function());
    let unlabelled = evidence.choices.spares_unlabelled_rows() && evidence.sampling == SamplingKind::DataIndependent;
    let lambda = model.report.lambda;
    let compared = Compared { run, function: &function, coding, lambda, unlabelled, resources };
    let comparison = compared.compare()?;
    let mut warnings = model.report.warnings.clone();
    warnings.extend(comparison.warnings.into_iter().filter(|warning| !model.report.warnings.contains(warning)));
    Ok(FittedModel {
        evidence: Some(Evidence {
            exact: comparison.exact,
            kernel: comparison.kernel,
            certificate: comparison.certificate,
            estimates: ErrorEstimates { fresh_features: comparison.fresh_features, ..evidence.estimates },
            ..evidence
        }),
        measured: comparison.measured,
        report: FitReport { warnings, ..model.report },
        ..model
    })
}
