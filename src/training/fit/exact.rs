//! The exact kernel method as a model: ψ(x) = (k(x, xᵢ))ᵢ over the training rows, and the weights are α.

use super::ridge::{Fit, fit};
use super::search::FitProblem;
use crate::dataset::Part;
use crate::features::{FeatureMap, Kernel, Precision};
use crate::model::{ExactReport, FeatureSearch, SolverReport};
use crate::solver::{ExactProblem, FeatureSource, PathPoint, SolveError};
use crate::theory::{Estimate, ExactEvidence, KernelEvidence};
use crate::training::assess::certify::{EXACT_TOLERANCE, TRUSTED_RESIDUAL, fitted, largest_norm};
use crate::training::stage::{Clock, Stage, TrainError};
use crate::training::{Resources, TrainSpec};
use ndarray::{ArrayView2, Axis};

/// Solves (K + nλI)α = y − ȳ for all targets. The random features of `drawn` stand for the kernel where λ is to be
/// searched for, down to what f32 bears, and may precondition the system; the model has none of them.
pub(crate) fn fit_exactly(
    problem: &FitProblem,
    spec: &TrainSpec,
    drawn: &FeatureMap,
    resources: Resources,
    clock: &mut Clock,
) -> Result<(Fit, FeatureMap), TrainError> {
    let run = problem.run;
    let given = spec.resolve_lambda(run.rows.count(Part::Training));
    let near = if given.is_none() { Some(fit(problem, spec, drawn, clock)?) } else { None };
    let lambda = given.or(near.as_ref().map(|near| near.lambda)).unwrap_or(1.0);
    run.tick(Stage::Solve, 0.0)?;

    let (inputs, targets) = run.collect(&run.all_blocks(), problem.inputs, Part::Training)?;
    let means = targets.mean_axis(Axis(0)).ok_or_else(|| TrainError::Data("no rows are left for training".into()))?;
    let centred = targets - &means;
    let n = inputs.nrows() as f64;
    let projector = drawn.projector::<f32>();
    let make = |inputs: ArrayView2<f64>| projector.transform(inputs);
    let system = ExactProblem {
        kernel: drawn.kernel,
        inputs: inputs.view(),
        targets: centred.view(),
        ridge: lambda,
        tolerance: EXACT_TOLERANCE,
        features: Some(&FeatureSource { count: drawn.feature_count(), make: &make }),
        precision: Precision::Mixed,
        preconditioner: None,
        memory: resources.cache_bytes,
        threads: run.threads,
        progress: None,
    };
    let go_on = || !run.observer.should_stop();
    let part = |from: f64, to: f64| move |done: f64| run.observer.progress(Stage::Solve, from + (to - from) * done);
    // α = (y − f)/(nλ) for the exact f: that of the features is close.
    let start = near.as_ref().map(|near| (&centred - &fitted(&make, inputs.view(), &near.weights)) / (n * lambda));
    let exact = ExactProblem { progress: Some(&part(0.0, 0.6)), ..system }.solve(start, &go_on)?;
    let residual = exact.evidence.relative_residual;
    if residual > TRUSTED_RESIDUAL {
        // A yardstick that is not exact is none.
        return Err(TrainError::Solve(SolveError::NotConverged { residual, ridge: lambda }));
    }
    run.tick(Stage::Solve, 0.6)?;
    let measured = inputs.nrows() <= spec.guarantees.exact_rows;
    let watched = ExactProblem { progress: Some(&part(0.6, 1.0)), ..system };
    let dimension = if measured { Some(watched.dimension(&go_on)?) } else { None };
    clock.lap(Stage::Solve);

    let best_is_smallest = near.as_ref().is_some_and(|near| near.best_is_smallest);
    let mean_squares = |errors: ndarray::Array2<f64>| (&errors * &errors).sum_axis(Axis(0)) / n;
    let (search, lambda_path) = near.map_or((None, Vec::new()), |near| searched(near, drawn.feature_count()));
    let slack = exact.evidence.residual_norm * largest_norm(drawn.kernel, inputs.view()) / (n * lambda).sqrt();
    let fit = Fit {
        intercepts: means.to_vec(),
        lambda,
        precision: Precision::Double,
        best_is_smallest,
        training_mse: mean_squares(&centred - &exact.fitted).to_vec(),
        target_mean_square: Some(mean_squares(centred.clone()).sum()),
        spread: None,
        error_bars: None,
        spectrum: None,
        leverages: None,
        statistics: None,
        exact: Some(ExactEvidence {
            quadratic_form: exact.quadratic_form,
            fitted_square: Some(exact.fitted_square),
            fitted_form: None,
            relative_residual: residual,
            held_out_error: None,
        }),
        kernel: dimension.map(|dimension| KernelEvidence {
            dimension: Estimate { value: dimension.value, standard_error: dimension.standard_error },
            largest: None,
            spectral_delta: None,
        }),
        weights: exact.coefficients,
        solver: SolverReport::Exact(ExactReport {
            evidence: exact.evidence,
            // √k(x, x) of a new input is that of the training rows, unless it grows with the input.
            solver_slack: (drawn.kernel != Kernel::Linear).then_some(slack),
            search,
            lambda_path,
        }),
    };
    Ok((fit, FeatureMap::at_points(drawn.kernel, inputs)))
}

/// What the features told about λ.
fn searched(near: Fit, features: usize) -> (Option<FeatureSearch>, Vec<PathPoint>) {
    let SolverReport::Ridge(ridge) = near.solver else { return (None, Vec::new()) };
    (Some(FeatureSearch { features, loo_mse: ridge.loo_mse, loo_rows: ridge.loo_rows }), ridge.lambda_path)
}
