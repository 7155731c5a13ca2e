//! A, §3.2: iterations of conjugate gradients on the exact kernel system, by the features of its preconditioner.

use crate::dataset::ScalingRule;
use crate::features::{FeatureMap, MapKind, Sampling};
use crate::reproduce::book::{Book, Key};
use crate::reproduce::fits::exact;
use crate::reproduce::statistics::{chart, means, series, table};
use crate::reproduce::tables::{Numbers, at_mean_distance};
use crate::reproduce::wang_rate::KERNELS;
use crate::reproduce::{Findings, ReproduceError, Settings, Study};
use crate::solver::{ExactProblem, FeatureSource, Preconditioner};
use ndarray::ArrayView2;

const TABLE: &str = "california_housing";
const LAMBDAS: [f64; 2] = [1e-3, 1e-5];
const FULL: [f64; 6] = [50.0, 100.0, 200.0, 400.0, 800.0, 1_600.0];
const QUICK: [f64; 3] = [50.0, 200.0, 600.0];

pub(in crate::reproduce) struct AvronPreconditioner;

fn places(settings: &Settings) -> &'static [f64] {
    settings.size(&FULL, &QUICK)
}

fn case(kernel: &str, lambda: f64) -> String {
    format!("{kernel} lambda={lambda}")
}

fn cases() -> Vec<String> {
    KERNELS.iter().flat_map(|(kernel, _)| LAMBDAS.map(|lambda| case(kernel, lambda))).collect()
}

impl Study for AvronPreconditioner {
    fn quantities(&self) -> &'static [&'static str] {
        &["with", "without"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        Key::all(&cases(), places(settings), settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        let rows = settings.size(4_000, 800);
        let (training, _) = Numbers::read(settings, TABLE, None, ScalingRule::Minmax)?.split(settings, 0, (rows, 0));
        let (inputs, targets) = (training.inputs.view(), training.targets.view());
        let observer = book.observer();
        for (name, shape) in KERNELS {
            let kernel = at_mean_distance(shape, inputs);
            for ridge in LAMBDAS {
                let own = case(name, ridge);
                let missing = book.missing_of(&own);
                if missing.is_empty() {
                    continue;
                }
                let problem = || exact(kernel, inputs, targets, ridge, settings.threads);
                let iterations = |problem: ExactProblem| {
                    let solved = problem.solve(None, &|| !observer.should_stop())?;
                    Ok::<_, ReproduceError>(solved.evidence.iterations as f64)
                };
                let without = iterations(ExactProblem { preconditioner: Some(Preconditioner::None), ..problem() })?;
                // One after the other: each solve uses all threads.
                book.measure(1, &missing, |key| {
                    let (s, seed) = (key.x as usize, settings.seed.wrapping_add(key.repeat));
                    let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, seed, s, inputs.ncols());
                    let projector = map.projector::<f32>();
                    let make = |rows: ArrayView2<f64>| projector.transform(rows);
                    let source = FeatureSource { count: map.feature_count(), make: &make };
                    let preconditioner = Some(Preconditioner::Features);
                    let with = iterations(ExactProblem { preconditioner, features: Some(&source), ..problem() })?;
                    Ok(vec![with, without])
                })?;
            }
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = places(settings);
        let (mut rows, mut lines, mut falls, mut helped, mut hurt) = (Vec::new(), Vec::new(), true, 0, Vec::new());
        for case in cases() {
            let (with, without) = (means(book, &case, places, "with"), means(book, &case, places, "without"));
            let mut cells = vec![case.replace(' ', ", "), format!("{:.0}", without[0].1.value)];
            cells.extend(with.iter().map(|(_, mean)| format!("{:.1}", mean.value)));
            rows.push(cells);
            lines.push(series(&case, &with));
            lines.push(series(&format!("{case}, none"), &without));
            helped += usize::from(with[places.len() - 1].1.value < without[0].1.value);
            falls &= with[places.len() - 1].1.value < with[0].1.value;
            if with[0].1.value > without[0].1.value {
                hurt.push(case.replace(' ', ", "));
            }
        }
        let heads: Vec<String> =
            ["case".into(), "none".into()].into_iter().chain(places.iter().map(|s| format!("s = {s}"))).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let few = if hurt.is_empty() { "in no case".to_owned() } else { format!("in: {}", hurt.join("; ")) };
        let text = format!(
            "Expected (A, §3.2): with (K̃ + nλI)⁻¹ as preconditioner, conjugate gradients need the fewer iterations the more \
             features K̃ has.\n\nFound: with the most features there are {} iterations than with the fewest in every case, and \
             fewer than without a preconditioner in {helped} of {} cases. With the fewest features there are more than without \
             {few}. Mean iterations to a relative residual of 10⁻⁸ over {} draws, {TABLE}, {} rows, at most 1,000 \
             iterations.\n\n{}",
            if falls { "fewer" } else { "not fewer" },
            rows.len(),
            settings.repeats,
            settings.size(4_000, 800),
            table(&heads, &rows)
        );
        let charts = vec![(
            String::new(),
            chart("Iterations by the features of the preconditioner", "features s", "iterations", lines),
        )];
        Findings { text, charts, as_expected: falls }
    }
}
