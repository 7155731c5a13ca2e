//! Slices that start at a cache line: a vector load that straddles two lines takes twice as long.

use super::Real;
use std::ops::{Deref, DerefMut};

const LINE_BYTES: usize = 64;

/// A slice of fixed length that starts at a cache line.
pub struct Aligned<T> {
    /// Never grows, so that `start` stays aligned.
    cells: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Real> Aligned<T> {
    /// A slice of `length` zeros.
    pub fn zeros(length: usize) -> Self {
        let slack = LINE_BYTES / size_of::<T>();
        let cells = vec![T::zero(); length + slack];
        let start = cells.as_ptr().align_offset(LINE_BYTES).min(slack);
        Self { cells, start, length }
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.cells[self.start..][..self.length]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.cells[self.start..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_at_a_line_and_has_its_length() {
        for length in [0, 1, 63, 1000] {
            let mut numbers = Aligned::<f32>::zeros(length);
            assert_eq!((numbers.len(), numbers.as_ptr().align_offset(LINE_BYTES)), (length, 0));
            numbers.fill(1.0);
            assert_eq!(numbers.iter().sum::<f32>(), length as f32);
        }
    }
}
