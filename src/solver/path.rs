//! Ridge regression at every λ from one eigendecomposition G = Uᵀ diag(μ) U.
//!
//! With c = U r, r = Ψᵀy/n, every λ costs O(s): w(λ) = Uᵀ(c/(μ+λ)), the effective dimension
//! Σ μ/(μ+λ), and the training error mean(y²) − Σ c²(μ+2λ)/(μ+λ)². One pass over rows z = Uψ gives
//! exact leave-one-out residuals at all λ at once.

use super::{NormalEquations, SolveError};
use crate::linalg::{Real, symmetric_eigen};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// One λ of the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// λ.
    pub lambda: f64,
    /// N̂(λ) = tr H = Σ μ/(μ+λ).
    pub effective_dimension: f64,
    /// Mean squared error on the training rows, averaged over the targets, in their units.
    pub training_mse: f64,
    /// Training error over (1 − tr H/n)².
    pub gcv: f64,
    /// Mean squared leave-one-out residual, averaged likewise.
    pub loo_mse: Option<f64>,
}

/// The normal equations in the basis where they are diagonal.
pub struct RidgePath {
    /// μ, with what is only rounding of the largest set to zero.
    pub eigenvalues: Array1<f64>,
    /// U, eigenvectors as rows.
    vectors: Array2<f64>,
    /// c = U R, s×k.
    coordinates: Array2<f64>,
    /// U ψ̄.
    mean_coordinates: Array1<f64>,
    /// Summed over the targets.
    target_mean_square: f64,
    /// Σ c.
    weight: f64,
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
            target_mean_square: equations.target_mean_square.sum(),
            weight: equations.weight,
            sample_count: equations.sample_count,
        })
    }

    /// W(λ), s×k.
    pub fn weights(&self, lambda: f64) -> Array2<f64> {
        let divisors = self.eigenvalues.mapv(|mu| mu + lambda).insert_axis(Axis(1));
        self.vectors.t().dot(&(&self.coordinates / &divisors))
    }

    /// Everything that needs no rows at one λ.
    pub fn point(&self, lambda: f64) -> PathPoint {
        let effective_dimension = self.eigenvalues.iter().map(|mu| mu / (mu + lambda)).sum::<f64>();
        let explained =
            |(mu, c): (&f64, ArrayView1<f64>)| c.dot(&c) * (mu + 2.0 * lambda) / ((mu + lambda) * (mu + lambda));
        let explained: f64 = self.eigenvalues.iter().zip(self.coordinates.rows()).map(explained).sum();
        let training_mse = ((self.target_mean_square - explained) / self.coordinates.ncols() as f64).max(0.0);
        let left = 1.0 - effective_dimension / self.sample_count as f64;
        PathPoint { lambda, effective_dimension, training_mse, gcv: training_mse / (left * left), loo_mse: None }
    }

    /// Prepares leave-one-out residuals at these λ, in one precision.
    pub fn leave_one_out<T: Real>(&self, lambdas: &[f64]) -> LeaveOneOut<T> {
        let table = |value: &dyn Fn(usize, f64) -> f64| {
            let entry = |(j, l): (usize, usize)| T::from_f64(value(j, 1.0 / (self.eigenvalues[j] + lambdas[l])));
            Array2::from_shape_fn((self.eigenvalues.len(), lambdas.len()), entry) // s×L
        };
        LeaveOneOut {
            rotation: self.vectors.t().mapv(T::from_f64).as_standard_layout().into_owned(),
            fits: (0..self.coordinates.ncols())
                .map(|target| table(&|j, inverse| self.coordinates[[j, target]] * inverse))
                .collect(),
            ones: table(&|j, inverse| self.mean_coordinates[j] * inverse),
            leverage: table(&|_, inverse| inverse / self.weight),
            weight: self.weight,
        }
    }
}

/// What turns rows into leave-one-out residuals.
pub struct LeaveOneOut<T> {
    /// Uᵀ, s×s.
    rotation: Array2<T>,
    /// For each target, columns c/(μ+λ): z ↦ (Hy)ᵢ.
    fits: Vec<Array2<T>>,
    /// Columns Uψ̄/(μ+λ): z ↦ (H1)ᵢ.
    ones: Array2<T>,
    /// Columns 1/(Σc·(μ+λ)): z² ↦ Hᵢᵢ of a row that counts once.
    leverage: Array2<T>,
    weight: f64,
}

impl<T: Real> LeaveOneOut<T> {
    /// Residuals of rows with features Ψ and targets (rows×k) centred by their mean over all rows:
    /// rows×L for each target. Row i is left out with Σc·λ unchanged, and the mean of the targets is
    /// taken anew without it: ([(I−H)y]ᵢ + cᵢyᵢ/(Σc−cᵢ)·[(I−H)1]ᵢ) / (1−cᵢHᵢᵢ), with c = 1 unless
    /// there are `weights`.
    pub fn residuals(
        &self,
        features: ArrayView2<T>,
        targets: ArrayView2<f64>,
        weights: Option<&[f64]>,
    ) -> Vec<Array2<f64>> {
        let z = features.dot(&self.rotation); // rows×s
        let ones = z.dot(&self.ones).mapv(T::to_f64); // rows×L
        let leverage = z.mapv(|value| value * value).dot(&self.leverage).mapv(T::to_f64);
        let residuals = |(fit, targets): (&Array2<T>, ArrayView1<f64>)| {
            let fitted = z.dot(fit).mapv(T::to_f64);
            Array2::from_shape_fn(fitted.dim(), |(i, l)| {
                let weight = weights.map_or(1.0, |weights| weights[i]);
                let own_share = weight * targets[i] / (self.weight - weight) * (1.0 - ones[[i, l]]);
                (targets[i] - fitted[[i, l]] + own_share) / (1.0 - weight * leverage[[i, l]])
            })
        };
        self.fits.iter().zip(targets.columns()).map(residuals).collect()
    }
}
