//! Scratch memory that a thread reuses: allocating and clearing it takes as long as computing the features of a row.

use super::{Aligned, Real};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// A thread keeps at most this many buffers per precision, each at most this large.
const MOST_KEPT: usize = 4;
const MOST_BYTES: usize = 64 << 10;

/// A buffer that starts at a cache line. Its content is unspecified at first.
pub struct Scratch<T: Real> {
    /// None only while it is dropped.
    memory: Option<Aligned<T>>,
    length: usize,
}

impl<T: Real> Scratch<T> {
    /// A buffer of `length` numbers.
    pub fn of(length: usize) -> Self {
        let kept = T::kept(Vec::pop).filter(|memory| memory.len() >= length);
        Self { memory: Some(kept.unwrap_or_else(|| Aligned::zeros(length))), length }
    }
}

impl<T: Real> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.memory.as_ref().map_or(&[], |memory| &memory[..self.length])
    }
}

impl<T: Real> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.memory.as_mut().map_or(&mut [], |memory| &mut memory[..self.length])
    }
}

impl<T: Real> Drop for Scratch<T> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take().filter(|memory| size_of_val::<[T]>(memory) <= MOST_BYTES) {
            T::kept(|all| {
                if all.len() < MOST_KEPT {
                    all.push(memory);
                }
            });
        }
    }
}

/// A precision with buffers kept per thread.
pub trait Kept: Sized + 'static {
    /// Runs `work` on the buffers that this thread keeps; the last one is reused first.
    fn kept<R>(work: impl FnOnce(&mut Vec<Aligned<Self>>) -> R) -> R;
}

impl Kept for f32 {
    fn kept<R>(work: impl FnOnce(&mut Vec<Aligned<Self>>) -> R) -> R {
        thread_local!(static KEPT: RefCell<Vec<Aligned<f32>>> = const { RefCell::new(Vec::new()) });
        KEPT.with_borrow_mut(work)
    }
}

impl Kept for f64 {
    fn kept<R>(work: impl FnOnce(&mut Vec<Aligned<Self>>) -> R) -> R {
        thread_local!(static KEPT: RefCell<Vec<Aligned<f64>>> = const { RefCell::new(Vec::new()) });
        KEPT.with_borrow_mut(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_by_its_thread_if_it_is_small() {
        let place = |length| Scratch::<f32>::of(length).as_ptr();
        let first = place(1000);
        assert_eq!(place(500), first);
        assert_eq!(Scratch::<f32>::of(500).len(), 500);
        let (one, other) = (Scratch::<f32>::of(10), Scratch::<f32>::of(10));
        assert_ne!(one.as_ptr(), other.as_ptr());
        drop((one, other));
        drop(Scratch::<f64>::of(MOST_BYTES));
        assert!(f64::kept(|all| all.is_empty()), "large buffers are freed");
        let many: Vec<_> = (0..2 * MOST_KEPT).map(|_| Scratch::<f32>::of(10)).collect();
        drop(many);
        assert_eq!(f32::kept(|all| all.len()), MOST_KEPT);
    }
}
