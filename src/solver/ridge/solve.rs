//! Ridge regression: (G + λI) W = Ψᵀy/n, for all targets at once.

use crate::linalg::{Cholesky, largest_eigenvalue, symmetric_eigen};
use crate::solver::{NormalEquations, SolveError};
use ndarray::{Array2, ArrayView1};
use serde::Serialize;

/// How the system was solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Cholesky factorisation.
    Cholesky,
    /// The reduction to a band matrix that a search over λ leaves behind.
    BandReduction,
    /// Eigendecomposition with negative eigenvalues clipped to zero: only where rounding made
    /// G + λI indefinite.
    ClippedEigenvalues,
}

/// Weights with the evidence of how good they are.
#[derive(Debug, Clone)]
pub struct RidgeSolution {
    /// W, s×k.
    pub weights: Array2<f64>,
    /// How they were found.
    pub method: Method,
    /// ‖(G + λI)w − r‖ / ‖r‖, the largest over the targets.
    pub relative_residual: f64,
    /// (μ₁ + λ)/λ with μ₁ the largest eigenvalue of G: an upper estimate of the condition number.
    pub condition: f64,
}

/// Solves the normal equations at the per-sample `ridge` λ on up to `threads` threads.
pub fn solve_ridge(equations: &NormalEquations, ridge: f64, threads: usize) -> Result<RidgeSolution, SolveError> {
    let (g, right_side) = (&equations.gram, &equations.right_side);
    let (weights, method) = match Cholesky::factor(shifted(g, ridge), threads) {
        Ok(factor) => (factor.solve_columns(right_side.clone()), Method::Cholesky),
        Err(_) => (solve_clipped(g.clone(), right_side, ridge)?, Method::ClippedEigenvalues),
    };
    if !weights.iter().all(|weight| weight.is_finite()) {
        return Err(SolveError::NotFinite { ridge });
    }

    Ok(RidgeSolution::new(equations, ridge, weights, method, largest_eigenvalue(g)))
}

impl RidgeSolution {
    /// Weights with their evidence; `largest` is the largest eigenvalue of G.
    pub(crate) fn new(
        equations: &NormalEquations,
        ridge: f64,
        weights: Array2<f64>,
        method: Method,
        largest: f64,
    ) -> Self {
        let right_side = &equations.right_side;
        let residual = equations.gram.dot(&weights) + &weights * ridge - right_side;
        let relative = |(residual, right_side): (ArrayView1<f64>, ArrayView1<f64>)| {
            let scale = norm(right_side);
            if scale > 0.0 { norm(residual) / scale } else { 0.0 }
        };
        Self {
            relative_residual: residual
                .columns()
                .into_iter()
                .zip(right_side.columns())
                .map(relative)
                .fold(0.0, f64::max),
            condition: (largest + ridge) / ridge,
            weights,
            method,
        }
    }
}

/// G + λI.
pub(crate) fn shifted(g: &Array2<f64>, ridge: f64) -> Array2<f64> {
    let mut shifted = g.clone();
    shifted.diag_mut().mapv_inplace(|value| value + ridge);
    shifted
}

/// W = Uᵀ (max(μ,0) + λ)⁻¹ U R with G = Uᵀ diag(μ) U.
fn solve_clipped(g: Array2<f64>, right_side: &Array2<f64>, ridge: f64) -> Result<Array2<f64>, SolveError> {
    let (eigenvalues, vectors) = symmetric_eigen(g)?;
    let mut coordinates = vectors.dot(right_side);
    for (mut row, mu) in coordinates.rows_mut().into_iter().zip(&eigenvalues) {
        row /= mu.max(0.0) + ridge;
    }
    Ok(vectors.t().dot(&coordinates))
}

fn norm(vector: ArrayView1<f64>) -> f64 {
    vector.dot(&vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::{Gram, GramSums};
    use ndarray::array;

    fn gram_of(features: &Array2<f64>, targets: &Array2<f64>) -> Gram {
        GramSums::of(features.clone(), targets.view(), None).unwrap().finish()
    }

    /// One feature: w = Σψy / (Σψ² + nλ) = 5/(10 + 2·0.5) by hand.
    #[test]
    fn one_feature_by_hand() {
        let equations = gram_of(&array![[1.0], [3.0]], &array![[2.0], [1.0]]).into_normal_equations();
        let solution = solve_ridge(&equations, 0.5, 2).unwrap();
        assert!((solution.weights[[0, 0]] - 5.0 / 11.0).abs() < 1e-15);
        assert_eq!(solution.method, Method::Cholesky);
        assert!((solution.condition - 5.5 / 0.5).abs() < 1e-9);
    }

    /// Two equal columns share the weight; an indefinite G falls back and still solves.
    #[test]
    fn clipping_equals_cholesky_where_both_work_and_survives_where_it_cannot() {
        let features = array![[1.0, 1.0], [3.0, 3.0]];
        let targets = array![[2.0], [1.0]];
        let mut equations = gram_of(&features, &targets).into_normal_equations();
        let solution = solve_ridge(&equations, 0.5, 2).unwrap();
        let clipped = solve_clipped(equations.gram.clone(), &equations.right_side, 0.5).unwrap();
        assert!((&clipped - &solution.weights).iter().all(|difference| difference.abs() < 1e-14));

        equations.gram[[1, 1]] -= 1e-3;
        let solution = solve_ridge(&equations, 1e-9, 2).unwrap();
        assert_eq!(solution.method, Method::ClippedEigenvalues);
        assert!(solution.weights.iter().all(|weight| weight.is_finite()));
    }
}
