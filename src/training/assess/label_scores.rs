//! Errors of predicted labels.

use crate::model::{ClassRowCounts, LabelErrors, Labels, ReliabilityBin};
use ndarray::ArrayView1;

/// Bins of the reliability table.
const BINS: usize = 10;

/// Above this number of labels the confusion matrix is too large to read and is left out.
const LARGEST_CONFUSION: usize = 100;

/// The smallest probability a log loss is charged for; anything smaller is rounding.
const SMALLEST_PROBABILITY: f64 = 1e-15;

/// Running sums over rows with their true class and decision values; rows count by their weight.
pub(crate) struct LabelScores<'a> {
    labels: &'a Labels,
    /// Weight of each (true, decided) pair.
    confusion: Vec<f64>,
    log_loss: f64,
    /// Weight, confidence and right labels of each bin.
    bins: [[f64; 3]; BINS],
    /// Decision value, weight and whether the class is the second, for two labels.
    ranking: Vec<(f64, f64, bool)>,
}

impl<'a> LabelScores<'a> {
    pub(crate) fn new(labels: &'a Labels) -> Self {
        Self {
            labels,
            confusion: vec![0.0; labels.labels.len().pow(2)],
            log_loss: 0.0,
            bins: [[0.0; 3]; BINS],
            ranking: Vec::new(),
        }
    }

    /// Takes in one row.
    pub(crate) fn add(&mut self, class: usize, values: ArrayView1<f64>, weight: f64) {
        let values = values.to_vec();
        let count = self.labels.labels.len();
        self.confusion[class * count + self.labels.decide(&values)] += weight;
        if let [value] = values.as_slice() {
            self.ranking.push((*value, weight, class == 1));
        }
        if let Some(probabilities) = self.labels.probabilities(&values) {
            self.log_loss -= weight * probabilities[class].max(SMALLEST_PROBABILITY).ln();
            let likeliest =
                (0..count).max_by(|&a, &b| f64::total_cmp(&probabilities[a], &probabilities[b])).unwrap_or(0);
            let confidence = probabilities[likeliest];
            let bin = &mut self.bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
            let right = if likeliest == class { weight } else { 0.0 };
            *bin = [bin[0] + weight, bin[1] + weight * confidence, bin[2] + right];
        }
    }

    /// The errors, next to the rows of each class; unknown where no row counts.
    pub(crate) fn errors(mut self, classes: Vec<ClassRowCounts>) -> LabelErrors {
        let count = self.labels.labels.len();
        let total: f64 = self.confusion.iter().sum();
        if total <= 0.0 {
            return LabelErrors::unknown(classes);
        }
        let diagonal = |class: usize| self.confusion[class * count + class];
        let rows: Vec<&[f64]> = self.confusion.chunks_exact(count).collect();
        let recalls: Vec<f64> = rows
            .iter()
            .enumerate()
            .map(|(class, row)| (diagonal(class), row.iter().sum::<f64>()))
            .filter(|(_, of_class)| *of_class > 0.0)
            .map(|(found, of_class)| found / of_class)
            .collect();
        let gap = |[_, confidence, right]: &[f64; 3]| (right - confidence).abs();
        let calibrated = self.labels.slope.is_some();
        LabelErrors {
            classes,
            validation_accuracy: Some((0..count).map(diagonal).sum::<f64>() / total),
            validation_balanced_accuracy: Some(recalls.iter().sum::<f64>() / recalls.len() as f64),
            validation_log_loss: calibrated.then_some(self.log_loss / total),
            confusion: (count <= LARGEST_CONFUSION).then(|| rows.into_iter().map(<[f64]>::to_vec).collect()),
            expected_calibration_error: calibrated.then(|| self.bins.iter().map(gap).sum::<f64>() / total),
            reliability: if calibrated { self.reliability() } else { Vec::new() },
            validation_roc_auc: roc_auc(&mut self.ranking),
        }
    }

    fn reliability(&self) -> Vec<ReliabilityBin> {
        let filled = self.bins.iter().enumerate().filter(|(_, bin)| bin[0] > 0.0);
        let bin = |(index, [rows, confidence, right]): (usize, &[f64; 3])| ReliabilityBin {
            low: index as f64 / BINS as f64,
            high: (index + 1) as f64 / BINS as f64,
            rows: *rows,
            confidence: confidence / rows,
            accuracy: right / rows,
        };
        filled.map(bin).collect()
    }
}

/// The probability that a row of the second class has a larger value than one of the first; equal values
/// count half. None unless both classes occur.
fn roc_auc(ranking: &mut [(f64, f64, bool)]) -> Option<f64> {
    ranking.sort_by(|left, right| f64::total_cmp(&left.0, &right.0));
    let (mut below, mut area, mut positive) = (0.0, 0.0, 0.0);
    for ties in ranking.chunk_by(|left, right| left.0 == right.0) {
        let weight_of = |second: bool| -> f64 { ties.iter().filter(|row| row.2 == second).map(|row| row.1).sum() };
        let (first, second) = (weight_of(false), weight_of(true));
        area += second * (below + first / 2.0);
        below += first;
        positive += second;
    }
    (below > 0.0 && positive > 0.0).then(|| area / (below * positive))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn labels(count: usize, slope: Option<f64>) -> Labels {
        let names = (0..count).map(|label| label.to_string()).collect();
        Labels { target: "t".into(), labels: names, slope, log_weights: vec![0.0; count] }
    }

    /// Four rows by hand: values −1, −1, 2, 1 of classes 0, 1, 1, 0.
    #[test]
    fn scores_by_hand() {
        let labels = labels(2, Some(1.0));
        let mut scores = LabelScores::new(&labels);
        for (class, value) in [(0, -1.0), (1, -1.0), (1, 2.0), (0, 1.0)] {
            scores.add(class, array![value].view(), 1.0);
        }
        let errors = scores.errors(Vec::new());
        assert_eq!(errors.confusion, Some(vec![vec![1.0, 1.0], vec![1.0, 1.0]]));
        assert_eq!((errors.validation_accuracy, errors.validation_balanced_accuracy), (Some(0.5), Some(0.5)));
        // Of the four pairs (first, second): −1 = −1 counts half, −1 < 2, 1 > −1, 1 < 2.
        assert_eq!(errors.validation_roc_auc, Some(2.5 / 4.0));
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let log_loss = -(sigmoid(1.0).ln() + sigmoid(-1.0).ln() + sigmoid(2.0).ln() + sigmoid(-1.0).ln()) / 4.0;
        assert!((errors.validation_log_loss.unwrap() - log_loss).abs() < 1e-14);
        // Confidences 0.731 (right, wrong, wrong) and 0.881 (right).
        let expected = (3.0 * sigmoid(1.0) - 1.0).abs() / 4.0 + (1.0 - sigmoid(2.0)) / 4.0;
        assert!((errors.expected_calibration_error.unwrap() - expected).abs() < 1e-14);
        let bins: Vec<(f64, f64)> = errors.reliability.iter().map(|bin| (bin.low, bin.rows)).collect();
        assert_eq!(bins, [(0.7, 3.0), (0.8, 1.0)]);
    }

    #[test]
    fn weights_count_and_labels_without_rows_do_not() {
        let labels = labels(3, None);
        let mut scores = LabelScores::new(&labels);
        scores.add(0, array![1.0, 0.0, 0.0].view(), 3.0);
        scores.add(1, array![1.0, 0.0, 0.0].view(), 1.0);
        scores.add(2, array![1.0, 0.0, 0.0].view(), 0.0);
        let errors = scores.errors(Vec::new());
        assert_eq!((errors.validation_accuracy, errors.validation_balanced_accuracy), (Some(0.75), Some(0.5)));
        assert_eq!((errors.validation_log_loss, errors.validation_roc_auc), (None, None));
    }

    #[test]
    fn no_rows_give_no_figures() {
        let labels = labels(2, Some(1.0));
        let errors = LabelScores::new(&labels).errors(Vec::new());
        assert_eq!(errors, LabelErrors::unknown(Vec::new()));
    }
}
