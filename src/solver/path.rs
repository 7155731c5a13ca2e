//! Ridge regression at every λ from one reduction G = Mᵀ T M to a tridiagonal matrix.
//!
//! With c = M R, R = Ψᵀy/n, every λ costs O(s): x = (T+λI)⁻¹c, w(λ) = Mᵀx, the training error
//! mean(y²) − cᵀx − λxᵀx, and the effective dimension Σ μ/(μ+λ) from the eigenvalues of T. One pass over
//! rows z = Mψ gives exact leave-one-out residuals at all λ at once.

use super::{Method, NormalEquations, RidgeSolution, SolveError, solve_ridge};
use crate::linalg::{Real, ShiftedFactor, Tridiagonal};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Rows whose leverages are worked out side by side.
const LANES: usize = 32;

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

/// The normal equations in the basis where they are tridiagonal.
pub struct RidgePath {
    /// μ, with what is only rounding of the largest set to zero.
    pub eigenvalues: Array1<f64>,
    system: Tridiagonal,
    /// c = M R, s×k.
    coordinates: Array2<f64>,
    /// M ψ̄.
    mean_coordinates: Array1<f64>,
    /// Summed over the targets.
    target_mean_square: f64,
    /// Σ c.
    weight: f64,
    sample_count: usize,
}

impl RidgePath {
    /// Reduces the normal equations.
    pub fn new(equations: &NormalEquations) -> Result<Self, SolveError> {
        let system = Tridiagonal::reduce(equations.gram.clone())?;
        let eigenvalues = system.eigenvalues()?;
        let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
        let rounding = f64::EPSILON * eigenvalues.len() as f64 * largest;
        Ok(Self {
            eigenvalues: eigenvalues.mapv(|mu| if mu > rounding { mu } else { 0.0 }),
            coordinates: system.rotation.dot(&equations.right_side),
            mean_coordinates: system.rotation.dot(&equations.mean_feature),
            system,
            target_mean_square: equations.target_mean_square.sum(),
            weight: equations.weight,
            sample_count: equations.sample_count,
        })
    }

    /// W(λ), s×k.
    pub fn weights(&self, lambda: f64) -> Array2<f64> {
        self.system.rotation.t().dot(&self.solve(lambda))
    }

    /// The solution at one λ of the equations this is the path of; Cholesky's where rounding leaves none.
    pub fn solution(&self, equations: &NormalEquations, lambda: f64) -> Result<RidgeSolution, SolveError> {
        let weights = self.weights(lambda);
        if !weights.iter().all(|weight| weight.is_finite()) {
            return solve_ridge(equations, lambda);
        }
        let largest = self.eigenvalues.iter().copied().fold(0.0, f64::max);
        Ok(RidgeSolution::new(equations, lambda, weights, Method::Tridiagonal, largest))
    }

    /// Everything that needs no rows at one λ.
    pub fn point(&self, lambda: f64) -> PathPoint {
        let effective_dimension = self.eigenvalues.iter().map(|mu| mu / (mu + lambda)).sum::<f64>();
        let x = self.solve(lambda);
        let explained = (&self.coordinates * &x).sum() + lambda * (&x * &x).sum();
        let training_mse = ((self.target_mean_square - explained) / self.coordinates.ncols() as f64).max(0.0);
        let left = 1.0 - effective_dimension / self.sample_count as f64;
        PathPoint { lambda, effective_dimension, training_mse, gcv: training_mse / (left * left), loo_mse: None }
    }

    /// (T + λI)⁻¹ c, s×k.
    fn solve(&self, lambda: f64) -> Array2<f64> {
        let factor = self.system.factor(lambda);
        let mut solutions = Array2::zeros(self.coordinates.dim());
        for (mut solution, coordinates) in solutions.columns_mut().into_iter().zip(self.coordinates.columns()) {
            solution.assign(&factor.solve(coordinates));
        }
        solutions
    }

    /// Prepares leave-one-out residuals at these λ, in one precision.
    pub fn leave_one_out<T: Real>(&self, lambdas: &[f64]) -> LeaveOneOut<T> {
        let factors: Vec<ShiftedFactor> = lambdas.iter().map(|&lambda| self.system.factor(lambda)).collect();
        let table = |column: ArrayView1<f64>| {
            let mut table = Array2::zeros((lambdas.len(), column.len())); // L×s
            for (mut row, factor) in table.rows_mut().into_iter().zip(&factors) {
                row.assign(&factor.solve(column).mapv(T::from_f64));
            }
            table
        };
        LeaveOneOut {
            rotation: self.system.rotation.mapv(T::from_f64),
            fits: self.coordinates.columns().into_iter().map(table).collect(),
            ones: table(self.mean_coordinates.view()),
            factors,
            weight: self.weight,
        }
    }
}

/// What turns rows into leave-one-out residuals.
pub struct LeaveOneOut<T> {
    /// M, s×s.
    rotation: Array2<T>,
    /// For each target, rows (T+λI)⁻¹c: z ↦ (Hy)ᵢ.
    fits: Vec<Array2<T>>,
    /// Rows (T+λI)⁻¹Mψ̄: z ↦ (H1)ᵢ.
    ones: Array2<T>,
    /// T + λI at each λ: z ↦ Hᵢᵢ.
    factors: Vec<ShiftedFactor>,
    /// Σ c.
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
        let z = self.rotation.dot(&features.t()); // s×rows
        let ones = self.ones.dot(&z).mapv(T::to_f64); // L×rows
        let leverages = self.leverages(z.view()); // L×rows
        let residuals = |(fit, targets): (&Array2<T>, ArrayView1<f64>)| {
            let fitted = fit.dot(&z).mapv(T::to_f64);
            Array2::from_shape_fn((targets.len(), self.factors.len()), |(i, l)| {
                let weight = weights.map_or(1.0, |weights| weights[i]);
                let own_share = weight * targets[i] / (self.weight - weight) * (1.0 - ones[[l, i]]);
                (targets[i] - fitted[[l, i]] + own_share) / (1.0 - weight * leverages[[l, i]])
            })
        };
        self.fits.iter().zip(targets.columns()).map(residuals).collect()
    }

    /// zᵀ(T+λI)⁻¹z/Σc of every row at every λ: with L v = z it is Σ v²/d.
    fn leverages(&self, z: ArrayView2<T>) -> Array2<f64> {
        let mut leverages = Array2::zeros((self.factors.len(), z.ncols()));
        for (z, mut leverages) in z.axis_chunks_iter(Axis(1), LANES).zip(leverages.axis_chunks_iter_mut(Axis(1), LANES))
        {
            let mut lanes = vec![[0.0; LANES]; z.nrows()];
            for (lanes, z) in lanes.iter_mut().zip(z.rows()) {
                lanes.iter_mut().zip(z).for_each(|(lane, z)| *lane = z.to_f64());
            }
            for (factor, mut leverages) in self.factors.iter().zip(leverages.rows_mut()) {
                let sums = pulp::Arch::new().dispatch(|| quadratic_forms(factor, &lanes));
                leverages.iter_mut().zip(sums).for_each(|(leverage, sum)| *leverage = sum / self.weight);
            }
        }
        leverages
    }
}

/// Σ v²/d with L v = z, for all lanes.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn quadratic_forms(factor: &ShiftedFactor, z: &[[f64; LANES]]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    let mut v = [0.0; LANES];
    let ratios = std::iter::once(&0.0).chain(&factor.ratios);
    for ((z, ratio), pivot) in z.iter().zip(ratios).zip(&factor.pivots) {
        let inverse = 1.0 / pivot;
        for lane in 0..LANES {
            v[lane] = z[lane] - ratio * v[lane];
            sums[lane] += v[lane] * v[lane] * inverse;
        }
    }
    sums
}
