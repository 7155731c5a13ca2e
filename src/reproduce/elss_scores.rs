//! S, Figure 1: how far the scores of a pool are from uniform, by the λ of the scores.

use super::book::{Book, Key};
use super::fits::equations;
use super::statistics::{Mean, chart, means, series, table};
use super::tables::{Numbers, at_mean_distance};
use super::{Findings, ReproduceError, Settings, Study};
use crate::dataset::ScalingRule;
use crate::features::{FeatureMap, KernelShape, MapKind, Sampling};
use crate::linalg::FactorError;
use crate::solver::{SolveError, ridge_leverages};

const TABLES: [(&str, &str); 2] = [("cpusmall", "cpusmall"), ("california", "california_housing")];
const LAMBDAS: [f64; 8] = [1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 1.0, 1e2];

pub(super) struct ElssScores;

fn tables(settings: &Settings) -> &'static [(&'static str, &'static str)] {
    settings.size(&TABLES, &TABLES[..1])
}

impl Study for ElssScores {
    fn quantities(&self) -> &'static [&'static str] {
        &["smallest", "lower_quartile", "median", "upper_quartile", "largest", "effective_share"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        let cases: Vec<String> = tables(settings).iter().map(|(name, _)| (*name).to_owned()).collect();
        Key::all(&cases, &LAMBDAS, settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        let (rows, pool) = settings.size((8_000, 1_000), (400, 150));
        for (name, file) in tables(settings) {
            let missing = book.missing_of(name);
            if missing.is_empty() {
                continue;
            }
            let (training, _) =
                Numbers::read(settings, file, None, ScalingRule::Standard)?.split(settings, 0, (rows, 0));
            let kernel = at_mean_distance(KernelShape::Gaussian, training.inputs.view());
            book.measure(settings.threads, &missing, |key| {
                let (ridge, seed) = (key.x, settings.seed.wrapping_add(key.repeat));
                let inputs = training.inputs.view();
                let map = FeatureMap::sample(kernel, MapKind::Phase, Sampling::Plain, seed, pool, inputs.ncols());
                let gram = equations(&map, inputs, training.targets.view())?.gram;
                let failed = |error: FactorError| SolveError::Factor(error);
                let scores = ridge_leverages(gram, ridge, pool, 1, |_| true).map_err(failed)?;
                let mut scores = scores.map_or_else(Vec::new, |scores| scores.to_vec());
                scores.sort_by(f64::total_cmp);
                Ok(spread(&scores))
            })?;
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let (mut rows, mut lines, mut is_hump) = (Vec::new(), Vec::new(), true);
        for (name, _) in tables(settings) {
            let of = |quantity: &str| means(book, name, &LAMBDAS, quantity);
            let columns = ["smallest", "median", "largest", "effective_share"].map(of);
            for (index, lambda) in LAMBDAS.iter().enumerate() {
                let mut cells = vec![(*name).to_owned(), format!("{lambda:e}")];
                cells.extend(columns.iter().map(|column| column[index].1.text()));
                rows.push(cells);
            }
            let largest: Vec<f64> = columns[2].iter().map(|(_, mean): &(f64, Mean)| mean.value).collect();
            let (first, last) = (largest[0], largest[largest.len() - 1]);
            is_hump &= largest[1..largest.len() - 1].iter().any(|middle| *middle > first.max(last));
            lines.push(series(&format!("{name}, largest"), &columns[2]));
            lines.push(series(&format!("{name}, smallest"), &columns[0]));
        }
        let heads = ["table", "λ of the scores", "smallest", "median", "largest", "effective share"];
        let text = format!(
            "Expected (S, Figure 1 and §V): for a shift-invariant kernel the scores are uniform both for too small and for too \
             large a λ, and not in between.\n\nFound: {}. Scores are in units of their mean; the effective share is (Σq)²/(M₀Σq²). \
             S shows the Year Prediction table, which is not among the tables at hand, with λ = 10⁻⁴ and 10⁴ in the units of a \
             sum over rows; λ here is that of a mean over rows. {} pools.\n\n{}",
            if is_hump {
                "the largest score is farthest from 1 in between"
            } else {
                "the largest score is not farthest from 1 in between"
            },
            settings.repeats,
            table(&heads, &rows)
        );
        let charts = vec![(
            String::new(),
            chart("Scores of a pool by their λ", "λ of the scores", "score over its mean", lines),
        )];
        Findings { text, charts, as_expected: is_hump }
    }
}

/// Quantiles of sorted scores in units of their mean, and the effective share of the pool.
fn spread(sorted: &[f64]) -> Vec<f64> {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let squares = sorted.iter().map(|score| score * score).sum::<f64>() / count;
    let at = |share: f64| sorted[(share * (count - 1.0)).round() as usize] / mean;
    vec![at(0.0), at(0.25), at(0.5), at(0.75), at(1.0), mean * mean / squares]
}
