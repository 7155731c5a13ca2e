//! Sums that are the same to the last bit in any order, of any parts, on any number of machines.
//!
//! Floating-point addition is not associative; addition of integers is. [`GridInt`] counts multiples of a power of two
//! that is fixed before the first number arrives, for large matrices whose entries have a known bound. [`ExactSum`] holds
//! every bit of every number, for a few sums without one.

/// Multiples of a power of two, as integers.
mod grid;

/// Sums without rounding.
mod exact_sum;

pub use exact_sum::{EXACT_SUM_BYTES, ExactSum};
pub use grid::{GridInt, exponent_above, power_of_two};
