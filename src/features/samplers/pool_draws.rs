//! Draws from a pool of candidates: by chance in proportion to their scores, or those with the largest.

use crate::random::{Purpose, Stream};

/// `count` candidates with replacement, each with a probability proportional to its score; draw t comes from random
/// stream t. The scores are at least zero and not all zero.
pub fn draw_by_score(scores: &[f64], seed: u64, count: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let sums: Vec<f64> = scores
        .iter()
        .map(|score| {
            sum += score;
            sum
        })
        .collect();
    let draw = |t: usize| {
        let at = Stream::new(seed, Purpose::PoolDraws, t as u64).uniform() * sum;
        sums.partition_point(|sum| *sum <= at).min(scores.len().saturating_sub(1))
    };
    (0..count).map(draw).collect()
}

/// The `count` candidates with the largest scores, the largest first; of equals, the first.
pub fn largest_scores(scores: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&left, &right| scores[right].total_cmp(&scores[left]).then(left.cmp(&right)));
    order.truncate(count);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_come_as_often_as_their_scores_say() {
        let draws = draw_by_score(&[1.0, 0.0, 3.0], 5, 40_000);
        let share = |candidate| draws.iter().filter(|draw| **draw == candidate).count() as f64 / 40_000.0;
        assert_eq!(share(1), 0.0);
        // Five standard errors.
        assert!((share(2) - 0.75).abs() < 5.0 * (0.75_f64 * 0.25 / 40_000.0).sqrt(), "{}", share(2));
        assert_eq!(draws[..10], draw_by_score(&[1.0, 0.0, 3.0], 5, 10));
    }

    #[test]
    fn of_equal_scores_the_first_is_kept() {
        assert_eq!(largest_scores(&[1.0, 3.0, 3.0, 2.0], 3), [1, 2, 3]);
    }
}
