//! What is known of a model: the numbers every theorem reads. What was not measured is `None`.

use super::spectrum::{ExponentFit, decay_exponent};
use serde::{Deserialize, Serialize};

/// The share of its ceiling up to which a leverage is free to grow.
const LARGEST_FREE_LEVERAGE: f64 = 0.5;

/// What a training run and its measurements tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each settles one assumption
pub struct Evidence {
    /// n.
    pub sample_count: usize,
    /// s.
    pub feature_count: usize,
    /// m.
    pub draw_count: usize,
    /// b, where there is one.
    pub feature_bound: Option<f64>,
    /// Whether ψ = sgn(vᵀx)/√m, the features of the angular kernel.
    pub sign_features: bool,
    /// What the choice of the features looked at.
    pub sampling: SamplingKind,
    /// Whether the draws are independent of each other.
    pub draws_independent: bool,
    /// Whether ψ(x)ᵀψ(x') is exactly unbiased for the kernel.
    pub unbiased: bool,
    /// Whether the kernel was fixed before any row was seen.
    pub kernel_fixed_in_advance: bool,
    /// Whether some rows count more than others.
    pub rows_weighted: bool,
    /// What is minimised.
    pub loss: LossKind,
    /// λ.
    pub ridge: f64,
    /// Targets of the model; squares and errors are summed over them.
    pub target_count: usize,
    /// (1/n)Σy² of the centred targets of a ridge fit.
    pub target_mean_square: Option<f64>,
    /// ‖w‖².
    pub weight_norm_square: Option<f64>,
    /// μ₁ ≥ μ₂ ≥ … of G = ΨᵀΨ/n.
    pub spectrum: Option<Vec<f64>>,
    /// The share of μ₁ up to which they may be rounding of the arithmetic that G was made in. Not written down: the
    /// precision of the model tells it.
    #[serde(skip)]
    pub spectrum_floor: f64,
    /// Of the exact kernel matrix.
    pub kernel: Option<KernelEvidence>,
    /// Of the exact kernel ridge regression at the same λ.
    pub exact: Option<ExactEvidence>,
    /// Of the candidates that features were chosen from; where they were not, of the features themselves.
    pub pool: Option<PoolEvidence>,
    /// Estimates of E(f_s − f)².
    pub estimates: ErrorEstimates,
    /// Differences to the exact method on held-out rows.
    pub certificate: Option<CertificateEvidence>,
    /// Scores of the calibration rows, ascending.
    pub calibration_scores: Option<Vec<f64>>,
    /// In what they are measured.
    pub score_unit: ScoreUnit,
    /// Whether labels are predicted, whatever is minimised. Not written down, like what follows: other parts of the
    /// model tell it.
    #[serde(skip)]
    pub predicts_labels: bool,
    /// Whether rows were added to an earlier fit, so that nobody knows if those held out were part of it.
    #[serde(skip)]
    pub rows_added: bool,
    /// k(x, x), where it is the same for all x.
    #[serde(skip)]
    pub kernel_diagonal: Option<f64>,
}

/// What the choice of the features looked at, which decides the theorems that cover them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SamplingKind {
    /// Nothing: drawn from the kernel's own distribution.
    DataIndependent,
    /// Input rows: drawn by their leverage and reweighted, so that the kernel stays the same.
    LeverageWeighted,
    /// Input rows: the best are kept as they are, which changes the kernel.
    ChosenByInputs,
    /// Targets too.
    ChosenByTargets,
    /// There are none: the model is the exact kernel method.
    NoFeatures,
}

/// In what the scores of calibration rows are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScoreUnit {
    /// In the target's own unit; for labels as a probability.
    Own,
    /// Of several targets the largest, each in units of its training error.
    TrainingError,
    /// In units of the predictive spread at the input; of several targets the largest.
    Spread,
}

/// What is minimised beside λ‖w‖².
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Squared => "squared",
            Self::Logistic => "logistic",
            Self::Hinge => "hinge",
            Self::SquaredHinge => "squared hinge",
        }
    }
}

/// A figure from a random probe; without error where it was computed exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its standard error, 0 when exact.
    pub standard_error: f64,
}

/// What is known of the kernel matrix K of the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelEvidence {
    /// s_λ = Tr K(K + nλI)⁻¹.
    pub dimension: Estimate,
    /// μ₁ of K/n.
    pub largest: Option<f64>,
    /// Δ between K̃ + nλI and K + nλI, measured.
    pub spectral_delta: Option<f64>,
}

/// What the exact solution α = (K + nλI)⁻¹y tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExactEvidence {
    /// Q = αᵀKα.
    pub quadratic_form: f64,
    /// ‖Kα‖².
    pub fitted_square: Option<f64>,
    /// fᵀ(K + nλI)⁻¹f at f = Kα.
    pub fitted_form: Option<f64>,
    /// ‖y − (K + nλI)α‖/‖y‖.
    pub relative_residual: f64,
    /// Mean of (f_s − f)² over held-out rows.
    pub held_out_error: Option<f64>,
}

/// What is known of a pool of candidate features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolEvidence {
    /// M₀.
    pub candidate_count: usize,
    /// N₀, the rows they were evaluated on.
    pub row_count: usize,
    /// Eigenvalues of the pool's Gram matrix over N₀, descending; empty where they are those of the features.
    pub spectrum: Vec<f64>,
    /// √ of the mean over pairs of rows of the variance of the pool's kernel estimate.
    pub kernel_deviation: Option<f64>,
    /// (λ, F̂∞): M₀ times the largest leverage in the pool at that λ.
    pub largest_leverages: Vec<(f64, f64)>,
}

/// Estimates of E(f_s − f)², none of them proved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorEstimates {
    /// From leaving out features.
    pub jackknife: Option<f64>,
    /// From features that were not used.
    pub fresh_features: Option<f64>,
}

/// |f_s − f̂| on held-out rows, with f̂ the exact method up to the error of its solver; Euclidean norms over
/// the targets where there are several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CertificateEvidence {
    /// |f_s − f̂|, ascending.
    pub differences: Vec<f64>,
    /// Mean of (f_s − f̂)², both clipped to the range of the training targets.
    pub clipped_mean_square: f64,
    /// Sample variance of the same squares, divisor one less than their count.
    pub clipped_square_variance: f64,
    /// B, the width of that range; for several targets the root of the sum of their squares.
    pub clip_width: f64,
    /// ε ≥ |f̂ − f| at every input.
    pub solver_slack: f64,
}

/// Rows that Δ is measured on at most: the two matrices are held whole.
pub const SPECTRAL_ROWS: usize = 1_000;

impl Evidence {
    /// Rows that Δ was measured on.
    pub fn spectral_rows(&self) -> usize {
        self.sample_count.min(SPECTRAL_ROWS)
    }

    /// A lower bound of μ₁ of K/n from the exact solution: ‖Kα‖²/Q is a Rayleigh quotient of K, at K^(½)α.
    pub(super) fn largest_at_least(&self) -> Option<f64> {
        let exact = self.exact.as_ref()?;
        let quotient = exact.fitted_square? / (self.sample_count as f64 * exact.quadratic_form);
        quotient.is_finite().then_some(quotient)
    }

    /// d(λ) for use within a logarithm, where too small a one would claim too much: that of the kernel where it is
    /// known, else the most it can be, min(n, b/λ). Says whether it was estimated.
    pub(super) fn dimension_at_most(&self, feature_bound: f64) -> (f64, bool) {
        let largest = (self.sample_count as f64).min(feature_bound / self.ridge);
        match &self.kernel {
            Some(kernel) if kernel.dimension.value < largest => {
                (kernel.dimension.value, kernel.dimension.standard_error > 0.0)
            }
            _ => (largest, false),
        }
    }

    /// d(λ) = s_λ: of the kernel where it is known, else of G, which is biased low for few features.
    /// Says whether it is exact.
    pub(super) fn effective_dimension(&self) -> Option<(f64, bool)> {
        if let Some(kernel) = &self.kernel {
            return Some((kernel.dimension.value, kernel.dimension.standard_error == 0.0));
        }
        let spectrum = self.spectrum.as_ref()?;
        Some((super::spectrum::effective_dimension(spectrum, self.ridge), false))
    }

    /// α̂: F∞(λ) of the order λ^(−α), where enough leverages are far enough below 1, which none exceeds: near it they
    /// tell how few the draws are. [R, §3]
    pub(super) fn leverage_exponent(&self) -> Option<ExponentFit> {
        let pool = self.pool.as_ref()?;
        let columns = self.feature_count as f64 / self.draw_count as f64;
        let ceiling = pool.candidate_count as f64 * columns;
        let free = |(_, largest): &&(f64, f64)| *largest < LARGEST_FREE_LEVERAGE * ceiling;
        let points: Vec<(f64, f64)> = pool.largest_leverages.iter().filter(free).copied().collect();
        decay_exponent(&points)
    }

    /// Columns of this map behind a number of draws.
    pub(super) fn columns_of(&self, draws: f64) -> f64 {
        draws.ceil() * (self.feature_count as f64 / self.draw_count as f64)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A plain ridge fit with nothing measured: 300 rows, 200 phase features.
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
            kernel_fixed_in_advance: false,
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
            predicts_labels: false,
            rows_added: false,
            kernel_diagonal: Some(1.0),
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
    fn the_dimension_of_the_kernel_comes_before_that_of_the_features() {
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
    fn leverages_near_their_ceiling_tell_nothing() {
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

    /// Of the features alone, two of eigenvalue 0.7, nothing is taken within a logarithm: min(300, 2/0.7).
    #[test]
    fn within_a_logarithm_the_dimension_is_never_that_of_the_features() {
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
    fn draws_are_whole_before_they_are_columns() {
        let pair = Evidence { draw_count: 100, ..ridge_fit() };
        assert_eq!(pair.columns_of(10.2), 22.0);
    }
}
