//! W, Figures 1 and 2: the mean of (f̃ − f)² on new rows against the number of features s, for two kernels and three λ.
//!
//! W's features are √2·cos(vᵀx + b)/√s; §6.1 prints them without √2, which would be those of another λ.

use super::book::{Book, Key};
use super::fits::{exact, mean_square, predictions};
use super::statistics::{Mean, chart, means, pooled_slope, series, table};
use super::tables::{Numbers, at_mean_distance};
use super::{Findings, ReproduceError, Settings, Study};
use crate::dataset::ScalingRule;
use crate::features::{FeatureMap, Kernel, KernelShape, MapKind, Sampling};
use crate::solver::Watch;
use ndarray::{Array1, Array2};

/// Name in W, file, class that counts as 1, training and test rows.
type Set = (&'static str, &'static str, Option<f64>, (usize, usize));
pub(super) const SETS: [Set; 3] = [
    ("cadata", "california_housing", None, (10_000, 10_000)),
    ("covtype", "covtype.60k", Some(2.0), (10_000, 10_000)),
    ("cpusmall", "cpusmall", None, (5_000, 3_192)),
];
pub(super) const KERNELS: [(&str, KernelShape); 2] =
    [("rbf", KernelShape::Gaussian), ("laplace", KernelShape::Laplace)];
/// λ·√n.
pub(super) const LAMBDAS: [(&str, f64); 3] = [("0.2/sqrt(n)", 0.2), ("1/sqrt(n)", 1.0), ("5/sqrt(n)", 5.0)];
const FULL: [f64; 8] = [50.0, 100.0, 200.0, 400.0, 800.0, 1_600.0, 3_200.0, 6_400.0];
const QUICK: [f64; 4] = [50.0, 100.0, 200.0, 400.0];
const QUICK_ROWS: (usize, usize) = (600, 300);
/// The most features with all repetitions.
const FULL_REPEATS: f64 = 1_600.0;
/// A slope is of the points whose s is this many times the effective dimension, and at least of the last three.
const WELL_ABOVE: f64 = 16.0;

pub(super) struct WangRate;

fn places(settings: &Settings) -> &'static [f64] {
    settings.size(&FULL, &QUICK)
}

/// Repetitions at s features: half as many where a single one takes most of the time, as the work grows like s².
fn repeats_at(settings: &Settings, s: f64) -> u64 {
    if s <= FULL_REPEATS { settings.repeats } else { settings.repeats.div_ceil(2) }
}

pub(super) fn sets(settings: &Settings) -> Vec<Set> {
    let quick = SETS.iter().filter(|(name, ..)| *name == "cpusmall").map(|(n, f, c, _)| (*n, *f, *c, QUICK_ROWS));
    settings.size(SETS.to_vec(), quick.collect())
}

pub(super) fn case(set: &str, kernel: &str, lambda: &str) -> String {
    format!("{set} {kernel} {lambda}")
}

fn cases(settings: &Settings) -> Vec<String> {
    let of_set =
        |set| KERNELS.iter().flat_map(move |(kernel, _)| LAMBDAS.iter().map(move |(l, _)| case(set, kernel, l)));
    sets(settings).iter().flat_map(|(set, ..)| of_set(*set)).collect()
}

impl Study for WangRate {
    fn quantities(&self) -> &'static [&'static str] {
        &["mse", "equation_31", "dimension"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        let at = |case: String| {
            let of_place = move |s: &f64| Key::all(std::slice::from_ref(&case), &[*s], repeats_at(settings, *s));
            places(settings).iter().flat_map(of_place).collect::<Vec<_>>()
        };
        cases(settings).into_iter().flat_map(at).collect()
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        for (set, file, class, sizes) in sets(settings) {
            let missing = |book: &Book, start: &str| !book.missing_of(start).is_empty();
            if !missing(book, &format!("{set} ")) {
                continue;
            }
            let (training, test) = Numbers::read(settings, file, class, ScalingRule::Minmax)?.split(settings, 0, sizes);
            for (name, shape) in KERNELS {
                if missing(book, &format!("{set} {name} ")) {
                    let kernel = at_mean_distance(shape, training.inputs.view());
                    let problem = ExactCase::new(kernel, &training, &test, settings, book)?;
                    problem.measure(&format!("{set} {name}"), settings, book)?;
                }
            }
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = places(settings);
        let (mut rows, mut charts, mut reached, mut near, mut falls) = (Vec::new(), Vec::new(), 0, 0, true);
        for (set, ..) in sets(settings) {
            for (kernel, _) in KERNELS {
                let mut lines = Vec::new();
                for (lambda, _) in LAMBDAS {
                    let case = case(set, kernel, lambda);
                    let points = means(book, &case, places, "mse");
                    let dimension = Mean::of(&book.values(&case, places[0], "dimension")).value;
                    let above = places.iter().filter(|s| **s >= WELL_ABOVE * dimension).count().clamp(3, places.len());
                    let found = pooled_slope(book, &case, &places[places.len() - above..], "mse");
                    let is_reached = (found.value + 1.0).abs() <= 0.05;
                    reached += usize::from(is_reached);
                    let is_near = !is_reached && (found.value + 1.0).abs() <= 0.05 + 2.0 * found.error;
                    near += usize::from(is_near);
                    falls &= points.windows(2).all(|pair| pair[1].1.value < pair[0].1.value);
                    lines.push(series(&format!("λ = {lambda}"), &points));
                    let [first, last] = [points[0], points[points.len() - 1]].map(|(_, mean)| mean.text());
                    let from = places[places.len() - above];
                    rows.push(vec![
                        case.replace(' ', ", "),
                        format!("{dimension:.1}"),
                        first,
                        last,
                        format!("{from}"),
                        found.text(),
                        match (is_reached, is_near) {
                            (true, _) => "yes",
                            (false, true) => "no, but within two standard errors of it",
                            (false, false) => "no",
                        }
                        .to_owned(),
                    ]);
                }
                let title = format!("{set}, {kernel}: error of random features");
                charts.push((
                    format!("{set}-{kernel}"),
                    chart(&title, "features s", "mean of (f̃ − f)² on test rows", lines),
                ));
            }
        }
        let heads = [
            "case",
            "effective dimension",
            "MSE at the fewest s",
            "MSE at the most",
            "slope from s",
            "slope",
            "within −1 ± 0.05",
        ];
        let text = format!(
            "Expected (W, Theorem 1 and Figures 1 and 2): the mean squared difference between the prediction on random \
             features and that of the exact method falls like 1/s, a slope of −1 of its logarithm on log s, once s is well \
             above the effective dimension.\n\nFound: {reached} of {} slopes are within −1 ± 0.05, and {near} more are within \
             two standard errors of it. A slope is over the points from {WELL_ABOVE} times the effective dimension on, and over the last three at least; the draws of all points are \
             independent, and count the same. {} repetitions, half as many above {FULL_REPEATS} features.\n\n{}",
            rows.len(),
            settings.repeats,
            table(&heads, &rows)
        );
        Findings { text, charts, as_expected: falls }
    }
}

/// One table and kernel, with the exact solution at each λ.
struct ExactCase<'a> {
    kernel: Kernel,
    training: &'a Numbers,
    test: &'a Array2<f64>,
    ridges: Vec<f64>,
    exact: Vec<Solved>,
}

/// The exact method at one λ.
struct Solved {
    predictions: Array1<f64>,
    /// Q.
    quadratic_form: f64,
    dimension: f64,
}

impl<'a> ExactCase<'a> {
    fn new(
        kernel: Kernel,
        training: &'a Numbers,
        test: &'a Array2<f64>,
        settings: &Settings,
        book: &Book,
    ) -> Result<Self, ReproduceError> {
        let root = (training.targets.len() as f64).sqrt();
        let ridges: Vec<f64> = LAMBDAS.iter().map(|(_, multiple)| multiple / root).collect();
        let go_on = || book.go_on();
        let watch = Watch { progress: None, go_on: &go_on };
        let mut solutions = Vec::new();
        for ridge in &ridges {
            let problem = exact(kernel, training.inputs.view(), training.targets.view(), *ridge, settings.threads);
            let mut solver = problem.prepare(watch)?;
            let solved = solver.solve(problem.targets, problem.tolerance, None, watch)?;
            solutions.push(Solved {
                predictions: solved.predict(test.view()).column(0).to_owned(),
                quadratic_form: solved.quadratic_form,
                dimension: solver.dimension(watch)?.value,
            });
        }
        Ok(Self { kernel, training, test, ridges, exact: solutions })
    }

    fn measure(&self, start: &str, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        let keys =
            |s: f64, repeat| LAMBDAS.iter().map(move |(lambda, _)| Key::new(&format!("{start} {lambda}"), s, repeat));
        let all = places(settings).iter().flat_map(|s| (0..repeats_at(settings, *s)).map(|repeat| (*s, repeat)));
        let units: Vec<(f64, u64)> = all.filter(|(s, repeat)| keys(*s, *repeat).any(|key| !book.has(&key))).collect();
        book.measure_together(settings.threads, &units, |(s, repeat)| {
            let (s, repeat) = (*s, *repeat);
            let seed = settings.seed.wrapping_add(repeat).wrapping_mul(65_536).wrapping_add(s as u64);
            let (count, inputs) = (s as usize, self.training.inputs.view());
            let map = FeatureMap::sample(self.kernel, MapKind::Phase, Sampling::Plain, seed, count, inputs.ncols());
            let found = predictions(&map, (inputs, self.training.targets.view()), self.test.view(), &self.ridges)?;
            let values = found.iter().zip(&self.exact).map(|(found, exact)| {
                let mse = mean_square(found.view(), exact.predictions.view());
                vec![mse, exact.quadratic_form / s, exact.dimension]
            });
            Ok(keys(s, repeat).zip(values).collect())
        })
    }
}
