//! The predictive spread of a ridge model: its own estimate of how far a new observation may be from the prediction.

/// The Bayesian linear predictive variance σ̂²(1 + ψᵀ(G+λI)⁻¹ψ/n): ridge regression is the posterior
/// mean under a gaussian prior on the weights and gaussian noise. An estimate, not a guarantee.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// σ̂² = RSS/(n − tr H) of each target.
    pub noise_variances: Vec<f64>,
    /// n.
    pub sample_count: usize,
    /// L with L·Lᵀ = G + λI: the lower triangle, row by row.
    pub factor: Vec<f64>,
}

impl Spread {
    /// The predictive standard deviation of each target at features ψ: ψᵀ(L·Lᵀ)⁻¹ψ = ‖z‖² with
    /// L z = ψ.
    pub fn standard_deviations(&self, features: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut z: Vec<f64> = Vec::new();
        let mut row_start = 0;
        for (i, feature) in features.enumerate() {
            let row = &self.factor[row_start..=row_start + i];
            let known: f64 = row.iter().zip(&z).map(|(l, z)| l * z).sum();
            z.push((feature - known) / row[i]);
            row_start += i + 1;
        }
        let leverage = z.iter().map(|z| z * z).sum::<f64>() / self.sample_count as f64;
        self.noise_variances.iter().map(|variance| (variance * (1.0 + leverage)).sqrt()).collect()
    }

    /// Whether the factor has this order and a positive diagonal.
    pub fn is_consistent(&self, feature_count: usize, target_count: usize) -> bool {
        let diagonal = (0..feature_count).map(|i| i * (i + 3) / 2);
        self.factor.len() == feature_count * (feature_count + 1) / 2
            && self.factor.iter().all(|value| value.is_finite())
            && diagonal.into_iter().all(|at| self.factor[at] > 0.0)
            && self.noise_variances.len() == target_count
            && self.noise_variances.iter().all(|variance| *variance >= 0.0 && variance.is_finite())
            && self.sample_count > 0
    }
}
