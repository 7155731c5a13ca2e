//! Dense linear algebra: the only room that calls BLAS or LAPACK and the only one that may use `unsafe`.
//!
//! LAPACK is called through ndarray-linalg, except for the divide-and-conquer eigensolver, which it lacks. Kernels of
//! our own are kept for one of two reasons, given in each file: they return the same bits for any number of threads and
//! any batch, or they are measurably faster at the shapes of this program.
#![allow(unsafe_code)] // sets the number of BLAS threads

/// BLAS routines that ndarray does not offer.
mod blas;

/// Stops a long computation from outside.
mod interrupt;

/// Work on the pieces of a matrix in parallel.
mod parallel;

/// Cholesky factors.
mod cholesky;

/// Eigenvalues and eigenvectors.
mod symmetric;

/// Reduction to band form, for many ridge parameters.
mod banded;

/// The choice of vector instructions.
mod instructions;

/// Vector arithmetic in f32 and f64.
mod lanes;

/// Memory aligned to cache lines.
mod aligned;

/// Scratch memory that a thread reuses.
mod scratch;

/// Sums of the outer products of rows.
mod packed;

/// Products with matrices of few columns.
mod skinny;

/// Dot products with weights in f64.
mod mixed_dot;

pub use aligned::Aligned;
pub use banded::{Banded, LANES, Reflectors, ShiftedFactor};
pub use blas::Triangle;
pub use cholesky::{Cholesky, lower_factor, lower_factor_while, solve_factored};
pub use instructions::{InstructionSet, MissingInstructions, bulk_instructions, instructions_for};
pub use interrupt::{StopSignal, apart, checkpoint, is_stop, product_in_strips, signal, stoppable, with_signal};
pub use lanes::Lanes;
pub use mixed_dot::mixed_dot;
pub use packed::{BLOCKS_TOGETHER, PackedRows, add_outer_products};
pub use parallel::in_parallel;
pub use scratch::{Kept, Scratch};
pub use skinny::{add_transposed_product, product};
pub use symmetric::{largest_eigenvalue, mirror_lower, symmetric_eigen, symmetric_eigenvalues};

use cblas_sys::{cblas_dsyrk, cblas_dtrsm, cblas_ssyrk, cblas_strsm};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, LinalgScalar};
use openblas_src as _; // named once, so that the linker keeps it
use std::ffi::c_int;

/// The two precisions of features, f32 and f64; sums over rows are always f64.
pub trait Real: LinalgScalar + Lanes + Kept + Send + Sync {
    /// Distance from 1 to the next number.
    const EPSILON: f64;

    /// Rounds to this precision.
    fn from_f64(value: f64) -> Self;

    /// Widens without loss.
    fn to_f64(self) -> f64;

    /// Overwrites the lower triangle of `gram` (s×s) with BᵀB, where `block` is B (rows×s).
    /// `?syrk` does half the work of the general product that ndarray offers.
    fn rank_update(block: ArrayView2<Self>, gram: &mut Array2<Self>);

    /// Overwrites the right side of a triangular system with its solution.
    fn solve_triangle(system: Triangle, lower: ArrayView2<Self>, values: ArrayViewMut2<Self>);

    /// L with L·Lᵀ = `tile`, of which only the lower triangle is read. One LAPACK call, on one thread.
    fn factor_tile(tile: Array2<Self>) -> Result<Array2<Self>, FactorError>;
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn rank_update(block: ArrayView2<Self>, gram: &mut Array2<Self>) {
        blas::rank_update(cblas_ssyrk, block, gram);
    }

    fn solve_triangle(system: Triangle, lower: ArrayView2<Self>, values: ArrayViewMut2<Self>) {
        blas::solve_triangle(cblas_strsm, system, lower, values);
    }

    fn factor_tile(tile: Array2<Self>) -> Result<Array2<Self>, FactorError> {
        cholesky::factor_tile(tile)
    }
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    fn rank_update(block: ArrayView2<Self>, gram: &mut Array2<Self>) {
        blas::rank_update(cblas_dsyrk, block, gram);
    }

    fn solve_triangle(system: Triangle, lower: ArrayView2<Self>, values: ArrayViewMut2<Self>) {
        blas::solve_triangle(cblas_dtrsm, system, lower, values);
    }

    fn factor_tile(tile: Array2<Self>) -> Result<Array2<Self>, FactorError> {
        cholesky::factor_tile(tile)
    }
}

unsafe extern "C" {
    fn openblas_set_num_threads(count: c_int);
}

/// Sets BLAS to one thread per call, process-wide; called once at start. This program runs blocks in parallel itself, so
/// that its thread counts hold and results do not depend on them.
pub fn use_one_blas_thread() {
    // SAFETY: takes a plain integer; OpenBLAS guards its own pool.
    unsafe { openblas_set_num_threads(1) }
}

/// LAPACK could not factor or decompose a matrix.
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
}
