//! What a feature that was not drawn would change in the predictions of a ridge fit.
//!
//! With r = (y − Ψw)/(nλ), a fresh column ψᵥ has a = ψᵥᵀr and h(x) = ψ(x)ᵀ(G + λI)⁻¹Ψᵀψᵥ/n, and its influence
//! on the prediction at x is a·(ψᵥ(x) − h(x)), of a draw the sum over its columns.

use crate::solver::{NormalEquations, SolveError};
use ndarray::{Array2, ArrayView2, Axis};

/// Sums over the training rows.
pub struct FreshSums {
    /// Ψᵀψᵥ, s×columns.
    cross: Array2<f64>,
    /// ψᵥᵀ(y − Ψw), columns×k.
    slopes: Array2<f64>,
}

/// The influences of fresh draws, ready to evaluate.
pub struct FreshInfluences {
    /// (G + λI)⁻¹Ψᵀψᵥ/n, s×columns.
    projected: Array2<f64>,
    /// a, columns×k.
    slopes: Array2<f64>,
    draw_count: usize,
}

impl FreshSums {
    /// Of no rows yet: s features, so many fresh columns, k targets.
    pub fn new(feature_count: usize, fresh_count: usize, target_count: usize) -> Self {
        Self { cross: Array2::zeros((feature_count, fresh_count)), slopes: Array2::zeros((fresh_count, target_count)) }
    }

    /// Adds rows: their features, fresh ones without their 1/√m, and residuals y − Ψw.
    pub fn add(&mut self, features: ArrayView2<f64>, fresh: ArrayView2<f64>, residuals: ArrayView2<f64>) {
        self.cross += &features.t().dot(&fresh);
        self.slopes += &fresh.t().dot(&residuals);
    }

    /// Solves for the influences of `draw_count` draws at the λ of the fit.
    pub fn finish(
        self,
        equations: &NormalEquations,
        ridge: f64,
        draw_count: usize,
        threads: usize,
    ) -> Result<FreshInfluences, SolveError> {
        let n = equations.sample_count as f64;
        let projected = equations.factor(ridge, threads)?.solve_columns(self.cross / n);
        Ok(FreshInfluences { projected, slopes: self.slopes / (n * ridge), draw_count })
    }
}

impl FreshInfluences {
    /// On the predictions of rows with these features and fresh features: for each target rows×draws.
    pub fn at(&self, features: ArrayView2<f64>, fresh: ArrayView2<f64>) -> Vec<Array2<f64>> {
        let left = &fresh - &features.dot(&self.projected); // rows×columns
        let of_target = |slopes: ndarray::ArrayView1<f64>| {
            let by_column = &left * &slopes.insert_axis(Axis(0));
            let draws = by_column.axis_chunks_iter(Axis(1), self.draw_count);
            draws.fold(Array2::zeros((left.nrows(), self.draw_count)), |sum, columns| sum + columns)
        };
        self.slopes.columns().into_iter().map(of_target).collect()
    }
}
