//! (1/C)Σ cᵢ ℓ(yᵢ, f(xᵢ)) + λ‖W‖² at a point, with its gradient and its Hessian as an operator.

use super::class_rows::{ClassRows, FeatureBlocks};
use super::loss::{LineSums, SmoothLoss};
use super::sweep::{RowWork, Swept, sweep};
use crate::linalg::Real;
use crate::solver::{Interrupted, in_order};
use ndarray::{Array1, Array2, Axis, s};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows whose decision values are worked on together.
const DECISION_ROWS: usize = 2048;

/// The problem; parameters are (s+1)×k, weights above intercepts.
pub(super) struct Objective<'a, T, B> {
    pub(super) blocks: &'a B,
    pub(super) rows: ClassRows<'a>,
    pub(super) loss: SmoothLoss,
    /// λ.
    pub(super) ridge: f64,
    pub(super) threads: usize,
    /// C.
    total_weight: f64,
    passes: AtomicUsize,
    precision: PhantomData<T>,
}

/// The objective at one point.
pub(super) struct Evaluation {
    /// Objective of each problem: of each column, or of all together if they are coupled (then
    /// repeated in every column).
    pub(super) objectives: Vec<f64>,
    /// ∇, (s+1)×k.
    pub(super) gradient: Array2<f64>,
    /// f(xᵢ), n×k.
    pub(super) decisions: Array2<f64>,
    /// ∂²ℓ of every row, as [`SmoothLoss::bend`] takes it, n×k.
    pub(super) curvatures: Array2<f64>,
}

/// The Hessian times a direction.
pub(super) struct Bent {
    /// ∇²·direction, (s+1)×k.
    pub(super) product: Array2<f64>,
    /// Ψ·direction, n×k.
    pub(super) change: Array2<f64>,
}

impl<'a, T: Real, B: FeatureBlocks<T>> Objective<'a, T, B> {
    pub(super) fn new(blocks: &'a B, rows: ClassRows<'a>, loss: SmoothLoss, ridge: f64, threads: usize) -> Self {
        let total_weight = rows.total_weight();
        Self { blocks, rows, loss, ridge, threads, total_weight, passes: AtomicUsize::new(0), precision: PhantomData }
    }

    pub(super) fn feature_count(&self) -> usize {
        self.blocks.feature_count()
    }

    pub(super) fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// Passes over the rows so far.
    pub(super) fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// Counts a pass made elsewhere.
    pub(super) fn count_pass(&self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
    }

    fn sweep(&self, at: &Array2<f64>, work: impl Fn(RowWork) + Sync) -> Result<Swept, Interrupted<B::Error>> {
        self.count_pass();
        sweep(self.blocks, self.threads, self.rows.row_count(), at, work)
    }

    /// Value, gradient, decision values and curvatures in one pass.
    pub(super) fn evaluate(&self, parameters: &Array2<f64>) -> Result<Evaluation, Interrupted<B::Error>> {
        let (loss, rows) = (self.loss, self.rows);
        let swept = self.sweep(parameters, |RowWork { row, forward, back, kept, sums }| {
            loss.evaluate(forward, rows.classes[row], rows.weights[row], sums, back, kept);
        })?;
        let penalties = self.dots(&self.penalised(parameters), parameters);
        let values = self.couple(swept.sums);
        let mean = |(value, penalty): (f64, f64)| value / self.total_weight + self.ridge * penalty;
        Ok(Evaluation {
            objectives: values.into_iter().zip(penalties).map(mean).collect(),
            gradient: swept.back / self.total_weight + self.penalised(parameters) * (2.0 * self.ridge),
            decisions: swept.forward,
            curvatures: swept.kept,
        })
    }

    /// (∇² + damping of the intercepts)·`direction`, and the change Ψ·`direction` of the decision values, in one pass.
    pub(super) fn bend(&self, at: &Evaluation, direction: &Array2<f64>) -> Result<Bent, Interrupted<B::Error>> {
        let (loss, rows) = (self.loss, self.rows);
        let swept = self.sweep(direction, |RowWork { row, forward, back, .. }| {
            back.copy_from_slice(forward);
            let curvatures = at.curvatures.row(row).to_slice().expect("a row is contiguous");
            loss.bend(curvatures, rows.weights[row], back);
        })?;
        let mut bent = swept.back / self.total_weight + self.penalised(direction) * (2.0 * self.ridge);
        let last = self.feature_count();
        for (j, damping) in self.intercept_damping(at).into_iter().enumerate() {
            bent[[last, j]] += damping * direction[[last, j]];
        }
        Ok(Bent { product: bent, change: swept.forward })
    }

    /// What is added to the curvature of the intercepts, which nothing penalises and which may have
    /// none of their own: enough to keep a step within a few units, vanishing at the optimum.
    pub(super) fn intercept_damping(&self, at: &Evaluation) -> Vec<f64> {
        at.gradient.row(self.feature_count()).iter().map(|slope| 0.1 * slope.abs() + 1e-9).collect()
    }

    /// First and second derivative in t of the mean loss at `decisions` + t·`change`, per problem and
    /// without a pass over the features; `steps` holds each problem's t.
    pub(super) fn along(&self, decisions: &Array2<f64>, change: &Array2<f64>, steps: &[f64]) -> Vec<[f64; 2]> {
        let (loss, rows, k) = (self.loss, self.rows, steps.len());
        let range = |chunk: usize| chunk * DECISION_ROWS..((chunk + 1) * DECISION_ROWS).min(rows.row_count());
        let sums = in_order(
            self.threads,
            rows.row_count().div_ceil(DECISION_ROWS),
            || (vec![0.0; k], LineSums::new(k)),
            |chunk, (moved, sums)| -> Result<(), Infallible> {
                *sums = LineSums::new(k);
                for row in range(chunk) {
                    let change = change.row(row).to_slice().expect("a row is contiguous");
                    let steps = change.iter().zip(steps).zip(decisions.row(row));
                    for (moved, ((change, step), decision)) in moved.iter_mut().zip(steps) {
                        *moved = decision + step * change;
                    }
                    loss.along(moved, change, rows.classes[row], rows.weights[row], sums);
                }
                Ok(())
            },
            LineSums::new(k),
            |_, (_, sums), total| {
                total.add(sums);
                Ok(())
            },
        );
        let Ok(LineSums { slopes, curvatures, .. }) = sums else { unreachable!("arithmetic on rows does not fail") };
        let derivatives = self.couple(slopes).into_iter().zip(self.couple(curvatures));
        derivatives.map(|(slope, bend)| [slope / self.total_weight, bend / self.total_weight]).collect()
    }

    /// Inner products per problem: column by column, or the Frobenius product repeated if coupled.
    pub(super) fn dots(&self, left: &Array2<f64>, right: &Array2<f64>) -> Vec<f64> {
        let mut dots = Array1::zeros(left.ncols());
        for (left, right) in left.rows().into_iter().zip(right.rows()) {
            for ((dot, left), right) in dots.iter_mut().zip(left).zip(right) {
                *dot += left * right;
            }
        }
        self.couple(dots.to_vec())
    }

    fn couple(&self, per_column: Vec<f64>) -> Vec<f64> {
        if self.loss.couples_columns() { vec![per_column.iter().sum(); per_column.len()] } else { per_column }
    }

    /// The parameters that are penalised: intercepts set to zero.
    pub(super) fn penalised(&self, parameters: &Array2<f64>) -> Array2<f64> {
        let mut weights = parameters.clone();
        weights.slice_mut(s![self.feature_count().., ..]).fill(0.0);
        weights
    }

    /// ‖∇_W‖²/(4λ) per problem: with the intercepts settled, the duality gap at the dual point
    /// αᵢ = −ℓ'(mᵢ), because Fenchel's inequality is an equality at every row and what is left is
    /// λ‖W − W(α)‖².
    pub(super) fn gaps(&self, gradient: &Array2<f64>) -> Vec<f64> {
        let gradient = self.penalised(gradient);
        self.dots(&gradient, &gradient).iter().map(|square| square / (4.0 * self.ridge)).collect()
    }

    /// The curvature of each row as one number, weight included.
    pub(super) fn row_curvatures(&self, at: &Evaluation) -> Vec<f64> {
        let curvatures = at.curvatures.axis_iter(Axis(0)).zip(self.rows.weights);
        curvatures
            .map(|(row, &weight)| self.loss.mean_curvature(row.to_slice().expect("a row is contiguous"), weight))
            .collect()
    }
}
