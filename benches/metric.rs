//! What a learned metric gives and costs: R² on the validation rows of public tables, 80/20 split, 2,048 gaussian features,
//! bandwidth and lambda searched, with each `kernel.metric`; and the processor time of its rounds, which is what a training
//! takes longer than with `none`, next to that of a plain training with bandwidth and lambda given.
//!
//! `BOCHNER_DATA=folder cargo bench --bench metric`, where the folder holds the tables as `name.csv.gz`. Without a folder
//! there is nothing to do. `BOCHNER_TABLES=airfoil,concrete` runs some of them, `BOCHNER_SEEDS=5` more or fewer seeds.

use bochner::dataset::RowsInMemory;
use bochner::linalg::use_one_blas_thread;
use bochner::model::FittedModel;
use serde_json::{Value, json};

mod processor_time;
mod table;
mod trainer;

const TABLES: &str = "california_housing,concrete,airfoil,winequality_red,cpusmall";
const METRICS: [&str; 4] = ["none", "diagonal", "full", "search"];

fn main() {
    let Ok(folder) = std::env::var("BOCHNER_DATA") else {
        println!("skipped: BOCHNER_DATA names no folder; see the head of benches/metric.rs");
        return;
    };
    use_one_blas_thread();
    let tables = std::env::var("BOCHNER_TABLES").unwrap_or_else(|_| TABLES.to_owned());
    let seeds: u64 = std::env::var("BOCHNER_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(3);
    for name in tables.split(',') {
        let rows = read(&format!("{folder}/{name}.csv.gz"));
        let mut lines = Vec::new();
        let (mut plain, mut without) = (0.0, None);
        for metric in METRICS {
            let (mut scores, mut chosen, mut seconds) = (Vec::new(), Vec::new(), 0.0);
            for seed in 0..seeds {
                let kernel = json!({"bandwidth": "search", "metric": metric});
                let (model, taken) = processor_time::of(|| train(&rows, &kernel, &json!("search"), seed));
                seconds += taken / seeds as f64;
                if metric == "none" {
                    let kernel = json!({"bandwidth": model.report.bandwidth, "metric": metric});
                    let fit = || train(&rows, &kernel, &json!(model.report.lambda), seed);
                    plain += processor_time::of(fit).1 / seeds as f64;
                }
                scores.push(model.report.numbers().and_then(|errors| errors.validation_r2).expect("validation rows"));
                chosen.extend(model.metric.as_ref().map(|report| report.chosen.name()));
                if let Some(report) = &model.metric {
                    let errors: Vec<String> =
                        report.rounds.iter().map(|round| format!("{:.4}", round.loo_mse)).collect();
                    println!(
                        "    {} rank {:.1}, rounds {}",
                        report.chosen.name(),
                        report.effective_rank,
                        errors.join(" ")
                    );
                }
            }
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            let rounds = (seconds - *without.get_or_insert(seconds)) / plain;
            lines.push(format!(
                "{name} {metric}: R2 {mean:.4} ({scores:.4?}) {chosen:?} {seconds:.1} s a training, the rounds as much as \
                 {rounds:.2} plain ones of {plain:.1} s"
            ));
        }
        println!("{}", lines.join("\n"));
    }
}

fn train(rows: &RowsInMemory, kernel: &Value, lambda: &Value, seed: u64) -> FittedModel {
    let spec = json!({
        "kernel": kernel, "scaling": "standard", "features": {"count": 2_048, "seed": seed}, "error_bars": false,
        "lambda": lambda,
        "guarantees": {"exact_rows": 0},
    });
    trainer::train_as(rows, &spec, 2)
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
