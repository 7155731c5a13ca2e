//! Squared leave-one-out residuals of a fit, and whether another fit of the same rows is better by more than chance.

use ndarray::{Array2, ArrayView1};

/// Of some rows, the same for all fits that are compared.
#[derive(Debug, Clone)]
pub(in crate::training::fit) struct Residuals {
    /// Of each row, the mean over the targets.
    pub(in crate::training::fit) squares: Vec<f64>,
    /// How much each row counts.
    pub(super) row_weights: Vec<f64>,
}

impl Residuals {
    /// Of residuals (rows×targets) of rows that all count the same.
    pub(in crate::training::fit) fn of(residuals: &Array2<f64>) -> Self {
        let square = |row: ArrayView1<f64>| row.dot(&row) / row.len() as f64;
        let squares: Vec<f64> = residuals.rows().into_iter().map(square).collect();
        Self { row_weights: vec![1.0; squares.len()], squares }
    }

    /// The mean.
    pub(in crate::training::fit) fn error(&self) -> f64 {
        let weighted = self.squares.iter().zip(&self.row_weights);
        let sum: f64 = weighted.map(|(square, weight)| square * weight).sum();
        sum / self.row_weights.iter().sum::<f64>()
    }

    /// By how much the error is smaller than another, and the standard error of that.
    pub(in crate::training::fit) fn gain_over(&self, other: &Self) -> (f64, f64) {
        let gains: Vec<f64> = other.squares.iter().zip(&self.squares).map(|(other, own)| other - own).collect();
        paired(&gains, &self.row_weights)
    }
}

/// The weighted mean of some differences, and its standard error.
fn paired(differences: &[f64], weights: &[f64]) -> (f64, f64) {
    let total: f64 = weights.iter().sum();
    let mean = differences.iter().zip(weights).map(|(difference, weight)| difference * weight).sum::<f64>() / total;
    let square = |(difference, weight): (&f64, &f64)| (weight * (difference - mean)).powi(2);
    let squares: f64 = differences.iter().zip(weights).map(square).sum();
    (mean, squares.sqrt() / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences 1, 2 and 3: mean 2, and √2/3 without the correction of small samples.
    #[test]
    fn a_gain_and_its_standard_error_by_hand() {
        let (mean, error) = paired(&[1.0, 2.0, 3.0], &[1.0; 3]);
        assert!((mean - 2.0).abs() < 1e-15 && (error - 2.0_f64.sqrt() / 3.0).abs() < 1e-15);
        let (mean, error) = paired(&[1.0, 5.0], &[3.0, 0.0]); // a row that does not count
        assert_eq!((mean, error), (1.0, 0.0));
    }
}
