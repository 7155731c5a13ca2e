//! Scores that look at the targets: correlation (EERF), a kernel aligned with them (LKRF), ridge regression on the pool.

use super::{Chosen, Pool, check_scores};
use crate::features::{DrawScales, Precision, Sampling, largest_scores};
use crate::solver::{RidgePath, SolveError, aligned_weights, needed_draws, norms_of_draws};
use crate::training::fit::search::Searched;
use crate::training::rows::classes::check_total_weight;
use crate::training::spec::grids::lambda_grid;
use crate::training::stage::TrainError;

/// Share of the sums over rows in the work on a group.
const SUMMING: f64 = 0.7;

pub(super) fn choose(pool: &Pool) -> Result<Chosen, TrainError> {
    match pool.spec.sampling {
        Sampling::PooledRidge => by_ridge(pool),
        Sampling::Lkrf => {
            let scores = correlations(pool)?;
            let (draws, scales, weights) = aligned(&scores, pool.wanted());
            Ok(pool.keep(&weights, &draws, Some(scales), None))
        }
        Sampling::Eerf
        | Sampling::Plain
        | Sampling::Orthogonal
        | Sampling::Structured
        | Sampling::QuasiMonteCarlo
        | Sampling::Leverage
        | Sampling::Elss1
        | Sampling::Elss2
        | Sampling::Capped => {
            let scores = correlations(pool)?;
            Ok(pool.keep(&scores, &largest_scores(&scores, pool.wanted()), None, None))
        }
    }
}

/// |mean of (y − ȳ)φ(x)| of every candidate, φ without the amplitude of the pool; over the columns of a draw and over
/// several targets, in units of their variances, the Euclidean norm. [S, EERF]
fn correlations(pool: &Pool) -> Result<Vec<f64>, TrainError> {
    let (run, rows) = (pool.rows.run, pool.rows);
    let tick = |done: f64| pool.tick(0, 1, done);
    let products = run.mean_products(&pool.selection, rows.inputs, &pool.map, rows.coding, tick)?;
    let scores = norms_of_draws(products.view(), pool.map.draw_count());
    let root = (pool.map.draw_count() as f64).sqrt();
    let scores: Vec<f64> = scores.into_iter().map(|score| score * root).collect();
    check_scores(&scores, pool.name())?;
    Ok(scores)
}

/// The draws with the largest weights of the aligned kernel Σ qₘφₘφₘ, and factors √q that sum to as many as there are
/// draws. The ball just holds the uniform weights of any s candidates, so at least s have a weight. [S, LKRF]
fn aligned(scores: &[f64], wanted: usize) -> (Vec<usize>, DrawScales, Vec<f64>) {
    let alignments: Vec<f64> = scores.iter().map(|score| score * score).collect();
    let weights = aligned_weights(&alignments, scores.len() as f64 / wanted as f64 - 1.0);
    let draws = largest_scores(&weights, wanted);
    let kept: f64 = draws.iter().map(|&draw| weights[draw]).sum();
    let factors: Vec<f64> = draws.iter().map(|&draw| (weights[draw] * wanted as f64 / kept).sqrt()).collect();
    let largest = factors.iter().copied().fold(0.0, f64::max);
    (draws, DrawScales { factors, largest }, weights)
}

/// The draws that are left of every group, in proportion to its size, after elimination.
fn by_ridge(pool: &Pool) -> Result<Chosen, TrainError> {
    let (run, rows, groups) = (pool.rows.run, pool.rows, pool.groups());
    let given = pool.spec.pool.lambda.or_else(|| pool.spec.resolve_lambda(pool.training_rows()));
    let precision = given.map_or(Precision::Mixed, |lambda| Precision::for_ridge(lambda, pool.map.bound()));
    let precision = if pool.map.bound().is_none() { Precision::Double } else { precision };
    let (mut kept, mut scores, mut used) = (Vec::new(), vec![0.0; pool.map.draw_count()], None);
    for (index, draws) in groups.iter().enumerate() {
        let share = |end: usize| pool.wanted() * end / pool.map.draw_count();
        let wanted = share(draws.end) - share(draws.start);
        if wanted == 0 {
            continue;
        }
        let map = pool.group_map(draws);
        let tick = |done: f64| pool.tick(index, groups.len(), SUMMING * done);
        let mut gram = run.accumulate(&pool.selection, rows.inputs, (&map, precision), rows.coding, tick)?;
        check_total_weight(gram.weight(), "training")?;
        gram.centre_targets();
        let equations = gram.into_normal_equations();
        let lambda = if let Some(lambda) = given {
            lambda
        } else {
            let path = RidgePath::new(&equations, run.threads);
            Searched::by_gcv(&path, &lambda_grid(precision, pool.map.bound()))?.best().lambda
        };
        used = used.or(Some(lambda));
        let go_on = |done: f64| pool.go_on(index, groups.len(), SUMMING + (1.0 - SUMMING) * done);
        let left = needed_draws(&equations, lambda, (draws.len(), wanted), run.threads, go_on);
        let left = left.map_err(SolveError::from)?.ok_or(TrainError::Stopped)?;
        for (draw, norm) in left.draws.into_iter().zip(left.norms) {
            scores[draws.start + draw] = norm;
            kept.push(draws.start + draw);
        }
    }
    check_scores(&scores, pool.name())?;
    Ok(pool.keep(&scores, &kept, None, used))
}
