//! The estimates from leaving out features and from fresh ones, on the golden features.

use crate::golden::{assert_close, data, feature_map, indices, load, number, vector};
use crate::tables::{RowsInMemory, Unwatched, fit, schema, spec, waves};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::Cholesky;
use bochner::model::Predictor;
use bochner::solver::{ComparedRows, DrawError, FittedTargets, FreshSums, GramSums, NormalEquations, pool_predictions};
use bochner::theory::ours::fresh_features::influence_variance;
use bochner::theory::ours::jackknife::{LARGEST_BIAS, group_variance};
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
            let gram = GramSums::of(psi.clone(), targets.view().insert_axis(Axis(1)), None).unwrap().finish();

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
    GramSums::of(psi.clone(), targets.view().insert_axis(Axis(1)), None).unwrap().finish().into_normal_equations()
}

/// Features of a pool of 42 draws on the rows of a golden set.
fn pool_of(inputs: &Array2<f64>) -> Array2<f64> {
    let kernel = Kernel::Gaussian { bandwidth: 1.0 };
    let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 3, 84, inputs.ncols());
    map.projector::<f64>().transform(inputs.view())
}

/// Ridge regression on some draws of a pool, with their columns rescaled: predictions at `at`.
fn of_draws(psi: &Array2<f64>, targets: &Array1<f64>, draws: &[usize], ridge: f64, at: &Array2<f64>) -> Array1<f64> {
    let pool = psi.ncols() / 2;
    let columns: Vec<usize> = draws.iter().copied().chain(draws.iter().map(|draw| draw + pool)).collect();
    let scale = (pool as f64 / draws.len() as f64).sqrt();
    let own = psi.select(Axis(1), &columns) * scale;
    let weights = factor(&own, ridge).solve(&(own.t().dot(targets) / own.nrows() as f64));
    (at.select(Axis(1), &columns) * scale).dot(&weights)
}

/// The first round has the draws as they lie: its parts and the pool are models that are solved on columns of their own. In
/// every round each draw is in one part, so the mean of squared weights over parts is the same for all.
#[test]
fn parts_of_a_pool_are_models_of_their_draws() {
    let (inputs, targets) = data("syn3d");
    let (pool, draws, ridge) = (42, 7, 1e-3);
    let psi = pool_of(&inputs);
    let rows = ComparedRows { features: psi.view(), fitted: None };
    let found = pool_predictions(&equations(&psi, &targets), ridge, (pool, draws), &rows, 2).unwrap().unwrap();
    let close = |found: &Array2<f64>, expected: &Array1<f64>| {
        assert!((&found.column(0) - expected).iter().all(|gap| gap.abs() < 1e-8));
    };
    close(&found.whole, &of_draws(&psi, &targets, &(0..pool).collect::<Vec<_>>(), ridge, &psi));
    for (at, part) in found.rounds[0].iter().enumerate() {
        let own: Vec<usize> = (at * draws..(at + 1) * draws).collect();
        close(part, &of_draws(&psi, &targets, &own, ridge, &psi));
    }
    assert!(found.rounds.len() > 1 && found.rounds.iter().all(|round| round.len() == 6));
    assert!(found.rounds[0][0] != found.rounds[1][0], "rounds are shuffled");
}

/// A fitted row is predicted by the fit of all other rows at the same nλ, solved anew.
#[test]
fn fitted_rows_are_left_out_in_turn() {
    let (inputs, targets) = data("syn3d");
    let (pool, draws, ridge) = (42, 21, 1e-4);
    let psi = pool_of(&inputs);
    let n = psi.nrows();
    let shares = vec![1.0 / n as f64; n];
    let fitted = FittedTargets { targets: targets.view().insert_axis(Axis(1)), shares: &shares };
    let rows = ComparedRows { features: psi.view(), fitted: Some(fitted) };
    let found = pool_predictions(&equations(&psi, &targets), ridge, (pool, draws), &rows, 1).unwrap().unwrap();
    for row in [0, n / 2, n - 1] {
        let others: Vec<usize> = (0..n).filter(|other| *other != row).collect();
        let (rest, y) = (psi.select(Axis(0), &others), targets.select(Axis(0), &others));
        let at = psi.select(Axis(0), &[row]);
        let ridge = ridge * n as f64 / (n - 1) as f64; // nλ is kept
        let first: Vec<usize> = (0..draws).collect();
        let expected =
            [of_draws(&rest, &y, &first, ridge, &at), of_draws(&rest, &y, &(0..pool).collect::<Vec<_>>(), ridge, &at)];
        for (found, expected) in [&found.rounds[0][0], &found.whole].into_iter().zip(&expected) {
            assert_close(found[[row, 0]], expected[0], 1e-7, "without the row");
        }
    }
}

/// The estimate of a training without unfitted rows is the one from a pool of its seed with fitted rows left out; of an
/// update, which has the new rows alone, the mean squared error bar of those held out. Where the squared bias is no longer
/// small next to the variance, there is none.
#[test]
fn training_draws_more_features_to_tell_the_error_by() {
    let raw = |count: usize, lambda: f64| {
        json!({
            "lambda": lambda, "kernel": {"bandwidth": 0.8}, "scaling": "none", "validation_fraction": 0.0,
            "calibration_fraction": 0.0,
            "features": {"count": count, "seed": 5}, "updatable": true, "guarantees": {"exact_rows": 0},
        })
    };
    let table = waves(400);
    let estimates = |model: &bochner::model::FittedModel| model.evidence.as_ref().unwrap().estimates.clone();
    let rows = Array2::from_shape_vec((400, 3), table.cells.clone()).unwrap();
    let (inputs, targets) = (rows.slice(s![.., ..2]), rows.column(2));
    let centred = &targets - targets.mean().unwrap();
    let of_pool = |count: usize, lambda: f64| {
        let kernel = Kernel::Gaussian { bandwidth: 0.8 };
        let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 5, 6 * count, 2);
        let psi = map.projector::<f64>().transform(inputs);
        let shares = vec![1.0 / 400.0; 400];
        let fitted = FittedTargets { targets: centred.view().insert_axis(Axis(1)), shares: &shares };
        let compared = ComparedRows { features: psi.view(), fitted: Some(fitted) };
        let draws = (3 * count, count / 2);
        let pool = pool_predictions(&equations(&psi, &centred), lambda, draws, &compared, 1).unwrap().unwrap();
        DrawError::from_pool(&pool).unwrap()
    };

    let biased = of_pool(12, 1e-3);
    assert!(biased.bias_share > LARGEST_BIAS, "{biased:?}");
    assert_eq!(estimates(&fit(&table, &raw(12, 1e-3), 2).unwrap().model).jackknife, None);

    let raw = raw(48, 1e-2);
    let model = fit(&table, &raw, 2).unwrap().model;
    let expected = of_pool(48, 1e-2);
    assert!(expected.bias_share < LARGEST_BIAS, "{expected:?}");
    assert_close(estimates(&model).jackknife.unwrap() / expected.own, 1.0, 1e-3, "from a pool");
    let detail = estimates(&model).jackknife_detail.unwrap();
    assert_eq!((detail.rows, detail.left_out, detail.pooled), (400, true, true));

    let more = RowsInMemory { cells: waves(500).cells[1_200..].to_vec(), columns: 3 };
    let mut held_out = raw.clone();
    held_out["validation_fraction"] = json!(0.5);
    let updated =
        update(model.clone(), 1, &spec(&held_out), (&more, &schema(&more), "ds-more"), 1, &Unwatched).unwrap().model;
    assert_eq!(updated.report.validation_rows, 50);
    let codes: Vec<&[f64]> = more.cells.chunks(3).map(|row| &row[..2]).collect();
    let bars = Predictor::new(updated.clone()).error_bars(&codes).unwrap().mapv(|bar| bar * bar).mean().unwrap();
    let found = estimates(&updated).jackknife.unwrap();
    // Half of the rows: the same mean but for which half it is.
    assert!((found / bars - 1.0).abs() < 0.3, "{found} {bars}");
    // Without a pool, fitted rows say nothing.
    let blind = update(model, 1, &spec(&raw), (&more, &schema(&more), "ds-more"), 1, &Unwatched).unwrap().model;
    assert_eq!(estimates(&blind).jackknife, None);
}

/// With a kernel so wide that few frequencies matter to it, features of large leverage carry the fit. Groups of draws are then
/// far off the distance, and there is no estimate.
#[test]
fn features_of_large_leverage_have_no_estimate() {
    let table = waves(600);
    let raw = json!({
        "learner": "ridge", "lambda": 1e-5, "kernel": {"name": "laplace", "bandwidth": 300.0}, "scaling": "none",
        "validation_fraction": 0.5, "calibration_fraction": 0.0, "features": {"count": 1_100, "seed": 1},
    });
    let model = fit(&table, &raw, 2).unwrap().model;
    assert_eq!(model.evidence.as_ref().unwrap().estimates.jackknife, None);
    let distance = model.measured.exact_krr_error.unwrap();
    let rows: Vec<&[f64]> = table.cells.chunks(3).map(|row| &row[..2]).collect();
    let groups = Predictor::new(model).error_bars(&rows).unwrap().mapv(|bar| bar * bar).mean().unwrap();
    assert!(!(1.0 / 1.5..=1.5).contains(&(groups / distance)), "groups would tell {groups} of {distance}");
}
