//! One fit of a round: bandwidth and λ by leave-one-out error, and the gradients of what was fitted.

use super::matrix::{GradientProducts, Metric};
use super::residuals::Residuals;
use crate::dataset::Part;
use crate::features::{FeatureMap, Gradients, Kernel, KernelShape, MapKind, Precision, Sampling};
use crate::model::{InputPipeline, MetricKind, TargetCoding};
use crate::solver::{RidgePath, in_order, product_in_strips};
use crate::training::TrainSpec;
use crate::training::fit::search::{CodedRows, LOO_ROWS};
use crate::training::rows::classes::check_total_weight;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::row_selection::RowSelection;
use crate::training::rows::run::Run;
use crate::training::spec::effort::SearchSize;
use crate::training::stage::TrainError;
use ndarray::{Array1, Array2, Axis};

/// Rows that a round is fitted on.
const ROWS: usize = 16_384;

/// The bandwidths of a round, in units of that of the round before.
const BANDWIDTHS: [f64; 6] = [2.0, 1.414, 1.0, 0.707, 0.5, 0.354];

/// Features of the fits, from those of the model: a part of them is enough to see which inputs matter, and keeps all
/// rounds together as cheap as a few fits of the model's size on these rows.
#[derive(Debug, Clone, Copy)]
struct FeatureCounts {
    fit: usize,
    bandwidth: usize,
}

impl FeatureCounts {
    fn of(model: usize) -> Self {
        let even = |count: usize| (count & !1).max(2);
        Self {
            fit: even((model / 2).min(1_024).max(model.min(256))),
            bandwidth: even((model / 4).min(512).max(model.min(128))),
        }
    }
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
    counts: FeatureCounts,
    /// Every λ that is tried.
    lambdas: Vec<f64>,
    seed: u64,
}

/// A fit in the coordinates of one metric.
pub(in crate::training::fit) struct RoundFit {
    pub(in crate::training::fit) bandwidth: f64,
    pub(in crate::training::fit) lambda: f64,
    pub(in crate::training::fit) residuals: Residuals,
    map: FeatureMap,
    weights: Array2<f64>,
}

/// The normal equations on some features, at the best λ of those that are tried.
struct Solved {
    map: FeatureMap,
    path: RidgePath,
    target_mean: Array1<f64>,
    lambda: f64,
    error: f64,
    weights: Array2<f64>,
}

impl<'a> RoundRows<'a> {
    pub(super) fn of(run: &'a Run<'a>, coding: &'a TargetCoding, spec: &TrainSpec) -> Self {
        let fitted = run.sample(ROWS);
        let compared = run.sample_of(&fitted, LOO_ROWS);
        let (kernel, counts) = (spec.kernel, FeatureCounts::of(spec.feature_count));
        let seed = FeatureMap::seed_for_metric(spec.seed);
        let lambdas = spec.compared_lambdas(run.total(Part::Training), 1);
        Self { run, coding, fitted, compared, kernel, counts, lambdas, seed }
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
        let (kernel, counts) = (spec.kernel, FeatureCounts { fit: features, bandwidth: features });
        let seed = FeatureMap::seed_for_metric(spec.seed);
        // A λ that the spec does not give is searched once more for the candidate that is kept.
        let lambdas = spec.compared_lambdas(run.total(Part::Training), 2);
        Self { run, coding, fitted, compared, kernel, counts, lambdas, seed }
    }

    /// The multiple of `bandwidth` with the smallest leave-one-out error.
    pub(super) fn search_bandwidth(&self, inputs: &InputPipeline, bandwidth: f64) -> Result<f64, TrainError> {
        let mut best = (bandwidth, f64::INFINITY);
        for candidate in BANDWIDTHS.map(|factor| factor * bandwidth) {
            let error = self.solve(inputs, self.kernel.with_bandwidth(candidate), self.counts.bandwidth)?.error;
            if error < best.1 {
                best = (candidate, error);
            }
        }
        Ok(best.0)
    }

    pub(super) fn fit(&self, inputs: &InputPipeline, bandwidth: f64) -> Result<RoundFit, TrainError> {
        let solved = self.solve(inputs, self.kernel.with_bandwidth(bandwidth), self.counts.fit)?;
        self.with_residuals(inputs, bandwidth, solved)
    }

    /// The fit of any kernel.
    pub(in crate::training::fit) fn fit_kernel(
        &self,
        inputs: &InputPipeline,
        kernel: Kernel,
    ) -> Result<RoundFit, TrainError> {
        let solved = self.solve(inputs, kernel, self.counts.fit)?;
        self.with_residuals(inputs, kernel.bandwidth().unwrap_or(1.0), solved)
    }

    fn with_residuals(&self, inputs: &InputPipeline, bandwidth: f64, solved: Solved) -> Result<RoundFit, TrainError> {
        let residuals = self.squared_residuals(inputs, &solved)?;
        let Solved { map, lambda, weights, .. } = solved;
        Ok(RoundFit { bandwidth, lambda, residuals, map, weights })
    }

    fn solve(&self, inputs: &InputPipeline, kernel: Kernel, features: usize) -> Result<Solved, TrainError> {
        let (run, coding) = (self.run, self.coding);
        let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, self.seed, features, inputs.input_dim());
        let tick = |_| run.stop_if_asked();
        let mut gram = run.accumulate(&self.fitted, inputs, (&map, Precision::Double), coding, tick)?;
        check_total_weight(gram.weight(), "training")?;
        let target_mean = gram.centre_targets();
        let equations = gram.into_normal_equations();
        let path = RidgePath::new(&equations, run.threads);
        let rows = CodedRows { run, inputs, coding };
        let best = *rows.search_lambda::<f64>(&map, &path, (&self.fitted, &target_mean), &self.lambdas)?.best();
        let weights = path.solution(&equations, best.lambda, run.threads)?.weights;
        let error = best.loo_mse.unwrap_or(f64::INFINITY);
        Ok(Solved { map, path, target_mean, lambda: best.lambda, error, weights })
    }

    /// Squared leave-one-out residuals of the compared rows, and how much each row counts.
    fn squared_residuals(&self, inputs: &InputPipeline, solved: &Solved) -> Result<Residuals, TrainError> {
        let projector = solved.map.projector::<f64>();
        let leave_one_out = solved.path.leave_one_out::<f64>(&[solved.lambda]);
        let (squares, row_weights) = in_order(
            self.run.threads,
            self.compared.count(),
            || (RowBlock::default(), Vec::new()),
            |index, (block, residuals)| -> Result<(), TrainError> {
                self.run.read_to_fit(self.compared.block(index), block)?;
                let features = projector.transform(inputs.prepare(block.inputs()).view());
                let targets = self.coding.code(block.targets()) - solved.target_mean.view().insert_axis(Axis(0));
                *residuals = leave_one_out.residuals(features.view(), targets.view(), block.weights());
                Ok(())
            },
            (Vec::new(), Vec::new()),
            |_, (block, residuals), (squares, weights)| {
                for row in 0..block.row_count() {
                    let sum: f64 = residuals.iter().map(|of_target| of_target[[row, 0]].powi(2)).sum();
                    squares.push(sum / residuals.len() as f64);
                    weights.push(block.weight(row));
                }
                self.run.stop_if_asked()
            },
        )?;
        Ok(Residuals { squares, row_weights })
    }

    /// The average over the fitted rows of gᵀg, g the gradients of a fit by the scaled inputs; over all targets.
    pub(in crate::training::fit) fn gradient_products(
        &self,
        (inputs, metric): (&InputPipeline, &Metric),
        fit: &RoundFit,
        wanted: MetricKind,
    ) -> Result<GradientProducts, TrainError> {
        let d = inputs.input_dim();
        let slopes = metric.slopes(&fit.map);
        let Some(gradients) = Gradients::with_slopes(&fit.map, &fit.weights, slopes) else {
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
    use crate::dataset::{ColumnKind, Encoding, InputColumn, Notation, Roles, Rows, Scaling, ScalingRule};
    use crate::training::rows::parted_rows::PartedRows;
    use crate::training::{Observer, SpecLimits, Stage};
    use serde_json::json;

    /// y = sin(a) + ab on an irregular grid; c says nothing.
    struct Table;

    impl Rows for Table {
        fn row_count(&self) -> usize {
            90
        }

        fn column_count(&self) -> usize {
            4
        }

        fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
            for (row, cells) in cells.chunks_exact_mut(4).enumerate() {
                let at = |step: f64| ((first + row) as f64 * step).fract() * 4.0 - 2.0;
                let [a, b, c] = [at(0.618_034), at(0.414_214), at(0.732_051)];
                cells.copy_from_slice(&[a, b, c, a.sin() + a * b]);
            }
            Ok(())
        }
    }

    struct Silent;

    impl Observer for Silent {
        fn progress(&self, _: Stage, _: f64) {}

        fn should_stop(&self) -> bool {
            false
        }
    }

    fn run() -> Run<'static> {
        let roles = Roles { inputs: vec![0, 1, 2], targets: vec![3], weight: None };
        let rows = PartedRows::new(&Table, roles, vec![Part::Training; 90]);
        Run::new(rows, 2, &Silent)
    }

    /// A from differences of the fitted function at every row, one input at a time: no wave, no block, no root.
    #[test]
    fn gradient_products_are_those_of_differences() {
        let run = run();
        let column = |name: &str| InputColumn {
            name: name.into(),
            kind: ColumnKind::Numeric,
            levels: vec![],
            notation: Notation::default(),
        };
        let encoding = Encoding { columns: ["a", "b", "c"].map(column).to_vec() };
        let (moments, targets) = run.moments(&encoding, Part::Training).unwrap();
        let scaling = Scaling::fit(ScalingRule::Standard, &moments);
        let scaled = InputPipeline { encoding, scaling, metric_root: None };
        let coding = TargetCoding::of_numbers(&targets);
        let raw = json!({"features": {"count": 40}, "kernel": {"metric": "full", "bandwidth": 2.0}});
        let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 40 }).unwrap();
        let rows = RoundRows::of(&run, &coding, &spec);
        let mut metric = Metric::Identity;
        for _ in 0..2 {
            let inputs = metric.applied_to(&scaled);
            let fit = rows.fit(&inputs, 2.0).unwrap();
            let wanted = |kind| rows.gradient_products((&inputs, &metric), &fit, kind).unwrap();
            let (full, diagonal) = (wanted(MetricKind::Full), wanted(MetricKind::Diagonal));
            let (GradientProducts::Full(full), GradientProducts::Diagonal(diagonal)) = (&full, &diagonal) else {
                panic!("as wanted")
            };
            let expected = by_differences(&inputs, &fit);
            let size = expected.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
            assert!((full - &expected).iter().all(|gap| gap.abs() < 1e-5 * size), "{full} {expected}");
            assert!((diagonal - &expected.diag()).iter().all(|gap| gap.abs() < 1e-5 * size));
            metric = Metric::of(GradientProducts::Full(full.clone()), &scaled).unwrap();
        }
    }

    fn by_differences(inputs: &InputPipeline, fit: &RoundFit) -> Array2<f64> {
        const STEP: f64 = 1e-4;
        let mut cells = vec![0.0; 360];
        Table.read(0, &mut cells).unwrap();
        let projector = fit.map.projector::<f64>();
        let mut sums = Array2::zeros((3, 3));
        for row in cells.chunks_exact(4) {
            let gradient = Array1::from_shape_fn(3, |input| {
                let value = |by: f64| {
                    let mut moved = [row[0], row[1], row[2]];
                    moved[input] += by / inputs.scaling.factor[input]; // a step of the scaled input
                    let prepared = inputs.prepare(std::iter::once(moved.as_slice()));
                    projector.transform(prepared.view()).dot(&fit.weights)[[0, 0]]
                };
                (value(STEP) - value(-STEP)) / (2.0 * STEP)
            });
            let column = gradient.insert_axis(Axis(1));
            sums += &column.dot(&column.t());
        }
        sums
    }
}
