//! What the efforts of a spec give and cost: RMSE on the validation rows of public tables, 80/20 split, and the time of a
//! training next to that of a plain one: the same number of features, bandwidth and lambda given. Times are processor times of
//! all threads where the system tells them, because a shared machine is not equally fast from one training to the next.
//!
//! `BOCHNER_DATA=folder cargo bench --bench effort`, where the folder holds the tables as `name.csv.gz`. Without a folder
//! there is nothing to do. `BOCHNER_TABLES=airfoil,concrete` runs some of them, `BOCHNER_SEEDS=5` more or fewer seeds,
//! `BOCHNER_EFFORTS=fast,balanced,thorough` more or fewer efforts.

use bochner::dataset::RowsInMemory;
use bochner::linalg::use_one_blas_thread;
use bochner::model::FittedModel;
use serde_json::{Value, json};

mod processor_time;
mod table;
mod trainer;

const TABLES: &str = "california_housing,concrete,airfoil,winequality_red,cpusmall,abalone";
const EFFORTS: &str = "fast,balanced";

fn main() {
    let Ok(folder) = std::env::var("BOCHNER_DATA") else {
        println!("skipped: BOCHNER_DATA names no folder; see the head of benches/effort.rs");
        return;
    };
    use_one_blas_thread();
    let setting = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let (tables, efforts) = (setting("BOCHNER_TABLES", TABLES), setting("BOCHNER_EFFORTS", EFFORTS));
    let seeds: u64 = setting("BOCHNER_SEEDS", "3").parse().expect("a number of seeds");
    let mut summary = Vec::new();
    for name in tables.split(',') {
        let rows = read(&format!("{folder}/{name}.csv.gz"));
        let mut first: Option<f64> = None;
        for effort in efforts.split(',') {
            let (mut errors, mut times) = (Vec::new(), Vec::new());
            for seed in 0..seeds {
                let (model, seconds) = timed(&rows, &json!({"effort": effort, "features": {"seed": seed}}));
                let plain = plain_spec(&model, seed);
                let (_, plain) = timed(&rows, &plain);
                errors.push(rmse(&model));
                times.push((seconds, seconds / plain));
                describe(&model);
            }
            let mean = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>() / seeds as f64;
            let error = mean(&mut errors.iter().copied());
            let baseline = *first.get_or_insert(error);
            summary.push(format!(
                "{name} {effort}: RMSE {error:.4} ({errors:.4?}), {:+.1}% of the first; {:.1} s, {:.2} plain trainings",
                100.0 * (error / baseline - 1.0),
                mean(&mut times.iter().map(|(seconds, _)| *seconds)),
                mean(&mut times.iter().map(|(_, ratio)| *ratio)),
            ));
            println!("{}", summary[summary.len() - 1]);
        }
    }
    println!("{}", summary.join("\n"));
}

fn timed(rows: &RowsInMemory, spec: &Value) -> (FittedModel, f64) {
    processor_time::of(|| trainer::train_as(rows, spec, 2))
}

/// A training of the same size with nothing to search.
fn plain_spec(model: &FittedModel, seed: u64) -> Value {
    json!({
        "effort": "fast", "features": {"count": model.map.feature_count(), "seed": seed},
        "kernel": {"bandwidth": model.report.bandwidth}, "lambda": model.report.lambda,
    })
}

fn rmse(model: &FittedModel) -> f64 {
    let numbers = model.report.numbers().expect("numbers");
    numbers.validation_mse.expect("validation rows").sqrt()
}

fn describe(model: &FittedModel) {
    let Some(search) = &model.search else { return };
    println!("    {} rows, {} features, {} candidates", search.rows, search.features, search.candidates.len());
    for (index, candidate) in search.candidates.iter().enumerate() {
        let kept = if index == search.chosen { "  kept" } else { "" };
        println!(
            "      {} {:?} {} {} bandwidth {:.3} lambda {:.1e}: {:.5}{kept}",
            candidate.kernel,
            candidate.scaling,
            candidate.metric.name(),
            candidate.round,
            candidate.bandwidth,
            candidate.lambda,
            candidate.loo_mse
        );
    }
}

/// Inputs and target side by side.
fn read(path: &str) -> RowsInMemory {
    let (inputs, targets) = table::read(path);
    let columns = inputs.ncols() + 1;
    let row = |(inputs, target): (ndarray::ArrayView1<f64>, &String)| {
        inputs.iter().copied().chain([target.parse().expect("numbers")]).collect::<Vec<f64>>()
    };
    RowsInMemory { cells: inputs.rows().into_iter().zip(&targets).flat_map(row).collect(), columns }
}
