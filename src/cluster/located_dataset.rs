//! A table in files as a dataset of the service: measured by one pass, kept as its schema and a few rows.

use super::{LocalEngine, LocationError, Locations, SparkEngine, SparkOptions, TableFiles, TableFolder, TablePlace};
use crate::config::RemoteUri;
use crate::dataset::{Dataset, DatasetStore, Ingested, Located, Location};
use crate::training::{Engine, LocatedTable, Observer, Stage, TrainError};
use std::path::Path;

/// Rows of the sample that are kept, to be shown.
const KEPT_ROWS: usize = 1_000;

/// Fewer rows are no table.
const FEWEST_ROWS: u64 = 2;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Where the files are: `file:/…`, or a URI that the cluster can read.
    pub location: String,
    /// A name to find it by.
    pub name: Option<String>,
    /// Names of the targets with commas between; the last column if absent.
    pub target: Option<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// Most columns.
    pub columns: usize,
    /// Bytes that the pass may take.
    pub memory: u64,
}

/// Measures a table by one pass, and stores it as a dataset unless it is one already: a folder by this thread, and what only the
/// cluster can read by a session of its own. Stops when `stop` says so.
pub fn register(
    store: &DatasetStore,
    (locations, spark): (&Locations, Option<&SparkOptions>),
    asked: &Registration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Ingested, LocationError> {
    let located = match locations.resolve(&asked.location)? {
        TablePlace::Folder(path) => {
            let folder = TableFolder::open(&path, &asked.ignore).map_err(LocationError::Refused)?;
            let Some(root) = folder.root.to_str() else {
                let detail = format!("'{}' is not UTF-8; rename the folder", folder.root.display());
                return Err(LocationError::Refused(detail));
            };
            let engine = LocalEngine { folder: &folder, threads: 1 };
            measure(&engine, (&folder.table, format!("file:{root}")), asked, stop)?
        }
        TablePlace::Remote(uri) => {
            let tick = |_| if stop() { Err(TrainError::Stopped) } else { Ok(()) };
            let (engine, table) = open_remote(&uri, &asked.ignore, spark, &tick)?;
            measure(&engine, (&table, uri.to_string()), asked, stop)?
        }
    };
    let (located, cells) = located;
    Ok(store.register(located, &cells)?)
}

/// The dataset, and the cells of the rows that are kept.
fn measure(
    engine: &dyn Engine,
    (files, uri): (&TableFiles, String),
    asked: &Registration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(Located, Vec<f64>), LocationError> {
    let (columns, limit) = (files.columns.len(), asked.columns);
    if columns > limit {
        let detail = format!("the files have {columns} columns; the limit is {limit}: leave some out with ignore");
        return Err(LocationError::Refused(detail));
    }
    let need = LocatedTable::sample_bytes(columns);
    if need > asked.memory {
        let (need, have) = (need >> 20, asked.memory >> 20);
        let detail = format!("a sample of {columns} columns takes {need} MiB; --training-memory allows {have} MiB");
        return Err(LocationError::Refused(detail));
    }
    let targets = files.targets(asked.target.as_deref()).map_err(LocationError::Refused)?;
    let table = LocatedTable::measure(engine, (&files.columns, files.rows), &targets, &Asking(stop))?;
    if table.schema().row_count < FEWEST_ROWS {
        return Err(LocationError::Refused(format!("the files have fewer than {FEWEST_ROWS} rows")));
    }
    let rows = table.sample(KEPT_ROWS);
    let located = Located {
        location: Location {
            uri,
            files: files.id.clone(),
            ignored: asked.ignore.clone(),
            kept_rows: (rows.cells.len() / columns) as u64,
        },
        name: asked.name.clone(),
        schema: table.schema().clone(),
        bytes: files.bytes,
        sha256: files.sha256.clone(),
    };
    Ok((located, rows.cells))
}

/// Where the files of a dataset are, if they may still be read.
pub fn place_of(locations: &Locations, dataset: &Dataset) -> Result<TablePlace, LocationError> {
    locations.resolve(&location_of(dataset)?.uri)
}

/// The files of a dataset, which must be what they were when it was registered as far as names, sizes and row counts tell. What
/// they hold is compared when they are read.
pub fn open_unchanged(folder: &Path, dataset: &Dataset) -> Result<TableFolder, LocationError> {
    let folder = TableFolder::open(folder, &location_of(dataset)?.ignored).map_err(LocationError::Refused)?;
    check_unchanged(&folder.table, dataset)?;
    Ok(folder)
}

/// The same for files that only the cluster can read, with the session that has them open.
pub fn open_unchanged_remote(
    uri: &RemoteUri,
    dataset: &Dataset,
    spark: Option<&SparkOptions>,
    tick: &dyn Fn(f64) -> Result<(), TrainError>,
) -> Result<(SparkEngine, TableFiles), LocationError> {
    let (engine, table) = open_remote(uri, &location_of(dataset)?.ignored, spark, tick)?;
    check_unchanged(&table, dataset)?;
    Ok((engine, table))
}

fn open_remote(
    uri: &RemoteUri,
    ignored: &[String],
    spark: Option<&SparkOptions>,
    tick: &dyn Fn(f64) -> Result<(), TrainError>,
) -> Result<(SparkEngine, TableFiles), LocationError> {
    let Some(options) = spark else {
        let detail = format!("'{uri}' can only be read on Spark: start the service with --spark-master");
        return Err(LocationError::Refused(detail));
    };
    SparkEngine::open(uri, ignored, options, tick).map_err(|error| match error {
        TrainError::Data(detail) => LocationError::Refused(detail),
        error => LocationError::Pass(error),
    })
}

fn location_of(dataset: &Dataset) -> Result<&Location, LocationError> {
    let none = || format!("dataset '{}' has no location: its rows are stored here", dataset.id);
    dataset.location.as_ref().ok_or_else(|| LocationError::Refused(none()))
}

fn check_unchanged(table: &TableFiles, dataset: &Dataset) -> Result<(), LocationError> {
    let location = location_of(dataset)?;
    if table.id == location.files {
        return Ok(());
    }
    Err(LocationError::Changed(format!(
        "the files of dataset '{}' at {} were changed since it was registered: register the location again",
        dataset.name, location.uri
    )))
}

struct Asking<'s>(&'s (dyn Fn() -> bool + Sync));

impl Observer for Asking<'_> {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        (self.0)()
    }
}
