//! Plain numbers in, guarantees out. No I/O and no randomness.
//!
//! One notation for all papers:
//!
//! | letter | field | meaning |
//! |---|---|---|
//! | n | `sample_count` | training rows |
//! | s | `feature_count` | columns of Ψ |
//! | m | `draw_count` | independent draws behind them: s for phase and sign, s/2 for pair |
//! | b | `feature_bound` | sup ψ(x;v)² |
//! | λ | `ridge` | per sample: (1/n)Σ(yᵢ−f(xᵢ))² + λ‖w‖² |
//! | δ | `failure_probability` | |
//! | Q | `quadratic_form` | αᵀKα with α = (K + nλI)⁻¹y |
//! | – | `target_mean_square` | (1/n)Σyᵢ² of the centred targets |
//!
//! Each paper file opens with its own symbols and where its normalisation differs.

/// What a guarantee says and how far it can be trusted.
mod guarantee;

/// Wang, *Simple and almost assumption-free out-of-sample bound for random feature mapping*.
pub mod wang;

pub use guarantee::{Assumption, AssumptionState, Form, Guarantee, Status};
