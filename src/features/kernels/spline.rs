//! The periodic spline kernel on [0, 1] of Rudi and Rosasco's experiments.
//!
//! Λ_q(x,x') = 1 + 2Σ_{k≥1} cos(2πk(x−x'))/k^q. Its feature is the spline of half the order,
//! ψ(x;ω) = Λ_{q/2}(x,ω) with ω uniform: ∫ Λ_{q/2}(x,ω)Λ_{q/2}(x',ω)dω = Λ_q(x,x').

use super::special::{CosineSeries, zeta};
use ndarray::ArrayView1;

/// Λ_q as a function of x − x'. Infinite at zero for q = 1.
#[derive(Debug, Clone)]
pub(crate) struct Spline(CosineSeries);

impl Spline {
    pub(crate) fn new(order: u32) -> Self {
        Self(CosineSeries::new(order))
    }

    pub(crate) fn at(&self, difference: f64) -> f64 {
        1.0 + 2.0 * self.0.evaluate(difference)
    }
}

/// k(x,x') = Λ_q(x,x').
pub(crate) fn evaluate(order: u32, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    Spline::new(order).at(left[0] - right[0])
}

/// sup ψ² = (1 + 2ζ(q/2))²; none for q = 2, whose feature has a logarithmic pole.
pub(crate) fn feature_bound(order: u32) -> Option<f64> {
    let half = (order / 2).cast_signed();
    (half > 1).then(|| (1.0 + 2.0 * zeta(half)).powi(2))
}
