//! The angular (arcsine) kernel of random sign features.

use super::distance::norm;
use ndarray::ArrayView1;
use std::f64::consts::PI;

/// k(x,x') = (2/π)·arcsin(cos∠(x,x')), as 1 − (4/π)·atan2(|u−v|, |u+v|) on unit vectors, since the
/// arcsine of a rounded cosine loses half the digits. The zero vector, whose signs are all +1,
/// agrees with itself and is independent of the rest.
pub(crate) fn evaluate(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    let (a, b) = (norm(left), norm(right));
    if a == 0.0 || b == 0.0 {
        return if a == b { 1.0 } else { 0.0 };
    }
    let combine = |sign: f64| {
        let square = |(x, y): (&f64, &f64)| (x / a + sign * y / b).powi(2);
        left.iter().zip(right).map(square).sum::<f64>().sqrt()
    };
    1.0 - 4.0 / PI * f64::atan2(combine(-1.0), combine(1.0))
}
