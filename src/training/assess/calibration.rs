//! The slope that turns decision values into probabilities.

use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::model::{Head, Labels};
use crate::training::Learner;
use crate::training::rows::classes::Classes;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use ndarray::{Array2, ArrayView2, Axis};

/// The head with the slope of its probabilities: 1 for log odds, fitted on the calibration rows for other decision
/// values. Numbers have none.
pub(crate) fn calibrated(
    run: &Run,
    function: &ScoredFunction,
    head: Head,
    learner: Learner,
) -> Result<Head, TrainError> {
    let Head::Labels(labels) = head else { return Ok(head) };
    if learner.gives_log_odds() {
        return Ok(Head::Labels(Labels { slope: Some(1.0), ..labels }));
    }
    let nothing = Array2::zeros((0, labels.output_count()));
    let predict = |rows: &[&[f64]]| function.predict(rows);
    let values = run.evaluate(Part::Calibration, predict, nothing, |values, _, predictions| {
        values.append(Axis(0), predictions).expect("as many columns");
    })?;
    let classes = Classes::of(run, Part::Calibration, labels.labels.len())?;
    let slope = calibrate(&labels, values.view(), &classes.of_rows, &classes.weights);
    Ok(Head::Labels(Labels { slope, ..labels }))
}

/// The slope a of p ∝ e^{a·f}/w whose mean log loss over the calibration rows is smallest: a convex
/// problem in one unknown, solved by bisection of its derivative. [Guo et al. 2017, temperature scaling]
/// The targets are softened as Platt's, so that separable rows do not ask for an infinite slope.
///
/// A slope without an offset keeps the order of decision values: the most probable label stays the one
/// that was decided for.
fn calibrate(labels: &Labels, values: ArrayView2<f64>, classes: &[usize], weights: &[f64]) -> Option<f64> {
    const STEPS: usize = 100;
    const REACH: f64 = 1e4;
    let total: f64 = weights.iter().sum();
    let size = values.iter().map(|value| value.abs()).sum::<f64>() / values.len().max(1) as f64;
    if !(total > 0.0 && size > 0.0 && size.is_finite()) {
        return None;
    }
    let softening = 2.0 / (classes.len() as f64 + 2.0);
    let class_count = labels.labels.len();
    let value_of = |row: &[f64], class: usize| match row {
        [value] => class as f64 * value,
        row => row[class],
    };
    // d/da of −Σ t log p = Σ (p − t)·f.
    let derivative = |slope: f64| -> f64 {
        let of_row = |((row, &class), weight): ((ndarray::ArrayView1<f64>, &usize), &f64)| {
            let row = row.to_vec();
            let terms = labels.probabilities_at(slope, &row).into_iter().enumerate().map(|(label, p)| {
                let target = if label == class { 1.0 - softening } else { 0.0 } + softening / class_count as f64;
                (p - target) * value_of(&row, label)
            });
            weight * terms.sum::<f64>()
        };
        values.rows().into_iter().zip(classes).zip(weights).map(of_row).sum()
    };
    // Slopes of both very flat and very steep curves, in units of the decision values.
    let (mut low, mut high) = (1.0 / (REACH * size), REACH / size);
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if derivative(middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some((low * high).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn labels(count: usize) -> Labels {
        let names = (0..count).map(|label| label.to_string()).collect();
        Labels { target: "t".into(), labels: names, slope: None, log_weights: vec![0.0; count] }
    }

    /// Values of ±1 of which three quarters are right: odds 3, so a = ln 3, up to the softening.
    #[test]
    fn the_slope_by_hand() {
        let rows = 40_000;
        let values = Array2::from_shape_fn((rows, 1), |(i, _)| if i % 2 == 0 { 1.0 } else { -1.0 });
        let classes: Vec<usize> = (0..rows).map(|i| usize::from((i % 2 == 0) != (i % 8 < 2))).collect();
        let slope = calibrate(&labels(2), values.view(), &classes, &vec![1.0; rows]).unwrap();
        assert!((slope - 3_f64.ln()).abs() < 1e-3, "{slope}");
        // Decision values in other units, slope in other units.
        let scaled = calibrate(&labels(2), (values * 50.0).view(), &classes, &vec![1.0; rows]).unwrap();
        assert!((scaled * 50.0 / slope - 1.0).abs() < 1e-9);
    }

    /// Drawn from a softmax of known slope, the slope is found.
    #[test]
    fn the_slope_of_a_softmax_is_found() {
        let labels = labels(3);
        let mut stream = Uniform(1);
        let values = Array2::from_shape_fn((30_000, 3), |_| 2.0 * stream.next() - 1.0);
        let classes: Vec<usize> = values
            .rows()
            .into_iter()
            .map(|row| {
                let p = labels.probabilities_at(2.5, &row.to_vec());
                let u = stream.next();
                if u < p[0] { 0 } else { 1 + usize::from(u >= p[0] + p[1]) }
            })
            .collect();
        let slope = calibrate(&labels, values.view(), &classes, &vec![1.0; 30_000]).unwrap();
        assert!((slope - 2.5).abs() < 0.06, "{slope}");
    }

    #[test]
    fn separable_rows_give_a_finite_slope_and_no_rows_none() {
        let slope = calibrate(&labels(2), array![[-1.0], [1.0]].view(), &[0, 1], &[1.0, 1.0]).unwrap();
        assert!(slope.is_finite() && slope > 0.5, "{slope}");
        assert_eq!(calibrate(&labels(2), Array2::zeros((0, 1)).view(), &[], &[]), None);
        assert_eq!(calibrate(&labels(2), Array2::zeros((2, 1)).view(), &[0, 1], &[1.0, 1.0]), None);
    }

    struct Uniform(u64);

    impl Uniform {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }
}
