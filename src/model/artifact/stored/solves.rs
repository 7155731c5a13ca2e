//! How linear systems and classifiers were solved.

use super::{Numbers, converted};
use crate::solver::{
    Certificate, ClassifierEvidence, ExactSolve, Method, PathPoint, Preconditioner, PreconditionerTrial,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredExactSolve {
    relative_residual: f64,
    residual_norm: f64,
    converged: bool,
    iterations: usize,
    corrections: usize,
    preconditioner: StoredPreconditioner,
    rank: usize,
    trials: Vec<StoredPreconditionerTrial>,
}

#[derive(Serialize, Deserialize)]
enum StoredPreconditioner {
    None,
    Features,
    DampedFeatures,
    PivotedCholesky,
}

#[derive(Serialize, Deserialize)]
struct StoredPreconditionerTrial {
    preconditioner: StoredPreconditioner,
    iterations: usize,
    cost: f64,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredClassifierSolve<'a> {
    objectives: Numbers<'a>,
    certificate: StoredCertificate,
    gradient_norm: f64,
    steps: usize,
    passes: usize,
    converged: bool,
}

#[derive(Serialize, Deserialize)]
enum StoredCertificate {
    DualityGap(f64),
    NewtonDecrement(f64),
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredMethod {
    Cholesky,
    BandReduction,
    ClippedEigenvalues,
}

/// One λ of a search.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredPathPoint {
    lambda: f64,
    effective_dimension: f64,
    training_mse: f64,
    gcv: f64,
    loo_mse: Option<f64>,
}

impl From<&ExactSolve> for StoredExactSolve {
    fn from(solve: &ExactSolve) -> Self {
        Self {
            relative_residual: solve.relative_residual,
            residual_norm: solve.residual_norm,
            converged: solve.converged,
            iterations: solve.iterations,
            corrections: solve.corrections,
            preconditioner: solve.preconditioner.into(),
            rank: solve.rank,
            trials: converted(&solve.trials),
        }
    }
}

impl From<StoredExactSolve> for ExactSolve {
    fn from(stored: StoredExactSolve) -> Self {
        Self {
            relative_residual: stored.relative_residual,
            residual_norm: stored.residual_norm,
            converged: stored.converged,
            iterations: stored.iterations,
            corrections: stored.corrections,
            preconditioner: stored.preconditioner.into(),
            rank: stored.rank,
            trials: converted(stored.trials),
        }
    }
}

impl From<Preconditioner> for StoredPreconditioner {
    fn from(preconditioner: Preconditioner) -> Self {
        match preconditioner {
            Preconditioner::None => Self::None,
            Preconditioner::Features => Self::Features,
            Preconditioner::DampedFeatures => Self::DampedFeatures,
            Preconditioner::PivotedCholesky => Self::PivotedCholesky,
        }
    }
}

impl From<StoredPreconditioner> for Preconditioner {
    fn from(stored: StoredPreconditioner) -> Self {
        match stored {
            StoredPreconditioner::None => Self::None,
            StoredPreconditioner::Features => Self::Features,
            StoredPreconditioner::DampedFeatures => Self::DampedFeatures,
            StoredPreconditioner::PivotedCholesky => Self::PivotedCholesky,
        }
    }
}

impl From<&PreconditionerTrial> for StoredPreconditionerTrial {
    fn from(trial: &PreconditionerTrial) -> Self {
        Self { preconditioner: trial.preconditioner.into(), iterations: trial.iterations, cost: trial.cost }
    }
}

impl From<StoredPreconditionerTrial> for PreconditionerTrial {
    fn from(stored: StoredPreconditionerTrial) -> Self {
        Self { preconditioner: stored.preconditioner.into(), iterations: stored.iterations, cost: stored.cost }
    }
}

impl<'a> From<&'a ClassifierEvidence> for StoredClassifierSolve<'a> {
    fn from(solve: &'a ClassifierEvidence) -> Self {
        Self {
            objectives: (&solve.objectives).into(),
            certificate: match solve.certificate {
                Certificate::DualityGap(gap) => StoredCertificate::DualityGap(gap),
                Certificate::NewtonDecrement(decrement) => StoredCertificate::NewtonDecrement(decrement),
            },
            gradient_norm: solve.gradient_norm,
            steps: solve.steps,
            passes: solve.passes,
            converged: solve.converged,
        }
    }
}

impl From<StoredClassifierSolve<'_>> for ClassifierEvidence {
    fn from(stored: StoredClassifierSolve) -> Self {
        Self {
            objectives: stored.objectives.into_owned(),
            certificate: match stored.certificate {
                StoredCertificate::DualityGap(gap) => Certificate::DualityGap(gap),
                StoredCertificate::NewtonDecrement(decrement) => Certificate::NewtonDecrement(decrement),
            },
            gradient_norm: stored.gradient_norm,
            steps: stored.steps,
            passes: stored.passes,
            converged: stored.converged,
        }
    }
}

impl From<Method> for StoredMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Cholesky => Self::Cholesky,
            Method::BandReduction => Self::BandReduction,
            Method::ClippedEigenvalues => Self::ClippedEigenvalues,
        }
    }
}

impl From<StoredMethod> for Method {
    fn from(stored: StoredMethod) -> Self {
        match stored {
            StoredMethod::Cholesky => Self::Cholesky,
            StoredMethod::BandReduction => Self::BandReduction,
            StoredMethod::ClippedEigenvalues => Self::ClippedEigenvalues,
        }
    }
}

impl From<&PathPoint> for StoredPathPoint {
    fn from(&PathPoint { lambda, effective_dimension, training_mse, gcv, loo_mse }: &PathPoint) -> Self {
        Self { lambda, effective_dimension, training_mse, gcv, loo_mse }
    }
}

impl From<StoredPathPoint> for PathPoint {
    fn from(stored: StoredPathPoint) -> Self {
        let StoredPathPoint { lambda, effective_dimension, training_mse, gcv, loo_mse } = stored;
        Self { lambda, effective_dimension, training_mse, gcv, loo_mse }
    }
}
