//! Calls into BLAS and LAPACK: the only place that names `ndarray_linalg`, sets BLAS threads or is
//! allowed `unsafe`.
#![allow(unsafe_code)] // calls into CBLAS; each states why its pointers are valid

/// Eigenvalues and eigenvectors.
mod symmetric;

/// One reduction for many shifts.
mod tridiagonal;

/// Vector arithmetic.
mod lanes;

/// Products with matrices of a few columns.
mod skinny;

pub use lanes::Lanes;
pub use skinny::{add_transposed_product, product};
pub use symmetric::{largest_eigenvalue, mirror_lower, symmetric_eigen};
pub use tridiagonal::{ShiftedFactor, Tridiagonal};

use cblas_sys::{
    CBLAS_DIAG, CBLAS_LAYOUT, CBLAS_SIDE, CBLAS_TRANSPOSE, CBLAS_UPLO, cblas_dsyrk, cblas_dtrsm, cblas_ssyrk,
    cblas_strsm,
};
use ndarray::{Array1, Array2, ArrayView2, LinalgScalar, OwnedRepr};
use ndarray_linalg::cholesky::CholeskyFactorized;
use ndarray_linalg::{FactorizeCInto, InverseC, Lapack, SolveC, UPLO};
use openblas_src as _; // named once, so that the linker keeps it
use std::ffi::c_int;

/// The two precisions we compute in. A closed set: features are `f32` or `f64`, sums are `f64`.
pub trait Real: LinalgScalar + Lanes + Send + Sync {
    /// Distance from 1 to the next number.
    const EPSILON: f64;

    /// Rounds to this precision.
    fn from_f64(value: f64) -> Self;

    /// Widens without loss.
    fn to_f64(self) -> f64;

    /// Overwrites the lower triangle of `gram` (s×s) with BᵀB, where `block` is B (rows×s).
    /// `?syrk` does half the work of a general product, which is all ndarray offers.
    fn rank_update(block: ArrayView2<Self>, gram: &mut Array2<Self>);

    /// L with L·Lᵀ = `matrix`, of both of which only the lower triangle counts.
    fn lower_factor(matrix: Array2<Self>) -> Result<Array2<Self>, FactorError>;

    /// Overwrites `columns` (order×k) with X, where L·Lᵀ·X = `columns`.
    fn solve_factored(lower: &Array2<Self>, columns: &mut Array2<Self>);
}

impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;

    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn rank_update(block: ArrayView2<Self>, gram: &mut Array2<Self>) {
        let shape = RankUpdate::of(&block, gram);
        // SAFETY: `RankUpdate::of` checked that both arrays are row-major, dense, and that `gram`
        // is columns×columns, so CBLAS reads rows·columns and writes columns² elements.
        unsafe {
            cblas_ssyrk(
                CBLAS_LAYOUT::CblasRowMajor,
                CBLAS_UPLO::CblasLower,
                CBLAS_TRANSPOSE::CblasTrans,
                shape.columns,
                shape.rows,
                1.0,
                block.as_ptr(),
                shape.columns,
                0.0,
                gram.as_mut_ptr(),
                shape.columns,
            );
        }
    }

    fn lower_factor(matrix: Array2<Self>) -> Result<Array2<Self>, FactorError> {
        Ok(factorise(matrix)?.factor.reversed_axes())
    }

    fn solve_factored(lower: &Array2<Self>, columns: &mut Array2<Self>) {
        let (order, count) = triangle_shape(lower, columns);
        for transposed in [CBLAS_TRANSPOSE::CblasNoTrans, CBLAS_TRANSPOSE::CblasTrans] {
            // SAFETY: `triangle_shape` checked that both arrays are row-major and dense, `lower`
            // order×order and `columns` order×count, which CBLAS overwrites.
            unsafe {
                cblas_strsm(
                    CBLAS_LAYOUT::CblasRowMajor,
                    CBLAS_SIDE::CblasLeft,
                    CBLAS_UPLO::CblasLower,
                    transposed,
                    CBLAS_DIAG::CblasNonUnit,
                    order,
                    count,
                    1.0,
                    lower.as_ptr(),
                    order,
                    columns.as_mut_ptr(),
                    count,
                );
            }
        }
    }
}

impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;

    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn rank_update(block: ArrayView2<Self>, gram: &mut Array2<Self>) {
        let shape = RankUpdate::of(&block, gram);
        // SAFETY: as for f32.
        unsafe {
            cblas_dsyrk(
                CBLAS_LAYOUT::CblasRowMajor,
                CBLAS_UPLO::CblasLower,
                CBLAS_TRANSPOSE::CblasTrans,
                shape.columns,
                shape.rows,
                1.0,
                block.as_ptr(),
                shape.columns,
                0.0,
                gram.as_mut_ptr(),
                shape.columns,
            );
        }
    }

    fn lower_factor(matrix: Array2<Self>) -> Result<Array2<Self>, FactorError> {
        Ok(factorise(matrix)?.factor.reversed_axes())
    }

    fn solve_factored(lower: &Array2<Self>, columns: &mut Array2<Self>) {
        let (order, count) = triangle_shape(lower, columns);
        for transposed in [CBLAS_TRANSPOSE::CblasNoTrans, CBLAS_TRANSPOSE::CblasTrans] {
            // SAFETY: as for f32.
            unsafe {
                cblas_dtrsm(
                    CBLAS_LAYOUT::CblasRowMajor,
                    CBLAS_SIDE::CblasLeft,
                    CBLAS_UPLO::CblasLower,
                    transposed,
                    CBLAS_DIAG::CblasNonUnit,
                    order,
                    count,
                    1.0,
                    lower.as_ptr(),
                    order,
                    columns.as_mut_ptr(),
                    count,
                );
            }
        }
    }
}

/// The checked shape of one rank-k update.
struct RankUpdate {
    rows: i32,
    columns: i32,
}

impl RankUpdate {
    fn of<T>(block: &ArrayView2<T>, gram: &Array2<T>) -> Self {
        let (rows, columns) = block.dim();
        assert!(block.is_standard_layout() && gram.is_standard_layout());
        assert_eq!(gram.dim(), (columns, columns));
        Self { rows: blas_count(rows), columns: blas_count(columns) }
    }
}

fn factorise<T: Lapack>(matrix: Array2<T>) -> Result<CholeskyFactorized<OwnedRepr<T>>, FactorError> {
    // A row-major lower triangle is a column-major upper one: LAPACK works in place on it.
    let factor = matrix.reversed_axes().factorizec_into(UPLO::Upper);
    factor.map_err(|cause| FactorError::new("Cholesky factorisation", cause))
}

fn triangle_shape<T>(lower: &Array2<T>, columns: &Array2<T>) -> (c_int, c_int) {
    assert!(lower.is_standard_layout() && columns.is_standard_layout());
    assert!(lower.is_square() && columns.nrows() == lower.nrows());
    (blas_count(columns.nrows()), blas_count(columns.ncols()))
}

fn blas_count(count: usize) -> c_int {
    c_int::try_from(count).expect("a block has fewer than 2^31 rows")
}

unsafe extern "C" {
    fn openblas_set_num_threads(count: c_int);
}

/// One BLAS thread per call: we run row blocks in parallel ourselves, so that thread counts stay
/// ours to set. Process-wide; called once at start.
pub fn use_one_blas_thread() {
    // SAFETY: takes a plain integer; OpenBLAS guards its own pool.
    unsafe { openblas_set_num_threads(1) }
}

/// A matrix could not be factorised or decomposed.
#[derive(Debug, thiserror::Error)]
#[error("{routine} failed: {cause}")]
pub struct FactorError {
    routine: &'static str,
    cause: String,
}

impl FactorError {
    fn new(routine: &'static str, cause: impl ToString) -> Self {
        Self { routine, cause: cause.to_string() }
    }
}

/// A = L·Lᵀ of a symmetric positive definite matrix, ready to solve with.
pub struct Cholesky {
    factor: CholeskyFactorized<OwnedRepr<f64>>,
}

impl Cholesky {
    /// Factors `matrix`, of which only the lower triangle is read.
    pub fn factor(matrix: Array2<f64>) -> Result<Self, FactorError> {
        Ok(Self { factor: factorise(matrix)? })
    }

    /// L, the lower triangle row by row.
    pub fn lower_rows(&self) -> Vec<f64> {
        // The factor is kept transposed, as an upper triangle.
        let upper = &self.factor.factor;
        (0..upper.nrows()).flat_map(|i| (0..=i).map(move |j| upper[[j, i]])).collect()
    }

    /// tr A⁻¹.
    pub fn inverse_trace(&self) -> Result<f64, FactorError> {
        let inverse = self.factor.invc().map_err(|cause| FactorError::new("Cholesky inverse", cause))?;
        Ok(inverse.diag().sum())
    }

    /// Solves A·x = b.
    pub fn solve(&self, b: &Array1<f64>) -> Result<Array1<f64>, FactorError> {
        self.factor.solvec(b).map_err(|cause| FactorError::new("Cholesky solve", cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_rank_update_is_the_product_with_the_transpose() {
        let block = array![[1.0, 2.0, -1.0], [0.5, -3.0, 4.0]];
        let expected = block.t().dot(&block);
        let mut double = Array2::<f64>::zeros((3, 3));
        f64::rank_update(block.view(), &mut double);
        let mut single = Array2::<f32>::zeros((3, 3));
        f32::rank_update(block.mapv(|value| value as f32).view(), &mut single);
        for (i, j) in (0..3).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            assert!((double[[i, j]] - expected[[i, j]]).abs() < 1e-14);
            assert!((f64::from(single[[i, j]]) - expected[[i, j]]).abs() < 1e-6);
        }
    }

    #[test]
    fn cholesky_reads_the_lower_triangle_only() {
        let matrix = array![[4.0, f64::NAN, f64::NAN], [2.0, 5.0, f64::NAN], [1.0, -1.0, 3.0]];
        let mut full = matrix.clone();
        mirror_lower(&mut full);
        let b = array![1.0, -2.0, 0.5];
        let x = Cholesky::factor(matrix).unwrap().solve(&b).unwrap();
        let back = full.dot(&x);
        assert!((&back - &b).iter().all(|difference| difference.abs() < 1e-14));
    }

    #[test]
    fn all_columns_are_solved_at_once() {
        let full = array![[4.0, 2.0, 1.0], [2.0, 5.0, -1.0], [1.0, -1.0, 3.0]];
        let b = array![[1.0, 0.0], [-2.0, 3.0], [0.5, 7.0]];
        let mut x = b.clone();
        f64::solve_factored(&f64::lower_factor(full.clone()).unwrap(), &mut x);
        assert!((&full.dot(&x) - &b).iter().all(|difference| difference.abs() < 1e-14));
        let (full, mut single) = (full.mapv(|value| value as f32), b.mapv(|value| value as f32));
        f32::solve_factored(&f32::lower_factor(full).unwrap(), &mut single);
        assert!((&single.mapv(f64::from) - &x).iter().all(|difference| difference.abs() < 1e-5));
    }

    #[test]
    fn the_factor_and_the_trace_of_the_inverse_by_hand() {
        // [[4, 2], [2, 5]] = L·Lᵀ with L = [[2, 0], [1, 2]]; its inverse is [[5, −2], [−2, 4]]/16.
        let factor = Cholesky::factor(array![[4.0, 0.0], [2.0, 5.0]]).unwrap();
        assert_eq!(factor.lower_rows(), [2.0, 1.0, 2.0]);
        assert!((factor.inverse_trace().unwrap() - 9.0 / 16.0).abs() < 1e-15);
        assert!(Cholesky::factor(array![[1.0, 0.0], [2.0, 1.0]]).is_err(), "an indefinite matrix");
    }
}
