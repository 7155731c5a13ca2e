//! What is known about a model: the numbers that every theorem reads. `None` means not measured.

use super::choices::Choices;
use super::distance_evidence::{CertificateEvidence, ErrorEstimates, ExactEvidence, KernelEvidence};
use super::spectrum::{ExponentFit, decay_exponent};

/// Leverages above this share of their ceiling are left out of the exponent fit: the ceiling flattens them.
const LARGEST_FREE_LEVERAGE: f64 = 0.5;

/// The results of a training run and of later measurements.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // each decides one assumption
pub struct Evidence {
    /// n, the training rows.
    pub sample_count: usize,
    /// s, the columns of Ψ.
    pub feature_count: usize,
    /// m, the independent draws behind the s columns.
    pub draw_count: usize,
    /// b = sup ψ²; none for unbounded features.
    pub feature_bound: Option<f64>,
    /// Whether ψ = sgn(vᵀx)/√m, the features of the angular kernel.
    pub sign_features: bool,
    /// Which data the features were chosen by.
    pub sampling: SamplingKind,
    /// Whether the draws are independent of each other.
    pub draws_independent: bool,
    /// Whether ψ(x)ᵀψ(x') is exactly unbiased for the kernel.
    pub unbiased: bool,
    /// What scaling, imputation, bandwidth and λ were chosen from.
    pub choices: Choices,
    /// Whether sample weights or class weights were used.
    pub rows_weighted: bool,
    /// The loss that is minimised beside λ‖w‖².
    pub loss: LossKind,
    /// λ, per sample.
    pub ridge: f64,
    /// The number of targets; squares and errors are summed over them.
    pub target_count: usize,
    /// (1/n)Σy² of the centred targets of a ridge fit.
    pub target_mean_square: Option<f64>,
    /// ‖w‖² of the model.
    pub weight_norm_square: Option<f64>,
    /// μ₁ ≥ μ₂ ≥ … of G = ΨᵀΨ/n.
    pub spectrum: Option<Vec<f64>>,
    /// Eigenvalues up to this share of μ₁ may be rounding errors of the arithmetic that made G.
    pub spectrum_floor: f64,
    /// Measurements of the exact kernel matrix.
    pub kernel: Option<KernelEvidence>,
    /// Measurements of exact kernel ridge regression at the same λ.
    pub exact: Option<ExactEvidence>,
    /// Measurements of the candidates that the features were chosen from, or of the features if there was no pool.
    pub pool: Option<PoolEvidence>,
    /// Estimates of E(f_s − f)².
    pub estimates: ErrorEstimates,
    /// Differences to the exact method on held-out rows.
    pub certificate: Option<CertificateEvidence>,
    /// Scores of the calibration rows, ascending.
    pub calibration_scores: Option<Vec<f64>>,
    /// The unit of the calibration scores.
    pub score_unit: ScoreUnit,
    /// (λ, Σ of the leverages of the pool at that λ), where features were chosen from one.
    pub pool_degrees: Vec<(f64, f64)>,
    /// Draws that were enough in trials on some rows, and the number of these rows.
    pub enough_features: Option<(f64, usize)>,
    /// Whether labels are predicted; a ridge fit can predict them too.
    pub predicts_labels: bool,
    /// Whether rows were added to an earlier fit, which may already contain the held-out rows.
    pub rows_added: bool,
    /// k(x, x), if it is the same for all x.
    pub kernel_diagonal: Option<f64>,
    /// By what rows were split into those that were fitted and those that were held out.
    pub rows_split: RowsSplit,
}

/// By what rows were split. A split by time or by group says that rows depend on it, so that theorems on
/// independent or exchangeable rows do not cover them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsSplit {
    /// At random.
    AtRandom,
    /// By time: held-out rows are later than fitted ones, and new rows later than both.
    ByTime,
    /// By group: rows of a group may depend on each other.
    ByGroup,
}

/// Which data the features were chosen by. This decides which theorems cover them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingKind {
    /// None: drawn from the spectral density of the kernel.
    DataIndependent,
    /// Inputs: drawn by leverage and reweighted, which keeps the kernel.
    LeverageWeighted,
    /// Inputs, in another way: the best are kept without reweighting, which changes the kernel, or the range of the
    /// inputs chose the density.
    ChosenByInputs,
    /// Inputs and targets.
    ChosenByTargets,
    /// No features: the model is the exact kernel method.
    NoFeatures,
}

/// The unit of the calibration scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreUnit {
    /// The unit of the target; for labels, a probability.
    Own,
    /// Multiples of each target's training error; the largest over the targets.
    TrainingError,
    /// Multiples of the predictive spread at the input; the largest over the targets.
    Spread,
}

/// The loss that is minimised beside λ‖w‖².
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// (y − f)².
    Squared,
    /// log(1 + e^(−yf)).
    Logistic,
    /// max(0, 1 − yf).
    Hinge,
    /// max(0, 1 − yf)².
    SquaredHinge,
}

impl LossKind {
    /// Its name in a statement.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Squared => "squared",
            Self::Logistic => "logistic",
            Self::Hinge => "hinge",
            Self::SquaredHinge => "squared hinge",
        }
    }
}

/// Measurements of a pool of candidate features.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolEvidence {
    /// M₀, the candidates.
    pub candidate_count: usize,
    /// N₀, the rows they were evaluated on.
    pub row_count: usize,
    /// Eigenvalues of the pool's Gram matrix over N₀, descending; empty if the pool is the model's own features.
    pub spectrum: Vec<f64>,
    /// √ of the mean over pairs of rows of the variance of the pool's kernel estimate.
    pub kernel_deviation: Option<f64>,
    /// (λ, F̂∞): M₀ times the largest leverage in the pool at that λ.
    pub largest_leverages: Vec<(f64, f64)>,
}

/// The most rows that Δ is measured on: two full matrices are held in memory.
pub const SPECTRAL_ROWS: usize = 1_000;

impl Evidence {
    /// Whether held-out rows can be taken to be like new ones.
    pub fn split_at_random(&self) -> bool {
        self.rows_split == RowsSplit::AtRandom
    }

    /// The number of rows that Δ is measured on.
    pub fn spectral_rows(&self) -> usize {
        self.sample_count.min(SPECTRAL_ROWS)
    }

    /// A lower bound of μ₁ of K/n from the exact solution: ‖Kα‖²/Q is a Rayleigh quotient of K, at K^(½)α.
    pub(super) fn largest_at_least(&self) -> Option<f64> {
        let exact = self.exact.as_ref()?;
        let quotient = exact.fitted_square? / (self.sample_count as f64 * exact.quadratic_form);
        quotient.is_finite().then_some(quotient)
    }

    /// d(λ) for use inside a logarithm, where an underestimate would overstate the guarantee: that of the kernel if it
    /// is known, otherwise its upper bound min(n, b/λ). The flag says whether it is an estimate.
    pub(super) fn dimension_at_most(&self, feature_bound: f64) -> (f64, bool) {
        let largest = (self.sample_count as f64).min(feature_bound / self.ridge);
        match &self.kernel {
            Some(kernel) if kernel.dimension.value < largest => {
                (kernel.dimension.value, kernel.dimension.standard_error > 0.0)
            }
            _ => (largest, false),
        }
    }

    /// d(λ) = s_λ of the kernel if it is known, otherwise of the pool that features were chosen from, otherwise of G;
    /// both are biased low for few features. The flag says whether it is exact.
    pub(super) fn effective_dimension(&self) -> Option<(f64, bool)> {
        if let Some(kernel) = &self.kernel {
            return Some((kernel.dimension.value, kernel.dimension.standard_error == 0.0));
        }
        let of_features = || Some(super::spectrum::effective_dimension(self.spectrum.as_ref()?, self.ridge));
        self.pool_degrees_at(self.ridge).or_else(of_features).map(|degrees| (degrees, false))
    }

    /// α̂: F∞(λ) of the order λ^(−α). No leverage exceeds 1, so those near 1 reflect the number of draws and are left
    /// out; none if fewer than three remain. [R, §3]
    pub(super) fn leverage_exponent(&self) -> Option<ExponentFit> {
        let pool = self.pool.as_ref()?;
        let columns = self.feature_count as f64 / self.draw_count as f64;
        let ceiling = pool.candidate_count as f64 * columns;
        let free = |(_, largest): &&(f64, f64)| *largest < LARGEST_FREE_LEVERAGE * ceiling;
        let points: Vec<(f64, f64)> = pool.largest_leverages.iter().filter(free).copied().collect();
        decay_exponent(&points)
    }

    /// The columns that a number of draws makes, after rounding the draws up.
    pub(super) fn columns_of(&self, draws: f64) -> f64 {
        draws.ceil() * (self.feature_count as f64 / self.draw_count as f64)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::theory::Estimate;

    /// A ridge fit with plain sampling and no measurements: 300 rows, 200 phase features.
    pub(crate) fn ridge_fit() -> Evidence {
        Evidence {
            sample_count: 300,
            feature_count: 200,
            draw_count: 200,
            feature_bound: Some(2.0),
            sign_features: false,
            sampling: SamplingKind::DataIndependent,
            draws_independent: true,
            unbiased: true,
            choices: Choices::FixedInAdvance,
            rows_weighted: false,
            loss: LossKind::Squared,
            ridge: 0.7,
            target_count: 1,
            target_mean_square: Some(0.31),
            weight_norm_square: None,
            spectrum: None,
            spectrum_floor: 1e-12,
            kernel: None,
            exact: None,
            pool: None,
            estimates: ErrorEstimates::default(),
            certificate: None,
            calibration_scores: None,
            score_unit: ScoreUnit::Own,
            pool_degrees: Vec::new(),
            enough_features: None,
            predicts_labels: false,
            rows_added: false,
            kernel_diagonal: Some(1.0),
            rows_split: RowsSplit::AtRandom,
        }
    }

    /// The exact solution of a ridge fit.
    pub(crate) fn exact(quadratic_form: f64, fitted_square: f64) -> ExactEvidence {
        ExactEvidence {
            quadratic_form,
            fitted_square: Some(fitted_square),
            fitted_form: None,
            relative_residual: 1e-12,
            held_out_error: None,
        }
    }

    #[test]
    fn the_dimension_of_the_kernel_is_preferred_to_that_of_the_features() {
        let mut evidence = ridge_fit();
        assert_eq!(evidence.effective_dimension(), None);
        evidence.spectrum = Some(vec![0.7, 0.0]);
        assert_eq!(evidence.effective_dimension(), Some((0.5, false)));
        let dimension = Estimate { value: 3.0, standard_error: 0.0 };
        evidence.kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta: None });
        assert_eq!(evidence.effective_dimension(), Some((3.0, true)));
    }

    /// F̂∞ = λ^(−½) until it comes near the number of draws, 100.
    #[test]
    fn leverages_near_their_ceiling_are_left_out() {
        let pool = |lambdas: &[f64]| PoolEvidence {
            candidate_count: 100,
            row_count: 300,
            spectrum: Vec::new(),
            kernel_deviation: None,
            largest_leverages: lambdas.iter().map(|lambda| (*lambda, lambda.powf(-0.5).min(90.0))).collect(),
        };
        let of = |lambdas: &[f64]| Evidence { pool: Some(pool(lambdas)), ..ridge_fit() }.leverage_exponent();
        assert!((of(&[0.1, 0.01, 0.001, 1e-4, 1e-5]).unwrap().exponent - 0.5).abs() < 1e-12);
        assert_eq!(of(&[0.1, 0.01, 1e-4, 1e-5, 1e-6]), None);
        assert_eq!(ridge_fit().leverage_exponent(), None);
    }

    /// With only the features known, two eigenvalues of 0.7, the upper bound is used: min(300, 2/0.7).
    #[test]
    fn inside_a_logarithm_the_dimension_of_the_features_is_not_used() {
        let mut evidence = Evidence { spectrum: Some(vec![0.7, 0.7]), ..ridge_fit() };
        assert_eq!(evidence.dimension_at_most(2.0), (2.0 / 0.7, false));
        let dimension = Estimate { value: 2.5, standard_error: 0.1 };
        evidence.kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta: None });
        assert_eq!(evidence.dimension_at_most(2.0), (2.5, true));
        let dimension = Estimate { value: 3.5, standard_error: 0.9 };
        evidence.kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta: None });
        assert_eq!(evidence.dimension_at_most(2.0), (2.0 / 0.7, false));
    }

    /// K = diag(4, 1), α = (1, 1): ‖Kα‖² = 17, Q = 5, and 17/5 ≤ 4.
    #[test]
    fn a_rayleigh_quotient_bounds_the_largest_eigenvalue_from_below() {
        let evidence = Evidence { sample_count: 2, exact: Some(exact(5.0, 17.0)), ..ridge_fit() };
        assert_eq!(evidence.largest_at_least(), Some(1.7));
        assert_eq!(Evidence { exact: Some(exact(0.0, 0.0)), ..evidence }.largest_at_least(), None);
        assert_eq!(ridge_fit().largest_at_least(), None);
    }

    #[test]
    fn draws_are_rounded_up_before_columns_are_counted() {
        let pair = Evidence { draw_count: 100, ..ridge_fit() };
        assert_eq!(pair.columns_of(10.2), 22.0);
    }
}
