//! Why partial statistics were refused.

use crate::solver::MergeError;

/// What is wrong with a file of partial statistics, or with two that should be added.
#[derive(Debug, thiserror::Error)]
pub enum PartialError {
    /// No magic.
    #[error("these are not partial statistics of Bochner: the first bytes are others")]
    NotPartial,
    /// Of a later release.
    #[error(
        "the partial statistics have version {found}; this build reads 1. Use the same release for every pass and merge."
    )]
    OtherVersion {
        /// As stated.
        found: u32,
    },
    /// The end is missing.
    #[error(
        "the partial statistics are cut off: {expected} bytes were written and {found} have arrived; run the pass again"
    )]
    Truncated {
        /// By the header.
        expected: u64,
        /// At hand.
        found: u64,
    },
    /// Something follows the end.
    #[error("{extra} bytes follow the end of the partial statistics")]
    Appended {
        /// Bytes too many.
        extra: u64,
    },
    /// More than the caller accepts.
    #[error("the partial statistics have {stated} bytes; at most {limit} are accepted")]
    TooLarge {
        /// By the header.
        stated: u64,
        /// The most.
        limit: u64,
    },
    /// The checksum is that of other bytes.
    #[error("the checksum of the partial statistics does not match: they were damaged on the way; run the pass again")]
    Damaged,
    /// A number that stands for nothing that this build knows.
    #[error("the partial statistics name {what} {found}, which this build does not know")]
    Unknown {
        /// What the number stands for.
        what: &'static str,
        /// The number.
        found: u32,
    },
    /// Sizes, bounds or numbers that no pass writes.
    #[error("the partial statistics contradict themselves")]
    Inconsistent,
    /// Of two kinds of pass.
    #[error("statistics of a pass '{other}' cannot be added to those of a pass '{own}'")]
    OtherPass {
        /// Of the first.
        own: &'static str,
        /// Of the second.
        other: &'static str,
    },
    /// Of two specs.
    #[error("the statistics were made by different specs: their spec hashes differ")]
    OtherSpec,
    /// Of f32 and f64.
    #[error("the statistics were made of features in different precisions")]
    OtherPrecision,
    /// Of machines that may round otherwise.
    #[error(
        "the statistics were made by different instructions, {own} and {other}; run all passes on machines with the same, or force some that all have with --spark-instructions"
    )]
    OtherInstructions {
        /// Of the first.
        own: &'static str,
        /// Of the second.
        other: &'static str,
    },
    /// Of other bounds or sizes, or beyond the bounds.
    #[error(transparent)]
    Sums(#[from] MergeError),
    /// Moments of tables with other columns.
    #[error("the statistics are of tables with different numbers of columns")]
    OtherColumns,
    /// They could not be read.
    #[error("the partial statistics could not be read: {0}")]
    Read(#[from] std::io::Error),
}
