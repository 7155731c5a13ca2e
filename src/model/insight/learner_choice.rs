//! Random features or the exact kernel method: what both would predict, and which of them a model is.

use serde_json::{Value, json};

/// Both methods on the same training rows, each with its own best kernel and λ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerChoice {
    /// Whether the exact method was kept.
    pub exact: bool,
    /// s of the features it was compared with.
    pub features: usize,
    /// Rows in the errors: all that were fitted.
    pub rows: usize,
    /// Mean squared leave-one-out residual of the features, in squared units of the target; of several targets, in units of
    /// their variances.
    pub features_loo_mse: f64,
    /// The same of the exact method.
    pub exact_loo_mse: f64,
    /// The standard error of the difference, over rows.
    pub gain_standard_error: f64,
}

impl LearnerChoice {
    /// By how much the error of the exact method is smaller.
    pub fn gain(&self) -> f64 {
        self.features_loo_mse - self.exact_loo_mse
    }

    /// As reports show it.
    pub fn to_json(&self) -> Value {
        json!({
            "kept": if self.exact { "exact_krr" } else { "ridge" },
            "reason": self.reason(),
            "features": self.features,
            "rows": self.rows,
            "features_loo_mse": self.features_loo_mse,
            "exact_loo_mse": self.exact_loo_mse,
            "gain": self.gain(),
            "gain_standard_error": self.gain_standard_error,
        })
    }

    /// Why it was kept.
    fn reason(&self) -> String {
        let errors = format!(
            "the mean squared leave-one-out error of {} random features is {:.4e} and that of the exact kernel method {:.4e}",
            self.features, self.features_loo_mse, self.exact_loo_mse
        );
        let verdict = if self.exact {
            "the features lose more than chance and the search of a kernel explain"
        } else {
            "the features lose nothing that can be told from chance, or too little to give up their error bars for"
        };
        format!("{errors}: {verdict}")
    }

    /// What a user should know who asked for neither.
    pub fn note(&self) -> Option<String> {
        self.exact.then(|| {
            format!(
                "The exact kernel method was kept, because {}. It has no error bars and takes no added rows: for those, train \
                 with learner ridge.",
                self.reason()
            )
        })
    }

    /// Whether the numbers can be what a training found.
    pub fn is_consistent(&self) -> bool {
        let errors = [self.features_loo_mse, self.exact_loo_mse, self.gain_standard_error];
        errors.iter().all(|error| *error >= 0.0 && error.is_finite())
    }
}
