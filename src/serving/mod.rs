//! Predictions: the rows of a request are read, batched, computed and written as an answer.

/// Model cache, batching and prediction threads.
mod runtime;

/// Errors that are the client's.
mod refusal;

/// Row numbers and line numbers for error messages.
mod row_locations;

/// The rows of a request, encoded for a model.
mod request_rows;

/// Texts of levels that training did not see.
mod unknown_levels;

/// Flags of rows: unknown levels, inputs out of range, cells filled in.
mod flags;

/// The outputs that a request asks for.
mod outputs;

/// Predictions with the outputs that were asked for.
mod answer;

/// Answers as flat columns, for CSV and Arrow.
mod answer_columns;

/// JSON, JSON lines, CSV and Arrow.
mod formats;

pub use answer::Answer;
pub use flags::RowFlags;
pub use formats::{AnswerWriter, Format, Guess, JsonRequest, Once, RowFormat, RowReader, RowScan, ScoringRequest};
pub use formats::{read_request, read_small, skip};
pub use outputs::{Output, OutputPlace, OutputRequest, Outputs};
pub use refusal::{FAR_OUT, Refusal, RefusalCode, refuse_not_finite};
pub use request_rows::{CellError, RequestRows};
pub use row_locations::RowLocations;
pub use runtime::batcher::{BatchError, BatchLimits, Batcher};
pub use runtime::input_drift::{ColumnDrift, DriftReport, InputDrift};
pub use runtime::model_cache::{ModelCache, ModelCacheError, ReadyModel};
pub use runtime::prediction_pool::PredictionPool;
pub use runtime::warm_up::{NotReady, make_ready};
