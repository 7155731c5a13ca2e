//! Target cells to the numbers that a least-squares fit works on, and back.

use crate::dataset::ColumnMoments;
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// How target cells become numbers of comparable size.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetCoding {
    /// y ↦ (y − shift)/unit for each target. The shift only keeps sums small: the mean that centres the
    /// targets is taken out of the sums themselves. A single target keeps its unit; several are
    /// measured in standard deviations, so that no target dominates the choice of λ by its scale.
    Numbers {
        /// Near the mean of each target.
        shift: Vec<f64>,
        /// Above zero.
        unit: Vec<f64>,
    },
    /// A class index becomes ±1: one number for two classes, otherwise one for each class.
    Classes {
        /// At least two.
        count: usize,
    },
}

impl TargetCoding {
    /// The coding of numbers with these moments.
    pub fn of_numbers(moments: &[ColumnMoments]) -> Self {
        let unit = |moments: &ColumnMoments| moments.variance().sqrt();
        Self::Numbers {
            shift: moments.iter().map(ColumnMoments::mean).collect(),
            unit: if let [_] = moments { vec![1.0] } else { moments.iter().map(unit).collect() },
        }
    }

    /// k, the numbers that one row is coded as.
    pub fn width(&self) -> usize {
        match self {
            Self::Numbers { shift, .. } => shift.len(),
            Self::Classes { count: 2 } => 1,
            Self::Classes { count } => *count,
        }
    }

    /// Codes target cells, rows×(columns of the table), as rows×k.
    pub fn code(&self, cells: ArrayView2<f64>) -> Array2<f64> {
        let sign = |is_class: bool| if is_class { 1.0 } else { -1.0 };
        Array2::from_shape_fn((cells.nrows(), self.width()), |(row, output)| match self {
            Self::Numbers { shift, unit } => (cells[[row, output]] - shift[output]) / unit[output],
            Self::Classes { count: 2 } => sign(cells[[row, 0]] == 1.0),
            Self::Classes { .. } => sign(cells[[row, 0]] == output as f64),
        })
    }

    /// Target cells as the model predicts them: numbers as they are, classes as signs.
    pub fn in_own_units(&self, cells: Array2<f64>) -> Array2<f64> {
        match self {
            Self::Numbers { .. } => cells,
            Self::Classes { .. } => self.code(cells.view()),
        }
    }

    /// Weights (s×k) in the units of the targets.
    pub fn decode_weights(&self, weights: &Array2<f64>) -> Array2<f64> {
        weights * &Array1::from_shape_fn(self.width(), |output| self.unit(output)).insert_axis(Axis(0))
    }

    /// Intercepts for outputs whose coded mean is `means`.
    pub fn decode_means(&self, means: &Array1<f64>) -> Vec<f64> {
        means.iter().enumerate().map(|(output, mean)| self.shift(output) + mean * self.unit(output)).collect()
    }

    /// Mean squares in the units of the targets.
    pub fn decode_squares(&self, squares: &Array1<f64>) -> Vec<f64> {
        squares.iter().enumerate().map(|(output, square)| square * self.unit(output).powi(2)).collect()
    }

    /// Whether it fits a model with this many outputs.
    pub fn is_consistent(&self, output_count: usize) -> bool {
        self.width() == output_count
            && match self {
                Self::Numbers { shift, unit } => {
                    unit.len() == shift.len()
                        && shift.iter().all(|shift| shift.is_finite())
                        && unit.iter().all(|unit| *unit > 0.0 && unit.is_finite())
                }
                Self::Classes { count } => *count >= 2,
            }
    }

    fn shift(&self, output: usize) -> f64 {
        match self {
            Self::Numbers { shift, .. } => shift[output],
            Self::Classes { .. } => 0.0,
        }
    }

    fn unit(&self, output: usize) -> f64 {
        match self {
            Self::Numbers { unit, .. } => unit[output],
            Self::Classes { .. } => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn several_targets_are_measured_in_standard_deviations_and_one_is_not() {
        let mut moments = ColumnMoments::EMPTY;
        moments.observe(1.0);
        moments.observe(5.0); // mean 3, standard deviation 2
        let one = TargetCoding::of_numbers(&[moments]);
        assert_eq!(one.code(array![[7.0]].view()), array![[4.0]]);
        let two = TargetCoding::of_numbers(&[moments, moments]);
        assert_eq!(two.code(array![[7.0, 1.0]].view()), array![[2.0, -1.0]]);
        assert_eq!(two.decode_weights(&array![[0.5, 1.0]]), array![[1.0, 2.0]]);
        assert_eq!(two.decode_means(&array![0.0, 1.0]), [3.0, 5.0]);
        assert_eq!(two.decode_squares(&array![1.0, 0.5]), [4.0, 2.0]);
    }

    #[test]
    fn classes_are_signs() {
        let two = TargetCoding::Classes { count: 2 };
        assert_eq!(two.code(array![[0.0], [1.0]].view()), array![[-1.0], [1.0]]);
        let three = TargetCoding::Classes { count: 3 };
        assert_eq!(three.code(array![[2.0]].view()), array![[-1.0, -1.0, 1.0]]);
    }
}
