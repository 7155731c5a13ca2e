//! The hinge loss: its corner is rounded, and the rounding is continued towards zero with warm starts.
//!
//! αᵢ = −ℓ'(mᵢ) of the rounded hinge lies in [0, 1], and Σcᵢαᵢyᵢ = 0 once the intercepts are
//! settled, so α is a feasible point of the dual of the true hinge,
//! D(α) = (1/C)Σcᵢαᵢ − ‖(1/C)Σcᵢαᵢyᵢψᵢ‖²/(4λ) ≤ min F, and F − D bounds the distance to the optimum. At the
//! minimum of a hinge rounded over `width` the gap is at most width/4 times the share of rows inside.

use super::ClassifierError;
use super::loss::{SmoothLoss, sign};
use super::newton::{Limits, minimise, settle_intercepts};
use super::objective::{Evaluation, Objective};
use super::rows::FeatureBlocks;
use crate::linalg::Real;
use ndarray::Array2;

/// At zero weights every row is on the parabola, so that the first Newton step is a least-squares fit.
const FIRST_WIDTH: f64 = 2.0;

/// Below this width rounding errors of the decision values decide which rows are inside.
const LAST_WIDTH: f64 = 1e-9;

/// The hinge's own objective at a point, with its certificate.
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
    pub(super) evaluation: Evaluation,
    pub(super) steps: usize,
    pub(super) converged: bool,
}

/// Minimises the hinge objective to a duality gap, moving `parameters`.
pub(super) fn minimise_hinge<T: Real, B: FeatureBlocks<T>>(
    objective: &mut Objective<T, B>,
    parameters: &mut Array2<f64>,
    limits: &Limits,
) -> Result<HingeMinimum, ClassifierError<B::Error>> {
    let k = parameters.ncols();
    let mut open = vec![true; k];
    let mut found: Vec<PrimalDual> = (0..k).map(|_| PrimalDual { primal: f64::INFINITY, gap: f64::INFINITY }).collect();
    let (mut width, mut accuracy, mut steps) = (FIRST_WIDTH, 0.01, 0);
    loop {
        objective.loss = SmoothLoss::RoundedHinge { width };
        let stage = Limits { relative: 0.0, absolute: accuracy, ..*limits };
        let minimum = minimise(objective, parameters, &mut None, &stage, &open)?;
        steps += minimum.steps;
        for (j, point) in certify(objective, parameters, &minimum.evaluation, width).into_iter().enumerate() {
            if open[j] {
                open[j] = point.gap > limits.accuracy(point.primal);
                found[j] = point;
            }
        }
        let converged = !open.contains(&true);
        if converged || width < LAST_WIDTH || objective.passes() >= limits.pass_limit {
            return Ok(HingeMinimum {
                objectives: found.iter().map(|point| point.primal).collect(),
                gaps: found.iter().map(|point| point.gap).collect(),
                evaluation: minimum.evaluation,
                steps,
                converged,
            });
        }
        let shrink = shrinking(&found, &open, limits);
        width *= shrink;
        let worst = found.iter().zip(&open).filter(|(_, open)| **open).map(|(point, _)| point.gap).fold(0.0, f64::max);
        accuracy = 0.05 * shrink * worst;
        objective.loss = SmoothLoss::RoundedHinge { width };
        settle_intercepts(objective, parameters, &minimum.evaluation.decisions, &open);
    }
}

/// How much narrower the next rounding is: the gap falls at least in proportion, so no further than
/// what is wanted, and in steps that keep the warm start near.
fn shrinking(found: &[PrimalDual], open: &[bool], limits: &Limits) -> f64 {
    let missing = found.iter().zip(open).filter(|(_, open)| **open);
    let needed = missing.map(|(point, _)| limits.accuracy(point.primal) / point.gap).fold(1.0, f64::min);
    (0.5 * needed).clamp(0.1, 0.5)
}

/// Primal value and duality gap of the true hinge, per column.
fn certify<T: Real, B: FeatureBlocks<T>>(
    objective: &Objective<T, B>,
    parameters: &Array2<f64>,
    at: &Evaluation,
    width: f64,
) -> Vec<PrimalDual> {
    let (rows, k, ridge) = (objective.rows, parameters.ncols(), objective.ridge);
    let (mut losses, mut duals) = (vec![0.0; k], vec![0.0; k]);
    for ((decisions, &class), &weight) in at.decisions.rows().into_iter().zip(rows.classes).zip(rows.weights) {
        for (j, decision) in decisions.iter().enumerate() {
            let short = (1.0 - sign(class, j, k) * decision).max(0.0);
            losses[j] += weight * short;
            duals[j] += weight * (short / width).min(1.0);
        }
    }
    let weights = objective.penalised(parameters);
    let combination = objective.penalised(&at.gradient) - &weights * (2.0 * ridge); // −(1/C)Σ cαyψ
    let (penalties, squares) = (objective.dots(&weights, &weights), objective.dots(&combination, &combination));
    (0..k)
        .map(|j| {
            let primal = losses[j] / objective.total_weight() + ridge * penalties[j];
            let dual = duals[j] / objective.total_weight() - squares[j] / (4.0 * ridge);
            PrimalDual { primal, gap: (primal - dual).max(0.0) }
        })
        .collect()
}
