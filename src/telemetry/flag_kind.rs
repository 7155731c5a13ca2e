//! What a cell of a prediction row is flagged for.

/// Why a prediction deserves less trust than its training error suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// A level that the training data did not have.
    UnknownLevel,
    /// A number or an instant outside of the range of the fitted rows.
    OutOfRange,
    /// A missing cell, filled with the training mean.
    Imputed,
}

impl FlagKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::UnknownLevel, Self::OutOfRange, Self::Imputed];

    /// The name in answers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownLevel => "unknown_level",
            Self::OutOfRange => "out_of_range",
            Self::Imputed => "imputed",
        }
    }
}
