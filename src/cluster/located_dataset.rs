//! A table in files as a dataset of the service: measured by one pass, kept as its schema and a few rows.

use super::{LocalEngine, LocationError, Locations, TableFolder};
use crate::dataset::{Dataset, DatasetStore, Ingested, Located, Location};
use crate::training::{LocatedTable, Observer, Stage};

/// Rows of the sample that are kept, to be shown.
const KEPT_ROWS: usize = 1_000;

/// Fewer rows are no table.
const FEWEST_ROWS: u64 = 2;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Where the files are: `file:/…`.
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

/// Measures a table by one pass of this thread, and stores it as a dataset unless it is one already. Stops when `stop` says so.
pub fn register(
    store: &DatasetStore,
    locations: &Locations,
    asked: &Registration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Ingested, LocationError> {
    let folder =
        TableFolder::open(&locations.resolve(&asked.location)?, &asked.ignore).map_err(LocationError::Refused)?;
    let Some(root) = folder.root.to_str() else {
        return Err(LocationError::Refused(format!("'{}' is not UTF-8; rename the folder", folder.root.display())));
    };
    let (columns, limit) = (folder.columns.len(), asked.columns);
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
    let targets = folder.targets(asked.target.as_deref()).map_err(LocationError::Refused)?;
    let engine = LocalEngine { folder: &folder, threads: 1 };
    let table = LocatedTable::measure(&engine, &folder.columns, &targets, &Asking(stop))?;
    if table.schema().row_count < FEWEST_ROWS {
        return Err(LocationError::Refused(format!("the files have fewer than {FEWEST_ROWS} rows")));
    }
    let rows = table.sample(KEPT_ROWS);
    let located = Located {
        location: Location {
            uri: format!("file:{root}"),
            files: folder.id.clone(),
            ignored: asked.ignore.clone(),
            kept_rows: (rows.cells.len() / columns) as u64,
        },
        name: asked.name.clone(),
        schema: table.schema().clone(),
        bytes: folder.bytes,
        sha256: folder.sha256.clone(),
    };
    Ok(store.register(located, &rows.cells)?)
}

/// The files of a dataset, which must be what they were when it was registered as far as names, sizes and row counts tell. What
/// they hold is compared when they are read.
pub fn open_unchanged(locations: &Locations, dataset: &Dataset) -> Result<TableFolder, LocationError> {
    let Some(location) = &dataset.location else {
        return Err(LocationError::Refused(format!(
            "dataset '{}' has no location: its rows are stored here",
            dataset.id
        )));
    };
    let folder = locations.resolve(&location.uri)?;
    let folder = TableFolder::open(&folder, &location.ignored).map_err(LocationError::Refused)?;
    if folder.id != location.files {
        return Err(LocationError::Changed(format!(
            "the files of dataset '{}' at {} were changed since it was registered: register the location again",
            dataset.name, location.uri
        )));
    }
    Ok(folder)
}

struct Asking<'s>(&'s (dyn Fn() -> bool + Sync));

impl Observer for Asking<'_> {
    fn progress(&self, _: Stage, _: f64) {}

    fn should_stop(&self) -> bool {
        (self.0)()
    }
}
