//! The leverage of each draw of the features: the diagonal of Q = G(G + λI)⁻¹.

use crate::linalg::{FactorError, symmetric_eigen};
use crate::solver::NormalEquations;
use ndarray::{Array1, Array2, Axis};

/// G = Uᵀ diag(μ) U.
pub struct Leverage {
    /// μ, ascending, with what is only rounding at zero.
    eigenvalues: Array1<f64>,
    /// U², eigenvectors as rows, element by element.
    squares: Array2<f64>,
}

impl Leverage {
    /// One eigendecomposition serves every λ.
    pub fn new(equations: &NormalEquations) -> Result<Self, FactorError> {
        let (eigenvalues, vectors) = symmetric_eigen(equations.gram.clone())?;
        Ok(Self { eigenvalues: eigenvalues.mapv(|mu| mu.max(0.0)), squares: vectors.mapv_into(|value| value * value) })
    }

    /// μ, descending.
    pub fn spectrum(&self) -> Vec<f64> {
        self.eigenvalues.iter().rev().copied().collect()
    }

    /// Q_jj = Σ_k U_kj² μ_k/(μ_k + λ) of every draw, summed over its columns j, j + m, …
    pub fn of_draws(&self, ridge: f64, draw_count: usize) -> Array1<f64> {
        let diagonal = self.eigenvalues.mapv(|mu| mu / (mu + ridge)).dot(&self.squares);
        diagonal.axis_chunks_iter(Axis(0), draw_count).fold(Array1::zeros(draw_count), |sum, columns| sum + columns)
    }

    /// F̂∞(λ) = m·max Q_jj over the draws, as if all had the leverage of the one that has most. [R, Remark 4]
    pub fn largest(&self, ridge: f64, draw_count: usize) -> f64 {
        draw_count as f64 * self.of_draws(ridge, draw_count).into_iter().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two columns that never meet, with means of squares 3 and 1: Q = diag(3/4, 1/2) at λ = 1.
    #[test]
    fn values_by_hand() {
        let equations = NormalEquations {
            gram: array![[3.0, 0.0], [0.0, 1.0]],
            right_side: array![[0.0], [0.0]],
            mean_feature: array![0.0, 0.0],
            target_mean_square: array![0.0],
            weight: 1.0,
            sample_count: 1,
        };
        let leverage = Leverage::new(&equations).unwrap();
        assert_eq!(leverage.spectrum(), [3.0, 1.0]);
        let of_two = leverage.of_draws(1.0, 2);
        assert!((of_two[0] - 0.75).abs() < 1e-15 && (of_two[1] - 0.5).abs() < 1e-15);
        assert!((leverage.largest(1.0, 2) - 1.5).abs() < 1e-15);
        // Both columns of one draw.
        assert!((leverage.largest(1.0, 1) - 1.25).abs() < 1e-15);
    }
}
