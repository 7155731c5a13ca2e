//! What is minimised.

use crate::dataset::Task;
use crate::solver::Loss;
use crate::theory::LossKind;
use serde::Serialize;

/// The learners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Learner {
    /// Squared error: of numbers, or of labels as ±1.
    Ridge,
    /// Logistic loss, softmax for three or more labels.
    Logistic,
    /// Hinge loss, one label against the rest for three or more: a support vector machine.
    Hinge,
    /// Squared hinge loss, likewise.
    SquaredHinge,
    /// Squared error over the kernel's own space, no features: exact kernel ridge regression, the reference.
    ExactKrr,
}

impl Learner {
    /// All of them with their names in a spec.
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("ridge", Self::Ridge),
        ("logistic", Self::Logistic),
        ("hinge", Self::Hinge),
        ("squared_hinge", Self::SquaredHinge),
        ("exact_krr", Self::ExactKrr),
    ];

    /// The default.
    pub fn for_task(task: Task) -> Self {
        match task {
            Task::Regression => Self::Ridge,
            Task::Classification => Self::Logistic,
        }
    }

    /// Its loss, where the fit takes more than a linear system.
    pub(crate) fn loss(self) -> Option<Loss> {
        match self {
            Self::Ridge | Self::ExactKrr => None,
            Self::Logistic => Some(Loss::Logistic),
            Self::Hinge => Some(Loss::Hinge),
            Self::SquaredHinge => Some(Loss::SquaredHinge),
        }
    }

    /// Its loss, as theorems tell them apart.
    pub(crate) fn loss_kind(self) -> LossKind {
        match self {
            Self::Ridge | Self::ExactKrr => LossKind::Squared,
            Self::Logistic => LossKind::Logistic,
            Self::Hinge => LossKind::Hinge,
            Self::SquaredHinge => LossKind::SquaredHinge,
        }
    }

    /// Whether its decision values are log odds as they are, so that probabilities need no calibration.
    pub(crate) fn gives_log_odds(self) -> bool {
        self == Self::Logistic
    }

    /// The names of all learners.
    pub fn names() -> [&'static str; 5] {
        Self::ALL.map(|(name, _)| name)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, learner)| *learner == self).map_or("", |(name, _)| name)
    }
}
