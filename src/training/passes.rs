//! Passes over the rows: moments, Gram matrix, leave-one-out residuals, errors.

use super::rows::{PartedRows, RowBlock};
use super::train::{Observer, Stage, TrainError};
use crate::dataset::{ColumnMoments, Encoding, Part};
use crate::features::{FeatureMap, Wave};
use crate::model::{InputPipeline, Predictor};
use crate::solver::{BlockGram, Gram, RidgePath, in_order};
use ndarray::{Array1, Array2, ArrayView1, Axis};

/// What one training run works on.
pub(super) struct Run<'a> {
    pub(super) rows: PartedRows<'a>,
    pub(super) threads: usize,
    pub(super) observer: &'a dyn Observer,
}

/// The blocks a pass goes over: all, or evenly spread ones that hold about enough rows.
pub(super) struct Blocks(Vec<usize>);

impl Run<'_> {
    /// Every block.
    pub(super) fn all_blocks(&self) -> Blocks {
        Blocks((0..self.rows.block_count()).collect())
    }

    /// Blocks spread evenly over the table with about `wanted` training rows, at least one.
    pub(super) fn sample_blocks(&self, wanted: usize) -> Blocks {
        let (blocks, rows) = (self.rows.block_count(), self.rows.count(Part::Training));
        let count = (wanted * blocks).div_ceil(rows.max(1)).clamp(1, blocks);
        Blocks((0..count).map(|index| index * blocks / count).collect())
    }

    /// Moments of every encoded input and of the target over the training rows.
    pub(super) fn moments(&self, encoding: &Encoding) -> Result<(Vec<ColumnMoments>, ColumnMoments), TrainError> {
        let mut moments = vec![ColumnMoments::EMPTY; encoding.input_dim()];
        let mut targets = ColumnMoments::EMPTY;
        let mut block = RowBlock::default();
        let mut inputs = vec![0.0; encoding.input_dim()];
        for index in 0..self.rows.block_count() {
            self.rows.read(index, Part::Training, &mut block)?;
            for (codes, &target) in block.inputs().zip(&block.targets) {
                encoding.encode(codes.iter().copied(), &mut inputs);
                moments.iter_mut().zip(&inputs).for_each(|(moments, &value)| moments.observe(value));
                targets.observe(target);
            }
            self.tick(Stage::Scale, (index + 1) as f64 / self.rows.block_count() as f64)?;
        }
        Ok((moments, targets))
    }

    /// ΨᵀΨ and Ψᵀ(y − ȳ) over the training rows: block → project → cos → rank-k update.
    pub(super) fn accumulate<T: Wave>(
        &self,
        blocks: &Blocks,
        inputs: &InputPipeline,
        map: &FeatureMap,
        target_mean: f64,
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<Gram, TrainError> {
        let projector = map.projector::<T>();
        let s = projector.feature_count();
        let gram = in_order(
            self.threads,
            blocks.0.len(),
            || (RowBlock::default(), BlockGram::<T>::new(s)),
            |index, (block, statistics)| -> Result<(), TrainError> {
                self.read_centred(blocks.0[index], target_mean, block)?;
                let features = projector.transform(inputs.prepare(block.inputs()).view());
                statistics.fill(features.view(), ArrayView1::from(&block.targets));
                Ok(())
            },
            Gram::new(s),
            |index, (_, statistics), gram| {
                gram.add(statistics);
                tick((index + 1) as f64 / blocks.0.len() as f64)
            },
        )?;
        Ok(gram)
    }

    /// Mean squared leave-one-out residuals at each λ over the rows of `blocks`, and their number.
    pub(super) fn leave_one_out<T: Wave>(
        &self,
        blocks: &Blocks,
        inputs: &InputPipeline,
        map: &FeatureMap,
        target_mean: f64,
        path: &RidgePath,
        lambdas: &[f64],
    ) -> Result<(Array1<f64>, usize), TrainError> {
        let projector = map.projector::<T>();
        let leave_one_out = path.leave_one_out::<T>(lambdas);
        let (sums, count) = in_order(
            self.threads,
            blocks.0.len(),
            || (RowBlock::default(), Array2::zeros((0, 0))),
            |index, (block, residuals)| -> Result<(), TrainError> {
                self.read_centred(blocks.0[index], target_mean, block)?;
                let features = projector.transform(inputs.prepare(block.inputs()).view());
                *residuals = leave_one_out.residuals(features.view(), ArrayView1::from(&block.targets));
                Ok(())
            },
            (Array1::zeros(lambdas.len()), 0),
            |_, (_, residuals), (sums, count)| {
                *sums += &residuals.mapv(|residual| residual * residual).sum_axis(Axis(0));
                *count += residuals.nrows();
                self.stop_if_asked()
            },
        )?;
        Ok((sums / count as f64, count))
    }

    /// Errors of the model on one part.
    pub(super) fn evaluate(
        &self,
        predictor: &Predictor,
        part: Part,
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<Errors, TrainError> {
        let errors = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), Vec::new()),
            |index, (block, predictions)| -> Result<(), TrainError> {
                self.rows.read(index, part, block)?;
                *predictions = predictor.predict(&block.inputs().collect::<Vec<_>>());
                Ok(())
            },
            Errors::default(),
            |index, (block, predictions), errors| {
                errors.add(&block.targets, predictions);
                tick((index + 1) as f64 / self.rows.block_count() as f64)
            },
        )?;
        Ok(errors)
    }

    /// All scaled inputs and targets of a part within `blocks`.
    pub(super) fn collect(
        &self,
        blocks: &Blocks,
        pipeline: &InputPipeline,
        part: Part,
    ) -> Result<(Array2<f64>, Array1<f64>), TrainError> {
        let mut inputs = Array2::zeros((0, pipeline.input_dim()));
        let mut targets = Vec::new();
        let mut block = RowBlock::default();
        for &index in &blocks.0 {
            self.rows.read(index, part, &mut block)?;
            let prepared = pipeline.prepare(block.inputs());
            inputs.append(Axis(0), prepared.view()).map_err(|error| TrainError::Data(error.to_string()))?;
            targets.extend_from_slice(&block.targets);
        }
        Ok((inputs, Array1::from_vec(targets)))
    }

    /// Tells how far a stage has come, and stops if that is wanted.
    pub(super) fn tick(&self, stage: Stage, fraction: f64) -> Result<(), TrainError> {
        self.observer.progress(stage, fraction);
        self.stop_if_asked()
    }

    pub(super) fn stop_if_asked(&self) -> Result<(), TrainError> {
        if self.observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) }
    }

    fn read_centred(&self, index: usize, target_mean: f64, block: &mut RowBlock) -> Result<(), TrainError> {
        self.rows.read(index, Part::Training, block)?;
        block.targets.iter_mut().for_each(|target| *target -= target_mean);
        Ok(())
    }
}

/// Running sums of prediction errors.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) count: f64,
    square: f64,
    absolute: f64,
    mean: f64,
    /// Σ(y − ȳ)².
    spread: f64,
}

impl Errors {
    fn add(&mut self, targets: &[f64], predictions: &[f64]) {
        for (target, prediction) in targets.iter().zip(predictions) {
            let error = target - prediction;
            self.square += error * error;
            self.absolute += error.abs();
            self.count += 1.0;
            let step = target - self.mean;
            self.mean += step / self.count;
            self.spread += step * (target - self.mean);
        }
    }

    pub(super) fn mean_square(&self) -> f64 {
        self.square / self.count
    }

    pub(super) fn mean_absolute(&self) -> f64 {
        self.absolute / self.count
    }

    /// 1 − MSE/variance, where the targets vary.
    pub(super) fn r2(&self) -> Option<f64> {
        (self.spread > 0.0).then(|| 1.0 - self.square / self.spread)
    }
}
