//! Answering predictions: models kept ready in memory.

/// Models in memory, under a budget.
mod shelf;

pub use shelf::Shelf;
