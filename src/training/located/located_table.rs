//! A table in files that stay where they are: its schema and a sample of its rows at hand, all rows behind an engine.

use super::Engine;
use super::hash_split::HashSplit;
use super::pass_sums::COUNTED;
use super::task::{PassTask, TaskCoding, TaskGrid, Work};
use super::task_function::{TaskInputs, TaskMap, rows_of};
use crate::dataset::{Column, ColumnKind, ColumnReading, MomentSums, Part, Rows, RowsInMemory, Schema, Task};
use crate::features::{FeatureMap, Precision};
use crate::model::{Function, InputPipeline, TargetCoding};
use crate::solver::{GramGrid, GramSums};
use crate::training::rows::parted_rows::PartedRows;
use crate::training::rows::run::Run;
use crate::training::rows::whole_passes::{TargetMoments, Tick, WholePasses};
use crate::training::spec::memory::{PART_BYTES, estimate_memory};
use crate::training::stage::Clock;
use crate::training::train::{Repetitions, train_on};
use crate::training::{
    Observer, Partial, PassStatistics, Resources, Stage, TableProfile, TrainError, TrainSpec, Trained,
};
use std::collections::BTreeSet;
use std::io;

/// Rows of the sample that choices and estimates are made on: what a search reads at most.
pub(super) const SAMPLE_ROWS: usize = 65_536;

/// Rows that the parts of a table keep together, of which the sample is chosen. Their number is binomial: with these, it is less
/// than that of the sample with a probability below 1e-20.
const CANDIDATE_ROWS: f64 = SAMPLE_ROWS as f64 * 1.04;

/// What a row of the sample takes beside its cells: two numbers of its place, its hash, and a list.
const SAMPLED_ROW_WORDS: usize = 6;

/// A column of all files of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    /// Unique in the table.
    pub name: String,
    /// Whether it holds truth values instead of numbers.
    pub boolean: bool,
}

/// A table that was profiled.
pub struct LocatedTable<'e> {
    engine: &'e dyn Engine,
    schema: Schema,
    split: HashSplit,
    profile: TableProfile,
    /// The part of each row of the sample.
    parts: Vec<Part>,
}

impl<'e> LocatedTable<'e> {
    /// Counts the rows, measures the columns and draws the sample, in one pass over files that state so many rows.
    pub fn profile(
        engine: &'e dyn Engine,
        columns: (&[FileColumn], u64),
        targets: &[usize],
        spec: &TrainSpec,
        observer: &dyn Observer,
    ) -> Result<Self, TrainError> {
        let held_out = spec.held_out(Task::Regression);
        let split = HashSplit { seed: spec.seed, validation: held_out.validation, calibration: held_out.calibration };
        Self::split_by(engine, columns, targets, split, observer)
    }

    /// The same for a table that no spec splits yet.
    pub fn measure(
        engine: &'e dyn Engine,
        columns: (&[FileColumn], u64),
        targets: &[usize],
        observer: &dyn Observer,
    ) -> Result<Self, TrainError> {
        let split = HashSplit { seed: 0, validation: 0.0, calibration: 0.0 };
        Self::split_by(engine, columns, targets, split, observer)
    }

    fn split_by(
        engine: &'e dyn Engine,
        (columns, stated_rows): (&[FileColumn], u64),
        targets: &[usize],
        split: HashSplit,
        observer: &dyn Observer,
    ) -> Result<Self, TrainError> {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let tick = |done| {
            observer.progress(Stage::Scale, done);
            if observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) }
        };
        let ask = |largest: Option<u64>| {
            let work = Work::Profile { sample: SAMPLE_ROWS as u32, largest };
            let task = PassTask::new(&names, targets, split, work).with_instructions(engine.instructions());
            let PassStatistics::Profile(profile) = answer(engine, &task, &tick)?.statistics else {
                return Err(other());
            };
            Ok(profile)
        };
        let mut profile = ask(largest_hash(stated_rows))?;
        if (profile.sample.len() as u64) < profile.rows.min(SAMPLE_ROWS as u64) {
            profile = ask(None)?; // there are fewer rows than the files stated
        }
        let labelled = |cells: &[f64]| targets.iter().all(|&target| !cells[target].is_nan());
        let part = |row: &crate::training::SampledRow| split.part((row.file, row.row), labelled(&row.cells));
        let parts = profile.sample.iter().map(part).collect();
        let schema = schema(columns, targets, &profile);
        Ok(Self { engine, schema, split, profile: *profile, parts })
    }

    /// Columns with their statistics.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The first rows of the sample, which are a sample too.
    pub fn sample(&self, count: usize) -> RowsInMemory {
        let rows = self.profile.sample.iter().take(count);
        let cells = rows.flat_map(|row| row.cells.iter().copied()).collect();
        RowsInMemory { cells, columns: self.schema.columns.len() }
    }

    /// Bytes of the largest sample of so many columns, and of another that it is merged with.
    pub fn sample_bytes(columns: usize) -> u64 {
        (2 * SAMPLE_ROWS * (columns + SAMPLED_ROW_WORDS) * size_of::<f64>()) as u64
    }

    /// How the rows differ from those that an earlier pass has measured, if they do. Moments are sums without rounding, so that
    /// they are the same for the same rows, whatever the split and the engine.
    pub fn difference(&self, earlier: &Schema) -> Option<String> {
        let (now, then) = (self.schema.row_count, earlier.row_count);
        if now != then {
            return Some(format!("there are {now} rows instead of {then}"));
        }
        let measured = |column: &Column| (column.missing, column.min, column.max, column.mean, column.std);
        let pairs = self.schema.columns.iter().zip(&earlier.columns);
        let mut changed = pairs
            .filter(|(now, then)| (&now.name, now.kind) != (&then.name, then.kind) || measured(now) != measured(then));
        changed.next().map(|(now, _)| format!("column '{}' holds other values", now.name))
    }

    fn task(&self, work: Work) -> PassTask {
        let names: Vec<String> = self.schema.columns.iter().map(|column| column.name.clone()).collect();
        PassTask::new(&names, &self.schema.targets, self.split, work).with_instructions(self.engine.instructions())
    }

    /// Runs a task over rows that must be as many as when the table was profiled.
    fn ask(&self, work: Work, rows: usize, tick: &Tick) -> Result<Partial, TrainError> {
        let partial = answer(self.engine, &self.task(work), tick)?;
        if partial.row_count() == rows as u64 {
            return Ok(partial);
        }
        let found = partial.row_count();
        Err(TrainError::Engine(format!(
            "a pass found {found} rows where an earlier one found {rows}; the files were changed meanwhile: train again"
        )))
    }
}

/// Bytes that training on such a table takes here: no row has a part in a list, and the sample is at hand.
pub fn estimate_located_memory(spec: &TrainSpec, schema: &Schema, threads: usize) -> u64 {
    let listed = PART_BYTES * schema.labelled_rows();
    estimate_memory(spec, schema, threads).saturating_sub(listed) + LocatedTable::sample_bytes(schema.columns.len())
}

/// Trains on a table in files. The model depends on the files, the spec and the seed alone, not on the engine.
pub fn train_located(
    table: &LocatedTable,
    dataset: &str,
    spec: &TrainSpec,
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Trained, TrainError> {
    let spec = &spec.for_rows(&table.schema);
    let sample = SampleRows(&table.profile);
    let rows = PartedRows::new(&sample, spec.roles(&table.schema), table.parts.clone());
    let run = Run::new(rows, resources.threads, observer).sampled_from(table);
    train_on(run, (&table.schema, dataset), spec, Repetitions::default(), resources, Clock::start())
}

impl WholePasses for LocatedTable<'_> {
    fn count(&self, part: Part) -> usize {
        let counted = COUNTED.iter().position(|counted| *counted == part);
        counted.map_or(0, |at| self.profile.parts[at] as usize)
    }

    fn moments(&self, part: Part, tick: &Tick) -> Result<(Vec<MomentSums>, Vec<MomentSums>), TrainError> {
        let work = Work::Moments { unlabelled: part == Part::Unlabelled };
        let partial = self.ask(work, self.count(part), tick)?;
        let PassStatistics::Moments(moments) = partial.statistics else { return Err(other()) };
        Ok((moments.inputs, moments.targets))
    }

    fn gram(
        &self,
        inputs: &InputPipeline,
        (map, precision): (&FeatureMap, Precision),
        coding: &TargetCoding,
        grid: GramGrid,
        tick: &Tick,
    ) -> Result<GramSums, TrainError> {
        let TargetCoding::Numbers { shift, unit } = coding else {
            return Err(TrainError::Data("labels cannot be predicted from a table in files yet".into()));
        };
        let work = Work::Gram {
            inputs: TaskInputs::of(inputs),
            map: TaskMap::of(map)?,
            double: precision == Precision::Double,
            coding: TaskCoding { shift: shift.clone(), unit: unit.clone() },
            grid: TaskGrid::of(&grid),
        };
        let partial = self.ask(work, self.count(Part::Training), tick)?;
        let PassStatistics::Gram(_, sums) = partial.statistics else { return Err(other()) };
        Ok(*sums)
    }

    fn errors(&self, function: Function, tick: &Tick) -> Result<Vec<TargetMoments>, TrainError> {
        let Function { inputs, map, precision, weights, intercepts, .. } = function;
        let work = Work::Errors {
            inputs: TaskInputs::of(inputs),
            map: TaskMap::of(map)?,
            double: precision == Precision::Double,
            weights: rows_of(weights),
            intercepts: intercepts.to_vec(),
        };
        let partial = self.ask(work, self.count(Part::Validation), tick)?;
        let PassStatistics::Errors(moments) = partial.statistics else { return Err(other()) };
        let of_target = |(errors, values): (&MomentSums, &MomentSums)| TargetMoments {
            errors: errors.moments(),
            values: values.moments(),
        };
        Ok(moments.inputs.iter().zip(&moments.targets).map(of_target).collect())
    }
}

/// The rows of the sample, in the order of their hashes, which is random.
struct SampleRows<'p>(&'p TableProfile);

impl Rows for SampleRows<'_> {
    fn row_count(&self) -> usize {
        self.0.sample.len()
    }

    fn column_count(&self) -> usize {
        self.0.columns.len()
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        let columns = self.column_count();
        for (row, cells) in self.0.sample[first..].iter().zip(cells.chunks_exact_mut(columns)) {
            cells.copy_from_slice(&row.cells);
        }
        Ok(())
    }
}

/// A hash that few rows more than those of the sample have at most, of so many rows; none if all of them can be in the sample.
fn largest_hash(rows: u64) -> Option<u64> {
    let share = CANDIDATE_ROWS / rows as f64;
    (share < 1.0).then_some((share * 2_f64.powi(64)) as u64)
}

/// The statistics of a task, which must be those of this very task.
fn answer(engine: &dyn Engine, task: &PassTask, tick: &Tick) -> Result<Partial, TrainError> {
    let partial = engine.run(task, tick)?;
    if partial.spec != task.hash() {
        return Err(other());
    }
    match task.instructions() {
        Some(asked) if asked != partial.instructions => Err(TrainError::Engine(format!(
            "the statistics that came back were made by {} instructions, where {} were asked for",
            partial.instructions.name(),
            asked.name()
        ))),
        Some(_) | None => Ok(partial),
    }
}

fn other() -> TrainError {
    TrainError::Engine("the statistics that came back were made for another task: their spec hashes differ".into())
}

fn schema(columns: &[FileColumn], targets: &[usize], profile: &TableProfile) -> Schema {
    let column = |(at, FileColumn { name, boolean }): (usize, &FileColumn)| {
        let moments = profile.columns[at].moments();
        let seen = |value: f64| (moments.count() > 0.0).then_some(value);
        let sampled = profile.sample.iter().map(|row| row.cells[at]).filter(|cell| !cell.is_nan());
        let distinct: BTreeSet<u64> = sampled.map(f64::to_bits).collect();
        let of_known = moments.variance() * (profile.rows as f64 / moments.count().max(1.0));
        Column {
            name: name.clone(),
            kind: if *boolean { ColumnKind::Boolean } else { ColumnKind::Numeric },
            levels: Vec::new(),
            missing: moments.missing(),
            distinct: distinct.len() as u64,
            distinct_is_lower_bound: profile.rows > profile.sample.len() as u64,
            min: moments.range().map(|(min, _)| min),
            max: moments.range().map(|(_, max)| max),
            mean: seen(moments.mean()),
            std: seen(of_known.sqrt()),
            reading: ColumnReading::default(),
        }
    };
    Schema {
        columns: columns.iter().enumerate().map(column).collect(),
        targets: targets.to_vec(),
        task: Task::Regression,
        row_count: profile.rows,
        findings: Vec::new(),
    }
}
