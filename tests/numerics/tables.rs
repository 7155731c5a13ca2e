//! Tables in memory, and training on them.

use bochner::dataset::{Column, ColumnKind, ColumnReading, Rows, Schema, Task};
use bochner::linalg::use_one_blas_thread;
use bochner::training::{Observer, Resources, SpecLimits, Stage, TrainError, TrainSpec, Trained, train};
use serde_json::Value;
use std::sync::Once;

/// A table in memory; the last column is the target.
pub(crate) struct Memory {
    pub(crate) cells: Vec<f64>,
    pub(crate) columns: usize,
}

impl Rows for Memory {
    fn row_count(&self) -> usize {
        self.cells.len() / self.columns
    }

    fn column_count(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
        let start = first * self.columns;
        cells.copy_from_slice(&self.cells[start..start + cells.len()]);
        Ok(())
    }
}

pub(crate) struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        false
    }
}

/// y = sin(3a) + b², with a and b on irregular grids.
pub(crate) fn waves(rows: usize) -> Memory {
    let cells = (0..rows).flat_map(|i| {
        let a = (i as f64 * 0.618_034).fract() * 2.0 - 1.0;
        let b = (i as f64 * 0.414_214).fract() * 2.0 - 1.0;
        [a, b, (3.0 * a).sin() + b * b]
    });
    Memory { cells: cells.collect(), columns: 3 }
}

pub(crate) fn schema(table: &Memory) -> Schema {
    let column = |name: String| Column {
        name,
        kind: ColumnKind::Numeric,
        levels: vec![],
        missing: 0,
        distinct: 1000,
        distinct_is_lower_bound: true,
        min: None,
        max: None,
        mean: None,
        std: None,
        reading: ColumnReading::default(),
    };
    Schema {
        columns: (0..table.columns).map(|index| column(format!("c{index}"))).collect(),
        targets: vec![table.columns - 1],
        task: Task::Regression,
        row_count: table.row_count() as u64,
        findings: vec![],
    }
}

/// With one thread per call of BLAS, as in the service: tests that run side by side could change the number between two
/// fits, and with it the last bits.
pub(crate) fn resources(threads: usize) -> Resources {
    static ONE_BLAS_THREAD: Once = Once::new();
    ONE_BLAS_THREAD.call_once(use_one_blas_thread);
    Resources { threads, cache_bytes: 1 << 24 }
}

/// A checked spec, of effort fast unless it says otherwise: tests of anything but the search need no search.
pub(crate) fn spec(raw: &Value) -> TrainSpec {
    TrainSpec::check_stored("", raw, SpecLimits { feature_count: 4096 }).unwrap()
}

pub(crate) fn fit(table: &Memory, raw: &Value, threads: usize) -> Result<Trained, TrainError> {
    train(table, &schema(table), "ds-test", &spec(raw), resources(threads), &Silent)
}
