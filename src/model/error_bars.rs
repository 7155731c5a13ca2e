//! How much a prediction depends on which features were drawn: weights without each of a few groups of them.

use crate::linalg::{instructions_for, mixed_dot};
use crate::theory::ours::jackknife::group_variance;
use ndarray::{Array2, ArrayView1, ArrayView2};

/// The weights of a ridge fit without each group of draws. The spread of their predictions estimates the distance to
/// the exact kernel method at each input; an estimate, not a guarantee, and less sure with few features than the one
/// of the mean distance, which may look at more of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorBars {
    /// g.
    pub(super) group_count: usize,
    /// Outputs × groups × s, so that the weights of one prediction lie side by side.
    pub(super) weights: Vec<f64>,
}

impl ErrorBars {
    /// From the weights (s×k) without each group; none with fewer than two groups.
    pub fn new(without: &[Array2<f64>]) -> Option<Self> {
        let first = without.first().filter(|_| without.len() > 1)?;
        let outputs = 0..first.ncols();
        let weights =
            outputs.flat_map(|output| without.iter().flat_map(move |weights| weights.column(output).to_vec()));
        Some(Self { group_count: without.len(), weights: weights.collect() })
    }

    /// The standard deviation over features of each output at features ψ.
    pub fn standard_deviations(&self, features: ArrayView1<f64>) -> Vec<f64> {
        let (arch, features) = (instructions_for(1), features.as_standard_layout());
        let features = features.as_slice().expect("contiguous");
        let of_output = |weights: &[f64]| {
            let predictions = weights.chunks_exact(features.len()).map(|weights| mixed_dot(arch, features, weights));
            group_variance(&predictions.collect::<Vec<f64>>()).sqrt()
        };
        self.weights.chunks_exact(self.group_count * features.len()).map(of_output).collect()
    }

    /// What the model predicts without each group but for its intercepts, rows×outputs each, at features Ψ (rows×s).
    pub fn predictions(&self, features: ArrayView2<f64>) -> Vec<Array2<f64>> {
        let s = features.ncols();
        let outputs = self.weights.len() / (self.group_count * s);
        let of_group = |group: usize| {
            let weights = Array2::from_shape_fn((s, outputs), |(column, output)| {
                self.weights[(output * self.group_count + group) * s + column]
            });
            features.dot(&weights)
        };
        (0..self.group_count).map(of_group).collect()
    }

    /// Numbers it holds.
    pub fn number_count(&self) -> usize {
        self.weights.len()
    }

    /// Whether the parts fit a model of these sizes.
    pub fn is_consistent(&self, feature_count: usize, output_count: usize) -> bool {
        let number_count = self.group_count.checked_mul(feature_count).and_then(|all| all.checked_mul(output_count));
        self.group_count > 1
            && number_count == Some(self.weights.len())
            && self.weights.iter().all(|weight| weight.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two groups, two outputs, ψ = (1, 2): predictions 5 and 1 of the first, 3 and 3 of the second, so
    /// variances ½((5−3)² + (1−3)²) = 4 and 0.
    #[test]
    fn the_spread_over_groups_by_hand() {
        let without = [array![[1.0, 3.0], [2.0, 0.0]], array![[1.0, 1.0], [0.0, 1.0]]];
        let bars = ErrorBars::new(&without).unwrap();
        assert_eq!(bars.standard_deviations(array![1.0, 2.0].view()), [2.0, 0.0]);
        assert!(bars.is_consistent(2, 2) && !bars.is_consistent(2, 1) && !bars.is_consistent(3, 2));
        assert!(ErrorBars::new(&without[..1]).is_none());
        let wild = ErrorBars { group_count: usize::MAX / 2 + 1, ..bars }; // four times that wraps around to 0
        assert!(!wild.is_consistent(2, 2) && !ErrorBars { weights: vec![], ..wild }.is_consistent(2, 2));
    }
}
