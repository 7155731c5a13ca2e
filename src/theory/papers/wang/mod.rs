//! S. Wang, *Simple and almost assumption-free out-of-sample bound for random feature mapping*,
//! 2019 (the version whose Theorem 1 carries equation (2)).
//!
//! **Statement.** Let f be exact kernel ridge regression and f_s its random-feature version, at the
//! same λ. If λ is large enough, then for every training set E over features and a new x of
//! (f_s(x) − f(x))² on an event of probability ≥ 1 − δ (over rows and features together) is at most
//! (4b/m)·Q with Q = αᵀKα (Theorem 1).
//!
//! **Assumptions.** ψ unbiased and |ψ|² ≤ b (true by construction of the map); rows drawn
//! independently from one distribution (cannot be checked); draws independent of the rows.
//!
//! **Notation.** The paper's λ is ours. Its s stands for two things where the pair map is used:
//! inside every logarithm it is the number of columns, in 4b/s the number of independent draws m.
//!
//! **Departures.** The paper's condition is λ ≥ (2b/√n)·√log(s/δ). Its proof needs the event
//! Ξ ≼ G + λI only, for which matrix Bernstein gives a smaller threshold: see `thresholds`.

/// The smallest λ that Theorem 1 covers.
pub(crate) mod thresholds;

/// The distance to the exact method, in words.
pub(crate) mod distance;

/// Theorem 1, its sharper form, Remark 1 and equation (31).
pub(crate) mod theorem1;

/// Theorem 2 with its proof repaired.
mod theorem2;

/// Lemma 3 for both sides.
mod lemma3;

pub use lemma3::{epsilon_bernstein, epsilon_two_sided, lemma3};
pub use theorem1::{
    eq31, remark1, remark1_bound, sharp_bound, theorem1, theorem1_bound, theorem1_sharp, worst_quadratic_form,
};
pub use theorem2::{printed_order, repaired_bound, theorem2};
pub use thresholds::{threshold, threshold_bernstein, threshold_printed, threshold_proof};
