//! Training on a table of numbers, for benches.

use bochner::dataset::{Column, ColumnKind, ColumnReading, Rows, Schema, Task};
use bochner::model::FittedModel;
use bochner::training::{Observer, Resources, SpecLimits, Stage, TrainSpec, train};
use serde_json::Value;

/// What a preconditioner may take.
const CACHE_BYTES: u64 = 256 << 20;

struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        false
    }
}

/// Trains by a spec, of effort fast unless it says otherwise, and prints how long each stage took; the target is the last column.
pub(crate) fn train_as(table: &dyn Rows, raw: &Value, threads: usize) -> FittedModel {
    let column = |index: usize| Column {
        name: format!("c{index}"),
        kind: ColumnKind::Numeric,
        levels: vec![],
        missing: 0,
        distinct: 2,
        distinct_is_lower_bound: true,
        min: None,
        max: None,
        mean: None,
        std: None,
        reading: ColumnReading::default(),
    };
    let schema = Schema {
        columns: (0..table.column_count()).map(column).collect(),
        targets: vec![table.column_count() - 1],
        task: Task::Regression,
        row_count: table.row_count() as u64,
        findings: vec![],
    };
    let spec = TrainSpec::check_stored("", raw, SpecLimits { feature_count: 1 << 20 }).expect("a valid spec");
    let trained = train(table, &schema, "bench", &spec, Resources { threads, cache_bytes: CACHE_BYTES }, &Silent)
        .expect("training succeeds");
    let stages: Vec<String> =
        trained.stage_seconds.iter().map(|(stage, t)| format!("{} {t:.2}", stage.name())).collect();
    println!("    {}", stages.join(", "));
    trained.model
}
