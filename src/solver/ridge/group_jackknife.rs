//! Ridge regression without each of a few groups of draws, from one factorisation.
//!
//! Without the draws J the other columns are rescaled by c = √(m/m_kept) and nλ is kept: the function is that
//! of w = (G_KK + λ/c² I)⁻¹R_K. With M = (G + λ/c² I)⁻¹ and u = M·[0; R_K], blockwise inversion gives
//! w = u_K − M_KJ M_JJ⁻¹ u_J. [Efron 1982, the delete-a-group jackknife]

use crate::linalg::{Cholesky, FactorError, in_parallel, product_in_strips};
use crate::solver::NormalEquations;
use ndarray::{Array2, ArrayView2, Axis};
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
    // Groups differ by one draw at most: one factor, or two.
    let kept = |group: usize| kept_draws(group, (draw_count, groups));
    let mut factors = BTreeMap::new();
    for count in (0..groups).map(kept) {
        if let std::collections::btree_map::Entry::Vacant(entry) = factors.entry(count) {
            entry.insert(equations.factor(ridge * count as f64 / draw_count as f64, threads)?);
        }
    }
    of_each_group(threads, groups, |group| {
        without(equations, &columns(group, feature_count, (draw_count, groups)), &factors[&kept(group)])
    })
}

/// The same from the system of the rows, the smaller one where features outnumber them: with Ψ (n×s) and y the centred
/// targets (n×k), w = Ψ_Kᵀ(Ψ_KΨ_Kᵀ + nλ/c² I)⁻¹y, and Ψ_KΨ_Kᵀ is ΨΨᵀ without the products of the columns J.
pub fn jackknife_weights_by_rows(
    features: ArrayView2<f64>,
    targets: ArrayView2<f64>,
    ridge: f64,
    (draw_count, groups): (usize, usize),
    threads: usize,
) -> Result<Vec<Array2<f64>>, FactorError> {
    let groups = groups.min(draw_count);
    if groups < 2 {
        return Ok(Vec::new());
    }
    let products = product_in_strips(features, features.t());
    of_each_group(threads, groups, |group| {
        let left_out = columns(group, features.ncols(), (draw_count, groups));
        let own = features.select(Axis(1), &left_out);
        let mut system = &products - &product_in_strips(own.view(), own.t());
        let kept = kept_draws(group, (draw_count, groups)) as f64 / draw_count as f64;
        let shift = features.nrows() as f64 * ridge * kept;
        system.diag_mut().mapv_inplace(|value| value + shift);
        let mut weights = features.t().dot(&Cholesky::factor(system, 1)?.solve_columns(targets.to_owned()));
        for &column in &left_out {
            weights.row_mut(column).fill(0.0);
        }
        Ok(weights)
    })
}

/// The columns of the draws of a group.
fn columns(group: usize, feature_count: usize, (draw_count, groups): (usize, usize)) -> Vec<usize> {
    (0..feature_count).filter(|column| column % draw_count % groups == group).collect()
}

/// m_kept.
fn kept_draws(group: usize, (draw_count, groups): (usize, usize)) -> usize {
    draw_count - (group..draw_count).step_by(groups).count()
}

/// The weights without each group, in their order.
fn of_each_group(
    threads: usize,
    groups: usize,
    without: impl Fn(usize) -> Result<Array2<f64>, FactorError> + Sync,
) -> Result<Vec<Array2<f64>>, FactorError> {
    let found = Mutex::new(BTreeMap::new());
    in_parallel(threads, (0..groups).collect(), |group| {
        let weights = without(group);
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
