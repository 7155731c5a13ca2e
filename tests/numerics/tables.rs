//! Tables in memory, and training on them.

pub(crate) use bochner::dataset::RowsInMemory;
use bochner::dataset::{Column, ColumnKind, Rows, Schema, Task};
use bochner::linalg::use_one_blas_thread;
pub(crate) use bochner::training::Unwatched;
use bochner::training::{Resources, SpecLimits, TrainError, TrainSpec, Trained, train};
use serde_json::Value;
use std::sync::Once;

/// y = sin(3a) + b², with a and b on irregular grids.
pub(crate) fn waves(rows: usize) -> RowsInMemory {
    let cells = (0..rows).flat_map(|i| {
        let a = (i as f64 * 0.618_034).fract() * 2.0 - 1.0;
        let b = (i as f64 * 0.414_214).fract() * 2.0 - 1.0;
        [a, b, (3.0 * a).sin() + b * b]
    });
    RowsInMemory { cells: cells.collect(), columns: 3 }
}

pub(crate) fn schema(table: &RowsInMemory) -> Schema {
    let column = |index: usize| Column {
        distinct: 1000,
        ..Column::unprofiled(&format!("c{index}"), ColumnKind::Numeric, vec![])
    };
    Schema {
        columns: (0..table.columns).map(column).collect(),
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

pub(crate) fn fit(table: &RowsInMemory, raw: &Value, threads: usize) -> Result<Trained, TrainError> {
    train(table, &schema(table), "ds-test", &spec(raw), resources(threads), &Unwatched)
}
