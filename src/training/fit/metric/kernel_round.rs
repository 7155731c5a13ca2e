//! One fit of a round by the kernel itself: its system on some rows, factored at each λ, and the gradients of what was fitted.

use super::matrix::{GradientProducts, Metric};
use super::residuals::Residuals;
use crate::dataset::Part;
use crate::features::{FeatureMap, Kernel};
use crate::model::{InputPipeline, MetricKind, TargetCoding};
use crate::solver::{KernelFit, KernelPath, PathPoint, kernel_gradients, product_in_strips};
use crate::training::rows::row_selection::RowSelection;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use ndarray::{Array1, Array2, Axis};

/// Where a search for λ starts that nothing is known of.
const FIRST_LAMBDA: f64 = 1e-5;

/// f = Σ αᵢ k(·, xᵢ) in the coordinates of a metric.
pub(in crate::training::fit) struct KernelRound {
    kernel: Kernel,
    points: Array2<f64>,
    coefficients: Array2<f64>,
}

impl KernelRound {
    /// The fit of a kernel on these rows at the best λ of a list, with its leave-one-out residuals.
    pub(super) fn solve(
        (run, rows, coding): (&Run, &RowSelection, &TargetCoding),
        inputs: &InputPipeline,
        kernel: Kernel,
        (lambdas, near): (&[f64], Option<f64>),
    ) -> Result<(Self, PathPoint, Residuals), TrainError> {
        let (points, targets) = coded_rows(run, rows, inputs, coding)?;
        let go_on = || !run.observer.should_stop();
        let path = KernelPath::new(kernel, points.view(), targets.view(), run.threads, &go_on)?;
        let KernelFit { coefficients, residuals, point } = best_fit(run, &path, (lambdas, near))?;
        Ok((Self { kernel, points, coefficients }, point, Residuals::of(&residuals)))
    }

    /// The sum over the fitted rows and the targets of gᵀg, g the gradients by the scaled inputs.
    pub(super) fn gradient_products(
        &self,
        run: &Run,
        metric: &Metric,
        wanted: MetricKind,
    ) -> Result<GradientProducts, TrainError> {
        let d = self.points.ncols();
        let go_on = || !run.observer.should_stop();
        let (points, coefficients) = (self.points.view(), self.coefficients.view());
        let Some(gradients) = kernel_gradients(self.kernel, points, coefficients, (run.threads, &go_on))? else {
            return Ok(GradientProducts::Diagonal(Array1::ones(d))); // no search learns a metric from such a kernel
        };
        let gradients = gradients.into_iter().map(|gradients| metric.by_inputs(gradients));
        if wanted != MetricKind::Full {
            let squares = gradients.map(|gradients| (&gradients * &gradients).sum_axis(Axis(0)));
            return Ok(GradientProducts::Diagonal(squares.fold(Array1::zeros(d), |sum, squares| sum + squares)));
        }
        let products = gradients.map(|gradients| product_in_strips(gradients.t(), gradients.view()));
        Ok(GradientProducts::Full(products.fold(Array2::zeros((d, d)), |sum, products| sum + products)))
    }

    /// The first output at prepared inputs.
    #[cfg(test)]
    pub(super) fn value(&self, input: ndarray::ArrayView1<f64>) -> f64 {
        let terms = self.points.rows().into_iter().zip(self.coefficients.column(0));
        terms.map(|(point, alpha)| alpha * self.kernel.evaluate(input, point)).sum()
    }
}

/// The weights of a fit on features that outnumber the rows, by the system of the rows, at the best λ of a list, with its
/// leave-one-out residuals.
pub(super) fn solve_by_rows(
    (run, rows, coding): (&Run, &RowSelection, &TargetCoding),
    inputs: &InputPipeline,
    map: &FeatureMap,
    lambdas: (&[f64], Option<f64>),
) -> Result<(Array2<f64>, PathPoint, Residuals), TrainError> {
    let (points, targets) = coded_rows(run, rows, inputs, coding)?;
    let features = map.projector::<f64>().transform(points.view());
    let path = KernelPath::of_features(features.view(), targets.view(), run.threads);
    let KernelFit { coefficients, residuals, point } = best_fit(run, &path, lambdas)?;
    Ok((features.t().dot(&coefficients), point, Residuals::of(&residuals)))
}

fn best_fit(run: &Run, path: &KernelPath, (lambdas, near): (&[f64], Option<f64>)) -> Result<KernelFit, TrainError> {
    let none = || TrainError::Data("no lambda gives a finite leave-one-out error; set lambda to a number".into());
    Ok(descend(run, path, lambdas, near)?.ok_or_else(none)?.0)
}

/// Scaled inputs of some training rows, and their coded targets centred by their means.
pub(in crate::training::fit) fn coded_rows(
    run: &Run,
    rows: &RowSelection,
    inputs: &InputPipeline,
    coding: &TargetCoding,
) -> Result<(Array2<f64>, Array2<f64>), TrainError> {
    let (points, targets) = run.collect(rows, inputs, Part::Training)?;
    let coded = coding.code(targets.view());
    let mean = coded.mean_axis(Axis(0)).ok_or_else(|| TrainError::Data("no rows are left to train on".into()))?;
    Ok((points, coded - &mean))
}

/// From the λ of a descending list that is nearest to `near` along smaller or else larger ones, as long as the leave-one-out
/// error falls: the best fit, and every point that was tried in the order of the list. None where no system has a factor.
pub(in crate::training::fit) fn descend(
    run: &Run,
    path: &KernelPath,
    lambdas: &[f64],
    near: Option<f64>,
) -> Result<Option<(KernelFit, Vec<PathPoint>)>, TrainError> {
    let go_on = || !run.observer.should_stop();
    let error = |fit: &KernelFit| fit.point.loo_mse.filter(|error| error.is_finite()).unwrap_or(f64::INFINITY);
    let near = near.unwrap_or(FIRST_LAMBDA);
    let distance = |lambda: f64| (lambda / near).ln().abs();
    let nearest =
        (0..lambdas.len()).min_by(|left, right| distance(lambdas[*left]).total_cmp(&distance(lambdas[*right])));
    let mut points = Vec::new();
    let mut best: Option<(usize, KernelFit)> = None;
    // The first λ whose system has a factor.
    for at in (0..=nearest.unwrap_or(0)).rev() {
        let Some(&lambda) = lambdas.get(at) else { break };
        if let Some(fit) = path.at(lambda, &go_on)? {
            points.push(fit.point);
            best = Some((at, fit));
            break;
        }
    }
    let Some((start, mut best)) = best else { return Ok(None) };
    let smaller = start + 1..lambdas.len();
    let larger = (0..start).rev();
    for list in [smaller.collect::<Vec<_>>(), larger.collect()] {
        for at in list {
            run.stop_if_asked()?;
            let Some(fit) = path.at(lambdas[at], &go_on)? else { break };
            points.push(fit.point);
            if error(&fit) >= error(&best) {
                break;
            }
            best = fit;
        }
        if best.point.lambda.to_bits() != lambdas[start].to_bits() {
            break;
        }
    }
    points.sort_by(|left, right| right.lambda.total_cmp(&left.lambda));
    Ok(Some((best, points)))
}
