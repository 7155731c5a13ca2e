//! The estimates from leaving out features and from fresh ones, on the golden features.

use crate::golden::{assert_close, data, feature_map, indices, load, number, vector};
use crate::tables::{Memory, Silent, fit, schema, spec, waves};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::Cholesky;
use bochner::model::Predictor;
use bochner::solver::{BlockGram, FreshSums, Gram, NormalEquations, solve_ridge, subset_departures, subset_error};
use bochner::theory::ours::fresh_features::influence_variance;
use bochner::theory::ours::jackknife::group_variance;
use bochner::training::update;
use ndarray::{Array1, Array2, Axis, s};
use serde_json::{Value, json};

/// (ΨᵀΨ/n + λI), factored.
fn factor(psi: &Array2<f64>, ridge: f64) -> Cholesky {
    let mut system = psi.t().dot(psi) / psi.nrows() as f64;
    system.diag_mut().mapv_inplace(|value| value + ridge);
    Cholesky::factor(system, 1).unwrap()
}

/// Ψ of a golden case on all rows, with its inputs and targets.
fn features(set: &str, case: &Value) -> (Array2<f64>, Array2<f64>, Array1<f64>) {
    let (inputs, targets) = data(set);
    (feature_map(case).projector::<f64>().transform(inputs.view()), inputs, targets)
}

#[test]
fn the_delete_group_jackknife_is_the_golden_one() {
    for set in ["diabetes", "syn1d", "syn3d"] {
        for case in load(&format!("features_{set}.json"))["cases"].as_array().unwrap() {
            let (psi, _, targets) = features(set, case);
            let golden = &case["jackknife"];
            let groups = golden["groups"].as_u64().unwrap() as usize;
            let draws = case["m"].as_u64().unwrap() as usize;
            let rows = indices(&golden["rows"]);
            let without = |group: usize| {
                // Column c is of draw c mod m: the cosines come first, then the sines.
                let kept: Vec<usize> = (0..psi.ncols()).filter(|column| column % draws % groups != group).collect();
                let kept_draws = (0..draws).filter(|draw| draw % groups != group).count();
                let psi = psi.select(Axis(1), &kept) * (draws as f64 / kept_draws as f64).sqrt();
                let right = psi.t().dot(&targets) / psi.nrows() as f64;
                let weights = factor(&psi, number(&case["lam"])).solve(&right);
                psi.select(Axis(0), &rows).dot(&weights)
            };
            let predictions: Vec<Array1<f64>> = (0..groups).map(without).collect();
            for (row, expected) in vector(&golden["per_row"]).iter().enumerate() {
                let of_row: Vec<f64> = predictions.iter().map(|prediction| prediction[row]).collect();
                assert_close(group_variance(&of_row) / expected, 1.0, 1e-6, "jackknife");
            }
        }
    }
}

#[test]
fn the_influence_of_fresh_features_is_the_golden_one() {
    for set in ["diabetes", "syn1d", "syn3d"] {
        for case in load(&format!("features_{set}.json"))["cases"].as_array().unwrap() {
            let (psi, inputs, targets) = features(set, case);
            let ridge = number(&case["lam"]);
            let weights = factor(&psi, ridge).solve(&(psi.t().dot(&targets) / psi.nrows() as f64));
            let residual = (&targets - &psi.dot(&weights)).insert_axis(Axis(1));
            let block = BlockGram::of(psi.clone(), targets.view().insert_axis(Axis(1)), None);
            let mut gram = Gram::new(psi.ncols(), 1);
            gram.add(&[block], 1);

            let golden = &case["fresh"];
            let mut fresh_case = case.clone();
            fresh_case["V"] = golden["V"].clone();
            fresh_case["phases"] = golden["phases"].clone();
            let count = golden["V"].as_array().unwrap().len();
            // Unnormalised: the map divides by √(number of draws).
            let fresh = feature_map(&fresh_case).projector::<f64>().transform(inputs.view()) * (count as f64).sqrt();
            let draws = case["m"].as_u64().unwrap() as usize;
            let mut sums = FreshSums::new(psi.ncols(), fresh.ncols(), 1);
            for (from, to) in [(0, 40), (40, psi.nrows())] {
                let rows = s![from..to, ..];
                sums.add(psi.slice(rows), fresh.slice(rows), residual.slice(rows));
            }
            let influences = sums.finish(&gram.into_normal_equations(), ridge, count, 1).unwrap();
            let influences = influences.at(psi.view(), fresh.view()).remove(0);
            for (row, expected) in indices(&golden["rows"]).into_iter().zip(&vector(&golden["per_row"])) {
                let found = influence_variance(&influences.row(row).to_vec(), draws);
                assert_close(found / expected, 1.0, 1e-6, "fresh features");
            }
        }
    }
}

fn equations(psi: &Array2<f64>, targets: &Array1<f64>) -> NormalEquations {
    let mut gram = Gram::new(psi.ncols(), 1);
    gram.add(&[BlockGram::of(psi.clone(), targets.view().insert_axis(Axis(1)), None)], 1);
    gram.into_normal_equations()
}

/// Each departure from the pool is that of a model of m of its draws, solved on columns of its own; the estimate is the
/// mean of their squares, six fifths of it where the pool is six times the model.
#[test]
fn parts_of_a_pool_are_models_of_their_draws() {
    let (inputs, targets) = data("syn3d");
    let (pool, draws, ridge) = (42, 7, 1e-3);
    let map = FeatureMap::sample(
        Kernel::Gaussian { bandwidth: 1.0 },
        MapKind::Pair,
        Sampling::Plain,
        3,
        2 * pool,
        inputs.ncols(),
    );
    let psi = map.projector::<f64>().transform(inputs.view());
    let equations = equations(&psi, &targets);
    let whole = solve_ridge(&equations, ridge, 1).unwrap().weights.column(0).to_owned();
    let departures = subset_departures(&equations, ridge, (pool, draws), 2).unwrap();
    assert_eq!(departures.dim(), (2 * pool, 36));
    let mut used = vec![0; pool];
    let mut squares = 0.0;
    for departure in departures.columns() {
        let weights = &whole + &departure;
        let columns: Vec<usize> = (0..2 * pool).filter(|&column| weights[column].abs() > 1e-12).collect();
        assert_eq!(columns.len(), 2 * draws);
        for at in 0..draws {
            assert_eq!(columns[at] + pool, columns[at + draws], "the cosine and the sine of a draw go together");
            used[columns[at]] += 1;
        }
        let own = psi.select(Axis(1), &columns) * (pool as f64 / draws as f64).sqrt();
        let solved = factor(&own, ridge).solve(&(own.t().dot(&targets) / own.nrows() as f64));
        let (expected, found) = (own.dot(&solved), psi.dot(&weights));
        assert!((&expected - &found).iter().all(|gap| gap.abs() < 1e-8));
        squares += (&found - &psi.dot(&whole)).mapv(|gap| gap * gap).mean().unwrap();
    }
    assert!(used.iter().all(|&times| times == 6), "every draw is in a part of each round: {used:?}");
    let found = subset_error(psi.view(), departures.view(), 1, (pool, draws));
    assert_close(found / (squares / 36.0 * 1.2), 1.0, 1e-10, "estimate");
}

/// The estimate of a training is the one from a pool of its seed; of an update, which has the new rows alone, the mean
/// squared error bar.
#[test]
fn training_draws_more_features_to_tell_the_error_by() {
    let raw = json!({
        "lambda": 1e-3, "kernel": {"bandwidth": 0.8}, "scaling": "none", "validation_fraction": 0.0,
        "calibration_fraction": 0.0,
        "features": {"count": 12, "seed": 5}, "updatable": true, "guarantees": {"exact_rows": 0},
    });
    let table = waves(400);
    let model = fit(&table, &raw, 2).unwrap().model;
    let told = |model: &bochner::model::FittedModel| model.evidence.as_ref().unwrap().estimates.jackknife.unwrap();

    let rows = Array2::from_shape_vec((400, 3), table.cells.clone()).unwrap();
    let (inputs, targets) = (rows.slice(s![.., ..2]), rows.column(2));
    let map = FeatureMap::sample(Kernel::Gaussian { bandwidth: 0.8 }, MapKind::Pair, Sampling::Plain, 5, 72, 2);
    let psi = map.projector::<f64>().transform(inputs);
    let equations = equations(&psi, &(&targets - targets.mean().unwrap()));
    let departures = subset_departures(&equations, 1e-3, (36, 6), 1).unwrap();
    let expected = subset_error(psi.view(), departures.view(), 1, (36, 6));
    assert_close(told(&model) / expected, 1.0, 1e-3, "from a pool");

    let more = Memory { cells: waves(500).cells[1_200..].to_vec(), columns: 3 };
    let updated = update(model, 1, &spec(&raw), (&more, &schema(&more), "ds-more"), 1, &Silent).unwrap().model;
    let codes: Vec<&[f64]> = more.cells.chunks(3).map(|row| &row[..2]).collect();
    let bars = Predictor::new(updated.clone()).error_bars(&codes).unwrap();
    assert_close(told(&updated) / bars.mapv(|bar| bar * bar).mean().unwrap(), 1.0, 1e-9, "from error bars");
}
