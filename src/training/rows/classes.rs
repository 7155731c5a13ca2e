//! The class and the weight of every row of a part.

use super::parted_rows::RowBlock;
use super::run::Run;
use crate::dataset::Part;
use crate::solver::ClassRows;
use crate::training::ClassWeight;
use crate::training::stage::TrainError;

/// Refuses sample weights that leave nothing to fit or to measure on.
pub(crate) fn check_total_weight(total: f64, part: &str) -> Result<(), TrainError> {
    if total > 0.0 && total.is_finite() {
        return Ok(());
    }
    let sum = if total.is_finite() {
        "sum to 0; give at least one of them a weight above 0"
    } else {
        "overflow when summed; use smaller weights"
    };
    Err(TrainError::Data(format!("the sample weights of the {part} rows {sum}")))
}

/// Classes and sample weights of the rows of a part, in order.
pub(crate) struct Classes {
    pub(crate) of_rows: Vec<usize>,
    pub(crate) weights: Vec<f64>,
    pub(crate) class_count: usize,
}

impl Classes {
    /// Reads them.
    pub(crate) fn of(run: &Run, part: Part, class_count: usize) -> Result<Self, TrainError> {
        let mut classes = Self { of_rows: Vec::new(), weights: Vec::new(), class_count };
        let mut block = RowBlock::default();
        for index in 0..run.rows.block_count() {
            run.rows.read(index, part, &mut block)?;
            classes.of_rows.extend(block.targets().column(0).iter().map(|class| *class as usize));
            classes.weights.extend((0..block.row_count()).map(|row| block.weight(row)));
        }
        Ok(classes)
    }

    /// Rows of each class.
    pub(crate) fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.class_count];
        self.of_rows.iter().for_each(|&class| counts[class] += 1);
        counts
    }

    /// The weight of each class: 1, or what makes them all count the same. A class without rows keeps 1.
    pub(crate) fn class_weights(&self, rule: ClassWeight) -> Vec<f64> {
        let mut sums = vec![0.0; self.class_count];
        self.of_rows.iter().zip(&self.weights).for_each(|(&class, weight)| sums[class] += weight);
        let total: f64 = sums.iter().sum();
        let balanced = |sum: &f64| if *sum > 0.0 { total / (self.class_count as f64 * sum) } else { 1.0 };
        match rule {
            ClassWeight::None => vec![1.0; self.class_count],
            ClassWeight::Balanced => sums.iter().map(balanced).collect(),
        }
    }

    /// Multiplies the sample weights by those of the classes.
    pub(crate) fn weigh(&mut self, class_weights: &[f64]) {
        self.weights.iter_mut().zip(&self.of_rows).for_each(|(weight, &class)| *weight *= class_weights[class]);
    }

    /// As the solvers see them.
    pub(crate) fn rows(&self) -> ClassRows<'_> {
        ClassRows { classes: &self.of_rows, weights: &self.weights, class_count: self.class_count }
    }
}
