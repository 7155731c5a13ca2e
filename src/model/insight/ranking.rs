//! How well a model separates held-out rows of one label from the others, at every threshold.

use crate::model::FittedModel;

/// A label against all others.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelRanking {
    /// The label that counts as found.
    pub label: String,
    /// Share of the rows that have it, by weight.
    pub share: f64,
    /// (false positive rate, true positive rate) from the strictest threshold to none.
    pub roc: Vec<(f64, f64)>,
    /// The area under that curve; equal values count half.
    pub roc_area: f64,
    /// (recall, precision) from the strictest threshold to none.
    pub precision_recall: Vec<(f64, f64)>,
    /// Mean of the precisions, each counted by the recall that it adds.
    pub average_precision: f64,
}

impl FittedModel {
    /// The rankings of the labels with most held-out rows, at most `most`; of two labels the second alone, which the
    /// decision value speaks of. Labels that no row has, or all rows have, are left out.
    pub fn label_rankings(&self, most: usize) -> Vec<LabelRanking> {
        let (Some(sample), Some(labels)) = (&self.held_out, self.head.labels()) else { return Vec::new() };
        let k = labels.output_count();
        let rows: Vec<(usize, f64, &[f64])> = (0..sample.count(&self.head))
            .map(|row| (sample.targets[row] as usize, sample.weight(row), &sample.outputs[row * k..][..k]))
            .collect();
        let count_of = |class: usize| rows.iter().filter(|(own, ..)| *own == class).count();
        let mut classes: Vec<usize> = if k == 1 { vec![1] } else { (0..k).collect() };
        classes.sort_by_key(|class| std::cmp::Reverse(count_of(*class)));
        classes.truncate(most);
        let ranking = |class: usize| {
            let value = |values: &[f64]| match values {
                [value] => *value,
                // Decision values of different labels have no common unit; probabilities have.
                values => labels.probabilities(values).map_or(values[class], |probabilities| probabilities[class]),
            };
            let ranked = rows.iter().map(|(own, weight, values)| (value(values), *weight, *own == class)).collect();
            LabelRanking::of(&labels.labels[class], ranked)
        };
        classes.into_iter().filter_map(ranking).collect()
    }
}

impl LabelRanking {
    /// From the value, the weight and the truth of each row.
    fn of(label: &str, mut rows: Vec<(f64, f64, bool)>) -> Option<Self> {
        rows.sort_by(|left, right| f64::total_cmp(&right.0, &left.0));
        let weight_of = |rows: &[(f64, f64, bool)], truth: bool| -> f64 {
            rows.iter().filter(|row| row.2 == truth).map(|row| row.1).sum()
        };
        let (all, others) = (weight_of(&rows, true), weight_of(&rows, false));
        if !(all > 0.0 && others > 0.0) {
            return None;
        }
        let (mut found, mut mistaken) = (0.0, 0.0);
        let (mut roc_area, mut average_precision) = (0.0, 0.0);
        let (mut roc, mut precision_recall) = (vec![(0.0, 0.0)], Vec::new());
        for ties in rows.chunk_by(|left, right| left.0 == right.0) {
            let (right, wrong) = (weight_of(ties, true), weight_of(ties, false));
            if right + wrong == 0.0 {
                continue; // rows that do not count
            }
            roc_area += wrong / others * (found + right / 2.0) / all;
            (found, mistaken) = (found + right, mistaken + wrong);
            let precision = found / (found + mistaken);
            average_precision += right / all * precision;
            roc.push((mistaken / others, found / all));
            precision_recall.push((found / all, precision));
        }
        let share = all / (all + others);
        Some(Self { label: label.to_owned(), share, roc, roc_area, precision_recall, average_precision })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values 3 (yes), 2 (no), 2 (yes), 1 (no), by hand.
    #[test]
    fn curves_by_hand() {
        let rows = vec![(2.0, 1.0, false), (3.0, 1.0, true), (1.0, 1.0, false), (2.0, 1.0, true)];
        let found = LabelRanking::of("yes", rows).unwrap();
        assert_eq!(found.roc, [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]);
        // Of the four pairs three are in order and one is a tie.
        assert!((found.roc_area - 3.5 / 4.0).abs() < 1e-12);
        assert_eq!(found.precision_recall, [(0.5, 1.0), (1.0, 2.0 / 3.0), (1.0, 0.5)]);
        assert!((found.average_precision - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
        assert!((found.share - 0.5).abs() < 1e-12);
    }

    #[test]
    fn weights_count_and_a_label_alone_has_no_curve() {
        let found = LabelRanking::of("yes", vec![(1.0, 3.0, true), (0.5, 1.0, false), (2.0, 0.0, false)]).unwrap();
        assert!((found.roc_area - 1.0).abs() < 1e-12 && (found.share - 0.75).abs() < 1e-12);
        assert_eq!(LabelRanking::of("yes", vec![(1.0, 1.0, true), (2.0, 1.0, true)]), None);
    }
}
