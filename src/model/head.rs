//! What the outputs of a model mean.

use super::Labels;

/// The meaning of the k numbers Wᵀψ(x) + c.
#[derive(Debug, Clone, PartialEq)]
pub enum Head {
    /// Predicted numbers, one for each target.
    Numbers {
        /// The names of the predicted columns.
        targets: Vec<String>,
    },
    /// Decision values of a classifier.
    Labels(Labels),
}

impl Head {
    /// k.
    pub fn output_count(&self) -> usize {
        match self {
            Self::Numbers { targets } => targets.len(),
            Self::Labels(labels) => labels.output_count(),
        }
    }

    /// The names of the predicted columns.
    pub fn targets(&self) -> &[String] {
        match self {
            Self::Numbers { targets } => targets,
            Self::Labels(labels) => std::slice::from_ref(&labels.target),
        }
    }

    /// The labels of a classifier.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            Self::Numbers { .. } => None,
            Self::Labels(labels) => Some(labels),
        }
    }
}
