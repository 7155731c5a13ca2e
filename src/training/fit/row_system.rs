//! The system ΨΨᵀ + nλI of the rows, which gives the same fit as the normal equations of the features and is the smaller one
//! where features outnumber rows.

use super::metric::{coded_rows, descend};
use super::search::{CodedRows, Searched};
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision};
use crate::solver::{DENSE_ROWS, KernelPath, WithoutGroups, jackknife_weights_by_rows};
use crate::training::rows::run::Run;
use crate::training::spec::grids::lambda_grid;
use crate::training::stage::TrainError;
use ndarray::Array2;

impl Run<'_> {
    /// Whether all training rows are at hand, count the same, and are fewer than so many features.
    pub(crate) fn has_fewer_rows_than(&self, features: usize) -> bool {
        let rows = self.rows.count(Part::Training);
        let equal = !self.rows.is_weighted() && self.class_weights.is_none();
        equal && self.whole.is_none() && rows < features && rows <= DENSE_ROWS
    }
}

impl CodedRows<'_> {
    /// The λ of the smallest leave-one-out error on the features of a map, from one near which it may be along smaller or
    /// larger ones, as long as the error falls. None where no system has a factor.
    pub(super) fn search_lambda_by_rows(&self, map: &FeatureMap, near: f64) -> Result<Option<Searched>, TrainError> {
        let (features, targets) = self.features_and_targets(map)?;
        let path = KernelPath::of_features(features.view(), targets.view(), self.run.threads);
        let found = descend(self.run, &path, &lambda_grid(Precision::Double, map.bound()), Some(near))?;
        Ok(found.map(|(fit, points)| Searched::among(points, &fit.point, path.row_count())))
    }

    /// What leaving out each of some groups of draws tells; nothing where rounding leaves nothing to factor.
    pub(super) fn jackknife_by_rows(
        &self,
        map: &FeatureMap,
        lambda: f64,
        groups: usize,
    ) -> Result<WithoutGroups, TrainError> {
        let (features, targets) = self.features_and_targets(map)?;
        let (counts, threads) = ((map.draw_count(), groups), self.run.threads);
        Ok(jackknife_weights_by_rows(features.view(), targets.view(), lambda, counts, threads).unwrap_or_default())
    }

    /// Ψ of all training rows, and their coded targets centred by their means.
    fn features_and_targets(&self, map: &FeatureMap) -> Result<(Array2<f64>, Array2<f64>), TrainError> {
        let (points, targets) = coded_rows(self.run, &self.run.all_rows(), self.inputs, self.coding)?;
        Ok((map.projector::<f64>().transform(points.view()), targets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{ColumnKind, Encoding, InputColumn, Roles, RowsInMemory, ScalingRule};
    use crate::features::{Kernel, MapKind, Sampling};
    use crate::model::{InputPipeline, TargetCoding};
    use crate::solver::RidgePath;
    use crate::training::Unwatched;
    use crate::training::rows::parted_rows::PartedRows;

    const ROWS: u32 = 60;

    /// Leave-one-out errors and degrees of freedom at every λ that was tried, by the normal equations of 100 features.
    #[test]
    fn a_search_by_rows_finds_the_errors_of_the_normal_equations() {
        let row = |row: u32| {
            let at = |step: f64| (f64::from(row + 1) * step).fract() * 2.0 - 1.0;
            let (a, b) = (at(0.618_034), at(0.414_214));
            [a, b, (3.0 * a).sin() + b + 0.5 * at(0.732_051)]
        };
        let table = RowsInMemory { cells: (0..ROWS).flat_map(row).collect(), columns: 3 };
        let roles = Roles { inputs: vec![0, 1], targets: vec![2], weight: None };
        let run = Run::new(PartedRows::new(&table, roles, vec![Part::Training; ROWS as usize]), 2, &Unwatched);
        let column = |name: &str| InputColumn::plain(name, ColumnKind::Numeric, &[]);
        let encoding = Encoding { columns: ["a", "b"].map(column).to_vec() };
        let (moments, targets) = run.moments(&encoding, Part::Training).unwrap();
        let inputs = InputPipeline::fit(&encoding, ScalingRule::Standard, &moments);
        let coding = TargetCoding::of_numbers(&targets);
        let rows = CodedRows { run: &run, inputs: &inputs, coding: &coding };
        let map = FeatureMap::sample(Kernel::Gaussian { bandwidth: 1.0 }, MapKind::Pair, Sampling::Plain, 1, 100, 2);
        assert!(run.has_fewer_rows_than(100) && !run.has_fewer_rows_than(60));

        let found = rows.search_lambda_by_rows(&map, 1e-4).unwrap().unwrap();
        let selection = run.all_rows();
        let features = (&map, Precision::Double);
        let mut gram = run.accumulate(&selection, &inputs, features, &coding, |_| Ok(())).unwrap();
        let target_mean = gram.centre_targets();
        let path = RidgePath::new(&gram.into_normal_equations(), 2);
        let lambdas: Vec<f64> = found.points.iter().map(|point| point.lambda).collect();
        let expected = rows.search_lambda::<f64>(&map, &path, (&selection, &target_mean), &lambdas).unwrap();
        assert_eq!((found.best, found.loo_rows), (expected.best, ROWS as usize));
        assert!(found.points.len() > 2 && found.points.len() == expected.points.len());
        for (found, expected) in found.points.iter().zip(&expected.points) {
            let (own, other) = (found.loo_mse.unwrap(), expected.loo_mse.unwrap());
            assert!((own / other - 1.0).abs() < 1e-6, "{found:?} {expected:?}");
            assert!((found.effective_dimension - expected.effective_dimension).abs() < 1e-4, "{found:?} {expected:?}");
        }
    }
}
