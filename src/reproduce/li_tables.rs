//! L, Tables 1 and 2, by fit: the draws that are enough, by the decay of the spectrum.
//!
//! The proofs of both tables need one event: ‖(L+λI)^(−1/2)(L_s−L)(L+λI)^(−1/2)‖ ≤ ½ (Lemma 1), with λ = n^(−1/2r), so that the
//! tables' n^(1/2r) is 1/λ. Here L is the operator of evenly spread rows on [0, 1], and the draws that reach the event
//! are counted by 1/λ: drawn from the kernel, and by L's own scores τ_λ, those under the exact kernel.

use super::book::{Book, Key};
use super::statistics::{Mean, chart, means, series, slope, table};
use super::{Findings, ReproduceError, Settings, Study};
use crate::features::{DrawScales, FeatureMap, Kernel, MapKind, Sampling, draw_by_score};
use crate::linalg::{Real, Triangle, lower_factor, symmetric_eigenvalues};
use crate::solver::SolveError;
use crate::theory::papers::li::{enough_draws, r_star};
use crate::theory::spectrum::{Decay, decay, effective_dimension};
use ndarray::{Array2, ArrayView2, Axis};

/// A kernel on rows that give its spectrum a known decay.
struct Spectrum {
    name: &'static str,
    kernel: Kernel,
    /// Different rows, where the others repeat them.
    places: Option<usize>,
}

static SPECTRA: [Spectrum; 4] = [
    Spectrum { name: "finite-rank", kernel: Kernel::Gaussian { bandwidth: 0.05 }, places: Some(8) },
    Spectrum { name: "gaussian", kernel: Kernel::Gaussian { bandwidth: 0.1 }, places: None },
    Spectrum { name: "matern", kernel: Kernel::Matern { bandwidth: 0.5, nu: 1.5 }, places: None },
    Spectrum { name: "laplace", kernel: Kernel::Laplace { bandwidth: 0.5 }, places: None },
];
const SAMPLINGS: [&str; 2] = ["plain", "leverage"];
/// 1/λ, the n of the tables at r = ½.
const FULL: [f64; 5] = [10.0, 30.0, 100.0, 300.0, 1_000.0];
const QUICK: [f64; 2] = [10.0, 1_000.0];
/// Rows n for the slope of r*.
const ROW_COUNTS: [f64; 4] = [100.0, 1_000.0, 10_000.0, 100_000.0];
/// Candidates of a pool for each 1/λ, so many that the kernel of the pool is close to the kernel.
const POOL: f64 = 50.0;
/// Draws that are looked at, for each 1/λ: by then Δ has long been below ½.
const MOST: f64 = 16.0;
/// Of the event.
const ENOUGH: f64 = 0.5;
const FAILURE: f64 = 0.05;
/// Below this share of the largest, eigenvalues are rounding errors.
const FLOOR: f64 = 1e-13;

/// What is asked at one λ.
struct Need {
    by_leverage: bool,
    /// 1/λ.
    inverse: f64,
    /// Draws that are enough with probability at least 95%.
    proved: f64,
}

pub(super) struct LiTables;

fn places(settings: &Settings) -> &'static [f64] {
    settings.size(&FULL, &QUICK)
}

fn case(spectrum: &Spectrum, sampling: &str) -> String {
    format!("{} {sampling}", spectrum.name)
}

impl Study for LiTables {
    fn quantities(&self) -> &'static [&'static str] {
        &["draws", "corollary", "dimension"]
    }

    fn keys(&self, settings: &Settings) -> Vec<Key> {
        let of = |spectrum| SAMPLINGS.map(|sampling| case(spectrum, sampling));
        Key::all(&SPECTRA.iter().flat_map(of).collect::<Vec<_>>(), places(settings), settings.repeats)
    }

    fn measure(&self, settings: &Settings, book: &mut Book) -> Result<(), ReproduceError> {
        for spectrum in &SPECTRA {
            let inputs = spectrum.inputs(settings);
            let eigenvalues = spectrum.eigenvalues(settings)?;
            for sampling in SAMPLINGS {
                let own = case(spectrum, sampling);
                let missing = book.missing_of(&own);
                book.measure(settings.threads, &missing, |key| {
                    let dimension = effective_dimension(&eigenvalues, 1.0 / key.x);
                    let by_leverage = sampling == "leverage";
                    let sum = if by_leverage { dimension } else { key.x };
                    let enough = enough_draws(sum, dimension, FAILURE);
                    let seed = settings.seed.wrapping_add(key.repeat).wrapping_mul(65_536).wrapping_add(key.x as u64);
                    let need = Need { by_leverage, inverse: key.x, proved: enough.repaired };
                    Ok(vec![spectrum.draws(inputs.view(), &need, seed)? as f64, enough.corollary, dimension])
                })?;
            }
        }
        Ok(())
    }

    fn findings(&self, settings: &Settings, book: &Book) -> Findings {
        let places = places(settings);
        let last = places.len() - 1;
        let (mut rows, mut rates, mut charts, mut fewer, mut flatter) = (Vec::new(), Vec::new(), Vec::new(), 0, 0);
        for spectrum in &SPECTRA {
            let of = |sampling: &str, quantity: &str| means(book, &case(spectrum, sampling), places, quantity);
            let measured = SAMPLINGS.map(|sampling| of(sampling, "draws"));
            let printed = SAMPLINGS.map(|sampling| of(sampling, "corollary"));
            let eigenvalues = spectrum.eigenvalues(settings).unwrap_or_default();
            let found = decay(&eigenvalues, FLOOR, eigenvalues.len());
            for (index, sampling) in SAMPLINGS.iter().enumerate() {
                rows.push(vec![
                    spectrum.name.to_owned(),
                    found.map_or_else(String::new, words),
                    (*sampling).to_owned(),
                    measured[index][0].1.text(),
                    measured[index][last].1.text(),
                    format!("{:.0}", printed[index][last].1.value),
                    slope(&measured[index]).text(),
                    format!("{:.2}", slope(&printed[index]).value),
                    found.map_or_else(String::new, |found| order(found, index == 1)),
                ]);
            }
            if spectrum.places.is_none() {
                fewer += usize::from(measured[1][last].1.value < measured[0][last].1.value);
                flatter += usize::from(slope(&measured[1]).value < slope(&measured[0]).value);
            }
            let terms = ROW_COUNTS.map(|n| (n, Mean { value: r_star(&eigenvalues, n as usize).value, error: 0.0 }));
            rates.push(vec![
                spectrum.name.to_owned(),
                format!("{:.2}", slope(&terms).value),
                found.map_or_else(String::new, rate),
            ]);
            let lines = vec![
                series("plain", &measured[0]),
                series("leverage", &measured[1]),
                series("Corollary 1", &printed[0]),
                series("Corollary 2", &printed[1]),
            ];
            let title = format!("{}: draws for a spectral error of ½", spectrum.name);
            charts.push((spectrum.name.to_owned(), chart(&title, "1/λ", "draws", lines)));
        }
        let infinite = SPECTRA.iter().filter(|spectrum| spectrum.places.is_none()).count();
        let ends = [places[0], places[last]].map(|x| format!("draws at 1/λ = {x}"));
        let heads = [
            "spectrum",
            "by fit",
            "sampling",
            &ends[0],
            &ends[1],
            "corollary there",
            "slope on 1/λ",
            "slope of the corollary",
            "Table 1",
        ];
        let text = format!(
            "Expected (L, Table 1): at λ = n^(−1/2r) plain draws grow like 1/λ, draws by leverage like the effective dimension: not \
             for a finite rank, like logarithms for an exponential decay, like (1/λ)^(1/2γ) for eigenvalues i^(−2γ).\n\nFound: draws by \
             leverage grow more slowly in {flatter} of {infinite} infinite spectra, and are fewer at the smallest λ in {fewer}. \
             Counted are the draws from which on, up to 16/λ, the spectral error is at most ½, as L's Lemma 1 asks for; {} rows on [0, 1], {} \
             repetitions; the corollaries are those for a failure probability of {FAILURE}.\n\n{}\nTable 2 follows from r* = \
             min over h of h/n + √((1/n)Σ μᵢ over i > h), whose slope on n, from {} to {} rows, is:\n\n{}",
            settings.size(120, 100),
            settings.repeats,
            table(&heads, &rows),
            ROW_COUNTS[0],
            ROW_COUNTS[ROW_COUNTS.len() - 1],
            table(&["spectrum", "slope of r*", "Table 2"], &rates)
        );
        Findings { text, charts, as_expected: fewer == infinite && flatter == infinite }
    }
}

fn words(decay: Decay) -> String {
    match decay {
        Decay::FiniteRank(rank) => format!("rank {rank}"),
        Decay::Exponential(fit) => format!("exponential, R² {:.3}", fit.quality),
        Decay::Polynomial(fit) => format!("i^−{:.2}, R² {:.3}", fit.exponent, fit.quality),
    }
}

/// Features by Table 1, with n^(1/2r) = 1/λ.
fn order(decay: Decay, by_leverage: bool) -> String {
    match (decay, by_leverage) {
        (Decay::FiniteRank(_), false) => "1/λ".to_owned(),
        (Decay::FiniteRank(_), true) => "1".to_owned(),
        (Decay::Exponential(_), false) => "1/λ · log log".to_owned(),
        (Decay::Exponential(_), true) => "log · log log".to_owned(),
        (Decay::Polynomial(_), false) => "1/λ · log".to_owned(),
        (Decay::Polynomial(fit), true) => format!("(1/λ)^{:.2} · log", fit.exponent.max(1.0).recip()),
    }
}

/// The learning rate by Table 2.
fn rate(decay: Decay) -> String {
    match decay {
        Decay::FiniteRank(_) => "1/n".to_owned(),
        Decay::Exponential(_) => "log(n)/n".to_owned(),
        Decay::Polynomial(_) => "1/√n".to_owned(),
    }
}

impl Spectrum {
    /// Rows on [0, 1], evenly spread in no order.
    fn inputs(&self, settings: &Settings) -> Array2<f64> {
        let place = |i: usize| match self.places {
            None => (i as f64 * 0.618_034).fract(),
            Some(places) => ((i % places) as f64 + 0.5) / places as f64,
        };
        Array2::from_shape_fn((settings.size(120, 100), 1), |(i, _)| place(i))
    }

    /// Of K/n, the largest first.
    fn eigenvalues(&self, settings: &Settings) -> Result<Vec<f64>, ReproduceError> {
        let matrix = kernel_matrix(self.kernel, self.inputs(settings).view());
        let n = matrix.nrows() as f64;
        let found = symmetric_eigenvalues(matrix / n).map_err(SolveError::from)?;
        Ok(found.iter().rev().copied().collect())
    }

    /// The fewest draws, of a ladder with steps of a tenth up to 16/λ or the count that is proved, from which on the
    /// spectral error is at most ½.
    fn draws(&self, inputs: ArrayView2<f64>, need: &Need, seed: u64) -> Result<usize, ReproduceError> {
        let (n, most) = (inputs.nrows(), need.proved.min(MOST * need.inverse).ceil() as usize);
        let white = Whitening::new(self.kernel, inputs, n as f64 / need.inverse)?;
        let count = if need.by_leverage { (POOL * need.inverse) as usize } else { most };
        let pool = FeatureMap::sample(self.kernel, MapKind::Pair, Sampling::Plain, seed, 2 * count, 1);
        let (order, factors) = if need.by_leverage {
            let scores = white.scores(&pool);
            let order = draw_by_score(&scores, seed, most);
            let mean = scores.iter().sum::<f64>() / count as f64;
            let factors = order.iter().map(|&draw| (mean / scores[draw]).sqrt()).collect();
            (order, factors)
        } else {
            ((0..count).collect(), vec![1.0; count])
        };
        let (mut sum, mut done, mut enough) = (Array2::<f64>::zeros((n, n)), 0, 1);
        while done < most {
            let next = (done + 1).max(done * 11 / 10).min(most);
            let factors = factors[done..next].to_vec();
            let scales = DrawScales { largest: factors.iter().copied().fold(0.0, f64::max), factors };
            let columns = white.columns(&pool.keep(&order[done..next], Some(scales)));
            sum += &columns.dot(&columns.t());
            let eigenvalues = symmetric_eigenvalues(&sum / next as f64 - &white.kernel).map_err(SolveError::from)?;
            let error = eigenvalues.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
            if error > ENOUGH {
                enough = next + 1;
            }
            done = next;
        }
        Ok(enough)
    }
}

/// (K + nλI)^(−½), as the inverse of its Cholesky factor.
struct Whitening<'a> {
    inputs: ArrayView2<'a, f64>,
    lower: Array2<f64>,
    /// K between two such factors.
    kernel: Array2<f64>,
}

impl<'a> Whitening<'a> {
    fn new(kernel: Kernel, inputs: ArrayView2<'a, f64>, shift: f64) -> Result<Self, ReproduceError> {
        let mut matrix = kernel_matrix(kernel, inputs);
        let mut shifted = matrix.clone();
        shifted.diag_mut().mapv_inplace(|value| value + shift);
        let lower = lower_factor(shifted, 1).map_err(SolveError::from)?;
        f64::solve_triangle(Triangle::TransposedFromTheRight, lower.view(), matrix.view_mut());
        f64::solve_triangle(Triangle::Lower, lower.view(), matrix.view_mut());
        Ok(Self { inputs, lower, kernel: matrix })
    }

    /// The columns of draws, each with the size it has alone, as if there were no others to share the kernel with.
    fn columns(&self, draws: &FeatureMap) -> Array2<f64> {
        let mut columns = draws.projector::<f64>().transform(self.inputs);
        f64::solve_triangle(Triangle::Lower, self.lower.view(), columns.view_mut());
        columns / draws.amplitude()
    }

    /// n·τ_λ over the density, of every draw of a pool: zᵀ(K + nλI)⁻¹z, summed over its two columns.
    fn scores(&self, pool: &FeatureMap) -> Vec<f64> {
        const BLOCK: usize = 1_000;
        let draws: Vec<usize> = (0..pool.draw_count()).collect();
        let mut scores = Vec::with_capacity(draws.len());
        for block in draws.chunks(BLOCK) {
            let squares = self.columns(&pool.keep(block, None)).mapv_into(|value| value * value).sum_axis(Axis(0));
            scores.extend((0..block.len()).map(|draw| squares[draw] + squares[block.len() + draw]));
        }
        scores
    }
}

fn kernel_matrix(kernel: Kernel, inputs: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((inputs.nrows(), inputs.nrows()), |(i, j)| kernel.evaluate(inputs.row(i), inputs.row(j)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn settings() -> Settings {
        Settings { data: PathBuf::new(), repeats: 1, quick: true, seed: 3, threads: 1 }
    }

    /// The mean of the scores of plain draws is the effective dimension over n, as L's ∫τ_λ = d(λ).
    #[test]
    fn scores_have_the_effective_dimension_as_their_mean() {
        for spectrum in &SPECTRA {
            let inputs = spectrum.inputs(&settings());
            let pool = FeatureMap::sample(spectrum.kernel, MapKind::Pair, Sampling::Plain, 1, 40_000, 1);
            let shift = inputs.nrows() as f64 / 100.0;
            let scores = Whitening::new(spectrum.kernel, inputs.view(), shift).unwrap().scores(&pool);
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            let dimension = effective_dimension(&spectrum.eigenvalues(&settings()).unwrap(), 0.01);
            assert!((mean / dimension - 1.0).abs() < 0.05, "{}: {mean} {dimension}", spectrum.name);
        }
    }

    #[test]
    fn the_spectra_decay_as_their_names_say() {
        let of = |index: usize| {
            let eigenvalues = SPECTRA[index].eigenvalues(&Settings { quick: false, ..settings() }).unwrap();
            decay(&eigenvalues, FLOOR, eigenvalues.len()).unwrap()
        };
        assert_eq!(of(0), Decay::FiniteRank(8));
        assert!(matches!(of(1), Decay::Exponential(_)));
        for (index, exponent) in [(2, 4.0), (3, 2.0)] {
            let Decay::Polynomial(fit) = of(index) else { panic!("{:?}", of(index)) };
            assert!((fit.exponent - exponent).abs() < 0.3, "{fit:?}");
        }
    }
}
