//! Averages over many draws of the features, against averages that were simulated elsewhere.

use crate::evidence::ridge_fit;
use crate::exact::problem;
use crate::golden::{assert_close, data, indices, kernel, load, map_kind, matrix, number, vector};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::{Cholesky, use_one_blas_thread};
use bochner::solver::{FreshSums, NormalEquations, jackknife_weights, solve_ridge};
use bochner::theory::ours::fresh_features::influence_variance;
use bochner::theory::ours::jackknife::group_variance;
use bochner::theory::papers::wang::{eq31, remark1, theorem1, theorem1_sharp, theorem2};
use bochner::theory::{Evidence, ExactEvidence};
use ndarray::{Array1, Array2, Axis};
use serde_json::Value;

const DRAWS: u64 = 100;

/// Up to here every draw is fitted as the service does, and every estimate is made of it.
const PRIMAL: usize = 200;

/// Rows to learn from, rows to compare at, and the map.
struct Setting {
    kernel: Kernel,
    map: MapKind,
    training: Array2<f64>,
    targets: Array1<f64>,
    compared: Array2<f64>,
}

/// What one draw of the features says at one λ.
struct Draw {
    /// Mean of (f_s − f)² at the compared rows.
    error: f64,
    /// The estimates of it, where they were made.
    jackknife: Option<f64>,
    fresh: Option<f64>,
}

/// Mean and standard error of the mean.
fn average(values: &[f64]) -> (f64, f64) {
    let values = Array1::from(values.to_vec());
    (values.mean().unwrap(), values.std(1.0) / (values.len() as f64).sqrt())
}

/// Within four standard errors of both averages together.
fn assert_same_mean(own: &[f64], mean: f64, standard_error: f64, what: &str) {
    let (found, error) = average(own);
    assert_close(found, mean, 4.0 * error.hypot(standard_error), what);
}

fn mean_square(values: &Array1<f64>) -> f64 {
    values.dot(values) / values.len() as f64
}

fn equations(psi: &Array2<f64>, targets: &Array1<f64>) -> NormalEquations {
    let n = psi.nrows() as f64;
    NormalEquations {
        gram: psi.t().dot(psi) / n,
        right_side: psi.t().dot(targets).insert_axis(Axis(1)) / n,
        mean_feature: psi.mean_axis(Axis(0)).unwrap(),
        target_mean_square: Array1::from_elem(1, mean_square(targets)),
        weight: n,
        sample_count: psi.nrows(),
    }
}

impl Setting {
    fn map(&self, seed: u64, feature_count: usize) -> FeatureMap {
        FeatureMap::sample(self.kernel, self.map, Sampling::Plain, seed, feature_count, self.training.ncols())
    }

    /// f at the compared rows for each λ, and what the bounds need of it.
    fn exact(&self, ridge: f64) -> (Array1<f64>, ExactEvidence) {
        let column = self.targets.view().insert_axis(Axis(1));
        let exact = problem(self.kernel, self.training.view(), column, ridge).solve(None, &|| true).unwrap();
        let evidence = ExactEvidence {
            quadratic_form: exact.quadratic_form,
            fitted_square: Some(exact.fitted_square),
            fitted_form: None,
            relative_residual: exact.evidence.relative_residual,
            held_out_error: None,
        };
        (exact.predict(self.compared.view()).column(0).to_owned(), evidence)
    }

    /// What is known of a fit with s features at λ.
    fn evidence(&self, feature_count: usize, ridge: f64, exact: &ExactEvidence) -> Evidence {
        let counts = (feature_count, feature_count / self.map.columns_per_draw());
        let bound = self.map.bound(self.kernel.shape()).unwrap();
        let fit = ridge_fit(self.targets.len(), counts, bound, ridge, mean_square(&self.targets));
        Evidence { sign_features: self.map == MapKind::Sign, exact: Some(exact.clone()), ..fit }
    }

    /// One draw at every λ, by the code of the service.
    fn draw(&self, seed: u64, s: usize, exact: &[(f64, Array1<f64>)]) -> Vec<Draw> {
        let projector = self.map(seed, s).projector::<f64>();
        let (psi, compared) = (projector.transform(self.training.view()), projector.transform(self.compared.view()));
        let equations = equations(&psi, &self.targets);
        let draws = s / self.map.columns_per_draw();
        let at = |(ridge, exact): &(f64, Array1<f64>)| {
            let weights = solve_ridge(&equations, *ridge, 1).unwrap().weights;
            let error = mean_square(&(compared.dot(&weights.column(0)) - exact));
            if self.map == MapKind::Sign {
                return Draw { error, jackknife: None, fresh: None };
            }
            let without = jackknife_weights(&equations, *ridge, (draws, 10), 1).unwrap().weights;
            let without: Vec<Array2<f64>> = without.iter().map(|weights| compared.dot(weights)).collect();
            let variance = |row: usize| group_variance(&without.iter().map(|f| f[[row, 0]]).collect::<Vec<_>>());
            let jackknife = (0..exact.len()).map(variance).sum::<f64>() / exact.len() as f64;

            let residual = self.targets.view().insert_axis(Axis(1)).to_owned() - psi.dot(&weights);
            // Features of another seed, without the 1/√m of the map.
            let count = 64;
            let fresh = self.map(seed + 1_000_000, count * self.map.columns_per_draw()).projector::<f64>();
            let unscaled = |inputs: &Array2<f64>| fresh.transform(inputs.view()) * (count as f64).sqrt();
            let of_training = unscaled(&self.training);
            let mut sums = FreshSums::new(s, of_training.ncols(), 1);
            sums.add(psi.view(), of_training.view(), residual.view());
            let influences = sums.finish(&equations, *ridge, count, 1).unwrap();
            let influences = influences.at(compared.view(), unscaled(&self.compared).view()).remove(0);
            let rows = influences.rows().into_iter().map(|row| influence_variance(&row.to_vec(), draws));
            Draw { error, jackknife: Some(jackknife), fresh: Some(rows.sum::<f64>() / exact.len() as f64) }
        };
        exact.iter().map(at).collect()
    }

    /// The error alone, through K̃ = ΨΨᵀ, which is the smaller matrix where features are many.
    fn dual_draw(&self, seed: u64, s: usize, exact: &[(f64, Array1<f64>)]) -> Vec<Draw> {
        let projector = self.map(seed, s).projector::<f64>();
        let (psi, compared) = (projector.transform(self.training.view()), projector.transform(self.compared.view()));
        let (approximate, across) = (psi.dot(&psi.t()), compared.dot(&psi.t()));
        let n = psi.nrows() as f64;
        let at = |(ridge, exact): &(f64, Array1<f64>)| {
            let mut system = approximate.clone();
            system.diag_mut().mapv_inplace(|value| value + n * ridge);
            let coefficients = Cholesky::factor(system, 1).unwrap().solve(&self.targets);
            Draw { error: mean_square(&(across.dot(&coefficients) - exact)), jackknife: None, fresh: None }
        };
        exact.iter().map(at).collect()
    }

    /// Draws of s features at every λ. Beyond `PRIMAL` features the estimates are made of a few draws only.
    fn draws(&self, s: usize, exact: &[(f64, Array1<f64>)]) -> Vec<Vec<Draw>> {
        let estimated = match s {
            _ if s <= PRIMAL => DRAWS,
            _ if s <= 400 => 10,
            _ => 3,
        };
        let draw = |seed: u64| {
            let seed = 1_000 * s as u64 + seed;
            if seed % 1_000 < estimated { self.draw(seed, s, exact) } else { self.dual_draw(seed, s, exact) }
        };
        (0..DRAWS).map(draw).collect()
    }
}

/// Values of one λ over the draws that have them.
fn column(draws: &[Vec<Draw>], at: usize, of: impl Fn(&Draw) -> Option<f64>) -> Vec<f64> {
    draws.iter().filter_map(|draw| of(&draw[at])).collect()
}

/// The slope of log y on log x.
fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = logs.iter().map(|(x, _)| x).sum::<f64>() / logs.len() as f64;
    let (xx, xy) = logs.iter().fold((0.0, 0.0), |(xx, xy), (x, y)| (xx + (x - mean).powi(2), xy + (x - mean) * y));
    xy / xx
}

fn simulated(set: &str) {
    use_one_blas_thread();
    let file = load(&format!("montecarlo_{set}.json"));
    let (inputs, targets) = data(set);
    let (training, compared) = (indices(&file["train_rows"]), indices(&file["test_rows"]));
    let golden = file["cases"].as_array().unwrap();
    // Three λ share kernel and map, and so the draws.
    for cases in golden.chunk_by(|left, right| left["kernel"] == right["kernel"] && left["map"] == right["map"]) {
        let setting = Setting {
            kernel: kernel(&cases[0]),
            map: map_kind(&cases[0]),
            training: inputs.select(Axis(0), &training),
            targets: targets.select(Axis(0), &training),
            compared: inputs.select(Axis(0), &compared),
        };
        let (exact, evidence) = exact_of(&setting, cases);
        let rows = cases[0]["rows"].as_array().unwrap();
        let mut errors = vec![Vec::new(); cases.len()];
        for (at_row, row) in rows.iter().enumerate() {
            let s = row["s"].as_u64().unwrap() as usize;
            let draws = setting.draws(s, &exact);
            for (at, case) in cases.iter().enumerate() {
                let row = &case["rows"][at_row];
                let what = format!("{set} {} {} lambda {} s {s}", case["kernel"], case["map"], case["lam"]);
                check_bounds(&setting.evidence(s, exact[at].0, &evidence[at]), row, &what);
                let own = column(&draws, at, |draw| Some(draw.error));
                assert_same_mean(&own, number(&row["mse"]), number(&row["mse_se"]), &format!("{what}: error"));
                let (found, _) = average(&own);
                assert!(found < number(&row["sharper"]), "{what}: {found} above the sharper bound");
                errors[at].push((s as f64, found));
                for (name, of) in
                    [("jackknife", (|draw| draw.jackknife) as fn(&Draw) -> Option<f64>), ("fresh", |draw| draw.fresh)]
                {
                    let count = number(&file[format!("{name}_draws")]).sqrt();
                    let deviation = number(&row[format!("{name}_sd")]);
                    let own = column(&draws, at, of);
                    // The deviation of few own draws is known worse than the golden one.
                    let error = deviation * (1.0 / own.len() as f64 + count.powi(-2)).sqrt();
                    let mean = own.iter().sum::<f64>() / own.len() as f64;
                    assert_close(mean, number(&row[format!("{name}_mean")]), 4.0 * error, &format!("{what}: {name}"));
                }
            }
        }
        for (case, errors) in cases.iter().zip(&errors) {
            assert_close(slope(errors), number(&case["slope"]), 0.1, &format!("{set} {}: slope", case["kernel"]));
        }
    }
}

/// f at each λ, and what the bounds need; Q and ‖Kα‖² are the golden ones.
fn exact_of(setting: &Setting, cases: &[Value]) -> (Vec<(f64, Array1<f64>)>, Vec<ExactEvidence>) {
    let solved = cases.iter().map(|case| {
        let ridge = number(&case["lam"]);
        let (exact, evidence) = setting.exact(ridge);
        assert_close(evidence.quadratic_form / number(&case["Q"]), 1.0, 1e-6, "Q");
        assert_close(evidence.fitted_square.unwrap() / number(&case["Kalpha_norm2"]), 1.0, 1e-6, "|K alpha|^2");
        ((ridge, exact), evidence)
    });
    solved.unzip()
}

fn check_bounds(evidence: &Evidence, row: &Value, what: &str) {
    for (found, name) in [
        (theorem1(evidence, 0.05), "theorem1"),
        (theorem1_sharp(evidence, 0.05), "sharper"),
        (remark1(evidence, 0.05), "remark1"),
        (eq31(evidence), "eq31"),
    ] {
        assert_close(found.value.unwrap() / number(&row[name]), 1.0, 1e-6, &format!("{what}: {name}"));
    }
}

#[test]
fn errors_and_their_estimates_on_diabetes_are_the_simulated_ones() {
    simulated("diabetes");
}

#[test]
fn errors_and_their_estimates_on_syn3d_are_the_simulated_ones() {
    simulated("syn3d");
}

/// Sign features on the sphere at their own rows: the setting of Theorem 2. The repaired bound is below the truth
/// everywhere; the printed order is above it nearly everywhere, and so is none.
#[test]
fn theorem_2_against_the_truth_on_the_sphere() {
    use_one_blas_thread();
    let file = load("montecarlo_sphere.json");
    let golden = file["cases"].as_array().unwrap();
    let (mut exceeded, mut seen) = (0, 0);
    for cases in golden.chunk_by(|left, right| left["d"] == right["d"]) {
        let last = cases.last().unwrap();
        let (inputs, targets) = (matrix(&last["X"]), vector(&last["y"]));
        let setting = Setting {
            kernel: Kernel::Angular,
            map: MapKind::Sign,
            training: inputs.clone(),
            targets,
            compared: inputs,
        };
        let (exact, evidence) = exact_of(&setting, cases);
        for (at_row, row) in cases[0]["rows"].as_array().unwrap().iter().enumerate() {
            let s = row["s"].as_u64().unwrap() as usize;
            let draws = setting.draws(s, &exact);
            for (at, case) in cases.iter().enumerate() {
                let row = &case["rows"][at_row];
                let what = format!("d {} lambda {} s {s}", case["d"], case["lam"]);
                let own = column(&draws, at, |draw| Some(draw.error));
                assert_same_mean(&own, number(&row["mse"]), number(&row["mse_se"]), &what);
                let fit = setting.evidence(s, exact[at].0, &evidence[at]);
                let found = theorem2(&fit);
                let (bound, printed) = (found.value.unwrap(), found.inputs["printed_order_not_a_bound"]);
                assert_close(bound / number(&row["safe"]), 1.0, 1e-6, &what);
                assert_close(printed / number(&row["printed"]), 1.0, 1e-6, &what);
                assert_close(theorem1(&fit, 0.05).value.unwrap() / number(&row["theorem1"]), 1.0, 1e-6, &what);
                let (truth, _) = average(&own);
                assert!(bound < truth && truth < number(&row["theorem1"]), "{what}: {bound} {truth}");
                exceeded += usize::from(printed > truth);
                seen += 1;
            }
        }
    }
    // 16 in the golden simulation, of which one is within its noise.
    assert!(seen == 18 && exceeded >= 15, "{exceeded} of {seen}");
}
