//! What the kernel and λ of a model were chosen from.

/// What scaling, imputation, bandwidth and λ were chosen from. This decides which theorems cover them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choices {
    /// Nothing: they were fixed before any row was seen.
    FixedInAdvance,
    /// Rows that were kept apart for it and took no part in the fit.
    FromDesignRows,
    /// The training rows, from a list of kernels and a list of λ that were fixed before any row was seen, with feature
    /// draws that the model does not use.
    FromList {
        /// The length of the list of kernels.
        kernels: usize,
        /// The length of the list of λ; 1 if λ was not searched for.
        lambdas: usize,
    },
    /// The inputs of the training rows.
    FromInputs,
    /// The training rows with their targets, and feature draws that the model does not use.
    FromTargets,
    /// The training rows, and the feature draws of the model.
    FromDraws,
}

impl Choices {
    /// Whether rows without a target had no part in them: otherwise inputs are scaled and filled in by these too.
    pub(crate) fn spares_unlabelled_rows(self) -> bool {
        match self {
            Self::FixedInAdvance | Self::FromDesignRows => true,
            Self::FromList { .. } | Self::FromInputs | Self::FromTargets | Self::FromDraws => false,
        }
    }

    /// The kernels that one event has to cover.
    pub(super) fn kernels(self) -> f64 {
        match self {
            Self::FromList { kernels, .. } => kernels as f64,
            Self::FixedInAdvance | Self::FromDesignRows | Self::FromInputs | Self::FromTargets | Self::FromDraws => 1.0,
        }
    }

    /// The pairs of kernel and λ that one event has to cover if it depends on λ.
    pub(super) fn pairs(self) -> f64 {
        match self {
            Self::FromList { lambdas, .. } => self.kernels() * lambdas as f64,
            Self::FixedInAdvance | Self::FromDesignRows | Self::FromInputs | Self::FromTargets | Self::FromDraws => 1.0,
        }
    }
}
