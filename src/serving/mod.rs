//! Answering predictions: a request's rows, the threads that compute them, and what the answer says.

/// Why a request was refused.
mod refusal;

/// Where rows stood in what was sent.
mod places;

/// Rows of a request, as a model takes them.
mod rows;

/// What a prediction is asked to say.
mod outputs;

/// What predictions say.
mod answer;

/// Answers as flat columns.
mod columns;

/// Tables in and answers out.
mod formats;

/// Threads that predict.
mod pool;

/// Tasks for later.
mod timer;

/// Rows that wait for a thread.
mod queue;

/// Concurrent requests merged into one product.
mod batcher;

/// A model made ready before anyone is told that it is there.
mod preparation;

/// Models in memory, under a budget.
mod shelf;

pub use answer::Answer;
pub use batcher::{BatchError, BatchLimits, Batcher};
pub use formats::{AnswerWriter, Format, JsonRequest, Once, RowReader, RowScan, ScoringRequest};
pub use formats::{read_request, read_small, skip};
pub use outputs::{Output, OutputPlace, OutputRequest, Outputs};
pub use places::Places;
pub use pool::PredictionPool;
pub use preparation::{NotReady, make_ready};
pub use refusal::{FAR_OUT, Refusal, refuse_not_finite};
pub use rows::{CellError, RowBlock};
pub use shelf::{ReadyModel, Shelf, ShelfError};
