//! The losses, row by row: value, slope and curvature.
//!
//! A margin loss is a function of m = y·f(x), y = ±1; with K ≥ 3 classes it is applied to each class
//! against the rest. The softmax loss takes the K decision values of a row together.

/// A convex loss whose curvature exists almost everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SmoothLoss {
    /// log(1 + e^{−m}).
    Logistic,
    /// max(0, 1−m)².
    SquaredHinge,
    /// The hinge with its corner replaced by a parabola over 1−width ≤ m ≤ 1. It lies at most width/2
    /// below the hinge, and its slope is a feasible point of the hinge's dual.
    RoundedHinge {
        /// Length of the parabola.
        width: f64,
        /// The rows within this of the corner are taken to be on the parabola: `width`, except where a
        /// step is predicted with the rows held that were on a longer one.
        held: f64,
    },
    /// log Σⱼ e^{zⱼ} − z_class.
    Softmax,
}

impl SmoothLoss {
    /// Do the columns of decision values belong to one problem (softmax) or to one problem each?
    pub(super) fn couples_columns(self) -> bool {
        self == Self::Softmax
    }

    /// Value, first and second derivative of a margin loss at `margin`.
    fn at_margin(self, margin: f64) -> [f64; 3] {
        match self {
            Self::Logistic => {
                // e = e^{−|m|} never overflows, and log1p keeps the digits of tiny losses.
                let e = (-margin.abs()).exp();
                let value = (-margin).max(0.0) + e.ln_1p();
                let slope = if margin > 0.0 { -e / (1.0 + e) } else { -1.0 / (1.0 + e) };
                [value, slope, e / ((1.0 + e) * (1.0 + e))]
            }
            Self::SquaredHinge => {
                let short = (1.0 - margin).max(0.0);
                [short * short, -2.0 * short, if short > 0.0 { 2.0 } else { 0.0 }]
            }
            Self::RoundedHinge { width, held } => {
                let short = 1.0 - margin;
                if short <= 0.0 {
                    [0.0; 3]
                } else if short < held {
                    [short * short / (2.0 * width), -short / width, 1.0 / width]
                } else {
                    [short - width / 2.0, -1.0, 0.0]
                }
            }
            Self::Softmax => unreachable!("softmax has no margin"),
        }
    }

    /// The loss of one row of decision values: adds its value to `values` (to the first alone if the
    /// columns are coupled) and writes ∂ℓ/∂z into `slopes` and what [`Self::bend`] needs into
    /// `curvatures`, all times the row's `weight`.
    pub(super) fn evaluate(
        self,
        decisions: &[f64],
        class: usize,
        weight: f64,
        values: &mut [f64],
        slopes: &mut [f64],
        curvatures: &mut [f64],
    ) {
        if weight == 0.0 {
            slopes.fill(0.0);
            curvatures.fill(0.0);
        } else if self == Self::Softmax {
            values[0] += weight * softmax(decisions, class, slopes);
            curvatures.copy_from_slice(slopes); // the probabilities
            slopes[class] -= 1.0;
            for slope in slopes {
                *slope *= weight;
            }
        } else {
            for (column, &decision) in decisions.iter().enumerate() {
                let sign = sign(class, column, decisions.len());
                let [value, slope, curvature] = self.at_margin(sign * decision);
                values[column] += weight * value;
                slopes[column] = weight * sign * slope;
                curvatures[column] = weight * curvature;
            }
        }
    }

    /// ∂²ℓ/∂z² · `change` of one row, in place, times the row's `weight`.
    pub(super) fn bend(self, curvatures: &[f64], weight: f64, change: &mut [f64]) {
        if self == Self::Softmax {
            // (diag p − ppᵀ)·u
            let mean: f64 = curvatures.iter().zip(&*change).map(|(p, u)| p * u).sum();
            for (value, p) in change.iter_mut().zip(curvatures) {
                *value = weight * p * (*value - mean);
            }
        } else {
            change.iter_mut().zip(curvatures).for_each(|(value, curvature)| *value *= curvature);
        }
    }

    /// Adds slope and curvature along `change` at one row of decision values to `sums`.
    pub(super) fn along(self, decisions: &[f64], change: &[f64], class: usize, weight: f64, sums: &mut LineSums) {
        let LineSums { slopes, curvatures, probabilities } = sums;
        if weight == 0.0 {
            return;
        }
        if self == Self::Softmax {
            softmax(decisions, class, probabilities);
            let mean: f64 = probabilities.iter().zip(change).map(|(p, u)| p * u).sum();
            let spread: f64 = probabilities.iter().zip(change).map(|(p, u)| p * (u - mean) * (u - mean)).sum();
            slopes[0] += weight * (mean - change[class]);
            curvatures[0] += weight * spread;
        } else {
            for (column, (&decision, &step)) in decisions.iter().zip(change).enumerate() {
                let sign = sign(class, column, decisions.len());
                let [_, slope, curvature] = self.at_margin(sign * decision);
                slopes[column] += weight * sign * slope * step;
                curvatures[column] += weight * curvature * step * step;
            }
        }
    }

    /// One number for the curvature of a row: the mean over the columns, for softmax the mean
    /// eigenvalue of diag p − ppᵀ off its null vector.
    pub(super) fn mean_curvature(self, curvatures: &[f64], weight: f64) -> f64 {
        if self == Self::Softmax {
            let trace: f64 = curvatures.iter().map(|p| p * (1.0 - p)).sum();
            weight * trace / (curvatures.len() as f64 - 1.0)
        } else {
            curvatures.iter().sum::<f64>() / curvatures.len() as f64
        }
    }
}

/// Derivatives along a line, summed over rows per column (in the first alone if columns are coupled).
pub(super) struct LineSums {
    pub(super) slopes: Vec<f64>,
    pub(super) curvatures: Vec<f64>,
    probabilities: Vec<f64>, // room for one row
}

impl LineSums {
    pub(super) fn new(column_count: usize) -> Self {
        let zeros = vec![0.0; column_count];
        Self { slopes: zeros.clone(), curvatures: zeros.clone(), probabilities: zeros }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.slopes.iter_mut().zip(&other.slopes).for_each(|(sum, value)| *sum += value);
        self.curvatures.iter_mut().zip(&other.curvatures).for_each(|(sum, value)| *sum += value);
    }
}

/// y = ±1 of a class in a column: class 1 against class 0 if there is one column, otherwise the
/// column's class against the rest.
pub(super) fn sign(class: usize, column: usize, column_count: usize) -> f64 {
    let positive = if column_count == 1 { class == 1 } else { class == column };
    if positive { 1.0 } else { -1.0 }
}

/// Writes the class probabilities and returns −log of the probability of `class`.
fn softmax(decisions: &[f64], class: usize, probabilities: &mut [f64]) -> f64 {
    let largest = decisions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (probability, decision) in probabilities.iter_mut().zip(decisions) {
        *probability = (decision - largest).exp();
    }
    let total: f64 = probabilities.iter().sum();
    for probability in probabilities {
        *probability /= total;
    }
    total.ln() + largest - decisions[class]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [SmoothLoss; 4] = [
        SmoothLoss::Logistic,
        SmoothLoss::SquaredHinge,
        SmoothLoss::RoundedHinge { width: 0.5, held: 0.5 },
        SmoothLoss::Softmax,
    ];

    fn evaluated(loss: SmoothLoss, decisions: &[f64], class: usize) -> (f64, Vec<f64>, Vec<f64>) {
        let k = decisions.len();
        let (mut values, mut slopes, mut curvatures) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        loss.evaluate(decisions, class, 1.5, &mut values, &mut slopes, &mut curvatures);
        (values.iter().sum(), slopes, curvatures)
    }

    #[test]
    fn slopes_and_curvatures_are_derivatives() {
        let step = 1e-6;
        for loss in LOSSES {
            for class in 0..3 {
                let decisions = [0.3, -0.8, 0.65]; // no margin near a corner of a hinge
                let (_, slopes, curvatures) = evaluated(loss, &decisions, class);
                for column in 0..3 {
                    let moved = |by: f64| {
                        let mut moved = decisions;
                        moved[column] += by;
                        evaluated(loss, &moved, class)
                    };
                    let (up, down) = (moved(step), moved(-step));
                    assert!(((up.0 - down.0) / (2.0 * step) - slopes[column]).abs() < 1e-8, "{loss:?}");
                    let mut bent = [0.0; 3];
                    bent[column] = 1.0;
                    loss.bend(&curvatures, 1.5, &mut bent);
                    for ((up, down), bent) in up.1.iter().zip(&down.1).zip(bent) {
                        assert!(((up - down) / (2.0 * step) - bent).abs() < 1e-8, "{loss:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_derivatives_along_a_direction_are_those_of_the_rows() {
        let (decisions, change) = ([0.3, -0.8, 0.65], [1.0, 2.0, -0.5]);
        for loss in LOSSES {
            let (_, slopes, curvatures) = evaluated(loss, &decisions, 2);
            let mut bent = change;
            loss.bend(&curvatures, 1.5, &mut bent);
            let mut sums = LineSums::new(3);
            loss.along(&decisions, &change, 2, 1.5, &mut sums);
            let dot = |a: &[f64]| a.iter().zip(&change).map(|(a, b)| a * b).sum::<f64>();
            assert!((sums.slopes.iter().sum::<f64>() - dot(&slopes)).abs() < 1e-14, "{loss:?}");
            assert!((sums.curvatures.iter().sum::<f64>() - dot(&bent)).abs() < 1e-14, "{loss:?}");
        }
    }

    #[test]
    fn huge_decision_values_stay_finite() {
        for loss in LOSSES {
            for class in 0..3 {
                let (value, slopes, curvatures) = evaluated(loss, &[1e3, -1e5, 800.0], class);
                assert!(value.is_finite() && slopes.iter().chain(&curvatures).all(|number| number.is_finite()));
            }
        }
    }
}
