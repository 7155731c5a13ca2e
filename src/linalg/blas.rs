//! The CBLAS routines that ndarray does not offer, in both precisions.
//!
//! ndarray-linalg has triangular solves too (LAPACK's `?trtrs`), but from the left only and on whole matrices; the tiled
//! Cholesky factorisation solves from the right, in place, on pieces of a matrix.
#![allow(unsafe_code)] // calls into CBLAS; each states why its pointers are valid

use cblas_sys::{CBLAS_DIAG, CBLAS_LAYOUT, CBLAS_SIDE, CBLAS_TRANSPOSE, CBLAS_UPLO};
use ndarray::{Array2, ArrayBase, ArrayView2, ArrayViewMut2, Ix2, LinalgScalar, RawData};
use std::ffi::c_int;

/// `?syrk`.
pub(super) type Syrk<T> =
    unsafe extern "C" fn(CBLAS_LAYOUT, CBLAS_UPLO, CBLAS_TRANSPOSE, c_int, c_int, T, *const T, c_int, T, *mut T, c_int);

/// `?trsm`.
pub(super) type Trsm<T> = unsafe extern "C" fn(
    CBLAS_LAYOUT,
    CBLAS_SIDE,
    CBLAS_UPLO,
    CBLAS_TRANSPOSE,
    CBLAS_DIAG,
    c_int,
    c_int,
    T,
    *const T,
    c_int,
    *mut T,
    c_int,
);

/// A triangular system; its right side B is overwritten with the solution X.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triangle {
    /// L·X = B.
    Lower,
    /// Lᵀ·X = B.
    Transposed,
    /// X·Lᵀ = B.
    TransposedFromTheRight,
}

/// Overwrites the lower triangle of `gram` (s×s) with BᵀB, where `block` is B (rows×s).
pub(super) fn rank_update<T: LinalgScalar>(routine: Syrk<T>, block: ArrayView2<T>, gram: &mut Array2<T>) {
    let (rows, columns) = block.dim();
    assert!(block.is_standard_layout() && gram.is_standard_layout());
    assert_eq!(gram.dim(), (columns, columns));
    let (rows, columns) = (blas_count(rows), blas_count(columns));
    // SAFETY: both arrays are row-major, dense, and `gram` is columns×columns, so CBLAS reads
    // rows·columns and writes columns² elements.
    unsafe {
        routine(
            CBLAS_LAYOUT::CblasRowMajor,
            CBLAS_UPLO::CblasLower,
            CBLAS_TRANSPOSE::CblasTrans,
            columns,
            rows,
            T::one(),
            block.as_ptr(),
            columns,
            T::zero(),
            gram.as_mut_ptr(),
            columns,
        );
    }
}

/// Overwrites `values`, the right side B, with the solution X.
pub(super) fn solve_triangle<T: LinalgScalar>(
    routine: Trsm<T>,
    system: Triangle,
    lower: ArrayView2<T>,
    mut values: ArrayViewMut2<T>,
) {
    let (side, transposed, order) = match system {
        Triangle::Lower => (CBLAS_SIDE::CblasLeft, CBLAS_TRANSPOSE::CblasNoTrans, values.nrows()),
        Triangle::Transposed => (CBLAS_SIDE::CblasLeft, CBLAS_TRANSPOSE::CblasTrans, values.nrows()),
        Triangle::TransposedFromTheRight => (CBLAS_SIDE::CblasRight, CBLAS_TRANSPOSE::CblasTrans, values.ncols()),
    };
    assert_eq!(lower.dim(), (order, order));
    let (rows, columns) = (blas_count(values.nrows()), blas_count(values.ncols()));
    let (lower_stride, stride) = (row_stride(&lower), row_stride(&values));
    // SAFETY: `row_stride` checked that rows are contiguous and do not overlap; `lower` is order×order
    // and `values` rows×columns with the matching side of length order.
    unsafe {
        routine(
            CBLAS_LAYOUT::CblasRowMajor,
            side,
            CBLAS_UPLO::CblasLower,
            transposed,
            CBLAS_DIAG::CblasNonUnit,
            rows,
            columns,
            T::one(),
            lower.as_ptr(),
            lower_stride,
            values.as_mut_ptr(),
            stride,
        );
    }
}

/// Elements from one row to the next, for a matrix with contiguous rows.
fn row_stride<S: RawData>(matrix: &ArrayBase<S, Ix2>) -> c_int {
    let (stride, columns) = (matrix.strides()[0], matrix.ncols());
    assert!(columns <= 1 || matrix.strides()[1] == 1, "rows are contiguous");
    let stride = if matrix.nrows() <= 1 { columns } else { usize::try_from(stride).expect("rows go forward") };
    assert!(stride >= columns, "rows do not overlap");
    blas_count(stride.max(1))
}

fn blas_count(count: usize) -> c_int {
    c_int::try_from(count).expect("a block has fewer than 2^31 rows")
}
