//! The hinge loss: its corner is rounded, and the rounding is continued towards zero with warm starts.
//!
//! αᵢ = −ℓ'(mᵢ) of the rounded hinge lies in [0, 1], and Σcᵢαᵢyᵢ = 0 once the intercepts are
//! settled, so α is a feasible point of the dual of the true hinge,
//! D(α) = (1/C)Σcᵢαᵢ − ‖(1/C)Σcᵢαᵢyᵢψᵢ‖²/(4λ) ≤ min F, and F − D bounds the distance to the optimum. At the
//! minimum of a hinge rounded over `width` the gap is at most width/4 times the share of rows inside.

use super::ClassifierError;
use super::class_rows::FeatureBlocks;
use super::conjugate_gradients::{Stop, add_scaled, newton_step};
use super::loss::{SmoothLoss, sign};
use super::newton::{NewtonLimits, minimise, settle_intercepts};
use super::objective::{Evaluation, Objective};
use super::preconditioner::GramPreconditioner;
use crate::linalg::Real;
use ndarray::Array2;

/// At zero weights every row is on the parabola, so that the first Newton step is a least-squares fit.
const FIRST_WIDTH: f64 = 2.0;

/// Accuracy of the first, widest fit.
const FIRST_ACCURACY: f64 = 0.01;

/// Share of the expected gap that the solve of a rounded hinge may leave.
const SOLVE_SHARE: f64 = 0.1;

/// Most products in the solve of a predicted step.
const NARROWING_LIMIT: usize = 30;

/// The best point of one column so far, by the hinge's own objective.
#[derive(Clone, Copy)]
struct PrimalDual {
    primal: f64,
    gap: f64,
}

/// Where the continuation ended.
pub(super) struct HingeMinimum {
    /// The hinge's own objective per column.
    pub(super) objectives: Vec<f64>,
    /// Duality gap per column.
    pub(super) gaps: Vec<f64>,
    /// Of the last rounding.
    pub(super) evaluation: Evaluation,
    pub(super) steps: usize,
    pub(super) converged: bool,
}

/// Minimises the hinge objective to a duality gap, moving `parameters`.
pub(super) fn minimise_hinge<T: Real, B: FeatureBlocks<T>>(
    objective: &mut Objective<T, B>,
    parameters: &mut Array2<f64>,
    limits: &NewtonLimits,
) -> Result<HingeMinimum, ClassifierError<B::Error>> {
    let k = parameters.ncols();
    let mut best = vec![PrimalDual { primal: f64::INFINITY, gap: f64::INFINITY }; k];
    let mut best_parameters = parameters.clone();
    let mut open = vec![true; k];
    let mut preconditioner = None;
    let (mut width, mut accuracy, mut steps) = (FIRST_WIDTH, FIRST_ACCURACY, 0);
    loop {
        objective.loss = SmoothLoss::RoundedHinge { width, held: width };
        let stage = NewtonLimits { relative: 0.0, absolute: accuracy, by_proof: true, ..*limits };
        let minimum = minimise(objective, parameters, &mut preconditioner, &stage, &open)?;
        steps += minimum.steps;
        let mut improved = false;
        for (j, point) in certify(objective, parameters, &minimum.evaluation, width).into_iter().enumerate() {
            if open[j] && point.gap < best[j].gap {
                best[j] = point;
                best_parameters.column_mut(j).assign(&parameters.column(j));
                open[j] = point.gap > limits.accuracy(point.primal);
                improved = true;
            }
        }
        // Where a narrower rounding improves nothing, rounding errors decide which rows are inside.
        let converged = !open.contains(&true);
        if converged || !improved || objective.passes() >= limits.pass_limit {
            parameters.assign(&best_parameters);
            return Ok(HingeMinimum {
                objectives: best.iter().map(|point| point.primal).collect(),
                gaps: best.iter().map(|point| point.gap).collect(),
                evaluation: minimum.evaluation,
                steps,
                converged,
            });
        }
        let missing: Vec<PrimalDual> =
            best.iter().zip(&open).filter(|(_, open)| **open).map(|(point, _)| *point).collect();
        let shrink = shrinking(&missing, limits);
        accuracy = SOLVE_SHARE * shrink * missing.iter().map(|point| point.gap).fold(0.0, f64::max);
        preconditioner = Some(narrow(objective, parameters, [width, width * shrink], accuracy, limits, &open)?);
        width *= shrink;
    }
}

/// Moves `parameters` from the minimum at one width to where the minimum at a narrower one would be if
/// the same rows were on the parabola: one Newton step with those rows held. Without it a narrower
/// rounding starts with next to no rows inside and takes many short steps to find them.
fn narrow<T: Real, B: FeatureBlocks<T>>(
    objective: &mut Objective<T, B>,
    parameters: &mut Array2<f64>,
    [from, to]: [f64; 2],
    accuracy: f64,
    limits: &NewtonLimits,
    open: &[bool],
) -> Result<GramPreconditioner<T>, ClassifierError<B::Error>> {
    objective.loss = SmoothLoss::RoundedHinge { width: to, held: from };
    let at = objective.evaluate(parameters)?;
    let preconditioner = GramPreconditioner::new(objective, &at, limits.row_limit)?;
    let stop =
        Stop { relative: 1e-6, gains: vec![accuracy; open.len()], by_proof: true, iteration_limit: NARROWING_LIMIT };
    let step = newton_step(objective, &preconditioner, &at, open, &stop)?;
    let whole = vec![1.0; open.len()];
    add_scaled(parameters, &step.direction, &whole);
    let mut decisions = at.decisions;
    add_scaled(&mut decisions, &step.change, &whole);
    objective.loss = SmoothLoss::RoundedHinge { width: to, held: to };
    settle_intercepts(objective, parameters, &decisions, open);
    Ok(preconditioner)
}

/// How much narrower the next rounding is: the gap falls about in proportion, so no further than what
/// is wanted, and in steps that keep the warm start near.
fn shrinking(missing: &[PrimalDual], limits: &NewtonLimits) -> f64 {
    let needed = missing.iter().map(|point| limits.accuracy(point.primal) / point.gap).fold(1.0, f64::min);
    (0.5 * needed).clamp(0.2, 0.5)
}

/// Primal value and duality gap of the true hinge, per column.
fn certify<T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    parameters: &Array2<f64>,
    at: &Evaluation,
    width: f64,
) -> Vec<PrimalDual> {
    let (rows, k, ridge) = (objective.rows, parameters.ncols(), objective.ridge);
    let (mut losses, mut duals, mut balances) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
    for ((decisions, &class), &weight) in at.decisions.rows().into_iter().zip(rows.classes).zip(rows.weights) {
        for (j, decision) in decisions.iter().enumerate() {
            let sign = sign(class, j, k);
            let short = (1.0 - sign * decision).max(0.0);
            let slope = (short / width).min(1.0);
            losses[j] += weight * short;
            duals[j] += weight * slope;
            balances[j] += weight * slope * sign;
        }
    }
    let weights = objective.penalised(parameters);
    let combination = objective.penalised(&at.gradient) - &weights * (2.0 * ridge); // −(1/C)Σ cαyψ
    let (penalties, squares) = (objective.dots(&weights, &weights), objective.dots(&combination, &combination));
    let intercepts = parameters.row(objective.feature_count());
    (0..k)
        .map(|j| {
            let primal = losses[j] / objective.total_weight() + ridge * penalties[j];
            // Σcαy is as near to 0 as the last digit of the intercept allows, divided by the width. A shift of the α inside
            // that makes it 0 moves their features' share of D too, and together that is the intercept times the rest.
            let balanced = (duals[j] - intercepts[j] * balances[j]) / objective.total_weight();
            let dual = balanced - squares[j] / (4.0 * ridge);
            PrimalDual { primal, gap: (primal - dual).max(0.0) }
        })
        .collect()
}
