//! The stages of training, who watches them, and why training may end early.

use crate::model::FittedModel;
use crate::solver::{Interrupted, OffGrid, SolveError};
use std::time::Instant;

/// A stage of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Splits the rows; means and variances of the columns.
    Scale,
    /// Searches scaling and bandwidth.
    Search,
    /// Chooses features from a pool.
    Choose,
    /// Makes features and sums up their Gram matrix.
    Accumulate,
    /// Solves for the weights.
    Solve,
    /// Measures errors on held-out rows.
    Evaluate,
    /// Solves the exact kernel system and compares the model with it.
    Certify,
    /// Fits and tests one sampling after the other.
    Compare,
    /// Trains on all folds but one, and tests on that one.
    CrossValidate,
    /// Trains on fewer rows, and tests on the held-out ones.
    LearningCurve,
}

impl Stage {
    /// As in progress, reports and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::Search => "search",
            Self::Choose => "choose",
            Self::Accumulate => "accumulate",
            Self::Solve => "solve",
            Self::Evaluate => "evaluate",
            Self::Certify => "certify",
            Self::Compare => "compare",
            Self::CrossValidate => "cross_validate",
            Self::LearningCurve => "learning_curve",
        }
    }
}

/// Follows training and may stop it.
pub trait Observer: Sync {
    /// Called as work proceeds; `fraction` is that of the stage.
    fn progress(&self, stage: Stage, fraction: f64);

    /// Checked between blocks of rows; true ends the training.
    fn should_stop(&self) -> bool;
}

/// Nobody follows a training, and nobody stops it.
pub struct Unwatched;

impl Observer for Unwatched {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        false
    }
}

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The observer asked training to stop.
    #[error("training was stopped on request")]
    Stopped,
    /// The rows could not be read.
    #[error("the rows could not be read: {0}")]
    Rows(#[from] std::io::Error),
    /// The system could not be solved.
    #[error(transparent)]
    Solve(SolveError),
    /// The rows hold nothing to learn, or the model cannot take them.
    #[error("{0}")]
    Data(String),
    /// What runs passes over rows that stay where they are has failed, in its own words.
    #[error("{0}")]
    Engine(String),
    /// A worker thread panicked.
    #[error("a training thread panicked; its message is in the log")]
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
            | SolveError::NotConverged { .. }
            | SolveError::OutOfReach { .. } => Self::Solve(error),
        }
    }
}

impl From<OffGrid> for TrainError {
    fn from(error: OffGrid) -> Self {
        Self::Data(error.to_string())
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
    /// Seconds of each candidate of a search for the kernel, in the order of the report.
    pub candidate_seconds: Vec<f64>,
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
