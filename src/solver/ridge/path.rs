//! Ridge regression at every λ from one reduction G = Mᵀ B M to a band matrix.
//!
//! With c = M R, R = Ψᵀy/n, every λ costs O(s): x = (B+λI)⁻¹c, w(λ) = Mᵀx, the training error
//! mean(y²) − cᵀx − λxᵀx, and the effective dimension s − λ tr(B+λI)⁻¹. One pass over rows z = Mψ gives
//! exact leave-one-out residuals at all λ at once.

use crate::linalg::{Banded, LANES, Real, Reflectors, ShiftedFactor, largest_eigenvalue};
use crate::solver::{Method, NormalEquations, RidgeSolution, SolveError, solve_ridge};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::Serialize;

/// One λ of the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

/// The normal equations in the basis where they have few diagonals.
pub struct RidgePath {
    system: Banded,
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
    pub fn new(equations: &NormalEquations, threads: usize) -> Self {
        let system = Banded::reduce(equations.gram.clone(), threads);
        let mut coordinates = equations.right_side.clone();
        system.rotation.rotate(coordinates.view_mut());
        let mut mean_coordinates = equations.mean_feature.clone().insert_axis(Axis(1));
        system.rotation.rotate(mean_coordinates.view_mut());
        Self {
            system,
            coordinates,
            mean_coordinates: mean_coordinates.remove_axis(Axis(1)),
            target_mean_square: equations.target_mean_square.sum(),
            weight: equations.weight,
            sample_count: equations.sample_count,
        }
    }

    /// The solution at one λ of the equations this is the path of; by Cholesky where rounding rules the path out.
    pub fn solution(
        &self,
        equations: &NormalEquations,
        lambda: f64,
        threads: usize,
    ) -> Result<RidgeSolution, SolveError> {
        let factor = self.system.factor(lambda);
        if !factor.is_definite() {
            return solve_ridge(equations, lambda, threads);
        }
        let mut weights = self.solve(&factor);
        self.system.rotation.rotate_back(weights.view_mut());
        let largest = largest_eigenvalue(&equations.gram);
        Ok(RidgeSolution::new(equations, lambda, weights, Method::BandReduction, largest))
    }

    /// Everything at one λ that needs no rows; none where λ is below the rounding of G.
    pub fn point(&self, lambda: f64) -> Option<PathPoint> {
        let factor = self.system.factor(lambda);
        if !factor.is_definite() {
            return None;
        }
        let order = self.mean_coordinates.len() as f64;
        let effective_dimension = (order - lambda * factor.inverse_trace()).clamp(0.0, order);
        let x = self.solve(&factor);
        let explained = (&self.coordinates * &x).sum() + lambda * (&x * &x).sum();
        let training_mse = ((self.target_mean_square - explained) / self.coordinates.ncols() as f64).max(0.0);
        let left = 1.0 - effective_dimension / self.sample_count as f64;
        Some(PathPoint { lambda, effective_dimension, training_mse, gcv: training_mse / (left * left), loo_mse: None })
    }

    /// (B + λI)⁻¹ c, s×k.
    fn solve(&self, factor: &ShiftedFactor) -> Array2<f64> {
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
            rotation: self.system.rotation.rounded(),
            fits: self.coordinates.columns().into_iter().map(table).collect(),
            ones: table(self.mean_coordinates.view()),
            factors,
            weight: self.weight,
        }
    }
}

/// What turns rows into leave-one-out residuals.
pub struct LeaveOneOut<T> {
    /// M.
    rotation: Reflectors<T>,
    /// For each target, rows (B+λI)⁻¹c: z ↦ (Hy)ᵢ.
    fits: Vec<Array2<T>>,
    /// Rows (B+λI)⁻¹Mψ̄: z ↦ (H1)ᵢ.
    ones: Array2<T>,
    /// B + λI at each λ: z ↦ Hᵢᵢ.
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
        let mut z = features.t().as_standard_layout().into_owned(); // s×rows
        self.rotation.rotate(z.view_mut());
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

    /// zᵀ(B+λI)⁻¹z/Σc of every row at every λ.
    fn leverages(&self, z: ArrayView2<T>) -> Array2<f64> {
        let mut leverages = Array2::zeros((self.factors.len(), z.ncols()));
        for (z, mut leverages) in z.axis_chunks_iter(Axis(1), LANES).zip(leverages.axis_chunks_iter_mut(Axis(1), LANES))
        {
            let mut lanes = vec![0.0; z.nrows() * LANES];
            for (lanes, z) in lanes.chunks_exact_mut(LANES).zip(z.rows()) {
                lanes.iter_mut().zip(z).for_each(|(lane, z)| *lane = z.to_f64());
            }
            for (factor, mut leverages) in self.factors.iter().zip(leverages.rows_mut()) {
                leverages
                    .iter_mut()
                    .zip(factor.quadratic_forms(&lanes))
                    .for_each(|(leverage, sum)| *leverage = sum / self.weight);
            }
        }
        leverages
    }
}
