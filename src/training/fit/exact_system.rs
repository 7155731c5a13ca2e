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
        let found = self.watched(part, |watch| solver.solve(self.centred.view(), TOLERANCE, start, watch))?;
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

    /// fᵀ(K + nλI)⁻¹f at f = Kα.
    pub(crate) fn fitted_form(
        &self,
        solver: &mut ExactSolver,
        exact: &ExactKrr,
        part: (f64, f64),
    ) -> Result<f64, TrainError> {
        self.watched(part, |watch| solver.fitted_form(exact, TOLERANCE, watch))
    }

    /// What no prediction of a solution is further than from that of the exact method: √k(x, x)·‖r‖/(2√(nλ)). √k(x, x) of
    /// a new input is that of the training rows; none where it grows with the input.
    pub(crate) fn slack(&self, evidence: &solver::ExactEvidence) -> Option<f64> {
        let norm = |row: ndarray::ArrayView1<f64>| self.kernel.evaluate(row, row).sqrt();
        let largest = self.inputs.rows().into_iter().map(norm).fold(0.0, f64::max);
        (self.kernel != Kernel::Linear).then(|| solver_slack(largest, evidence.residual_norm, self.shift()))
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
    fn shift(&self) -> f64 {
        self.inputs.nrows() as f64 * self.lambda
    }
}
