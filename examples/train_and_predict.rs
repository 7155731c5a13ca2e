//! Trains a model on a CSV file, prints what is guaranteed, and predicts one row. No service, no network.
//!
//! ```sh
//! cargo run --release --example train_and_predict
//! ```

use bochner::dataset::{
    Cell, ColumnOptions, ContentEncoding, CsvOptions, Dataset, DatasetStore, Ingested, Rows, UploadFormat,
    UploadLimits, UploadOptions,
};
use bochner::model::{FittedModel, Predictor};
use bochner::storage::database::Database;
use bochner::storage::files::DataDir;
use bochner::theory::{RowAccess, guarantees};
use bochner::training::{Observer, Resources, SpecLimits, Stage, TrainSpec, train};
use serde_json::json;
use std::error::Error;
use std::fs::File;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/houses.csv");

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let directory = DataDir::open(folder.path())?;
    let store = DatasetStore::open(directory.clone(), Database::open(&directory.database())?)?;
    let dataset = read_table(&store)?;
    println!("{} rows, {} columns", dataset.schema.row_count, dataset.schema.columns.len());

    let model = train_on(&store.open_table(&dataset)?, &dataset)?;
    println!("trained on {} rows, lambda {:.3e}", model.report.training_rows, model.report.lambda);

    print_guarantees(&model);

    let price = predict(&Predictor::new(model))?;
    println!("predicted price: {price:.1}");
    assert!((300.0..420.0).contains(&price), "the table has this house at 353.7");
    Ok(())
}

/// Reads a CSV file into the store: its columns get types and statistics.
fn read_table(store: &DatasetStore) -> Result<Dataset, Box<dyn Error>> {
    let options = UploadOptions {
        name: Some("houses".into()),
        target: Some("price".into()),
        task: None, // regression, because the prices are numbers
        numeric: Vec::new(),
        columns: ColumnOptions::default(),
        format: Some(UploadFormat::Csv),
        file_name: None,
        csv: CsvOptions { delimiter: b',', header: None },
        encoding: ContentEncoding::Identity,
    };
    let limits = UploadLimits { bytes: 1 << 30, columns: 100, cells: 1 << 20, levels: 100 };
    Ok(match store.ingest(File::open(TABLE)?, &options, limits)? {
        Ingested::New(dataset) | Ingested::Known(dataset) => dataset,
    })
}

/// Prints each stage once, and never asks training to stop.
struct Printer;

impl Observer for Printer {
    fn progress(&self, stage: Stage, fraction: f64) {
        if fraction == 0.0 {
            println!("stage: {}", stage.name());
        }
    }

    fn should_stop(&self) -> bool {
        false
    }
}

fn train_on(rows: &dyn Rows, dataset: &Dataset) -> Result<FittedModel, Box<dyn Error>> {
    let raw = json!({"kernel": {"name": "gaussian"}, "features": {"count": 256}, "lambda": 1e-5});
    let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 4096 })
        .map_err(|problems| format!("{problems:?}"))?;
    let resources = Resources { threads: 2, cache_bytes: 64 << 20 };
    Ok(train(rows, &dataset.schema, &dataset.id, &spec, resources, &Printer)?.model)
}

/// What is proved about the model, with probability at least 95%, and what stands in the way elsewhere.
fn print_guarantees(model: &FittedModel) {
    let Some(evidence) = &model.evidence else { return };
    let circumstances = model.circumstances(RowAccess::Kept);
    for guarantee in guarantees(evidence, 0.05, 0.95, &circumstances).guarantees {
        println!("{} ({:?}): {}", guarantee.id, guarantee.status, guarantee.statement);
    }
}

fn predict(predictor: &Predictor) -> Result<f64, Box<dyn Error>> {
    let cells = [Cell::Number(94.9), Cell::Number(4.0), Cell::Number(8.0), Cell::Text("harbour"), Cell::Boolean(true)];
    let columns = &predictor.model().inputs.encoding.columns;
    let row: Vec<f64> = columns.iter().zip(cells).map(|(column, cell)| column.code(cell)).collect::<Result<_, _>>()?;
    Ok(predictor.predict(&[&row])[[0, 0]])
}

#[test]
fn it_runs() {
    main().unwrap();
}
