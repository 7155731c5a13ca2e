//! G = Mᵀ T M with M orthogonal and T tridiagonal: half the work of an eigendecomposition, and as good
//! wherever (G + λI)⁻¹ is wanted at many λ.
#![allow(unsafe_code)] // calls into LAPACK; each states why its pointers are valid

use super::FactorError;
use ndarray::{Array1, Array2, ArrayView1};
use std::ffi::{c_char, c_int};

const ROUTINE: &str = "tridiagonal reduction";

unsafe extern "C" {
    fn dsytrd_(
        uplo: *const c_char,
        n: *const c_int,
        a: *mut f64,
        lda: *const c_int,
        d: *mut f64,
        e: *mut f64,
        tau: *mut f64,
        work: *mut f64,
        lwork: *const c_int,
        info: *mut c_int,
    );

    fn dorgtr_(
        uplo: *const c_char,
        n: *const c_int,
        a: *mut f64,
        lda: *const c_int,
        tau: *const f64,
        work: *mut f64,
        lwork: *const c_int,
        info: *mut c_int,
    );

    fn dsterf_(n: *const c_int, d: *mut f64, e: *mut f64, info: *mut c_int);
}

/// T and M of a symmetric matrix.
pub struct Tridiagonal {
    /// Of T, s.
    pub diagonal: Array1<f64>,
    /// Beside it, s − 1.
    pub off_diagonal: Array1<f64>,
    /// M, s×s, orthogonal.
    pub rotation: Array2<f64>,
}

impl Tridiagonal {
    /// Reduces a symmetric matrix, of which only the lower triangle is read.
    pub fn reduce(mut matrix: Array2<f64>) -> Result<Self, FactorError> {
        const BLOCK: usize = 64; // columns LAPACK works on at once
        let order = matrix.nrows();
        assert!(order > 0 && matrix.is_standard_layout() && matrix.ncols() == order);
        let fits = |count: usize| i32::try_from(count).map_err(|cause| FactorError::new(ROUTINE, cause));
        let n = fits(order)?;
        let mut diagonal = Array1::zeros(order);
        let mut off_diagonal = Array1::zeros(order - 1);
        let mut reflectors = vec![0.0; order];
        let mut work = vec![0.0; order * BLOCK];
        let work_length = fits(work.len())?;
        let mut status = 0;
        // SAFETY: `matrix` is a dense order×order array; `diagonal`, `off_diagonal` and `reflectors` have
        // at least order, order − 1 and order − 1 elements; `work` has the length passed with it, at
        // least order. To Fortran the row-major lower triangle is an upper one, and the columns of the
        // orthogonal matrix are our rows.
        unsafe {
            dsytrd_(
                c"U".as_ptr(),
                &raw const n,
                matrix.as_mut_ptr(),
                &raw const n,
                diagonal.as_mut_ptr(),
                off_diagonal.as_mut_ptr(),
                reflectors.as_mut_ptr(),
                work.as_mut_ptr(),
                &raw const work_length,
                &raw mut status,
            );
        }
        if status == 0 {
            // SAFETY: as above; `matrix` and `reflectors` are what dsytrd left.
            unsafe {
                dorgtr_(
                    c"U".as_ptr(),
                    &raw const n,
                    matrix.as_mut_ptr(),
                    &raw const n,
                    reflectors.as_ptr(),
                    work.as_mut_ptr(),
                    &raw const work_length,
                    &raw mut status,
                );
            }
        }
        if status != 0 || !diagonal.iter().all(|value: &f64| value.is_finite()) {
            return Err(FactorError::new(ROUTINE, format!("LAPACK returned {status}")));
        }
        Ok(Self { diagonal, off_diagonal, rotation: matrix })
    }

    /// The eigenvalues, in ascending order.
    pub fn eigenvalues(&self) -> Result<Array1<f64>, FactorError> {
        let n = i32::try_from(self.diagonal.len()).map_err(|cause| FactorError::new(ROUTINE, cause))?;
        let (mut values, mut beside) = (self.diagonal.clone(), self.off_diagonal.to_vec());
        let mut status = 0;
        // SAFETY: `values` has n elements and `beside` n − 1, and both are our own copies.
        unsafe { dsterf_(&raw const n, values.as_mut_ptr(), beside.as_mut_ptr(), &raw mut status) }
        if status == 0 { Ok(values) } else { Err(FactorError::new(ROUTINE, format!("dsterf returned {status}"))) }
    }

    /// T + λI = L D Lᵀ.
    pub fn factor(&self, shift: f64) -> ShiftedFactor {
        let mut pivots = Vec::with_capacity(self.diagonal.len());
        let mut ratios = Vec::with_capacity(self.diagonal.len());
        let mut carried = 0.0;
        for (i, diagonal) in self.diagonal.iter().enumerate() {
            let pivot: f64 = diagonal + shift - carried;
            // A pivot that is not positive is rounding at a λ too small for this matrix: no answer.
            pivots.push(if pivot > 0.0 { pivot } else { f64::NAN });
            if let Some(beside) = self.off_diagonal.get(i) {
                ratios.push(beside / pivots[i]);
                carried = beside * ratios[i];
            }
        }
        ShiftedFactor { ratios, pivots }
    }
}

/// L D Lᵀ of T + λI, L with ones on its diagonal. NaN where the matrix is not positive definite.
pub struct ShiftedFactor {
    /// Below the diagonal of L.
    pub ratios: Vec<f64>,
    /// The diagonal of D.
    pub pivots: Vec<f64>,
}

impl ShiftedFactor {
    /// (T + λI)⁻¹ b.
    pub fn solve(&self, b: ArrayView1<f64>) -> Array1<f64> {
        let mut x = b.to_owned();
        for i in 1..x.len() {
            x[i] -= self.ratios[i - 1] * x[i - 1];
        }
        for (x, pivot) in x.iter_mut().zip(&self.pivots) {
            *x /= pivot;
        }
        for i in (1..x.len()).rev() {
            x[i - 1] -= self.ratios[i - 1] * x[i];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{mirror_lower, symmetric_eigen};
    use ndarray::{Array2, array};

    fn matrix(order: usize) -> Array2<f64> {
        let noise = Array2::from_shape_fn((order, order), |(i, j)| ((i * 31 + j * 17) as f64).sin());
        noise.t().dot(&noise) / order as f64
    }

    #[test]
    fn the_parts_rebuild_the_matrix_and_its_spectrum() {
        for order in [1, 2, 3, 40, 150] {
            let full = matrix(order);
            let mut lower = full.clone();
            (0..order).for_each(|i| (i + 1..order).for_each(|j| lower[[i, j]] = f64::NAN));
            let parts = Tridiagonal::reduce(lower).unwrap();
            let mut t = Array2::from_diag(&parts.diagonal);
            for (i, value) in parts.off_diagonal.iter().enumerate() {
                t[[i + 1, i]] = *value;
            }
            mirror_lower(&mut t);
            let rebuilt = parts.rotation.t().dot(&t).dot(&parts.rotation);
            assert!((&rebuilt - &full).iter().all(|difference| difference.abs() < 1e-12), "{order}");
            let (expected, _) = symmetric_eigen(full).unwrap();
            assert!((&parts.eigenvalues().unwrap() - &expected).iter().all(|gap| gap.abs() < 1e-12), "{order}");
        }
    }

    #[test]
    fn solving_is_the_inverse_of_multiplying() {
        let full = matrix(60);
        let parts = Tridiagonal::reduce(full.clone()).unwrap();
        let b = Array1::from_shape_fn(60, |i| (i as f64 * 0.7).cos());
        let lambda = 1e-3;
        let x = parts.rotation.t().dot(&parts.factor(lambda).solve(parts.rotation.dot(&b).view()));
        let back = full.dot(&x) + lambda * &x;
        assert!((&back - &b).iter().all(|difference| difference.abs() < 1e-9));
    }

    #[test]
    fn an_indefinite_shift_gives_no_answer() {
        let parts = Tridiagonal::reduce(array![[1.0, 0.0], [2.0, 1.0]]).unwrap(); // eigenvalues −1 and 3
        assert!(parts.factor(0.5).solve(array![1.0, 1.0].view()).iter().any(|value| value.is_nan()));
        assert!(parts.factor(1.5).solve(array![1.0, 1.0].view()).iter().all(|value| value.is_finite()));
    }
}
