//! The estimates from leaving out features and from fresh ones, on the golden features.

use crate::golden::{assert_close, data, feature_map, indices, load, number, vector};
use bochner::linalg::Cholesky;
use bochner::solver::{BlockGram, FreshSums, Gram};
use bochner::theory::fresh_features::influence_variance;
use bochner::theory::jackknife::group_variance;
use ndarray::{Array1, Array2, Axis, s};
use serde_json::Value;

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
