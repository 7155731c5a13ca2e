//! What a classifier is trained on: blocks of features, and the class and weight of every row.

use crate::linalg::Real;
use ndarray::ArrayView2;
use std::ops::Range;

/// Blocks of features, held in memory or made again at each visit.
pub trait FeatureBlocks<T: Real>: Sync {
    /// Why a visit failed, or that the work was asked to stop.
    type Error: Send;

    /// How many blocks there are.
    fn block_count(&self) -> usize;

    /// Columns of every block, s.
    fn feature_count(&self) -> usize;

    /// The rows of one block; blocks follow one another and start at row 0.
    fn rows(&self, block: usize) -> Range<usize>;

    /// Calls `visit` once with the features of one block (rows×s, row-major).
    fn visit(&self, block: usize, visit: &mut dyn FnMut(ArrayView2<T>)) -> Result<(), Self::Error>;
}

/// The class and weight of every row.
#[derive(Debug, Clone, Copy)]
pub struct ClassRows<'a> {
    /// Class index of each row, below `class_count`.
    pub classes: &'a [usize],
    /// cᵢ ≥ 0: sample weight times class weight. Only their ratios matter.
    pub weights: &'a [f64],
    /// K ≥ 2.
    pub class_count: usize,
}

impl ClassRows<'_> {
    /// Columns of decision values: one for two classes, otherwise one per class.
    pub fn column_count(&self) -> usize {
        if self.class_count == 2 { 1 } else { self.class_count }
    }

    pub(super) fn row_count(&self) -> usize {
        self.classes.len()
    }

    /// C = Σcᵢ.
    pub(super) fn total_weight(&self) -> f64 {
        self.weights.iter().sum()
    }
}
