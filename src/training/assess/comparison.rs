//! The exact kernel method next to a random-feature model: what the bounds need of it, and how far the model is from it.

use super::distances::{Distances, left_out_error};
use super::fresh_feature_error::fresh_feature_error;
use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::features::Precision;
use crate::model::{Function, Measured, TargetCoding};
use crate::solver::{self, ExactKrr, SolveError, spectral_delta};
use crate::theory::{CertificateEvidence, Estimate, ExactEvidence, KernelEvidence, SPECTRAL_ROWS};
use crate::training::Resources;
use crate::training::fit::exact_system::{ExactRows, ExactSystem, Shares, evidence_of};
use crate::training::rows::run::Run;
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array1, ArrayView1, ArrayView2, Axis};

/// What the exact method next to a model tells.
pub(crate) struct Comparison {
    pub(crate) exact: Option<ExactEvidence>,
    pub(crate) kernel: Option<KernelEvidence>,
    pub(crate) certificate: Option<CertificateEvidence>,
    /// The fresh-feature estimate.
    pub(crate) fresh_features: Option<f64>,
    pub(crate) measured: Measured,
    /// What could not be measured.
    pub(crate) warnings: Vec<String>,
}

/// The model that is compared: a ridge fit of rows that count the same.
pub(crate) struct Compared<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) function: &'a ScoredFunction<'a>,
    pub(crate) coding: &'a TargetCoding,
    pub(crate) lambda: f64,
    /// Whether rows without a target had no part in scaling, kernel or features, so that certificates can rest on them.
    pub(crate) unlabelled: bool,
    pub(crate) resources: Resources,
}

/// The exact solution and what else the kernel matrix gives. Solutions that cannot stand for the exact one are errors.
struct Solved {
    exact: ExactKrr,
    dimension: Estimate,
    fitted_form: f64,
    /// Mean of (f_s − f)² over the training rows.
    training_error: f64,
    /// Of (K + nλI)⁻¹, where fitted rows are to be left out because no others are there.
    diagonal: Option<Array1<f64>>,
}

/// What needs no exact solution, and the distance on fitted rows that are left out, which does.
struct OfFeatures {
    spectral_delta: Option<f64>,
    fresh_features: Option<f64>,
    left_out: Option<f64>,
}

impl Compared<'_> {
    /// Solves the exact kernel system and measures what it gives. A model that cannot be compared is none the worse:
    /// what is missing is a warning.
    pub(crate) fn compare(&self) -> Result<Comparison, TrainError> {
        self.run.tick(Stage::Certify, 0.0)?;
        let mut warnings = Vec::new();
        let parts = self.function.parts;
        let rows = ExactRows::collect(self.run, parts.inputs)?;
        let rows = ExactRows { targets: self.coding.in_own_units(rows.targets), ..rows };
        let ranges: Vec<(f64, f64)> = rows.targets.columns().into_iter().map(range).collect();
        let (stage, intercepts) = (Stage::Certify, parts.intercepts);
        let system = ExactSystem::new(self.run, stage, parts.map, rows, intercepts, self.lambda, self.resources);
        let solved = match self.solve(&system) {
            Ok(solved) => {
                let distances =
                    Distances::measure(self.run, self.function, self.coding, (&solved.exact, ranges), self.unlabelled)?;
                Ok((solved, distances))
            }
            Err(TrainError::Solve(cause)) => {
                warnings.push(format!("No comparison with the exact kernel method: {cause}"));
                Err(if let SolveError::NotConverged { residual, .. } = cause { residual } else { 1.0 })
            }
            Err(other) => return Err(other),
        };
        let features = self.measure_features(&system, solved.as_ref().ok().map(|(solved, _)| solved), &mut warnings)?;
        Ok(describe(&system, solved, features, warnings))
    }

    fn solve(&self, system: &ExactSystem) -> Result<Solved, TrainError> {
        let mut solver = system.prepare(Shares::PREPARE)?;
        let shares = Shares::of(&solver);
        let weights = self.function.parts.weights;
        let (exact, training_error) = system.solve_next_to(&mut solver, weights, shares.solve)?;
        let diagonal = if self.holds_out_rows() { None } else { system.inverse_diagonal(&solver, shares.dimension)? };
        let dimension = match &diagonal {
            Some(diagonal) => system.dimension_from(diagonal),
            None => system.dimension(&mut solver, shares.dimension)?,
        };
        let fitted_form = system.fitted_form(&mut solver, &exact, shares.fitted_form)?;
        Ok(Solved { exact, dimension, fitted_form, training_error, diagonal })
    }

    /// Whether there are rows that were not fitted, to compare on.
    fn holds_out_rows(&self) -> bool {
        let parts = [Part::Validation, Part::Calibration, Part::Unlabelled];
        parts[..if self.unlabelled { 3 } else { 2 }].iter().any(|part| self.run.total(*part) > 0)
    }

    /// Δ between the features' kernel and the kernel, the fresh-feature estimate, and what leaving out fitted rows tells.
    fn measure_features(
        &self,
        system: &ExactSystem,
        solved: Option<&Solved>,
        warnings: &mut Vec<String>,
    ) -> Result<OfFeatures, TrainError> {
        let (run, parts) = (self.run, self.function.parts);
        let delta = measured_delta(parts, self.lambda, system.inputs.view(), run.threads);
        let delta = unless_unsolvable(delta, "No spectral distance to the exact kernel", warnings)?;
        let features = (parts.map, Precision::Double);
        let mut gram = run.accumulate(&run.all_rows(), parts.inputs, features, self.coding, |_| run.stop_if_asked())?;
        gram.centre_targets();
        let (held_out, _) = run.collect(&run.sample(SPECTRAL_ROWS), parts.inputs, Part::Validation)?;
        let rows = (system.inputs.view(), system.centred.view());
        let equations = gram.into_normal_equations();
        let fresh = fresh_feature_error((parts, self.lambda), rows, held_out.view(), &equations, run.threads);
        let fresh = unless_unsolvable(fresh.map_err(TrainError::from), "No fresh-feature estimate", warnings)?;
        let left_out = match solved.and_then(|solved| Some((&solved.exact, solved.diagonal.as_ref()?))) {
            Some(exact) => {
                let found = left_out_error((parts, self.lambda), system, exact, &equations, run.threads);
                unless_unsolvable(found.map_err(TrainError::from), "No distance on rows that are left out", warnings)?
            }
            None => None,
        };
        Ok(OfFeatures { spectral_delta: delta, fresh_features: fresh.flatten(), left_out: left_out.flatten() })
    }
}

/// Turns figures into evidence. Without an exact solution nothing that rests on it is there.
fn describe(
    system: &ExactSystem,
    solved: Result<(Solved, Distances), f64>,
    features: OfFeatures,
    warnings: Vec<String>,
) -> Comparison {
    let OfFeatures { spectral_delta, fresh_features, left_out } = features;
    let (Solved { exact, dimension, fitted_form, training_error, .. }, distances) = match solved {
        Ok(solved) => solved,
        Err(residual) => {
            let exact_krr = Some(solver::ExactSolve::of_nothing(residual, system.target_norm()));
            let measured = Measured { exact_krr, ..Measured::default() };
            return Comparison { exact: None, kernel: None, certificate: None, fresh_features, measured, warnings };
        }
    };
    let error = distances.error().or(left_out);
    let slack = system.slack(&exact.evidence).filter(|_| distances.row_count() > 1);
    Comparison {
        exact: Some(evidence_of(&exact, Some(fitted_form), error)),
        kernel: Some(KernelEvidence { dimension, largest: None, spectral_delta }),
        certificate: slack.map(|slack| distances.certificate(slack)),
        fresh_features,
        measured: Measured {
            exact_krr_error: error,
            training_error: Some(training_error),
            exact_score: distances.exact_score,
            exact_krr: Some(exact.evidence),
        },
        warnings,
    }
}

/// What was found; nothing, and a warning, where double precision cannot compute it.
fn unless_unsolvable<T>(
    found: Result<T, TrainError>,
    missing: &str,
    warnings: &mut Vec<String>,
) -> Result<Option<T>, TrainError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(TrainError::Solve(cause)) => {
            warnings.push(format!("{missing}: {cause}"));
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Δ between the features' kernel and the kernel on a part of the rows.
fn measured_delta(function: Function, lambda: f64, inputs: ArrayView2<f64>, threads: usize) -> Result<f64, TrainError> {
    let count = inputs.nrows().min(SPECTRAL_ROWS);
    let sample: Vec<usize> = (0..count).map(|index| index * inputs.nrows() / count).collect();
    let inputs = inputs.select(Axis(0), &sample);
    let features = function.map.projector::<f64>().transform(inputs.view());
    Ok(spectral_delta(function.map.kernel, inputs.view(), features.view(), count as f64 * lambda, threads)?)
}

/// The smallest and the largest.
fn range(numbers: ArrayView1<f64>) -> (f64, f64) {
    numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(*number), high.max(*number)))
}
