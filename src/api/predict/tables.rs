//! Tables to predict: decoded, scored and encoded block by block.

use super::native::Options;
use super::pipeline::{Answered, PredictionRequest, RowSource, StageClock, score, typed};
use crate::api::http::body::{blocking_reader, check_content_length, content_encoding, unreadable};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::spool::{ResponseSpool, SpooledResponse};
use crate::api::state::blocking;
use crate::dataset::ContentEncoding;
use crate::serving::{Answer, AnswerWriter, Outputs, ReadyModel, Refusal, RefusalCode, RowFlags, RowFormat, RowReader};
use crate::telemetry::{PredictionStage, ShedReason};
use axum::body::Body;
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Answers a table. The response is spooled until the last row is read: only then is the whole table known to be valid,
/// and clients that send everything before they read anything are served.
pub(super) async fn answer_table(
    request: &PredictionRequest<'_>,
    options: Options,
    body: Body,
) -> Result<Answered, ApiError> {
    let PredictionRequest { state, caller, model, parts, deadline, .. } = *request;
    let encoding = content_encoding(&parts.headers)?;
    let limit = state.config.max_upload.0;
    check_content_length(&parts.headers, limit)?;
    let outputs = Outputs::check(&options.outputs, model.predictor.model())?;
    let overloaded = |_: &ApiError| model.meters.shed(ShedReason::Overloaded);
    let permit = state.streams.take(caller.client()).inspect_err(overloaded)?;
    // A file goes to disk, and a child process reads it: both are limited as uploads are.
    let upload = match options.input {
        RowFormat::Streamed(_) => None,
        RowFormat::File(_) => {
            state.refuse_low_disk().await?;
            Some(state.uploads.take(caller.client()).inspect_err(overloaded)?)
        }
    };
    let body = blocking_reader(body, state.config.upload_idle_seconds);
    let output = options.output;
    let client = ClientGuard::default();
    let table = TableRequest {
        model: Arc::clone(model),
        options,
        outputs,
        block_timeout: deadline.saturating_duration_since(Instant::now()),
        max_rows: state.config.max_table_rows,
        max_bytes: state.config.max_table_answer.0,
        data_dir: state.config.data_dir.clone(),
        program: state.config.program.clone(),
        disconnected: Arc::clone(&client.disconnected),
    };
    let (spooled, rows) = blocking(move || -> Result<_, ApiError> {
        let _permits = (permit, upload);
        let exceeded = Cell::new(false);
        let outcome = encoding
            .decoder(body)
            .map_err(unreadable(encoding))
            .and_then(|source| table.predict(Limited { source, encoding, left: limit, exceeded: &exceeded }));
        if exceeded.get() { Err(ApiError::too_large(limit)) } else { outcome }
    })
    .await?;
    let response = typed(output.media_type(), spooled.into_body(state, model)?);
    Ok(Answered { response, rows, ready_at: Instant::now() })
}

/// Dropped with the request, also when the client disconnects.
#[derive(Default)]
struct ClientGuard {
    disconnected: Arc<AtomicBool>,
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        self.disconnected.store(true, Ordering::Relaxed);
    }
}

/// A table that is being predicted.
struct TableRequest {
    model: Arc<ReadyModel>,
    options: Options,
    outputs: Outputs,
    block_timeout: Duration,
    max_rows: usize,
    /// Of the response.
    max_bytes: u64,
    data_dir: PathBuf,
    /// Reads files in a child process.
    program: Option<PathBuf>,
    disconnected: Arc<AtomicBool>,
}

impl TableRequest {
    /// The response, and the number of its rows.
    fn predict(&self, mut source: impl Read) -> Result<(SpooledResponse, usize), ApiError> {
        let (model, outputs) = (&self.model, &self.outputs);
        let (fitted, entry) = (model.predictor.model(), &model.entry);
        let spool = ResponseSpool::new(&self.data_dir);
        let length = spool.length();
        let mut writer = AnswerWriter::begin(self.options.output, spool, &entry.name, entry.version)?;
        let mut beginning = Vec::new();
        source.by_ref().take(MAGIC_BYTES).read_to_end(&mut beginning).map_err(unread)?;
        if !beginning.is_empty() {
            self.options.input.check_beginning(&beginning)?;
        }
        let source = beginning.as_slice().chain(source);
        let reader = match self.options.input {
            RowFormat::Streamed(format) => RowReader::open(format, source, self.options.csv, fitted)?,
            RowFormat::File(format) => {
                let file = self.spooled(source)?;
                Some(RowReader::open_file(file, format, self.program.as_deref(), fitted)?)
            }
        };
        let Some(mut reader) = reader else {
            return Err(ApiError::internal("JSON is not read block by block"));
        };
        let runtime = tokio::runtime::Handle::current();
        let mut clock = StageClock::start();
        while let Some(rows) = reader.next_block()? {
            model.meters.observe(PredictionStage::Decode, clock.lap());
            self.check_progress(writer.rows + rows.len(), length.get())?;
            let deadline = Instant::now() + self.block_timeout;
            let flags = RowFlags::check(outputs, fitted, &rows, RowSource::TableBlock.list())?;
            let flags = flags.as_ref();
            let scored = score(model, rows, outputs, flags, deadline, RowSource::TableBlock, &mut clock);
            let predictions = runtime.block_on(scored)?;
            writer.write(Answer { outputs, model: fitted, predictions: &predictions, flags })?;
            model.meters.observe(PredictionStage::Encode, clock.lap());
        }
        let rows = writer.rows;
        if rows == 0 {
            return Err(Refusal::invalid("", "the table has no rows").into());
        }
        let spool = writer.finish()?;
        self.check_progress(rows, length.get())?;
        Ok((spool.finish()?, rows))
    }

    /// The body as an unnamed file in the data directory: files are read from their end.
    fn spooled(&self, mut source: impl Read) -> Result<File, ApiError> {
        let mut file = tempfile::tempfile_in(self.data_dir.join("tmp"))?;
        let mut chunk = vec![0; 1 << 16];
        let mut length = 0;
        loop {
            let count = source.read(&mut chunk).map_err(unread)?;
            if count == 0 {
                break;
            }
            file.write_all(&chunk[..count])?;
            length += count;
        }
        if length == 0 {
            return Err(ApiError::empty_body());
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Ends a table whose client has disconnected, or that is too long.
    fn check_progress(&self, rows: usize, bytes: u64) -> Result<(), ApiError> {
        if self.disconnected.load(Ordering::Relaxed) {
            self.model.meters.shed(ShedReason::Disconnected);
            return Err(ApiError::new(ErrorCode::Disconnected, "the client has disconnected"));
        }
        let too_long = |detail| Err(ApiError::new(ErrorCode::TableTooLong, detail));
        if rows > self.max_rows {
            return too_long(format!("the table has more than {} rows, which is the limit; split it", self.max_rows));
        }
        if bytes > self.max_bytes {
            return too_long(format!(
                "the response is longer than {} bytes, which is the limit; split the table or request fewer outputs",
                self.max_bytes
            ));
        }
        Ok(())
    }
}

/// How many first bytes are read to recognise a format.
const MAGIC_BYTES: u64 = 8;

fn unread(error: std::io::Error) -> Refusal {
    Refusal::malformed(RefusalCode::UnreadableBody, error.to_string())
}

/// A source that fails beyond its limit and records that it did.
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
