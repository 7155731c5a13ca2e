//! What the outputs mean.

use super::{Numbers, borrowed, owned};
use crate::model::{Head, Labels};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredHead<'a> {
    Numbers {
        #[serde(borrow)]
        targets: Vec<&'a str>,
    },
    Labels {
        target: &'a str,
        #[serde(borrow)]
        labels: Vec<&'a str>,
        slope: Option<f64>,
        log_weights: Numbers<'a>,
    },
}

impl<'a> From<&'a Head> for StoredHead<'a> {
    fn from(head: &'a Head) -> Self {
        match head {
            Head::Numbers { targets } => Self::Numbers { targets: borrowed(targets) },
            Head::Labels(Labels { target, labels, slope, log_weights }) => {
                Self::Labels { target, labels: borrowed(labels), slope: *slope, log_weights: log_weights.into() }
            }
        }
    }
}

impl From<StoredHead<'_>> for Head {
    fn from(stored: StoredHead) -> Self {
        match stored {
            StoredHead::Numbers { targets } => Self::Numbers { targets: owned(targets) },
            StoredHead::Labels { target, labels, slope, log_weights } => Self::Labels(Labels {
                target: target.to_owned(),
                labels: owned(labels),
                slope,
                log_weights: log_weights.into_owned(),
            }),
        }
    }
}
