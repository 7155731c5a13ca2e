//! Theorem 1 of W at small λ: W's proof with a relative matrix Chernoff inequality.
//!
//! **Statement.** Let A = Ξ + λI. P(Ξ − G ⋠ tA) ≤ s·exp(−(nλ/b)·h(t)) with h(t) = t + (1−t)log(1−t), for every t in
//! (0,1). On the complement Ξ ≼ (G + tλI)/(1−t), and W's analysis of its second term goes through with c/n,
//! c = 1/(1−t), for 1/n. Minkowski's inequality joins it to the first: for the t with (nλ/b)·h(t) = log(s/δ),
//! E(f_s − f)² on that event is at most (√(cX) + √Y)² with X = (b/m)Q − ‖Kα‖²/(nm) and Y = (b/m)Q, which is at most
//! (b/m)(1 + √c)²·Q.
//!
//! It needs λ above (b/n)·log(s/δ) where Theorem 1 needs b√(2log(s/δ)/n). The proof is in docs/derivations.md.

use crate::theory::papers::wang;
use crate::theory::papers::wang::distance::{Distance, ERROR_ON_EVENT};
use crate::theory::papers::wang::theorem1::quadratic_form;
use crate::theory::papers::wang::thresholds::log_ratio;
use crate::theory::statement::guarantee::Source;
use crate::theory::statement::words::rounded_up;
use crate::theory::{Assumption, AssumptionState, Evidence, Form, Guarantee};

const RELATIVE: Source = Source {
    id: "bochner.theorem1_relative",
    paper: "Wang 2019, proof of Theorem 1, with a relative matrix Chernoff inequality",
    bounds: ERROR_ON_EVENT,
    form: Form::Bound,
};

/// The largest t for which a λ counts as certified. There λ is 1.5 times (b/n)·log(s/δ), the smallest that any t allows,
/// and the constant 4b of Theorem 1 has become 17.3b; closer to 1 the constant grows without bound.
pub const LARGEST_SLACK: f64 = 0.9;

/// h(t) = t + (1−t)log(1−t), from 0 at 0 to 1 at 1. For small t its series, Σ t^k/(k(k−1)), because the sum cancels.
fn chernoff(t: f64) -> f64 {
    const SMALL: f64 = 0.1;
    const TERMS: i32 = 18;
    if t < SMALL {
        return (2..TERMS).rev().map(|k| t.powi(k) / f64::from(k * (k - 1))).sum();
    }
    if t < 1.0 { t + (1.0 - t) * (-t).ln_1p() } else { 1.0 }
}

/// The t below 1 with (nλ/b)·h(t) = log(s/δ), rounded up; none if λ is too small for any.
pub fn slack(
    feature_bound: f64,
    ridge: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> Option<f64> {
    let l = log_ratio(feature_count, failure_probability);
    let wanted = l * feature_bound / (sample_count as f64 * ridge);
    // h increases, so halving the interval until no number lies inside gives t to the last digit.
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return (high < 1.0).then_some(high);
        }
        if chernoff(middle) < wanted { low = middle } else { high = middle }
    }
}

/// The λ at which that t is `slack`.
pub fn ridge_at_slack(
    slack: f64,
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let l = log_ratio(feature_count, failure_probability);
    feature_bound * l / (sample_count as f64 * chernoff(slack))
}

/// (b/m)(1 + √c)²·Q with c = 1/(1−t).
pub fn relative_bound(feature_bound: f64, draw_count: usize, slack: f64, quadratic_form: f64) -> f64 {
    let constant = (1.0 + (1.0 - slack).recip().sqrt()).powi(2);
    feature_bound / draw_count as f64 * constant * quadratic_form
}

/// (√(cX) + √Y)² with X = (b/m)Q − ‖Kα‖²/(nm) and Y = (b/m)Q: the bound before the last inequality of the proof. X is
/// never negative; rounding may make it so.
pub fn sharp_relative_bound(
    feature_bound: f64,
    draw_count: usize,
    sample_count: usize,
    slack: f64,
    quadratic_form: f64,
    fitted_square: f64,
) -> f64 {
    let m = draw_count as f64;
    let y = feature_bound * quadratic_form / m;
    let x = (y - fitted_square / (sample_count as f64 * m)).max(0.0);
    ((x / (1.0 - slack)).sqrt() + y.sqrt()).powi(2)
}

/// The smallest λ that any bound certifies: Theorem 1, or the relative bound with t up to [`LARGEST_SLACK`].
pub fn smallest_certified_ridge(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let (b, n, s, delta) = (feature_bound, sample_count, feature_count, failure_probability);
    smallest_relative_ridge(b, n, s, delta).min(wang::threshold(b, n, s, delta))
}

/// The smallest λ that the relative bound certifies, at [`LARGEST_SLACK`].
pub fn smallest_relative_ridge(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    ridge_at_slack(LARGEST_SLACK, feature_bound, sample_count, feature_count, failure_probability)
}

/// The λ to use instead, as a sentence.
fn remedy(b: f64, n: usize, s: usize, delta: f64) -> String {
    let (own, any) = (smallest_relative_ridge(b, n, s, delta), smallest_certified_ridge(b, n, s, delta));
    if own <= any {
        format!("Use lambda ≥ {}, the smallest that any bound certifies.", rounded_up(own))
    } else {
        format!("Use lambda ≥ {}; Theorem 1 needs only lambda ≥ {}.", rounded_up(own), rounded_up(any))
    }
}

/// The smallest number of columns with a bound below `error`, if there is one; `of_one_draw` is the bound for one draw at
/// a t. More features make t grow, so the count is raised until it is enough for its own t.
fn columns_below(evidence: &Evidence, delta: f64, b: f64, error: f64, of_one_draw: impl Fn(f64) -> f64) -> Option<f64> {
    const ROUNDS: usize = 100;
    let mut columns = evidence.columns_of(1.0);
    for _ in 0..ROUNDS {
        let t = slack(b, evidence.ridge, evidence.sample_count, columns as usize, delta)?;
        let needed = evidence.columns_of((of_one_draw(t) / error).floor() + 1.0);
        if needed <= columns {
            return Some(columns);
        }
        columns = needed;
    }
    None
}

/// `bochner.theorem1_relative`: with the exact Q and ‖Kα‖² if they are known, otherwise with the worst case of Q.
pub fn theorem1_relative(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some((q, origin)) = quadratic_form(evidence) else { return RELATIVE.unavailable(evidence.is_not_ridge()) };
    let Some(b) = evidence.feature_bound else {
        return RELATIVE.unavailable(evidence.features_bounded());
    };
    let (n, s, m) = (evidence.sample_count, evidence.feature_count, evidence.draw_count);
    // The event depends on t, which depends on λ: a list of λ is paid for like one of kernels.
    let pairs = evidence.choices.pairs();
    let event_delta = failure_probability / pairs;
    let t = slack(b, evidence.ridge, n, s, event_delta);
    let fitted = evidence.solution().and_then(|solution| solution.fitted_square).map(|(least, _)| least);
    let bound_at = |t, draws| match fitted {
        Some(fitted) => sharp_relative_bound(b, draws, n, t, q, fitted),
        None => relative_bound(b, draws, t, q),
    };
    let bound = t.map(|t| bound_at(t, m));
    let mut inputs = evidence.inputs(failure_probability);
    inputs.extend([("q", q), ("smallest_lambda", smallest_certified_ridge(b, n, s, event_delta))]);
    inputs.extend((pairs > 1.0).then_some(("candidates", pairs)));
    inputs.extend(t.map(|t| ("t", t)));
    if let (Some(t), Some(fitted)) = (t, fitted) {
        inputs.extend([("fitted_square", fitted), ("plain_bound", relative_bound(b, m, t, q))]);
    }
    let text = "a large enough lambda, above b l/n with l = log(s/delta)";
    let large_enough = Assumption {
        have: Some(evidence.ridge),
        need: Some(ridge_at_slack(1.0, b, n, s, event_delta)),
        state: if t.is_some() { AssumptionState::Checked } else { AssumptionState::Violated },
        ..Assumption::checked(text).with_remedy(remedy(b, n, s, event_delta))
    };
    let mut assumptions = vec![
        large_enough,
        evidence.features_bounded(),
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
        origin,
    ];
    assumptions.extend(evidence.rows_and_listed_choices(pairs));
    let variance = evidence.target_mean_square.unwrap_or(0.0);
    let mut distance = Distance { bound, failure_probability, columns: None };
    let goal = variance * distance.draw_share();
    distance.columns = columns_below(evidence, event_delta, b, goal, |t| bound_at(t, 1));
    RELATIVE.guarantee(distance.finding(evidence, assumptions, inputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::Status;
    use crate::theory::evidence::tests::{exact, ridge_fit};

    /// n = 16,000, s = 1,024, b = 1, δ = 0.05: log(s/δ)/n = 9.92720408/16,000, over h(0.9) = 0.66974149 and
    /// h(½) = 0.15342641. The Bernstein inequality gives 1.53e-3 at t = 0.9.
    #[test]
    fn the_figures_of_the_derivation() {
        let at = |t| ridge_at_slack(t, 1.0, 16_000, 1_024, 0.05);
        assert!((at(0.9) - 9.264_026e-4).abs() < 1e-8, "{}", at(0.9));
        assert!((at(0.5) - 4.043_96e-3).abs() < 1e-7, "{}", at(0.5));
        assert_eq!(smallest_certified_ridge(1.0, 16_000, 1_024, 0.05), at(0.9));
        assert!(wang::threshold_proof(1.0, 16_000, 1_024, 0.05) > 30.0 * at(0.9));
        assert!((relative_bound(1.0, 1, 0.9, 1.0) - 17.324_555_320_336_76).abs() < 1e-12);
    }

    /// Below 0.1 the series is used: h(0.01) = 5.0167505033573e-5, and the two forms meet at 0.1.
    #[test]
    fn the_exponent_is_precise_for_small_t() {
        assert!((chernoff(0.01) / 5.016_750_503_357_3e-5 - 1.0).abs() < 1e-12, "{:e}", chernoff(0.01));
        assert!((chernoff(1e-9) / 5e-19 - 1.0).abs() < 1e-9);
        assert!((chernoff(0.1) - chernoff(0.1_f64.next_down())).abs() < 1e-16);
        assert_eq!((chernoff(0.0), chernoff(1.0)), (0.0, 1.0));
    }

    #[test]
    fn the_slack_and_its_ridge_are_inverse() {
        for t in [1e-6, 0.1, 0.5, 0.9, 0.999] {
            let ridge = ridge_at_slack(t, 2.0, 5_000, 300, 0.01);
            assert!((slack(2.0, ridge, 5_000, 300, 0.01).unwrap() / t - 1.0).abs() < 1e-12);
        }
        assert!(slack(1.0, 0.1, 1_000, 50, 0.05) > slack(1.0, 0.1, 2_000, 50, 0.05));
        assert!(slack(1.0, 0.1, 1_000, 50, 0.01) > slack(1.0, 0.1, 1_000, 50, 0.05));
        let limit = ridge_at_slack(1.0, 1.0, 1_000, 50, 0.05);
        assert_eq!(slack(1.0, 0.999 * limit, 1_000, 50, 0.05), None);
        assert!(slack(1.0, 1.001 * limit, 1_000, 50, 0.05).unwrap() < 1.0);
    }

    /// With few rows λ = b is enough for Theorem 1 and the relative bound needs more.
    #[test]
    fn few_rows_fall_back_to_theorem_1() {
        assert!(ridge_at_slack(0.9, 1.0, 3, 1_000, 0.05) > 1.0);
        assert_eq!(smallest_certified_ridge(1.0, 3, 1_000, 0.05), 1.0);
    }

    /// t = ¾ makes c = 4 and the constant 9b: 9·2/200·0.37. With ‖Kα‖² = 96, X = 0.0037 − 0.0016 = 0.0021 at n = 300.
    #[test]
    fn values_by_hand() {
        assert!((relative_bound(2.0, 200, 0.75, 0.37) - 0.0333).abs() < 1e-15);
        let by_hand = (0.0084_f64.sqrt() + 0.0037_f64.sqrt()).powi(2);
        assert!((sharp_relative_bound(2.0, 200, 300, 0.75, 0.37, 96.0) - by_hand).abs() < 1e-15);
        // Without ‖Kα‖² it is the plain bound, and a rounding error in X leaves Y.
        assert!((sharp_relative_bound(2.0, 200, 300, 0.75, 0.37, 0.0) - 0.0333).abs() < 1e-15);
        assert!((sharp_relative_bound(2.0, 200, 300, 0.75, 0.37, 222.001) - 0.0037).abs() < 1e-15);
    }

    #[test]
    fn an_uninformative_bound_says_how_many_features_are_enough() {
        let evidence = Evidence { sample_count: 100_000, ridge: 0.005, exact: Some(exact(20.0, 3.0)), ..ridge_fit() };
        let vacuous = theorem1_relative(&evidence, 0.05);
        assert_eq!(vacuous.status, Status::Vacuous);
        let of_one_draw = |t| sharp_relative_bound(2.0, 1, 100_000, t, 20.0, 3.0);
        // Below the variance for the features of one model: Markov's inequality divides by δ.
        let columns = columns_below(&evidence, 0.05, 2.0, 0.05 * 0.31, of_one_draw).unwrap();
        assert!(vacuous.statement.contains(&format!("{columns} features at this lambda")), "{}", vacuous.statement);
        let with = |columns: f64| {
            let (feature_count, draw_count) = (columns as usize, columns as usize);
            theorem1_relative(&Evidence { feature_count, draw_count, ..evidence.clone() }, 0.05).status
        };
        assert_eq!((with(columns), with(columns - 1.0)), (Status::Conditional, Status::Vacuous));
    }

    /// Eight rows: Theorem 1 holds for λ ≥ b, which is too small for the relative bound. The λ that it names is enough.
    #[test]
    fn the_ridge_in_the_remedy_is_large_enough() {
        let few = Evidence { sample_count: 8, ridge: 0.01, feature_bound: Some(1.0), ..ridge_fit() };
        assert_eq!(smallest_certified_ridge(1.0, 8, 200, 0.05), 1.0);
        let found = theorem1_relative(&few, 0.05);
        let named = found.statement.split("Use lambda ≥ ").nth(1).and_then(|rest| rest.split(';').next());
        let named: f64 = named.and_then(|number| number.parse().ok()).expect("a lambda");
        assert_ne!(theorem1_relative(&Evidence { ridge: named, ..few }, 0.05).status, Status::NotApplicable);
        assert!(found.statement.contains("Theorem 1 needs only lambda ≥ 1.000."), "{}", found.statement);
    }

    /// N kernels and L values of λ: t is that of δ/(NL), and the probability stays 1 − δ.
    #[test]
    fn a_list_of_candidates_is_paid_for() {
        let evidence = Evidence { sample_count: 100_000, ridge: 0.005, exact: Some(exact(0.1, 3.0)), ..ridge_fit() };
        let choices = crate::theory::Choices::FromList { kernels: 4, lambdas: 5 };
        let listed = theorem1_relative(&Evidence { choices, ..evidence.clone() }, 0.05);
        let stricter = theorem1_relative(&evidence, 0.05 / 20.0);
        assert_eq!((listed.value, listed.inputs["t"]), (stricter.value, stricter.inputs["t"]));
        assert_eq!((listed.probability, listed.inputs["candidates"]), (Some(0.95), 20.0));
    }

    #[test]
    fn it_reaches_where_theorem_1_does_not() {
        let evidence = Evidence { sample_count: 100_000, ridge: 0.005, exact: Some(exact(0.1, 3.0)), ..ridge_fit() };
        assert_eq!(wang::theorem1(&evidence, 0.05).status, Status::NotApplicable);
        let relative = theorem1_relative(&evidence, 0.05);
        assert_eq!(relative.status, Status::Conditional);
        assert!(relative.value.unwrap() < relative.inputs["plain_bound"]);
        let smaller = theorem1_relative(&Evidence { ridge: 1e-5, ..evidence }, 0.05);
        assert_eq!((smaller.status, smaller.value), (Status::NotApplicable, None));
        assert!(smaller.statement.contains("the smallest that any bound certifies"), "{}", smaller.statement);
    }
}
