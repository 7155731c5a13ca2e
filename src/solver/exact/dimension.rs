//! s_λ = Tr K(K + nλI)⁻¹, the effective dimension of the kernel on its rows.

use super::{DENSE_ROWS, ExactProblem, SolveError, kernel_matrix};
use crate::linalg::Cholesky;
use ndarray::{Array2, Axis};

/// Random signs that the trace of a large matrix is estimated with.
const PROBES: usize = 12;

/// A trace, with its standard error where it was estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dimension {
    /// s_λ.
    pub value: f64,
    /// 0 for few rows, where the trace is exact.
    pub standard_error: f64,
}

impl ExactProblem<'_> {
    /// Tr K(K+nλI)⁻¹ = n − nλ·Tr(K+nλI)⁻¹, the last trace exactly for few rows and otherwise as the mean of
    /// zᵀ(K+nλI)⁻¹z over vectors z of random signs. [Hutchinson 1990]
    pub fn dimension(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Dimension, SolveError> {
        let n = self.inputs.nrows();
        if n <= DENSE_ROWS && self.preconditioner.is_none() {
            let mut system = kernel_matrix(self.kernel, self.inputs, self.inputs);
            system.diag_mut().mapv_inplace(|value| value + self.shift());
            let trace = Cholesky::factor(system, self.threads)?.inverse_trace();
            return Ok(Dimension { value: n as f64 - self.shift() * trace, standard_error: 0.0 });
        }
        let probes = Array2::from_shape_fn((n, PROBES), |(row, probe)| sign((row * PROBES + probe) as u64));
        let problem = ExactProblem { targets: probes.view(), tolerance: 1e-4, ..*self };
        let solved = problem.solve(None, go_on)?;
        let forms = (&probes * &solved.coefficients).sum_axis(Axis(0));
        let dimensions = forms.mapv(|form| n as f64 - self.shift() * form);
        let standard_error = dimensions.std(1.0) / (PROBES as f64).sqrt();
        Ok(Dimension { value: dimensions.mean().unwrap_or(0.0), standard_error })
    }
}

/// 1 or −1, from the mixed bits of a number. [Steele, Lea & Flood 2014]
fn sign(number: u64) -> f64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    if (bits ^ (bits >> 31)) & 1 == 0 { 1.0 } else { -1.0 }
}
