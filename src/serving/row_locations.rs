//! The locations of rows in the request, kept for errors that are found after decoding.

/// Where each row of a block stood in the request.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RowLocations {
    /// One after the other in a JSON list.
    #[default]
    List,
    /// The line number of each row.
    Lines(Vec<u64>),
    /// One after the other in an Arrow record batch.
    Batch {
        /// Index of the record batch.
        number: usize,
        /// Index in the record batch of the first row of the block.
        start: usize,
    },
    /// One after the other in a file without lines.
    Rows {
        /// Index in the file of the first row of the block.
        start: usize,
    },
}

impl RowLocations {
    /// The JSON pointer to a row; `list` points to the list that holds the rows.
    pub fn pointer(&self, row: usize, list: &str) -> String {
        match self {
            Self::List => format!("{list}/{row}"),
            Self::Lines(lines) => format!("/lines/{}", lines.get(row).copied().unwrap_or_default()),
            Self::Rows { start } => format!("/rows/{}", start + row),
            Self::Batch { number, start } => format!("/batches/{number}/{}", start + row),
        }
    }

    /// Adds the line of the next row.
    pub(super) fn push_line(&mut self, line: u64) {
        match self {
            Self::Lines(lines) => lines.push(line),
            Self::List | Self::Batch { .. } | Self::Rows { .. } => *self = Self::Lines(vec![line]),
        }
    }

    /// Adds the locations of the rows that follow.
    pub(super) fn append(&mut self, next: Self) {
        match (&mut *self, next) {
            (Self::Lines(lines), Self::Lines(next)) => lines.extend(next),
            (_, next) => *self = next,
        }
    }
}
