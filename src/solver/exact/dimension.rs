//! s_λ = Tr K(K + nλI)⁻¹, the effective dimension of the kernel on its rows.

use super::{ExactSolver, SolveError, Watch};
use ndarray::{Array1, Array2, Axis};

/// Random signs that the trace of a large matrix is estimated with.
pub const PROBES: usize = 12;

/// ‖r‖/‖z‖ of each.
const PROBE_TOLERANCE: f64 = 1e-4;

/// A trace, with its error where it was estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dimension {
    /// s_λ.
    pub value: f64,
    /// Of the mean over the signs, plus what the residual of their solutions allows; 0 where the trace is exact.
    pub standard_error: f64,
}

impl ExactSolver {
    /// Tr K(K+nλI)⁻¹ = n − nλ·Tr(K+nλI)⁻¹, the last trace exactly where the system is factored and otherwise as the mean
    /// of zᵀ(K+nλI)⁻¹z over vectors z of random signs. [Hutchinson 1990] An error where these were not solved for.
    pub fn dimension(&mut self, watch: Watch) -> Result<Dimension, SolveError> {
        let (n, shift) = (self.row_count(), self.shift());
        if !self.is_factored() {
            let probes = Array2::from_shape_fn((n, PROBES), |(row, probe)| sign((row * PROBES + probe) as u64));
            let solved = self.solve(probes.view(), PROBE_TOLERANCE, None, watch)?;
            if !solved.evidence.converged {
                return Err(self.not_converged(&solved.evidence));
            }
            if !self.is_factored() {
                return Ok(probed(&probes, &solved.coefficients, &solved.fitted, shift));
            }
        }
        let Some((factor, threads)) = self.factored() else { return Err(SolveError::Singular { ridge: self.ridge() }) };
        let trace = factor.inverse_trace_while(threads, |done| goes_on(watch, done)).ok_or(SolveError::Stopped)?;
        Ok(Dimension { value: n as f64 - shift * trace, standard_error: 0.0 })
    }

    /// The diagonal of (K+nλI)⁻¹, where the system is factored. Without row i, and with nλ as it is, the exact method is off
    /// its target by αᵢ over the i-th of these numbers.
    pub fn inverse_diagonal(&self, watch: Watch) -> Result<Option<Array1<f64>>, SolveError> {
        let Some((factor, threads)) = self.factored() else { return Ok(None) };
        factor.inverse_diagonal_while(threads, |done| goes_on(watch, done)).ok_or(SolveError::Stopped).map(Some)
    }
}

/// Tells how far the work is, and whether it goes on.
fn goes_on(watch: Watch, done: f64) -> bool {
    if let Some(progress) = watch.progress {
        progress(done);
    }
    (watch.go_on)()
}

/// From probes z, solutions α of (K+nλI)α ≈ z, cut short or not, and Kα. With the residual r = z − (K+nλI)α,
/// zᵀ(K+nλI)⁻¹z = zᵀα + αᵀr + rᵀ(K+nλI)⁻¹r, and the last term is between 0 and ‖r‖²/(nλ). So n − nλ(zᵀα + αᵀr) is
/// too large by ‖r‖² at most: on the safe side, since too small a dimension would claim too much.
fn probed(probes: &Array2<f64>, coefficients: &Array2<f64>, fitted: &Array2<f64>, shift: f64) -> Dimension {
    let n = probes.nrows() as f64;
    let residuals = probes - fitted - coefficients * shift;
    let forms = ((probes + &residuals) * coefficients).sum_axis(Axis(0));
    let allowed = (&residuals * &residuals).sum_axis(Axis(0)).mean().unwrap_or(0.0);
    let dimensions = forms.mapv(|form| n - shift * form);
    let sampling = dimensions.std(1.0) / (probes.ncols() as f64).sqrt();
    Dimension { value: dimensions.mean().unwrap_or(0.0), standard_error: sampling + allowed }
}

/// 1 or −1, from the mixed bits of a number. [Steele, Lea & Flood 2014]
fn sign(number: u64) -> f64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    if (bits ^ (bits >> 31)) & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Kernel;
    use crate::linalg::Cholesky;
    use crate::solver::exact::kernel_matrix;

    /// Solutions that are off by more and more: each time what the same probes say when solved exactly is below, by no
    /// more than is allowed for. Taken as they are, the solutions would be off by many times that.
    #[test]
    fn a_solve_that_was_cut_short_is_allowed_for() {
        let (rows, shift) = (40, 0.5);
        let inputs = Array2::from_shape_fn((rows, 2), |(i, j)| ((3 * i + 7 * j) as f64).sin());
        let kernel = kernel_matrix(Kernel::Gaussian { bandwidth: 0.5 }, inputs.view(), inputs.view());
        let mut system = kernel.clone();
        system.diag_mut().mapv_inplace(|value| value + shift);
        let probes = Array2::from_shape_fn((rows, PROBES), |(row, probe)| sign((row * PROBES + probe) as u64));
        let solved = Cholesky::factor(system, 1).unwrap().solve_columns(probes.clone());
        let at = |solved: &Array2<f64>| probed(&probes, solved, &kernel.dot(solved), shift);
        let (exact, dimension) =
            (at(&solved), |solved: &Array2<f64>| rows as f64 - shift * (&probes * solved).sum() / PROBES as f64);
        assert!((exact.value - dimension(&solved)).abs() < 1e-9);
        for off in [1e-3, 1e-2, 0.1, 1.0] {
            let short = &solved * (1.0 - off);
            let found = at(&short);
            let over = found.value - exact.value;
            assert!(over >= 0.0 && over <= found.standard_error, "{off}: {found:?} {exact:?}");
            assert!(over < 2.0 * off * (dimension(&short) - exact.value), "the residual is used: {off} {found:?}");
        }
    }
}
