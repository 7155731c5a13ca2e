//! S. Shahrampour, S. Kolouri, *On sampling random features from empirical leverage scores*, 2019.
//!
//! **Statement.** Features drawn by empirical leverage from a pool of M₀, on N₀ rows, have an excess
//! risk of the order of three terms, once there are 5·deg·log(16n·deg) of them, deg = Σ μ/(μ+1/n) over
//! the pool, and (8/3)Δ⁻²M₀·log(1/δ) rows to score them on (Theorem 1).
//!
//! **Assumptions.** A Lipschitz loss; λ = 1/n, of the scores and of the model; a pool that is small against the rows,
//! M₀ = o(n), of which only M₀ < n can be checked.
//!
//! **Notation.** The paper's M is our number of draws, M₀ and N₀ are the pool's.
//!
//! **Departures.** None. The constants of the three terms are unknown, so the terms are shown without them.

use crate::theory::papers::li::lipschitz;
use crate::theory::statement::assumptions::LEVERAGE_SAMPLING;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, PoolEvidence, SamplingKind};

const THEOREM1: Source = Source {
    id: "shahrampour_kolouri.theorem1",
    paper: "Shahrampour & Kolouri 2019, Theorem 1",
    bounds: "features drawn by empirical leverage that keep the learning rate",
    form: Form::Requirement,
};

/// The Δ of the theorem for which the rows are counted.
const ACCURACY: f64 = 0.25;
/// Below this ratio to σ_max, σ_min is a rounding error and 1/σ_min is meaningless.
const SMALLEST_CONDITION: f64 = 1e-12;

/// λ and 1/n that differ by less than this share are the same.
const SAME_LAMBDA: f64 = 1e-6;

/// 5·deg·log(16n·deg), before rounding up. [S, Thm 1]
pub fn enough_draws(degrees: f64, sample_count: usize) -> f64 {
    5.0 * degrees * (16.0 * sample_count as f64 * degrees).ln()
}

/// (8/3)Δ⁻²M₀·log(1/δ), before rounding up. [S, Thm 1]
pub fn enough_rows(candidate_count: usize, accuracy: f64, failure_probability: f64) -> f64 {
    8.0 / 3.0 * candidate_count as f64 * -failure_probability.ln() / (accuracy * accuracy)
}

/// √((Δ/n)/σ_min); none if σ_min is a rounding error. [S, Thm 1, Er(g)]
pub fn selection_term(accuracy: f64, sample_count: usize, smallest: f64, largest: f64) -> Option<f64> {
    let meaningful = smallest > 0.0 && smallest / largest >= SMALLEST_CONDITION;
    meaningful.then(|| (accuracy / sample_count as f64 / smallest).sqrt())
}

/// `shahrampour_kolouri.theorem1`: features that were chosen from a pool.
pub fn theorem1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    // A model with plain sampling may have a pool too: that of its own features.
    let drawn = matches!(evidence.sampling, SamplingKind::DataIndependent | SamplingKind::NoFeatures);
    if drawn {
        return THEOREM1.unavailable(
            Assumption::violated("features chosen from a pool of candidates", "they were drawn directly")
                .with_remedy(LEVERAGE_SAMPLING),
        );
    }
    let n = evidence.sample_count;
    let (Some(pool), Some(degrees)) = (&evidence.pool, evidence.pool_degrees_at(1.0 / n as f64)) else {
        let weighted = evidence.sampling == SamplingKind::LeverageWeighted;
        return THEOREM1.unavailable(
            Assumption::violated("the degrees of freedom of the pool at a lambda of 1/n", "they were not computed")
                .with_remedy(if weighted { "Train on all rows at once." } else { LEVERAGE_SAMPLING }),
        );
    };
    let draws = enough_draws(degrees, n);
    let columns = evidence.columns_of(draws);
    let rows = enough_rows(pool.candidate_count, ACCURACY, failure_probability).ceil();
    let mut inputs = evidence.inputs(failure_probability);
    inputs.extend([("degrees", degrees), ("draws_needed", draws), ("rows_needed", rows)]);
    inputs.extend(terms(pool, n));
    let mut assumptions = vec![
        Assumption::at_least("enough features drawn by leverage", evidence.feature_count as f64, columns)
            .with_remedy(format!("Use at least {columns} features.")),
        Assumption::at_least("enough rows to score the pool on", pool.row_count as f64, rows)
            .with_remedy(format!("Score the pool on at least {rows} rows.")),
        lipschitz(evidence.loss),
        at_inverse_rows("a lambda of 1/n", evidence.ridge, n).with_remedy(format!("Set lambda to {}.", 1.0 / n as f64)),
        at_inverse_rows("scores at a lambda of 1/n", evidence.score_ridge().unwrap_or(1.0 / n as f64), n)
            .with_remedy(format!("Set features.pool_lambda to {}.", 1.0 / n as f64)),
        small_pool(pool.candidate_count, n),
        evidence.features_bounded(),
        evidence.draws_by_leverage(),
        Assumption::assumed("moderate constants in the three terms, which the paper does not state"),
    ];
    assumptions.extend(evidence.rows_and_choices());
    THEOREM1.guarantee(Finding {
        value: Some(columns),
        informative: true,
        failure_probability: Some(failure_probability),
        assumptions,
        inputs,
        estimated: vec!["degrees"],
        wording: Wording {
            claim: format!(
                "the excess risk is of the order of {}, plus the error of the pool itself, with probability at least {}: \
                 the theorem requires {columns} features drawn by leverage and this model has {}",
                rounded_up(1.0 / (n as f64).sqrt()),
                percent(failure_probability),
                evidence.feature_count
            ),
            ..Wording::default()
        },
    })
}

/// Whether λ is 1/n.
fn at_inverse_rows(text: &str, ridge: f64, sample_count: usize) -> Assumption {
    let product = ridge * sample_count as f64;
    if (product - 1.0).abs() <= SAME_LAMBDA {
        return Assumption::checked(text);
    }
    Assumption::violated(text, format!("it is {} times that", rounded_up(product)))
}

/// Whether M₀ = o(n), as far as one n can tell.
fn small_pool(candidate_count: usize, sample_count: usize) -> Assumption {
    let text = "a pool that is small against the number of rows";
    if candidate_count < sample_count {
        return Assumption::assumed(format!("{text}: {candidate_count} candidates, {sample_count} rows"));
    }
    Assumption::violated(text, format!("there are {candidate_count} candidates and {sample_count} rows"))
        .with_remedy(format!("Use features.pool below {sample_count} candidates, or more rows."))
}

/// Er(N), Er(k) and Er(g), each without its constant.
fn terms(pool: &PoolEvidence, sample_count: usize) -> Vec<(&'static str, f64)> {
    let mut terms = vec![("er_n", 1.0 / (sample_count as f64).sqrt())];
    terms.extend(pool.kernel_deviation.map(|deviation| ("er_k", deviation)));
    if let (Some(&largest), Some(&smallest)) = (pool.spectrum.first(), pool.spectrum.last()) {
        terms.extend(selection_term(ACCURACY, sample_count, smallest, largest).map(|term| ("er_g", term)));
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{LossKind, Status};

    /// deg = 1 and n = 1 require 5·log 16 draws; Δ = ½, M₀ = 3 and δ = 1/e require 32 rows.
    #[test]
    fn values_by_hand() {
        assert!((enough_draws(1.0, 1) - 5.0 * 16.0_f64.ln()).abs() < 1e-12);
        assert!((enough_rows(3, 0.5, (-1.0_f64).exp()) - 32.0).abs() < 1e-12);
        assert_eq!(selection_term(0.25, 100, 0.0025, 1.0), Some(1.0));
        assert_eq!(selection_term(0.25, 100, 1e-13, 1.0), None);
        assert_eq!(selection_term(0.25, 100, 0.0, 1.0), None);
    }

    #[test]
    fn it_covers_only_features_chosen_from_a_pool() {
        assert_eq!(theorem1(&ridge_fit(), 0.05).value, None);
        let pool = PoolEvidence {
            candidate_count: 10,
            row_count: 5_000,
            spectrum: vec![0.5, 0.1, 0.0],
            kernel_deviation: Some(0.08),
            largest_leverages: Vec::new(),
        };
        let chosen = Evidence {
            pool: Some(pool),
            sampling: SamplingKind::LeverageWeighted,
            sample_count: 5_000,
            loss: LossKind::Logistic,
            ridge: 1.0 / 5_000.0,
            ..ridge_fit()
        };
        let plain = Evidence { sampling: SamplingKind::DataIndependent, ..chosen.clone() };
        assert_eq!((theorem1(&plain, 0.05).value, theorem1(&plain, 0.05).status), (None, Status::NotApplicable));
        assert!(theorem1(&plain, 0.05).statement.ends_with("Use sampling leverage."));
        let found = theorem1(&chosen, 0.05);
        assert_eq!(found.status, Status::Conditional, "{}", found.statement);
        assert_eq!((found.inputs["er_k"], found.inputs.get("er_g")), (0.08, None));
        let few = theorem1(&Evidence { feature_count: 20, draw_count: 20, ..chosen.clone() }, 0.05);
        assert_eq!(few.status, Status::NotApplicable);
        for (evidence, part) in [
            (Evidence { loss: LossKind::Squared, ..chosen.clone() }, "requires a Lipschitz loss"),
            (Evidence { ridge: 0.001, ..chosen.clone() }, "Set lambda to 0.0002."),
            (Evidence { pool_degrees: vec![(1e-4, 3.0)], ..chosen.clone() }, "Set features.pool_lambda to 0.0002."),
            (Evidence { sample_count: 10, ridge: 0.1, ..chosen }, "small against the number of rows"),
        ] {
            let refused = theorem1(&evidence, 0.05);
            assert_eq!(refused.status, Status::NotApplicable, "{}", refused.statement);
            assert!(refused.statement.contains(part), "{}", refused.statement);
        }
    }

    /// A pool too large for its spectrum tells its degrees of freedom at 1/n all the same.
    #[test]
    fn the_degrees_of_a_large_pool_are_enough() {
        let pool = PoolEvidence {
            candidate_count: 100,
            row_count: 5_000,
            spectrum: Vec::new(),
            kernel_deviation: None,
            largest_leverages: Vec::new(),
        };
        let large = Evidence {
            pool: Some(pool),
            sampling: SamplingKind::LeverageWeighted,
            sample_count: 5_000,
            pool_degrees: vec![(0.7, 2.0), (1.0 / 5_000.0, 12.0)],
            ..ridge_fit()
        };
        assert_eq!(theorem1(&large, 0.05).inputs["degrees"], 12.0);
        assert_eq!(theorem1(&Evidence { pool_degrees: Vec::new(), ..large }, 0.05).value, None);
    }
}
