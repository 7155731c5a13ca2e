//! Features of the rows of one part, kept in memory as far as there is room and made anew beyond.

use crate::dataset::Part;
use crate::features::{FeatureMap, Projector, Wave};
use crate::model::InputPipeline;
use crate::solver::FeatureBlocks;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use ndarray::{Array2, ArrayView2};
use std::ops::Range;
use std::sync::OnceLock;

/// Ψ of one part, block by block.
pub(crate) struct FeatureCache<'a, T> {
    run: &'a Run<'a>,
    part: Part,
    inputs: &'a InputPipeline,
    projector: Projector<T>,
    /// Number of the table's block and its rows, for blocks that have any.
    blocks: Vec<(usize, Range<usize>)>,
    /// Of the first blocks, as many as fit.
    cache: Vec<OnceLock<Array2<T>>>,
}

impl<'a, T: Wave> FeatureCache<'a, T> {
    /// The features of `part`, of which up to `cache_bytes` are kept.
    pub(crate) fn new(
        run: &'a Run<'a>,
        part: Part,
        inputs: &'a InputPipeline,
        map: &FeatureMap,
        cache_bytes: u64,
    ) -> Self {
        let mut blocks = Vec::new();
        let mut first = 0;
        for index in 0..run.rows.block_count() {
            let count = run.rows.count_in_block(index, part);
            if count > 0 {
                blocks.push((index, first..first + count));
                first += count;
            }
        }
        let row_bytes = (map.feature_count() * size_of::<T>()) as u64;
        let fits = |(_, rows): &&(usize, Range<usize>)| rows.end as u64 * row_bytes <= cache_bytes;
        let cache = blocks.iter().take_while(fits).map(|_| OnceLock::new()).collect();
        Self { run, part, inputs, projector: map.projector(), blocks, cache }
    }

    /// Bytes that the kept features take.
    pub(crate) fn cached_bytes(&self) -> u64 {
        let rows = self.blocks[..self.cache.len()].last().map_or(0, |(_, rows)| rows.end);
        (rows * self.projector.feature_count() * size_of::<T>()) as u64
    }

    fn make(&self, block: usize) -> Result<Array2<T>, TrainError> {
        self.run.stop_if_asked()?;
        let mut rows = RowBlock::default();
        self.run.rows.read(self.blocks[block].0, self.part, &mut rows)?;
        Ok(self.projector.transform(self.inputs.prepare(rows.inputs()).view()))
    }
}

impl<T: Wave> FeatureBlocks<T> for FeatureCache<'_, T> {
    type Error = TrainError;

    fn block_count(&self) -> usize {
        self.blocks.len()
    }

    fn feature_count(&self) -> usize {
        self.projector.feature_count()
    }

    fn rows(&self, block: usize) -> Range<usize> {
        self.blocks[block].1.clone()
    }

    fn visit(&self, block: usize, visit: &mut dyn FnMut(ArrayView2<T>)) -> Result<(), TrainError> {
        match self.cache.get(block) {
            None => visit(self.make(block)?.view()),
            Some(kept) => {
                self.run.stop_if_asked()?;
                let features = if let Some(features) = kept.get() {
                    features
                } else {
                    let made = self.make(block)?;
                    kept.get_or_init(|| made) // two visitors at once make the same
                };
                visit(features.view());
            }
        }
        Ok(())
    }
}
