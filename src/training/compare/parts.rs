//! The rows of one repetition: test rows, validation rows, and those that are fitted.

use super::request::CompareSpec;
use crate::dataset::{Part, Rows, Schema, Task, keep_few, split, thin};
use crate::training::rows::parted_rows::groups;
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::TrainError;
use crate::training::{Observer, TrainSpec};
use std::io;

/// The group of each row for splits, once for the whole comparison.
pub(super) fn row_groups(rows: &dyn Rows, schema: &Schema, spec: &TrainSpec) -> Result<Vec<Option<u32>>, TrainError> {
    Ok(groups(rows, &spec.roles(schema), schema.task == Task::Classification)?)
}

/// Rows held in memory.
pub(super) struct HeldRows {
    cells: Vec<f64>,
    columns: usize,
}

impl HeldRows {
    /// About `wanted` labelled rows, every class in proportion, and as large a share of the unlabelled ones.
    pub(super) fn thinned(
        rows: &dyn Rows,
        groups: &[Option<u32>],
        (wanted, seed): (usize, u64),
        observer: &dyn Observer,
    ) -> Result<Self, TrainError> {
        let labelled = groups.iter().flatten().count();
        let share = (wanted as f64 / labelled.max(1) as f64).min(1.0);
        let most = groups.iter().flatten().max().map_or(0, |most| most + 1);
        let all: Vec<Option<u32>> = groups.iter().map(|group| Some(group.unwrap_or(most))).collect();
        let kept = thin(&all, share, seed);
        let columns = rows.column_count();
        let mut cells = Vec::with_capacity(kept.iter().filter(|kept| **kept).count() * columns);
        let mut block = Vec::new();
        for first in (0..rows.row_count()).step_by(BLOCK_ROWS) {
            let count = BLOCK_ROWS.min(rows.row_count() - first);
            block.resize(count * columns, 0.0);
            rows.read(first, &mut block)?;
            let chosen = block.chunks_exact(columns).zip(&kept[first..]).filter(|(_, kept)| **kept);
            chosen.for_each(|(row, _)| cells.extend_from_slice(row));
            if observer.should_stop() {
                return Err(TrainError::Stopped);
            }
        }
        Ok(Self { cells, columns })
    }
}

impl Rows for HeldRows {
    fn row_count(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    fn column_count(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        let start = first * self.columns;
        let held = self.cells.get(start..start + cells.len());
        let held =
            held.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "rows beyond the end were asked for"))?;
        cells.copy_from_slice(held);
        Ok(())
    }
}

impl CompareSpec {
    /// The part of every row in one repetition. Test rows are calibration rows. With `labels` per class, the other rows
    /// that are not tested on count as unlabelled.
    pub(super) fn parts(
        &self,
        groups: &[Option<u32>],
        (schema, spec): (&Schema, &TrainSpec),
        (seed, labels): (u64, Option<usize>),
    ) -> Result<Vec<Part>, TrainError> {
        let held_out = self.with_shares(spec, schema.task).held_out(schema.task);
        let Some(labels) = labels else {
            return Ok(split(groups, held_out, seed));
        };
        let untouched = crate::dataset::HeldOut { validation: 0.0, ..held_out };
        let parts = split(groups, untouched, seed);
        let left: Vec<Option<u32>> =
            groups.iter().zip(&parts).map(|(group, part)| group.filter(|_| *part == Part::Training)).collect();
        check_supply(schema, &left, labels)?;
        let kept = keep_few(&left, labels, seed);
        let few: Vec<Option<u32>> = left.iter().zip(&kept).map(|(group, kept)| group.filter(|_| *kept)).collect();
        let share = held_out.validation / (1.0 - held_out.calibration);
        let fitted = split(&few, crate::dataset::HeldOut { validation: share, calibration: 0.0, ..held_out }, seed);
        Ok(parts.into_iter().zip(fitted).map(|(part, fit)| if part == Part::Training { fit } else { part }).collect())
    }
}

/// Refuses to take more labels of a class than there are.
fn check_supply(schema: &Schema, left: &[Option<u32>], labels: usize) -> Result<(), TrainError> {
    for (class, name) in schema.labels().iter().enumerate() {
        let count = left.iter().flatten().filter(|group| **group as usize == class).count();
        if count < labels {
            return Err(TrainError::Data(format!(
                "labels_per_class asks for {labels} rows of label '{name}', and {count} are left beside the test rows; ask \
                 for fewer"
            )));
        }
    }
    Ok(())
}
