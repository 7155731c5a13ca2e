//! The problem that training benches share.

use bochner::dataset::{Column, ColumnKind, Rows, Schema, Task};
use bochner::model::FittedModel;
use bochner::random::{Purpose, Stream};
use bochner::training::{Observer, Resources, SpecLimits, Stage, TrainSpec, train};
use serde_json::{Value, json};

/// Uniform inputs and a smooth target, made on the fly: row i from stream i.
pub(crate) struct Synthetic {
    /// Rows.
    pub(crate) n: usize,
    /// Inputs.
    pub(crate) d: usize,
}

impl Rows for Synthetic {
    fn row_count(&self) -> usize {
        self.n
    }

    fn column_count(&self) -> usize {
        self.d + 1
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
        for (index, row) in cells.chunks_exact_mut(self.d + 1).enumerate() {
            let mut stream = Stream::new(1, Purpose::Split, (first + index) as u64);
            row.fill_with(|| 2.0 * stream.uniform() - 1.0);
            row[self.d] = (3.0 * row[0]).sin() + row[1] * row[2] + 0.1 * row[self.d];
        }
        Ok(())
    }
}

struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        false
    }
}

/// Trains on all rows and prints how long each stage took.
pub(crate) fn fit(table: &dyn Rows, s: usize, threads: usize, lambda: &Value, error_bars: bool) -> FittedModel {
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
    };
    let schema = Schema {
        columns: (0..table.column_count()).map(column).collect(),
        targets: vec![table.column_count() - 1],
        task: Task::Regression,
        row_count: table.row_count() as u64,
    };
    let raw = json!({
        "lambda": lambda, "features": {"count": s}, "validation_fraction": 0, "error_bars": error_bars,
        "guarantees": {"exact_rows": 0},
    });
    let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: s }).expect("a valid spec");
    let trained = train(table, &schema, "bench", &spec, Resources { threads, cache_bytes: 0 }, &Silent)
        .expect("training succeeds");
    let stages: Vec<String> =
        trained.stage_seconds.iter().map(|(stage, t)| format!("{} {t:.2}", stage.name())).collect();
    println!("    {}", stages.join(", "));
    trained.model
}
