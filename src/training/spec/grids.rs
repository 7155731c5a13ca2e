//! Lists of candidates that are fixed before any row is seen.
//!
//! A theorem that holds for each candidate with probability 1 − δ/N holds for the one that the rows choose with
//! probability 1 − δ, N the length of the list.

use crate::features::Precision;

/// λ from 2 to 1e-11, three to a factor of ten.
const LAMBDA_STEPS: std::ops::RangeInclusive<i32> = -1..=33;

/// The number of λ that a search tries at most.
pub(crate) const LAMBDA_COUNT: usize = (*LAMBDA_STEPS.end() - *LAMBDA_STEPS.start() + 1) as usize;

/// The grid of λ. In mixed precision nothing below its limit is tried.
pub(crate) fn lambda_grid(precision: Precision, feature_bound: Option<f64>) -> Vec<f64> {
    let sound =
        |lambda: &f64| precision == Precision::Double || Precision::for_ridge(*lambda, feature_bound) == precision;
    LAMBDA_STEPS.map(|step| 10_f64.powf(-f64::from(step) / 3.0)).filter(sound).collect()
}

/// Bandwidths of the rule `grid`: 2^(j/4) for j between these.
const BANDWIDTH_STEPS: std::ops::RangeInclusive<i32> = -40..=40;

/// Steps of the grid to a factor of two.
pub(crate) const STEPS_PER_OCTAVE: i32 = 4;

/// The number of bandwidths in the grid.
pub(crate) const BANDWIDTH_COUNT: usize = (*BANDWIDTH_STEPS.end() - *BANDWIDTH_STEPS.start() + 1) as usize;

/// The steps of the grid that are powers of two.
pub(crate) fn octaves() -> impl Iterator<Item = i32> {
    BANDWIDTH_STEPS.step_by(STEPS_PER_OCTAVE as usize)
}

/// The steps of the grid less than an octave away from `step`, nearest first.
pub(crate) fn between_octaves(step: i32) -> impl Iterator<Item = i32> {
    let away = (1..STEPS_PER_OCTAVE).flat_map(move |by| [step - by, step + by]);
    away.filter(|near| BANDWIDTH_STEPS.contains(near))
}

/// The bandwidth at a step of the grid.
pub(crate) fn bandwidth_at(step: i32) -> f64 {
    2_f64.powf(f64::from(step) / f64::from(STEPS_PER_OCTAVE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// N counts every bandwidth that a search may reach, whatever the rows are.
    #[test]
    fn a_search_reaches_the_whole_list_and_nothing_else() {
        let reached: BTreeSet<i32> = octaves().flat_map(|step| between_octaves(step).chain([step])).collect();
        assert_eq!(reached.len(), BANDWIDTH_COUNT);
        assert_eq!((bandwidth_at(-40), bandwidth_at(0), bandwidth_at(40)), (1.0 / 1024.0, 1.0, 1024.0));
        assert_eq!(lambda_grid(Precision::Double, None).len(), LAMBDA_COUNT);
    }
}
