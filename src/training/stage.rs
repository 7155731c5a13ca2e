//! What training is doing, who watches it, and why it may end early.

use crate::model::FittedModel;
use crate::solver::{Interrupted, SolveError};
use std::time::Instant;

/// What training is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Means, variances and the split.
    Scale,
    /// The bandwidth.
    Search,
    /// Features and the Gram matrix.
    Accumulate,
    /// The linear system.
    Solve,
    /// Errors on training and validation rows.
    Evaluate,
    /// The exact kernel solution.
    Certify,
}

impl Stage {
    /// Its name in progress, reports and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::Search => "search",
            Self::Accumulate => "accumulate",
            Self::Solve => "solve",
            Self::Evaluate => "evaluate",
            Self::Certify => "certify",
        }
    }
}

/// Watches training and may stop it between blocks.
pub trait Observer: Sync {
    /// Told as work goes on; `fraction` is of this stage.
    fn progress(&self, stage: Stage, fraction: f64);

    /// Asked between blocks.
    fn should_stop(&self) -> bool;
}

/// Why training ended without a model.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The observer asked for it.
    #[error("stopped on request")]
    Stopped,
    /// The rows could not be read.
    #[error("the rows could not be read: {0}")]
    Rows(#[from] std::io::Error),
    /// The system could not be solved.
    #[error(transparent)]
    Solve(SolveError),
    /// The data holds nothing to learn.
    #[error("{0}")]
    Data(String),
    /// A worker thread panicked.
    #[error("a worker thread panicked")]
    Panicked,
}

impl From<SolveError> for TrainError {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Stopped => Self::Stopped,
            SolveError::Panicked => Self::Panicked,
            SolveError::Factor(_)
            | SolveError::Singular { .. }
            | SolveError::NotFinite { .. }
            | SolveError::NotConverged { .. } => Self::Solve(error),
        }
    }
}

impl From<Interrupted<TrainError>> for TrainError {
    fn from(interrupted: Interrupted<TrainError>) -> Self {
        match interrupted {
            Interrupted::Failed(error) => error,
            Interrupted::Panicked => Self::Panicked,
        }
    }
}

/// A model, and how long each stage took (which is not part of the model).
pub struct Trained {
    /// The model.
    pub model: FittedModel,
    /// Seconds by stage, in order.
    pub stage_seconds: Vec<(Stage, f64)>,
}

/// Measures stages.
pub(super) struct Clock {
    last: Instant,
    pub(super) laps: Vec<(Stage, f64)>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { last: Instant::now(), laps: Vec::new() }
    }

    pub(super) fn lap(&mut self, stage: Stage) {
        let seconds = self.last.elapsed().as_secs_f64();
        match self.laps.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, total)) => *total += seconds,
            None => self.laps.push((stage, seconds)),
        }
        self.last = Instant::now();
    }
}
