//! The distance to the exact kernel method, certified on held-out rows.
//!
//! **Statement.** Let eⱼ = |f_s(xⱼ) − f̂(xⱼ)| on m held-out rows, f̂ the exact method up to its solver's
//! residual r: |f̂ − f| ≤ ε = √k(x,x)·‖r‖/(2√(nλ)) at every input.
//! *Tolerance*: with confidence 1 − δ at least a share p of new inputs have |f_s − f| ≤ e_(k) + ε, k the
//! smallest with P(Binomial(m,p) ≤ k−1) ≥ 1−δ. *Mean*: with both predictions clipped to the range of the
//! training targets, of width B, E(f_s − f)² ≤ (B√u + ε)² with u the largest mean that Zⱼ = eⱼ²/B² allow:
//! the smaller of a bound by betting (`betting.rs`) and kl(Z̄, u) = log(2/δ)/m, each at δ/2; kl(p, q) = p·log(p/q) + (1−p)·log((1−p)/(1−q)) (W. Hoeffding, *Probability inequalities for
//! sums of bounded random variables*, JASA 1963, Theorem 1).
//!
//! **Assumptions.** The held-out rows and the new inputs are independent draws from one distribution.
//! There is no condition on λ, on the features or on the kernel.

use super::betting::largest_mean_by_betting;
use super::binomial::smallest_with_tail;
use crate::theory::papers::wang::distance::summed;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, AssumptionState, CertificateEvidence, Evidence, Form, Guarantee, Lack};

const MEAN: Source = Source {
    id: "bochner.certificate_mean",
    paper: "Chernoff bound for bounded variables, Hoeffding 1963, Theorem 1, or betting, Waudby-Smith & Ramdas 2024",
    bounds: "mean of (f_s(x) - f(x))^2 over new inputs x, both clipped to the range of the training targets",
    form: Form::Bound,
};
const TOLERANCE: Source = Source {
    id: "bochner.certificate_tolerance",
    paper: "distribution-free tolerance limit, Wilks 1941",
    bounds: "|f_s(x) - f(x)| for at least a share p of new inputs x",
    form: Form::Bound,
};

/// p, the share of new inputs that the tolerance covers by default.
pub const COVERED_SHARE: f64 = 0.95;

/// kl(p, q), the relative entropy of two coins, for 0 ≤ p ≤ q < 1.
fn relative_entropy(p: f64, q: f64) -> f64 {
    let heads = if p > 0.0 { p * (p / q).ln() } else { 0.0 };
    heads + (1.0 - p) * ((-p).ln_1p() - (-q).ln_1p())
}

/// The largest mean u in [Z̄, 1] with kl(Z̄, u) ≤ log(1/δ)/m, rounded up: with probability at least 1 − δ the mean of
/// values in [0, 1] is no larger. At Z̄ = 0 it is 1 − δ^(1/m), because values as large as 1 may be too rare to be seen.
pub fn largest_mean(count: usize, mean: f64, failure_probability: f64) -> f64 {
    let limit = -failure_probability.ln() / count as f64;
    let (mut low, mut high) = (mean, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if relative_entropy(mean, middle) <= limit { low = middle } else { high = middle }
    }
}

/// The smaller of the bounds on the mean of Z by relative entropy and by betting, at δ/2 each; by relative entropy alone, at
/// δ, where the values are not known one by one.
fn smallest_bound(certificate: &CertificateEvidence, mean: f64, failure_probability: f64) -> f64 {
    let count = certificate.differences.len();
    let most = certificate.clip_width * certificate.clip_width;
    match &certificate.detail {
        Some(detail) if detail.clipped_squares.len() == count && most > 0.0 => {
            let values: Vec<f64> = detail.clipped_squares.iter().map(|square| (square / most).min(1.0)).collect();
            let delta = failure_probability / 2.0;
            largest_mean(count, mean, delta).min(largest_mean_by_betting(&values, delta))
        }
        _ => largest_mean(count, mean, failure_probability),
    }
}

/// ε = √k(x,x)·‖r‖/(2√(nλ)): no prediction from a solution with the residual r is further from that of the exact method.
pub fn solver_slack(kernel_root: f64, residual_norm: f64, shift: f64) -> f64 {
    kernel_root * residual_norm / (2.0 * shift.sqrt())
}

/// The order k, from 1, with P(Binomial(m,p) ≤ k−1) ≥ 1−δ: the k-th smallest of m values covers a share p
/// with confidence 1 − δ. None if m is too small.
pub fn tolerance_rank(count: usize, share: f64, failure_probability: f64) -> Option<usize> {
    // A δ so close to 1 that any rank will do still takes a value of the sample.
    smallest_with_tail(count, share, failure_probability).map(|rank| rank.max(1))
}

/// The held-out rows that a tolerance requires: the smallest m with p^m ≤ δ.
pub fn tolerance_rows(share: f64, failure_probability: f64) -> usize {
    (failure_probability.ln() / share.ln()).ceil() as usize
}

/// `bochner.certificate_mean`: a bound on the mean squared difference.
pub fn certificate_mean(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(certificate) = comparison(evidence) else { return missing(MEAN, evidence) };
    let (count, width) = (certificate.differences.len(), certificate.clip_width);
    let (mean, variance) = (certificate.clipped_mean_square, certificate.clipped_square_variance);
    if count == 0 {
        return MEAN.unavailable(too_few_rows(1, count));
    }
    let most = width * width;
    // Targets that are all equal have the range 0, and their predictions no difference.
    let share = if most > 0.0 { (mean / most).min(1.0) } else { 0.0 };
    let square = most * smallest_bound(certificate, share, failure_probability);
    let bound = (square.sqrt() + certificate.solver_slack).powi(2).min(most);
    let target = evidence.target_mean_square.unwrap_or(0.0);
    // An atom at B² that is just too rare to be seen among these rows.
    let floor = most * largest_mean(count, 0.0, failure_probability);
    // The bound with infinitely many rows.
    let remains = (mean.sqrt() + certificate.solver_slack).powi(2);
    MEAN.guarantee(Finding {
        value: Some(bound),
        informative: bound < target,
        failure_probability: Some(failure_probability),
        assumptions: vec![rows_independent(evidence, certificate), solver_accounted_for()],
        inputs: [
            ("rows", count as f64),
            ("mean_square", mean),
            ("square_variance", variance),
            ("smallest_possible", floor),
            ("clip_width", width),
            ("solver_slack", certificate.solver_slack),
            ("delta", failure_probability),
        ]
        .into(),
        wording: Wording {
            claim: format!(
                "averaged over new inputs, the squared difference between this model and the exact kernel method, both \
                 clipped to the range of the training targets{}, is at most {} with probability at least {} over the held-out rows",
                summed(evidence).trim_end_matches(','),
                rounded_up(bound),
                percent(failure_probability)
            ),
            comparison: format!(
                "; the target variance is {}, and no bound without further assumptions gets below about {} with {count} rows",
                rounded_up(target),
                rounded_up(floor)
            ),
            uninformative: format!(
                "The bound is not below the target variance, {}. {}",
                rounded_up(target),
                remedy(remains < target)
            ),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// `bochner.certificate_tolerance`: a bound on the difference for a share p of new inputs.
pub fn certificate_tolerance(evidence: &Evidence, share: f64, failure_probability: f64) -> Guarantee {
    let Some(certificate) = comparison(evidence) else { return missing(TOLERANCE, evidence) };
    let count = certificate.differences.len();
    let Some(rank) = tolerance_rank(count, share, failure_probability) else {
        return TOLERANCE.unavailable(too_few_rows(tolerance_rows(share, failure_probability), count));
    };
    let bound = certificate.differences[rank - 1] + certificate.solver_slack;
    let deviation = evidence.target_mean_square.unwrap_or(0.0).sqrt();
    // With infinitely many rows the bound would be the quantile itself.
    let quantile = (share * count as f64).ceil() as usize;
    let remains = certificate.differences[quantile.clamp(1, rank) - 1] + certificate.solver_slack;
    TOLERANCE.guarantee(Finding {
        value: Some(bound),
        informative: bound < deviation,
        failure_probability: Some(failure_probability),
        assumptions: vec![rows_independent(evidence, certificate), solver_accounted_for()],
        inputs: [
            ("rows", count as f64),
            ("rank", rank as f64),
            ("share", share),
            ("solver_slack", certificate.solver_slack),
            ("delta", failure_probability),
        ]
        .into(),
        wording: Wording {
            claim: format!(
                "for at least {} of new inputs, the difference between this model and the exact kernel method{} is at most \
                 {} with probability at least {} over the held-out rows",
                percent(1.0 - share),
                if evidence.target_count > 1 { " (the Euclidean norm over the targets)" } else { "" },
                rounded_up(bound),
                percent(failure_probability)
            ),
            comparison: format!("; the target standard deviation is {}", rounded_up(deviation)),
            uninformative: format!(
                "The bound is not below the target standard deviation, {}. {}",
                rounded_up(deviation),
                remedy(remains < deviation)
            ),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// More rows help if the bound is wide by chance; otherwise the model has to be closer to the exact method.
fn remedy(by_rows: bool) -> &'static str {
    if by_rows {
        "Hold out more rows."
    } else {
        "More held-out rows would not help: use more features or a larger lambda."
    }
}

pub(super) fn too_few_rows(needed: usize, count: usize) -> Assumption {
    let available = if count == 1 { "only 1 is available".to_owned() } else { format!("only {count} are available") };
    Assumption::violated(format!("at least {needed} held-out rows"), available).with_remedy("Hold out more rows.")
}

/// The comparison on held-out rows; none unless the model is a ridge fit.
pub(super) fn comparison(evidence: &Evidence) -> Option<&CertificateEvidence> {
    evidence.certificate.as_ref().filter(|_| evidence.target_mean_square.is_some())
}

pub(super) fn missing(source: Source, evidence: &Evidence) -> Guarantee {
    if evidence.target_mean_square.is_none() {
        return source.unavailable(evidence.is_not_ridge());
    }
    source.unmeasured(Lack::Comparison, vec![held_out_rows_independent(evidence)])
}

/// A model that was kept because it did well on these rows is as good there by choice, not by chance.
fn held_out_rows_independent(evidence: &Evidence) -> Assumption {
    evidence.assumed_of_rows(
        "held-out rows and new inputs drawn independently from one distribution",
        ", and a model that was not preferred to others for its errors on these rows",
    )
}

/// The same, with the rows without a target if there were any.
pub(super) fn rows_independent(evidence: &Evidence, certificate: &CertificateEvidence) -> Assumption {
    let assumed = held_out_rows_independent(evidence);
    let unlabelled = certificate.detail.as_ref().is_some_and(|detail| detail.unlabelled_rows > 0);
    if !unlabelled || assumed.state == AssumptionState::Violated {
        return assumed;
    }
    Assumption::assumed(format!("rows without a target that are like the others; {}", assumed.text))
}

pub(super) fn solver_accounted_for() -> Assumption {
    Assumption::checked("an error of the exact solver that is bounded by its residual and added to the bound")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::Status;
    use crate::theory::evidence::tests::ridge_fit;

    fn certified(count: u32) -> Evidence {
        let certificate = CertificateEvidence {
            differences: (1..=count).map(|j| f64::from(j) / 1_000.0).collect(),
            clipped_mean_square: 0.01,
            clipped_square_variance: 0.0001,
            clip_width: 2.0,
            solver_slack: 0.001,
            detail: None,
        };
        Evidence { certificate: Some(certificate), ..ridge_fit() }
    }

    /// Values from 50-digit arithmetic.
    #[test]
    fn the_largest_mean_is_the_inverse_of_the_relative_entropy() {
        for (mean, count, delta, expected) in [
            (0.1, 100, 0.05, 0.188_829_337_848_432_68),
            (0.0025, 900, 0.05, 0.009_013_245_177_418_098),
            (0.0, 100, 0.05, 0.029_513_049_607_039_934),
            (1e-7, 5_000, 0.01, 0.000_921_622_046_710_826_2),
            (0.5, 20, 0.1, 0.726_755_245_405_546_5),
        ] {
            let found = largest_mean(count, mean, delta);
            assert!((found / expected - 1.0).abs() < 1e-12, "{mean} {count} {found}");
        }
        assert_eq!(largest_mean(10, 1.0, 0.05), 1.0);
    }

    /// Values are 1 with a small probability and 0 otherwise. The mean exceeds the bound with the probability of the counts
    /// whose bound is below it: never more than δ, and nearly δ where an atom is just large enough to be excluded by
    /// no count at all.
    #[test]
    fn rare_large_values_break_the_bound_no_more_often_than_stated() {
        use crate::theory::ours::binomial::upper_tail;
        let (count, delta) = (100, 0.05);
        let bounds: Vec<f64> = (0..=count).map(|k| largest_mean(count, k as f64 / count as f64, delta)).collect();
        let failure = |p: f64| 1.0 - upper_tail(count, bounds.partition_point(|bound| *bound < p), p);
        let worst = (1..1_000).map(|i| failure(f64::from(i) / 2_000.0)).fold(0.0, f64::max);
        assert!(worst <= delta, "{worst}");
        let just_above = failure(bounds[0] * (1.0 + 1e-9));
        assert!(just_above <= delta && just_above > 0.999 * delta, "{just_above}");
    }

    /// Differences that are uniform up to a tenth or a hundredth of the range B, as those of a useful model are: the bound
    /// is below that of the empirical Bernstein inequality (Maurer & Pontil 2009, Theorem 4). It need not be for larger
    /// differences of small variance: up to 0.3·B, it is 10% above at 1,000 rows.
    #[test]
    fn it_is_below_empirical_bernstein_for_small_differences() {
        for count in [20, 100, 1_000] {
            for scale in [0.1_f64, 0.01] {
                let square = |j: usize| (scale * (j as f64 + 0.5) / count as f64).powi(2);
                let mean = (0..count).map(square).sum::<f64>() / count as f64;
                let variance = (0..count).map(|j| (square(j) - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
                let log = 40.0_f64.ln();
                let m = count as f64;
                let bernstein = mean + (2.0 * variance * log / m).sqrt() + 7.0 * log / (3.0 * (m - 1.0));
                let found = largest_mean(count, mean, 0.05);
                assert!(mean < found && found < bernstein, "{count} {scale}: {found} {bernstein}");
            }
        }
    }

    /// One row with k = nλ = 4 and a residual r = 3: the prediction there is off by 4·3/(4 + 4), which is the slack.
    #[test]
    fn the_slack_is_attained() {
        assert_eq!(solver_slack(2.0, 3.0, 4.0), 1.5);
    }

    #[test]
    fn the_tolerance_is_an_order_statistic_plus_the_slack() {
        let found = certificate_tolerance(&certified(59), COVERED_SHARE, 0.05);
        assert!((found.value.unwrap() - 0.06).abs() < 1e-15);
        assert_eq!(found.status, Status::Conditional);
        let few = certificate_tolerance(&certified(58), COVERED_SHARE, 0.05);
        assert!(
            few.value.is_none() && few.statement.contains("at least 59 held-out rows; here only 58 are available"),
            "{}",
            few.statement
        );
        // A smaller share requires fewer rows and a smaller rank.
        let smaller = certificate_tolerance(&certified(58), 0.9, 0.05);
        assert!(
            smaller.value.unwrap() < found.value.unwrap()
                && smaller.statement.starts_with("For at least 90% of new inputs")
        );
        let bold = certificate_tolerance(&certified(58), 0.9, 1.0 - f64::EPSILON / 2.0);
        assert!((bold.value.unwrap() - 0.002).abs() < 1e-15); // the smallest difference, and the slack
        // A smaller δ requires a larger rank.
        assert!(tolerance_rank(1_000, 0.95, 0.01) > tolerance_rank(1_000, 0.95, 0.05));
    }

    #[test]
    fn few_rows_make_the_mean_vacuous_and_many_do_not() {
        assert_eq!(certificate_mean(&certified(20), 0.05).status, Status::Vacuous);
        assert_eq!(certificate_mean(&certified(900), 0.05).status, Status::Conditional);
        assert_eq!(certificate_mean(&ridge_fit(), 0.05).value, None);
    }

    /// More rows are recommended only if they help: the model may itself be as far off as the target varies.
    #[test]
    fn an_uninformative_certificate_says_what_helps() {
        let far = |mut evidence: Evidence| {
            let certificate = evidence.certificate.as_mut().unwrap();
            certificate.clipped_mean_square = 0.4;
            certificate.differences.iter_mut().for_each(|difference| *difference += 1.0);
            evidence
        };
        assert!(certificate_mean(&certified(20), 0.05).statement.ends_with("Hold out more rows."));
        let found = [
            certificate_mean(&far(certified(900)), 0.05),
            certificate_tolerance(&far(certified(900)), COVERED_SHARE, 0.05),
        ];
        for found in found {
            assert_eq!(found.status, Status::Vacuous);
            assert!(found.statement.ends_with("use more features or a larger lambda."), "{}", found.statement);
            assert!(!found.statement.contains("Hold out more rows."), "{}", found.statement);
        }
        // 59 differences up to 0.556, plus the slack, around a deviation of 0.5568: the rank is the largest one, and more
        // rows would make it smaller.
        let mut near = certified(59);
        let differences = &mut near.certificate.as_mut().unwrap().differences;
        for difference in differences.iter_mut() {
            *difference += 0.497;
        }
        let found = certificate_tolerance(&near, COVERED_SHARE, 0.05);
        assert_eq!(found.status, Status::Vacuous);
        assert!(found.statement.ends_with("Hold out more rows."), "{}", found.statement);
    }

    /// For every count the rank is the first whose coverage is wrong with probability at most δ.
    #[test]
    fn ranks_are_the_smallest_that_hold() {
        use crate::theory::ours::binomial::upper_tail;
        for count in [59, 100, 473] {
            let rank = tolerance_rank(count, 0.95, 0.05).unwrap();
            assert!(upper_tail(count, rank, 0.95) <= 0.05);
            assert!(upper_tail(count, rank - 1, 0.95) > 0.05);
        }
    }
}
