//! Random features or the exact kernel method.

use crate::model::LearnerChoice;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredLearnerChoice {
    exact: bool,
    features: usize,
    rows: usize,
    features_loo_mse: f64,
    exact_loo_mse: f64,
    gain_standard_error: f64,
}

impl From<LearnerChoice> for StoredLearnerChoice {
    fn from(choice: LearnerChoice) -> Self {
        let LearnerChoice { exact, features, rows, features_loo_mse, exact_loo_mse, gain_standard_error } = choice;
        Self { exact, features, rows, features_loo_mse, exact_loo_mse, gain_standard_error }
    }
}

impl From<StoredLearnerChoice> for LearnerChoice {
    fn from(stored: StoredLearnerChoice) -> Self {
        let StoredLearnerChoice { exact, features, rows, features_loo_mse, exact_loo_mse, gain_standard_error } =
            stored;
        Self { exact, features, rows, features_loo_mse, exact_loo_mse, gain_standard_error }
    }
}
