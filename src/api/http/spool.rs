//! A long answer on its way: in memory while it is short, on disk when it is not.

use super::error::ApiError;
use super::response_memory::outgoing;
use crate::api::AppState;
use crate::serving::ReadyModel;
use axum::body::Body;
use std::cell::Cell;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;
use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile_in};
use tokio_util::io::ReaderStream;

/// Bytes kept in memory.
const IN_MEMORY: usize = 4 << 20;

/// Bytes that go to it at once: an answer is written number by number.
const BUFFER: usize = 64 << 10;

/// Bytes of an answer that is not sent yet.
pub(crate) struct AnswerSpool {
    target: BufWriter<SpooledTempFile>,
    written: Rc<Cell<u64>>,
}

impl AnswerSpool {
    /// An empty one; its file, should it need one, lies in the data directory and vanishes with it.
    pub(crate) fn new(data_dir: &Path) -> Self {
        let target = spooled_tempfile_in(IN_MEMORY, data_dir.join("tmp"));
        Self { target: BufWriter::with_capacity(BUFFER, target), written: Rc::default() }
    }

    /// How many bytes it holds, for whoever has given it away to be written to.
    pub(crate) fn length(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.written)
    }

    /// What was written.
    pub(crate) fn finish(self) -> io::Result<Spooled> {
        let mut target = self.target.into_inner().map_err(io::IntoInnerError::into_error)?;
        target.seek(SeekFrom::Start(0))?;
        Ok(Spooled(target))
    }
}

impl Write for AnswerSpool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.target.write(bytes)?;
        self.written.set(self.written.get() + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// An answer that is whole.
pub(crate) struct Spooled(SpooledTempFile);

impl Spooled {
    /// As the body of a response.
    pub(crate) fn into_body(self, state: &AppState, model: &ReadyModel) -> Result<Body, ApiError> {
        match self.0.into_inner() {
            SpooledData::InMemory(bytes) => outgoing(state, model, bytes.into_inner()),
            SpooledData::OnDisk(file) => Ok(Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file)))),
        }
    }
}
