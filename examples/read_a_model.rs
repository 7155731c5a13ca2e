//! Reads a model file, tells what it expects, and predicts the rows of a small CSV text.
//!
//! ```sh
//! cargo run --release --example read_a_model -- houses.bochner
//! ```
//!
//! Without an argument it reads a model of the test fixtures.

use bochner::dataset::{Cell, CsvOptions, CsvTable};
use bochner::model::{Extras, Predictor, read_artifact};
use std::error::Error;
use std::fs::File;
use std::io::BufReader;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/artifacts/ridge.bochner");

/// Bytes of the largest model file that is read. A file that claims to be larger is refused before memory is allocated.
const LARGEST: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).filter(|path| path.ends_with(".bochner")).unwrap_or(FIXTURE.into());
    let model = read_artifact(BufReader::new(File::open(&path)?), LARGEST)?;
    println!("{path}: trained on {} rows of {}", model.report.training_rows, model.dataset);
    for column in &model.inputs.encoding.columns {
        println!("  {}: {:?} {}", column.name, column.kind, column.levels.join(", "));
    }

    let predictor = Predictor::new(model);
    if path == FIXTURE {
        let values = predict(&predictor, "x,colour,even\n0.3,green,true\n0.91,red,false\n,blue,true\n")?;
        println!("values: {values:?}");
        assert!((values[0] - 1.558_709).abs() < 1e-4, "ridge.json has this row");
    }
    Ok(())
}

/// Predicts the rows of a CSV text whose columns stand in the order of the model's.
fn predict(predictor: &Predictor, text: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let columns = &predictor.model().inputs.encoding.columns;
    let options = CsvOptions { delimiter: b',', header: Some(true) };
    let mut table = CsvTable::new(text.as_bytes(), options, columns.len())?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while table.advance()? {
        let mut row = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            row.push(column.code(Cell::Text(table.cell(index)?))?);
        }
        rows.push(row);
    }
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let predictions = predictor.compute(&rows, Extras { error_bars: true, ..Extras::default() });
    if let Some(error_bars) = &predictions.error_bars {
        println!("distances to the exact kernel method, estimated: {:.4}", error_bars.column(0));
    }
    Ok(predictions.values.column(0).to_vec())
}

#[test]
fn it_runs() {
    main().unwrap();
}
