//! The distance to the exact kernel method, certified on held-out rows.
//!
//! **Statement.** Let eⱼ = |f_s(xⱼ) − f̂(xⱼ)| on m held-out rows, f̂ the exact method up to its solver's
//! residual r: |f̂ − f| ≤ ε = ‖r‖√k(x,x)/√(nλ) at every input.
//! *Tolerance*: with confidence 1 − δ at least a share p of new inputs have |f_s − f| ≤ e_(k) + ε, k the
//! smallest with P(Binomial(m,p) ≤ k−1) ≥ 1−δ. *Mean*: with both predictions clipped to the range of the
//! training targets, of width B, E(f_s − f)² ≤ (√(Z̄ + √(2V̂ log(2/δ)/m) + 7B²log(2/δ)/(3(m−1))) + ε)²
//! with Zⱼ = eⱼ² (empirical Bernstein: A. Maurer, M. Pontil, *Empirical Bernstein bounds and sample
//! variance penalization*, COLT 2009, Theorem 4).
//!
//! **Assumptions.** The held-out rows and the new inputs are independent draws from one distribution.
//! There is no condition on λ, on the features or on the kernel.

use super::binomial::smallest_with_tail;
use crate::theory::papers::wang::distance::summed;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, CertificateEvidence, Evidence, Form, Guarantee, Lack};

const MEAN: Source = Source {
    id: "bochner.certificate_mean",
    paper: "empirical Bernstein inequality, Maurer & Pontil 2009, Theorem 4",
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

/// Z̄ + √(2V̂ log(2/δ)/m) + 7B²log(2/δ)/(3(m−1)) for values in [0, B²]; none for fewer than two values.
pub fn empirical_bernstein(
    count: usize,
    mean: f64,
    variance: f64,
    largest: f64,
    failure_probability: f64,
) -> Option<f64> {
    let log = 2.0_f64.ln() - failure_probability.ln();
    let m = count as f64;
    (count >= 2).then(|| mean + (2.0 * variance * log / m).sqrt() + 7.0 * largest * log / (3.0 * (m - 1.0)))
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
    let Some(square) = empirical_bernstein(count, mean, variance, width * width, failure_probability) else {
        return MEAN.unavailable(too_few_rows(2, count));
    };
    let bound = (square.sqrt() + certificate.solver_slack).powi(2).min(width * width);
    let target = evidence.target_mean_square.unwrap_or(0.0);
    // The bound with infinitely many rows.
    let remains = (mean.sqrt() + certificate.solver_slack).powi(2);
    MEAN.guarantee(Finding {
        value: Some(bound),
        informative: bound < target,
        failure_probability: Some(failure_probability),
        assumptions: vec![held_out_rows_independent(), solver_accounted_for()],
        inputs: [
            ("rows", count as f64),
            ("mean_square", mean),
            ("square_variance", variance),
            ("clip_width", width),
            ("solver_slack", certificate.solver_slack),
            ("delta", failure_probability),
        ]
        .into(),
        wording: Wording {
            claim: format!(
                "averaged over new inputs, the squared difference between this model and the exact kernel method, both \
                 clipped to the range of the targets{}, is at most {} with probability at least {} over the held-out rows",
                summed(evidence).trim_end_matches(','),
                rounded_up(bound),
                percent(failure_probability)
            ),
            comparison: format!("; the target variance is {}", rounded_up(target)),
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
        assumptions: vec![held_out_rows_independent(), solver_accounted_for()],
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

fn too_few_rows(needed: usize, count: usize) -> Assumption {
    let available = if count == 1 { "only 1 is available".to_owned() } else { format!("only {count} are available") };
    Assumption::violated(format!("at least {needed} held-out rows"), available).with_remedy("Hold out more rows.")
}

/// The comparison on held-out rows; none unless the model is a ridge fit.
fn comparison(evidence: &Evidence) -> Option<&CertificateEvidence> {
    evidence.certificate.as_ref().filter(|_| evidence.target_mean_square.is_some())
}

fn missing(source: Source, evidence: &Evidence) -> Guarantee {
    if evidence.target_mean_square.is_none() {
        return source.unavailable(evidence.is_not_ridge());
    }
    source.unmeasured(Lack::Comparison, vec![held_out_rows_independent()])
}

fn held_out_rows_independent() -> Assumption {
    Assumption::assumed("held-out rows and new inputs drawn independently from one distribution")
}

fn solver_accounted_for() -> Assumption {
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
        };
        Evidence { certificate: Some(certificate), ..ridge_fit() }
    }

    /// m = 8, V̂ = 1, B² = 3, log(2/δ) = 1: 5 + ½ + 7·3/(3·7) = 6.5.
    #[test]
    fn the_mean_by_hand() {
        let delta = 2.0 / std::f64::consts::E;
        assert!((empirical_bernstein(8, 5.0, 1.0, 3.0, delta).unwrap() - 6.5).abs() < 1e-12);
        assert_eq!(empirical_bernstein(1, 5.0, 0.0, 3.0, delta), None);
        let at = |count| empirical_bernstein(count, 5.0, 1.0, 3.0, 0.05).unwrap();
        assert!(at(1_000) < at(100));
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
