//! Where rows stood in what was sent, for refusals that come when they are rows no longer.

/// The locations of the rows of a block.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RowLocations {
    /// One after the other in a list.
    #[default]
    List,
    /// Each on its line.
    Lines(Vec<u64>),
    /// One after the other in a record batch.
    Batch {
        /// Of the batch.
        number: usize,
        /// Row of the batch that is the first of the block.
        start: usize,
    },
}

impl RowLocations {
    /// The pointer to a row; `list` leads to the list that rows stand in.
    pub fn pointer(&self, row: usize, list: &str) -> String {
        match self {
            Self::List => format!("{list}/{row}"),
            Self::Lines(lines) => format!("/lines/{}", lines.get(row).copied().unwrap_or_default()),
            Self::Batch { number, start } => format!("/batches/{number}/{}", start + row),
        }
    }

    /// Adds the line of the next row.
    pub(super) fn push_line(&mut self, line: u64) {
        match self {
            Self::Lines(lines) => lines.push(line),
            Self::List | Self::Batch { .. } => *self = Self::Lines(vec![line]),
        }
    }

    /// Adds the locations of the rows that come next.
    pub(super) fn append(&mut self, next: Self) {
        match (&mut *self, next) {
            (Self::Lines(lines), Self::Lines(next)) => lines.extend(next),
            (_, next) => *self = next,
        }
    }
}
