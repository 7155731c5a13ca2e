//! The exact kernel method as a model: ψ(x) = (k(x, xᵢ))ᵢ over the training rows, and the weights are α.

use super::exact_system::{ExactRows, ExactSystem, Shares, evidence_of};
use super::lambda_choice::LambdaChoice;
use super::search::CodedRows;
use super::{ExactFit, Fit, Learned};
use crate::features::{FeatureMap, Precision};
use crate::model::{ExactReport, FeatureSearch};
use crate::training::stage::{Clock, Stage, TrainError};
use crate::training::{Resources, TrainSpec};
use ndarray::{Array2, Axis};

/// Solves (K + nλI)α = y − ȳ for all targets. The random features that λ was searched on, or those of `drawn`, may
/// precondition the system; the model keeps none of them.
pub(crate) fn fit_exactly(
    rows: &CodedRows,
    spec: &TrainSpec,
    (drawn, choice): (FeatureMap, LambdaChoice),
    resources: Resources,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let run = rows.run;
    let LambdaChoice { lambda, best_is_smallest, searched, near, .. } = choice;
    let on_features = near.is_some();
    let (drawn, weights) = near.map_or((drawn, None), |(drawn, weights)| (drawn, Some(weights)));
    let found = searched.as_ref().map(|searched| FeatureSearch {
        features: on_features.then(|| drawn.feature_count()),
        loo_mse: searched.best().loo_mse,
        loo_rows: searched.loo_rows,
    });
    let lambda_path = searched.map_or_else(Vec::new, |searched| searched.points);
    run.tick(Stage::Solve, 0.0)?;

    let training = ExactRows::collect(run, rows.inputs)?;
    let means = training.targets.mean_axis(Axis(0));
    let means = means.ok_or_else(|| TrainError::Data("no rows are left to train on; hold out fewer".into()))?.to_vec();
    let system = ExactSystem::new(run, Stage::Solve, &drawn, training, &means, lambda, resources);
    let mut solver = system.prepare(Shares::PREPARE)?;
    let shares = Shares::of(&solver);
    let exact = system.solve(&mut solver, weights.as_ref(), shares.solve)?;
    let measured = system.inputs.nrows() <= spec.guarantees.exact_rows;
    let (dimension, unmeasured) = match measured.then(|| system.dimension(&mut solver, shares.dimension)) {
        Some(Ok(dimension)) => (Some(dimension), None),
        Some(Err(TrainError::Solve(cause))) => (None, Some(cause)),
        Some(Err(other)) => return Err(other),
        None => (None, None),
    };
    drop(solver);
    clock.lap(Stage::Solve);

    let n = system.inputs.nrows() as f64;
    let mean_squares = |errors: &Array2<f64>| (errors * errors).sum_axis(Axis(0)) / n;
    Ok(Fit {
        learned: Learned::Exact(ExactFit {
            training_mse: mean_squares(&(&system.centred - &exact.fitted)).to_vec(),
            target_mean_square: mean_squares(&system.centred).sum(),
            evidence: evidence_of(&exact, None, None),
            dimension,
            unmeasured: unmeasured.map(|cause| format!("No effective dimension of the kernel: {cause}")),
            report: ExactReport {
                solver_slack: system.slack(&exact.evidence),
                evidence: exact.evidence,
                search: found,
                lambda_path,
            },
        }),
        weights: exact.coefficients,
        intercepts: means,
        lambda,
        precision: Precision::Double,
        best_is_smallest,
        map: FeatureMap::at_points(drawn.kernel, system.inputs),
    })
}
