//! Features chosen by rows against the golden pools, dense twins and simulations.

use crate::golden::{assert_close, data, feature_map, indices, kernel, load, map_kind, number, vector};
use crate::tables::{RowsInMemory, fit, schema, spec, waves};
use bochner::features::{
    CappedConstants, CappedDensity, CappedDraws, FeatureMap, Frequencies, Kernel, MapKind, Sampling, kernel_deviation,
    largest_scores,
};
use bochner::model::{FittedModel, Predictor, decode, encode};
use bochner::solver::{aligned_weights, norms_of_draws, ridge_leverages, spectral_delta};
use bochner::training::{Observer, Stage, TrainError, train};
use ndarray::{Array1, Array2, Axis};
use serde_json::{Value, json};

const SETS: [&str; 3] = ["diabetes", "syn3d", "breast_cancer"];
const ALL: [&str; 7] = ["leverage", "elss1", "elss2", "eerf", "lkrf", "pooled_ridge", "capped"];

/// A golden pool as the map `kind`, with its rows and targets.
fn pool(file: &Value, kind: &str) -> (FeatureMap, Array2<f64>, Array1<f64>) {
    let set = file["data"].as_str().unwrap().trim_start_matches("data_").trim_end_matches(".json");
    let (inputs, targets) = data(set);
    let mut case = file.clone();
    case["map"] = json!(kind);
    (feature_map(&case), inputs, targets)
}

fn gram(map: &FeatureMap, inputs: &Array2<f64>) -> Array2<f64> {
    let features = map.projector::<f64>().transform(inputs.view());
    features.t().dot(&features) / inputs.nrows() as f64
}

#[test]
fn leverages_are_those_of_the_golden_pools() {
    for set in SETS {
        let file = load(&format!("sampling_{set}.json"));
        for case in file["elss"].as_array().unwrap() {
            let (map, inputs, _) = pool(&file, case["map"].as_str().unwrap());
            let draws = map.draw_count();
            let found =
                ridge_leverages(gram(&map, &inputs), number(&case["lam"]), draws, 2, |_| true).unwrap().unwrap();
            let trace = found.sum();
            assert_close(trace, number(&case["trace"]), 1e-8, "trace");
            let diagonal = vector(&case["diag"]);
            for (j, expected) in vector(&case["qhat"]).iter().enumerate() {
                // The golden diagonal of a pair has both entries of a frequency, cosines first.
                let expected_diagonal: f64 = diagonal.iter().skip(j).step_by(draws).sum();
                assert_close(found[j], expected_diagonal, 1e-9, "leverage");
                assert_close(found[j] / trace / expected, 1.0, 1e-6, "q");
            }
            assert_eq!(largest_scores(&found.to_vec(), 10), indices(&case["top10"]));
            let largest = found.iter().copied().fold(0.0, f64::max);
            assert_close(draws as f64 * largest / number(&case["F_inf"]), 1.0, 1e-8, "F_inf");
            for (leverage, expected) in found.iter().zip(&vector(&case["elss1_weight_squared_first5"])) {
                assert_close(trace / (draws as f64 * leverage) / expected, 1.0, 1e-6, "weight");
            }
        }
    }
}

#[test]
fn the_deviation_of_a_pool_is_the_golden_one() {
    for set in SETS {
        let file = load(&format!("sampling_{set}.json"));
        for case in file["sk_theorem1"].as_array().unwrap() {
            let (inputs, _) = data(set);
            let draws = file["M0"].as_u64().unwrap() as usize;
            let found = kernel_deviation(kernel(&file), map_kind(case), draws, inputs.view()).unwrap();
            assert_close(found / number(&case["Er_k"]), 1.0, 1e-9, "Er_k");
        }
    }
}

#[test]
fn scores_by_targets_are_those_of_the_golden_pools() {
    for set in SETS {
        let file = load(&format!("sampling_{set}.json"));
        let (map, inputs, targets) = pool(&file, "phase");
        let features = map.projector::<f64>().transform(inputs.view());
        let products = features.t().dot(&targets) / inputs.nrows() as f64 * (map.draw_count() as f64).sqrt();
        let scores = norms_of_draws(products.insert_axis(Axis(1)).view(), map.draw_count());
        for (found, expected) in scores.iter().zip(&vector(&file["eerf"]["scores"])) {
            assert_close(*found, *expected, 1e-9, "eerf");
        }
        assert_eq!(largest_scores(&scores, 10), indices(&file["eerf"]["top10"]));
        let alignments: Vec<f64> = scores.iter().map(|score| (score * inputs.nrows() as f64).powi(2)).collect();
        for case in file["lkrf"]["cases"].as_array().unwrap() {
            let q = aligned_weights(&alignments, number(&case["rho"]));
            for (found, expected) in q.iter().zip(&vector(&case["q"])) {
                assert_close(*found, *expected, 1e-6, "q");
            }
            let objective: f64 = q.iter().zip(&vector(&file["lkrf"]["v"])).map(|(q, v)| q * v).sum();
            assert_close(objective / number(&case["objective"]), 1.0, 1e-8, "objective");
            let support = q.iter().filter(|weight| **weight > 0.0).count();
            assert!(support.abs_diff(case["support"].as_u64().unwrap() as usize) <= 1, "{support}");
        }
    }
}

#[test]
fn capped_densities_are_the_golden_ones() {
    let file = load("capped.json");
    for case in file["practical"].as_array().unwrap() {
        let density =
            CappedDensity::new(CappedConstants::Practical, number(&case["R"]), number(&case["n_lambda"])).unwrap();
        let [grid, densities, distribution, weights] =
            ["grid", "density", "cdf", "weight2"].map(|name| vector(&case[name]));
        for (at, eta) in grid.into_iter().enumerate() {
            assert_close(density.density(eta) / densities[at], 1.0, 1e-6, "density");
            assert_close(density.distribution(eta) / distribution[at], 1.0, 1e-6, "cdf");
            assert_close(density.weight_square(eta) / weights[at], 1.0, 1e-6, "weight");
        }
        assert_close(density.largest_weight_square() / number(&case["weight2_max"]), 1.0, 1e-6, "largest weight");
    }
    for case in file["paper"].as_array().unwrap() {
        let density =
            CappedDensity::new(CappedConstants::Paper, number(&case["R"]), number(&case["n_lambda"])).unwrap();
        let CappedDensity::Paper { edge, inside, total, .. } = density else { panic!("{density:?}") };
        assert_close(edge / number(&case["edge"]), 1.0, 1e-12, "edge");
        assert_close(total / number(&case["s_tau"]), 1.0, 1e-12, "s_tau");
        assert_close(inside, number(&case["uniform_probability"]), 1e-12, "inside");
        assert_close(density.density(0.5 * edge) / number(&case["density_inside"]), 1.0, 1e-12, "density");
    }
}

/// Draws from the density have its distribution, and their factors keep the kernel, within five standard errors.
#[test]
fn capped_draws_keep_the_kernel() {
    const DRAWS: usize = 40_000;
    let kernel = Kernel::Gaussian { bandwidth: 0.7 };
    for constants in [CappedConstants::Practical, CappedConstants::Paper] {
        let densities = [1.0, 3.0].map(|radius| CappedDensity::new(constants, radius, 1e4).unwrap());
        let CappedDraws { frequencies, scales } = CappedDraws::sample(kernel, &densities, 5, DRAWS);
        for (column, density) in frequencies.columns().into_iter().zip(&densities) {
            let below = column.iter().filter(|v| **v * 0.7 < 0.8).count() as f64 / DRAWS as f64;
            let expected = density.distribution(0.8);
            assert_close(below, expected, 5.0 * (expected * (1.0 - expected) / DRAWS as f64).sqrt(), "share");
        }
        for distance in [0.0, 0.6] {
            let value = |(row, factor): (ndarray::ArrayView1<f64>, &f64)| factor * factor * (row[0] * distance).cos();
            let values: Vec<f64> = frequencies.rows().into_iter().zip(&scales.factors).map(value).collect();
            let mean = values.iter().sum::<f64>() / DRAWS as f64;
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64;
            let exact = (-distance * distance / (2.0 * 0.49)).exp();
            assert_close(mean, exact, 5.0 * (square / DRAWS as f64).sqrt(), "kernel");
        }
        assert!(scales.factors.iter().all(|factor| *factor <= scales.largest * (1.0 + 1e-12)));
    }
}

/// A wide 1-d problem, where plain draws miss high frequencies: mean of Δ over 20 seeds.
#[test]
fn capped_draws_approximate_a_wide_kernel_better_than_plain_ones() {
    let (rows, lambda, draws) = (300, 1e-3, 400);
    let inputs = Array2::from_shape_fn((rows, 1), |(i, _)| 40.0 * ((i as f64 * 0.618_034).fract() - 0.5));
    let kernel = Kernel::Gaussian { bandwidth: 1.0 };
    let radius = 20.0 / std::f64::consts::TAU;
    let density = CappedDensity::new(CappedConstants::Practical, radius, 1.0 / lambda).unwrap();
    let delta = |map: &FeatureMap| {
        let features = map.projector::<f64>().transform(inputs.view());
        spectral_delta(kernel, inputs.view(), features.view(), rows as f64 * lambda, 2).unwrap()
    };
    let (mut plain, mut capped, mut smaller) = (0.0, 0.0, 0);
    for seed in 0..20 {
        let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, seed, 2 * draws, 1);
        let of_plain = delta(&map);
        let CappedDraws { frequencies, scales } =
            CappedDraws::sample(kernel, std::slice::from_ref(&density), seed, draws);
        let map = FeatureMap { frequencies: Frequencies::Dense(frequencies), scales: Some(scales), ..map };
        let of_capped = delta(&map);
        plain += of_plain / 20.0;
        capped += of_capped / 20.0;
        smaller += usize::from(of_capped < of_plain);
    }
    println!("mean Delta over 20 seeds: plain {plain:.3}, capped {capped:.3}, smaller in {smaller}");
    assert!(capped < plain && smaller >= 15, "{plain} {capped} {smaller}");
}

fn model(table: &RowsInMemory, sampling: &str, more: &Value) -> FittedModel {
    let mut raw =
        json!({"lambda": 1e-3, "features": {"count": 40, "sampling": sampling}, "guarantees": {"exact_rows": 0}});
    for (name, value) in more.as_object().unwrap() {
        if let Some(features) = value.as_object().filter(|_| name == "features") {
            features.iter().for_each(|(name, value)| raw["features"][name] = value.clone());
        } else {
            raw[name] = value.clone();
        }
    }
    fit(table, &raw, 2).unwrap().model
}

/// The model, every byte of it, for any number of threads; and what is read back predicts the same.
#[test]
fn a_choice_depends_on_rows_spec_and_seed_alone() {
    let table = waves(1_500);
    for sampling in ALL {
        let artifact = |threads, seed| {
            let raw =
                json!({"features": {"count": 40, "sampling": sampling, "seed": seed}, "guarantees": {"exact_rows": 0}});
            encode(&fit(&table, &raw, threads).unwrap().model).unwrap()
        };
        let reference = artifact(1, 7);
        assert!(reference == artifact(3, 7), "{sampling}");
        assert!(reference != artifact(1, 8), "{sampling}");
        let again = decode(&reference).unwrap();
        let known = model(&table, sampling, &json!({"lambda": "search", "features": {"seed": 7}}));
        assert_eq!(again, known, "{sampling}");
        let row: &[f64] = &[0.1, 0.2];
        assert_eq!(Predictor::new(again).predict(&[row]), Predictor::new(known).predict(&[row]), "{sampling}");
    }
}

/// f(x) = Wᵀ(c∘ψ(x)) + intercept with ψ written out, for both maps.
#[test]
fn predictions_use_the_column_weights() {
    let table = waves(800);
    for (map, sampling) in [("pair", "elss1"), ("phase", "leverage"), ("pair", "lkrf"), ("phase", "capped")] {
        let model = model(&table, sampling, &json!({"lambda": 1e-8, "features": {"map": map}}));
        let scales = model.map.scales.clone().unwrap();
        assert!(scales.factors.iter().any(|factor| (factor - 1.0).abs() > 0.01), "{sampling}");
        let Frequencies::Dense(frequencies) = model.map.frequencies.clone() else { panic!("dense") };
        let cells = [0.3, -0.4];
        let scaling = &model.inputs.scaling;
        let x: Array1<f64> = (0..2).map(|k| (cells[k] - scaling.offset[k]) * scaling.factor[k]).collect();
        let angles = frequencies.dot(&x);
        let m = angles.len() as f64;
        let mut expected = model.intercepts[0];
        for (j, angle) in angles.iter().enumerate() {
            let factor = scales.factors[j];
            expected += if map == "pair" {
                let (cosine, sine) = (model.weights[[j, 0]], model.weights[[j + angles.len(), 0]]);
                factor * (cosine * angle.cos() + sine * angle.sin()) / m.sqrt()
            } else {
                factor * model.weights[[j, 0]] * (angle + model.map.phases[j]).cos() * (2.0 / m).sqrt()
            };
        }
        let found = Predictor::new(model).predict(&[&cells])[[0, 0]];
        assert_close(found, expected, 1e-6, sampling);
    }
}

/// The draws that are kept are those that a dense twin keeps, from all rows at once.
#[test]
fn the_draws_that_are_kept_are_those_of_a_dense_twin() {
    let table = waves(700);
    let fixed = json!({"kernel": {"bandwidth": 0.6}, "scaling": "none", "validation_fraction": 0.0,
        "features": {"pool": 200, "map": "phase"}, "lambda": 1e-3});
    let cells = Array2::from_shape_vec((700, 3), table.cells.clone()).unwrap();
    let (inputs, targets) = (cells.slice(ndarray::s![.., ..2]).to_owned(), cells.column(2).to_owned());
    let pool = FeatureMap::sample(Kernel::Gaussian { bandwidth: 0.6 }, MapKind::Phase, Sampling::Plain, 0, 200, 2);
    let kept = |model: &FittedModel| -> Vec<usize> {
        let rows = pool.frequencies.written_out();
        let at = |row: ndarray::ArrayView1<f64>| rows.rows().into_iter().position(|other| other == row).unwrap();
        model.map.frequencies.written_out().rows().into_iter().map(at).collect()
    };
    let leverages = ridge_leverages(gram(&pool, &inputs), 1.0 / 700.0, 200, 1, |_| true).unwrap().unwrap();
    let elss2 = model(&table, "elss2", &fixed);
    let mut expected = largest_scores(&leverages.to_vec(), 40);
    let mut found = kept(&elss2);
    assert!(elss2.map.scales.is_none());
    expected.sort_unstable();
    found.sort_unstable();
    // Single precision may exchange two draws with almost equal scores.
    assert!(found.iter().filter(|draw| expected.contains(draw)).count() >= 39);
    let selection = elss2.selection.clone().unwrap();
    assert_eq!((selection.candidates, selection.rows, selection.groups), (200, 700, 1));
    assert_close(selection.degrees[0].1 / leverages.sum(), 1.0, 1e-4, "degrees");

    let features = pool.projector::<f64>().transform(inputs.view());
    let centred = &targets - targets.mean().unwrap();
    let scores: Vec<f64> = features.t().dot(&centred).iter().map(|score| score.abs()).collect();
    assert_eq!(kept(&model(&table, "eerf", &fixed)), largest_scores(&scores, 40));

    let elss1 = model(&table, "elss1", &fixed);
    let mean = leverages.mean().unwrap();
    for (draw, factor) in kept(&elss1).iter().zip(&elss1.map.scales.clone().unwrap().factors) {
        assert_close(factor * factor * leverages[*draw] / mean, 1.0, 1e-3, "factor");
    }
}

/// With fewer independent columns than rows, leverages tend to 1 as λ tends to 0, and to what each column has on average
/// as λ grows, which for pairs of cosine and sine is the same for all. [S, §V]
#[test]
fn weights_are_uniform_at_both_ends_of_lambda() {
    let table = waves(2_000);
    for (lambda, tolerance) in [(1e-12, 0.02), (1e6, 1e-4)] {
        let more = json!({"kernel": {"bandwidth": 0.15}, "features": {"count": 20, "pool": 30, "pool_lambda": lambda}});
        let factors = model(&table, "elss1", &more).map.scales.unwrap().factors;
        assert!(factors.iter().all(|factor| (factor - 1.0).abs() < tolerance), "{lambda}: {factors:?}");
    }
    let between = json!({"kernel": {"bandwidth": 0.15}, "features": {"count": 20, "pool": 30, "pool_lambda": 0.01}});
    let factors = model(&table, "elss1", &between).map.scales.unwrap().factors;
    assert!(factors.iter().any(|factor| (factor - 1.0).abs() > 0.02), "{factors:?}");
}

/// A pool too large for one Gram matrix is scored in groups, with nearly the scores of a smaller pool.
#[test]
fn a_large_pool_is_scored_in_groups() {
    let table = waves(600);
    let more = |pool: usize| json!({"features": {"count": 20, "pool": pool, "pool_rows": 300, "pool_lambda": 0.01}});
    let (whole, grouped) = (model(&table, "elss1", &more(2_000)), model(&table, "elss1", &more(8_200)));
    let (whole, grouped) = (whole.selection.unwrap(), grouped.selection.unwrap());
    assert_eq!((whole.groups, grouped.groups, grouped.candidates), (1, 2, 4_100));
    assert_close(grouped.degrees[0].1 / whole.degrees[0].1, 1.0, 0.02, "degrees");
    let pooled = model(&table, "pooled_ridge", &more(8_200));
    assert_eq!(pooled.map.draw_count(), 10);
}

struct StopAtChoose;

impl Observer for StopAtChoose {
    fn progress(&self, stage: Stage, _: f64) {
        assert!(!matches!(stage, Stage::Accumulate | Stage::Solve), "{stage:?}");
    }

    fn should_stop(&self) -> bool {
        true
    }
}

#[test]
fn a_choice_can_be_stopped_and_says_why_it_fails() {
    let table = waves(400);
    let raw = json!({"features": {"count": 20, "sampling": "elss1"}});
    let stopped = train(&table, &schema(&table), "d", &spec(&raw), crate::tables::resources(1), &StopAtChoose);
    assert!(matches!(stopped, Err(TrainError::Stopped)));
    // The only stretch of rows that scores the pool is all zeros, on which linear features vanish.
    let cells = (0..64).flat_map(|i| if i < 16 { [0.0, 0.0, 1.0] } else { [1.0 + f64::from(i), 0.5, f64::from(i)] });
    let zeros = RowsInMemory { cells: cells.collect(), columns: 3 };
    let raw = |sampling: &str| {
        json!({"kernel": {"name": "linear"}, "scaling": "none", "lambda": 1.0, "validation_fraction": 0.0,
            "features": {"count": 4, "sampling": sampling, "pool_rows": 2}})
    };
    for sampling in ["elss1", "elss2", "leverage", "eerf", "lkrf", "pooled_ridge"] {
        let Err(TrainError::Data(why)) = fit(&zeros, &raw(sampling), 1) else { panic!("{sampling}") };
        assert!(why.contains("has the score 0") && why.contains("use more pool_rows"), "{why}");
    }
}
