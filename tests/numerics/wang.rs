//! Wang's bounds against the golden guarantees, and their soundness on simulated draws.

use crate::exact::problem;
use crate::golden::{assert_close, data, load, number};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::solver::{BlockGram, Gram, solve_ridge};
use bochner::theory::Status;
use bochner::theory::wang::{Evidence, remark1, theorem1, threshold_printed, threshold_proof};
use ndarray::{Axis, s};
use serde_json::Value;

fn evidence_of(file: &Value, case: &Value, bound: &Value) -> Evidence {
    Evidence {
        sample_count: file["n"].as_u64().unwrap() as usize,
        feature_count: bound["s"].as_u64().unwrap() as usize,
        draw_count: number(&bound["draws"]) as usize,
        feature_bound: Some(number(&bound["b"])),
        draws_independent: true,
        unbiased: true,
        ridge: number(&case["lam"]),
        target_count: 1,
        target_mean_square: number(&file["y2_mean"]),
        quadratic_form: Some(number(&case["Q"])),
        kernel_fixed_in_advance: true,
        rows_weighted: false,
    }
}

#[test]
fn bounds_and_thresholds_are_the_golden_ones() {
    let mut seen = 0;
    for set in ["diabetes", "syn1d", "syn3d"] {
        let file = load(&format!("guarantees_{set}.json"));
        for kernel in file["kernels"].as_array().unwrap() {
            for case in kernel["lambdas"].as_array().unwrap() {
                for bound in case["wang"].as_array().unwrap() {
                    let evidence = evidence_of(&file, case, bound);
                    let delta = number(&bound["delta"]);
                    let relative = |found: f64, key: &str| assert_close(found / number(&bound[key]), 1.0, 1e-8, key);
                    let theorem = theorem1(&evidence, delta);
                    relative(theorem.value.unwrap(), "theorem1_bound");
                    relative(remark1(&evidence, delta).value.unwrap(), "remark1_bound");
                    let (b, n, s) = (number(&bound["b"]), evidence.sample_count, evidence.feature_count);
                    relative(threshold_printed(b, n, s, delta), "threshold_printed");
                    relative(threshold_proof(b, n, s, delta), "threshold_proof");
                    let met = bound["condition_proof_met"].as_bool().unwrap();
                    assert_eq!(theorem.status != Status::NotApplicable, met);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

/// Over 200 feature draws at a λ that meets the condition, the mean squared distance to exact
/// kernel ridge regression on held-out rows never exceeds Theorem 1, which never exceeds Remark 1.
#[test]
fn the_measured_error_stays_below_the_bound() {
    const TRAINING: usize = 150;
    let (inputs, targets) = data("syn3d");
    let (training, held_out) = (inputs.slice(s![..TRAINING, ..]), inputs.slice(s![TRAINING.., ..]));
    let targets = targets.slice(s![..TRAINING]).to_owned();
    let kernel = Kernel::Gaussian { bandwidth: 1.44276 };
    let feature_count = 40;
    let ridge = threshold_proof(1.0, TRAINING, feature_count, 0.05);
    let exact = problem(kernel, training, targets.view().insert_axis(Axis(1)), ridge);
    let exact = exact.solve(None, &|| true).unwrap();
    let reference = exact.predict(held_out);

    let error = |seed: u64| {
        let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, seed, feature_count, inputs.ncols());
        let projector = map.projector::<f64>();
        let mut block = BlockGram::<f64>::new(feature_count, 1);
        block.fill(&mut projector.transform(training), targets.view().insert_axis(Axis(1)), None);
        let mut gram = Gram::new(feature_count, 1);
        gram.add(&block);
        let weights = solve_ridge(&gram.into_normal_equations(), ridge, 2).unwrap().weights;
        let difference = projector.transform(held_out).dot(&weights) - &reference;
        difference.mapv(|value| value * value).mean().unwrap()
    };
    let errors: Vec<f64> = (0..200).map(error).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;

    let evidence = Evidence {
        sample_count: TRAINING,
        feature_count,
        draw_count: feature_count / 2,
        feature_bound: Some(1.0),
        draws_independent: true,
        unbiased: true,
        ridge,
        target_count: 1,
        target_mean_square: targets.dot(&targets) / TRAINING as f64,
        quadratic_form: Some(exact.quadratic_form),
        kernel_fixed_in_advance: true,
        rows_weighted: false,
    };
    let theorem = theorem1(&evidence, 0.05);
    assert_eq!(theorem.status, Status::Conditional); // independent rows can only be assumed
    let bound = theorem.value.unwrap();
    assert!(mean <= bound, "measured {mean}, bound {bound}");
    assert!(bound <= remark1(&evidence, 0.05).value.unwrap());
}
