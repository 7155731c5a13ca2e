//! Answering predictions: a request's rows, the threads that compute them, and what the answer says.

/// Models in memory and the threads that compute their predictions.
mod runtime;

/// Why a request was refused.
mod refusal;

/// Where rows stood in what was sent.
mod row_locations;

/// Rows of a request, as a model takes them.
mod request_rows;

/// What a prediction is asked to say.
mod outputs;

/// What predictions say.
mod answer;

/// Answers as flat columns.
mod columns;

/// Tables in and answers out.
mod formats;

pub use answer::Answer;
pub use formats::{AnswerWriter, Format, JsonRequest, Once, RowReader, RowScan, ScoringRequest};
pub use formats::{read_request, read_small, skip};
pub use outputs::{Output, OutputPlace, OutputRequest, Outputs};
pub use refusal::{FAR_OUT, Refusal, RefusalCode, refuse_not_finite};
pub use request_rows::{CellError, RequestRows};
pub use row_locations::RowLocations;
pub use runtime::batcher::{BatchError, BatchLimits, Batcher};
pub use runtime::model_cache::{ModelCache, ModelCacheError, ReadyModel};
pub use runtime::pool::PredictionPool;
pub use runtime::warm_up::{NotReady, make_ready};
