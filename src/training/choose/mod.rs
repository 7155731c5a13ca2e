//! Choosing features by rows: candidates are drawn, scored on training rows, and some of them kept.
//!
//! Only training rows score a pool; where no target is looked at, rows without one may take part. Calibration and
//! validation rows never do, or coverage and validation errors would be lost.

/// Scores by ridge leverage, over one pool or its groups.
mod by_leverage;

/// Scores by correlation with the targets.
mod by_targets;

/// Feature counts and samplings tried on a sample of rows.
pub(crate) mod sample_trials;

/// The density of draws for inputs of few dimensions.
mod by_range;

use super::TrainSpec;
use super::fit::search::CodedRows;
use super::rows::row_selection::RowSelection;
use super::spec::memory::GROUP_COLUMNS;
use super::stage::{Stage, TrainError};
use crate::dataset::Part;
use crate::features::{ChosenBy, DrawScales, FeatureMap, Kernel, Sampling};
use crate::model::{Selection, effective_sample_size, score_quantiles};
use crate::theory::PoolEvidence;
use std::collections::BTreeSet;
use std::ops::Range;

/// A map, and how its features were chosen if rows chose them.
pub(crate) struct Chosen {
    pub(crate) map: FeatureMap,
    pub(crate) selection: Option<Selection>,
    /// What the theorems read of the pool.
    pub(crate) pool: Option<PoolEvidence>,
}

/// The features of a model: drawn, or chosen by rows as the sampling of the spec says.
pub(crate) fn choose_features(rows: &CodedRows, spec: &TrainSpec, kernel: Kernel) -> Result<Chosen, TrainError> {
    let input_dim = rows.inputs.input_dim();
    match spec.sampling.chosen_by() {
        ChosenBy::Nothing => {
            let map = spec.sample_map(kernel, spec.feature_count, input_dim);
            Ok(Chosen { map, selection: None, pool: None })
        }
        ChosenBy::Range => by_range::choose(rows, spec, kernel),
        ChosenBy::Inputs | ChosenBy::Targets => {
            rows.run.tick(Stage::Choose, 0.0)?;
            let parts = scoring_parts(spec.sampling);
            let pool = Pool {
                rows,
                spec,
                parts,
                selection: rows.run.sample_parts(parts, spec.pool.rows),
                map: spec.sample_map(kernel, spec.pool.size, input_dim),
            };
            match spec.sampling.chosen_by() {
                ChosenBy::Targets => by_targets::choose(&pool),
                ChosenBy::Nothing | ChosenBy::Inputs | ChosenBy::Range => by_leverage::choose(&pool),
            }
        }
    }
}

/// The parts of the rows that score a pool.
fn scoring_parts(sampling: Sampling) -> &'static [Part] {
    match sampling.chosen_by() {
        ChosenBy::Inputs => &[Part::Training, Part::Unlabelled],
        ChosenBy::Nothing | ChosenBy::Targets | ChosenBy::Range => &[Part::Training],
    }
}

/// The candidates, and the rows that score them.
struct Pool<'a> {
    rows: &'a CodedRows<'a>,
    spec: &'a TrainSpec,
    parts: &'static [Part],
    selection: RowSelection,
    map: FeatureMap,
}

impl Pool<'_> {
    /// Draws to keep.
    fn wanted(&self) -> usize {
        self.spec.feature_count / self.spec.map.columns_per_draw()
    }

    /// N₀.
    fn row_count(&self) -> usize {
        self.rows.run.count_selected(&self.selection, self.parts)
    }

    /// n.
    fn training_rows(&self) -> usize {
        self.rows.run.rows.count(Part::Training)
    }

    /// The draws of each group, as nearly equal in number as can be.
    fn groups(&self) -> Vec<Range<usize>> {
        let draws = self.map.draw_count();
        let count = self.map.feature_count().div_ceil(GROUP_COLUMNS);
        (0..count).map(|group| group * draws / count..(group + 1) * draws / count).collect()
    }

    /// The map of a group of draws alone.
    fn group_map(&self, draws: &Range<usize>) -> FeatureMap {
        self.map.keep(&draws.clone().collect::<Vec<_>>(), None)
    }

    /// Reports the progress of one group, or a part of it.
    fn tick(&self, group: usize, groups: usize, done: f64) -> Result<(), TrainError> {
        self.rows.run.tick(Stage::Choose, (group as f64 + done) / groups as f64)
    }

    /// The same for work that asks whether to go on.
    fn go_on(&self, group: usize, groups: usize, done: f64) -> bool {
        self.tick(group, groups, done).is_ok()
    }

    fn name(&self) -> &'static str {
        self.spec.sampling.name()
    }

    /// The model's map and the report, from scores of all candidates and the draws that are kept.
    fn keep(&self, scores: &[f64], draws: &[usize], scales: Option<DrawScales>, lambda: Option<f64>) -> Chosen {
        let weights: Vec<f64> = match &scales {
            Some(scales) => scales.factors.iter().map(|factor| factor * factor).collect(),
            None => vec![1.0; draws.len()],
        };
        let selection = Selection {
            candidates: self.map.draw_count(),
            rows: self.row_count(),
            lambda,
            groups: self.groups().len(),
            score_quantiles: score_quantiles(scores),
            effective_sample_size: effective_sample_size(&weights),
            distinct_draws: draws.iter().collect::<BTreeSet<_>>().len(),
            largest_weight: scales.as_ref().map_or(1.0, |scales| scales.largest * scales.largest),
            degrees: Vec::new(),
        };
        Chosen { map: self.map.keep(draws, scales), selection: Some(selection), pool: None }
    }
}

/// Refuses scores that tell nothing.
fn check_scores(scores: &[f64], name: &str) -> Result<(), TrainError> {
    if scores.iter().any(|score| !score.is_finite()) {
        return Err(TrainError::Data(format!(
            "sampling {name} finds scores that are not finite; scale the inputs or use sampling plain"
        )));
    }
    if scores.iter().all(|score| *score <= 0.0) {
        return Err(TrainError::Data(format!(
            "every candidate feature has the score 0 on the rows that score the pool, so sampling {name} has nothing to choose \
             by; use more pool_rows or sampling plain"
        )));
    }
    Ok(())
}
