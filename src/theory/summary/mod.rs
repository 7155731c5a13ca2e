//! What a model's guarantees and errors come to, on one screen: how good the model is, how much the random features
//! cost, what is proved, and what to do.

/// What is said, from the figures.
mod verdict;

/// Bounds and estimates in one short sentence each.
mod claims;

/// What would make a guarantee apply.
mod needs;

/// Figures in words.
mod words;

pub use claims::{Claim, looseness};
pub use needs::{Needs, needs};

use crate::theory::{Form, Guarantee, Status};
use serde::{Serialize, Serializer};
use words::significant;

/// The figures of a model that a summary needs beside its guarantees.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The names of the targets.
    pub targets: Vec<String>,
    /// Whether labels are predicted.
    pub predicts_labels: bool,
    /// s; none for the exact kernel method.
    pub feature_count: Option<usize>,
    /// Rows that the fit is measured on.
    pub validation_rows: usize,
    /// 1 − MSE/variance on the validation rows.
    pub r2: Option<f64>,
    /// Mean squared error on the validation rows; with several targets, the mean over them.
    pub validation_mse: Option<f64>,
    /// Share of correct labels among the validation rows.
    pub accuracy: Option<f64>,
    /// Share of the most frequent label among the validation rows.
    pub most_frequent: Option<f64>,
    /// Width of the intervals at 1 − δ, if it is the same for all rows.
    pub interval_width: Option<f64>,
    /// (1/n)Σy² of the centred targets of a ridge fit, summed over them.
    pub target_variance: Option<f64>,
    /// Mean of (f_s − f)² over the validation rows, summed over the targets.
    pub measured_distance: Option<f64>,
    /// Mean squared error of the exact method on the validation rows; with several targets, the mean over them.
    pub exact_mse: Option<f64>,
    /// Share of correct labels of the exact method among the validation rows.
    pub exact_accuracy: Option<f64>,
    /// δ.
    pub failure_probability: f64,
    /// Whether a certify job can still measure something.
    pub certifiable: bool,
    /// Whether a column gives each row a weight.
    pub sample_weights: bool,
}

/// One screen about a model.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// One sentence.
    pub verdict: String,
    /// How good the predictions are.
    pub fit: Fit,
    /// What is lost by using random features.
    pub random_features: RandomFeatures,
    /// Informative bounds by id, best first.
    #[serde(serialize_with = "by_id")]
    pub proved: Vec<Claim>,
    /// Figures without proof, by id.
    #[serde(serialize_with = "by_id")]
    pub estimated: Vec<Claim>,
    /// What to do, one sentence each.
    pub advice: Vec<String>,
}

fn by_id<S: Serializer>(claims: &[Claim], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(claims.iter().map(|claim| (claim.id, &claim.says)))
}

/// How good the predictions are on rows that were not fitted.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// The rows it was measured on.
    pub validation_rows: usize,
    /// Share of the variation that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// Share of correct labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Root of the mean squared error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_error: Option<f64>,
    /// The unit of the typical error and of the width.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Width of the intervals at 1 − δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_width: Option<f64>,
    /// Why a figure is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The squared distance to the exact kernel method, and what it is a share of.
#[derive(Debug, Clone, Serialize)]
pub struct RandomFeatures {
    /// Mean of (f_s − f)², summed over the targets.
    pub distance_squared: Option<f64>,
    /// Of the mean squared validation error.
    pub share_of_error: Option<f64>,
    /// Of the variance of the target.
    pub share_of_variance: Option<f64>,
    /// Root of the mean squared error of the exact method, next to that of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_typical_error: Option<f64>,
    /// Share of correct labels of the exact method, next to that of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_accuracy: Option<f64>,
    /// How the distance was found.
    pub source: Option<DistanceSource>,
    /// Why a figure is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How the distance to the exact method was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DistanceSource {
    /// Against the exact solution on the validation rows.
    Measured,
    /// By leaving out features.
    Estimated,
}

/// The summary of a model with these guarantees.
pub fn summarize(facts: &Facts, guarantees: &[Guarantee]) -> Summary {
    let found = best_first(guarantees.iter().collect());
    let proved: Vec<Claim> = found.iter().filter_map(|guarantee| Claim::proved(guarantee, facts)).collect();
    let estimated = found.iter().filter_map(|guarantee| Claim::estimated(guarantee, facts)).collect();
    let random_features = random_features(facts, guarantees);
    Summary {
        verdict: verdict::verdict(facts, &random_features, &proved),
        advice: verdict::advice(facts, &random_features, guarantees),
        fit: fit(facts, guarantees),
        random_features,
        proved,
        estimated,
    }
}

/// Guarantees that can be relied on first, and bounds before estimates before rates.
pub fn best_first(mut guarantees: Vec<&Guarantee>) -> Vec<&Guarantee> {
    let status = |guarantee: &Guarantee| match guarantee.status {
        Status::Holds => 0,
        Status::Conditional => 1,
        Status::Vacuous => 2,
        Status::NotApplicable => 3,
    };
    let form = |guarantee: &Guarantee| match guarantee.form {
        Form::Bound => 0,
        Form::Requirement => 1,
        Form::Estimate => 2,
        Form::Term => 3,
        Form::Rate => 4,
    };
    // Bounds from rows that were not fitted are about this model; the others are about models like it.
    let of_this_model = |guarantee: &Guarantee| guarantee.id != "conformal" && !guarantee.id.contains("certificate");
    // A bound on a mean has to allow for differences too rare to be seen, so those on single predictions say more.
    let of_mean = |guarantee: &Guarantee| guarantee.id == "bochner.certificate_mean";
    guarantees.sort_by_key(|guarantee| {
        let rank = (status(guarantee), form(guarantee), of_this_model(guarantee));
        (rank, guarantee.id != "conformal", of_mean(guarantee))
    });
    guarantees
}

/// Four digits are as many as a reader compares.
fn rounded(value: Option<f64>) -> Option<f64> {
    value.map(|value| significant(value, 4))
}

fn fit(facts: &Facts, guarantees: &[Guarantee]) -> Fit {
    let single = facts.targets.len() == 1;
    let conformal = guarantees.iter().find(|guarantee| guarantee.id == "conformal");
    let reason = if facts.validation_rows == 0 {
        Some("No validation rows measure the fit. Train with validation_fraction > 0.".to_owned())
    } else if facts.r2.is_none() && facts.accuracy.is_none() {
        Some(
            "The validation rows are too few to measure the fit, or have the same target. Use a larger \
             validation_fraction."
                .to_owned(),
        )
    } else if facts.predicts_labels {
        None
    } else if !single {
        Some("Each target has an error and an interval of its own; the report lists the errors by target.".to_owned())
    } else if facts.interval_width.is_none() {
        Some(match conformal {
            Some(found) if found.value.is_some() => {
                "The width of the interval differs from row to row; ask for the output 'interval'.".to_owned()
            }
            Some(found) => match found.statement.split_once(": requires ") {
                Some((_, reason)) => format!("No interval: it requires {reason}"),
                None => format!("No interval. {}", found.statement),
            },
            None => "No interval: the model stores no calibration scores.".to_owned(),
        })
    } else {
        None
    };
    Fit {
        validation_rows: facts.validation_rows,
        r2: rounded(facts.r2),
        accuracy: rounded(facts.accuracy),
        typical_error: rounded(facts.typical_error()),
        unit: (!facts.predicts_labels && single).then(|| format!("the units of '{}'", facts.targets[0])),
        interval_width: rounded(facts.interval_width),
        reason,
    }
}

impl Facts {
    /// Of a single target: errors of different units have no mean.
    fn typical_error(&self) -> Option<f64> {
        self.validation_mse.filter(|_| self.targets.len() == 1 && !self.predicts_labels).map(f64::sqrt)
    }

    /// The same of the exact method.
    fn exact_typical_error(&self) -> Option<f64> {
        self.exact_mse.filter(|_| self.targets.len() == 1 && !self.predicts_labels).map(f64::sqrt)
    }

    /// The share of the squared error, or of the wrong labels, that the exact method avoids: negative where it is worse
    /// than the model. None where the exact method was not solved, and for several targets.
    fn gain_of_exact(&self) -> Option<f64> {
        match (self.typical_error(), self.exact_typical_error(), self.accuracy, self.exact_accuracy) {
            (Some(error), Some(exact), ..) if error > 0.0 => Some(1.0 - (exact / error).powi(2)),
            (_, _, Some(accuracy), Some(exact)) if accuracy < 1.0 => Some((exact - accuracy) / (1.0 - accuracy)),
            (_, _, Some(accuracy), Some(exact)) => Some(exact - accuracy),
            _ => None,
        }
    }
}

fn random_features(facts: &Facts, guarantees: &[Guarantee]) -> RandomFeatures {
    let jackknife = guarantees.iter().find(|guarantee| guarantee.id == "bochner.jackknife");
    let estimate = jackknife.filter(|found| found.status != Status::NotApplicable).and_then(|found| found.value);
    let measured = facts.measured_distance.map(|distance| (distance, DistanceSource::Measured));
    let found = measured.or(estimate.map(|distance| (distance, DistanceSource::Estimated)));
    let found = found.filter(|_| facts.feature_count.is_some());
    let distance = found.map(|(distance, _)| distance);
    let part_of =
        |whole: Option<f64>| distance.zip(whole.filter(|whole| *whole > 0.0)).map(|(part, whole)| part / whole);
    let error = facts.validation_mse.map(|mse| mse * facts.targets.len() as f64);
    let share_of_error = part_of(error.filter(|_| !facts.predicts_labels));
    let reason = if facts.feature_count.is_none() {
        Some("The model is the exact kernel method itself: it has no random features.".to_owned())
    } else if found.is_none() {
        Some(jackknife.map_or("The model stores nothing to estimate it from.".to_owned(), |j| j.statement.clone()))
    } else if facts.predicts_labels {
        Some(
            "For labels the distance is one of decision values, which have no squared error to compare with."
                .to_owned(),
        )
    } else if share_of_error.is_none() {
        Some("Without validation rows there is no error to compare with.".to_owned())
    } else {
        None
    };
    RandomFeatures {
        distance_squared: rounded(distance),
        share_of_error: rounded(share_of_error),
        share_of_variance: rounded(part_of(facts.target_variance)),
        exact_typical_error: rounded(facts.exact_typical_error()),
        exact_accuracy: rounded(facts.exact_accuracy.filter(|_| facts.predicts_labels)),
        source: found.map(|(_, source)| source),
        reason,
    }
}
