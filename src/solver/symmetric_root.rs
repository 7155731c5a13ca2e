//! The square root of a symmetric positive semidefinite matrix.

use super::SolveError;
use crate::linalg::{product_in_strips, symmetric_eigen};
use ndarray::{Array2, Axis};

/// R with RR = `matrix`, symmetric; eigenvalues that rounding left below zero count as zero.
pub fn symmetric_root(matrix: &Array2<f64>) -> Result<Array2<f64>, SolveError> {
    let (values, vectors) = symmetric_eigen(matrix.as_standard_layout().into_owned())?; // vectors are rows
    let roots = values.mapv(|value| value.max(0.0).sqrt()).insert_axis(Axis(1));
    Ok(product_in_strips(vectors.t(), (&vectors * &roots).view()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_root_squared_is_the_matrix() {
        let matrix = array![[4.0, 2.0, 1.0], [2.0, 5.0, -1.0], [1.0, -1.0, 3.0]];
        let root = symmetric_root(&matrix).unwrap();
        assert!((root.dot(&root) - &matrix).iter().all(|gap| gap.abs() < 1e-12));
        assert!((&root - &root.t()).iter().all(|gap| gap.abs() < 1e-12));
        let flat = array![[1.0, 1.0], [1.0, 1.0]]; // singular
        let root = symmetric_root(&flat).unwrap();
        assert!((root.dot(&root) - &flat).iter().all(|gap| gap.abs() < 1e-12));
    }
}
