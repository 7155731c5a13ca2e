//! The smallest λ for which the event of Theorem 1, Ξ ≼ G + λI, has probability at least 1 − δ.

/// Smallest λ of Theorem 1 as printed: (2b/√n)·√log(s/δ). [W, Thm 1]
pub fn threshold_printed(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let n = sample_count as f64;
    2.0 * feature_bound / n.sqrt() * log_ratio(feature_count, failure_probability).sqrt()
}

/// Smallest λ that the proof of Theorem 1 uses: b·√(8 log(s/δ)/(3n)). [W, Lemma 3 with ε = λ]
pub fn threshold_proof(feature_bound: f64, sample_count: usize, feature_count: usize, failure_probability: f64) -> f64 {
    let n = sample_count as f64;
    feature_bound * (8.0 * log_ratio(feature_count, failure_probability) / (3.0 * n)).sqrt()
}

/// The same without Lemma 3's last simplification, which also requires ε ≤ b:
/// b(ℓ/3n + √((ℓ/3n)² + 2ℓ/n)) with ℓ = log(s/δ), matrix Bernstein inverted. [follows from W, Lemma 3]
pub fn threshold_bernstein(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    feature_bound * bernstein_root(log_ratio(feature_count, failure_probability), sample_count as f64)
}

/// The λ that we require: the Bernstein threshold, or b where that is smaller, since Ξ ≼ bI always.
pub fn threshold(feature_bound: f64, sample_count: usize, feature_count: usize, failure_probability: f64) -> f64 {
    threshold_bernstein(feature_bound, sample_count, feature_count, failure_probability).min(feature_bound)
}

/// ε/b with exp(−(nε²/2)/(b² + bε/3)) = e^(−ℓ).
pub(crate) fn bernstein_root(l: f64, n: f64) -> f64 {
    let linear = l / (3.0 * n);
    linear + (linear * linear + 2.0 * l / n).sqrt()
}

/// log(s/δ), without overflow for the smallest δ.
pub(crate) fn log_ratio(feature_count: usize, delta: f64) -> f64 {
    (feature_count as f64).ln() - delta.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2·2/√300·√log(4000) and 2·√(8·log(4000)/900), log 4000 = 8.294049640102028.
    #[test]
    fn values_by_hand() {
        assert!((threshold_printed(2.0, 300, 200, 0.05) - 0.665_093_5).abs() < 1e-7);
        assert!((threshold_proof(2.0, 300, 200, 0.05) - 0.543_046_5).abs() < 1e-7);
        // ℓ/3n = 0.009215610711, so 2·(0.009215610711 + √(0.00008492748 + 0.05529366427)).
        assert!((threshold_bernstein(2.0, 300, 200, 0.05) - 0.489_083_6).abs() < 1e-6);
    }

    #[test]
    fn thresholds_grow_with_confidence_and_fall_with_rows() {
        for threshold in [threshold_printed, threshold_proof, threshold_bernstein] {
            assert!(threshold(1.0, 100, 50, 0.01) > threshold(1.0, 100, 50, 0.05));
            assert!(threshold(1.0, 200, 50, 0.05) < threshold(1.0, 100, 50, 0.05));
        }
    }

    /// Each is smaller than the one before, and none exceeds b, because Ξ ≼ bI always holds.
    #[test]
    fn the_checked_threshold_is_the_smallest_that_is_proved() {
        let (printed, proof) = (threshold_printed(1.0, 100, 50, 0.05), threshold_proof(1.0, 100, 50, 0.05));
        assert!(threshold(1.0, 100, 50, 0.05) < proof && proof < printed);
        assert_eq!(threshold(1.5, 10, 50, 0.05), 1.5);
        assert!(threshold(1.0, 100, 50, 1e-300).is_finite());
    }

    /// The Bernstein threshold solves its own equation.
    #[test]
    fn bernstein_is_inverted_exactly() {
        let (b, n, l): (f64, f64, f64) = (2.0, 300.0, 8.294);
        let epsilon = b * bernstein_root(l, n);
        let exponent = n * epsilon * epsilon / 2.0 / (b * b + b * epsilon / 3.0);
        assert!((exponent - l).abs() < 1e-12 * l);
    }
}
