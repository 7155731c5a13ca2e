//! Theorem 8: there are rows of one input for which n_λ/400 draws from the gaussian kernel or fewer miss Δ = ½ with
//! probability at least ½.
//!
//! **Conditions.** An odd n of at least 17, 10/n < nλ ≤ n/2 in our λ, and rows that fill [−R, R] in units of 2πσ with
//! 3000·log^1.5 n_λ ≤ R ≤ n/(500√log n_λ). That range of R is empty unless n ≥ 1.5·10⁶·log² n_λ.

/// The fewest rows of the theorem.
const FEWEST_ROWS: f64 = 17.0;

/// What the theorem says for n rows and λ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FewestDraws {
    /// n_λ/400: so many draws or fewer are not enough.
    pub draws: f64,
    /// The least and the largest R of such rows.
    pub radii: (f64, f64),
}

/// The draws that are not enough; none if a condition is not met. [A, Thm 8]
pub fn fewest_draws(sample_count: usize, ridge: f64) -> Option<FewestDraws> {
    let (n, n_lambda) = (sample_count as f64, 1.0 / ridge);
    let log = n_lambda.ln();
    if n < FEWEST_ROWS || ridge > 0.5 || ridge * n * n <= 10.0 {
        return None;
    }
    let radii = (3_000.0 * log.powf(1.5), n / (500.0 * log.sqrt()));
    (radii.0 <= radii.1).then_some(FewestDraws { draws: n_lambda / 400.0, radii })
}

/// The rows from which on the theorem says something at a λ of at most ½.
pub fn rows_needed(ridge: f64) -> f64 {
    let log = -ridge.ln();
    (1.5e6 * log * log).max((10.0 / ridge).sqrt()).max(FEWEST_ROWS).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n_λ = e: log = 1, so R lies between 3000 and n/500, and n must be at least 1.5 million.
    #[test]
    fn values_by_hand() {
        let ridge = (-1.0_f64).exp();
        let found = fewest_draws(2_000_000, ridge).unwrap();
        assert!((found.draws - std::f64::consts::E / 400.0).abs() < 1e-15);
        assert!((found.radii.0 - 3_000.0).abs() < 1e-9 && (found.radii.1 - 4_000.0).abs() < 1e-9);
        assert_eq!(rows_needed(ridge), 1_500_000.0);
        assert_eq!(fewest_draws(1_400_000, ridge), None);
        assert_eq!(fewest_draws(2_000_000, 0.6), None);
    }
}
