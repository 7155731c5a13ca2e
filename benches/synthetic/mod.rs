//! The problem that training benches share.

use crate::trainer::train_as;
use bochner::dataset::Rows;
use bochner::model::FittedModel;
use bochner::random::{Purpose, Stream};
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

/// Trains on all rows and prints how long each stage took.
pub(crate) fn fit(table: &dyn Rows, s: usize, threads: usize, lambda: &Value, error_bars: bool) -> FittedModel {
    let raw = json!({
        "lambda": lambda, "features": {"count": s}, "validation_fraction": 0, "error_bars": error_bars,
        "guarantees": {"exact_rows": 0},
    });
    train_as(table, &raw, threads)
}
