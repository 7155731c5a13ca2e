//! What rows are split by, and the part or the fold of each of them.

use super::parted_rows::{PartedRows, groups};
use crate::dataset::{
    HeldOut, Part, Rows, Schema, Task, TooFewUnits, UnitOrder, fold_units, folds, split, split_units,
};
use crate::solver::checkpoint;
use crate::training::TrainSpec;
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::TrainError;
use std::io;

/// What the split goes by, one entry a row.
pub(crate) enum SplitKeys {
    /// The class of each row, or 0 where the target is a number; none without a target. Shares are those of each class.
    Classes(Vec<Option<u32>>),
    /// The value of each row in the column of the split; NaN without a target. Values are not divided.
    Values { values: Vec<f64>, order: UnitOrder, column: String },
}

/// The rows with the part each belongs to.
pub(crate) fn parted<'a>(rows: &'a dyn Rows, schema: &Schema, spec: &TrainSpec) -> Result<PartedRows<'a>, TrainError> {
    let keys = SplitKeys::read(rows, schema, spec)?;
    let parts = keys.parts(spec.held_out(schema.task), spec.seed)?;
    keys.check_labels(rows, (schema, spec), &parts)?;
    Ok(PartedRows::new(rows, spec.roles(schema), parts))
}

impl SplitKeys {
    /// Reads them, where they are not all the same.
    pub(crate) fn read(rows: &dyn Rows, schema: &Schema, spec: &TrainSpec) -> io::Result<Self> {
        let roles = spec.roles(schema);
        let position = |name: &str| schema.columns.iter().position(|column| column.name == name);
        if let Some((order, name)) = spec.split.order()
            && let Some(column) = position(name)
        {
            let values = labelled_values(rows, &roles.targets, column)?;
            return Ok(Self::Values { values, order, column: name.to_owned() });
        }
        let all_alike = schema.task == Task::Regression && schema.target_columns().all(|target| target.missing == 0);
        Ok(Self::Classes(if all_alike {
            vec![Some(0); rows.row_count()]
        } else {
            groups(rows, &roles, schema.task == Task::Classification)?
        }))
    }

    /// The part of every row.
    pub(crate) fn parts(&self, held_out: HeldOut, seed: u64) -> Result<Vec<Part>, TrainError> {
        match self {
            Self::Classes(classes) => Ok(split(classes, held_out, seed)),
            Self::Values { values, order, column } => {
                split_units(values, held_out, *order, seed).map_err(|few| too_few(column, few, "part"))
            }
        }
    }

    /// The fold of every row that has a target. Values in the order of time make a fold more, which comes first and is
    /// never tested on.
    pub(crate) fn folds(&self, count: usize, seed: u64) -> Result<Vec<Option<u32>>, TrainError> {
        match self {
            Self::Classes(classes) => Ok(folds(classes, count, seed)),
            Self::Values { values, order, column } => {
                let count = count + usize::from(self.is_chained());
                fold_units(values, count, *order, seed).map_err(|few| too_few(column, few, "fold"))
            }
        }
    }

    /// Whether a fold is predicted from what came before it alone.
    pub(crate) fn is_chained(&self) -> bool {
        match self {
            Self::Classes(_) => false,
            Self::Values { order, .. } => *order == UnitOrder::Ascending,
        }
    }

    /// The same with some rows taken away, as if they had no target.
    pub(crate) fn without(&self, taken: impl Fn(usize) -> bool) -> Self {
        match self {
            Self::Classes(classes) => {
                Self::Classes(classes.iter().enumerate().map(|(row, class)| class.filter(|_| !taken(row))).collect())
            }
            Self::Values { values, order, column } => {
                let values = values.iter().enumerate().map(|(row, value)| if taken(row) { f64::NAN } else { *value });
                Self::Values { values: values.collect(), order: *order, column: column.clone() }
            }
        }
    }

    /// Refuses a split by values that leaves a label without a training row.
    pub(crate) fn check_labels(
        &self,
        rows: &dyn Rows,
        (schema, spec): (&Schema, &TrainSpec),
        parts: &[Part],
    ) -> Result<(), TrainError> {
        let Self::Values { column, .. } = self else { return Ok(()) };
        if schema.task == Task::Regression {
            return Ok(());
        }
        let classes = groups(rows, &spec.roles(schema), true)?;
        let trained = classes.iter().zip(parts).filter(|(_, part)| **part == Part::Training);
        let mut seen = vec![false; schema.labels().len()];
        trained.filter_map(|(class, _)| *class).for_each(|class| seen[class as usize] = true);
        match schema.labels().iter().zip(seen).find(|(_, seen)| !seen) {
            None => Ok(()),
            Some((label, _)) => Err(TrainError::Data(format!(
                "no training row has the label '{label}' after the split by column '{column}'; hold out fewer rows, or use \
                 another split"
            ))),
        }
    }
}

fn too_few(column: &str, TooFewUnits { available, needed }: TooFewUnits, part: &str) -> TrainError {
    TrainError::Data(format!(
        "column '{column}' has {available} different values among the rows with a target that are split; {needed} are \
         needed, one for each {part}"
    ))
}

/// A column, with NaN where a target is missing.
fn labelled_values(rows: &dyn Rows, targets: &[usize], column: usize) -> io::Result<Vec<f64>> {
    let columns = rows.column_count();
    let (mut values, mut cells) = (Vec::with_capacity(rows.row_count()), Vec::new());
    for first in (0..rows.row_count()).step_by(BLOCK_ROWS) {
        checkpoint();
        cells.resize(BLOCK_ROWS.min(rows.row_count() - first) * columns, 0.0);
        rows.read(first, &mut cells)?;
        let labelled = |row: &[f64]| targets.iter().all(|&target| !row[target].is_nan());
        values.extend(cells.chunks_exact(columns).map(|row| if labelled(row) { row[column] } else { f64::NAN }));
    }
    Ok(values)
}
