//! Truncated Newton for the smooth losses.
//!
//! Each step solves H·d = −g by preconditioned conjugate gradients no more exactly than it is worth,
//! and a line search on cached decision values. The preconditioner is made of the Hessian's own mean
//! curvature at the start, and again when solves become long because the curvature has moved.

use super::ClassifierError;
use super::class_rows::FeatureBlocks;
use super::conjugate_gradients::{Stop, add_scaled, newton_step};
use super::line_search::Line;
use super::objective::{Evaluation, Objective};
use super::preconditioner::GramPreconditioner;
use crate::linalg::Real;
use ndarray::{Array2, s};

/// Slope left by a line search, relative to the slope at its start.
const LINE_SHARE: f64 = 0.2;

/// Slope left by the search for the intercepts: close to zero, so that the dual point is feasible.
const INTERCEPT_SHARE: f64 = 1e-9;

/// Largest rᵀM⁻¹r that a solve leaves, relative to the start.
const LOOSEST_SOLVE: f64 = 0.1;

/// After a solve longer than this the preconditioner is made again.
const LONG_SOLVE: usize = 20;

/// Most products in one solve.
const SOLVE_LIMIT: usize = 100;

/// Most steps: a problem that takes more is better served by the next rounding, or not at all.
const STEP_LIMIT: usize = 60;

/// Steps in a row that improve nothing before the solve ends.
const STALL_LIMIT: usize = 2;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewtonLimits {
    /// Accuracy of the objective relative to itself.
    pub(super) relative: f64,
    /// Accuracy that is always enough: separable data with a vanishing ridge would otherwise ask for
    /// ever more digits.
    pub(super) absolute: f64,
    /// Measure accuracy by the duality gap, not by the Newton decrement.
    pub(super) by_proof: bool,
    /// Passes over the rows.
    pub(super) pass_limit: usize,
    /// Rows of the preconditioner.
    pub(super) row_limit: usize,
}

impl NewtonLimits {
    /// The accuracy wanted of an objective.
    pub(super) fn accuracy(&self, objective: f64) -> f64 {
        (self.relative * objective).max(self.absolute)
    }
}

/// Where Newton's method ended.
pub(super) struct Minimum {
    pub(super) evaluation: Evaluation,
    /// Per problem a bound or an estimate of F − min F, as [`NewtonLimits::by_proof`] says; the estimate
    /// is half the squared Newton decrement before the last step.
    pub(super) errors: Vec<f64>,
    pub(super) steps: usize,
    pub(super) converged: bool,
}

/// Minimises the objective of the problems that are `open`, moving `parameters`. `preconditioner` is
/// kept for the next call.
pub(super) fn minimise<T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    parameters: &mut Array2<f64>,
    preconditioner: &mut Option<GramPreconditioner<T>>,
    limits: &NewtonLimits,
    open: &[bool],
) -> Result<Minimum, ClassifierError<B::Error>> {
    let k = parameters.ncols();
    let mut at = objective.evaluate(parameters)?;
    let mut open = open.to_vec();
    let mut errors = vec![f64::INFINITY; k];
    let mut relative = LOOSEST_SOLVE;
    let (mut steps, mut stalls) = (0, 0);
    let mut stale = preconditioner.is_none();
    while open.contains(&true) && steps < STEP_LIMIT && objective.passes() < limits.pass_limit {
        if stale {
            *preconditioner = Some(GramPreconditioner::new(objective, &at, limits.row_limit)?);
        }
        let Some(preconditioner) = preconditioner else { unreachable!("made above") };
        let wanted: Vec<f64> = at.objectives.iter().map(|value| limits.accuracy(*value)).collect();
        let stop = Stop {
            relative,
            gains: wanted.iter().map(|wanted| 0.1 * wanted).collect(),
            by_proof: limits.by_proof,
            iteration_limit: SOLVE_LIMIT.min(limits.pass_limit.saturating_sub(objective.passes())),
        };
        let step = newton_step(objective, preconditioner, &at, &open, &stop)?;
        stale = step.iterations > LONG_SOLVE;

        let lengths =
            line(objective, parameters, &at, &step.direction, &step.change).step_lengths(objective, LINE_SHARE, &open);
        add_scaled(parameters, &step.direction, &lengths);
        if !objective.loss.couples_columns() {
            let mut decisions = at.decisions.clone();
            add_scaled(&mut decisions, &step.change, &lengths);
            settle_intercepts(objective, parameters, &decisions, &open);
        }
        let next = objective.evaluate(parameters)?;
        steps += 1;

        // The decrement of a solve that was cut short says little about how far the minimum is.
        let cut_short = !limits.by_proof && step.iterations >= stop.iteration_limit;
        let found = if limits.by_proof { objective.gaps(&next.gradient) } else { step.decrements };
        let mut improved = false;
        for j in 0..k {
            if open[j] {
                errors[j] = found[j];
                open[j] = errors[j] > wanted[j] || cut_short;
                improved |= next.objectives[j] < at.objectives[j];
            }
        }
        stalls = if improved { 0 } else { stalls + 1 };
        relative = forcing(relative, &at, &next);
        at = next;
        if stalls == STALL_LIMIT {
            break; // rounding is all that is left
        }
    }
    Ok(Minimum { evaluation: at, converged: !open.contains(&true), errors, steps })
}

/// The next solve's tolerance by how far this step brought the gradient down: a solve need be no
/// better than the quadratic model it is made for (Eisenstat & Walker 1996, choice 2).
fn forcing(last: f64, before: &Evaluation, after: &Evaluation) -> f64 {
    let square = |gradient: &Array2<f64>| gradient.iter().map(|value| value * value).sum::<f64>();
    let ratio = square(&after.gradient) / square(&before.gradient).max(f64::MIN_POSITIVE);
    let quadratic = 0.9 * ratio * ratio;
    let guarded = if last > 0.1 { quadratic.max(last * last) } else { quadratic };
    guarded.clamp(1e-8, LOOSEST_SOLVE)
}

fn line<'a, T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    parameters: &Array2<f64>,
    at: &'a Evaluation,
    direction: &Array2<f64>,
    change: &'a Array2<f64>,
) -> Line<'a> {
    let penalised = objective.penalised(direction);
    let twice_ridge = |dots: Vec<f64>| dots.iter().map(|dot| 2.0 * objective.ridge * dot).collect();
    Line {
        decisions: &at.decisions,
        change,
        penalty_slopes: twice_ridge(objective.dots(&penalised, parameters)),
        penalty_curvatures: twice_ridge(objective.dots(&penalised, direction)),
    }
}

/// Minimises a margin loss over the intercepts of the `open` columns alone, given the decision values. Then Σcᵢαᵢyᵢ = 0 for
/// αᵢ = −ℓ'(mᵢ): the slopes are a feasible point of the dual.
pub(super) fn settle_intercepts<T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    parameters: &mut Array2<f64>,
    decisions: &Array2<f64>,
    open: &[bool],
) {
    let k = parameters.ncols();
    let ones = Array2::ones(decisions.dim());
    let towards: Vec<f64> =
        objective.along(decisions, &ones, &vec![0.0; k]).iter().map(|[slope, _]| -slope.signum()).collect();
    let mut change = ones;
    change.rows_mut().into_iter().for_each(|mut row| row.iter_mut().zip(&towards).for_each(|(one, sign)| *one *= sign));
    let line = Line { decisions, change: &change, penalty_slopes: vec![0.0; k], penalty_curvatures: vec![0.0; k] };
    let lengths = line.step_lengths(objective, INTERCEPT_SHARE, open);
    let mut intercepts = parameters.slice_mut(s![objective.feature_count(), ..]);
    for ((intercept, length), sign) in intercepts.iter_mut().zip(lengths).zip(towards) {
        *intercept += sign * length;
    }
}
