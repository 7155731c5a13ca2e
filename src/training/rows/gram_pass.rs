//! The pass that makes a Gram matrix: block → project → cos → rank-k update.

use super::parted_rows::RowBlock;
use super::row_selection::RowSelection;
use super::run::Run;
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision, Wave};
use crate::model::{InputPipeline, TargetCoding};
use crate::solver::{BlockGram, BlockPlan, Gram, GramGrid, GramSums, Reach, Width, in_order};
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::TrainError;
use ndarray::{Array2, ArrayView2, s};

/// The rows that a Gram matrix sums over, and what stands beside their features.
#[derive(Clone, Copy)]
pub(crate) enum Summed<'a> {
    /// Training rows, their coded targets and the weights they have in a fit.
    Fit(&'a TargetCoding),
    /// Rows of some parts, whether or not they have targets.
    Inputs(&'a [Part]),
}

/// A few rows with features in one precision: the features one row after the other, targets, and weights if there are any.
type FewRows<'v, T> = dyn FnMut(&mut [T], ArrayView2<f64>, Option<&[f64]>) + 'v;

impl Run<'_> {
    /// The sufficient statistics of the training rows, with the weights they have in a fit.
    pub(crate) fn accumulate(
        &self,
        selection: &RowSelection,
        inputs: &InputPipeline,
        features: (&FeatureMap, Precision),
        coding: &TargetCoding,
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<Gram, TrainError> {
        self.gram(selection, Summed::Fit(coding), inputs, features, tick)
    }

    /// A Gram matrix over selected rows.
    pub(crate) fn gram(
        &self,
        selection: &RowSelection,
        summed: Summed,
        inputs: &InputPipeline,
        (map, precision): (&FeatureMap, Precision),
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<Gram, TrainError> {
        if let Some(whole) = self.whole.filter(|_| selection.is_whole()) {
            let Summed::Fit(coding) = summed else {
                return Err(TrainError::Data("features cannot be chosen by rows that stay where they are".into()));
            };
            let grid = self.grid_of_whole(whole.count(Part::Training), map, coding)?;
            return Ok(whole.gram(inputs, (map, precision), coding, grid, &tick)?.finish());
        }
        let sums = match precision {
            Precision::Mixed => self.sums_in::<f32>(selection, summed, inputs, map, None, tick)?,
            Precision::Double => self.sums_in::<f64>(selection, summed, inputs, map, None, tick)?,
        };
        Ok(sums.finish())
    }

    /// Adds all training rows to the sums of others.
    pub(crate) fn add_to_gram(
        &self,
        sums: GramSums,
        inputs: &InputPipeline,
        (map, precision): (&FeatureMap, Precision),
        coding: &TargetCoding,
    ) -> Result<GramSums, TrainError> {
        let (rows, summed) = (self.all_rows(), Summed::Fit(coding));
        let tick = |_| self.stop_if_asked();
        match precision {
            Precision::Mixed => self.sums_in::<f32>(&rows, summed, inputs, map, Some(sums), tick),
            Precision::Double => self.sums_in::<f64>(&rows, summed, inputs, map, Some(sums), tick),
        }
    }

    /// The grid for `rows` unweighted rows, of features that have a bound.
    fn grid_of_whole(&self, rows: usize, map: &FeatureMap, coding: &TargetCoding) -> Result<GramGrid, TrainError> {
        let Some(feature) = map.column_bound() else {
            return Err(TrainError::Data(format!(
                "the features of kernel '{}' have no bound, and passes over files need one; use another kernel",
                map.kernel.shape().name()
            )));
        };
        let reach = Reach { feature, weight: rows as f64, targets: self.target_bounds(coding)? };
        Ok(GramGrid::new(&reach, Width::Narrow))
    }

    /// The sums of selected rows, added to earlier ones where there are some.
    fn sums_in<T: Wave>(
        &self,
        selection: &RowSelection,
        summed: Summed,
        inputs: &InputPipeline,
        map: &FeatureMap,
        earlier: Option<GramSums>,
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<GramSums, TrainError> {
        let projector = map.projector::<T>();
        let hand_over = |block: &RowBlock, targets: &Array2<f64>, visit: &mut FewRows<T>| {
            let prepared = inputs.prepare(block.inputs());
            projector.transform_by(prepared.view(), BlockGram::<T>::AT_ONCE, |first, features| {
                let range = first..first + features.len() / projector.feature_count();
                let weights = block.weights().map(|weights| &weights[range.clone()]);
                visit(features, targets.slice(s![range, ..]), weights);
            });
        };
        let read = |index: usize, block: &mut RowBlock, visit: &mut FewRows<T>| -> Result<(), TrainError> {
            let stretches = selection.block(index);
            match summed {
                Summed::Fit(coding) => {
                    self.read_to_fit(stretches, block)?;
                    hand_over(block, &coding.code(block.targets()), visit);
                }
                Summed::Inputs(parts) => {
                    for &part in parts {
                        self.rows.read_stretches(stretches, part, block)?;
                        hand_over(block, &Array2::zeros((block.row_count(), 0)), visit);
                    }
                }
            }
            Ok(())
        };
        let count = selection.count();
        let sums = if let Some(earlier) = earlier {
            earlier
        } else {
            let (feature, width) = match map.column_bound() {
                Some(bound) => (bound, Width::Narrow),
                None => (self.largest_feature(count, &read)?, Width::Wide),
            };
            let weight = self.weight_bound(selection, summed)?;
            let targets = match summed {
                Summed::Fit(coding) => self.target_bounds(coding)?,
                Summed::Inputs(_) => Vec::new(),
            };
            let grid = GramGrid::new(&Reach { feature, weight, targets }, width);
            GramSums::new(projector.feature_count(), grid)
        };
        let fill = |index: usize, block: &mut RowBlock, statistics: &mut BlockGram<T>| {
            read(index, block, &mut |features, targets, weights| statistics.push(features, targets, weights))
        };
        let plan = BlockPlan { count, row_capacity: BLOCK_ROWS, fill };
        plan.add_to(sums, self.threads, RowBlock::default, |done| tick(done as f64 / count as f64))
    }

    /// The largest |ψⱼ| of a map that has no bound, in a pass of its own.
    fn largest_feature<T: Wave>(
        &self,
        block_count: usize,
        read: &(impl Fn(usize, &mut RowBlock, &mut FewRows<T>) -> Result<(), TrainError> + Sync),
    ) -> Result<f64, TrainError> {
        let largest = in_order(
            self.threads,
            block_count,
            || (RowBlock::default(), 0.0),
            |index, (block, largest)| -> Result<(), TrainError> {
                *largest = 0.0;
                read(index, block, &mut |features, _, _| {
                    *largest = features.iter().fold(*largest, |largest, value| value.to_f64().abs().max(largest));
                })
            },
            0.0,
            |_, (_, largest), total: &mut f64| {
                *total = largest.max(*total);
                self.stop_if_asked()
            },
        )?;
        Ok(largest)
    }
}
