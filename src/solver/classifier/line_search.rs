//! The step length along a direction, from the cached decision values alone.
//!
//! φ(t) = F(W + tD) is convex, so its minimiser is where φ' changes sign. Slopes stay accurate near the
//! optimum where differences of values are rounding, so only slopes are used.

use super::class_rows::FeatureBlocks;
use super::objective::Objective;
use crate::linalg::Real;
use ndarray::Array2;

/// Evaluations of φ' before the best bracket is taken as it is.
const EVALUATIONS: usize = 50;

/// A slope that is nothing but rounding, losses being of order one.
const ROUNDING: f64 = 1e-15;

/// A direction in the parameters, as the line search sees it.
pub(super) struct Line<'a> {
    /// f(xᵢ) at t = 0, n×k.
    pub(super) decisions: &'a Array2<f64>,
    /// Their change per unit of t, n×k.
    pub(super) change: &'a Array2<f64>,
    /// The penalty's slope at t = 0, 2λ⟨W, D⟩ per problem.
    pub(super) penalty_slopes: Vec<f64>,
    /// The penalty's curvature, 2λ‖D‖² per problem.
    pub(super) penalty_curvatures: Vec<f64>,
}

impl Line<'_> {
    /// For each `open` problem a t ≥ 0 with |φ'(t)| ≤ `share`·|φ'(0)|, zero where φ does not fall at 0. The
    /// first t tried is 1, the Newton step.
    pub(super) fn step_lengths<T: Real, B: FeatureBlocks<T>>(
        &self,
        objective: &Objective<T, B>,
        share: f64,
        open: &[bool],
    ) -> Vec<f64> {
        let k = self.penalty_slopes.len();
        let derivatives = |steps: &[f64]| -> Vec<[f64; 2]> {
            let losses = objective.along(self.decisions, self.change, steps);
            let penalties = self.penalty_slopes.iter().zip(&self.penalty_curvatures).zip(steps);
            let sum = |([slope, bend], ((linear, square), step)): ([f64; 2], ((&f64, &f64), &f64))| {
                [slope + linear + step * square, bend + square]
            };
            losses.into_iter().zip(penalties).map(sum).collect()
        };
        let start = derivatives(&vec![0.0; k]);
        let mut brackets = vec![Bracket { low: 0.0, high: f64::INFINITY }; k];
        let mut open: Vec<bool> = start.iter().zip(open).map(|([slope, _], open)| *open && *slope < 0.0).collect();
        let mut steps: Vec<f64> = open.iter().map(|open| if *open { 1.0 } else { 0.0 }).collect();
        for _ in 0..EVALUATIONS {
            if !open.contains(&true) {
                return steps;
            }
            for (j, [slope, curvature]) in derivatives(&steps).into_iter().enumerate() {
                if !open[j] {
                    continue;
                }
                if slope.abs() <= (share * start[j][0].abs()).max(ROUNDING) {
                    open[j] = false;
                } else {
                    steps[j] = brackets[j].narrow(steps[j], slope, curvature);
                }
            }
        }
        // φ falls on the whole of [0, low].
        (0..k).map(|j| if open[j] { brackets[j].low } else { steps[j] }).collect()
    }
}

/// The minimiser lies in [low, high].
#[derive(Clone, Copy)]
struct Bracket {
    low: f64,
    high: f64,
}

impl Bracket {
    /// Takes the slope at `step` into account; the next step is Newton's where that stays well inside,
    /// otherwise a bisection or a doubling.
    fn narrow(&mut self, step: f64, slope: f64, curvature: f64) -> f64 {
        if slope > 0.0 {
            self.high = step;
        } else {
            self.low = step;
        }
        let newton = step - slope / curvature;
        let (inside, fallback) = if self.high.is_finite() {
            let margin = 1e-3 * (self.high - self.low);
            (newton > self.low + margin && newton < self.high - margin, f64::midpoint(self.low, self.high))
        } else {
            (newton > self.low && newton <= 4.0 * step, 2.0 * step)
        };
        if inside { newton } else { fallback }
    }
}
