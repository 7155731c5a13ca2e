//! Turns the numbers of a training run into guarantees. No I/O and no randomness.
//!
//! One notation for all papers:
//!
//! | letter | field | meaning |
//! |---|---|---|
//! | n | `sample_count` | training rows |
//! | s | `feature_count` | columns of Ψ |
//! | m | `draw_count` | independent draws behind them: s for phase and sign, s/2 for pair |
//! | b | `feature_bound` | sup ψ(x;v)², κ² in some papers |
//! | λ | `ridge` | per sample: (1/n)Σℓ(yᵢ, f(xᵢ)) + λ‖w‖² |
//! | δ | `failure_probability` | ρ in some papers |
//! | K, K̃ | – | kernel matrix of the training rows, and ΨΨᵀ |
//! | G, Ξ | – | ΨᵀΨ/n, and its expectation |
//! | α | – | (K + nλI)⁻¹y, the exact solution |
//! | Q | `quadratic_form` | αᵀKα |
//! | ‖Kα‖² | `fitted_square` | squared norm of the exact fit |
//! | μ | `spectrum` | eigenvalues of G, descending; `largest` is μ₁ of K/n |
//! | s_λ, d(λ), N(λ) | `dimension` | Tr K(K + nλI)⁻¹ = Σ μ/(μ+λ), the effective dimension |
//! | Δ | `spectral_delta` | (1−Δ)(K+nλI) ≼ K̃+nλI ≼ (1+Δ)(K+nλI) |
//! | ‖w‖² | `weight_norm_square` | squared norm of the weights |
//! | M₀, N₀ | `candidate_count`, `row_count` | candidate features, and the rows they were scored on |
//! | ε, B | `solver_slack`, `clip_width` | error of the exact solver, width of the range of y |
//! | – | `target_mean_square` | (1/n)Σyᵢ² of the centred targets |
//!
//! Each paper's file opens with the paper's own symbols and normalisation.

/// Guarantees, their assumptions and their wording.
mod statement;

/// The five papers, one file or folder each.
pub mod papers;

/// Guarantees that are not in the papers; `docs/derivations.md` has the proofs.
pub mod ours;

/// The numbers that every theorem reads.
mod evidence;

/// Those about the distance to the exact method.
mod distance_evidence;

/// What the kernel and λ of a model were chosen from.
mod choices;

/// What a pool of candidates tells about the effective dimension.
mod pool_dimension;

/// Bounds on the exact solution that account for the solver's residual.
mod solution;

/// Effective dimension and decay of eigenvalues.
pub mod spectrum;

/// The spectrum of a model, as the API shows it.
mod spectral_profile;

/// All guarantees, in a fixed order.
mod catalogue;

/// One screen about a model.
mod summary;

/// The number of features that a goal requires, theorem by theorem, and their cost.
pub mod plan;

pub use catalogue::{Catalogue, IDS, guarantees};
pub use choices::Choices;
pub use distance_evidence::{
    CertificateDetail, CertificateEvidence, ErrorEstimates, Estimate, ExactEvidence, JackknifeDetail, KernelEvidence,
    ScaledDifferences,
};
pub use evidence::{Evidence, LossKind, PoolEvidence, RowsSplit, SPECTRAL_ROWS, SamplingKind, ScoreUnit};
pub use spectral_profile::{
    DimensionCurve, DimensionPoint, Eigenvalues, LeverageCurve, LeveragePoint, Missing, Ranked, Regime,
    SpectralProfile, spectral_profile,
};
pub use statement::guarantee::{Assumption, AssumptionState, Form, Guarantee, Status};
pub use statement::remedy::{Circumstances, JACKKNIFE_ROWS, Lack, RowAccess};
pub use statement::words::SMALLEST_DELTA;
pub use summary::{
    Claim, DistanceSource, Facts, Fit, Needs, RandomFeatures, Summary, best_first, looseness, needs, summarize,
};
