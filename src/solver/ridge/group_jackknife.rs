//! Ridge regression without each of a few groups of draws, from one factorisation.
//!
//! Without the draws J the other columns are rescaled by c = √(m/m_kept) and nλ is kept: the function is that
//! of w = (G_KK + λ/c² I)⁻¹R_K. With M = (G + λ/c² I)⁻¹ and u = M·[0; R_K], blockwise inversion gives
//! w = u_K − M_KJ M_JJ⁻¹ u_J. [Efron 1982, the delete-a-group jackknife]
//! The leverage of column j in M is 1 − (λ/c²)M_jj.

use crate::linalg::{Cholesky, FactorError, in_parallel, product_in_strips};
use crate::solver::NormalEquations;
use ndarray::{Array2, ArrayView2, Axis};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What leaving out each group of draws tells.
#[derive(Default)]
pub struct WithoutGroups {
    /// The weights (s×k) without each group, zero at its columns.
    pub weights: Vec<Array2<f64>>,
    /// The leverage of the columns, between 0 and 1: their mean where each counts as much as its leverage.
    pub leverage: f64,
}

/// Σh²/Σh: the mean of leverages where each counts as much as it is; 0 where there is none. What is below zero is rounding.
fn self_weighted_mean(leverages: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = leverages
        .map(|leverage| leverage.max(0.0))
        .fold((0.0, 0.0), |(sum, squares), leverage| (sum + leverage, squares + leverage * leverage));
    if squares > 0.0 { squares / sum } else { 0.0 }
}

/// Draw j is in group j mod g; its columns are j, j + m, … There are at most as many groups as draws, and none with a
/// single draw.
pub fn jackknife_weights(
    equations: &NormalEquations,
    ridge: f64,
    (draw_count, groups): (usize, usize),
    threads: usize,
) -> Result<WithoutGroups, FactorError> {
    let groups = groups.min(draw_count);
    if groups < 2 {
        return Ok(WithoutGroups::default());
    }
    let feature_count = equations.right_side.nrows();
    // Groups differ by one draw at most: one factor, or two.
    let kept = |group: usize| kept_draws(group, (draw_count, groups));
    let scaled = |count: usize| ridge * count as f64 / draw_count as f64; // λ/c²
    let mut factors = BTreeMap::new();
    for count in (0..groups).map(kept) {
        if let std::collections::btree_map::Entry::Vacant(entry) = factors.entry(count) {
            entry.insert(equations.factor(scaled(count), threads)?);
        }
    }
    of_each_group(threads, groups, |group| {
        let left_out = columns(group, feature_count, (draw_count, groups));
        without(equations, &left_out, (&factors[&kept(group)], scaled(kept(group))))
    })
}

/// The same from the system of the rows, the smaller one where features outnumber them: with Ψ (n×s) and y the centred
/// targets (n×k), w = Ψ_Kᵀ(Ψ_KΨ_Kᵀ + nλ/c² I)⁻¹y, and Ψ_KΨ_Kᵀ is ΨΨᵀ without the products of the columns J. With
/// S = Ψ_Jᵀ(Ψ_KΨ_Kᵀ + nλ/c² I)⁻¹Ψ_J the leverages of J are 1 − [(I + S)⁻¹]_jj.
pub fn jackknife_weights_by_rows(
    features: ArrayView2<f64>,
    targets: ArrayView2<f64>,
    ridge: f64,
    (draw_count, groups): (usize, usize),
    threads: usize,
) -> Result<WithoutGroups, FactorError> {
    let groups = groups.min(draw_count);
    if groups < 2 {
        return Ok(WithoutGroups::default());
    }
    let products = product_in_strips(features, features.t());
    of_each_group(threads, groups, |group| {
        let left_out = columns(group, features.ncols(), (draw_count, groups));
        let own = features.select(Axis(1), &left_out);
        let mut system = &products - &product_in_strips(own.view(), own.t());
        let kept = kept_draws(group, (draw_count, groups)) as f64 / draw_count as f64;
        let shift = features.nrows() as f64 * ridge * kept;
        system.diag_mut().mapv_inplace(|value| value + shift);
        let factor = Cholesky::factor(system, 1)?;
        let mut weights = features.t().dot(&factor.solve_columns(targets.to_owned()));
        for &column in &left_out {
            weights.row_mut(column).fill(0.0);
        }
        let mut core = product_in_strips(own.t(), factor.solve_columns(own.clone()).view()); // S
        core.diag_mut().mapv_inplace(|value| value + 1.0);
        let inverse = Cholesky::factor(core, 1)?.solve_columns(Array2::eye(left_out.len()));
        Ok((weights, inverse.diag().iter().map(|value| 1.0 - value).collect()))
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

/// The weights without a group, and the leverages of its columns.
type WithoutOne = Result<(Array2<f64>, Vec<f64>), FactorError>;

/// What is found for each group, in their order.
fn of_each_group(
    threads: usize,
    groups: usize,
    without: impl Fn(usize) -> WithoutOne + Sync,
) -> Result<WithoutGroups, FactorError> {
    let found = Mutex::new(BTreeMap::new());
    in_parallel(threads, (0..groups).collect(), |group| {
        let one = without(group);
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(group, one);
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values();
    let (weights, leverages): (Vec<_>, Vec<_>) = found.collect::<Result<Vec<_>, FactorError>>()?.into_iter().unzip();
    Ok(WithoutGroups { weights, leverage: self_weighted_mean(leverages.into_iter().flatten()) })
}

/// w without the columns J, and the leverages of these.
fn without(equations: &NormalEquations, left_out: &[usize], (factor, ridge): (&Cholesky, f64)) -> WithoutOne {
    let mut right_side = equations.right_side.clone();
    let mut unit = Array2::zeros((right_side.nrows(), left_out.len()));
    for (at, &column) in left_out.iter().enumerate() {
        right_side.row_mut(column).fill(0.0);
        unit[[column, at]] = 1.0;
    }
    let inverse_columns = factor.solve_columns(unit); // M_:J
    let mut weights = factor.solve_columns(right_side); // u
    let leverages =
        left_out.iter().enumerate().map(|(at, &column)| 1.0 - ridge * inverse_columns[[column, at]]).collect();
    let core = Cholesky::factor(inverse_columns.select(Axis(0), left_out), 1)?;
    let along = core.solve_columns(weights.select(Axis(0), left_out)); // M_JJ⁻¹ u_J
    weights -= &inverse_columns.dot(&along);
    for &column in left_out {
        weights.row_mut(column).fill(0.0);
    }
    Ok((weights, leverages))
}
