//! A, Theorem 7: the measured spectral error Δ of K̃ + nλI against the number of features, next to the proved one.

use crate::dataset::ScalingRule;
use crate::features::{FeatureMap, KernelShape, MapKind, Sampling};
use crate::reproduce::book::{Book, Key};
use crate::reproduce::fits::exact;
use crate::reproduce::statistics::{Mean, chart, means, series, slope_of_repeats, table};
use crate::reproduce::tables::{Numbers, at_mean_distance};
use crate::reproduce::{Findings, ReproduceError, Settings, Study};
use crate::solver::spectral_delta;
use crate::theory::papers::avron::delta_for_draws;

const TABLE: &str = "cpusmall";
const LAMBDAS: [f64; 3] = [0.1, 0.01, 0.001];
const FULL: [f64; 6] = [64.0, 256.0, 1_024.0, 4_096.0, 16_384.0, 65_536.0];
const QUICK: [f64; 3] = [64.0, 256.0, 1_024.0];
const FAILURE: f64 = 0.05;

pub(in crate::reproduce) struct AvronDelta;

fn places(settings: &Settings) -> &'static [f64] {
    settings.size(&FULL, &QUICK)
}

fn case(lambda: f64) -> String {
    format!("{TABLE} lambda={lambda}")
}

impl Study for AvronDelta {
    fn quantities(&self) -> &'static [&'static str] {
        &["delta", "theorem7", "dimension"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        Key::all(&LAMBDAS.map(case), places(settings), settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        let rows = settings.size(400, 150);
        let (training, _) = Numbers::read(settings, TABLE, None, ScalingRule::Minmax)?.split(settings, 0, (rows, 0));
        let (inputs, n) = (training.inputs.view(), training.targets.len());
        let kernel = at_mean_distance(KernelShape::Gaussian, inputs);
        for ridge in LAMBDAS {
            let own = case(ridge);
            let missing = book.missing_of(&own);
            let dimension = exact(kernel, inputs, training.targets.view(), ridge, 1).dimension(&|| true)?.value;
            book.measure(settings.threads, &missing, |key| {
                let (s, seed) = (key.x as usize, settings.seed.wrapping_add(key.repeat));
                let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, seed, s, inputs.ncols());
                let features = map.projector::<f64>().transform(inputs);
                let delta = spectral_delta(kernel, inputs, features.view(), n as f64 * ridge, 1)?;
                Ok(vec![delta, delta_for_draws(1.0 / ridge, dimension, s / 2, FAILURE), dimension])
            })?;
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = places(settings);
        let (mut rows, mut lines, mut below, mut falls) = (Vec::new(), Vec::new(), true, true);
        for ridge in LAMBDAS {
            let case = case(ridge);
            let (measured, proved) = (means(book, &case, places, "delta"), means(book, &case, places, "theorem7"));
            let largest = |s: f64| book.values(&case, s, "delta").into_iter().fold(0.0, f64::max);
            let dimension = Mean::of(&book.values(&case, places[0], "dimension")).value;
            below &= proved.iter().all(|(s, bound)| largest(*s) <= bound.value);
            falls &= measured.windows(2).all(|pair| pair[1].1.value < pair[0].1.value);
            for ((s, found), (_, bound)) in measured.iter().zip(&proved) {
                let covered = if bound.value <= 0.5 { "yes" } else { "no, above ½" };
                rows.push(vec![
                    ridge.to_string(),
                    format!("{dimension:.1}"),
                    s.to_string(),
                    found.text(),
                    format!("{:.3}", largest(*s)),
                    format!("{:.3}", bound.value),
                    covered.to_owned(),
                ]);
            }
            let fall = slope_of_repeats(book, &case, &places[places.len() - 3..], "delta");
            rows.push(vec![
                ridge.to_string(),
                String::new(),
                "slope".into(),
                fall.text(),
                String::new(),
                "−0.5".into(),
                String::new(),
            ]);
            lines.push(series(&format!("measured, λ = {ridge}"), &measured));
            lines.push(series(&format!("Theorem 7, λ = {ridge}"), &proved));
        }
        let heads = ["λ", "s_λ", "s", "mean Δ", "largest Δ", "Theorem 7", "theorem applies"];
        let text = format!(
            "Expected (A, Theorem 7): Δ falls like 1/√s, and lies below the bound with probability at least {:.0}%.\n\nFound: Δ {} in \
             all repetitions, and {} with s at every λ. {} repetitions on {TABLE}.\n\n{}",
            100.0 * (1.0 - FAILURE),
            if below { "lies below the bound" } else { "does not lie below the bound" },
            if falls { "falls" } else { "does not fall" },
            settings.repeats,
            table(&heads, &rows)
        );
        let charts = vec![(String::new(), chart("Spectral error by the number of features", "features s", "Δ", lines))];
        Findings { text, charts, as_expected: below && falls }
    }
}
