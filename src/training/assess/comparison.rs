//! The exact kernel method next to a random-feature model: what the bounds need of it, and how far the model is from it.

use super::fresh_feature_error::fresh_feature_error;
use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::features::Precision;
use crate::model::{Function, Measured, TargetCoding};
use crate::solver::{self, ExactKrr, SolveError, spectral_delta};
use crate::theory::{CertificateEvidence, Estimate, ExactEvidence, KernelEvidence, SPECTRAL_ROWS};
use crate::training::Resources;
use crate::training::fit::exact_system::{ExactRows, ExactSystem, Shares, evidence_of};
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::run::Run;
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

/// Held-out differences kept at most: a part of exchangeable rows is as good.
const KEPT_DIFFERENCES: usize = 10_000;

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
    pub(crate) resources: Resources,
}

/// The exact solution and what else the kernel matrix gives. Solutions that cannot stand for the exact one are errors.
struct Solved {
    exact: ExactKrr,
    dimension: Estimate,
    fitted_form: f64,
}

/// What was measured next to an exact solution.
struct Distances {
    /// Predictions of the model and of the exact method on validation rows.
    near: Array2<f64>,
    far: Array2<f64>,
    /// Of the training targets.
    ranges: Vec<(f64, f64)>,
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
                let distances = self.distances(&solved.exact, ranges)?;
                Ok((solved, distances))
            }
            Err(TrainError::Solve(cause)) => {
                warnings.push(format!("No comparison with the exact kernel method: {cause}"));
                Err(if let SolveError::NotConverged { residual, .. } = cause { residual } else { 1.0 })
            }
            Err(other) => return Err(other),
        };
        let features = self.measure_features(&system, &mut warnings)?;
        Ok(describe(&system, solved, features, warnings))
    }

    fn solve(&self, system: &ExactSystem) -> Result<Solved, TrainError> {
        let mut solver = system.prepare(Shares::PREPARE)?;
        let shares = Shares::of(&solver);
        let exact = system.solve(&mut solver, Some(self.function.parts.weights), shares.solve)?;
        let dimension = system.dimension(&mut solver, shares.dimension)?;
        let fitted_form = system.fitted_form(&mut solver, &exact, shares.fitted_form)?;
        Ok(Solved { exact, dimension, fitted_form })
    }

    /// Predictions of the validation rows by the model and by the exact method.
    fn distances(&self, exact: &ExactKrr, ranges: Vec<(f64, f64)>) -> Result<Distances, TrainError> {
        let (run, parts) = (self.run, self.function.parts);
        let mut block = RowBlock::default();
        let nothing = Array2::zeros((0, parts.intercepts.len()));
        let (mut near, mut far) = (nothing.clone(), nothing);
        for index in 0..run.rows.block_count() {
            run.rows.read(index, Part::Validation, &mut block)?;
            let approximate = self.function.predict(&block.inputs().collect::<Vec<_>>());
            let intercepts = ArrayView1::from(parts.intercepts);
            let exact = exact.predict(parts.inputs.prepare(block.inputs()).view()) + intercepts.insert_axis(Axis(0));
            near.append(Axis(0), approximate.view()).expect("as many targets");
            far.append(Axis(0), exact.view()).expect("as many targets");
            run.tick(Stage::Certify, 0.9 + 0.1 * (index + 1) as f64 / run.rows.block_count() as f64)?;
        }
        Ok(Distances { near, far, ranges })
    }

    /// What needs no exact solution: Δ between the features' kernel and the kernel, and the fresh-feature estimate.
    fn measure_features(
        &self,
        system: &ExactSystem,
        warnings: &mut Vec<String>,
    ) -> Result<(Option<f64>, Option<f64>), TrainError> {
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
        Ok((delta, fresh.flatten()))
    }
}

/// Turns figures into evidence. Without an exact solution nothing that rests on it is there.
fn describe(
    system: &ExactSystem,
    solved: Result<(Solved, Distances), f64>,
    (spectral_delta, fresh_features): (Option<f64>, Option<f64>),
    warnings: Vec<String>,
) -> Comparison {
    let (Solved { exact, dimension, fitted_form }, Distances { near, far, ranges }) = match solved {
        Ok(solved) => solved,
        Err(residual) => {
            let exact_krr = Some(solver::ExactEvidence::of_nothing(residual, system.target_norm()));
            let measured = Measured { exact_krr_error: None, exact_krr };
            return Comparison { exact: None, kernel: None, certificate: None, fresh_features, measured, warnings };
        }
    };
    let square = |(near, far): (&f64, &f64)| (near - far).powi(2);
    let rows = near.nrows();
    let error = (rows > 0).then(|| near.iter().zip(&far).map(square).sum::<f64>() / rows as f64);
    let slack = system.slack(&exact.evidence).filter(|_| rows > 1);
    Comparison {
        exact: Some(evidence_of(&exact, Some(fitted_form), error)),
        kernel: Some(KernelEvidence { dimension, largest: None, spectral_delta }),
        certificate: slack.map(|slack| certificate(&near, &far, &ranges, slack)),
        fresh_features,
        measured: Measured { exact_krr_error: error, exact_krr: Some(exact.evidence) },
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

/// What the certificates read: differences as they are, and squared after clipping to the ranges of the training
/// targets; of several targets the Euclidean norm. Rows from all over the file where there are too many.
fn certificate(near: &Array2<f64>, far: &Array2<f64>, ranges: &[(f64, f64)], solver_slack: f64) -> CertificateEvidence {
    let step = near.nrows().div_ceil(KEPT_DIFFERENCES);
    let kept: Vec<usize> = (0..near.nrows()).step_by(step).collect();
    let square = |row: usize, clip: &dyn Fn(f64, (f64, f64)) -> f64| -> f64 {
        let pairs = near.row(row).into_iter().zip(far.row(row)).zip(ranges);
        pairs.map(|((near, far), range)| (clip(*near, *range) - clip(*far, *range)).powi(2)).sum()
    };
    let mut differences: Vec<f64> = kept.iter().map(|&row| square(row, &|value, _| value).sqrt()).collect();
    differences.sort_by(f64::total_cmp);
    let squares: Vec<f64> = kept.iter().map(|&row| square(row, &|value, (low, high)| value.clamp(low, high))).collect();
    let count = squares.len() as f64;
    let mean = squares.iter().sum::<f64>() / count;
    CertificateEvidence {
        differences,
        clipped_mean_square: mean,
        clipped_square_variance: squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / (count - 1.0),
        clip_width: ranges.iter().map(|(low, high)| (high - low).powi(2)).sum::<f64>().sqrt(),
        solver_slack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two targets in [0, 2] and [0, 1]: differences (3, 4) and (0, 1), clipped (2, 1) and (0, 1).
    #[test]
    fn differences_of_several_targets_are_euclidean() {
        let (near, far) = (array![[3.0, 4.0], [1.0, 1.0]], array![[0.0, 0.0], [1.0, 0.0]]);
        let found = certificate(&near, &far, &[(0.0, 2.0), (0.0, 1.0)], 0.5);
        assert_eq!(found.differences, [1.0, 5.0]);
        assert_eq!((found.clipped_mean_square, found.clipped_square_variance), (3.0, 8.0));
        assert_eq!((found.clip_width, found.solver_slack), (5.0_f64.sqrt(), 0.5));
    }

    /// Of a file sorted by difference all sizes are kept, not the first rows.
    #[test]
    fn kept_differences_come_from_all_over_the_file() {
        let rows = 3 * KEPT_DIFFERENCES;
        let near = Array2::from_shape_fn((rows, 1), |(row, _)| row as f64);
        let found = certificate(&near, &Array2::zeros((rows, 1)), &[(0.0, 1.0)], 0.0);
        assert_eq!(found.differences.len(), KEPT_DIFFERENCES);
        assert_eq!(found.differences.last(), Some(&((rows - 3) as f64)));
    }
}
