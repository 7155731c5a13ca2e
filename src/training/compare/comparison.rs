//! What a comparison found: every trial, and means with their standard errors.

use serde::{Deserialize, Serialize};

/// One fit and its error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Of features, or `linear`.
    pub sampling: String,
    /// Feature count that was asked for.
    pub features: usize,
    /// Labelled rows of each class, where they were limited.
    pub labels_per_class: Option<usize>,
    /// From 0.
    pub repetition: u64,
    /// On the test rows.
    pub error: f64,
    /// As used.
    pub lambda: f64,
}

/// The rows and the seed of one repetition, which all samplings share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// Of the split and of every draw.
    pub seed: u64,
    /// Rows that were fitted; with limited labels, at the smallest limit.
    pub training_rows: usize,
    /// Rows that λ was searched on.
    pub validation_rows: usize,
    /// Rows that the error was measured on.
    pub test_rows: usize,
    /// Rows that were scaled by and that features were chosen by, without a target.
    pub unlabelled_rows: usize,
    /// The test rows among all rows that were used, as bits: four rows a hexadecimal digit, the first row the highest bit
    /// of the first digit. None where the rows are too many to list; the seed gives the same split again.
    pub test_mask: Option<String>,
}

/// The mean of one sampling at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplingSummary {
    /// Of features, or `linear`.
    pub sampling: String,
    /// Feature count.
    pub features: usize,
    /// Labelled rows of each class, where they were limited.
    pub labels_per_class: Option<usize>,
    /// Trials in the mean.
    pub repetitions: usize,
    /// Of the errors.
    pub mean: f64,
    /// Of the mean; none for a single repetition.
    pub standard_error: Option<f64>,
    /// Mean of the difference to the first sampling, repetition by repetition; below 0 is better. None for the first.
    pub difference: Option<f64>,
    /// Of that mean.
    pub difference_standard_error: Option<f64>,
}

/// Everything a comparison found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Id of the dataset, or the name of its file.
    pub dataset: String,
    /// Column that was predicted.
    pub target: String,
    /// What was minimised.
    pub learner: String,
    /// `rmse`, in the unit of the target, or `error_rate`, the share of wrong labels.
    pub metric: String,
    /// The means, in the order of the request.
    pub summary: Vec<SamplingSummary>,
    /// Seeds and splits.
    pub repetitions: Vec<Repetition>,
    /// Every fit.
    pub trials: Vec<Trial>,
}

/// Means, standard errors and paired differences of trials, which come in any order.
pub(super) fn summarise(trials: &[Trial]) -> Vec<SamplingSummary> {
    let mut summaries: Vec<SamplingSummary> = Vec::new();
    let first = trials.first().map(|trial| trial.sampling.clone()).unwrap_or_default();
    for trial in trials {
        let (features, labels_per_class) = (trial.features, trial.labels_per_class);
        let same = |other: &Trial| other.features == features && other.labels_per_class == labels_per_class;
        let known = |summary: &SamplingSummary| {
            summary.sampling == trial.sampling
                && summary.features == features
                && summary.labels_per_class == labels_per_class
        };
        if summaries.iter().any(known) {
            continue;
        }
        let own: Vec<&Trial> = trials.iter().filter(|other| same(other) && other.sampling == trial.sampling).collect();
        let (mean, standard_error) = mean_and_error(&own.iter().map(|trial| trial.error).collect::<Vec<_>>());
        let paired = |trial: &&Trial| {
            let partner =
                |other: &&Trial| same(other) && other.sampling == first && other.repetition == trial.repetition;
            trials.iter().find(partner).map(|other| trial.error - other.error)
        };
        let differences: Vec<f64> = own.iter().filter_map(paired).collect();
        let is_first = trial.sampling == first;
        let (difference, difference_standard_error) = mean_and_error(&differences);
        summaries.push(SamplingSummary {
            sampling: trial.sampling.clone(),
            features,
            labels_per_class,
            repetitions: own.len(),
            mean,
            standard_error,
            difference: (!is_first).then_some(difference),
            difference_standard_error: difference_standard_error.filter(|_| !is_first),
        });
    }
    summaries
}

/// The mean of some numbers, and its standard error: the sample deviation, divisor one less than their count, over the
/// root of their count.
fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt()))
}

/// Rows as bits: four a hexadecimal digit, the first row the highest bit of the first digit.
pub(super) fn mask(rows: impl Iterator<Item = bool>) -> String {
    let bits: Vec<bool> = rows.collect();
    let digit = |four: &[bool]| four.iter().enumerate().map(|(place, bit)| u32::from(*bit) << (3 - place)).sum();
    bits.chunks(4).filter_map(|four| char::from_digit(digit(four), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(sampling: &str, repetition: u64, error: f64) -> Trial {
        let (sampling, labels_per_class) = (sampling.to_owned(), None);
        Trial { sampling, features: 20, labels_per_class, repetition, error, lambda: 0.1 }
    }

    /// By hand: 1, 2, 3 have the mean 2 and the deviation 1; the differences 1, −1, 0 have the mean 0 and the deviation 1.
    #[test]
    fn means_and_standard_errors_are_those_by_hand() {
        let mut trials: Vec<Trial> = (0..3).map(|r| trial("plain", r, 1.0 + r as f64)).collect();
        trials.extend([trial("other", 2, 3.0), trial("other", 0, 2.0), trial("other", 1, 1.0)]);
        let [plain, other] = summarise(&trials).try_into().unwrap();
        let root = 3_f64.sqrt().recip();
        assert_eq!((plain.mean, plain.repetitions, plain.difference), (2.0, 3, None));
        assert!((plain.standard_error.unwrap() - root).abs() < 1e-15);
        assert_eq!((other.mean, other.difference), (2.0, Some(0.0)));
        assert!((other.difference_standard_error.unwrap() - root).abs() < 1e-15);
        assert_eq!(summarise(&[trial("plain", 0, 2.0)])[0].standard_error, None);
    }

    #[test]
    fn a_mask_lists_rows_four_to_a_digit() {
        let rows = [true, false, false, true, false, true];
        assert_eq!(mask(rows.into_iter()), "94");
        assert_eq!(mask(std::iter::empty()), "");
    }
}
