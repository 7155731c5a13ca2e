//! Weights of the candidates that align a kernel with the targets: the q of the simplex that maximises Σ qₘvₘ within a
//! χ²-ball around the uniform weights, M·Σq² − 1 ≤ ρ. The solution is q ∝ (v − η)₊. [Sinha & Duchi 2016; S, LKRF]

use ndarray::ArrayView2;

/// The Euclidean norm of what belongs to each draw, in the rows j, j + m, … of s×k products of features and targets.
pub fn norms_of_draws(products: ArrayView2<f64>, draw_count: usize) -> Vec<f64> {
    let mut squares = vec![0.0; draw_count];
    for (column, products) in products.rows().into_iter().enumerate() {
        squares[column % draw_count] += products.dot(&products);
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// Halvings of the interval of η; each adds a bit.
const STEPS: usize = 200;

/// q. Where all v are equal, the uniform weights.
pub fn aligned_weights(alignments: &[f64], radius: f64) -> Vec<f64> {
    let count = alignments.len() as f64;
    let largest = alignments.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let spread = largest - alignments.iter().copied().fold(f64::INFINITY, f64::min);
    if spread <= 0.0 || spread.is_nan() {
        return vec![1.0 / count; alignments.len()];
    }
    let weights = |eta: f64| -> Vec<f64> {
        let above: Vec<f64> = alignments.iter().map(|v| ((v - eta) / spread).max(0.0)).collect();
        let sum: f64 = above.iter().sum();
        above.into_iter().map(|value| value / sum).collect()
    };
    let divergence = |eta: f64| count * weights(eta).iter().map(|q| q * q).sum::<f64>() - 1.0;
    // The divergence grows with η, from 0 far below all v to that of the largest alone.
    let mut low = largest - spread;
    while divergence(low) > radius {
        let step = 2.0 * (largest - low);
        if step > 1e15 * spread {
            return vec![1.0 / count; alignments.len()];
        }
        low = largest - step;
    }
    let mut high = largest - f64::EPSILON * spread;
    if divergence(high) <= radius {
        return weights(high);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if divergence(middle) > radius { high = middle } else { low = middle }
    }
    weights(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// v = (1, 0) and ρ = ¼: q = ½ ± ½·√ρ, since 2(q² + (1−q)²) − 1 = (2q − 1)².
    #[test]
    fn values_by_hand() {
        let q = aligned_weights(&[1.0, 0.0], 0.25);
        assert!((q[0] - 0.75).abs() < 1e-12 && (q[1] - 0.25).abs() < 1e-12, "{q:?}");
        assert_eq!(aligned_weights(&[2.0, 2.0], 0.5), [0.5, 0.5]);
        let all = aligned_weights(&[1.0, 0.0, 0.0], 5.0);
        assert!((all[0] - 1.0).abs() < 1e-12);
    }
}
