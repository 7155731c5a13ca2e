//! A pass over the rows that scores candidates for features by their targets.

use super::parted_rows::RowBlock;
use super::row_selection::RowSelection;
use super::run::Run;
use crate::features::FeatureMap;
use crate::model::{InputPipeline, TargetCoding};
use crate::solver::in_order;
use crate::training::stage::TrainError;
use ndarray::{Array1, Array2, Axis};

/// Sums over rows of features and coded targets, and of their products.
struct ProductSums {
    /// Σ c ψyᵀ, s×k.
    products: Array2<f64>,
    /// Σ c ψ.
    features: Array1<f64>,
    /// Σ c y.
    targets: Array1<f64>,
    /// Σ c.
    weight: f64,
}

impl ProductSums {
    fn new(feature_count: usize, target_count: usize) -> Self {
        Self {
            products: Array2::zeros((feature_count, target_count)),
            features: Array1::zeros(feature_count),
            targets: Array1::zeros(target_count),
            weight: 0.0,
        }
    }

    fn add(&mut self, other: &Self) {
        self.products += &other.products;
        self.features += &other.features;
        self.targets += &other.targets;
        self.weight += other.weight;
    }
}

impl Run<'_> {
    /// The mean over training rows of ψ(y − ȳ)ᵀ, s×k, in f64. No Gram matrix is made.
    pub(crate) fn mean_products(
        &self,
        selection: &RowSelection,
        inputs: &InputPipeline,
        map: &FeatureMap,
        coding: &TargetCoding,
        tick: impl Fn(f64) -> Result<(), TrainError> + Sync,
    ) -> Result<Array2<f64>, TrainError> {
        let projector = map.projector::<f64>();
        let nothing = || ProductSums::new(projector.feature_count(), coding.width());
        let sums = in_order(
            self.threads,
            selection.count(),
            || (RowBlock::default(), nothing()),
            |index, (block, sums)| -> Result<(), TrainError> {
                self.read_to_fit(selection.block(index), block)?;
                let mut features = projector.transform(inputs.prepare(block.inputs()).view());
                let targets = coding.code(block.targets());
                let weights = Array1::from_iter((0..block.row_count()).map(|row| block.weight(row)));
                features *= &weights.view().insert_axis(Axis(1));
                *sums = ProductSums {
                    products: features.t().dot(&targets),
                    features: features.sum_axis(Axis(0)),
                    targets: weights.dot(&targets),
                    weight: weights.sum(),
                };
                Ok(())
            },
            nothing(),
            |index, (_, sums), total: &mut ProductSums| {
                total.add(sums);
                tick((index + 1) as f64 / selection.count() as f64)
            },
        )?;
        let mean = sums.targets / sums.weight;
        let centred = sums.products - sums.features.insert_axis(Axis(1)).dot(&mean.insert_axis(Axis(0)));
        Ok(centred / sums.weight)
    }
}
