//! Bounds on Q and ‖Kα‖² of the exact solution that account for the solver's residual.
//!
//! With α̂ for α and r = y − (K + nλI)α̂, α − α̂ = (K + nλI)⁻¹r. Since √μ/(μ + nλ) ≤ 1/(2√(nλ)) for every μ ≥ 0,
//! |√Q − √Q̂| ≤ ‖r‖/(2√(nλ)); since K ≼ K + nλI, |‖Kα‖ − ‖Kα̂‖| ≤ ‖r‖. Each guarantee uses the end that makes it weaker.

use super::Evidence;

/// A lower and an upper bound on each quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution {
    /// Q.
    pub(super) quadratic_form: (f64, f64),
    /// ‖Kα‖², if it was recorded.
    pub(super) fitted_square: Option<(f64, f64)>,
}

impl Evidence {
    /// None unless this is a ridge fit whose exact system was solved. `relative_residual` bounds the residual of each
    /// target relative to its norm.
    pub(super) fn solution(&self) -> Option<Solution> {
        let exact = self.exact.as_ref()?;
        let n = self.sample_count as f64;
        let residual = exact.relative_residual * (n * self.target_mean_square?).sqrt();
        Some(Solution {
            quadratic_form: around(exact.quadratic_form, residual / (2.0 * (n * self.ridge).sqrt())),
            fitted_square: exact.fitted_square.map(|square| around(square, residual)),
        })
    }
}

/// The range of x² for |x − √square| ≤ error.
fn around(square: f64, error: f64) -> (f64, f64) {
    if error == 0.0 {
        return (square, square);
    }
    let root = square.max(0.0).sqrt();
    ((root - error).max(0.0).powi(2), (root + error).powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::ExactEvidence;
    use crate::theory::evidence::tests::{exact, ridge_fit};
    use crate::theory::papers::wang;

    /// K = diag(2, 0), nλ = 2, y = (4, 3): α = (1, 1.5). At α̂ = (0, 0) the residual is y itself, of norm 5: Q = 2
    /// against Q̂ = 0 is within (5/(2√2))² = 3.125, and ‖Kα‖² = 4 within 25.
    #[test]
    fn the_exact_numbers_lie_within_the_bounds() {
        let of = |relative_residual, quadratic_form, fitted_square| {
            let exact = ExactEvidence { relative_residual, ..exact(quadratic_form, fitted_square) };
            let fit = Evidence {
                sample_count: 2,
                ridge: 1.0,
                target_mean_square: Some(12.5),
                exact: Some(exact),
                ..ridge_fit()
            };
            fit.solution().unwrap()
        };
        let cold = of(1.0, 0.0, 0.0);
        assert!((cold.quadratic_form.1 - 3.125).abs() < 1e-12 && cold.quadratic_form.0 == 0.0);
        assert!((cold.fitted_square.unwrap().1 - 25.0).abs() < 1e-12);
        // α̂ = (0.9, 1.5): r = (0.4, 0), Q̂ = 1.62, ‖Kα̂‖² = 3.24.
        let near = of(0.08, 1.62, 3.24);
        // Attained, since the residual lies along the eigenvalue nλ.
        assert!(near.quadratic_form.0 <= 2.0 && (near.quadratic_form.1 - 2.0).abs() < 1e-12, "{near:?}");
        let fitted = near.fitted_square.unwrap();
        assert!(fitted.0 <= 4.0 && 4.0 <= fitted.1, "{near:?}");
        assert_eq!(of(0.0, 2.0, 4.0), Solution { quadratic_form: (2.0, 2.0), fitted_square: Some((4.0, 4.0)) });
    }

    #[test]
    fn a_residual_makes_bounds_weaker() {
        let bounds = |relative_residual: f64| {
            let exact = ExactEvidence { relative_residual, ..exact(0.037, 0.5) };
            let fit = Evidence { exact: Some(exact), ..ridge_fit() };
            [wang::theorem1(&fit, 0.05).value.unwrap(), wang::theorem1_sharp(&fit, 0.05).value.unwrap()]
        };
        assert!(bounds(1e-4).iter().zip(bounds(0.0)).all(|(loose, sharp)| *loose > sharp));
    }
}
