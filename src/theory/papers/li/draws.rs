//! The number of draws that Theorem 1 and its corollaries require.

/// The required number of draws: twice as printed, once as proved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnoughDraws {
    /// 5·d̃·log(16d/δ), as Corollaries 1 and 2 print it.
    pub corollary: f64,
    /// 12·d̃·log(d/δ), as Theorem 1 prints it.
    pub theorem1: f64,
    /// (32/3)·d̃·log(16d/δ), as the proof gives it.
    pub repaired: f64,
}

/// `leverage_sum` is d̃: κ²/λ for plain sampling, d(λ) for sampling by leverage. If λ is so large that a logarithm is
/// negative, nothing is proved and the count is 0. [L, Thm 1, Cor. 1–2]
pub fn enough_draws(leverage_sum: f64, effective_dimension: f64, failure_probability: f64) -> EnoughDraws {
    let log = |factor: f64| ((factor * effective_dimension).ln() - failure_probability.ln()).max(0.0);
    EnoughDraws {
        corollary: 5.0 * leverage_sum * log(16.0),
        theorem1: 12.0 * leverage_sum * log(1.0),
        repaired: 32.0 / 3.0 * leverage_sum * log(16.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// d̃ = 10, d = 1, δ = 16/e: the corollary requires 50, the proof 320/3.
    #[test]
    fn values_by_hand() {
        let enough = enough_draws(10.0, 1.0, 16.0 / std::f64::consts::E);
        assert!((enough.corollary - 50.0).abs() < 1e-12);
        assert!((enough.repaired - 320.0 / 3.0).abs() < 1e-12);
        assert!(enough_draws(10.0, 3.0, 0.01).theorem1 > enough_draws(10.0, 3.0, 0.05).theorem1);
    }
}
