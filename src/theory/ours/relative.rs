//! Theorem 1 of W at small λ: W's proof with a relative matrix Bernstein inequality.
//!
//! **Statement.** Let A = Ξ + λI and Zᵢ = A^(−½)ψᵢψᵢᵀA^(−½), M its expectation. M − Zᵢ has largest
//! eigenvalue ≤ 1 and E Zᵢ² ≼ (b/λ)M, so P(Ξ − G ⋠ tA) ≤ s·exp(−(nt²/2)/(b/λ + t/3)). On the
//! complement Ξ ≼ (G + tλI)/(1−t), and W's analysis goes through with 1/((1−t)n) for 1/n: for the t
//! in (0,1) that solves n = (2/t²)(b/λ + t/3)·log(s/δ), E(f_s − f)² on that event is at most
//! (2b/m)(1 + 1/(1−t))·Q.
//!
//! It needs λ of the order (b/n)·log(s/δ) where Theorem 1 needs b√(log(s/δ)/n).

use crate::theory::papers::wang;
use crate::theory::papers::wang::distance::{Distance, ERROR_ON_EVENT};
use crate::theory::papers::wang::theorem1::quadratic_form;
use crate::theory::papers::wang::thresholds::log_ratio;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::rounded_up;
use crate::theory::{Assumption, AssumptionState, Evidence, Form, Guarantee};

const RELATIVE: Source = Source {
    id: "bochner.theorem1_relative",
    paper: "Wang 2019, proof of Theorem 1, with a relative matrix Bernstein inequality",
    bounds: ERROR_ON_EVENT,
    form: Form::Bound,
};

/// The largest t for which a λ counts as certified. At 0.9 the constant 4b of Theorem 1 has become 22b; closer
/// to 1 it grows without bound while λ hardly decreases.
pub const LARGEST_SLACK: f64 = 0.9;

/// The t with n = (2/t²)(b/λ + t/3)·log(s/δ); nothing is proved for t ≥ 1.
pub fn slack(
    feature_bound: f64,
    ridge: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let (l, n) = (log_ratio(feature_count, failure_probability), sample_count as f64);
    let linear = l / (3.0 * n);
    linear + (linear * linear + 2.0 * feature_bound * l / (n * ridge)).sqrt()
}

/// The λ at which that t is `slack`; none if n is too small for any λ.
pub fn ridge_at_slack(
    slack: f64,
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> Option<f64> {
    let (l, n) = (log_ratio(feature_count, failure_probability), sample_count as f64);
    let rest = n * slack * slack - 2.0 * l * slack / 3.0;
    (rest > 0.0).then(|| 2.0 * feature_bound * l / rest)
}

/// (2b/m)(1 + 1/(1−t))·Q.
pub fn relative_bound(feature_bound: f64, draw_count: usize, slack: f64, quadratic_form: f64) -> f64 {
    2.0 * feature_bound / draw_count as f64 * (1.0 + 1.0 / (1.0 - slack)) * quadratic_form
}

/// (2/((1−t)n))·((nb/m)Q − ‖Kα‖²/m) + (2b/m)Q, the bound before the last inequality of the proof.
pub fn sharp_relative_bound(
    feature_bound: f64,
    draw_count: usize,
    sample_count: usize,
    slack: f64,
    quadratic_form: f64,
    fitted_square: f64,
) -> f64 {
    let saved = 2.0 * fitted_square / ((1.0 - slack) * sample_count as f64 * draw_count as f64);
    relative_bound(feature_bound, draw_count, slack, quadratic_form) - saved
}

/// The smallest λ that any bound certifies: Theorem 1, or the relative bound with t up to [`LARGEST_SLACK`].
pub fn smallest_certified_ridge(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let (b, n, s, delta) = (feature_bound, sample_count, feature_count, failure_probability);
    let absolute = wang::threshold(b, n, s, delta);
    smallest_relative_ridge(b, n, s, delta).map_or(absolute, |relative| relative.min(absolute))
}

/// The smallest λ that the relative bound certifies, at [`LARGEST_SLACK`]; none if n is too small for any λ.
pub fn smallest_relative_ridge(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> Option<f64> {
    ridge_at_slack(LARGEST_SLACK, feature_bound, sample_count, feature_count, failure_probability)
}

/// The λ to use instead, as a sentence.
fn remedy(b: f64, n: usize, s: usize, delta: f64) -> String {
    let any = smallest_certified_ridge(b, n, s, delta);
    match smallest_relative_ridge(b, n, s, delta) {
        Some(own) if own <= any => {
            format!("Use lambda ≥ {}, the smallest that any bound certifies.", rounded_up(own))
        }
        Some(own) => {
            format!("Use lambda ≥ {}; Theorem 1 needs only lambda ≥ {}.", rounded_up(own), rounded_up(any))
        }
        None => {
            format!("Use more rows; Theorem 1 needs only lambda ≥ {}.", rounded_up(any))
        }
    }
}

/// The smallest number of columns with a bound below `error`, if there is one. More features make t grow, so the count
/// is raised until it is enough for its own t.
fn columns_below(evidence: &Evidence, delta: f64, b: f64, q: f64, error: f64) -> Option<f64> {
    const ROUNDS: usize = 100;
    let mut columns = evidence.columns_of(1.0);
    for _ in 0..ROUNDS {
        let t = slack(b, evidence.ridge, evidence.sample_count, columns as usize, delta);
        if t >= 1.0 {
            return None;
        }
        let needed = evidence.columns_of((relative_bound(b, 1, t, q) / error).floor() + 1.0);
        if needed <= columns {
            return Some(columns);
        }
        columns = needed;
    }
    None
}

/// `bochner.theorem1_relative`: with the exact Q if it is known, otherwise with its worst case.
pub fn theorem1_relative(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some((q, origin)) = quadratic_form(evidence) else { return RELATIVE.unavailable(evidence.is_not_ridge()) };
    let Some(b) = evidence.feature_bound else {
        return RELATIVE.unavailable(evidence.features_bounded());
    };
    let (n, s, m) = (evidence.sample_count, evidence.feature_count, evidence.draw_count);
    let t = slack(b, evidence.ridge, n, s, failure_probability);
    let bound = (t < 1.0).then(|| relative_bound(b, m, t, q));
    let mut inputs = evidence.inputs(failure_probability);
    inputs.extend([("q", q), ("t", t)]);
    let need = ridge_at_slack(1.0, b, n, s, failure_probability).unwrap_or(f64::INFINITY);
    if need.is_finite() {
        inputs.insert("smallest_lambda", smallest_certified_ridge(b, n, s, failure_probability));
    }
    if let (Some((fitted, _)), true) = (evidence.solution().and_then(|solution| solution.fitted_square), t < 1.0) {
        inputs.insert("sharper_bound", sharp_relative_bound(b, m, n, t, q, fitted));
    }
    let text = "a large enough lambda, above 2bl/(n - 2l/3) with l = log(s/delta)";
    let large_enough = Assumption {
        have: Some(evidence.ridge),
        need: Some(need),
        state: if t < 1.0 { AssumptionState::Checked } else { AssumptionState::Violated },
        shortfall: if need.is_finite() { String::new() } else { "no lambda is large enough with so few rows".into() },
        ..Assumption::checked(text).with_remedy(remedy(b, n, s, failure_probability))
    };
    let mut assumptions = vec![
        large_enough,
        evidence.features_bounded(),
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
        origin,
    ];
    assumptions.extend(evidence.rows_and_choices());
    let variance = evidence.target_mean_square.unwrap_or(0.0);
    let columns = columns_below(evidence, failure_probability, b, q, variance);
    let distance = Distance { bound, failure_probability, columns };
    inputs.extend(distance.for_this_draw());
    RELATIVE.guarantee(Finding {
        value: bound,
        informative: bound.is_some_and(|bound| bound < variance),
        failure_probability: Some(failure_probability),
        assumptions,
        inputs,
        estimated: Vec::new(),
        wording: distance.wording(evidence),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::Status;
    use crate::theory::evidence::tests::{exact, ridge_fit};

    /// n = 16,000, s = 100, b = 1, δ = 0.05: λ ≈ 0.0012 at t = 0.9 and 0.004 at t = ½, against 0.036.
    #[test]
    fn the_figures_of_the_derivation() {
        let at = |t| ridge_at_slack(t, 1.0, 16_000, 100, 0.05).unwrap();
        assert!((at(0.9) - 0.001_173).abs() < 1e-6, "{}", at(0.9));
        assert!((at(0.5) - 0.003_803).abs() < 1e-6, "{}", at(0.5));
        assert_eq!(smallest_certified_ridge(1.0, 16_000, 100, 0.05), at(0.9));
        assert!(wang::threshold_proof(1.0, 16_000, 100, 0.05) > 30.0 * at(0.9));
    }

    #[test]
    fn the_slack_and_its_ridge_are_inverse() {
        for t in [0.1, 0.5, 0.9, 0.999] {
            let ridge = ridge_at_slack(t, 2.0, 5_000, 300, 0.01).unwrap();
            assert!((slack(2.0, ridge, 5_000, 300, 0.01) - t).abs() < 1e-12);
        }
        assert!(slack(1.0, 0.1, 1_000, 50, 0.05) > slack(1.0, 0.1, 2_000, 50, 0.05));
        assert!(slack(1.0, 0.1, 1_000, 50, 0.01) > slack(1.0, 0.1, 1_000, 50, 0.05));
    }

    /// With few rows the relative bound proves nothing, and λ = b is enough for Theorem 1.
    #[test]
    fn few_rows_fall_back_to_theorem_1() {
        assert_eq!(ridge_at_slack(0.9, 1.0, 3, 1_000, 0.05), None);
        assert_eq!(smallest_certified_ridge(1.0, 3, 1_000, 0.05), 1.0);
    }

    /// t = ½ makes the constant 2b(1 + 2) = 6b: 6·2/200·0.37, less 2·2·3/(300·200).
    #[test]
    fn values_by_hand() {
        assert!((relative_bound(2.0, 200, 0.5, 0.37) - 0.0222).abs() < 1e-15);
        assert!((sharp_relative_bound(2.0, 200, 300, 0.5, 0.37, 3.0) - 0.022).abs() < 1e-15);
    }

    #[test]
    fn an_uninformative_bound_says_how_many_features_are_enough() {
        let evidence = Evidence { sample_count: 100_000, ridge: 0.005, exact: Some(exact(20.0, 3.0)), ..ridge_fit() };
        let vacuous = theorem1_relative(&evidence, 0.05);
        assert_eq!(vacuous.status, Status::Vacuous);
        let columns = columns_below(&evidence, 0.05, 2.0, 20.0, 0.31).unwrap();
        assert!(vacuous.statement.contains(&format!("{columns} features at this lambda")), "{}", vacuous.statement);
        let with = |columns: f64| {
            let (feature_count, draw_count) = (columns as usize, columns as usize);
            theorem1_relative(&Evidence { feature_count, draw_count, ..evidence.clone() }, 0.05).status
        };
        assert_eq!((with(columns), with(columns - 1.0)), (Status::Conditional, Status::Vacuous));
    }

    /// 16 rows: Theorem 1 holds for λ ≥ b, which is too small for the relative bound. The λ that it names is enough.
    #[test]
    fn the_ridge_in_the_remedy_is_large_enough() {
        let few = Evidence { sample_count: 16, ridge: 0.01, feature_bound: Some(1.0), ..ridge_fit() };
        assert_eq!(smallest_certified_ridge(1.0, 16, 200, 0.05), 1.0);
        let found = theorem1_relative(&few, 0.05);
        let named = found.statement.split("Use lambda ≥ ").nth(1).and_then(|rest| rest.split(';').next());
        let named: f64 = named.and_then(|number| number.parse().ok()).expect("a lambda");
        assert_ne!(theorem1_relative(&Evidence { ridge: named, ..few.clone() }, 0.05).status, Status::NotApplicable);
        assert!(found.statement.contains("Theorem 1 needs only lambda ≥ 1.000."), "{}", found.statement);
        let fewer = theorem1_relative(&Evidence { sample_count: 4, ..few }, 0.05);
        assert!(fewer.statement.contains("no lambda is large enough with so few rows"), "{}", fewer.statement);
    }

    #[test]
    fn it_reaches_where_theorem_1_does_not() {
        let evidence = Evidence { sample_count: 100_000, ridge: 0.005, exact: Some(exact(0.1, 3.0)), ..ridge_fit() };
        assert_eq!(wang::theorem1(&evidence, 0.05).status, Status::NotApplicable);
        let relative = theorem1_relative(&evidence, 0.05);
        assert_eq!(relative.status, Status::Conditional);
        assert!(relative.inputs["sharper_bound"] < relative.value.unwrap());
        let smaller = theorem1_relative(&Evidence { ridge: 1e-5, ..evidence }, 0.05);
        assert_eq!((smaller.status, smaller.value), (Status::NotApplicable, None));
        assert!(smaller.statement.contains("the smallest that any bound certifies"), "{}", smaller.statement);
    }
}
