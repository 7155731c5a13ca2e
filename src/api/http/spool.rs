//! A long response before it is sent: short ones stay in memory, longer ones go to disk.

use super::error::ApiError;
use super::response_memory::budgeted_body;
use crate::api::AppState;
use crate::serving::ReadyModel;
use axum::body::Body;
use std::cell::Cell;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;
use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile_in};
use tokio_util::io::ReaderStream;

/// Most bytes kept in memory.
const IN_MEMORY: usize = 4 << 20;

/// Bytes written at once: responses are written number by number.
const BUFFER: usize = 64 << 10;

/// A response that is being written.
pub(crate) struct ResponseSpool {
    target: BufWriter<SpooledTempFile>,
    written: Rc<Cell<u64>>,
}

impl ResponseSpool {
    /// An empty spool. Its file, if it needs one, is an unnamed one in the data directory.
    pub(crate) fn new(data_dir: &Path) -> Self {
        let target = spooled_tempfile_in(IN_MEMORY, data_dir.join("tmp"));
        Self { target: BufWriter::with_capacity(BUFFER, target), written: Rc::default() }
    }

    /// The number of bytes written so far, which can be read while a writer owns the spool.
    pub(crate) fn length(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.written)
    }

    /// Ends the writing.
    pub(crate) fn finish(self) -> io::Result<SpooledResponse> {
        let mut target = self.target.into_inner().map_err(io::IntoInnerError::into_error)?;
        target.seek(SeekFrom::Start(0))?;
        Ok(SpooledResponse(target))
    }
}

impl Write for ResponseSpool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.target.write(bytes)?;
        self.written.set(self.written.get() + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// A complete response.
pub(crate) struct SpooledResponse(SpooledTempFile);

impl SpooledResponse {
    pub(crate) fn into_body(self, state: &AppState, model: &ReadyModel) -> Result<Body, ApiError> {
        match self.0.into_inner() {
            SpooledData::InMemory(bytes) => budgeted_body(state, model, bytes.into_inner()),
            SpooledData::OnDisk(file) => Ok(Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file)))),
        }
    }
}
