//! Classifiers with convex losses: (1/C)Σ cᵢ ℓ(yᵢ, f(xᵢ)) + λ‖W‖², f(x) = Wᵀψ(x) + b, b free.
//!
//! Two classes have one column of weights, the second class being the positive one. With K ≥ 3
//! classes the logistic loss becomes softmax, and the hinges take each class against the rest, all K
//! problems in lockstep so that a pass over the features serves them all.

/// What a classifier is trained on.
mod class_rows;

/// The losses, row by row.
mod loss;

/// One pass over the features.
mod sweep;

/// The objective, its gradient and Hessian.
mod objective;

/// A factored Hessian of mean curvature.
mod preconditioner;

/// The Newton step.
mod conjugate_gradients;

/// The step length.
mod line_search;

/// Truncated Newton.
mod newton;

/// Continuation for the hinge.
mod hinge;

pub use class_rows::{ClassRows, FeatureBlocks};

use super::Interrupted;
use crate::linalg::{FactorError, Real};
use hinge::minimise_hinge;
use loss::SmoothLoss;
use ndarray::{Array1, Array2, Axis, s};
use newton::{NewtonLimits, minimise};
use objective::Objective;
use serde::Serialize;

/// A convex loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// log(1 + e^{−m}) of the margin m; softmax for three or more classes.
    Logistic,
    /// max(0, 1−m).
    Hinge,
    /// max(0, 1−m)².
    SquaredHinge,
}

/// What to solve and how far.
#[derive(Debug, Clone, Copy)]
pub struct ClassifierSettings {
    /// ℓ.
    pub loss: Loss,
    /// λ > 0, per sample.
    pub ridge: f64,
    /// Accuracy of the objective relative to itself, and to a thousandth of a unit of loss below that.
    pub tolerance: f64,
    /// Passes over the rows after which the best so far is returned.
    pub pass_limit: usize,
    /// Rows that the preconditioner is made of; `None` leaves the choice to the solver.
    pub preconditioner_rows: Option<usize>,
    /// Threads to work on.
    pub threads: usize,
}

/// f(x) = Wᵀψ(x) + b.
#[derive(Debug, Clone)]
pub struct ClassifierWeights {
    /// W, s×k; k = 1 for two classes, otherwise one column per class.
    pub weights: Array2<f64>,
    /// b, k; they sum to zero for softmax.
    pub intercepts: Array1<f64>,
}

/// How far from the optimum a solution is, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// F − D ≥ F − min F with a feasible dual point: a proof, up to rounding.
    DualityGap(f64),
    /// Half the squared Newton decrement before the last step: an estimate of F − min F there.
    NewtonDecrement(f64),
}

/// The evidence of a solve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassifierEvidence {
    /// Objective of each problem: one for two classes and for softmax, one per class against the rest.
    pub objectives: Vec<f64>,
    /// Of the worst problem.
    pub certificate: Certificate,
    /// ‖∇F‖ over all problems; for the hinge that of its last rounding.
    pub gradient_norm: f64,
    /// Newton steps.
    pub steps: usize,
    /// Passes over the rows.
    pub passes: usize,
    /// Was the tolerance reached before a limit or rounding ended the solve?
    pub converged: bool,
}

/// Weights with their evidence.
#[derive(Debug, Clone)]
pub struct ClassifierSolution {
    /// The function found.
    pub function: ClassifierWeights,
    /// How good it is.
    pub evidence: ClassifierEvidence,
}

/// Why there is no solution.
#[derive(Debug)]
pub enum ClassifierError<E> {
    /// A pass over the features did not finish.
    Interrupted(Interrupted<E>),
    /// The preconditioner could not be factored: features that are not finite.
    Factor(FactorError),
}

impl<E> From<Interrupted<E>> for ClassifierError<E> {
    fn from(cause: Interrupted<E>) -> Self {
        Self::Interrupted(cause)
    }
}

impl<E> From<FactorError> for ClassifierError<E> {
    fn from(cause: FactorError) -> Self {
        Self::Factor(cause)
    }
}

/// Solves for the weights, from `start` if there is one: the solution at a larger λ, or ridge
/// weights on ±1.
pub fn solve_classifier<T: Real, B: FeatureBlocks<T>>(
    blocks: &B,
    rows: ClassRows,
    settings: &ClassifierSettings,
    start: Option<&ClassifierWeights>,
) -> Result<ClassifierSolution, ClassifierError<B::Error>> {
    let (s, k) = (blocks.feature_count(), rows.column_count());
    assert!(settings.ridge > 0.0 && rows.class_count >= 2 && rows.classes.len() == rows.weights.len());
    assert!(rows.weights.iter().any(|weight| *weight > 0.0), "some row has weight");
    let mut parameters = Array2::zeros((s + 1, k));
    if let Some(start) = start {
        parameters.slice_mut(s![..s, ..]).assign(&start.weights);
        parameters.row_mut(s).assign(&start.intercepts);
    }
    let limits = NewtonLimits {
        relative: settings.tolerance,
        absolute: 1e-3 * settings.tolerance,
        by_proof: false,
        pass_limit: settings.pass_limit,
        row_limit: settings.preconditioner_rows.unwrap_or_else(|| (2 * s).max(8192)),
    };
    let smooth = match settings.loss {
        Loss::Logistic if k == 1 => SmoothLoss::Logistic,
        Loss::Logistic => SmoothLoss::Softmax,
        Loss::SquaredHinge => SmoothLoss::SquaredHinge,
        Loss::Hinge => SmoothLoss::RoundedHinge { width: 1.0, held: 1.0 },
    };
    let mut objective = Objective::<T, B>::new(blocks, rows, smooth, settings.ridge, settings.threads);
    let worst = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let (mut objectives, certificate, evaluation, steps, converged) = if settings.loss == Loss::Hinge {
        let found = minimise_hinge(&mut objective, &mut parameters, &limits)?;
        let certificate = Certificate::DualityGap(worst(&found.gaps));
        (found.objectives, certificate, found.evaluation, found.steps, found.converged)
    } else {
        let found = minimise(&objective, &mut parameters, &mut None, &limits, &vec![true; k])?;
        let certificate = Certificate::NewtonDecrement(worst(&found.errors));
        (found.evaluation.objectives.clone(), certificate, found.evaluation, found.steps, found.converged)
    };
    if smooth.couples_columns() {
        objectives.truncate(1);
        // Softmax does not see what all classes share, and the penalty only loses by it.
        let shared = parameters.mean_axis(Axis(1)).expect("there are columns");
        parameters -= &shared.insert_axis(Axis(1));
    }
    Ok(ClassifierSolution {
        function: ClassifierWeights {
            weights: parameters.slice(s![..s, ..]).to_owned(),
            intercepts: parameters.row(s).to_owned(),
        },
        evidence: ClassifierEvidence {
            objectives,
            certificate,
            gradient_norm: evaluation.gradient.iter().map(|value| value * value).sum::<f64>().sqrt(),
            steps,
            passes: objective.passes(),
            converged,
        },
    })
}
