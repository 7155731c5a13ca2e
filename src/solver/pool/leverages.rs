//! The ridge leverage of each draw of a pool by Cholesky: the diagonal of Q = G(G + λI)⁻¹ = I − λ(G + λI)⁻¹.
//!
//! With G = L·Lᵀ − λI the diagonal of the inverse is the squared norms of the columns of L⁻¹: two thirds of s³
//! multiplications on all cores, where an eigendecomposition takes several times as many on few.

use crate::linalg::{Cholesky, FactorError};
use ndarray::{Array1, Array2, Axis};

/// Share of the factorisation in the work.
const FACTOR: f64 = 0.5;

/// Q_jj of every draw, summed over its columns j, j + m, … G is full or lower triangular, and its memory is reused. None
/// if `go_on`, which is told the share of the work that is done, says no.
pub fn ridge_leverages(
    mut gram: Array2<f64>,
    ridge: f64,
    draw_count: usize,
    threads: usize,
    go_on: impl Fn(f64) -> bool + Sync,
) -> Result<Option<Array1<f64>>, FactorError> {
    gram.diag_mut().mapv_inplace(|value| value + ridge);
    let Some(factor) = Cholesky::factor_while(gram, threads, |done| go_on(FACTOR * done))? else { return Ok(None) };
    let inverse = factor.inverse_diagonal_while(threads, |done| go_on(FACTOR + (1.0 - FACTOR) * done));
    Ok(inverse.map(|inverse| {
        // Rounding may leave a share of 1 or 0 by a little.
        let leverages = inverse.mapv_into(|value| (1.0 - ridge * value).clamp(0.0, 1.0));
        leverages.axis_chunks_iter(Axis(0), draw_count).fold(Array1::zeros(draw_count), |sum, columns| sum + columns)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two columns that never meet, with means of squares 3 and 1: Q = diag(3/4, 1/2) at λ = 1.
    #[test]
    fn values_by_hand() {
        let of = |draws| ridge_leverages(array![[3.0, 0.0], [0.0, 1.0]], 1.0, draws, 2, |_| true).unwrap().unwrap();
        assert!((of(2)[0] - 0.75).abs() < 1e-15 && (of(2)[1] - 0.5).abs() < 1e-15);
        assert!((of(1)[0] - 1.25).abs() < 1e-15);
        assert_eq!(ridge_leverages(array![[1.0]], 1.0, 1, 1, |_| false).unwrap(), None);
    }

    /// Columns that do not depend on each other: every leverage tends to 1 as λ tends to 0.
    #[test]
    fn without_a_ridge_all_independent_columns_have_the_same_leverage() {
        let noise = Array2::from_shape_fn((90, 40), |(i, j)| ((i * 31 + j * 17) as f64 * 0.7).sin() * (1.0 + j as f64));
        let gram = noise.t().dot(&noise) / 90.0 + Array2::<f64>::eye(40) * 1e-3;
        let found = ridge_leverages(gram, 1e-12, 20, 1, |_| true).unwrap().unwrap();
        assert!(found.iter().all(|leverage| (leverage - 2.0).abs() < 1e-6), "{found}");
    }
}
