//! Held-out rows with what the model says about them: pictures of its errors are drawn from these.

use crate::model::{FittedModel, Head};
use crate::theory::ours::conformal::conformal_quantile;

/// A bounded part of the validation rows, from all over the dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutSample {
    /// Validation rows in all.
    pub available: usize,
    /// Target cells, rows×targets; a class by its number.
    pub targets: Vec<f64>,
    /// Outputs of the function, rows×k.
    pub outputs: Vec<f64>,
    /// How much each row counts; empty if all count the same.
    pub weights: Vec<f64>,
    /// Predictive standard deviations, rows×k; empty unless intervals are measured in them.
    pub spreads: Vec<f64>,
}

/// A held-out row of one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutRow {
    /// What the table says.
    pub actual: f64,
    /// What the model says.
    pub predicted: f64,
    /// The ends of its interval at the δ of the model, where it has one.
    pub interval: Option<(f64, f64)>,
}

/// How often intervals or label sets contain the target, on rows that did not calibrate them.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCoverage {
    /// Rows that were looked at.
    pub rows: usize,
    /// Whether half of the held-out rows calibrated the intervals that were tested on the other half.
    pub halved: bool,
    /// (promised share 1 − δ, measured share).
    pub levels: Vec<(f64, f64)>,
}

impl HeldOutSample {
    /// Rows that are kept.
    pub fn count(&self, head: &Head) -> usize {
        self.targets.len() / head.targets().len().max(1)
    }

    /// How much a row counts.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// Whether it fits a model with this head.
    pub fn is_consistent(&self, head: &Head) -> bool {
        let (rows, k) = (self.count(head), head.output_count());
        let in_classes =
            |labels: usize| self.targets.iter().all(|class| class.fract() == 0.0 && *class < labels as f64);
        let positive = |numbers: &[f64]| numbers.iter().all(|number| *number >= 0.0);
        rows > 0
            && self.available >= rows
            && self.targets.len() == rows * head.targets().len().max(1)
            && self.outputs.len() == rows * k
            && [0, rows].contains(&self.weights.len())
            && [0, rows * k].contains(&self.spreads.len())
            && positive(&self.weights)
            && positive(&self.spreads)
            && self.targets.iter().chain(&self.outputs).all(|number| number.is_finite())
            && head.labels().is_none_or(|labels| in_classes(labels.labels.len()) && positive(&self.targets))
    }
}

impl FittedModel {
    /// The held-out rows of one target of numbers, in the order of the dataset.
    pub fn held_out_rows(&self, target: usize) -> Vec<HeldOutRow> {
        let (Some(sample), k) = (&self.held_out, self.head.output_count()) else { return Vec::new() };
        let quantile = self.calibration_scores().map(|scores| conformal_quantile(scores, self.failure_probability));
        let row = |row: usize| {
            let (actual, predicted) = (sample.targets[row * k + target], sample.outputs[row * k + target]);
            let half = quantile.zip(self.interval_unit(sample, row, target)).map(|(quantile, unit)| quantile * unit);
            let interval = half.filter(|half| half.is_finite()).map(|half| (predicted - half, predicted + half));
            HeldOutRow { actual, predicted, interval }
        };
        (0..sample.count(&self.head)).map(row).collect()
    }

    /// What the scores of a row are multiples of.
    fn interval_unit(&self, sample: &HeldOutSample, row: usize, target: usize) -> Option<f64> {
        if self.scales_intervals() {
            return sample.spreads.get(row * self.head.output_count() + target).copied();
        }
        self.interval_scales.get(target).copied()
    }

    /// The conformal score of a held-out row.
    fn held_out_score(&self, sample: &HeldOutSample, row: usize) -> Option<f64> {
        let k = self.head.output_count();
        let outputs = &sample.outputs[row * k..][..k];
        match &self.head {
            Head::Labels(labels) => {
                let class = sample.targets[row] as usize;
                labels.conformal_scores(outputs).get(class).copied()
            }
            Head::Numbers { .. } => (0..k).try_fold(0.0, |largest: f64, target| {
                let unit = self.interval_unit(sample, row, target)?.max(f64::MIN_POSITIVE);
                Some(largest.max((sample.targets[row * k + target] - outputs[target]).abs() / unit))
            }),
        }
    }

    /// The share of held-out rows within their intervals or label sets at each promised share, in percent. If the same
    /// rows calibrate the intervals of the model, every second of them calibrates others, which the rest is tested with.
    /// None without intervals, and where rows are weighted.
    pub fn measured_coverage(&self, percents: &[u32]) -> Option<MeasuredCoverage> {
        let (sample, known) = (self.held_out.as_ref()?, self.calibration_scores()?);
        let scores = (0..sample.count(&self.head)).map(|row| self.held_out_score(sample, row));
        let scores: Vec<f64> = scores.collect::<Option<_>>()?;
        let halved = self.report.calibration_rows == 0;
        let (calibration, tested) = if halved {
            let mut first: Vec<f64> = scores.iter().copied().step_by(2).collect();
            first.sort_by(f64::total_cmp);
            (first, scores.into_iter().skip(1).step_by(2).collect())
        } else {
            (known.to_vec(), scores)
        };
        if tested.is_empty() {
            return None;
        }
        let level = |percent: &u32| {
            let delta = f64::from(100 - percent) / 100.0;
            let quantile = conformal_quantile(&calibration, delta);
            let covered = tested.iter().filter(|score| **score <= quantile).count();
            quantile.is_finite().then(|| (f64::from(*percent) / 100.0, covered as f64 / tested.len() as f64))
        };
        let levels: Vec<(f64, f64)> = percents.iter().filter_map(level).collect();
        (!levels.is_empty()).then_some(MeasuredCoverage { rows: tested.len(), halved, levels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Labels;

    #[test]
    fn a_sample_fits_its_head_or_is_refused() {
        let numbers = Head::Numbers { targets: vec!["a".into(), "b".into()] };
        let sample = HeldOutSample {
            available: 5,
            targets: vec![1.0, 2.0, 3.0, 4.0],
            outputs: vec![1.0, 2.0, 3.0, 5.0],
            weights: vec![],
            spreads: vec![],
        };
        assert!(sample.is_consistent(&numbers));
        assert_eq!((sample.count(&numbers), sample.weight(1)), (2, 1.0));
        let wrong = [
            HeldOutSample { outputs: vec![1.0; 3], ..sample.clone() },
            HeldOutSample { available: 1, ..sample.clone() },
            HeldOutSample { weights: vec![1.0, f64::NAN], ..sample.clone() },
            HeldOutSample { targets: vec![1.0, 2.0, 3.0, f64::INFINITY], ..sample.clone() },
            HeldOutSample { targets: vec![], outputs: vec![], ..sample.clone() },
        ];
        assert!(wrong.iter().all(|wrong| !wrong.is_consistent(&numbers)));
        let labels = Labels {
            target: "t".into(),
            labels: vec!["no".into(), "yes".into()],
            slope: None,
            log_weights: vec![0.0; 2],
        };
        let classes = |targets: Vec<f64>| HeldOutSample { targets, outputs: vec![0.5, -0.5], ..sample.clone() };
        let head = Head::Labels(labels);
        assert!(classes(vec![0.0, 1.0]).is_consistent(&head));
        for class in [2.0, -1.0, 0.5] {
            assert!(!classes(vec![0.0, class]).is_consistent(&head), "{class}");
        }
    }
}
