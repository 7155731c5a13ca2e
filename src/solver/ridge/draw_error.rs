//! E(f_s − f)² from models of parts of a pool of draws, with how far one draw may be from it.

use super::pool_subsets::PoolPredictions;
use ndarray::Array2;

/// An estimated mean squared distance to the exact method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawError {
    /// The mean over rows and draws, summed over the outputs.
    pub mean: f64,
    /// The same for the draws of the model itself, as far as the pool knows them.
    pub own: f64,
    /// Variance of the distance of the model, given what the pool knows, as a share of its square.
    pub draw_variance: f64,
    /// Variance of the mean over rows, because they are a sample, as a share of the squared mean.
    pub row_variance: f64,
    /// The squared bias as a share of the variance. One is of the order 1/m², the other of 1/m.
    pub bias_share: f64,
}

impl DrawError {
    /// Parts of a round are independent models of m draws: their sample variance is that of the model. What they have in
    /// common is their bias, b/m in the first order; next to that of the pool, b/M, their mean is off by
    /// (1 − 1/k)·b/m. Its square is taken over the mean of all rounds, less what their scatter adds to it.
    pub fn from_pool(pool: &PoolPredictions) -> Option<Self> {
        let parts = pool.rounds.first()?.len() as f64;
        let rounds = pool.rounds.len() as f64;
        if parts < 2.0 || rounds < 2.0 {
            return None;
        }
        let means: Vec<Array2<f64>> = pool.rounds.iter().filter_map(|round| Some(sum(round)? / parts)).collect();
        let deviations: Vec<Vec<Array2<f64>>> = pool
            .rounds
            .iter()
            .zip(&means)
            .map(|(round, mean)| round.iter().map(|part| part - mean).collect())
            .collect();
        let departures: Vec<Array2<f64>> = means.iter().map(|mean| mean - &pool.whole).collect();
        let unseen = parts / (parts - 1.0);
        let bias = sum(&departures)? / rounds * unseen;
        let scatter = departures.iter().map(|departure| (departure * unseen - &bias).mapv(|gap| gap * gap));
        let noise = sum(&scatter.collect::<Vec<_>>())? / (rounds * (rounds - 1.0));
        let squares = deviations.iter().flatten().map(|deviation| deviation.mapv(|gap| gap * gap));
        let variance = sum(&squares.collect::<Vec<_>>())? / (rounds * (parts - 1.0));
        // f_s − f is d = f_s − f_M, which is known, and f_M − f, which has the covariance C/k and the bias b/M. In the first
        // order of the draws they are independent.
        let own = pool.rounds.first()?.first()? - &pool.whole;
        let pairs = (0..pool.rounds.len()).flat_map(|left| (0..left).map(move |right| (left, right)));
        let pairs = pairs.flat_map(|(left, right)| all_pairs(&deviations[left], &deviations[right]));
        let known = deviations.iter().skip(1).flatten().map(|deviation| (deviation, &own));
        let rows = pool.whole.nrows() as f64;
        let squared_bias = &bias * &bias - noise;
        let mean = Mean::of(&variance, &squared_bias)?;
        // Of f_M − f, tr C/k is estimated from the k parts of a round, so 2·tr C²/k² counts once more over k − 1; the bias
        // term is taken for as uncertain as it is large, because its first order is all that the pool shows.
        let of_bias = (2.0 - 1.0 / parts) * mean.squared_bias / parts;
        let variance_of_own = 2.0 * unseen * (unseen / parts).powi(2) * mean_square(pairs, rows)
            + 4.0 * unseen / parts * mean_square(known, rows)
            + of_bias * of_bias;
        mean.with((&own * &own).sum() / rows + mean.variance / parts + of_bias, variance_of_own)
    }

    /// From the predictions without each of g groups of draws: (g−1)/g·Σ(f₋ⱼ − mean)², which sees no bias.
    pub fn from_groups(without: &[Array2<f64>]) -> Option<Self> {
        let groups = without.len() as f64;
        let mean = sum(without)? / groups;
        let deviations: Vec<Array2<f64>> = without.iter().map(|values| values - &mean).collect();
        let squares = sum(&deviations.iter().map(|deviation| deviation * deviation).collect::<Vec<_>>())?;
        let variance = squares * ((groups - 1.0) / groups);
        let pairs = (0..deviations.len()).flat_map(|left| (0..left).map(move |right| (left, right)));
        let pairs = pairs.map(|(left, right)| (&deviations[left], &deviations[right]));
        // As in a pool: the distance of one draw, and the estimate of its mean from g groups.
        let both = groups / (groups - 1.0);
        let variance_of_own = 2.0 * both * (groups - 1.0).powi(2) * mean_square(pairs, mean.nrows() as f64);
        let mean = Mean::of(&variance, &Array2::zeros(variance.dim()))?;
        mean.with(mean.variance, variance_of_own)
    }
}

/// The mean over rows of variance and squared bias, summed over the outputs.
struct Mean {
    variance: f64,
    /// Not negative: over all rows together a negative square is noise.
    squared_bias: f64,
    /// Of the mean of their sum over rows.
    row_variance: f64,
}

impl Mean {
    /// None with fewer than two rows, and where something overflows.
    fn of(variance: &Array2<f64>, squared_bias: &Array2<f64>) -> Option<Self> {
        let rows = variance.nrows() as f64;
        let biased = if squared_bias.sum() > 0.0 { 1.0 } else { 0.0 };
        let of_row = |row: usize| variance.row(row).sum() + biased * squared_bias.row(row).sum();
        let (of_variance, of_bias) = (variance.sum() / rows, biased * squared_bias.sum() / rows);
        let mean = of_variance + of_bias;
        let spread = (0..variance.nrows()).map(|row| (of_row(row) - mean).powi(2)).sum::<f64>() / (rows - 1.0);
        (rows > 1.0 && mean.is_finite() && spread.is_finite()).then_some(Self {
            variance: of_variance,
            squared_bias: of_bias,
            row_variance: spread / rows,
        })
    }

    fn with(&self, own: f64, variance_of_own: f64) -> Option<DrawError> {
        let mean = self.variance + self.squared_bias;
        let share = |variance: f64, of: f64| if of > 0.0 { variance / (of * of) } else { 0.0 };
        let (draw_variance, row_variance) = (share(variance_of_own, own), share(self.row_variance, mean));
        let bias_share = if self.squared_bias > 0.0 { self.squared_bias / self.variance } else { 0.0 };
        let finite = own.is_finite() && draw_variance.is_finite();
        finite.then_some(DrawError { mean, own, draw_variance, row_variance, bias_share })
    }
}

/// The mean of squared products of pairs, each a mean over rows: tr C² where the pairs are independent with covariance C.
fn mean_square<'a>(pairs: impl Iterator<Item = (&'a Array2<f64>, &'a Array2<f64>)>, rows: f64) -> f64 {
    let squares: Vec<f64> = pairs.map(|(one, other)| ((one * other).sum() / rows).powi(2)).collect();
    squares.iter().sum::<f64>() / squares.len().max(1) as f64
}

fn all_pairs<'a>(
    left: &'a [Array2<f64>],
    right: &'a [Array2<f64>],
) -> impl Iterator<Item = (&'a Array2<f64>, &'a Array2<f64>)> {
    left.iter().flat_map(move |one| right.iter().map(move |other| (one, other)))
}

fn sum(values: &[Array2<f64>]) -> Option<Array2<f64>> {
    let (first, rest) = values.split_first()?;
    Some(rest.iter().fold(first.clone(), |total, values| total + values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two rounds of two parts at two rows. Row 0: parts 1, 3 and 3, 1, variance 2 of each round; the means 2 are 1 from
    /// the pool, so the bias is 2. Row 1 does not vary.
    #[test]
    fn variance_and_bias_by_hand() {
        let part = |value: f64| array![[value], [5.0]];
        let pool = PoolPredictions {
            whole: array![[1.0], [5.0]],
            rounds: vec![vec![part(1.0), part(3.0)], vec![part(3.0), part(1.0)]],
        };
        let found = DrawError::from_pool(&pool).unwrap();
        assert!((found.mean - 3.0).abs() < 1e-15, "{found:?}");
        assert!((found.bias_share - 2.0).abs() < 1e-15, "4 over 2 at one of two rows: {found:?}");
        // Rows 6 and 0: variance 18 of one, 9 of the mean of two, over 3².
        assert!((found.row_variance - 1.0).abs() < 1e-15);
        // The model is the first part: 0 from the pool, which has half of the variance, and (2 − ½)/2 of the squared bias.
        assert!((found.own - 2.0).abs() < 1e-15, "{found:?}");
        // tr C²/k² is the mean of (±1)², over two rows squared, and counts twice for the model and twice for the estimate;
        // the known part is 0; the bias term 1.5 has the variance 1.5². All over 2².
        assert!((found.draw_variance - (4.0 / 4.0 + 1.5 * 1.5) / 4.0).abs() < 1e-15, "{found:?}");
    }

    /// What scatters between rounds is no bias.
    #[test]
    fn scatter_is_taken_off_the_squared_bias() {
        let round = |mean: f64| vec![array![[mean - 1.0], [0.0]], array![[mean + 1.0], [0.0]]];
        let pool = PoolPredictions { whole: array![[0.0], [0.0]], rounds: vec![round(1.0), round(-1.0)] };
        let found = DrawError::from_pool(&pool).unwrap();
        assert!((found.mean - 1.0).abs() < 1e-15, "the variance 2 at one of two rows: {found:?}");
    }

    #[test]
    fn groups_give_the_group_variance() {
        let without: Vec<Array2<f64>> = [2.0, 4.0, 6.0, 8.0].map(|value| array![[value], [value]]).to_vec();
        let found = DrawError::from_groups(&without).unwrap();
        assert_eq!((found.mean, found.own, found.row_variance, found.bias_share), (15.0, 15.0, 0.0, 0.0));
        assert!(DrawError::from_groups(&[]).is_none());
    }
}
