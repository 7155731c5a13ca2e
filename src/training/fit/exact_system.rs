//! The exact kernel system of the training rows, (K + nλI)α = y − c: solved for the exact learner, and next to a
//! random-feature model to measure how far that is from it.

use crate::dataset::Part;
use crate::features::{FeatureMap, Kernel, Precision, Projector};
use crate::model::InputPipeline;
use crate::solver::{self, ExactKrr, ExactProblem, ExactSolver, FeatureSource, SolveError, Watch};
use crate::theory::ours::certificate::solver_slack;
use crate::theory::{Estimate, ExactEvidence};
use crate::training::Resources;
use crate::training::rows::run::Run;
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// Residual that the exact system is solved to.
const TOLERANCE: f64 = 1e-8;

/// The largest residual that a solution next to a model may have, however far the model is from it.
const LOOSEST: f64 = 1e-4;

/// The share of the squared distance between a model and the exact method that the squared error of the solver may be.
const GAP_SHARE: f64 = 0.01;

/// Solves of one system, each to a smaller residual, while the distance that is seen asks for it.
const ATTEMPTS: usize = 4;

/// What the theorems read of a solution.
pub(crate) fn evidence_of(exact: &ExactKrr, fitted_form: Option<f64>, held_out_error: Option<f64>) -> ExactEvidence {
    ExactEvidence {
        quadratic_form: exact.quadratic_form,
        fitted_square: Some(exact.fitted_square),
        fitted_form,
        relative_residual: exact.evidence.relative_residual,
        held_out_error,
    }
}

/// The training rows as the exact method sees them.
pub(crate) struct ExactRows {
    pub(crate) inputs: Array2<f64>,
    /// y, in the units of the targets.
    pub(crate) targets: Array2<f64>,
}

impl ExactRows {
    pub(crate) fn collect(run: &Run, pipeline: &InputPipeline) -> Result<Self, TrainError> {
        let (inputs, targets) = run.collect(&run.all_rows(), pipeline, Part::Training)?;
        Ok(Self { inputs, targets })
    }
}

/// The shares of a stage's progress that the parts of an exact comparison take: preparing, solving, the dimension, the
/// form of the fit. A factor is most of the work where there is one; otherwise preparing takes little.
pub(crate) struct Shares {
    pub(crate) solve: (f64, f64),
    pub(crate) dimension: (f64, f64),
    pub(crate) fitted_form: (f64, f64),
}

impl Shares {
    pub(crate) const PREPARE: (f64, f64) = (0.0, 0.4);

    pub(crate) fn of(solver: &ExactSolver) -> Self {
        if solver.is_factored() {
            Self { solve: (0.4, 0.45), dimension: (0.45, 0.85), fitted_form: (0.85, 0.9) }
        } else {
            Self { solve: (0.0, 0.5), dimension: (0.5, 0.8), fitted_form: (0.8, 0.9) }
        }
    }
}

/// (K + nλI)α = y − c. Random features of the same kernel may precondition it.
pub(crate) struct ExactSystem<'a> {
    run: &'a Run<'a>,
    /// Whose progress the solves are part of.
    stage: Stage,
    kernel: Kernel,
    features: (usize, Projector<f32>),
    pub(crate) inputs: Array2<f64>,
    /// y − c.
    pub(crate) centred: Array2<f64>,
    lambda: f64,
    memory: u64,
}

impl<'a> ExactSystem<'a> {
    pub(crate) fn new(
        run: &'a Run<'a>,
        stage: Stage,
        map: &FeatureMap,
        rows: ExactRows,
        intercepts: &[f64],
        lambda: f64,
        resources: Resources,
    ) -> Self {
        Self {
            run,
            stage,
            kernel: map.kernel,
            features: (map.feature_count(), map.projector()),
            inputs: rows.inputs,
            centred: rows.targets - &Array1::from_iter(intercepts.iter().copied()),
            lambda,
            memory: resources.cache_bytes,
        }
    }

    /// Factors the system or builds its preconditioner. A factorisation is part of the progress of the stage.
    pub(crate) fn prepare(&self, part: (f64, f64)) -> Result<ExactSolver, TrainError> {
        let make = |inputs: ArrayView2<f64>| self.features.1.transform(inputs);
        let problem = ExactProblem {
            kernel: self.kernel,
            inputs: self.inputs.view(),
            targets: self.centred.view(),
            ridge: self.lambda,
            tolerance: TOLERANCE,
            features: Some(&FeatureSource { count: self.features.0, make: &make }),
            precision: Precision::Mixed,
            preconditioner: None,
            memory: self.memory,
            threads: self.run.threads,
            progress: None,
        };
        self.watched(part, |watch| problem.prepare(watch))
    }

    /// α. Weights of a model on the random features give a start, α = (y − f)/(nλ) at f = Ψw. An error where the solution
    /// cannot stand for the exact one.
    pub(crate) fn solve(
        &self,
        solver: &mut ExactSolver,
        weights: Option<&Array2<f64>>,
        part: (f64, f64),
    ) -> Result<ExactKrr, TrainError> {
        let iterated = weights.filter(|_| !solver.is_factored());
        let start = iterated.map(|weights| (&self.centred - &self.fitted(weights)) / self.shift());
        self.solve_to(solver, TOLERANCE, start, part)
    }

    /// α next to a model with these weights, solved until the squared slack of the solver is 1% of the squared distance to
    /// the model on the training rows, or to the usual residual. No other row has a part in where it stops: certificates
    /// take the solution for independent of the rows that they rest on. With α comes the distance, a mean over the
    /// training rows. An error where the solution cannot stand for the exact one.
    pub(crate) fn solve_next_to(
        &self,
        solver: &mut ExactSolver,
        weights: &Array2<f64>,
        (from, to): (f64, f64),
    ) -> Result<(ExactKrr, f64), TrainError> {
        let near = self.fitted(weights);
        let distance = |exact: &ExactKrr| {
            let squares: f64 = exact.fitted.iter().zip(&near).map(|(exact, near)| (exact - near).powi(2)).sum();
            squares / near.nrows() as f64
        };
        let mut tolerance = if solver.is_factored() { TOLERANCE } else { LOOSEST };
        let mut start = (!solver.is_factored()).then(|| (&self.centred - &near) / self.shift());
        let middle = from + 0.7 * (to - from);
        for attempt in 1.. {
            let part = if attempt == 1 { (from, middle) } else { (middle, to) };
            let found = self.solve_to(solver, tolerance, start.take(), part)?;
            let seen = distance(&found);
            let wanted = self.tolerance_for(seen);
            let enough = found.evidence.relative_residual <= wanted || !found.evidence.converged;
            if enough || attempt == ATTEMPTS || solver.is_factored() {
                return Ok((found, seen));
            }
            (tolerance, start) = ((0.5 * wanted).max(TOLERANCE), Some(found.coefficients));
        }
        Err(TrainError::Stopped)
    }

    /// The relative residual whose slack ε has ε² = 1% of this squared distance, within what is sensible.
    fn tolerance_for(&self, distance: f64) -> f64 {
        let unit = self.slack_of(self.target_norm()).filter(|unit| *unit > 0.0);
        let wanted = unit.map(|unit| (GAP_SHARE * distance).sqrt() / unit);
        wanted.map_or(TOLERANCE, |wanted| wanted.clamp(TOLERANCE, LOOSEST))
    }

    fn solve_to(
        &self,
        solver: &mut ExactSolver,
        tolerance: f64,
        start: Option<Array2<f64>>,
        part: (f64, f64),
    ) -> Result<ExactKrr, TrainError> {
        let found = self.watched(part, |watch| solver.solve(self.centred.view(), tolerance, start, watch))?;
        if !found.evidence.is_trusted() {
            let residual = found.evidence.relative_residual;
            return Err(TrainError::Solve(SolveError::NotConverged { residual, ridge: self.lambda }));
        }
        Ok(found)
    }

    /// s_λ = Tr K(K + nλI)⁻¹.
    pub(crate) fn dimension(&self, solver: &mut ExactSolver, part: (f64, f64)) -> Result<Estimate, TrainError> {
        let found = self.watched(part, |watch| solver.dimension(watch))?;
        Ok(Estimate { value: found.value, standard_error: found.standard_error })
    }

    /// The diagonal of (K + nλI)⁻¹; none where the system is not factored.
    pub(crate) fn inverse_diagonal(
        &self,
        solver: &ExactSolver,
        part: (f64, f64),
    ) -> Result<Option<Array1<f64>>, TrainError> {
        self.watched(part, |watch| solver.inverse_diagonal(watch))
    }

    /// s_λ = n − nλ·Tr(K + nλI)⁻¹ from that diagonal.
    pub(crate) fn dimension_from(&self, diagonal: &Array1<f64>) -> Estimate {
        Estimate { value: diagonal.len() as f64 - self.shift() * diagonal.sum(), standard_error: 0.0 }
    }

    /// fᵀ(K + nλI)⁻¹f at f = Kα.
    pub(crate) fn fitted_form(
        &self,
        solver: &mut ExactSolver,
        exact: &ExactKrr,
        part: (f64, f64),
    ) -> Result<f64, TrainError> {
        let tolerance = exact.evidence.relative_residual.clamp(TOLERANCE, LOOSEST);
        self.watched(part, |watch| solver.fitted_form(exact, tolerance, watch))
    }

    /// What no prediction of a solution is further than from that of the exact method: √k(x, x)·‖r‖/(2√(nλ)). √k(x, x) of
    /// a new input is that of the training rows; none where it grows with the input.
    pub(crate) fn slack(&self, evidence: &solver::ExactSolve) -> Option<f64> {
        self.slack_of(evidence.residual_norm)
    }

    fn slack_of(&self, residual_norm: f64) -> Option<f64> {
        let norm = |row: ndarray::ArrayView1<f64>| self.kernel.evaluate(row, row).sqrt();
        let largest = self.inputs.rows().into_iter().map(norm).fold(0.0, f64::max);
        (self.kernel != Kernel::Linear).then(|| solver_slack(largest, residual_norm, self.shift()))
    }

    /// Does a part of the stage, from one share of its progress to another.
    fn watched<T>(
        &self,
        (from, to): (f64, f64),
        work: impl FnOnce(Watch) -> Result<T, SolveError>,
    ) -> Result<T, TrainError> {
        let progress = |done: f64| self.run.observer.progress(self.stage, from + (to - from) * done);
        let go_on = || !self.run.observer.should_stop();
        let done = work(Watch { progress: Some(&progress), go_on: &go_on })?;
        self.run.stop_if_asked()?;
        Ok(done)
    }

    /// Ψw of the training rows, a block at a time.
    fn fitted(&self, weights: &Array2<f64>) -> Array2<f64> {
        let mut fitted = Array2::zeros((self.inputs.nrows(), weights.ncols()));
        let blocks = self.inputs.axis_chunks_iter(Axis(0), BLOCK_ROWS);
        for (inputs, mut fitted) in blocks.zip(fitted.axis_chunks_iter_mut(Axis(0), BLOCK_ROWS)) {
            fitted.assign(&self.features.1.transform(inputs).mapv(f64::from).dot(weights));
        }
        fitted
    }

    /// ‖y − c‖, over all targets.
    pub(crate) fn target_norm(&self) -> f64 {
        self.centred.iter().map(|target| target * target).sum::<f64>().sqrt()
    }

    /// nλ.
    pub(crate) fn shift(&self) -> f64 {
        self.inputs.nrows() as f64 * self.lambda
    }
}
