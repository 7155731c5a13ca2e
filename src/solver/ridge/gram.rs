//! The sufficient statistics of ridge regression, and the normal equations they make.

use super::solve::shifted;
use crate::linalg::{Cholesky, FactorError, mirror_lower, symmetric_eigenvalues};
use ndarray::{Array1, Array2, Axis};

/// Sums over rows with features ψ, targets y (k of them) and weights c.
pub(crate) struct Sums {
    /// Σ c y ψᵀ, k×s.
    pub(crate) moments: Array2<f64>,
    /// Σ c ψ, s.
    pub(crate) features: Array1<f64>,
    /// Σ c y, k.
    pub(crate) targets: Array1<f64>,
    /// Σ c y², k.
    pub(crate) target_squares: Array1<f64>,
    /// Σ c.
    pub(crate) weight: f64,
    /// n.
    pub(crate) sample_count: usize,
}

impl Sums {
    pub(crate) fn new(feature_count: usize, target_count: usize) -> Self {
        Self {
            moments: Array2::zeros((target_count, feature_count)),
            features: Array1::zeros(feature_count),
            targets: Array1::zeros(target_count),
            target_squares: Array1::zeros(target_count),
            weight: 0.0,
            sample_count: 0,
        }
    }

    fn add(&mut self, other: &Self) {
        self.moments += &other.moments;
        self.features += &other.features;
        self.targets += &other.targets;
        self.target_squares += &other.target_squares;
        self.weight += other.weight;
        self.sample_count += other.sample_count;
    }
}

/// The statistics of all rows, in f64.
pub struct Gram {
    /// Lower triangle of Σ c ψψᵀ, s×s.
    products: Array2<f64>,
    sums: Sums,
}

impl Gram {
    /// Of a matrix whose lower triangle is Σ c ψψᵀ, and the sums beside it.
    pub(super) fn from_sums(products: Array2<f64>, sums: Sums) -> Self {
        Self { products, sums }
    }

    /// Adds the rows of an earlier fit.
    pub fn merge(&mut self, earlier: &PackedGram) {
        for (i, (mut sums, values)) in self.products.rows_mut().into_iter().zip(earlier.triangle()).enumerate() {
            sums.iter_mut().zip(values).take(i + 1).for_each(|(sum, value)| *sum += value);
        }
        self.sums.add(&earlier.sums());
    }

    /// What an artifact keeps of these statistics, half the size of the matrix.
    pub fn pack(&self) -> PackedGram {
        let triangle = self.products.rows().into_iter().enumerate();
        let products = triangle.flat_map(|(i, row)| row.into_iter().take(i + 1).copied().collect::<Vec<_>>());
        PackedGram {
            products: products.collect(),
            moments: self.sums.moments.iter().copied().collect(),
            features: self.sums.features.to_vec(),
            targets: self.sums.targets.to_vec(),
            target_squares: self.sums.target_squares.to_vec(),
            weight: self.sums.weight,
            sample_count: self.sums.sample_count,
        }
    }

    /// Centres the targets at their weighted mean, which is returned: Σ c(y − ȳ)ψ is
    /// Σ c y ψ − ȳ Σ c ψ, so no row is needed again.
    pub fn centre_targets(&mut self) -> Array1<f64> {
        let sums = &mut self.sums;
        let mean = &sums.targets / sums.weight;
        sums.target_squares -= &(&sums.targets * &mean);
        for (mut moments, mean) in sums.moments.rows_mut().into_iter().zip(&mean) {
            moments.scaled_add(-mean, &sums.features);
        }
        sums.targets.fill(0.0);
        mean
    }

    /// Σ c.
    pub fn weight(&self) -> f64 {
        self.sums.weight
    }

    /// The normal equations of all rows so far. Weights count relative to their mean.
    pub fn into_normal_equations(self) -> NormalEquations {
        let (mut gram, sums) = (self.products, self.sums);
        gram /= sums.weight;
        mirror_lower(&mut gram);
        NormalEquations {
            gram,
            right_side: sums.moments.t().as_standard_layout().into_owned() / sums.weight,
            mean_feature: sums.features / sums.weight,
            target_mean_square: sums.target_squares / sums.weight,
            weight: sums.weight,
            sample_count: sums.sample_count,
        }
    }
}

/// The statistics of a fit as they are kept: plain lists, the matrix as its lower triangle.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedGram {
    /// Row by row, s(s+1)/2 of them.
    pub(crate) products: Vec<f64>,
    /// k×s, row by row.
    pub(crate) moments: Vec<f64>,
    pub(crate) features: Vec<f64>,
    pub(crate) targets: Vec<f64>,
    pub(crate) target_squares: Vec<f64>,
    pub(crate) weight: f64,
    pub(crate) sample_count: usize,
}

impl PackedGram {
    /// n.
    pub fn sample_count(&self) -> usize {
        self.sample_count
    }

    /// Whether the parts fit a model of these sizes and hold finite numbers.
    pub fn is_consistent(&self, feature_count: usize, target_count: usize) -> bool {
        let lists = [&self.products, &self.moments, &self.features, &self.targets, &self.target_squares];
        self.products.len() == feature_count * (feature_count + 1) / 2
            && self.moments.len() == target_count * feature_count
            && self.features.len() == feature_count
            && self.targets.len() == target_count
            && self.target_squares.len() == target_count
            && lists.iter().all(|list| list.iter().all(|number| number.is_finite()))
            && self.weight > 0.0
            && self.weight.is_finite()
            && self.sample_count > 0
    }

    fn triangle(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.features.len()).map(|i| &self.products[i * (i + 1) / 2..(i + 1) * (i + 2) / 2])
    }

    fn sums(&self) -> Sums {
        let moments = Array2::from_shape_vec((self.targets.len(), self.features.len()), self.moments.clone());
        Sums {
            moments: moments.expect("checked when the artifact was read"),
            features: Array1::from(self.features.clone()),
            targets: Array1::from(self.targets.clone()),
            target_squares: Array1::from(self.target_squares.clone()),
            weight: self.weight,
            sample_count: self.sample_count,
        }
    }
}

/// The per-sample normal equations (G + λI)W = R.
pub struct NormalEquations {
    /// G = Σ c ψψᵀ/Σ c, a full symmetric matrix.
    pub gram: Array2<f64>,
    /// R = Σ c ψyᵀ/Σ c, s×k.
    pub right_side: Array2<f64>,
    /// ψ̄ = Σ c ψ/Σ c.
    pub mean_feature: Array1<f64>,
    /// Σ c y²/Σ c of each target.
    pub target_mean_square: Array1<f64>,
    /// Σ c; n without weights.
    pub weight: f64,
    /// n.
    pub sample_count: usize,
}

impl NormalEquations {
    /// The Cholesky factor of G + λI.
    pub fn factor(&self, ridge: f64, threads: usize) -> Result<Cholesky, FactorError> {
        Cholesky::factor(shifted(&self.gram, ridge), threads)
    }

    /// The eigenvalues of G, descending, with what is only rounding at zero.
    pub fn spectrum(&self) -> Result<Vec<f64>, FactorError> {
        Ok(symmetric_eigenvalues(self.gram.clone())?.iter().rev().map(|mu| mu.max(0.0)).collect())
    }

    /// Mean of (y − Ψw)² for each target: mean(y²) − 2wᵀr + wᵀGw, without another pass over the rows.
    pub fn mean_squared_errors(&self, weights: &Array2<f64>) -> Array1<f64> {
        let fitted = self.gram.dot(weights) - 2.0 * &self.right_side;
        let gained = (&fitted * weights).sum_axis(Axis(0));
        (&self.target_mean_square + &gained).mapv(|error| error.max(0.0))
    }
}
