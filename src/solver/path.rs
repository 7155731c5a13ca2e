//! Ridge regression at every λ from one eigendecomposition G = Uᵀ diag(μ) U.
//!
//! With c = U r, r = Ψᵀy/n, every λ costs O(s): w(λ) = Uᵀ(c/(μ+λ)), the effective dimension
//! Σ μ/(μ+λ), and the training error mean(y²) − Σ c²(μ+2λ)/(μ+λ)². One pass over rows z = Uψ gives
//! exact leave-one-out residuals at all λ at once.

use super::{NormalEquations, SolveError};
use crate::linalg::{Real, symmetric_eigen};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

/// One λ of the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// λ.
    pub lambda: f64,
    /// N̂(λ) = tr H = Σ μ/(μ+λ).
    pub effective_dimension: f64,
    /// Mean squared error on the training rows.
    pub training_mse: f64,
    /// Training error over (1 − tr H/n)².
    pub gcv: f64,
    /// Mean squared leave-one-out residual.
    pub loo_mse: Option<f64>,
}

/// The normal equations in the basis where they are diagonal.
pub struct RidgePath {
    /// μ, with what is only rounding of the largest set to zero.
    pub eigenvalues: Array1<f64>,
    /// U, eigenvectors as rows.
    vectors: Array2<f64>,
    /// c = U r.
    coordinates: Array1<f64>,
    /// U ψ̄.
    mean_coordinates: Array1<f64>,
    target_mean_square: f64,
    sample_count: usize,
}

impl RidgePath {
    /// Diagonalises the normal equations.
    pub fn new(equations: &NormalEquations) -> Result<Self, SolveError> {
        let (eigenvalues, vectors) = symmetric_eigen(equations.gram.clone())?;
        let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
        let rounding = f64::EPSILON * eigenvalues.len() as f64 * largest;
        Ok(Self {
            eigenvalues: eigenvalues.mapv(|mu| if mu > rounding { mu } else { 0.0 }),
            coordinates: vectors.dot(&equations.right_side),
            mean_coordinates: vectors.dot(&equations.mean_feature),
            vectors,
            target_mean_square: equations.target_mean_square,
            sample_count: equations.sample_count,
        })
    }

    /// w(λ).
    pub fn weights(&self, lambda: f64) -> Array1<f64> {
        self.vectors.t().dot(&(&self.coordinates / &self.eigenvalues.mapv(|mu| mu + lambda)))
    }

    /// Everything that needs no rows at one λ.
    pub fn point(&self, lambda: f64) -> PathPoint {
        let effective_dimension = self.eigenvalues.iter().map(|mu| mu / (mu + lambda)).sum::<f64>();
        let explained = |(mu, c): (&f64, &f64)| c * c * (mu + 2.0 * lambda) / ((mu + lambda) * (mu + lambda));
        let explained: f64 = self.eigenvalues.iter().zip(&self.coordinates).map(explained).sum();
        let training_mse = (self.target_mean_square - explained).max(0.0);
        let left = 1.0 - effective_dimension / self.sample_count as f64;
        PathPoint { lambda, effective_dimension, training_mse, gcv: training_mse / (left * left), loo_mse: None }
    }

    /// Prepares leave-one-out residuals at these λ, in one precision.
    pub fn leave_one_out<T: Real>(&self, lambdas: &[f64]) -> LeaveOneOut<T> {
        let n = self.sample_count as f64;
        let table = |value: &dyn Fn(usize, f64) -> f64| {
            let entry = |(j, l): (usize, usize)| T::from_f64(value(j, 1.0 / (self.eigenvalues[j] + lambdas[l])));
            Array2::from_shape_fn((self.eigenvalues.len(), lambdas.len()), entry) // s×L
        };
        LeaveOneOut {
            rotation: self.vectors.t().mapv(T::from_f64).as_standard_layout().into_owned(),
            fit: table(&|j, inverse| self.coordinates[j] * inverse),
            ones: table(&|j, inverse| self.mean_coordinates[j] * inverse),
            leverage: table(&|_, inverse| inverse / n),
            sample_count: n,
        }
    }
}

/// What turns rows into leave-one-out residuals.
pub struct LeaveOneOut<T> {
    /// Uᵀ, s×s.
    rotation: Array2<T>,
    /// Columns c/(μ+λ): z ↦ (Hy)ᵢ.
    fit: Array2<T>,
    /// Columns Uψ̄/(μ+λ): z ↦ (H1)ᵢ.
    ones: Array2<T>,
    /// Columns 1/(n(μ+λ)): z² ↦ Hᵢᵢ.
    leverage: Array2<T>,
    sample_count: f64,
}

impl<T: Real> LeaveOneOut<T> {
    /// Residuals (rows×L) of rows with features Ψ and targets centred by the mean over all rows. Row
    /// i is left out with nλ unchanged, and the mean of the targets is taken anew without it:
    /// ([(I−H)y]ᵢ + yᵢ/(n−1)·[(I−H)1]ᵢ) / (1−Hᵢᵢ).
    pub fn residuals(&self, features: ArrayView2<T>, targets: ArrayView1<f64>) -> Array2<f64> {
        let z = features.dot(&self.rotation); // rows×s
        let fitted = z.dot(&self.fit).mapv(T::to_f64); // rows×L
        let ones = z.dot(&self.ones).mapv(T::to_f64);
        let leverage = z.mapv(|value| value * value).dot(&self.leverage).mapv(T::to_f64);
        Array2::from_shape_fn(fitted.dim(), |(i, l)| {
            let own_share = targets[i] / (self.sample_count - 1.0) * (1.0 - ones[[i, l]]);
            (targets[i] - fitted[[i, l]] + own_share) / (1.0 - leverage[[i, l]])
        })
    }
}
