//! The precision in which features are computed and multiplied.

use serde::Serialize;

/// The precision of a model's features, in training and in serving alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Features and the rank-k update of a block in f32; sums, factorisation and weights in f64.
    Mixed,
    /// f64 throughout.
    Double,
}

impl Precision {
    /// Below this share of the largest eigenvalue the rounding of f32 blocks is no longer small
    /// against the ridge. `benches/precision.rs`: no prediction moves by more than 3e-4 standard
    /// deviations of y at 1e-6, by 1e-2 at 1e-8, where Cholesky begins to fail on small tables.
    const SMALLEST_MIXED_RATIO: f64 = 1e-6;

    /// The share of μ₁ up to which eigenvalues of a G made in this precision may be its rounding. Measured on features
    /// whose G has low rank: what should be zero is 2e-8·μ₁ at most in mixed precision and 1e-15·μ₁ in f64.
    pub fn spectrum_floor(self) -> f64 {
        match self {
            Self::Mixed => 1e-6,
            Self::Double => 1e-13,
        }
    }

    /// Mixed while λ/μ₁ is large enough, where μ₁, the largest eigenvalue of G, is at most
    /// tr G ≤ `feature_bound`: known before the data is read, so no pass has to be repeated.
    /// Unbounded features stay in f64.
    pub fn for_ridge(ridge: f64, feature_bound: Option<f64>) -> Self {
        match feature_bound {
            Some(bound) if ridge >= Self::SMALLEST_MIXED_RATIO * bound => Self::Mixed,
            _ => Self::Double,
        }
    }
}
