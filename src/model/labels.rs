//! Decision values to labels and probabilities.

/// The labels of a classifier and how its decision values lead to them. Two labels share one decision value,
/// positive for the second; three or more have one each.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// Name of the predicted column.
    pub target: String,
    /// At least two, sorted.
    pub labels: Vec<String>,
    /// Slope a of the probabilities p ∝ e^{a·f}/w; none if no rows were there to fit it. It does not change the order
    /// of the decision values, so the label is the most probable one unless there are class weights.
    pub slope: Option<f64>,
    /// log w of each label's class weight w. The label minimises the expected cost, w·p ∝ e^{a·f}; the probability p has
    /// the weights divided out again.
    pub log_weights: Vec<f64>,
}

/// The label with the largest decision value; ties go to the first. Two labels share one value.
pub fn largest_value(values: &[f64]) -> usize {
    match values {
        [value] => usize::from(*value > 0.0),
        values => (1..values.len()).fold(0, |best, label| if values[label] > values[best] { label } else { best }),
    }
}

impl Labels {
    /// Decision values of a row: one for two labels, otherwise one for each label.
    pub fn output_count(&self) -> usize {
        if self.labels.len() == 2 { 1 } else { self.labels.len() }
    }

    /// The label with the largest decision value.
    pub fn decide(&self, values: &[f64]) -> usize {
        largest_value(values)
    }

    /// The probability of each label.
    pub fn probabilities(&self, values: &[f64]) -> Option<Vec<f64>> {
        self.slope.map(|slope| self.probabilities_at(slope, values))
    }

    /// The probabilities at a given slope.
    pub fn probabilities_at(&self, slope: f64, values: &[f64]) -> Vec<f64> {
        let score = |(label, log_weight): (usize, &f64)| match values {
            [value] => label as f64 * slope * value - log_weight,
            values => slope * values[label] - log_weight,
        };
        let scores: Vec<f64> = self.log_weights.iter().enumerate().map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max); // so that no exponential overflows
        if !largest.is_finite() {
            return self.probabilities_far_out(slope, values);
        }
        let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let total: f64 = powers.iter().sum();
        powers.iter().map(|power| power / total).collect()
    }

    /// The same if slope times value overflows: computed from differences to the largest value, which may be infinite.
    fn probabilities_far_out(&self, slope: f64, values: &[f64]) -> Vec<f64> {
        let value = |label: usize| match values {
            [value] => label as f64 * value,
            values => values[label],
        };
        let decided = self.decide(values);
        let score = |label: usize| {
            let weight = self.log_weights[label] - self.log_weights[decided];
            slope * (value(label) - value(decided)) - weight
        };
        let scores: Vec<f64> = (0..self.log_weights.len()).map(score).collect();
        let largest = scores.iter().copied().fold(0.0, f64::max); // finite: no label lies above the decided one
        let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let total: f64 = powers.iter().sum();
        powers.iter().map(|power| power / total).collect()
    }

    /// Conformal score of each label: 1 − p at a slope of 1, not at the fitted slope. Rows that fitted the slope can then
    /// be scored as well, because the score does not depend on them.
    pub fn conformal_scores(&self, values: &[f64]) -> Vec<f64> {
        self.probabilities_at(1.0, values).iter().map(|probability| 1.0 - probability).collect()
    }

    /// Whether there is a finite weight for each of two or more labels, and a positive slope if any.
    pub fn is_consistent(&self) -> bool {
        self.labels.len() >= 2
            && self.log_weights.len() == self.labels.len()
            && self.log_weights.iter().all(|weight| weight.is_finite())
            && self.slope.is_none_or(|slope| slope > 0.0 && slope.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(count: usize, log_weights: &[f64]) -> Labels {
        Labels {
            target: "t".into(),
            labels: (0..count).map(|label| label.to_string()).collect(),
            slope: Some(1.0),
            log_weights: log_weights.to_vec(),
        }
    }

    #[test]
    fn two_labels_follow_the_logistic_curve() {
        let two = labels(2, &[0.0, 0.0]);
        let p = two.probabilities(&[3_f64.ln()]).unwrap();
        assert!((p[1] - 0.75).abs() < 1e-15 && (p[0] - 0.25).abs() < 1e-15);
        assert_eq!((two.decide(&[0.1]), two.decide(&[-0.1])), (1, 0));
        assert_eq!(two.probabilities(&[1e300]).unwrap(), [0.0, 1.0]);
        assert_eq!(two.probabilities(&[-1e300]).unwrap(), [1.0, 0.0]);
    }

    /// Weight 3 on the second label moves its odds by 3; the probability moves them back.
    #[test]
    fn class_weights_decide_the_label_and_leave_the_probability() {
        let weighted = labels(2, &[0.0, 3_f64.ln()]);
        let value = [2_f64.ln()]; // odds 2 of the weighted fit, 2/3 of the rows
        assert_eq!(weighted.decide(&value), 1);
        assert!((weighted.probabilities(&value).unwrap()[1] - 0.4).abs() < 1e-15);
    }

    #[test]
    fn several_labels_are_a_softmax_and_the_first_of_equals_wins() {
        let three = labels(3, &[0.0; 3]);
        let p = three.probabilities(&[0.0, 2_f64.ln(), 0.0]).unwrap();
        assert!((p[1] - 0.5).abs() < 1e-15 && (p[0] - 0.25).abs() < 1e-15);
        assert_eq!(three.decide(&[1.0, 1.0, 0.5]), 0);
        let p = three.probabilities_at(1e6, &[-1.0, 1.0, 0.0]);
        assert_eq!(p, [0.0, 1.0, 0.0]);
    }
    #[test]
    fn values_far_out_have_the_probabilities_of_the_limit() {
        let steep = |count, log_weights: &[f64]| Labels { slope: Some(1e3), ..labels(count, log_weights) };
        let two = steep(2, &[0.0, 3_f64.ln()]);
        assert_eq!(two.probabilities(&[3.7e306]).unwrap(), [0.0, 1.0]);
        assert_eq!(two.probabilities(&[-3.7e306]).unwrap(), [1.0, 0.0]);
        let three = steep(3, &[0.0; 3]);
        assert_eq!(three.probabilities(&[1e306, 2e306, -f64::MAX]).unwrap(), [0.0, 1.0, 0.0]);
        assert_eq!(three.probabilities(&[-3e306, -2e306, -f64::MAX]).unwrap(), [0.0, 1.0, 0.0]);
        assert_eq!(three.probabilities(&[1e306, 1e306, 0.0]).unwrap(), [0.5, 0.5, 0.0]);
        assert_eq!(two.conformal_scores(&[f64::MAX]), [1.0, 0.0]);
    }
}
