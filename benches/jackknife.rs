//! The jackknife estimate of the distance to the exact kernel method, and certified error bars, next to the truth: on
//! eight public tables, with and without validation rows, by the default spec at the lambda that its search finds.
//!
//! `BOCHNER_DATA=folder cargo bench --bench jackknife`, where the folder holds the tables as `name.csv.gz`, their target
//! last. Without a folder there is nothing to do. `BOCHNER_SEEDS` is the number of seeds, 10 unless told, from
//! `BOCHNER_FIRST_SEED` on; `BOCHNER_ROWS` the rows that a model may see at most, 4,000 unless told, which also bounds the
//! rows that it never sees; `BOCHNER_TABLES` some of the names with commas between them.

use bochner::dataset::RowsInMemory;
use bochner::linalg::use_one_blas_thread;
use bochner::model::{FittedModel, Predictor};
use serde_json::{Value, json};

mod table;
mod trainer;

const TABLES: [&str; 8] = [
    "abalone",
    "airfoil",
    "banknote",
    "california_housing",
    "concrete",
    "cpusmall",
    "online_news_part",
    "winequality_red",
];

/// Nine estimates in ten are within this factor.
const WITHIN: f64 = 1.5;

/// What one model says of its distance, and how far it is.
struct Run {
    estimate: f64,
    interval: [f64; 2],
    measured: f64,
    /// Mean squared distance on rows that neither the model nor the estimate has seen.
    fresh: f64,
}

fn main() {
    let Ok(folder) = std::env::var("BOCHNER_DATA") else {
        println!("skipped: BOCHNER_DATA names no folder; see the head of benches/jackknife.rs");
        return;
    };
    let setting = |name: &str, default: u64| std::env::var(name).map_or(Ok(default), |text| text.parse());
    let seeds = setting("BOCHNER_SEEDS", 10).expect("a number of seeds");
    let first = setting("BOCHNER_FIRST_SEED", 0).expect("a seed");
    let most = setting("BOCHNER_ROWS", 4_000).expect("a number of rows") as usize;
    let tables = std::env::var("BOCHNER_TABLES").unwrap_or_else(|_| TABLES.join(","));
    use_one_blas_thread();
    let mut lines = Vec::new();
    for name in tables.split(',') {
        let (inputs, targets) = table::read(&format!("{folder}/{name}.csv.gz"));
        let target = |cell: &String| cell.parse::<f64>().expect("a number");
        let rows = inputs.rows().into_iter().zip(&targets);
        let rows: Vec<Vec<f64>> = rows.map(|(row, cell)| row.iter().copied().chain([target(cell)]).collect()).collect();
        let (mut held_out, mut left_out, mut bars) = (Vec::new(), Vec::new(), Vec::new());
        for seed in first..first + seeds {
            let (known, fresh) = dealt(rows.clone(), (seed, most), name == "online_news_part");
            let model = train(&known, &json!({"features": {"seed": seed}}));
            let exact_model = exact(&known, &model, seed, 0.2);
            let measured = model.measured.exact_krr_error.expect("the exact figure is there");
            let of_fresh = mean_square(&distances(&model, &exact_model, &fresh));
            held_out.extend(Run::of((name, "held_out", seed), &model, measured, of_fresh));
            bars.push(certified(&model, &exact_model, &fresh));
            let model = train(
                &known,
                &json!({"features": {"seed": seed}, "validation_fraction": 0,
                "guarantees": {"exact_rows": 0}}),
            );
            let of_fresh = mean_square(&distances(&model, &exact(&known, &model, seed, 0.0), &fresh));
            left_out.extend(Run::of((name, "left_out", seed), &model, of_fresh, of_fresh));
        }
        let line = format!("{name:20} {}   {}   {}", summary(&held_out), summary(&left_out), of_bars(&bars));
        println!("{line}");
        lines.push(line);
    }
    println!(
        "\nestimate/measured of the means, the same on fresh rows, median, single ones within {WITHIN}, intervals that"
    );
    println!("hold the measured, intervals that hold the distance on fresh rows");
    println!("{:20} {:47}   {:47}   certified bars", "", "validation rows", "none: fitted rows left out");
    for line in &lines {
        println!("{line}");
    }
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64
}

impl Run {
    /// None where the model says nothing of its distance.
    fn of((table, rows, seed): (&str, &str, u64), model: &FittedModel, measured: f64, fresh: f64) -> Option<Self> {
        let lambda = model.report.lambda;
        let told = model.measurements();
        let Some(estimate) = told["jackknife_error"].as_f64() else {
            println!("    {table} {rows} seed {seed} lambda {lambda:.1e}: no estimate, measured {measured:.4e}");
            return None;
        };
        let end = |index: usize| told["jackknife_interval"][index].as_f64().expect("an interval");
        let interval = [end(0), end(1)];
        let inside = (interval[0]..=interval[1]).contains(&measured);
        println!(
            "    {table} {rows} seed {seed} lambda {lambda:.1e}: estimate {estimate:.4e} in [{:.4e}, {:.4e}], measured \
             {measured:.4e}, fresh {fresh:.4e}, ratio {:.2}{}",
            interval[0],
            interval[1],
            estimate / measured,
            if inside { "" } else { ", outside" }
        );
        Some(Self { estimate, interval, measured, fresh })
    }
}

fn summary(runs: &[Run]) -> String {
    if runs.is_empty() {
        return format!("{:47}", "no estimate");
    }
    let count = runs.len() as f64;
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / count;
    let ratios: Vec<f64> = runs.iter().map(|run| run.estimate / run.measured).collect();
    let near = ratios.iter().filter(|ratio| (1.0 / WITHIN..=WITHIN).contains(*ratio)).count();
    let held = |of: &dyn Fn(&Run) -> f64| {
        runs.iter().filter(|run| (run.interval[0]..=run.interval[1]).contains(&of(run))).count()
    };
    format!(
        "{:5.2} {:5.2} {:5.2}  {near:2} of {}  {:2} of {}  {:2} of {}",
        ratios.iter().sum::<f64>() / count,
        mean(&|run| run.estimate) / mean(&|run| run.measured),
        mean(&|run| run.estimate) / mean(&|run| run.fresh),
        runs.len(),
        held(&|run| run.measured),
        runs.len(),
        held(&|run| run.fresh),
        runs.len()
    )
}

/// Rows in an order of the seed, the first of which are known.
fn dealt(mut rows: Vec<Vec<f64>>, (seed, most): (u64, usize), logarithm: bool) -> (RowsInMemory, Vec<Vec<f64>>) {
    let columns = rows[0].len();
    let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for last in (1..rows.len()).rev() {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        rows.swap(last, (bits >> 33) as usize % (last + 1));
    }
    if logarithm {
        rows.iter_mut().filter_map(|row| row.last_mut()).for_each(|target| *target = target.ln());
    }
    let known = most.min(rows.len() * 4 / 5);
    let mut fresh = rows.split_off(known);
    fresh.truncate(most);
    (RowsInMemory { cells: rows.concat(), columns }, fresh)
}

fn train(table: &RowsInMemory, raw: &Value) -> FittedModel {
    trainer::train_as(table, raw, 2)
}

/// The exact kernel method at the lambda of a model, on the same rows.
fn exact(table: &RowsInMemory, model: &FittedModel, seed: u64, validation: f64) -> FittedModel {
    let spec = json!({"learner": "exact_krr", "features": {"seed": seed}, "lambda": model.report.lambda,
        "validation_fraction": validation, "guarantees": {"exact_rows": 0}});
    let exact = train(table, &spec);
    assert_eq!(exact.report.training_rows, model.report.training_rows);
    assert_eq!(exact.report.bandwidth, model.report.bandwidth);
    exact
}

fn distances(model: &FittedModel, exact: &FittedModel, fresh: &[Vec<f64>]) -> Vec<f64> {
    let inputs: Vec<&[f64]> = fresh.iter().map(|row| &row[..row.len() - 1]).collect();
    let predict = |model: &FittedModel| Predictor::new(model.clone()).predict(&inputs);
    (predict(model) - predict(exact)).iter().map(|gap| gap.abs()).collect()
}

/// Certified bars next to what they bound: the median bar over the 90th percentile of the differences, the bar over the
/// 90th percentile in its own units, and the share of inputs that it holds for.
fn certified(model: &FittedModel, exact: &FittedModel, fresh: &[Vec<f64>]) -> [f64; 3] {
    let inputs: Vec<&[f64]> = fresh.iter().map(|row| &row[..row.len() - 1]).collect();
    let made = model.certified_bars(model.failure_probability).expect("a certificate").expect("enough rows");
    let error_bars = Predictor::new(model.clone()).error_bars(&inputs).expect("error bars");
    let bars: Vec<f64> = error_bars.iter().map(|bar| made.bars(&[*bar])[0]).collect();
    let gaps = distances(model, exact, fresh);
    let ratios: Vec<f64> = bars.iter().zip(&gaps).map(|(bar, gap)| gap / bar).collect();
    let held = ratios.iter().filter(|ratio| **ratio <= 1.0).count() as f64 / ratios.len() as f64;
    [quantile(bars, 0.5) / quantile(gaps, 0.9), 1.0 / quantile(ratios, 0.9), held]
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((share * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
}

/// Medians over the seeds, and how often the bars hold for nine inputs in ten.
fn of_bars(bars: &[[f64; 3]]) -> String {
    let median = |of: usize| quantile(bars.iter().map(|bar| bar[of]).collect(), 0.5);
    let held = bars.iter().filter(|bar| bar[2] >= 0.9).count();
    format!("{:.2} {:.2}  {held:2} of {}", median(0), median(1), bars.len())
}
