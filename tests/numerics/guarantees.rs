//! The theorems besides Wang's against the golden guarantees, and every statement for every case.

use crate::evidence::{exact_of, for_each_case, kernel_of, ridge_fit, wang_case};
use crate::golden::{assert_close, load, number, vector};
use bochner::linalg::symmetric_eigenvalues;
use bochner::theory::ours::conformal::{conformal_quantile, conformal_rank};
use bochner::theory::papers::avron::risk_inflation::lemma2;
use bochner::theory::papers::li::r_star;
use bochner::theory::papers::shahrampour_kolouri::{enough_draws, enough_rows, selection_term};
use bochner::theory::papers::{avron, li};
use bochner::theory::{Circumstances, Evidence, LossKind, RowAccess, SamplingKind, Status, guarantees};
use ndarray::Array2;
use serde_json::Value;

fn relative(found: f64, expected: &Value, what: &str) {
    assert_close(found / number(expected), 1.0, 1e-8, what);
}

fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// b and columns per draw of a map.
fn map_numbers(map: &Value) -> (f64, usize) {
    match map.as_str().unwrap() {
        "phase" => (2.0, 1),
        "pair" => (1.0, 2),
        "sign" => (1.0, 1),
        other => panic!("{other}"),
    }
}

fn case_evidence(file: &Value, case: &Value, map: &Value, feature_count: usize) -> Evidence {
    let (b, columns) = map_numbers(map);
    let counts = (feature_count, feature_count / columns);
    let fit = ridge_fit(count(&file["n"]), counts, b, number(&case["lam"]), number(&file["y2_mean"]));
    Evidence { exact: Some(exact_of(case)), kernel: Some(kernel_of(case, None)), ..fit }
}

#[test]
fn avron_delta_for_s_and_s_for_delta() {
    let mut valid = 0;
    for_each_case(|file, _, case| {
        let rho = number(&case["avron"]["rho"]);
        for golden in case["avron"]["for_s"].as_array().unwrap() {
            let plain = case_evidence(file, case, &golden["map"], count(&golden["s"]));
            let weighted = Evidence { sampling: SamplingKind::LeverageWeighted, ..plain.clone() };
            let (theorem, lemma) = (avron::theorem7(&plain, rho), avron::lemma6(&weighted, rho));
            relative(theorem.value.unwrap(), &golden["delta_plain"], "delta_plain");
            relative(lemma.value.unwrap(), &golden["delta_leverage"], "delta_leverage");
            for (found, key) in [(theorem, "valid_plain"), (lemma, "valid_leverage")] {
                let met = golden[key].as_bool().unwrap() && case["avron"]["condition_top_eigenvalue"] == true;
                assert_eq!(found.status != Status::NotApplicable, met, "{key}: {}", found.statement);
                valid += usize::from(met);
            }
        }
        for golden in case["avron"]["for_delta"].as_array().unwrap() {
            let (b, columns) = map_numbers(&golden["map"]);
            let dimension = number(&case["s_lambda"]);
            let sums = [("plain", b / number(&case["lam"])), ("leverage", dimension)];
            for (sampling, sum) in sums {
                let draws = avron::draws_for_delta(sum, dimension, number(&golden["Delta"]), rho);
                relative(draws, &golden[format!("draws_{sampling}_real")], sampling);
                assert_eq!(draws.ceil() as usize * columns, count(&golden[format!("columns_{sampling}")]));
            }
        }
    });
    assert!(valid > 20, "{valid}");
}

#[test]
fn avron_lemma_2_with_the_exact_fit_plugged_in() {
    let mut seen = 0;
    for_each_case(|file, _, case| {
        let golden = &case["avron_lemma2"];
        if golden.is_null() {
            return;
        }
        let fit = case_evidence(file, case, &"phase".into(), count(&golden["rank"]));
        let evidence = Evidence { kernel: Some(kernel_of(case, golden["Delta"].as_f64())), ..fit };
        let found = lemma2(&evidence, 0.05);
        // The noise comes from a difference of squares, which costs digits.
        assert_close(found.inputs["noise_variance"] / number(&golden["sigma2_estimate"]), 1.0, 1e-6, "noise");
        assert_close(found.inputs["exact_risk"] / number(&golden["R_K"]), 1.0, 1e-6, "R_K");
        assert_close(found.value.unwrap() / number(&golden["bound"]), 1.0, 1e-6, "bound");
        seen += 1;
    });
    assert!(seen > 20, "{seen}");
}

/// The golden logarithms have s_λ of the kernel matrix. The guarantees have κ²/λ, which bounds d(λ) of the population, so
/// they never require less.
#[test]
fn li_counts_printed_and_repaired() {
    let mut met = 0;
    let cases = for_each_case(|file, _, case| {
        for golden in case["li"].as_array().unwrap() {
            let (b, delta, lambda) = (number(&golden["kappa2"]), number(&golden["delta"]), number(&case["lam"]));
            let fit = ridge_fit(count(&file["n"]), (4_000, 4_000), b, lambda, 1.0);
            let plain = Evidence { loss: LossKind::Hinge, kernel: Some(kernel_of(case, None)), ..fit };
            let weighted = Evidence { sampling: SamplingKind::LeverageWeighted, ..plain.clone() };
            let dimension = number(&case["s_lambda"]);
            for (found, key, sum) in [
                (li::corollary1(&plain, delta), "plain", b / lambda),
                (li::theorem1(&plain, delta), "plain", b / lambda),
                (li::corollary2(&weighted, delta), "leverage", dimension),
                (li::theorem1(&weighted, delta), "leverage", dimension),
            ] {
                let golden = &golden[key];
                let counts = li::enough_draws(sum, dimension, delta);
                relative(counts.corollary, &golden["corollary"], key);
                relative(counts.theorem1, &golden["theorem1"], key);
                relative(counts.repaired, &golden["repaired"], key);
                let required = li::enough_draws(sum, b / lambda, delta);
                assert_close(found.inputs["draws_needed"] / required.repaired, 1.0, 1e-12, key);
                assert!(required.repaired >= counts.repaired, "{key}");
                let columns = required.repaired.ceil();
                assert_eq!(found.value.unwrap(), columns);
                // Above the trace of K/n, 1, the concentration step has no eigenvalue to stand on.
                let proved = columns <= 4_000.0 && lambda <= 1.0;
                assert_eq!(found.status != Status::NotApplicable, proved, "{}", found.statement);
                met += usize::from(proved);
            }
        }
    });
    assert!(cases > 20 && met > 20, "{cases} {met}");
}

#[test]
fn li_r_star_of_features_and_of_kernels() {
    let mut seen = 0;
    for set in ["diabetes", "syn1d", "syn3d"] {
        let rows = load(&format!("data_{set}.json"))["y"].as_array().unwrap().len();
        for case in load(&format!("features_{set}.json"))["cases"].as_array().unwrap() {
            let eigenvalues = vector(&case["gram_eigenvalues"]).to_vec();
            let found = r_star(&eigenvalues, rows);
            relative(found.value, &case["li_theorem2"]["rstar"], "rstar");
            assert_eq!(found.h, count(&case["li_theorem2"]["h"]));
            seen += 1;
        }
    }
    for set in ["diabetes", "syn1d", "syn3d"] {
        let (inputs, _) = crate::golden::data(set);
        let n = inputs.nrows();
        let file = load(&format!("guarantees_{set}.json"));
        let golden = file["li_rstar_kernel"].as_array().unwrap();
        for (case, golden) in file["kernels"].as_array().unwrap().iter().zip(golden) {
            let of_rows = |(i, j)| crate::golden::kernel(case).evaluate(inputs.row(i), inputs.row(j)) / n as f64;
            let mut eigenvalues = symmetric_eigenvalues(Array2::from_shape_fn((n, n), of_rows)).unwrap().to_vec();
            eigenvalues.reverse();
            let found = r_star(&eigenvalues, n);
            assert_close(found.value / number(&golden["rstar"]), 1.0, 1e-6, "rstar of the kernel");
            assert_eq!(found.h, count(&golden["h"]));
            seen += 1;
        }
    }
    assert!(seen > 16, "{seen}");
}

#[test]
fn shahrampour_kolouri_counts_and_terms() {
    let mut without_selection_term = 0;
    for set in ["syn3d", "diabetes", "breast_cancer"] {
        let file = load(&format!("sampling_{set}.json"));
        for golden in file["sk_theorem1"].as_array().unwrap() {
            let n = (1.0 / number(&golden["Er_N"]).powi(2)).round() as usize;
            let draws = enough_draws(number(&golden["deg"]), n);
            relative(draws, &golden["count_real"], "count");
            assert_eq!(draws.ceil() as usize, count(&golden["count"]));
            let (accuracy, delta) = (number(&golden["Delta"]), number(&golden["delta"]));
            relative(enough_rows(count(&file["M0"]), accuracy, delta), &golden["rows_real"], "rows");
            let term = selection_term(accuracy, n, number(&golden["sigma_min"]), number(&golden["sigma_max"]));
            match golden["Er_g"].as_f64() {
                Some(expected) => assert_close(term.unwrap() / expected, 1.0, 1e-8, "Er_g"),
                None => assert_eq!(term, None),
            }
            without_selection_term += usize::from(term.is_none());
        }
    }
    assert_eq!(without_selection_term, 2);
}

#[test]
fn conformal_ranks_and_quantiles_are_exact() {
    let mut corrected = 0;
    for case in load("conformal.json")["cases"].as_array().unwrap() {
        let mut scores = vector(&case["scores"]).to_vec();
        scores.sort_by(f64::total_cmp);
        let delta = number(&case["delta"]);
        let rank = conformal_rank(scores.len(), delta);
        assert_eq!(rank, count(&case["rank"]), "m = {}, delta = {delta}", scores.len());
        assert_eq!(conformal_quantile(&scores, delta), case["quantile"].as_f64().unwrap_or(f64::INFINITY));
        corrected += usize::from(rank != count(&case["naive_float_rank"]));
    }
    assert!(corrected > 0);
}

/// Whatever the case, a guarantee that is claimed has a finite value and meets its own inequalities.
#[test]
fn every_guarantee_of_every_case_is_consistent() {
    let mut claimed = 0;
    let around = Circumstances {
        rows: RowAccess::Kept,
        validation_rows: 0,
        held_out_rows: 0,
        sample_weights: false,
        kernel_unbounded: false,
        exact_residual: None,
    };
    for_each_case(|file, kernel, case| {
        for bound in case["wang"].as_array().unwrap() {
            let fit = wang_case(file, case, bound);
            let evidence = Evidence { sign_features: kernel["kernel"] == "angular", ..fit };
            for guarantee in guarantees(&evidence, number(&bound["delta"]), 0.95, &around).guarantees {
                if matches!(guarantee.status, Status::Holds | Status::Conditional) {
                    assert!(guarantee.value.is_some_and(f64::is_finite), "{}", guarantee.statement);
                    claimed += 1;
                }
                let numbers = guarantee.statement.split([' ', ',', ';', ')']);
                let strange = numbers.filter(|word| ["inf", "NaN"].contains(word)).count();
                assert_eq!(strange, 0, "{}", guarantee.statement);
            }
        }
    });
    assert!(claimed > 1_000, "{claimed}");
}
