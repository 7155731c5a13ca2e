//! Passes over the rows: moments, Gram matrix, leave-one-out residuals, errors.

use super::parted_rows::{PartedRows, RowBlock};
use super::row_sample::Blocks;
use crate::dataset::{ColumnMoments, Encoding, Part};
use crate::features::{FeatureMap, Wave};
use crate::model::{InputPipeline, Predictor, TargetCoding};
use crate::solver::{BlockGram, BlockPlan, Gram, RidgePath, in_order};
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::{Observer, Stage, TrainError};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use std::ops::Range;

/// What one training run works on.
pub(crate) struct Run<'a> {
    pub(crate) rows: PartedRows<'a>,
    pub(crate) threads: usize,
    pub(crate) observer: &'a dyn Observer,
    /// Of a fit of labels in which classes do not count by their rows.
    pub(crate) class_weights: Option<Vec<f64>>,
}

impl Run<'_> {
    /// Moments of every encoded input and of every target over the training rows.
    pub(crate) fn moments(&self, encoding: &Encoding) -> Result<(Vec<ColumnMoments>, Vec<ColumnMoments>), TrainError> {
        let nothing = |count: usize| vec![ColumnMoments::EMPTY; count];
        let merge = |total: &mut [ColumnMoments], of_block: &[ColumnMoments]| {
            total.iter_mut().zip(of_block).for_each(|(total, of_block)| total.merge(of_block));
        };
        let moments = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), Vec::new(), Vec::new()),
            |index, (block, inputs, targets)| -> Result<(), TrainError> {
                self.rows.read(index, Part::Training, block)?;
                (*inputs, *targets) = (nothing(encoding.input_dim()), nothing(block.targets().ncols()));
                let mut encoded = vec![0.0; encoding.input_dim()];
                for (codes, cells) in block.inputs().zip(block.targets().rows()) {
                    encoding.encode(codes.iter().copied(), &mut encoded);
                    inputs.iter_mut().zip(&encoded).for_each(|(moments, &value)| moments.observe(value));
                    targets.iter_mut().zip(cells).for_each(|(moments, &value)| moments.observe(value));
                }
                Ok(())
            },
            (nothing(encoding.input_dim()), nothing(self.rows.target_count())),
            |index, (_, inputs, targets), total| {
                merge(&mut total.0, inputs);
                merge(&mut total.1, targets);
                self.tick(Stage::Scale, (index + 1) as f64 / self.rows.block_count() as f64)
            },
        )?;
        Ok(moments)
    }

    /// The sufficient statistics of the training rows: block → project → cos → rank-k update.
    pub(crate) fn accumulate<T: Wave>(
        &self,
        blocks: &Blocks,
        inputs: &InputPipeline,
        map: &FeatureMap,
        coding: &TargetCoding,
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<Gram, TrainError> {
        let projector = map.projector::<T>();
        let fill = |index: usize, block: &mut RowBlock, statistics: &mut BlockGram<T>| {
            self.read_to_fit(blocks.block(index), block)?;
            let (targets, weights) = (coding.code(block.targets()), block.weights());
            let prepared = inputs.prepare(block.inputs());
            projector.transform_by(prepared.view(), BlockGram::<T>::AT_ONCE, |first, features| {
                let range = first..first + features.len() / projector.feature_count();
                let weights = weights.map(|weights| &weights[range.clone()]);
                statistics.push(features, targets.slice(s![range, ..]), weights);
            });
            Ok(())
        };
        let plan = BlockPlan {
            count: blocks.count(),
            row_capacity: BLOCK_ROWS,
            feature_count: projector.feature_count(),
            target_count: coding.width(),
            fill,
        };
        plan.sum(self.threads, RowBlock::default, |done| tick(done as f64 / blocks.count() as f64))
    }

    /// Mean squared leave-one-out residuals at each λ over the rows of `blocks`, averaged over the
    /// targets, and the number of those rows. `target_mean` is of the coded targets.
    pub(crate) fn leave_one_out<T: Wave>(
        &self,
        blocks: &Blocks,
        inputs: &InputPipeline,
        map: &FeatureMap,
        (coding, target_mean): (&TargetCoding, &Array1<f64>),
        path: &RidgePath,
        lambdas: &[f64],
    ) -> Result<(Array1<f64>, usize), TrainError> {
        let projector = map.projector::<T>();
        let leave_one_out = path.leave_one_out::<T>(lambdas);
        let sums = in_order(
            self.threads,
            blocks.count(),
            || (RowBlock::default(), Vec::new()),
            |index, (block, residuals)| -> Result<(), TrainError> {
                self.read_to_fit(blocks.block(index), block)?;
                let features = projector.transform(inputs.prepare(block.inputs()).view());
                let targets = coding.code(block.targets()) - target_mean.view().insert_axis(Axis(0));
                *residuals = leave_one_out.residuals(features.view(), targets.view(), block.weights());
                Ok(())
            },
            LooSums { squares: Array1::zeros(lambdas.len()), weight: 0.0, count: 0 },
            |_, (block, residuals), sums| {
                sums.add(residuals, block.weights());
                self.stop_if_asked()
            },
        )?;
        Ok((sums.squares / (sums.weight * coding.width() as f64), sums.count))
    }

    /// Predicts the rows of one part and hands blocks of them to `add`, in order.
    pub(crate) fn evaluate<A: Send>(
        &self,
        predictor: &Predictor,
        part: Part,
        total: A,
        add: impl Fn(&mut A, &RowBlock, ArrayView2<f64>) + Sync,
    ) -> Result<A, TrainError> {
        if self.rows.count(part) == 0 {
            return Ok(total);
        }
        let total = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), Array2::zeros((0, 0))),
            |index, (block, predictions)| -> Result<(), TrainError> {
                self.rows.read(index, part, block)?;
                *predictions = predictor.predict(&block.inputs().collect::<Vec<_>>());
                Ok(())
            },
            total,
            |index, (block, predictions), total| {
                add(total, block, predictions.view());
                self.tick(Stage::Evaluate, (index + 1) as f64 / self.rows.block_count() as f64)
            },
        )?;
        Ok(total)
    }

    /// All scaled inputs and targets of a part within `blocks`.
    pub(crate) fn collect(
        &self,
        blocks: &Blocks,
        pipeline: &InputPipeline,
        part: Part,
    ) -> Result<(Array2<f64>, Array2<f64>), TrainError> {
        let mut inputs = Array2::zeros((0, pipeline.input_dim()));
        let mut targets = Vec::new();
        let mut block = RowBlock::default();
        for stretches in blocks.iter() {
            self.rows.read_stretches(stretches, part, &mut block)?;
            let prepared = pipeline.prepare(block.inputs());
            inputs.append(Axis(0), prepared.view()).map_err(|error| TrainError::Data(error.to_string()))?;
            targets.extend(block.targets());
        }
        let shape = (inputs.nrows(), targets.len() / inputs.nrows().max(1));
        Ok((inputs, Array2::from_shape_vec(shape, targets).map_err(|error| TrainError::Data(error.to_string()))?))
    }

    /// Reads training rows with the weights they have in a fit.
    fn read_to_fit(&self, stretches: &[Range<usize>], block: &mut RowBlock) -> Result<(), TrainError> {
        self.rows.read_stretches(stretches, Part::Training, block)?;
        if let Some(class_weights) = &self.class_weights {
            block.weigh_classes(class_weights);
        }
        Ok(())
    }

    /// Tells how far a stage has come, and stops if that is wanted.
    pub(crate) fn tick(&self, stage: Stage, fraction: f64) -> Result<(), TrainError> {
        self.observer.progress(stage, fraction);
        self.stop_if_asked()
    }

    pub(crate) fn stop_if_asked(&self) -> Result<(), TrainError> {
        if self.observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) }
    }
}

/// Running sums of squared leave-one-out residuals.
struct LooSums {
    /// At each λ, over rows and targets.
    squares: Array1<f64>,
    weight: f64,
    count: usize,
}

impl LooSums {
    fn add(&mut self, residuals: &[Array2<f64>], weights: Option<&[f64]>) {
        for residuals in residuals {
            for (i, row) in residuals.rows().into_iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[i]);
                self.squares.zip_mut_with(&row, |sum, residual| *sum += weight * residual * residual);
            }
        }
        let rows = residuals.first().map_or(0, Array2::nrows);
        self.weight += weights.map_or(rows as f64, |weights| weights.iter().sum());
        self.count += rows;
    }
}
