//! Scores by ridge leverage: q̂ ∝ diag of G(G + λI)⁻¹, with G the Gram matrix of the pool over the rows.
//!
//! A pool too large for one Gram matrix is scored in groups. M·Q_jj of a draw estimates its leverage under the kernel
//! whatever the size M of the pool it stands in, so the scores of a group are multiplied by its size.

use super::{Chosen, Pool, check_scores};
use crate::dataset::Part;
use crate::features::{DrawScales, Precision, Sampling, draw_by_score, kernel_deviation, largest_scores};
use crate::solver::{Leverage, SolveError, ridge_leverages};
use crate::theory::PoolEvidence;
use crate::theory::spectrum::ridges_around;
use crate::training::rows::gram_pass::Summed;
use crate::training::stage::TrainError;
use ndarray::{Array1, Array2};

/// Columns up to which the spectrum of a pool is kept, and up to which its leverages at several λ are: as for the
/// features of a model, they take longer than the choice beyond.
const SPECTRUM_COLUMNS: usize = 1_024;
const LEVERAGE_COLUMNS: usize = 512;

/// Rows whose pairs the variance of the kernel estimate is averaged over.
const DEVIATION_ROWS: usize = 500;

/// Share of the sums over rows in the work on a group.
const SUMMING: f64 = 0.7;

/// What the groups of a pool tell.
struct Scored {
    /// M₀·Q_jj of every candidate.
    scores: Vec<f64>,
    /// Degrees of freedom at λ of the scores, and at 1/n.
    degrees: [f64; 2],
    spectrum: Vec<f64>,
    leverages: Vec<(f64, f64)>,
}

/// Draws by leverage, or keeps the largest.
pub(super) fn choose(pool: &Pool) -> Result<Chosen, TrainError> {
    let lambda = score_lambda(pool);
    let n = pool.training_rows();
    let scored = score(pool, lambda, 1.0 / n as f64)?;
    check_scores(&scored.scores, pool.name())?;
    let (draws, scales) = match pool.spec.sampling {
        Sampling::Elss2 => (largest_scores(&scored.scores, pool.wanted()), None),
        Sampling::Plain
        | Sampling::Orthogonal
        | Sampling::Structured
        | Sampling::QuasiMonteCarlo
        | Sampling::Leverage
        | Sampling::Elss1
        | Sampling::Eerf
        | Sampling::Lkrf
        | Sampling::PooledRidge
        | Sampling::Capped => by_chance(&scored.scores, pool.spec.seed, pool.wanted()),
    };
    let mut chosen = pool.keep(&scored.scores, &draws, scales, Some(lambda));
    if let Some(selection) = &mut chosen.selection {
        selection.degrees.push((lambda, scored.degrees[0]));
        if lambda != 1.0 / n as f64 {
            selection.degrees.push((1.0 / n as f64, scored.degrees[1]));
        }
    }
    let largest = scored.scores.iter().copied().fold(0.0, f64::max);
    chosen.pool = Some(PoolEvidence {
        candidate_count: pool.map.draw_count(),
        row_count: pool.row_count(),
        spectrum: scored.spectrum,
        kernel_deviation: deviation(pool)?,
        largest_leverages: if scored.leverages.is_empty() { vec![(lambda, largest)] } else { scored.leverages },
    });
    Ok(chosen)
}

/// √ of the mean variance of the pool's kernel estimate over pairs of training rows.
fn deviation(pool: &Pool) -> Result<Option<f64>, TrainError> {
    let run = pool.rows.run;
    let (inputs, _) = run.collect(&run.sample(DEVIATION_ROWS), pool.rows.inputs, Part::Training)?;
    Ok(kernel_deviation(pool.map.kernel, pool.map.kind, pool.map.draw_count(), inputs.view()))
}

/// λ of the scores: as given; else that of the model for `leverage` if the spec fixes it; else 1/n, as S has it.
fn score_lambda(pool: &Pool) -> f64 {
    let n = pool.training_rows();
    let by_rows = 1.0 / n.max(pool.row_count()) as f64;
    let of_model = || pool.spec.resolve_lambda(n).filter(|_| pool.spec.sampling == Sampling::Leverage);
    pool.spec.pool.lambda.or_else(of_model).unwrap_or(by_rows)
}

/// s draws with replacement by q̂, each with the factor 1/√(M₀q̂), which keeps the kernel of the pool.
fn by_chance(scores: &[f64], seed: u64, wanted: usize) -> (Vec<usize>, Option<DrawScales>) {
    let draws = draw_by_score(scores, seed, wanted);
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let factor = |score: f64| (mean / score).sqrt();
    // A candidate without a score is never drawn.
    let smallest = scores.iter().copied().filter(|score| *score > 0.0).fold(f64::INFINITY, f64::min);
    let factors = draws.iter().map(|&draw| factor(scores[draw])).collect();
    (draws, Some(DrawScales { factors, largest: factor(smallest) }))
}

fn score(pool: &Pool, lambda: f64, inverse_rows: f64) -> Result<Scored, TrainError> {
    let (groups, total) = (pool.groups(), pool.map.draw_count() as f64);
    let precision = Precision::for_ridge(lambda.min(inverse_rows), pool.map.bound());
    let mut found = Scored {
        scores: Vec::with_capacity(pool.map.draw_count()),
        degrees: [0.0; 2],
        spectrum: Vec::new(),
        leverages: Vec::new(),
    };
    for (index, draws) in groups.iter().enumerate() {
        let map = pool.group_map(draws);
        let run = pool.rows.run;
        let tick = |done: f64| pool.tick(index, groups.len(), SUMMING * done);
        let gram = run.gram(&pool.selection, Summed::Inputs(pool.parts), pool.rows.inputs, (&map, precision), tick)?;
        if gram.weight() <= 0.0 || gram.weight().is_nan() {
            return Err(TrainError::Data("no row with a weight above 0 scores the pool; use more pool_rows".into()));
        }
        let equations = gram.into_normal_equations();
        if groups.len() == 1 {
            describe(&equations, lambda, draws.len(), &mut found)?;
        }
        let work = |gram: Array2<f64>, ridge: f64, from: f64, to: f64| -> Result<Array1<f64>, TrainError> {
            let go_on = |done: f64| pool.go_on(index, groups.len(), from + (to - from) * done);
            let leverages = ridge_leverages(gram, ridge, draws.len(), run.threads, go_on).map_err(SolveError::from)?;
            leverages.ok_or(TrainError::Stopped)
        };
        // The mean of the degrees over groups of nearly one size estimates those of the pool.
        let share = draws.len() as f64 / total;
        if lambda == inverse_rows || !found.spectrum.is_empty() {
            found.degrees[1] += share * found.spectrum.iter().map(|mu| mu / (mu + inverse_rows)).sum::<f64>();
        } else {
            let leverages = work(equations.gram.clone(), inverse_rows, SUMMING, f64::midpoint(SUMMING, 1.0))?;
            found.degrees[1] += share * leverages.sum();
        }
        let leverages = work(equations.gram, lambda, f64::midpoint(SUMMING, 1.0), 1.0)?;
        found.degrees[0] += share * leverages.sum();
        found.scores.extend(leverages.iter().map(|leverage| leverage * draws.len() as f64));
    }
    if lambda == inverse_rows {
        found.degrees[1] = found.degrees[0];
    }
    Ok(found)
}

/// The spectrum of a pool and its largest leverages, as far as they are cheap enough.
fn describe(
    equations: &crate::solver::NormalEquations,
    lambda: f64,
    draw_count: usize,
    found: &mut Scored,
) -> Result<(), TrainError> {
    let columns = equations.mean_feature.len();
    if columns <= LEVERAGE_COLUMNS {
        let leverage = Leverage::new(equations).map_err(SolveError::from)?;
        found.spectrum = leverage.spectrum();
        let at = |ridge: f64| (ridge, leverage.largest(ridge, draw_count));
        found.leverages = ridges_around(lambda).into_iter().map(at).collect();
    } else if columns <= SPECTRUM_COLUMNS {
        found.spectrum = equations.spectrum().map_err(SolveError::from)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{FeatureMap, Kernel, MapKind};
    use ndarray::array;

    /// ψ(x)ᵀψ(x') of 40 draws from a pool of 60, over 4,000 choices, against that of the whole pool: the factors make up
    /// for uneven scores.
    #[test]
    fn the_kernel_estimate_is_unbiased_for_that_of_the_pool() {
        const CHOICES: u32 = 4_000;
        for kind in [MapKind::Phase, MapKind::Pair] {
            let columns = 60 * kind.columns_per_draw();
            let pool = FeatureMap::sample(Kernel::Gaussian { bandwidth: 1.0 }, kind, Sampling::Plain, 3, columns, 2);
            let scores: Vec<f64> = (0..60).map(|j| 0.1 + (f64::from(j) * 0.7).sin().abs()).collect();
            let points = array![[0.2, -0.4], [0.9, 0.3]];
            let estimate = |map: &FeatureMap| {
                let features = map.projector::<f64>().transform(points.view());
                features.row(0).dot(&features.row(1))
            };
            let (mut sum, mut squares) = (0.0, 0.0);
            for seed in 0..CHOICES {
                let (draws, scales) = by_chance(&scores, u64::from(seed), 40);
                let found = estimate(&pool.keep(&draws, scales));
                sum += found;
                squares += found * found;
            }
            let (mean, count) = (sum / f64::from(CHOICES), f64::from(CHOICES));
            let error = ((squares / count - mean * mean) / count).sqrt();
            assert!((mean - estimate(&pool)).abs() < 5.0 * error, "{kind:?}: {mean} {error} {}", estimate(&pool));
        }
    }

    #[test]
    fn the_largest_factor_is_that_of_the_smallest_score() {
        let (_, scales) = by_chance(&[1.0, 0.0, 0.25], 1, 50);
        let scales = scales.unwrap();
        assert!((scales.largest - (1.25_f64 / 3.0 / 0.25).sqrt()).abs() < 1e-15);
        assert!(scales.factors.iter().all(|factor| *factor <= scales.largest));
    }
}
