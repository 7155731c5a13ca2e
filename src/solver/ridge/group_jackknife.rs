//! Ridge regression without each of a few groups of draws, from one factorisation.
//!
//! Without the draws J the other columns are rescaled by c = √(m/m_kept) and nλ is kept: the function is that
//! of w = (G_KK + λ/c² I)⁻¹R_K. With M = (G + λ/c² I)⁻¹ and u = M·[0; R_K], blockwise inversion gives
//! w = u_K − M_KJ M_JJ⁻¹ u_J. [Efron 1982, the delete-a-group jackknife]

use crate::linalg::{Cholesky, FactorError, in_parallel};
use crate::solver::NormalEquations;
use ndarray::{Array2, Axis};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The weights (s×k) without each group of draws, zero at its columns. Draw j is in group j mod g; its columns
/// are j, j + m, … There are at most as many groups as draws, and none with a single draw.
pub fn jackknife_weights(
    equations: &NormalEquations,
    ridge: f64,
    (draw_count, groups): (usize, usize),
    threads: usize,
) -> Result<Vec<Array2<f64>>, FactorError> {
    let groups = groups.min(draw_count);
    if groups < 2 {
        return Ok(Vec::new());
    }
    let feature_count = equations.right_side.nrows();
    let columns = |group: usize| -> Vec<usize> {
        (0..feature_count).filter(|column| column % draw_count % groups == group).collect()
    };
    // Groups differ by one draw at most: one factor, or two.
    let kept = |group: usize| draw_count - (group..draw_count).step_by(groups).count();
    let mut factors = BTreeMap::new();
    for count in (0..groups).map(kept) {
        if let std::collections::btree_map::Entry::Vacant(entry) = factors.entry(count) {
            entry.insert(equations.factor(ridge * count as f64 / draw_count as f64, threads)?);
        }
    }
    let found = Mutex::new(BTreeMap::new());
    in_parallel(threads, (0..groups).collect(), |group| {
        let weights = without(equations, &columns(group), &factors[&kept(group)]);
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(group, weights);
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// w without the columns J.
fn without(equations: &NormalEquations, left_out: &[usize], factor: &Cholesky) -> Result<Array2<f64>, FactorError> {
    let mut right_side = equations.right_side.clone();
    let mut unit = Array2::zeros((right_side.nrows(), left_out.len()));
    for (at, &column) in left_out.iter().enumerate() {
        right_side.row_mut(column).fill(0.0);
        unit[[column, at]] = 1.0;
    }
    let inverse_columns = factor.solve_columns(unit); // M_:J
    let mut weights = factor.solve_columns(right_side); // u
    let core = Cholesky::factor(inverse_columns.select(Axis(0), left_out), 1)?;
    let along = core.solve_columns(weights.select(Axis(0), left_out)); // M_JJ⁻¹ u_J
    weights -= &inverse_columns.dot(&along);
    for &column in left_out {
        weights.row_mut(column).fill(0.0);
    }
    Ok(weights)
}
