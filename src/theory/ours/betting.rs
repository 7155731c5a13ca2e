//! An upper confidence bound on the mean of bounded values, by betting.
//!
//! **Statement.** Z₁, …, Z_m are independent values in [0, 1] with the mean μ. For numbers cᵢ in [0, 1] of which each depends on
//! the earlier values alone, Kₜ(u) = Π_{i≤t} (1 + cᵢ(u − Zᵢ)) is the wealth of a player who bets that the mean is below
//! u; at u = μ it is a non-negative martingale that starts at 1, so with probability at least 1 − δ it stays below 1/δ for
//! all t. It grows with u, so μ is at most the u at which its maximum over t reaches 1/δ. [I. Waudby-Smith, A. Ramdas,
//! *Estimating means of bounded random variables by betting*, JRSS B 2024, Theorem 3]

/// Bets are made for this variance before any value is seen, weighted as one value.
const FIRST_VARIANCE: f64 = 0.25;

/// The largest mean that the values leave possible, rounded up. Never below log(1/δ)/m, about: values as large as 1 may
/// be too rare to be seen.
pub fn largest_mean_by_betting(values: &[f64], failure_probability: f64) -> f64 {
    let bets = bets(values, failure_probability);
    let wanted = -failure_probability.ln();
    let reaches = |mean: f64| {
        let mut wealth = 0.0;
        values.iter().zip(&bets).any(|(value, bet)| {
            wealth += (bet * (mean - value)).ln_1p();
            wealth >= wanted
        })
    };
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if reaches(middle) { high = middle } else { low = middle }
    }
}

/// cᵢ = √(2·log(1/δ)/(m·σ̂²ᵢ₋₁)), at most 1, so that no factor is negative whatever u is.
fn bets(values: &[f64], failure_probability: f64) -> Vec<f64> {
    let stake = -2.0 * failure_probability.ln() / values.len() as f64;
    let (mut count, mut sum, mut squares) = (1.0, 0.0, FIRST_VARIANCE);
    let bet = |value: &f64| {
        let bet = (stake / (squares / count)).sqrt().min(1.0);
        sum += value;
        squares += (value - sum / count).powi(2);
        count += 1.0;
        bet
    };
    values.iter().map(bet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::ours::certificate::largest_mean;

    /// Nothing but zeros: with all bets at 1 the wealth is (1 + u)^m, and the first bets are smaller.
    #[test]
    fn zeros_leave_the_floor() {
        for count in [100, 1_000, 10_000] {
            let floor = 20.0_f64.ln() / f64::from(count);
            let found = largest_mean_by_betting(&vec![0.0; count as usize], 0.05);
            assert!(found > floor && found < 1.25 * floor, "{count}: {found} {floor}");
        }
        assert_eq!(largest_mean_by_betting(&[], 0.05), 1.0);
    }

    /// Small values of small variance, as the squared differences of a good model: the bound is far below the one by
    /// relative entropy, which only reads their mean.
    #[test]
    fn it_is_below_the_relative_entropy_for_small_values() {
        for scale in [0.05, 0.01] {
            let values: Vec<f64> = (0..800).map(|j| scale * f64::from(j * 331 % 800) / 800.0).collect();
            let mean = values.iter().sum::<f64>() / 800.0;
            let (betting, entropy) = (largest_mean_by_betting(&values, 0.05), largest_mean(800, mean, 0.05));
            assert!(mean < betting && betting < 0.75 * entropy, "{scale}: {mean} {betting} {entropy}");
        }
    }

    /// Values that are 1 with a small probability p and tiny otherwise: the true mean is above the bound in at most δ of the
    /// samples. With p near log(1/δ)/m the bound is nearly attained by samples without a large value.
    #[test]
    fn rare_large_values_break_the_bound_no_more_often_than_stated() {
        let (count, delta, samples) = (60_usize, 0.1, 2_000_u64);
        let mut bits = 7_u64;
        let mut uniform = || {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut worst = 0.0_f64;
        for p in [0.01, 0.03, 0.04, 0.05, 0.1] {
            let mut failures = 0;
            for _ in 0..samples {
                let values: Vec<f64> =
                    (0..count).map(|_| if uniform() < p { 1.0 } else { 0.001 * uniform() }).collect();
                let mean = p + (1.0 - p) * 0.0005;
                failures += u32::from(mean > largest_mean_by_betting(&values, delta));
            }
            worst = worst.max(f64::from(failures) / samples as f64);
        }
        // Three standard deviations of a frequency of 10% over 2,000 samples are 2%.
        assert!(worst <= delta + 0.02 && worst > 0.04, "{worst}");
    }
}
