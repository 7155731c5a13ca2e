//! The Matérn kernel; its spectral density is a multivariate t with 2ν degrees of freedom.

use super::distance::squared;
use super::special::{gamma_quantile, matern_correlation};
use ndarray::ArrayView1;

/// k(x,x') = 2^{1−ν}/Γ(ν)·z^ν K_ν(z) with z = √(2ν)·‖x−x'‖/ℓ.
pub(crate) fn evaluate(bandwidth: f64, nu: f64, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    matern_correlation(nu, (2.0 * nu * squared(left, right)).sqrt() / bandwidth)
}

/// v = z·√(2ν/χ²_{2ν})/ℓ: the factor of the normal z. χ²_{2ν} is twice a gamma variable of shape ν.
pub(crate) fn stretch(bandwidth: f64, nu: f64, uniform: f64) -> f64 {
    let gamma = gamma_quantile(nu, uniform).max(f64::MIN_POSITIVE); // a rough kernel's may underflow
    (nu / gamma).sqrt() / bandwidth
}
