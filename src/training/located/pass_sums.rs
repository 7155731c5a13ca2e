//! The sums of a task over files of rows, chunk by chunk: what runs where the rows are.

use super::hash_split::HashSplit;
use super::task::{PassTask, Work, part_of_moments, precision_of};
use super::task_function::matrix_of;
use crate::dataset::{ColumnMoments, Encoding, MomentSums, Part, Rows};
use crate::features::{FeatureMap, Precision};
use crate::model::{Extras, Function, InputPipeline, Scorer, TargetCoding};
use crate::solver::{GramSums, InstructionSet};
use crate::sums::ExactSum;
use crate::training::rows::parted_rows::PartedRows;
use crate::training::rows::run::Run;
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::{Observer, Partial, PassStatistics, SampledRow, Stage, TableMoments, TableProfile, TrainError};
use ndarray::Array2;
use std::io;

/// Rows that are added at once. The bits of the sums depend on where files are cut into groups of blocks of
/// [`BLOCK_ROWS`] rows, so that this is a multiple of such a group.
pub const CHUNK_ROWS: usize = 32 * BLOCK_ROWS;

/// Rows of a file that follow each other. All chunks of a file but its last hold [`CHUNK_ROWS`] rows.
pub struct Chunk<'a> {
    /// The name of the file, which the split depends on.
    pub file: &'a str,
    /// The place of the first row in the file, a multiple of [`CHUNK_ROWS`].
    pub first: u64,
    /// Cells row by row, in the order of the task's columns; NaN where one is missing.
    pub cells: &'a [f64],
}

/// What a task has found so far.
pub struct PassSums<'t> {
    task: &'t PassTask,
    threads: usize,
    sums: Sums,
}

enum Sums {
    Profile(TableProfile),
    Moments(Encoding, Part, TableMoments),
    /// Taken while rows are added.
    Gram(Box<GramParts>, Option<GramSums>),
    Errors(Box<FunctionParts>, TableMoments),
}

struct GramParts {
    inputs: InputPipeline,
    map: FeatureMap,
    precision: Precision,
    coding: TargetCoding,
}

struct FunctionParts {
    inputs: InputPipeline,
    map: FeatureMap,
    precision: Precision,
    weights: Array2<f64>,
    intercepts: Vec<f64>,
    scorer: Option<Scorer>,
}

impl FunctionParts {
    fn function(&self) -> Function<'_> {
        let Self { inputs, map, precision, weights, intercepts, .. } = self;
        Function { inputs, map, precision: *precision, weights, intercepts, spread: None, error_bars: None }
    }
}

/// Passes end with their process, so that nobody watches them.
struct Unwatched;

impl Observer for Unwatched {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        false
    }
}

/// The cells of a chunk.
struct ChunkRows<'a> {
    columns: usize,
    cells: &'a [f64],
}

impl Rows for ChunkRows<'_> {
    fn row_count(&self) -> usize {
        self.cells.len() / self.columns
    }

    fn column_count(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        cells.copy_from_slice(&self.cells[first * self.columns..][..cells.len()]);
        Ok(())
    }
}

impl<'t> PassSums<'t> {
    /// Before the first row.
    pub fn new(task: &'t PassTask, threads: usize) -> Self {
        let (columns, k) = (task.columns.len(), task.targets.len());
        let nothing = |inputs: usize| TableMoments {
            rows: 0,
            weight: ExactSum::ZERO,
            inputs: vec![MomentSums::EMPTY; inputs],
            targets: vec![MomentSums::EMPTY; k],
        };
        let sums = match &task.work {
            Work::Profile { sample, .. } => Sums::Profile(TableProfile::empty(columns, *sample)),
            Work::Moments { unlabelled } => {
                let encoding = Encoding { columns: task.input_columns() };
                Sums::Moments(encoding, part_of_moments(*unlabelled), nothing(columns - k))
            }
            Work::Gram { inputs, map, double, coding, grid } => {
                let sums = GramSums::new(map.feature_count(), grid.grid());
                let parts = GramParts {
                    inputs: inputs.pipeline(task.input_columns()),
                    map: map.map(),
                    precision: precision_of(*double),
                    coding: TargetCoding::Numbers { shift: coding.shift.clone(), unit: coding.unit.clone() },
                };
                Sums::Gram(Box::new(parts), Some(sums))
            }
            Work::Errors { inputs, map, double, weights, intercepts } => {
                let mut parts = FunctionParts {
                    inputs: inputs.pipeline(task.input_columns()),
                    map: map.map(),
                    precision: precision_of(*double),
                    weights: matrix_of(weights),
                    intercepts: intercepts.clone(),
                    scorer: None,
                };
                parts.scorer = Some(Scorer::new(parts.function()));
                Sums::Errors(Box::new(parts), nothing(k))
            }
        };
        Self { task, threads, sums }
    }

    /// Adds a chunk.
    pub fn add(&mut self, chunk: &Chunk) -> Result<(), TrainError> {
        let (task, columns) = (self.task, self.task.columns.len());
        let whole_rows = chunk.cells.len().is_multiple_of(columns);
        assert!(whole_rows && chunk.first.is_multiple_of(CHUNK_ROWS as u64), "files are cut into chunks");
        let file = HashSplit::file(chunk.file);
        let numbered = || (chunk.first..).zip(chunk.cells.chunks_exact(columns));
        let labelled = |row: &[f64]| task.targets.iter().all(|&target| !row[target].is_nan());
        let parts: Vec<Part> = numbered().map(|(at, row)| task.split.part((file, at), labelled(row))).collect();
        if let Sums::Profile(profile) = &mut self.sums {
            profile.rows += parts.len() as u64;
            for (count, part) in profile.parts.iter_mut().zip(COUNTED) {
                *count += parts.iter().filter(|candidate| **candidate == part).count() as u64;
            }
            add_columns(&mut profile.columns, chunk.cells);
            let largest = if let Work::Profile { largest, .. } = task.work { largest } else { None };
            profile.keep(numbered().filter_map(|(row, cells)| {
                let hash = task.split.sample_key((file, row));
                let kept = largest.is_none_or(|largest| hash <= largest);
                kept.then(|| SampledRow { hash, file, row, cells: cells.to_vec() })
            }));
            return Ok(());
        }
        let rows = ChunkRows { columns, cells: chunk.cells };
        let run = Run::new(PartedRows::new(&rows, task.roles(), parts), self.threads, &Unwatched);
        match &mut self.sums {
            Sums::Profile(_) => {}
            Sums::Moments(encoding, part, moments) => {
                let (inputs, targets) = run.moment_sums(encoding, *part)?;
                merge_moments(moments, run.rows.count(*part), (&inputs, &targets));
            }
            Sums::Gram(parts, sums) => {
                let GramParts { inputs, map, precision, coding } = &**parts;
                let earlier = sums.take().ok_or_else(|| TrainError::Data("an earlier chunk was refused".into()))?;
                *sums = Some(run.add_to_gram(earlier, inputs, (map, *precision), coding)?);
            }
            Sums::Errors(parts, moments) => add_errors(&run, parts, moments)?,
        }
        Ok(())
    }

    /// The statistics of all rows that were added.
    pub fn finish(self) -> Result<Partial, TrainError> {
        let statistics = match self.sums {
            Sums::Profile(profile) => PassStatistics::Profile(Box::new(profile)),
            Sums::Moments(_, _, moments) => PassStatistics::Moments(Box::new(moments)),
            Sums::Gram(parts, Some(sums)) => PassStatistics::Gram(parts.precision, Box::new(sums)),
            Sums::Gram(_, None) => return Err(TrainError::Data("a chunk was refused".into())),
            Sums::Errors(_, moments) => PassStatistics::Errors(Box::new(moments)),
        };
        let instructions = InstructionSet::in_use();
        Ok(Partial { spec: self.task.hash(), instructions, statistics })
    }
}

/// The order in which a profile counts the parts.
pub(super) const COUNTED: [Part; 4] = [Part::Training, Part::Validation, Part::Calibration, Part::Unlabelled];

/// Adds the cells of rows to the moments of their columns, block by block.
fn add_columns(columns: &mut [MomentSums], cells: &[f64]) {
    for block in cells.chunks(BLOCK_ROWS * columns.len()) {
        let mut moments = vec![ColumnMoments::EMPTY; columns.len()];
        for row in block.chunks_exact(columns.len()) {
            moments.iter_mut().zip(row).for_each(|(moments, value)| moments.observe(*value));
        }
        columns.iter_mut().zip(&moments).for_each(|(sums, block)| sums.add(block));
    }
}

fn merge_moments(total: &mut TableMoments, rows: usize, (inputs, targets): (&[MomentSums], &[MomentSums])) {
    total.rows += rows as u64;
    total.weight.add(rows as f64);
    total.inputs.iter_mut().zip(inputs).for_each(|(sums, more)| sums.merge(more));
    total.targets.iter_mut().zip(targets).for_each(|(sums, more)| sums.merge(more));
}

/// |y − f| as inputs, and y, over the validation rows.
fn add_errors(run: &Run, parts: &FunctionParts, total: &mut TableMoments) -> Result<(), TrainError> {
    let function = parts.function();
    let Some(scorer) = &parts.scorer else { return Err(TrainError::Data("the function was not prepared".into())) };
    let k = function.intercepts.len();
    let nothing = || vec![MomentSums::EMPTY; k];
    let predict = |rows: &[&[f64]]| scorer.compute(function, rows, Extras::default()).values;
    let sums = (nothing(), nothing());
    let (errors, targets) = run.evaluate(Part::Validation, predict, sums, |(errors, values), block, predictions| {
        for target in 0..k {
            let mut moments = [ColumnMoments::EMPTY; 2];
            for (value, prediction) in block.targets().column(target).iter().zip(predictions.column(target)) {
                moments[0].observe((value - prediction).abs());
                moments[1].observe(*value);
            }
            errors[target].add(&moments[0]);
            values[target].add(&moments[1]);
        }
    })?;
    merge_moments(total, run.rows.count(Part::Validation), (&errors, &targets));
    Ok(())
}
