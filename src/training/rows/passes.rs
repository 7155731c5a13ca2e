//! Passes over the rows: moments, leave-one-out residuals, errors.

use super::parted_rows::RowBlock;
use super::row_selection::RowSelection;
use super::run::Run;
use crate::dataset::{ColumnMoments, Encoding, MomentSums, Part};
use crate::features::{FeatureMap, Wave};
use crate::model::{InputPipeline, TargetCoding};
use crate::solver::{RidgePath, checkpoint, in_order};
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use std::ops::Range;

/// Rows between two questions whether to stop, where each has thousands of inputs.
const ROWS_AT_ONCE: usize = 16;

impl Run<'_> {
    /// Moments of every encoded input and of every target over the rows of a part.
    pub(crate) fn moments(
        &self,
        encoding: &Encoding,
        part: Part,
    ) -> Result<(Vec<ColumnMoments>, Vec<ColumnMoments>), TrainError> {
        let (inputs, targets) = match self.whole {
            Some(whole) => whole.moments(part, &|done| self.tick(Stage::Scale, done))?,
            None => self.moment_sums(encoding, part)?,
        };
        let [inputs, targets] = [inputs, targets].map(|sums| sums.iter().map(MomentSums::moments).collect::<Vec<_>>());
        if part == Part::Training {
            let _ = self.target_ranges.set(targets.iter().map(|target| target.range().unwrap_or_default()).collect());
        }
        Ok((inputs, targets))
    }

    /// The sums behind the moments of the rows at hand.
    pub(crate) fn moment_sums(
        &self,
        encoding: &Encoding,
        part: Part,
    ) -> Result<(Vec<MomentSums>, Vec<MomentSums>), TrainError> {
        let nothing = |count: usize| vec![ColumnMoments::EMPTY; count];
        let add = |total: &mut [MomentSums], of_block: &[ColumnMoments]| {
            total.iter_mut().zip(of_block).for_each(|(total, of_block)| total.add(of_block));
        };
        let sums = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), Vec::new(), Vec::new()),
            |index, (block, inputs, targets)| -> Result<(), TrainError> {
                self.rows.read(index, part, block)?;
                (*inputs, *targets) = (nothing(encoding.input_dim()), nothing(block.targets().ncols()));
                let mut encoded = vec![0.0; encoding.input_dim()];
                for (row, (codes, cells)) in block.inputs().zip(block.targets().rows()).enumerate() {
                    if row % ROWS_AT_ONCE == 0 {
                        checkpoint();
                    }
                    encoding.encode(codes.iter().copied(), &mut encoded);
                    inputs.iter_mut().zip(&encoded).for_each(|(moments, &value)| moments.observe(value));
                    targets.iter_mut().zip(cells).for_each(|(moments, &value)| moments.observe(value));
                }
                Ok(())
            },
            (vec![MomentSums::EMPTY; encoding.input_dim()], vec![MomentSums::EMPTY; self.rows.target_count()]),
            |index, (_, inputs, targets), total: &mut (Vec<MomentSums>, Vec<MomentSums>)| {
                add(&mut total.0, inputs);
                add(&mut total.1, targets);
                self.tick(Stage::Scale, (index + 1) as f64 / self.rows.block_count() as f64)
            },
        )?;
        Ok(sums)
    }

    /// The moments that inputs are scaled and filled in by: those of the training rows together with the rows that have
    /// no target.
    pub(crate) fn with_unlabelled(
        &self,
        encoding: &Encoding,
        training: &[ColumnMoments],
    ) -> Result<Vec<ColumnMoments>, TrainError> {
        let mut moments = training.to_vec();
        if self.total(Part::Unlabelled) > 0 {
            let (unlabelled, _) = self.moments(encoding, Part::Unlabelled)?;
            moments.iter_mut().zip(&unlabelled).for_each(|(total, of_part)| total.merge(of_part));
        }
        Ok(moments)
    }

    /// Mean squared leave-one-out residuals at each λ over the selected rows, averaged over the
    /// targets, and the number of those rows. `target_mean` is of the coded targets.
    pub(crate) fn leave_one_out<T: Wave>(
        &self,
        selection: &RowSelection,
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
            selection.count(),
            || (RowBlock::default(), Vec::new()),
            |index, (block, residuals)| -> Result<(), TrainError> {
                self.read_to_fit(selection.block(index), block)?;
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
        part: Part,
        predict: impl Fn(&[&[f64]]) -> Array2<f64> + Sync,
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
                *predictions = predict(&block.inputs().collect::<Vec<_>>());
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

    /// Hands every scaled row that has no other use than to be learned from to `visit`: training and unlabelled rows.
    pub(crate) fn for_each_input(
        &self,
        inputs: &InputPipeline,
        mut visit: impl FnMut(ArrayView1<f64>),
    ) -> Result<(), TrainError> {
        let mut block = RowBlock::default();
        for index in 0..self.rows.block_count() {
            for part in [Part::Training, Part::Unlabelled] {
                self.rows.read(index, part, &mut block)?;
                inputs.prepare(block.inputs()).rows().into_iter().for_each(&mut visit);
            }
            self.stop_if_asked()?;
        }
        Ok(())
    }

    /// All scaled inputs and targets of a part within a selection.
    pub(crate) fn collect(
        &self,
        selection: &RowSelection,
        pipeline: &InputPipeline,
        part: Part,
    ) -> Result<(Array2<f64>, Array2<f64>), TrainError> {
        let mut inputs = Array2::zeros((0, pipeline.input_dim()));
        let mut targets = Vec::new();
        let mut block = RowBlock::default();
        for stretches in selection.iter() {
            self.rows.read_stretches(stretches, part, &mut block)?;
            let prepared = pipeline.prepare(block.inputs());
            inputs.append(Axis(0), prepared.view()).map_err(|error| TrainError::Data(error.to_string()))?;
            targets.extend(block.targets());
            self.stop_if_asked()?;
        }
        let shape = (inputs.nrows(), targets.len() / inputs.nrows().max(1));
        Ok((inputs, Array2::from_shape_vec(shape, targets).map_err(|error| TrainError::Data(error.to_string()))?))
    }

    /// Reads training rows with the weights they have in a fit.
    pub(crate) fn read_to_fit(&self, stretches: &[Range<usize>], block: &mut RowBlock) -> Result<(), TrainError> {
        self.rows.read_stretches(stretches, Part::Training, block)?;
        if let Some(class_weights) = &self.class_weights {
            block.weigh_classes(class_weights);
        }
        Ok(())
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
