//! Errors of datasets, with line and column.

use std::fmt;

/// What a place in an upload is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceUnit {
    /// Lines of text.
    Line,
    /// Rows, in formats without lines.
    Row,
}

impl PlaceUnit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Row => "row",
        }
    }
}

/// Where in an upload something is wrong. Lines count from one and include the header; rows count from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Line of the file, or row of the table.
    pub line: u64,
    /// What `line` counts.
    pub unit: PlaceUnit,
    /// Name of the column.
    pub column: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.unit.name(), self.line)?;
        match &self.column {
            Some(column) => write!(f, ", column '{column}'"),
            None => Ok(()),
        }
    }
}

/// Why an upload or a stored dataset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// An upload without a byte.
    #[error("the body is empty; send a table with a header line")]
    Empty,
    /// The stream broke or could not be decompressed.
    #[error("the body could not be read: {detail}")]
    Unreadable {
        /// What the decoder said.
        detail: String,
    },
    /// The bytes are of another format than the request says.
    #[error("{detail}")]
    WrongFormat {
        /// What they are, and how to send them.
        detail: String,
    },
    /// More bytes than allowed, counted after decompression.
    #[error("the body is larger than the limit of {limit} bytes after decompression")]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// One cell or line is wrong.
    #[error("{place}: {detail}")]
    At {
        /// Where.
        place: Place,
        /// What.
        detail: String,
    },
    /// A column as a whole is wrong.
    #[error("column '{column}': {detail}")]
    Column {
        /// Which.
        column: String,
        /// What.
        detail: String,
    },
    /// The table as a whole is wrong.
    #[error("{detail}")]
    Table {
        /// What.
        detail: String,
    },
    /// An option of the upload is wrong.
    #[error("{option}: {detail}")]
    Option {
        /// Name of the query parameter.
        option: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// Neither an id nor a name of a dataset.
    #[error("there is no dataset '{id}'")]
    NotFound {
        /// What was asked for.
        id: String,
    },
    /// A queued or running job reads it.
    #[error("a queued or running job uses dataset '{id}'; cancel the job or wait for its end")]
    InUse {
        /// Which.
        id: String,
    },
    /// Its rows are not here.
    #[error("the rows of dataset '{id}' stay at {uri}, where only jobs of type train read them")]
    Located {
        /// Which.
        id: String,
        /// Where.
        uri: String,
    },
    /// The stored table is damaged.
    #[error("dataset {dataset} is damaged: {detail}; upload the same file again to repair it")]
    Damaged {
        /// Its id, and its name if it has one.
        dataset: String,
        /// Where and how.
        detail: String,
    },
    /// The disk refused.
    #[error("storage failed: {0}")]
    Storage(std::io::Error),
    /// The database refused.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
}

/// An error of ours that came through an interface of the system's is itself again.
impl From<std::io::Error> for DatasetError {
    fn from(error: std::io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Storage)
    }
}

impl DatasetError {
    pub(super) fn at(line: u64, column: Option<&str>, detail: impl Into<String>) -> Self {
        let place = Place { line, unit: PlaceUnit::Line, column: column.map(str::to_owned) };
        Self::At { place, detail: detail.into() }
    }

    /// The same error of a format that counts rows.
    pub(super) fn in_rows(self) -> Self {
        match self {
            Self::At { place, detail } => Self::At { place: Place { unit: PlaceUnit::Row, ..place }, detail },
            other => other,
        }
    }

    pub(super) fn column(column: &str, detail: impl Into<String>) -> Self {
        Self::Column { column: column.to_owned(), detail: detail.into() }
    }

    pub(super) fn table(detail: impl Into<String>) -> Self {
        Self::Table { detail: detail.into() }
    }
}
