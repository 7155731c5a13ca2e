//! The jackknife estimate of the distance to the exact kernel method, and certified error bars, next to the truth: on
//! eight public tables, with and without validation rows, by the learner ridge with the default search, at the lambda that
//! it finds.
//!
//! `BOCHNER_DATA=folder cargo bench --bench jackknife`, where the folder holds the tables as `name.csv.gz`, their target
//! last. Without a folder there is nothing to do. `BOCHNER_SEEDS` is the number of seeds, 10 unless told, from
//! `BOCHNER_FIRST_SEED` on; `BOCHNER_ROWS` the rows that a model may see at most, 4,000 unless told, which also bounds the
//! rows that it never sees; `BOCHNER_TABLES` some of the names with commas between them; `BOCHNER_WITHOUT_VALIDATION=0`
//! leaves out models without validation rows; `BOCHNER_EFFORT` is another effort than balanced.

use bochner::dataset::{HeldOut, Part, RowsInMemory, split};
use bochner::features::Precision;
use bochner::linalg::use_one_blas_thread;
use bochner::model::{FittedModel, Predictor};
use bochner::solver::{ExactKrr, ExactProblem};
use bochner::theory::ours::certificate::tolerance_rank;
use bochner::theory::ours::certificate_scaled::BAR_SHARE;
use ndarray::Array2;
use serde_json::json;

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
    let effort = std::env::var("BOCHNER_EFFORT").unwrap_or_else(|_| "balanced".into());
    let without_validation = setting("BOCHNER_WITHOUT_VALIDATION", 1).expect("0 or 1") == 1;
    use_one_blas_thread();
    let mut lines = Vec::new();
    for name in tables.split(',') {
        let (inputs, targets) = table::read(&format!("{folder}/{name}.csv.gz"));
        let target = |cell: &String| cell.parse::<f64>().expect("a number");
        let rows = inputs.rows().into_iter().zip(&targets);
        let rows: Vec<Vec<f64>> = rows.map(|(row, cell)| row.iter().copied().chain([target(cell)]).collect()).collect();
        let (mut held_out, mut left_out, mut bars, mut solved) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let mut exact_left_out = Vec::new();
        for seed in first..first + seeds {
            let (known, fresh) = dealt(rows.clone(), (seed, most), name == "online_news_part");
            let mut raw = json!({"effort": effort, "learner": "ridge", "features": {"seed": seed}});
            let model = trainer::train_as(&known, &raw, 2);
            let exact = ExactMethod::next_to(&model, &known, seed, 0.2);
            let of_validation = mean_square(&exact.distances(&exact.validation));
            // The exact figure is the truth; where there is none, the bench has solved the system itself.
            let told = model.measured.exact_krr_error;
            solved += usize::from(told.is_some());
            if let Some(told) = told {
                assert!((told / of_validation - 1.0).abs() < 0.05, "{told} {of_validation}");
            }
            let of_fresh = mean_square(&exact.distances(&fresh));
            held_out.extend(Run::of((name, "held_out", seed), &model, (of_validation, of_fresh), &fresh));
            bars.push(certified(&exact, &fresh));
            if !without_validation {
                continue;
            }
            raw["validation_fraction"] = json!(0);
            let model = trainer::train_as(&known, &raw, 2);
            let of_fresh = mean_square(&ExactMethod::next_to(&model, &known, seed, 0.0).distances(&fresh));
            left_out.extend(Run::of((name, "left_out", seed), &model, (of_fresh, of_fresh), &fresh));
            if let Some(told) = model.measured.exact_krr_error {
                println!("    {name} left_out seed {seed}: exact figure {told:.4e}, fresh {of_fresh:.4e}");
                exact_left_out.push([told, of_fresh]);
            }
        }
        println!("{}", of_exact_figures(name, seeds, &exact_left_out));
        println!("{name}: the exact figure is there for {solved} of {seeds} models");
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

/// The exact figure of models without validation rows, [told, true] each.
fn of_exact_figures(name: &str, seeds: u64, figures: &[[f64; 2]]) -> String {
    let count = figures.len() as f64;
    let mean = |of: &dyn Fn(&[f64; 2]) -> f64| figures.iter().map(of).sum::<f64>() / count;
    format!(
        "{name}: without validation rows the exact figure is there for {} of {seeds}, {:.2} times the distance on fresh rows, \
         ratio of means {:.2}",
        figures.len(),
        mean(&|[told, truth]| told / truth),
        mean(&|[told, _]| *told) / mean(&|[_, truth]| *truth)
    )
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64
}

impl Run {
    /// None where the model says nothing of its distance.
    fn of(
        (table, rows, seed): (&str, &str, u64),
        model: &FittedModel,
        (measured, fresh): (f64, f64),
        rows_seen: &[Vec<f64>],
    ) -> Option<Self> {
        let lambda = model.report.lambda;
        let told = model.measurements();
        let Some(estimate) = told["jackknife_error"].as_f64() else {
            println!("    {table} {rows} seed {seed} lambda {lambda:.1e}: no estimate, measured {measured:.4e}");
            return None;
        };
        let end = |index: usize| told["jackknife_interval"][index].as_f64().expect("an interval");
        let interval = [end(0), end(1)];
        let inside = (interval[0]..=interval[1]).contains(&measured);
        let dimension =
            model.evidence.as_ref().and_then(|evidence| evidence.kernel.as_ref()).map(|k| k.dimension.value);
        let detail = model.evidence.as_ref().and_then(|evidence| evidence.estimates.jackknife_detail);
        println!(
            "    from {}: {} features, effective dimension {dimension:.0?}, squared bias by groups {:.2} of their variance",
            if detail.is_some_and(|detail| detail.pooled) { "a pool" } else { "groups" },
            model.map.feature_count(),
            bias_by_groups(model, rows_seen)
        );
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

/// (g−1)²·mean (f̄₋ − f_s)², the squared bias that the delete-group jackknife sees with its own noise, over its variance.
fn bias_by_groups(model: &FittedModel, rows: &[Vec<f64>]) -> f64 {
    let Some(bars) = &model.error_bars else { return f64::NAN };
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let features = model.map.projector::<f64>().transform(prepared(model, &rows).view());
    let without = bars.predictions(features.view());
    let count = without.len() as f64;
    let mean = without.iter().fold(Array2::zeros(without[0].dim()), |sum: Array2<f64>, part| sum + part) / count;
    let departure: Array2<f64> = (&mean - &features.dot(&model.weights)) * (count - 1.0);
    let variance: f64 = without.iter().map(|part| (part - &mean).mapv(|gap| gap * gap).sum()).sum();
    departure.mapv(|gap| gap * gap).sum() / (variance * (count - 1.0) / count)
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

/// The exact kernel method at the kernel, the scaling and the lambda of a model, on the rows that it was fitted to.
struct ExactMethod<'a> {
    model: &'a FittedModel,
    solved: ExactKrr,
    validation: Vec<Vec<f64>>,
}

impl<'a> ExactMethod<'a> {
    fn next_to(model: &'a FittedModel, table: &RowsInMemory, seed: u64, validation: f64) -> Self {
        let rows: Vec<&[f64]> = table.cells.chunks(table.columns).collect();
        let parts = split(&vec![Some(0); rows.len()], HeldOut { validation, calibration: 0.0, design: 0.0 }, seed);
        let of = |part: Part| rows.iter().zip(&parts).filter(move |(_, of)| **of == part).map(|(row, _)| *row);
        let fitted: Vec<&[f64]> = of(Part::Training).collect();
        assert_eq!(fitted.len(), model.report.training_rows);
        let inputs = prepared(model, &fitted);
        let targets = fitted.iter().map(|row| row[row.len() - 1] - model.intercepts[0]).collect();
        let targets = Array2::from_shape_vec((fitted.len(), 1), targets).expect("a column");
        let problem = ExactProblem {
            kernel: model.map.kernel,
            inputs: inputs.view(),
            targets: targets.view(),
            ridge: model.report.lambda,
            tolerance: 1e-8,
            features: None,
            precision: Precision::Double,
            preconditioner: None,
            memory: 1 << 30,
            threads: 2,
            progress: None,
        };
        let solved = problem.solve(None, &|| true).expect("a system that can be solved");
        assert!(solved.evidence.is_trusted(), "{:?}", solved.evidence);
        Self { model, solved, validation: of(Part::Validation).map(<[f64]>::to_vec).collect() }
    }

    /// How far the model is from it on some rows.
    fn distances(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let far = self.solved.predict(prepared(self.model, &rows).view()) + self.model.intercepts[0];
        let inputs: Vec<&[f64]> = rows.iter().map(|row| &row[..row.len() - 1]).collect();
        let near = Predictor::new(self.model.clone()).predict(&inputs);
        (near - far).iter().map(|gap| gap.abs()).collect()
    }
}

/// Rows of a table, whose target is the last cell, as the kernel sees them.
fn prepared(model: &FittedModel, rows: &[&[f64]]) -> Array2<f64> {
    model.inputs.prepare(rows.iter().map(|row| &row[..row.len() - 1]))
}

/// Certified bars next to what they bound.
struct Bars {
    /// The median bar over the 90th percentile of the differences.
    median: f64,
    /// The bar over the 90th percentile, in its own units.
    in_units: f64,
    /// The share of fresh inputs that it holds for.
    held: f64,
    /// How often that share is at least the promised one, where the statement is as true as can be: see `chance_of_share`.
    expected: f64,
}

fn certified(exact: &ExactMethod, fresh: &[Vec<f64>]) -> Bars {
    let inputs: Vec<&[f64]> = fresh.iter().map(|row| &row[..row.len() - 1]).collect();
    let model = exact.model;
    let made = model.certified_bars(model.failure_probability).expect("a certificate").expect("enough rows");
    let error_bars = Predictor::new(model.clone()).error_bars(&inputs).expect("error bars");
    let bars: Vec<f64> = error_bars.iter().map(|bar| made.bars(&[*bar])[0]).collect();
    let gaps = exact.distances(fresh);
    let ratios: Vec<f64> = bars.iter().zip(&gaps).map(|(bar, gap)| gap / bar).collect();
    let held = ratios.iter().filter(|ratio| **ratio <= 1.0).count() as f64 / ratios.len() as f64;
    let certificate =
        model.evidence.as_ref().and_then(|evidence| evidence.certificate.as_ref()).expect("a certificate");
    let rows = certificate.differences.len();
    let rank = tolerance_rank(rows, BAR_SHARE, model.failure_probability).expect("enough rows");
    Bars {
        median: quantile(bars, 0.5) / quantile(gaps, BAR_SHARE),
        in_units: 1.0 / quantile(ratios, BAR_SHARE),
        held,
        expected: chance_of_share((rows, rank), fresh.len()),
    }
}

/// The probability that at least nine fresh inputs in ten are within the bar of a rank among some rows. Given the fitted rows,
/// both kinds are exchangeable, so the number within is beta-binomial. The statement says that nine in ten of all inputs are
/// within with probability 95%; of a few hundred fresh inputs fewer are so more often, by their own chance.
fn chance_of_share((rows, rank): (usize, usize), fresh: usize) -> f64 {
    let mut logs = vec![0.0; rows + fresh + 1];
    (1..logs.len()).for_each(|n| logs[n] = logs[n - 1] + (n as f64).ln());
    let choose = |n: usize, k: usize| logs[n] - logs[k] - logs[n - k];
    // Of all orders of both kinds, those with `within` fresh ones below the row of the rank.
    let chance = |within: usize| {
        (choose(rank - 1 + within, within) + choose(rows - rank + fresh - within, fresh - within)
            - choose(rows + fresh, fresh))
        .exp()
    };
    ((BAR_SHARE * fresh as f64).ceil() as usize..=fresh).map(chance).sum()
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((share * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
}

/// Medians over the seeds, how often the bars hold for nine fresh inputs in ten, and how often that is expected.
fn of_bars(bars: &[Bars]) -> String {
    let median = |of: &dyn Fn(&Bars) -> f64| quantile(bars.iter().map(of).collect(), 0.5);
    let held = bars.iter().filter(|bar| bar.held >= BAR_SHARE).count();
    let expected: f64 = bars.iter().map(|bar| bar.expected).sum();
    let (tight, units) = (median(&|bar| bar.median), median(&|bar| bar.in_units));
    format!("{tight:.2} {units:.2}  {held:2} of {} ({expected:.1} expected)", bars.len())
}
