//! Bounds of what is summed over the rows: how large targets are, and what weights sum to.

use super::classes::check_total_weight;
use super::gram_pass::Summed;
use super::parted_rows::RowBlock;
use super::row_selection::RowSelection;
use super::run::Run;
use crate::dataset::Part;
use crate::model::TargetCoding;
use crate::solver::in_order;
use crate::sums::ExactSum;
use crate::training::stage::TrainError;
use ndarray::Array2;

/// What the weights of some rows sum to.
#[derive(Debug, Clone, Copy)]
struct WeightSum {
    total: ExactSum,
    /// Of any row.
    largest: f64,
}

impl WeightSum {
    const NONE: Self = Self { total: ExactSum::ZERO, largest: 0.0 };

    fn of(block: &RowBlock) -> Self {
        let mut sum = Self::NONE;
        for weight in (0..block.row_count()).map(|row| block.weight(row)) {
            sum.total.add(weight);
            sum.largest = weight.max(sum.largest);
        }
        sum
    }

    fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.largest = other.largest.max(self.largest);
    }
}

/// The weights of all rows that Gram matrices may sum over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WeightTotals {
    /// Training rows with the weights they have in a fit.
    fitted: WeightSum,
    /// Training rows with their sample weights alone.
    training: WeightSum,
    /// Rows without a target.
    unlabelled: WeightSum,
}

impl WeightTotals {
    const NONE: Self = Self { fitted: WeightSum::NONE, training: WeightSum::NONE, unlabelled: WeightSum::NONE };
}

impl Run<'_> {
    /// A bound of the sum of the weights over the selected rows of a Gram matrix.
    pub(super) fn weight_bound(&self, selection: &RowSelection, summed: Summed) -> Result<f64, TrainError> {
        let parts = match summed {
            Summed::Fit(_) => &[Part::Training],
            Summed::Inputs(parts) => parts,
        };
        let rows = self.count_selected(selection, parts) as f64;
        if !self.rows.is_weighted() && self.class_weights.is_none() {
            return Ok(rows);
        }
        let totals = match self.weight_totals.get() {
            Some(known) => known,
            None => self.weight_totals.get_or_init({
                let totals = self.sum_weights()?;
                move || totals
            }),
        };
        check_total_weight(totals.fitted.total.to_f64(), "training")?;
        let mut sum = match summed {
            Summed::Fit(_) => totals.fitted,
            Summed::Inputs(_) => totals.training,
        };
        if parts.contains(&Part::Unlabelled) {
            sum.merge(&totals.unlabelled);
        }
        Ok(sum.total.to_f64().min(rows * sum.largest))
    }

    /// The largest absolute value of each coded target over the training rows.
    pub(super) fn target_bounds(&self, coding: &TargetCoding) -> Result<Vec<f64>, TrainError> {
        if let TargetCoding::Classes { .. } = coding {
            return Ok(vec![1.0; coding.width()]);
        }
        let ranges = match self.target_ranges.get() {
            Some(known) => known,
            None => self.target_ranges.get_or_init({
                let ranges = self.measure_targets()?;
                move || ranges
            }),
        };
        // Coding keeps the order of numbers, so that the ends of a range are coded as the ends of the coded range.
        let ends = Array2::from_shape_fn((2, ranges.len()), |(end, target)| match end {
            0 => ranges[target].0,
            _ => ranges[target].1,
        });
        let coded = coding.code(ends.view());
        Ok(coded
            .columns()
            .into_iter()
            .map(|ends| ends.iter().fold(0.0, |largest, end| end.abs().max(largest)))
            .collect())
    }

    fn sum_weights(&self) -> Result<WeightTotals, TrainError> {
        let totals = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), WeightTotals::NONE),
            |index, (block, sums)| -> Result<(), TrainError> {
                self.rows.read(index, Part::Unlabelled, block)?;
                sums.unlabelled = WeightSum::of(block);
                self.rows.read(index, Part::Training, block)?;
                sums.training = WeightSum::of(block);
                if let Some(class_weights) = &self.class_weights {
                    block.weigh_classes(class_weights);
                }
                sums.fitted = WeightSum::of(block);
                Ok(())
            },
            WeightTotals::NONE,
            |_, (_, sums), total: &mut WeightTotals| {
                total.fitted.merge(&sums.fitted);
                total.training.merge(&sums.training);
                total.unlabelled.merge(&sums.unlabelled);
                self.stop_if_asked()
            },
        )?;
        Ok(totals)
    }

    fn measure_targets(&self) -> Result<Vec<(f64, f64)>, TrainError> {
        let nothing = || vec![(f64::INFINITY, f64::NEG_INFINITY); self.rows.target_count()];
        let ranges = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), nothing()),
            |index, (block, ranges)| -> Result<(), TrainError> {
                self.rows.read(index, Part::Training, block)?;
                *ranges = nothing();
                for (range, column) in ranges.iter_mut().zip(block.targets().columns()) {
                    *range = column.iter().fold(*range, |(min, max), value| (value.min(min), value.max(max)));
                }
                Ok(())
            },
            nothing(),
            |_, (_, ranges), total: &mut Vec<(f64, f64)>| {
                total
                    .iter_mut()
                    .zip(ranges)
                    .for_each(|(total, (min, max))| *total = (total.0.min(*min), total.1.max(*max)));
                self.stop_if_asked()
            },
        )?;
        Ok(ranges)
    }
}
