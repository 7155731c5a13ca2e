//! Dense linear algebra in plain loops, so that nothing is shared with the service.

use ndarray::{Array1, Array2, Axis};

/// L with LLᵀ = A, lower; none if A is not positive definite in double precision.
pub(crate) fn cholesky(a: &Array2<f64>) -> Option<Array2<f64>> {
    let n = a.nrows();
    let mut l = Array2::<f64>::zeros((n, n));
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[[i, j]];
            for k in 0..j {
                sum -= l[[i, k]] * l[[j, k]];
            }
            if i == j {
                if sum <= 0.0 {
                    return None;
                }
                l[[i, i]] = sum.sqrt();
            } else {
                l[[i, j]] = sum / l[[j, j]];
            }
        }
    }
    Some(l)
}

/// L⁻¹B for a lower triangular L.
pub(crate) fn forward(l: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let mut x = b.clone();
    for i in 0..l.nrows() {
        let (done, mut rest) = x.view_mut().split_at(Axis(0), i);
        let mut row = rest.row_mut(0);
        for (k, known) in done.rows().into_iter().enumerate() {
            row.scaled_add(-l[[i, k]], &known);
        }
        row /= l[[i, i]];
    }
    x
}

/// L⁻ᵀB for a lower triangular L.
fn backward(l: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let n = l.nrows();
    let mut x = b.clone();
    for i in (0..n).rev() {
        let (mut head, done) = x.view_mut().split_at(Axis(0), i + 1);
        let mut row = head.row_mut(i);
        for (k, known) in done.rows().into_iter().enumerate() {
            row.scaled_add(-l[[i + 1 + k, i]], &known);
        }
        row /= l[[i, i]];
    }
    x
}

/// A⁻¹B, refined once.
pub(crate) fn solve(a: &Array2<f64>, b: &Array2<f64>) -> Option<Array2<f64>> {
    let l = cholesky(a)?;
    let once = |b: &Array2<f64>| backward(&l, &forward(&l, b));
    let x = once(b);
    let correction = once(&(b - &a.dot(&x)));
    Some(x + correction)
}

/// The largest |eigenvalue| of a symmetric matrix, from below.
pub(crate) fn spectral_norm(a: &Array2<f64>) -> f64 {
    let mut x = Array1::from_shape_fn(a.nrows(), |i| 1.0 + (i % 7) as f64 / 3.0);
    let mut norm = 0.0;
    for _ in 0..300 {
        let length = x.dot(&x).sqrt();
        if length == 0.0 {
            return 0.0;
        }
        x /= length;
        let next = a.dot(&x);
        norm = next.dot(&next).sqrt();
        x = next;
    }
    norm
}
