//! Parquet and Arrow files. Their parsers do not promise to survive hostile bytes, so they run in a child process of the
//! same program, with limits of memory and time. The child writes the table as CSV, which the service reads as it reads
//! any CSV.

/// Arrow arrays as text.
mod cells;

/// The child: from a file to CSV.
mod child;

/// The parent: starts a child and reads what it writes.
mod columnar_table;

pub use child::{read_columns, restrict};
pub(crate) use columnar_table::ColumnarTable;

/// A format that the child reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnarFormat {
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file.
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
}

impl ColumnarFormat {
    /// As the command line of the child names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::ArrowFile => "arrow-file",
            Self::ArrowStream => "arrow-stream",
        }
    }

    /// The format of a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Parquet, Self::ArrowFile, Self::ArrowStream].into_iter().find(|format| format.name() == name)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet file",
            Self::ArrowFile => "Arrow file",
            Self::ArrowStream => "Arrow stream",
        }
    }
}

/// Why a file is not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadFailure {
    /// The file is at fault.
    #[error("{0}")]
    Refused(String),
    /// Nobody reads the table any more.
    #[error("the reader of the table has gone")]
    Unread,
}
