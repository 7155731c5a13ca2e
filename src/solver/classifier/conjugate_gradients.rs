//! The Newton step by preconditioned conjugate gradients, all problems in lockstep.
//!
//!   d ← 0, r ← −g, z ← M⁻¹r, p ← z
//!   repeat  α ← rᵀz/pᵀHp, d ← d + αp, r ← r − αHp, z ← M⁻¹r, β ← rᵀz/(rᵀz before), p ← z + βp
//!
//! Scalars are per problem, so that one product with k columns serves k problems. Ψd follows from the
//! same recurrence as d: the line search needs no pass over the features.

use super::class_rows::FeatureBlocks;
use super::objective::{Evaluation, Objective};
use super::preconditioner::GramPreconditioner;
use crate::linalg::Real;
use crate::solver::Interrupted;
use ndarray::Array2;

/// When to stop, per problem: at the larger of the two.
pub(super) struct Stop {
    /// rᵀM⁻¹r relative to that of the first residual.
    pub(super) relative: f64,
    /// What a longer solve could still gain: ½rᵀM⁻¹r by estimate, or ‖r‖²/(4λ) by proof.
    pub(super) gains: Vec<f64>,
    pub(super) by_proof: bool,
    pub(super) iteration_limit: usize,
}

/// An approximate Newton step.
pub(super) struct Step {
    /// d, (s+1)×k; zero for problems that were not asked for.
    pub(super) direction: Array2<f64>,
    /// Ψd, n×k.
    pub(super) change: Array2<f64>,
    /// ½|gᵀd| per problem, the decrease that the quadratic model promises.
    pub(super) decrements: Vec<f64>,
    pub(super) iterations: usize,
}

/// Approximates −H⁻¹g for the problems that are `open`.
pub(super) fn newton_step<T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    preconditioner: &GramPreconditioner<T>,
    at: &Evaluation,
    open: &[bool],
    stop: &Stop,
) -> Result<Step, Interrupted<B::Error>> {
    let mut open = open.to_vec();
    let mut direction = Array2::zeros(at.gradient.dim());
    let mut change = Array2::zeros(at.decisions.dim());
    let mut residual = -&at.gradient;
    keep_columns(&mut residual, &open);
    let mut preconditioned = preconditioner.apply(&residual);
    let mut squares = objective.dots(&residual, &preconditioned);
    let first = squares.clone();
    let mut search = preconditioned;
    let mut iterations = 0;
    while iterations < stop.iteration_limit && open.contains(&true) {
        let bent = objective.bend(at, &search)?;
        let curvatures = objective.dots(&search, &bent.product);
        let lengths: Vec<f64> = (0..open.len())
            .map(|j| if open[j] && curvatures[j] > 0.0 { squares[j] / curvatures[j] } else { 0.0 })
            .collect();
        add_scaled(&mut direction, &search, &lengths);
        add_scaled(&mut change, &bent.change, &lengths);
        add_scaled(&mut residual, &bent.product, &lengths.iter().map(|length| -length).collect::<Vec<_>>());
        preconditioned = preconditioner.apply(&residual);
        let next = objective.dots(&residual, &preconditioned);
        let ratios: Vec<f64> =
            next.iter().zip(&squares).map(|(next, last)| next / last.max(f64::MIN_POSITIVE)).collect();
        let gains =
            if stop.by_proof { objective.gaps(&residual) } else { next.iter().map(|next| next / 2.0).collect() };
        for j in 0..open.len() {
            let solved = next[j] <= stop.relative * first[j] || gains[j] <= stop.gains[j];
            open[j] &= lengths[j] > 0.0 && !solved;
        }
        search.rows_mut().into_iter().for_each(|mut row| row.iter_mut().zip(&ratios).for_each(|(p, beta)| *p *= beta));
        search += &preconditioned;
        keep_columns(&mut search, &open);
        squares = next;
        iterations += 1;
    }
    let decrements = objective.dots(&at.gradient, &direction).iter().map(|slope| slope.abs() / 2.0).collect();
    Ok(Step { direction, change, decrements, iterations })
}

/// `target` += `addend`·diag(`factors`).
pub(super) fn add_scaled(target: &mut Array2<f64>, addend: &Array2<f64>, factors: &[f64]) {
    for (mut target, addend) in target.rows_mut().into_iter().zip(addend.rows()) {
        for ((target, addend), factor) in target.iter_mut().zip(addend).zip(factors) {
            *target += factor * addend;
        }
    }
}

/// Sets the columns of closed problems to zero.
fn keep_columns(matrix: &mut Array2<f64>, open: &[bool]) {
    for (mut column, _) in matrix.columns_mut().into_iter().zip(open).filter(|(_, open)| !**open) {
        column.fill(0.0);
    }
}
