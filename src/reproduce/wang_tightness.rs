//! W, Figures 3 and 4: equation (31), Q/s, over the measured error at s = 100, by the number of rows.

use super::book::{Book, Key};
use super::fits::{exact, mean_square, predictions};
use super::statistics::{Mean, chart, series, table};
use super::tables::{Numbers, at_mean_distance};
use super::wang_rate::{KERNELS, LAMBDAS, case, sets};
use super::{Findings, ReproduceError, Settings, Study};
use crate::dataset::ScalingRule;
use crate::features::{FeatureMap, MapKind, Sampling};

const FEATURES: usize = 100;
const FULL: [f64; 5] = [200.0, 500.0, 1_000.0, 2_000.0, 5_000.0];
const QUICK: [f64; 3] = [200.0, 400.0, 800.0];
/// Draws of features whose errors are averaged in each repetition.
const DRAWS: u64 = 10;
const TEST_ROWS: usize = 2_000;

pub(super) struct WangTightness;

fn places(settings: &Settings) -> &'static [f64] {
    settings.size(&FULL, &QUICK)
}

/// Mean of (31) over the mean error, with its standard error to first order: both are of the same rows in each repetition.
fn ratio(book: &Book, case: &str, n: f64) -> Mean {
    let of = |quantity: &str| book.values(case, n, quantity);
    let (bounds, errors) = (of("equation_31"), of("mse"));
    let (bound, error) = (Mean::of(&bounds).value, Mean::of(&errors).value);
    let single: Vec<f64> = bounds.iter().zip(&errors).map(|(b, e)| b / bound - e / error).collect();
    Mean { value: bound / error, error: bound / error * Mean::of(&single).error }
}

impl Study for WangTightness {
    fn quantities(&self) -> &'static [&'static str] {
        &["mse", "equation_31"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        let of_set = |set: &str| {
            let of_kernel = |kernel| LAMBDAS.iter().map(move |(lambda, _)| case(set, kernel, lambda));
            KERNELS.iter().flat_map(|(kernel, _)| of_kernel(*kernel)).collect::<Vec<_>>()
        };
        let cases: Vec<String> = sets(settings).iter().flat_map(|(set, ..)| of_set(set)).collect();
        Key::all(&cases, places(settings), settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        for (set, file, class, _) in sets(settings) {
            let start = format!("{set} ");
            let missing = book.missing_of(&start);
            if missing.is_empty() {
                continue;
            }
            let numbers = Numbers::read(settings, file, class, ScalingRule::Minmax)?;
            book.measure(settings.threads, &missing, |key| point(&numbers, key, settings))?;
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = places(settings);
        let last = places[places.len() - 1];
        let (mut rows, mut charts, mut ordered, mut count) = (Vec::new(), Vec::new(), 0, 0);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for (set, ..) in sets(settings) {
            for (kernel, _) in KERNELS {
                let mut lines = Vec::new();
                let mut ends = Vec::new();
                for (lambda, _) in LAMBDAS {
                    let case = case(set, kernel, lambda);
                    let points: Vec<(f64, Mean)> = places.iter().map(|n| (*n, ratio(book, &case, *n))).collect();
                    lines.push(series(&format!("λ = {lambda}"), &points));
                    let mut cells = vec![case.replace(' ', ", ")];
                    cells.extend(points.iter().map(|(_, mean)| mean.text()));
                    rows.push(cells);
                    ends.push(ratio(book, &case, last).value);
                    let growth = points[points.len() - 1].1.value / points[0].1.value;
                    (least, most) = (least.min(growth), most.max(growth));
                }
                count += 1;
                ordered += usize::from(ends.windows(2).all(|pair| pair[1] < pair[0]));
                let title = format!("{set}, {kernel}: equation (31) over the error");
                charts
                    .push((format!("{set}-{kernel}"), chart(&title, "rows n", "Q/s over the mean of (f̃ − f)²", lines)));
            }
        }
        let heads: Vec<String> =
            std::iter::once("case".to_owned()).chain(places.iter().map(|n| format!("n = {n}"))).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let text = format!(
            "Expected (W, §6.3 and Figures 3 and 4): equation (31), Q/s, is a small multiple of the error at s = {FEATURES}, the \
             smaller the larger λ is, and close to flat in n.\n\nFound: at n = {last} the ratio falls with λ for {ordered} of \
             {count} tables and kernels. From n = {} to {last} it grows by factors of {least:.1} to {most:.1}. {} repetitions, each with rows of its own and the mean over {DRAWS} draws of features.\n\n{}",
            places[0],
            settings.repeats,
            table(&heads, &rows)
        );
        Findings { text, charts, as_expected: ordered == count }
    }
}

/// One choice of rows: the mean error over draws of features, and (31).
fn point(numbers: &Numbers, key: &Key, settings: &Settings) -> Result<Vec<f64>, ReproduceError> {
    let named = |name: &str, part: usize| key.case.split(' ').nth(part) == Some(name);
    let multiple = LAMBDAS.iter().find(|(name, _)| named(name, 2)).map_or(1.0, |(_, multiple)| *multiple);
    let shape = KERNELS.iter().find(|(name, _)| named(name, 1)).map_or(KERNELS[0].1, |(_, shape)| *shape);
    let (training, test) = numbers.split(settings, key.repeat, (key.x as usize, TEST_ROWS));
    let (inputs, targets) = (training.inputs.view(), training.targets.view());
    let (kernel, ridge) = (at_mean_distance(shape, inputs), multiple / (targets.len() as f64).sqrt());
    let solved = exact(kernel, inputs, targets, ridge, 1).solve(None, &|| true)?;
    let expected = solved.predict(test.view());
    let mut sum = 0.0;
    for draw in 0..DRAWS {
        let seed = settings.seed.wrapping_add(key.repeat * DRAWS + draw);
        let map = FeatureMap::sample(kernel, MapKind::Phase, Sampling::Plain, seed, FEATURES, inputs.ncols());
        let found = predictions(&map, (inputs, targets), test.view(), &[ridge])?;
        sum += mean_square(found[0].view(), expected.column(0));
    }
    Ok(vec![sum / DRAWS as f64, solved.quadratic_form / FEATURES as f64])
}
