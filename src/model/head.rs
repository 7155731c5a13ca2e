//! What the outputs of a model mean.

use serde::{Deserialize, Serialize};

/// The meaning of the k numbers Wᵀψ(x) + c.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Head {
    /// Predicted numbers, one a target.
    Numbers {
        /// The names of the predicted columns.
        targets: Vec<String>,
    },
}

impl Head {
    /// k.
    pub fn output_count(&self) -> usize {
        match self {
            Self::Numbers { targets } => targets.len(),
        }
    }

    /// The names of the predicted columns.
    pub fn targets(&self) -> &[String] {
        match self {
            Self::Numbers { targets } => targets,
        }
    }
}
