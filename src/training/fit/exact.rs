//! The exact kernel method as a model: ψ(x) = (k(x, xᵢ))ᵢ over the training rows, and the weights are α.

use super::exact_system::{ExactRows, ExactSystem, Shares, evidence_of};
use super::ridge::fit;
use super::search::CodedRows;
use super::{ExactFit, Fit, Learned};
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision};
use crate::model::{ExactReport, FeatureSearch};
use crate::solver::PathPoint;
use crate::training::stage::{Clock, Stage, TrainError};
use crate::training::{Resources, TrainSpec};
use ndarray::{Array2, Axis};

/// Solves (K + nλI)α = y − ȳ for all targets. A λ to be searched for is that of the random features of `drawn`, which
/// may also precondition the system; the model keeps none of them.
pub(crate) fn fit_exactly(
    rows: &CodedRows,
    spec: &TrainSpec,
    drawn: FeatureMap,
    resources: Resources,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let run = rows.run;
    let Search { lambda, best_is_smallest, weights, drawn, found, lambda_path } =
        match spec.resolve_lambda(run.rows.count(Part::Training)) {
            Some(lambda) => Search::given(lambda, drawn),
            None => Search::by(fit(rows, spec, drawn, clock)?),
        };
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

/// λ, and the result of the search on random features that chose it.
struct Search {
    lambda: f64,
    best_is_smallest: bool,
    /// On the features.
    weights: Option<Array2<f64>>,
    drawn: FeatureMap,
    found: Option<FeatureSearch>,
    lambda_path: Vec<PathPoint>,
}

impl Search {
    fn given(lambda: f64, drawn: FeatureMap) -> Self {
        Self { lambda, best_is_smallest: false, weights: None, drawn, found: None, lambda_path: Vec::new() }
    }

    fn by(near: Fit) -> Self {
        let Fit { map, weights, lambda, best_is_smallest, learned, .. } = near;
        let (found, lambda_path) = match learned {
            Learned::Ridge(ridge) => {
                let (loo_mse, loo_rows) = (ridge.report.loo_mse, ridge.report.loo_rows);
                let found = FeatureSearch { features: map.feature_count(), loo_mse, loo_rows };
                (Some(found), ridge.report.lambda_path)
            }
            Learned::Exact(_) | Learned::Classifier(_) => (None, Vec::new()),
        };
        Self { lambda, best_is_smallest, weights: Some(weights), drawn: map, found, lambda_path }
    }
}
