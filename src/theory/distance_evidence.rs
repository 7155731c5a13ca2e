//! What is known about the distance of a model to the exact kernel method. `None` means not measured.

use serde::Serialize;

/// A number that was computed exactly or estimated with random probes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The number or its estimate.
    pub value: f64,
    /// 0 if the value is exact.
    pub standard_error: f64,
}

/// Measurements of the kernel matrix K of the training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelEvidence {
    /// s_λ = Tr K(K + nλI)⁻¹.
    pub dimension: Estimate,
    /// μ₁ of K/n.
    pub largest: Option<f64>,
    /// Δ between K̃ + nλI and K + nλI, measured.
    pub spectral_delta: Option<f64>,
}

/// Measurements of the exact solution α = (K + nλI)⁻¹y.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactEvidence {
    /// Q = αᵀKα.
    pub quadratic_form: f64,
    /// ‖Kα‖².
    pub fitted_square: Option<f64>,
    /// fᵀ(K + nλI)⁻¹f at f = Kα.
    pub fitted_form: Option<f64>,
    /// ‖y − (K + nλI)α‖/‖y‖.
    pub relative_residual: f64,
    /// Mean of (f_s − f)² over held-out rows, or where there are none over fitted rows that both fits leave out in turn.
    pub held_out_error: Option<f64>,
}

/// Estimates of E(f_s − f)² without proof.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorEstimates {
    /// From leaving out features.
    pub jackknife: Option<f64>,
    /// What the same says of a single draw; none from releases that did not tell.
    pub jackknife_detail: Option<JackknifeDetail>,
    /// From unused features.
    pub fresh_features: Option<f64>,
}

/// How far the distance of one draw may be from the jackknife estimate, and what that was made on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JackknifeDetail {
    /// Nine draws in ten are estimated to be between these.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Inputs that it was made on.
    pub rows: usize,
    /// Whether these were fitted, and each was left out of the fit in turn.
    pub left_out: bool,
    /// Whether more draws than those of the model were looked at.
    pub pooled: bool,
}

/// |f_s − f̂| on held-out rows, with f̂ the exact method up to the error of its solver. With several targets,
/// Euclidean norms over them.
#[derive(Debug, Clone, PartialEq)]
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
    /// What else was measured on the same rows; none from releases that did not measure it.
    pub detail: Option<CertificateDetail>,
}

/// The rows behind a certificate, one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct CertificateDetail {
    /// (f_s − f̂)², both clipped, in an order that does not depend on them.
    pub clipped_squares: Vec<f64>,
    /// |f_s − f̂|/√H in units of the error bars, the largest over the targets, ascending; none without error bars.
    pub scaled: Option<ScaledDifferences>,
    /// Validation rows among them.
    pub validation_rows: usize,
    /// Calibration rows among them.
    pub calibration_rows: usize,
    /// Rows without a target among them.
    pub unlabelled_rows: usize,
}

/// Differences in units of the error bars: H = h² + 0.3·mean h², with h the error bar and the mean over training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledDifferences {
    /// |f_s − f̂|/√H, the largest over the targets, ascending.
    pub ratios: Vec<f64>,
    /// Mean h² over training rows, of each target.
    pub mean_squares: Vec<f64>,
}
