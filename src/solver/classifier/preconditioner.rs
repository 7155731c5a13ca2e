//! M = (1/C)Σ hᵢ[ψᵢ;1][ψᵢ;1]ᵀ + 2λI, the Hessian of the columns' mean curvatures hᵢ, factored once
//! for all columns.
//!
//! Where rows are many the sum is estimated from a systematic sample in which a row is drawn with
//! probability πᵢ = min(1, τhᵢ) and counted hᵢ/πᵢ: flat rows are left out, and if all others fit the sum is
//! exact. A full sum would cost n·s² operations, more than the whole solve at large n.

use super::ClassifierError;
use super::class_rows::FeatureBlocks;
use super::objective::{Evaluation, Objective};
use crate::linalg::{Real, lower_factor, solve_factored};
use crate::solver::{Interrupted, in_order};
use ndarray::{Array2, Axis, s};
use std::convert::Infallible;

/// Rows of one rank-k update.
const UPDATE_ROWS: usize = 2048;

/// Attempts at a Cholesky factor, each with a hundred times the jitter of the one before.
const ATTEMPTS: i32 = 6;

/// A row of the sample: its number, and hᵢ/πᵢ.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Drawn {
    row: usize,
    weight: f64,
}

/// The factor of M, in the precision of the features: it need not be exact.
pub(super) struct GramPreconditioner<T> {
    /// L with L·Lᵀ = M.
    lower: Array2<T>,
}

impl<T: Real> GramPreconditioner<T> {
    /// From at most about `row_limit` rows, in one pass.
    pub(super) fn new<B: FeatureBlocks<T>>(
        objective: &Objective<T, B>,
        at: &Evaluation,
        row_limit: usize,
    ) -> Result<Self, ClassifierError<B::Error>> {
        let sample = systematic_sample(&objective.row_curvatures(at), row_limit);
        let rows = gather(objective, &sample)?;
        let damping = objective.intercept_damping(at);
        let damping = damping.iter().sum::<f64>() / damping.len() as f64;
        let s = objective.feature_count();
        for attempt in 0.. {
            let mut system = products(&rows, objective.threads); // (1/C)Σ h[ψ;1][ψ;1]ᵀ, lower triangle
            // Rounding makes a nearly singular matrix indefinite: as much jitter as it takes.
            let jitter =
                T::EPSILON * system.diag().iter().map(|value| value.to_f64()).sum::<f64>() * 100_f64.powi(attempt);
            let (ridge, last) = (2.0 * objective.ridge + jitter, damping + jitter);
            system.diag_mut().slice_mut(s![..s]).mapv_inplace(|value| value + T::from_f64(ridge));
            system[[s, s]] = system[[s, s]] + T::from_f64(last);
            match lower_factor(system, objective.threads) {
                Ok(lower) => return Ok(Self { lower }),
                Err(error) if attempt == ATTEMPTS => return Err(error.into()),
                Err(_) => {}
            }
        }
        unreachable!("the last attempt returns")
    }

    /// M⁻¹·`residual`, (s+1)×k.
    pub(super) fn apply(&self, residual: &Array2<f64>) -> Array2<f64> {
        let mut columns = residual.mapv(T::from_f64);
        solve_factored(&self.lower, &mut columns);
        columns.mapv(T::to_f64)
    }
}

/// About `limit` rows with probabilities ∝ `importances` capped at one, in order, by even steps along
/// the cumulated probabilities.
fn systematic_sample(importances: &[f64], limit: usize) -> Vec<Drawn> {
    let scale = inclusion_scale(importances, limit);
    let mut sample = Vec::with_capacity(limit.min(importances.len()));
    let mut reached = 0.5;
    for (row, &importance) in importances.iter().enumerate() {
        let probability = (scale * importance).min(1.0);
        reached += probability;
        // A certain row is taken whatever rounding did to the cumulated sum.
        if probability > 0.0 && (reached >= 1.0 || probability == 1.0) {
            reached = (reached - 1.0).max(0.0);
            sample.push(Drawn { row, weight: importance / probability });
        }
    }
    sample
}

/// τ with Σ min(1, τhᵢ) = `limit`, infinite if no more than `limit` rows have hᵢ > 0.
fn inclusion_scale(importances: &[f64], limit: usize) -> f64 {
    if importances.iter().filter(|importance| **importance > 0.0).count() <= limit {
        return f64::MAX;
    }
    // Each round fixes the rows that became certain; a handful of rounds settles it.
    let mut scale = 0.0;
    for _ in 0..20 {
        let certain = importances.iter().filter(|&&importance| scale * importance >= 1.0).count();
        let rest: f64 = importances.iter().filter(|&&importance| scale * importance < 1.0).sum();
        if certain >= limit || rest <= 0.0 {
            break;
        }
        scale = (limit - certain) as f64 / rest;
    }
    scale
}

/// The sampled rows √(weight/C)·[ψ, 1], in one pass.
fn gather<T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    sample: &[Drawn],
) -> Result<Array2<T>, Interrupted<B::Error>> {
    objective.count_pass();
    let (blocks, s) = (objective.blocks, objective.feature_count());
    let drawn = |block: usize| {
        let rows = blocks.rows(block);
        let from = sample.partition_point(|drawn| drawn.row < rows.start);
        from..sample.partition_point(|drawn| drawn.row < rows.end)
    };
    in_order(
        objective.threads,
        blocks.block_count(),
        || Array2::<T>::zeros((0, s + 1)),
        |block, gathered| {
            let first = blocks.rows(block).start;
            let drawn = &sample[drawn(block)];
            *gathered = Array2::zeros((drawn.len(), s + 1));
            if drawn.is_empty() {
                return Ok(());
            }
            blocks.visit(block, &mut |features| {
                for (mut target, drawn) in gathered.rows_mut().into_iter().zip(drawn) {
                    let root = T::from_f64((drawn.weight / objective.total_weight()).sqrt());
                    target
                        .slice_mut(s![..s])
                        .zip_mut_with(&features.row(drawn.row - first), |to, &from| *to = root * from);
                    target[s] = root;
                }
            })
        },
        Array2::zeros((sample.len(), s + 1)),
        |block, gathered, all| {
            all.slice_mut(s![drawn(block), ..]).assign(gathered);
            Ok(())
        },
    )
}

/// Lower triangle of RᵀR.
fn products<T: Real>(rows: &Array2<T>, threads: usize) -> Array2<T> {
    let order = rows.ncols();
    let chunks: Vec<_> = rows.axis_chunks_iter(Axis(0), UPDATE_ROWS).collect();
    let sums = in_order(
        threads,
        chunks.len(),
        || Array2::<T>::zeros((order, order)),
        |chunk, products| -> Result<(), Infallible> {
            T::rank_update(chunks[chunk].view(), products);
            Ok(())
        },
        Array2::zeros((order, order)),
        |_, products, sums: &mut Array2<T>| {
            sums.zip_mut_with(products, |sum, &value| *sum = *sum + value);
            Ok(())
        },
    );
    let Ok(sums) = sums else { unreachable!("arithmetic does not fail") };
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_curvature_are_all_taken_when_they_fit() {
        let sample = systematic_sample(&[0.0, 2.0, 0.0, 0.5, 1e-9], 3);
        let expected = [(1, 2.0), (3, 0.5), (4, 1e-9)].map(|(row, weight)| Drawn { row, weight });
        assert_eq!(sample, expected);
    }

    #[test]
    fn equal_rows_are_taken_at_even_steps_and_keep_their_sum() {
        let sample = systematic_sample(&[0.25; 1000], 100);
        assert_eq!(sample.len(), 100);
        assert!(sample.windows(2).all(|pair| pair[1].row - pair[0].row == 10));
        assert!((sample.iter().map(|drawn| drawn.weight).sum::<f64>() - 250.0).abs() < 1e-9);
    }

    #[test]
    fn heavy_rows_are_certain_and_the_sum_is_estimated_without_bias() {
        let importances: Vec<f64> =
            (0..1000).map(|i| if i % 100 == 0 { 50.0 } else { f64::from(i % 7) / 7.0 }).collect();
        let sample = systematic_sample(&importances, 200);
        assert!((190..=210).contains(&sample.len()));
        for row in (0..1000).step_by(100) {
            assert!(sample.contains(&Drawn { row, weight: 50.0 }));
        }
        let (estimate, exact): (f64, f64) = (sample.iter().map(|drawn| drawn.weight).sum(), importances.iter().sum());
        assert!((estimate / exact - 1.0).abs() < 0.02, "{estimate} {exact}");
    }
}
