//! One fit of a round: bandwidth and λ by leave-one-out error, and the gradients of what was fitted.

use super::kernel_round::{KernelRound, solve_by_rows};
use super::matrix::{GradientProducts, Metric};
use super::residuals::Residuals;
use crate::dataset::Part;
use crate::features::{FeatureMap, Gradients, Kernel, KernelShape, MapKind, Precision, Sampling};
use crate::model::{InputPipeline, MetricKind, TargetCoding};
use crate::solver::{PathPoint, RidgePath, in_order, product_in_strips};
use crate::training::TrainSpec;
use crate::training::fit::search::best_of;
use crate::training::rows::classes::check_total_weight;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::row_selection::RowSelection;
use crate::training::rows::run::Run;
use crate::training::spec::effort::SearchSize;
use crate::training::stage::TrainError;
use ndarray::{Array1, Array2, Axis};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Rows that a round is fitted on.
const ROWS: usize = 16_384;

/// Those of them whose leave-one-out residuals are compared.
const COMPARED_ROWS: usize = 2_048;

/// Steps of √2 from the bandwidth of the round before, at most, to either side.
const BANDWIDTH_STEPS: usize = 3;

/// Features of the fits, from those of the model: a part of them is enough to see which inputs matter, and keeps all
/// rounds together as cheap as a few fits of the model's size on these rows.
fn feature_count(of_model: usize) -> usize {
    let count = (of_model / 4).min(512).max(of_model.min(256));
    (count & !1).max(2)
}

/// What candidates are fitted by.
#[derive(Debug, Clone, Copy)]
enum FittedBy {
    Features(usize),
    /// So many features, which outnumber the rows, by the system of the rows.
    RowsOfFeatures(usize),
    /// The kernel itself, whose gradients exist for smooth kernels only.
    Kernel,
}

/// What all rounds share.
pub(in crate::training::fit) struct RoundRows<'a> {
    run: &'a Run<'a>,
    coding: &'a TargetCoding,
    /// Rows that are fitted.
    fitted: RowSelection,
    /// Those of them whose leave-one-out residuals are compared.
    compared: RowSelection,
    kernel: KernelShape,
    by: FittedBy,
    /// Every λ that is tried.
    lambdas: Vec<f64>,
    seed: u64,
}

/// A fit in the coordinates of one metric.
pub(in crate::training::fit) struct RoundFit {
    pub(in crate::training::fit) bandwidth: f64,
    pub(in crate::training::fit) lambda: f64,
    pub(in crate::training::fit) residuals: Residuals,
    fitted: Fitted,
}

/// The function of a fit.
pub(super) enum Fitted {
    Features { map: FeatureMap, weights: Array2<f64> },
    Kernel(KernelRound),
}

impl<'a> RoundRows<'a> {
    pub(super) fn of(run: &'a Run<'a>, coding: &'a TargetCoding, spec: &TrainSpec) -> Self {
        let fitted = run.sample(ROWS);
        let compared = run.sample_of(&fitted, COMPARED_ROWS);
        let (kernel, by) = (spec.kernel, FittedBy::Features(feature_count(spec.feature_count)));
        let seed = FeatureMap::seed_for_metric(spec.seed);
        let lambdas = spec.compared_lambdas(run.total(Part::Training), 1);
        Self { run, coding, fitted, compared, kernel, by, lambdas, seed }
    }

    /// Rows of a search over kernels, on this many features.
    pub(in crate::training::fit) fn of_search(
        run: &'a Run<'a>,
        coding: &'a TargetCoding,
        spec: &TrainSpec,
        (size, features): (SearchSize, usize),
    ) -> Self {
        let fitted = run.sample(size.rows);
        let compared = run.sample_of(&fitted, size.compared);
        let (kernel, by) = (spec.kernel, FittedBy::Features(features));
        let seed = FeatureMap::seed_for_metric(spec.seed);
        // A λ that the spec does not give is searched once more for the candidate that is kept.
        let lambdas = spec.compared_lambdas(run.total(Part::Training), 2);
        Self { run, coding, fitted, compared, kernel, by, lambdas, seed }
    }

    /// Rows of a search over kernels that are fitted as they are, without features; each is compared.
    pub(in crate::training::fit) fn of_kernels(
        run: &'a Run<'a>,
        coding: &'a TargetCoding,
        spec: &TrainSpec,
        rows: usize,
    ) -> Self {
        Self::all_compared(run, coding, spec, (rows, FittedBy::Kernel))
    }

    /// The same on features that outnumber the rows.
    pub(in crate::training::fit) fn of_many_features(
        run: &'a Run<'a>,
        coding: &'a TargetCoding,
        spec: &TrainSpec,
        (rows, features): (usize, usize),
    ) -> Self {
        Self::all_compared(run, coding, spec, (rows, FittedBy::RowsOfFeatures(features)))
    }

    fn all_compared(run: &'a Run, coding: &'a TargetCoding, spec: &TrainSpec, (rows, by): (usize, FittedBy)) -> Self {
        let (fitted, compared) = (run.sample(rows), run.sample(rows));
        let lambdas = spec.compared_lambdas(run.total(Part::Training), 2);
        let seed = FeatureMap::seed_for_metric(spec.seed);
        Self { run, coding, fitted, compared, kernel: spec.kernel, by, lambdas, seed }
    }

    /// The fit from a bandwidth along smaller or else larger ones, as long as the leave-one-out error falls.
    pub(super) fn fit_near(&self, inputs: &InputPipeline, bandwidth: f64) -> Result<RoundFit, TrainError> {
        let mut best = self.fit(inputs, bandwidth)?;
        for step in [FRAC_1_SQRT_2, SQRT_2] {
            let from = best.bandwidth;
            for _ in 0..BANDWIDTH_STEPS {
                let next = self.fit(inputs, step * best.bandwidth)?;
                if next.residuals.error() >= best.residuals.error() {
                    break;
                }
                best = next;
            }
            if best.bandwidth.to_bits() != from.to_bits() {
                break;
            }
        }
        Ok(best)
    }

    pub(super) fn fit(&self, inputs: &InputPipeline, bandwidth: f64) -> Result<RoundFit, TrainError> {
        self.fit_kernel(inputs, self.kernel.with_bandwidth(bandwidth), None)
    }

    /// The fit of any kernel at the λ with the smallest leave-one-out error of the compared rows, near one if it is known.
    pub(in crate::training::fit) fn fit_kernel(
        &self,
        inputs: &InputPipeline,
        kernel: Kernel,
        near: Option<f64>,
    ) -> Result<RoundFit, TrainError> {
        match self.by {
            FittedBy::Features(features) => self.solve_on_features(inputs, kernel, features),
            FittedBy::RowsOfFeatures(features) => self.solve_by_rows(inputs, kernel, features, near),
            FittedBy::Kernel => {
                let rows = (self.run, &self.fitted, self.coding);
                let (round, point, residuals) = KernelRound::solve(rows, inputs, kernel, (&self.lambdas, near))?;
                let bandwidth = kernel.bandwidth().unwrap_or(1.0);
                Ok(RoundFit { bandwidth, lambda: point.lambda, residuals, fitted: Fitted::Kernel(round) })
            }
        }
    }

    /// That by the system of the rows on more features than rows.
    fn solve_by_rows(
        &self,
        inputs: &InputPipeline,
        kernel: Kernel,
        features: usize,
        near: Option<f64>,
    ) -> Result<RoundFit, TrainError> {
        let (map, rows) = (self.map(kernel, features, inputs), (self.run, &self.fitted, self.coding));
        let (weights, point, residuals) = solve_by_rows(rows, inputs, &map, (&self.lambdas, near))?;
        let bandwidth = kernel.bandwidth().unwrap_or(1.0);
        Ok(RoundFit { bandwidth, lambda: point.lambda, residuals, fitted: Fitted::Features { map, weights } })
    }

    fn map(&self, kernel: Kernel, features: usize, inputs: &InputPipeline) -> FeatureMap {
        FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, self.seed, features, inputs.input_dim())
    }

    /// That by the normal equations on some features.
    fn solve_on_features(
        &self,
        inputs: &InputPipeline,
        kernel: Kernel,
        features: usize,
    ) -> Result<RoundFit, TrainError> {
        let (run, coding) = (self.run, self.coding);
        let map = self.map(kernel, features, inputs);
        let tick = |_| run.stop_if_asked();
        let mut gram = run.accumulate(&self.fitted, inputs, (&map, Precision::Double), coding, tick)?;
        check_total_weight(gram.weight(), "training")?;
        let target_mean = gram.centre_targets();
        let equations = gram.into_normal_equations();
        let path = RidgePath::new(&equations, run.threads);
        let points: Vec<PathPoint> = self.lambdas.iter().filter_map(|&lambda| path.point(lambda)).collect();
        let lambdas: Vec<f64> = points.iter().map(|point| point.lambda).collect();
        let mut residuals = self.squared_residuals(inputs, &map, (&path, &target_mean), &lambdas)?;
        let errors: Vec<f64> = residuals.iter().map(Residuals::error).collect();
        let best = best_of(&errors)?;
        let weights = path.solution(&equations, lambdas[best], run.threads)?.weights;
        let bandwidth = kernel.bandwidth().unwrap_or(1.0);
        let fitted = Fitted::Features { map, weights };
        Ok(RoundFit { bandwidth, lambda: lambdas[best], residuals: residuals.swap_remove(best), fitted })
    }

    /// Squared leave-one-out residuals of the compared rows at every λ, and how much each row counts.
    fn squared_residuals(
        &self,
        inputs: &InputPipeline,
        map: &FeatureMap,
        (path, target_mean): (&RidgePath, &Array1<f64>),
        lambdas: &[f64],
    ) -> Result<Vec<Residuals>, TrainError> {
        let projector = map.projector::<f64>();
        let leave_one_out = path.leave_one_out::<f64>(lambdas);
        let none = Residuals { squares: Vec::new(), row_weights: Vec::new() };
        let found = in_order(
            self.run.threads,
            self.compared.count(),
            || (RowBlock::default(), Vec::new()),
            |index, (block, residuals)| -> Result<(), TrainError> {
                self.run.read_to_fit(self.compared.block(index), block)?;
                let features = projector.transform(inputs.prepare(block.inputs()).view());
                let targets = self.coding.code(block.targets()) - target_mean.view().insert_axis(Axis(0));
                *residuals = leave_one_out.residuals(features.view(), targets.view(), block.weights());
                Ok(())
            },
            vec![none; lambdas.len()],
            |_, (block, residuals), found| {
                for (at, found) in found.iter_mut().enumerate() {
                    for row in 0..block.row_count() {
                        let sum: f64 = residuals.iter().map(|of_target| of_target[[row, at]].powi(2)).sum();
                        found.squares.push(sum / residuals.len() as f64);
                        found.row_weights.push(block.weight(row));
                    }
                }
                self.run.stop_if_asked()
            },
        )?;
        Ok(found)
    }

    /// The average over the fitted rows of gᵀg, g the gradients of a fit by the scaled inputs; over all targets.
    pub(in crate::training::fit) fn gradient_products(
        &self,
        (inputs, metric): (&InputPipeline, &Metric),
        fit: &RoundFit,
        wanted: MetricKind,
    ) -> Result<GradientProducts, TrainError> {
        let d = inputs.input_dim();
        let (map, weights) = match &fit.fitted {
            Fitted::Features { map, weights } => (map, weights),
            Fitted::Kernel(round) => return round.gradient_products(self.run, metric, wanted),
        };
        let slopes = metric.slopes(map);
        let Some(gradients) = Gradients::with_slopes(map, weights, slopes) else {
            return Ok(GradientProducts::Diagonal(Array1::ones(d))); // the maps of these fits all have gradients
        };
        let columns = if wanted == MetricKind::Full { d } else { 1 };
        let sums = in_order(
            self.run.threads,
            self.fitted.count(),
            || (RowBlock::default(), Array2::zeros((0, 0))),
            |index, (block, sums)| -> Result<(), TrainError> {
                self.run.read_to_fit(self.fitted.block(index), block)?;
                let roots = Array1::from_shape_fn(block.row_count(), |row| block.weight(row).sqrt());
                *sums = Array2::zeros((d, columns));
                for gradient in gradients.at(inputs.prepare(block.inputs()).view()) {
                    let gradient = gradient * roots.view().insert_axis(Axis(1));
                    if wanted == MetricKind::Full {
                        *sums += &product_in_strips(gradient.t(), gradient.view());
                    } else {
                        *sums += &(&gradient * &gradient).sum_axis(Axis(0)).insert_axis(Axis(1));
                    }
                }
                Ok(())
            },
            Array2::zeros((d, columns)),
            |_, (_, sums), total| {
                *total += sums;
                self.run.stop_if_asked()
            },
        )?;
        Ok(if wanted == MetricKind::Full {
            GradientProducts::Full(sums)
        } else {
            GradientProducts::Diagonal(sums.remove_axis(Axis(1)))
        })
    }

    /// Rows of each fit.
    pub(in crate::training::fit) fn row_count(&self) -> usize {
        self.run.count_selected(&self.fitted, &[Part::Training])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{ColumnKind, Encoding, InputColumn, Roles, RowsInMemory, Scaling, ScalingRule};
    use crate::training::rows::parted_rows::PartedRows;
    use crate::training::{SpecLimits, Unwatched};
    use serde_json::json;

    /// y = sin(a) + ab on an irregular grid; c says nothing.
    fn table() -> RowsInMemory {
        let row = |row: u32| {
            let at = |step: f64| (f64::from(row) * step).fract() * 4.0 - 2.0;
            let [a, b, c] = [at(0.618_034), at(0.414_214), at(0.732_051)];
            [a, b, c, a.sin() + a * b]
        };
        RowsInMemory { cells: (0..90).flat_map(row).collect(), columns: 4 }
    }

    fn run(table: &RowsInMemory) -> Run<'_> {
        let roles = Roles { inputs: vec![0, 1, 2], targets: vec![3], weight: None };
        let rows = PartedRows::new(table, roles, vec![Part::Training; 90]);
        Run::new(rows, 2, &Unwatched)
    }

    /// A from differences of the fitted function at every row, one input at a time: no wave, no block, no root.
    #[test]
    fn gradient_products_are_those_of_differences() {
        let table = table();
        let run = run(&table);
        let column = |name: &str| InputColumn::plain(name, ColumnKind::Numeric, &[]);
        let encoding = Encoding { columns: ["a", "b", "c"].map(column).to_vec() };
        let (moments, targets) = run.moments(&encoding, Part::Training).unwrap();
        let scaling = Scaling::fit(ScalingRule::Standard, &moments);
        let scaled = InputPipeline { encoding, scaling, metric_root: None };
        let coding = TargetCoding::of_numbers(&targets);
        let raw = json!({"features": {"count": 40}, "kernel": {"metric": "full", "bandwidth": 2.0}});
        let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 40 }).unwrap();
        for rows in [RoundRows::of(&run, &coding, &spec), RoundRows::of_kernels(&run, &coding, &spec, 90)] {
            let mut metric = Metric::Identity;
            for _ in 0..2 {
                let inputs = metric.applied_to(&scaled);
                let fit = rows.fit(&inputs, 2.0).unwrap();
                let wanted = |kind| rows.gradient_products((&inputs, &metric), &fit, kind).unwrap();
                let (full, diagonal) = (wanted(MetricKind::Full), wanted(MetricKind::Diagonal));
                let (GradientProducts::Full(full), GradientProducts::Diagonal(diagonal)) = (&full, &diagonal) else {
                    panic!("as wanted")
                };
                let expected = by_differences(&table, &inputs, &fit);
                let size = expected.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
                assert!((full - &expected).iter().all(|gap| gap.abs() < 1e-5 * size), "{full} {expected}");
                assert!((diagonal - &expected.diag()).iter().all(|gap| gap.abs() < 1e-5 * size));
                metric = Metric::of(GradientProducts::Full(full.clone()), &scaled).unwrap();
            }
        }
    }

    fn by_differences(table: &RowsInMemory, inputs: &InputPipeline, fit: &RoundFit) -> Array2<f64> {
        const STEP: f64 = 1e-4;
        let value_at = |prepared: &Array2<f64>| match &fit.fitted {
            Fitted::Features { map, weights } => map.projector::<f64>().transform(prepared.view()).dot(weights)[[0, 0]],
            Fitted::Kernel(round) => round.value(prepared.row(0)),
        };
        let mut sums = Array2::zeros((3, 3));
        for row in table.cells.chunks_exact(4) {
            let gradient = Array1::from_shape_fn(3, |input| {
                let value = |by: f64| {
                    let mut moved = [row[0], row[1], row[2]];
                    moved[input] += by / inputs.scaling.factor[input]; // a step of the scaled input
                    let prepared = inputs.prepare(std::iter::once(moved.as_slice()));
                    value_at(&prepared)
                };
                (value(STEP) - value(-STEP)) / (2.0 * STEP)
            });
            let column = gradient.insert_axis(Axis(1));
            sums += &column.dot(&column.t());
        }
        sums
    }
}
