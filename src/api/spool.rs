//! A long answer on its way: in memory while it is short, on disk when it is not.

use axum::body::Body;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::{SpooledData, SpooledTempFile, spooled_tempfile_in};
use tokio_util::io::ReaderStream;

/// Bytes kept in memory.
const IN_MEMORY: usize = 4 << 20;

/// Bytes of an answer that is not sent yet.
pub(super) struct Spool(SpooledTempFile);

impl Spool {
    /// An empty one; its file, should it need one, lies in the data directory and vanishes with it.
    pub(super) fn new(data_dir: &Path) -> Self {
        Self(spooled_tempfile_in(IN_MEMORY, data_dir.join("tmp")))
    }

    /// What was written, as the body of an answer.
    pub(super) fn into_body(mut self) -> io::Result<Body> {
        self.0.seek(SeekFrom::Start(0))?;
        Ok(match self.0.into_inner() {
            SpooledData::InMemory(bytes) => Body::from(bytes.into_inner()),
            SpooledData::OnDisk(file) => Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file))),
        })
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
