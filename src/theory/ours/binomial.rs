//! Tail probabilities of the binomial distribution. Terms are kept as logarithms so that none underflows.

/// P(X ≥ k) for X binomial with `trials` trials of success probability `share` in (0, 1).
pub fn upper_tail(trials: usize, k: usize, share: f64) -> f64 {
    Tail::new(trials, share).take_while(|(at, _)| *at >= k).last().map_or(0.0, |(_, tail)| tail)
}

/// The smallest k with P(X ≥ k) ≤ `limit`; none if even P(X ≥ trials) exceeds it.
pub fn smallest_with_tail(trials: usize, share: f64, limit: f64) -> Option<usize> {
    Tail::new(trials, share).take_while(|(_, tail)| *tail <= limit).last().map(|(k, _)| k)
}

/// (k, P(X ≥ k)) from k = trials down to 0. Small terms are summed first.
struct Tail {
    trials: usize,
    /// The k of the next term; none at the end.
    next: Option<usize>,
    /// log P(X = next).
    log_term: f64,
    /// log((1−p)/p).
    log_odds: f64,
    sum: f64,
}

impl Tail {
    fn new(trials: usize, share: f64) -> Self {
        let log_term = trials as f64 * share.ln();
        Self { trials, next: Some(trials), log_term, log_odds: (1.0 - share).ln() - share.ln(), sum: 0.0 }
    }
}

impl Iterator for Tail {
    type Item = (usize, f64);

    fn next(&mut self) -> Option<(usize, f64)> {
        let k = self.next?;
        self.sum += self.log_term.exp();
        // P(X = k−1)/P(X = k) = (k/(N−k+1))·((1−p)/p).
        self.log_term += (k as f64 / (self.trials - k + 1) as f64).ln() + self.log_odds;
        self.next = k.checked_sub(1);
        Some((k, self.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over every outcome of a few coin tosses.
    fn brute_force(trials: usize, k: usize, share: f64) -> f64 {
        let outcomes = 0..1_u32 << trials;
        let probability = |ones: u32| {
            let ones = f64::from(ones);
            share.powf(ones) * (1.0 - share).powf(trials as f64 - ones)
        };
        outcomes.map(u32::count_ones).filter(|ones| *ones as usize >= k).map(probability).sum()
    }

    #[test]
    fn tails_equal_the_count_of_all_outcomes() {
        for trials in [1, 5, 12] {
            for k in 0..=trials + 1 {
                for share in [0.05, 0.5, 0.9] {
                    let (found, expected) = (upper_tail(trials, k, share), brute_force(trials, k, share));
                    assert!((found - expected).abs() < 1e-13, "{trials} {k} {share}: {found} {expected}");
                }
            }
        }
    }

    /// Three coins: 1/8, 4/8, 7/8, 1.
    #[test]
    fn values_by_hand() {
        assert_eq!(smallest_with_tail(3, 0.5, 0.125 + 1e-12), Some(3));
        assert_eq!(smallest_with_tail(3, 0.5, 0.6), Some(2));
        assert_eq!(smallest_with_tail(3, 0.5, 0.1), None);
        // The textbook example: the largest of 59 values covers 95% with confidence 95%, that of 58 does not.
        assert_eq!(smallest_with_tail(59, 0.95, 0.05), Some(59));
        assert_eq!(smallest_with_tail(58, 0.95, 0.05), None);
    }

    /// Single terms underflow here; the sum does not.
    #[test]
    fn large_counts_keep_their_digits() {
        assert!((upper_tail(100_000, 0, 0.01) - 1.0).abs() < 1e-9);
        let median = upper_tail(1_000_001, 500_001, 0.5);
        assert!((median - 0.5).abs() < 1e-8, "{median}");
    }
}
