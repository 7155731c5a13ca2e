//! The sufficient statistics of ridge regression, as a value that can be added to.

use crate::linalg::{Cholesky, FactorError, Real, mirror_lower};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// ΨᵀΨ and Ψᵀy of one block, in the precision of its features.
pub struct BlockGram<T> {
    /// Lower triangle of ΨᵀΨ, s×s.
    products: Array2<T>,
    /// Ψᵀy, s; summed in f64, since its cost is negligible.
    moments: Array1<f64>,
    /// Ψᵀ1, s.
    sums: Array1<f64>,
    /// Σ y².
    target_square: f64,
    sample_count: usize,
}

impl<T: Real> BlockGram<T> {
    /// Room for one block of `feature_count` columns.
    pub fn new(feature_count: usize) -> Self {
        Self {
            products: Array2::zeros((feature_count, feature_count)),
            moments: Array1::zeros(feature_count),
            sums: Array1::zeros(feature_count),
            target_square: 0.0,
            sample_count: 0,
        }
    }

    /// Overwrites the block with the statistics of these rows.
    pub fn fill(&mut self, features: ArrayView2<T>, targets: ArrayView1<f64>) {
        T::rank_update(features.view(), &mut self.products);
        self.moments.fill(0.0);
        self.sums.fill(0.0);
        let moments = self.moments.as_slice_mut().expect("a vector is contiguous");
        let sums = self.sums.as_slice_mut().expect("a vector is contiguous");
        for (row, &target) in features.rows().into_iter().zip(targets) {
            let row = row.to_slice().expect("a row is contiguous");
            pulp::Arch::new().dispatch(|| {
                for ((moment, sum), value) in moments.iter_mut().zip(&mut *sums).zip(row) {
                    *moment += target * value.to_f64();
                    *sum += value.to_f64();
                }
            });
        }
        self.target_square = targets.dot(&targets);
        self.sample_count = targets.len();
    }
}

/// ΨᵀΨ, Ψᵀy, yᵀy and n over all blocks so far, in f64.
pub struct Gram {
    /// Lower triangle of ΨᵀΨ, s×s.
    products: Array2<f64>,
    /// Ψᵀy, s.
    moments: Array1<f64>,
    /// Ψᵀ1, s.
    sums: Array1<f64>,
    /// Σ y².
    target_square: f64,
    sample_count: usize,
}

/// The per-sample normal equations (G + λI)w = r.
pub struct NormalEquations {
    /// G = ΨᵀΨ/n, a full symmetric matrix.
    pub gram: Array2<f64>,
    /// r = Ψᵀy/n.
    pub right_side: Array1<f64>,
    /// ψ̄ = Ψᵀ1/n.
    pub mean_feature: Array1<f64>,
    /// (1/n)Σy².
    pub target_mean_square: f64,
    /// n.
    pub sample_count: usize,
}

impl NormalEquations {
    /// The Cholesky factor of G + λI.
    pub fn factor(&self, ridge: f64) -> Result<Cholesky, FactorError> {
        let mut shifted = self.gram.clone();
        shifted.diag_mut().mapv_inplace(|value| value + ridge);
        Cholesky::factor(shifted)
    }

    /// (1/n)‖y − Ψw‖² = mean(y²) − 2wᵀr + wᵀGw, without another look at the rows.
    pub fn mean_squared_error(&self, weights: &Array1<f64>) -> f64 {
        let fitted = self.gram.dot(weights) - 2.0 * &self.right_side;
        (self.target_mean_square + weights.dot(&fitted)).max(0.0)
    }
}

impl Gram {
    /// The statistics of no rows.
    pub fn new(feature_count: usize) -> Self {
        Self {
            products: Array2::zeros((feature_count, feature_count)),
            moments: Array1::zeros(feature_count),
            sums: Array1::zeros(feature_count),
            target_square: 0.0,
            sample_count: 0,
        }
    }

    /// Adds a block.
    pub fn add<T: Real>(&mut self, block: &BlockGram<T>) {
        for (i, (mut sums, values)) in self.products.rows_mut().into_iter().zip(block.products.rows()).enumerate() {
            let sums = sums.as_slice_mut().expect("a row is contiguous");
            let values = values.to_slice().expect("a row is contiguous");
            pulp::Arch::new().dispatch(|| {
                for (sum, value) in sums.iter_mut().zip(values).take(i + 1) {
                    *sum += value.to_f64();
                }
            });
        }
        self.moments += &block.moments;
        self.sums += &block.sums;
        self.target_square += block.target_square;
        self.sample_count += block.sample_count;
    }

    /// The normal equations of all rows so far.
    pub fn into_normal_equations(self) -> NormalEquations {
        let n = self.sample_count as f64;
        let mut gram = self.products;
        gram /= n;
        mirror_lower(&mut gram);
        NormalEquations {
            gram,
            right_side: self.moments / n,
            mean_feature: self.sums / n,
            target_mean_square: self.target_square / n,
            sample_count: self.sample_count,
        }
    }
}
