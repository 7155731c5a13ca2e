//! The candidates that ridge regression on a pool needs most: fit the pool, drop the draws whose weights are smallest,
//! fit the rest again, until as many are left as are wanted. All fits are blocks of one Gram matrix.
//!
//! A draw that goes takes with it what others can make up for; after a fit of the rest their weights say so, which those
//! of the first fit cannot. [I. Guyon et al., *Gene selection for cancer classification using support vector machines*,
//! 2002: recursive feature elimination]

use super::target_alignment::norms_of_draws;
use crate::linalg::{Cholesky, FactorError, checkpoint};
use crate::solver::NormalEquations;
use ndarray::{Array2, Axis};

/// Share of the draws that stays in a round.
const KEPT: f64 = 0.75;

/// The draws that a regression needs most.
pub struct NeededDraws {
    /// Ascending.
    pub draws: Vec<usize>,
    /// Of their weights in the last fit.
    pub norms: Vec<f64>,
}

/// The draws that are left; none if `go_on`, which is told the share of the work that is done, says no. The columns of
/// draw j are j, j + m, … As in the jackknife the columns of the rest grow as their number falls, so λ falls with it in
/// the units of the pool.
pub fn needed_draws(
    equations: &NormalEquations,
    ridge: f64,
    (draw_count, wanted): (usize, usize),
    threads: usize,
    go_on: impl Fn(f64) -> bool,
) -> Result<Option<NeededDraws>, FactorError> {
    let copies = equations.right_side.nrows() / draw_count;
    let mut left: Vec<usize> = (0..draw_count).collect();
    let work = |count: usize| (count as f64).powi(3);
    let whole = work(draw_count) / (1.0 - KEPT.powi(3));
    let mut done = 0.0;
    loop {
        let columns: Vec<usize> =
            (0..copies).flat_map(|copy| left.iter().map(move |j| copy * draw_count + j)).collect();
        let mut system = Array2::zeros((columns.len(), columns.len()));
        for (row, mut values) in system.rows_mut().into_iter().enumerate() {
            checkpoint();
            let gram = equations.gram.row(columns[row]);
            values.iter_mut().zip(&columns[..=row]).for_each(|(value, &column)| *value = gram[column]);
        }
        let shrunk = ridge * left.len() as f64 / draw_count as f64;
        system.diag_mut().mapv_inplace(|value| value + shrunk);
        let Some(factor) = Cholesky::factor_while(system, threads, |share| {
            go_on(((done + share * work(left.len())) / whole).min(1.0))
        })?
        else {
            return Ok(None);
        };
        let weights = factor.solve_columns(equations.right_side.select(Axis(0), &columns));
        let norms = norms_of_draws(weights.view(), left.len());
        if left.len() <= wanted {
            return Ok(Some(NeededDraws { draws: left, norms }));
        }
        done += work(left.len());
        let next = ((left.len() as f64 * KEPT) as usize).max(wanted);
        let mut order: Vec<usize> = (0..left.len()).collect();
        order.sort_by(|&a, &b| norms[b].total_cmp(&norms[a]).then(a.cmp(&b)));
        order.truncate(next);
        order.sort_unstable();
        left = order.into_iter().map(|at| left[at]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2};

    /// y is made of columns 3 and 11 of 16 and a little noise: these two are left.
    #[test]
    fn the_columns_that_make_the_target_are_left() {
        let features = Array2::from_shape_fn((200, 16), |(i, j)| ((i * (j + 3) * 37 + j * 101) as f64 * 0.37).sin());
        let target = &features.column(3) * 2.0 - features.column(11) + &(&features.column(5) * 0.01);
        let equations = NormalEquations {
            gram: features.t().dot(&features) / 200.0,
            right_side: (features.t().dot(&target) / 200.0).insert_axis(Axis(1)),
            mean_feature: Array1::zeros(16),
            target_mean_square: Array1::zeros(1),
            weight: 200.0,
            sample_count: 200,
        };
        let NeededDraws { draws, norms } = needed_draws(&equations, 1e-6, (16, 2), 2, |_| true).unwrap().unwrap();
        assert_eq!(draws, [3, 11]);
        assert!((norms[0] - 2.0).abs() < 0.05 && (norms[1] - 1.0).abs() < 0.05, "{norms:?}");
        assert!(needed_draws(&equations, 1e-6, (16, 2), 1, |_| false).unwrap().is_none());
        let all = needed_draws(&equations, 1e-6, (16, 16), 1, |_| true).unwrap().unwrap().draws;
        assert_eq!(all, (0..16).collect::<Vec<_>>());
    }
}
