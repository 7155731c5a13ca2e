//! Training on a table of numbers, for benches.

use bochner::dataset::{Column, ColumnKind, Rows, Schema, Task};
use bochner::model::FittedModel;
use bochner::training::{Resources, SpecLimits, TrainSpec, Unwatched, train};
use serde_json::Value;

/// What a preconditioner may take.
const CACHE_BYTES: u64 = 256 << 20;

/// Of a table of numbers whose last column is the target.
pub(crate) fn schema_of(table: &dyn Rows) -> Schema {
    let column =
        |index: usize| Column { distinct: 2, ..Column::unprofiled(&format!("c{index}"), ColumnKind::Numeric, vec![]) };
    Schema {
        columns: (0..table.column_count()).map(column).collect(),
        targets: vec![table.column_count() - 1],
        task: Task::Regression,
        row_count: table.row_count() as u64,
        findings: vec![],
    }
}

/// Of effort fast unless it says otherwise.
pub(crate) fn spec_of(raw: &Value) -> TrainSpec {
    TrainSpec::check_stored("", raw, SpecLimits { feature_count: 1 << 20 }).expect("a valid spec")
}

/// Trains by a spec and prints how long each stage took; the target is the last column.
pub(crate) fn train_as(table: &dyn Rows, raw: &Value, threads: usize) -> FittedModel {
    let (schema, spec) = (schema_of(table), spec_of(raw));
    let trained = train(table, &schema, "bench", &spec, Resources { threads, cache_bytes: CACHE_BYTES }, &Unwatched)
        .expect("training succeeds");
    let stages: Vec<String> =
        trained.stage_seconds.iter().map(|(stage, t)| format!("{} {t:.2}", stage.name())).collect();
    println!("    {}", stages.join(", "));
    trained.model
}
