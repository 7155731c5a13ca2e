//! Tables to predict: read, computed and written block by block.

use super::native::Options;
use super::pipeline::{Answered, shed};
use crate::api::AppState;
use crate::api::http::body::{blocking_reader, content_encoding, refuse_announced};
use crate::api::http::error::ApiError;
use crate::api::http::response_memory::typed;
use crate::api::http::spool::{AnswerSpool, Spooled};
use crate::api::state::blocking;
use crate::dataset::ContentEncoding;
use crate::serving::{Answer, AnswerWriter, Outputs, ReadyModel, Refusal, RowReader, refuse_not_finite};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use std::cell::Cell;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The answer waits, on disk if it is long, until the last row is read: only then is it known to be right, and clients
/// that send everything before they read anything are served.
pub(crate) async fn answer_table(
    state: &AppState,
    model: &Arc<ReadyModel>,
    options: Options,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
) -> Result<Answered, ApiError> {
    let encoding = content_encoding(headers)?;
    let limit = state.config.max_upload.0;
    refuse_announced(headers, limit)?;
    let outputs = Outputs::check(&options.outputs, model.predictor.model())?;
    let permit = state.streams.clone().try_acquire_owned().map_err(|_| {
        model.meters.shed("overloaded");
        ApiError::busy("overloaded", "too many tables are being predicted at once")
    })?;
    let body = blocking_reader(body, state.config.upload_idle_seconds);
    let output = options.output;
    let client = Client::default();
    let table = TableRequest {
        model: Arc::clone(model),
        options,
        outputs,
        patience: deadline.saturating_duration_since(Instant::now()),
        most_rows: state.config.max_table_rows,
        most_bytes: state.config.max_table_answer.0,
        data_dir: state.config.data_dir.clone(),
        gone: Arc::clone(&client.gone),
    };
    let (spooled, rows) = blocking(move || -> Result<_, ApiError> {
        let _permit = permit;
        let unreadable = |error| ApiError::malformed("unreadable_body", encoding.unreadable(&error));
        let exceeded = Cell::new(false);
        let outcome = encoding
            .decoder(body)
            .map_err(unreadable)
            .and_then(|source| table.predict(Limited { source, encoding, left: limit, exceeded: &exceeded }));
        if exceeded.get() { Err(ApiError::too_large(limit)) } else { outcome }
    })
    .await?;
    Ok(Answered { response: typed(output.media_type(), spooled.into_body(state, model)?), rows, at: Instant::now() })
}

/// Whoever waits for the answer. Dropped with the request, also when the connection is gone.
#[derive(Default)]
struct Client {
    gone: Arc<AtomicBool>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// A table on its way.
struct TableRequest {
    model: Arc<ReadyModel>,
    options: Options,
    outputs: Outputs,
    /// Of every block.
    patience: Duration,
    most_rows: usize,
    most_bytes: u64,
    data_dir: PathBuf,
    gone: Arc<AtomicBool>,
}

impl TableRequest {
    /// The answer and how many rows it has.
    fn predict(&self, source: impl Read) -> Result<(Spooled, usize), ApiError> {
        let (model, outputs) = (&self.model, &self.outputs);
        let fitted = model.predictor.model();
        let entry = &model.entry;
        let spool = AnswerSpool::new(&self.data_dir);
        let length = spool.length();
        let mut writer = AnswerWriter::begin(self.options.output, spool, &entry.name, entry.version)?;
        let Some(mut reader) = RowReader::open(self.options.input, source, self.options.csv, fitted)? else {
            return Err(ApiError::internal("a JSON body does not stream"));
        };
        let runtime = tokio::runtime::Handle::current();
        loop {
            let start = Instant::now();
            let Some(mut block) = reader.next_block()? else { break };
            model.meters.decode.observe(start.elapsed());
            let (rows, unknown_levels) = (block.len(), block.unknown_levels);
            let locations = std::mem::take(&mut block.locations);
            self.refuse_long(writer.rows + rows, length.get())?;
            let predicted = model.batcher.predict(block, outputs.extras(), Instant::now() + self.patience, true);
            let predictions = runtime.block_on(predicted).map_err(|error| shed(model, error))?;
            refuse_not_finite(&predictions, &locations, "/rows")?;
            let start = Instant::now();
            writer.write(Answer { outputs, model: fitted, predictions: &predictions })?;
            model.meters.encode.observe(start.elapsed());
            model.meters.predicted(rows);
            model.meters.unknown_levels.inc_by(unknown_levels);
        }
        let rows = writer.rows;
        if rows == 0 {
            return Err(Refusal::invalid("", "the table has no rows").into());
        }
        let spool = writer.finish()?;
        self.refuse_long(rows, length.get())?;
        Ok((spool.finish()?, rows))
    }

    /// Ends a table that nobody waits for, or that is too long.
    fn refuse_long(&self, rows: usize, bytes: u64) -> Result<(), ApiError> {
        if self.gone.load(Ordering::Relaxed) {
            self.model.meters.shed("disconnected");
            return Err(ApiError::busy("disconnected", "the client has gone"));
        }
        let too_long = |detail| Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "table_too_long", detail));
        if rows > self.most_rows {
            return too_long(format!("the table has more than {} rows, which is the limit", self.most_rows));
        }
        if bytes > self.most_bytes {
            return too_long(format!("the answer is longer than {} bytes, which is the limit", self.most_bytes));
        }
        Ok(())
    }
}

/// A source that ends in an error where it grows beyond its limit, and says so; other errors it puts in our words.
struct Limited<'a, R> {
    source: R,
    encoding: ContentEncoding,
    left: u64,
    exceeded: &'a Cell<bool>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let unreadable = |error: std::io::Error| std::io::Error::other(self.encoding.unreadable(&error));
        let count = self.source.read(buffer).map_err(unreadable)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            self.exceeded.set(true);
            std::io::Error::from(std::io::ErrorKind::FileTooLarge)
        })?;
        Ok(count)
    }
}
