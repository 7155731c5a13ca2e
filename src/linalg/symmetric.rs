//! Eigenvalues and eigenvectors of symmetric matrices.
#![allow(unsafe_code)] // a call into LAPACK, which states why its pointers are valid

use super::{FactorError, apart, checkpoint};
use ndarray::{Array1, Array2};
use std::ffi::{CStr, c_char, c_int};

unsafe extern "C" {
    fn dsyevd_(
        jobz: *const c_char,
        uplo: *const c_char,
        n: *const c_int,
        a: *mut f64,
        lda: *const c_int,
        w: *mut f64,
        work: *mut f64,
        lwork: *const c_int,
        iwork: *mut c_int,
        liwork: *const c_int,
        info: *mut c_int,
    );
}

/// Eigenvalues in ascending order and eigenvectors as **rows** of a symmetric matrix, of which only the lower triangle
/// is read. Divide and conquer (`dsyevd`): several times faster than the QR iteration (`dsyev`) of ndarray-linalg.
pub fn symmetric_eigen(matrix: Array2<f64>) -> Result<(Array1<f64>, Array2<f64>), FactorError> {
    apart(move || decompose(matrix, c"V"))
}

/// Only the eigenvalues, in ascending order, in a third of the time. (`eigvalsh` of ndarray-linalg computes the
/// eigenvectors as well and drops them.)
pub fn symmetric_eigenvalues(matrix: Array2<f64>) -> Result<Array1<f64>, FactorError> {
    Ok(apart(move || decompose(matrix, c"N"))?.0)
}

fn decompose(mut matrix: Array2<f64>, wanted: &CStr) -> Result<(Array1<f64>, Array2<f64>), FactorError> {
    const ROUTINE: &str = "the symmetric eigendecomposition";
    let order = matrix.nrows();
    assert!(matrix.is_standard_layout() && matrix.ncols() == order);
    let n = i32::try_from(order).map_err(|cause| FactorError::new(ROUTINE, cause))?;
    let mut values = Array1::zeros(order);
    let (mut status, mut work, mut integers) = (0, vec![0.0], vec![0]);
    for query in [true, false] {
        let length = |count: usize| i32::try_from(count).map_err(|cause| FactorError::new(ROUTINE, cause));
        let (work_length, integer_length) =
            if query { (-1, -1) } else { (length(work.len())?, length(integers.len())?) };
        // SAFETY: `matrix` is a dense order×order array, `values` has `order` elements, and the
        // workspaces have the lengths passed with them; a length of −1 only asks for their sizes. To
        // Fortran the row-major lower triangle is an upper one, and eigenvectors come as columns,
        // which are our rows.
        unsafe {
            dsyevd_(
                wanted.as_ptr(),
                c"U".as_ptr(),
                &raw const n,
                matrix.as_mut_ptr(),
                &raw const n,
                values.as_mut_ptr(),
                work.as_mut_ptr(),
                &raw const work_length,
                integers.as_mut_ptr(),
                &raw const integer_length,
                &raw mut status,
            );
        }
        if status != 0 {
            return Err(FactorError::new(ROUTINE, format!("it did not converge ({status})")));
        }
        if query {
            work = vec![0.0; work[0] as usize];
            integers = vec![0; integers[0] as usize];
        }
    }
    Ok((values, matrix))
}

/// Copies the lower triangle onto the upper one.
pub fn mirror_lower(matrix: &mut Array2<f64>) {
    const TILE: usize = 64; // a tile and its mirror image stay in the cache
    let order = matrix.nrows();
    for first_row in (0..order).step_by(TILE) {
        checkpoint();
        for first_column in (0..=first_row).step_by(TILE) {
            for i in first_row..order.min(first_row + TILE) {
                for j in first_column..i.min(first_column + TILE) {
                    matrix[[j, i]] = matrix[[i, j]];
                }
            }
        }
    }
}

/// Largest eigenvalue of a symmetric positive semidefinite matrix by power iteration: an estimate from below, good to a
/// few percent, for condition numbers and reports.
pub fn largest_eigenvalue(matrix: &Array2<f64>) -> f64 {
    const ITERATIONS: usize = 12;
    const SETTLED: f64 = 1e-11; // a change, relative
    let order = matrix.nrows();
    // The start is irregular, so that it is unlikely to be orthogonal to the top eigenvector.
    let mut direction = Array1::from_shape_fn(order, |i| 1.0 + ((i * 7919 + 13) % 101) as f64 / 101.0);
    let mut value = 0.0;
    for _ in 0..ITERATIONS {
        let norm = direction.dot(&direction).sqrt();
        if norm == 0.0 {
            return 0.0;
        }
        direction /= norm;
        checkpoint();
        let image = matrix.dot(&direction);
        let before = std::mem::replace(&mut value, direction.dot(&image)); // Rayleigh quotient
        direction = image;
        if value - before <= SETTLED * value {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn eigenvectors_are_rows_and_rebuild_the_matrix() {
        let matrix = array![[4.0, f64::NAN, f64::NAN], [2.0, 5.0, f64::NAN], [1.0, -1.0, 3.0]];
        let mut full = matrix.clone();
        mirror_lower(&mut full);
        let (values, vectors) = symmetric_eigen(matrix).unwrap();
        let rebuilt = vectors.t().dot(&Array2::from_diag(&values)).dot(&vectors);
        assert!((&rebuilt - &full).iter().all(|difference| difference.abs() < 1e-13));
        assert!(values[0] <= values[1] && values[1] <= values[2]);
        let alone = symmetric_eigenvalues(full).unwrap();
        assert!((&alone - &values).iter().all(|gap| gap.abs() < 1e-13));
    }

    #[test]
    fn power_iteration_finds_the_top_of_the_spectrum() {
        let matrix = array![[2.0, 1.0], [1.0, 2.0]];
        assert!((largest_eigenvalue(&matrix) - 3.0).abs() < 1e-9);
        assert!(largest_eigenvalue(&Array2::zeros((3, 3))).abs() < 1e-300);
    }
}
