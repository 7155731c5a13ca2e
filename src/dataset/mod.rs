//! What was uploaded, made trustworthy: bytes become typed columns in a table of numbers.

/// The formats that uploads are read from.
mod formats;

/// Errors of datasets, with line and column.
mod error;

/// Writes an upload to disk: decompressed, limited, hashed.
mod upload;

/// Typed columns and their statistics.
mod schema;

/// From cells to typed columns: the first pass over an upload.
mod profile;

/// The table on disk, read in blocks.
mod table;

/// Inputs, targets and the weight column.
mod roles;

/// Raw rows to numeric inputs: one-hot levels, missing cells.
mod encoding;

/// Centring and scaling of encoded inputs.
mod scaling;

/// Columns of another table found by the names that a model knows.
mod alignment;

/// Splits rows into training, validation and calibration.
mod split;

/// The datasets of a data directory.
mod store;

/// Their files kept in step with the database.
mod upkeep;

pub use alignment::Alignment;
pub use encoding::{Cell, Encoding, EncodingError, InputColumn};
pub use error::{DatasetError, Place};
pub use formats::csv::{BYTE_ORDER_MARK, CsvOptions, CsvTable, parse_delimiter};
pub use roles::Roles;
pub use scaling::{ColumnMoments, Scaling, ScalingRule};
pub use schema::{Column, ColumnKind, Schema, Task};
pub use split::{HeldOut, Part, split};
pub use store::{Dataset, DatasetStore, Ingested, UploadOptions};
pub use table::{Rows, Table};
pub use upload::{ContentEncoding, UploadLimits};
