//! What was uploaded, made trustworthy: bytes become typed columns in a table of numbers.

/// What one cell means: numbers, dates, truth values, words for missing.
mod cells;

/// The formats that uploads are read from.
mod formats;

/// Errors of datasets, with line and column.
mod error;

/// Writes an upload to disk: decompressed, limited, hashed.
mod upload;

/// How much a compressed stream may expand.
mod expansion;

/// Typed columns and their statistics.
mod schema;

/// From cells to typed columns: the first pass over an upload.
mod columns;

/// What to know about a table before a model is made of it.
mod quality;

/// Datasets whose rows stay in files elsewhere.
mod located;

/// A stored dataset read in another way.
mod rereading;

/// How a dataset is described in files and in the database.
mod stored;

/// The table on disk, read in blocks.
mod table;

/// Inputs, targets and the weight column.
mod roles;

/// Raw rows to numeric inputs: one-hot levels, signs of levels, missing cells.
mod encoding;

/// Centring and scaling of encoded inputs.
mod scaling;

/// Moments of columns that do not depend on the order of the rows' blocks.
mod moment_sums;

/// Columns of another table found by the names that a model knows.
mod alignment;

/// What each row is used for.
mod parts;

/// The datasets of a data directory.
mod store;

/// Their files kept in step with the database.
mod upkeep;

pub use alignment::Alignment;
pub use cells::{DateOrder, DateParts, DecimalMark, Notation, Reading, format_instant};
pub use columns::ColumnOptions;
pub use encoding::{Cell, Encoding, EncodingError, InputColumn, LEVEL_INPUTS, LevelSigns, MOST_INDICATORS};
pub use error::{DatasetError, Place, PlaceUnit};
pub use expansion::COMPRESSION_RATIO;
pub(crate) use formats::columnar::ColumnarTable;
pub use formats::columnar::{ColumnarFormat, ReadFailure, read_columns, restrict};
pub use formats::csv::{BYTE_ORDER_MARK, CsvOptions, CsvTable, parse_delimiter};
pub(crate) use formats::upload_format::FileCompression;
pub use formats::upload_format::UploadFormat;
pub use located::{Located, Location};
pub use moment_sums::{MOMENT_BYTES, MomentSums};
pub use parts::{
    HeldOut, Part, TooFewUnits, UnitOrder, fold_units, folds, keep_few, permutation, split, split_units, thin,
};
pub use quality::{Finding, FindingCode, Severity};
pub use rereading::SchemaChange;
pub use roles::Roles;
pub use scaling::{ColumnMoments, Scaling, ScalingRule};
pub use schema::{Column, ColumnKind, ColumnReading, LeftOut, Schema, Task};
pub use store::{Dataset, DatasetStore, Ingested, UploadOptions};
pub use table::{Rows, RowsInMemory, Table};
pub use upload::{ContentEncoding, Received, UploadLimits};
