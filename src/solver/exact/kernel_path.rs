//! Kernel ridge regression at several λ from one kernel matrix, each with exact leave-one-out residuals.

use super::SolveError;
use super::kernel_matrix::KernelMatrix;
use crate::features::Kernel;
use crate::linalg::{Cholesky, mirror_lower, product_in_strips};
use crate::solver::PathPoint;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate, s};

/// K of some rows with their targets.
pub struct KernelPath {
    /// The lower triangle.
    matrix: Array2<f64>,
    /// y − ȳ, and a column of ones.
    right_sides: Array2<f64>,
    threads: usize,
}

/// What one λ gives.
pub struct KernelFit {
    /// α, n×k.
    pub coefficients: Array2<f64>,
    /// Of each row and target, that of a fit without the row: nλ stays, and the mean of the targets is taken anew.
    pub residuals: Array2<f64>,
    /// The same as sums, with its leave-one-out error.
    pub point: PathPoint,
}

impl KernelPath {
    /// K of `inputs` (n×d); `targets` (n×k) are centred by their means.
    pub fn new(
        kernel: Kernel,
        inputs: ArrayView2<f64>,
        targets: ArrayView2<f64>,
        threads: usize,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, SolveError> {
        let matrix = KernelMatrix::<f64>::new(kernel, inputs, threads).lower_triangle(0.0, go_on)?;
        Ok(Self::of_matrix(matrix, targets, threads))
    }

    /// The same for the kernel ψ(x)ᵀψ(x') of some features (n×s).
    pub fn of_features(features: ArrayView2<f64>, targets: ArrayView2<f64>, threads: usize) -> Self {
        Self::of_matrix(product_in_strips(features, features.t()), targets, threads)
    }

    /// n.
    pub fn row_count(&self) -> usize {
        self.matrix.nrows()
    }

    fn of_matrix(matrix: Array2<f64>, targets: ArrayView2<f64>, threads: usize) -> Self {
        let ones = Array2::ones((targets.nrows(), 1));
        let right_sides = concatenate(Axis(1), &[targets, ones.view()]).expect("as many rows");
        Self { matrix, right_sides, threads }
    }

    /// The fit at one λ; none where rounding leaves no factor of K + nλI. With C = (K + nλI)⁻¹, α = Cy, the residuals of the
    /// fit are nλα and its hat matrix has 1 − Hᵢᵢ = nλCᵢᵢ: without row i, (αᵢ + yᵢ/(n−1)·[C1]ᵢ)/Cᵢᵢ.
    pub fn at(&self, lambda: f64, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Option<KernelFit>, SolveError> {
        let (n, k) = (self.matrix.nrows(), self.right_sides.ncols() - 1);
        let (count, shift) = (n as f64, n as f64 * lambda);
        let mut system = self.matrix.clone();
        system.diag_mut().mapv_inplace(|value| value + shift);
        let factor = match Cholesky::factor_while(system, self.threads, |_| go_on()) {
            Ok(factor) => factor.ok_or(SolveError::Stopped)?,
            Err(_) => return Ok(None),
        };
        let inverse = factor.inverse_diagonal_while(self.threads, |_| go_on()).ok_or(SolveError::Stopped)?;
        let solved = factor.solve_columns(self.right_sides.clone());
        let (coefficients, ones) = solved.view().split_at(Axis(1), k);
        let share = &ones.column(0) / (count - 1.0);
        let targets = self.right_sides.slice(s![.., ..k]);
        let own: Array2<f64> = &targets * &share.insert_axis(Axis(1));
        let residuals = (&coefficients + &own) / inverse.view().insert_axis(Axis(1));
        if !residuals.iter().chain(coefficients).all(|value| value.is_finite()) {
            return Ok(None);
        }
        let mean = |values: &Array2<f64>| values.iter().map(|value| value * value).sum::<f64>() / (count * k as f64);
        let effective_dimension = (count - shift * inverse.sum()).clamp(0.0, count);
        let training_mse = shift * shift * mean(&coefficients.to_owned());
        let left = 1.0 - effective_dimension / count;
        let (gcv, loo_mse) = (training_mse / (left * left), Some(mean(&residuals)));
        let point = PathPoint { lambda, effective_dimension, training_mse, gcv, loo_mse };
        Ok(Some(KernelFit { coefficients: coefficients.to_owned(), residuals, point }))
    }
}

/// ∇f at every row of `inputs`, which f = Σ αᵢ k(·, xᵢ) was fitted on: one n×d matrix for each target. None for kernels
/// that have no gradient where two points meet.
pub fn kernel_gradients(
    kernel: Kernel,
    inputs: ArrayView2<f64>,
    coefficients: ArrayView2<f64>,
    (threads, go_on): (usize, &(dyn Fn() -> bool + Sync)),
) -> Result<Option<Vec<Array2<f64>>>, SolveError> {
    let Some(slope) = RadialSlope::of(kernel) else { return Ok(None) };
    let mut weights = KernelMatrix::<f64>::new(slope.kernel, inputs, threads).lower_triangle(0.0, go_on)?;
    mirror_lower(&mut weights);
    weights.mapv_inplace(|value| -slope.factor * value);
    let of_target = |alpha: ArrayView1<f64>| {
        let sums: Array1<f64> = weights.dot(&alpha);
        let spread = &inputs * &alpha.insert_axis(Axis(1));
        &inputs * &sums.insert_axis(Axis(1)) - product_in_strips(weights.view(), spread.view())
    };
    Ok(Some(coefficients.columns().into_iter().map(of_target).collect()))
}

/// φ'(r)/r = −factor·k(r) of another kernel k.
struct RadialSlope {
    factor: f64,
    kernel: Kernel,
}

impl RadialSlope {
    /// exp(−r²/2σ²) gives itself over σ². A matérn kernel of smoothness ν gives the one of ν − 1 in the same √(2ν)·r/σ, times
    /// ν/((ν−1)σ²).
    #[allow(clippy::float_cmp)] // smoothnesses with a closed form are exact numbers
    fn of(kernel: Kernel) -> Option<Self> {
        match kernel {
            Kernel::Gaussian { bandwidth } => Some(Self { factor: bandwidth.powi(-2), kernel }),
            Kernel::Matern { bandwidth, nu } if nu == 1.5 || nu == 2.5 => {
                let rougher = nu - 1.0;
                let same_scale = bandwidth * (rougher / nu).sqrt();
                let kernel = Kernel::Matern { bandwidth: same_scale, nu: rougher };
                Some(Self { factor: nu / (rougher * bandwidth * bandwidth), kernel })
            }
            Kernel::Matern { .. }
            | Kernel::Laplace { .. }
            | Kernel::Cauchy { .. }
            | Kernel::Angular
            | Kernel::Spline { .. }
            | Kernel::Linear => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::symmetric_eigen;

    fn rows(n: usize) -> (Array2<f64>, Array2<f64>) {
        let cell = |i: usize, step: f64| (i as f64 * step).fract() * 2.0 - 1.0;
        let inputs = Array2::from_shape_fn((n, 3), |(i, j)| cell(i + 1, [0.618_034, 0.414_214, 0.732_051][j]));
        let targets = Array2::from_shape_fn((n, 2), |(i, j)| inputs[[i, j]].sin() + inputs[[i, 2]] * cell(i + 3, 0.27));
        (inputs, targets)
    }

    const KERNELS: [Kernel; 4] = [
        Kernel::Gaussian { bandwidth: 0.8 },
        Kernel::Laplace { bandwidth: 1.5 },
        Kernel::Matern { bandwidth: 0.9, nu: 1.5 },
        Kernel::Matern { bandwidth: 1.1, nu: 2.5 },
    ];

    fn centred(targets: &Array2<f64>) -> Array2<f64> {
        targets - &targets.mean_axis(Axis(0)).unwrap()
    }

    /// Every residual against a fit without its row, by eigenvectors: the same nλ, the mean of the other targets.
    #[test]
    fn residuals_are_those_of_fits_without_the_row() {
        let (n, lambda) = (25, 1e-3);
        let (inputs, targets) = rows(n);
        for kernel in KERNELS {
            let path = KernelPath::new(kernel, inputs.view(), centred(&targets).view(), 2, &|| true).unwrap();
            let found = path.at(lambda, &|| true).unwrap().unwrap();
            let mut squares = 0.0;
            for out in 0..n {
                let kept: Vec<usize> = (0..n).filter(|row| *row != out).collect();
                let (others, of_others) = (inputs.select(Axis(0), &kept), targets.select(Axis(0), &kept));
                let mean = of_others.mean_axis(Axis(0)).unwrap();
                let gram =
                    Array2::from_shape_fn((n - 1, n - 1), |(i, j)| kernel.evaluate(others.row(i), others.row(j)));
                let (values, vectors) = symmetric_eigen(gram).unwrap();
                // Eigenvectors are rows.
                let shifted = values.mapv(|value| value + n as f64 * lambda).insert_axis(Axis(1));
                let inverse = vectors.t().dot(&(&vectors / &shifted));
                let alpha = inverse.dot(&(&of_others - &mean));
                let near = Array1::from_shape_fn(n - 1, |i| kernel.evaluate(inputs.row(out), others.row(i)));
                for target in 0..2 {
                    let expected = targets[[out, target]] - mean[target] - near.dot(&alpha.column(target));
                    let gap = found.residuals[[out, target]] - expected;
                    assert!(gap.abs() < 1e-9, "{kernel:?} {out} {target}: {gap:e}");
                    squares += expected * expected;
                }
            }
            assert!((found.point.loo_mse.unwrap() - squares / (2 * n) as f64).abs() < 1e-9);
        }
    }

    /// Degrees of freedom and training error from the eigenvalues of K.
    #[test]
    fn the_point_is_that_of_the_eigenvalues() {
        let (inputs, targets) = rows(30);
        let centred = centred(&targets);
        for (kernel, lambda) in KERNELS.into_iter().zip([1e-1, 1e-4, 1e-6, 1e-8]) {
            let path = KernelPath::new(kernel, inputs.view(), centred.view(), 1, &|| true).unwrap();
            let point = path.at(lambda, &|| true).unwrap().unwrap().point;
            let gram = Array2::from_shape_fn((30, 30), |(i, j)| kernel.evaluate(inputs.row(i), inputs.row(j)));
            let (values, vectors) = symmetric_eigen(gram).unwrap();
            let shift = 30.0 * lambda;
            let dimension: f64 = values.iter().map(|value| value / (value + shift)).sum();
            let left = values.mapv(|value| shift / (value + shift));
            let residuals = vectors.t().dot(&(&vectors.dot(&centred) * &left.insert_axis(Axis(1))));
            let training = residuals.iter().map(|residual| residual * residual).sum::<f64>() / 60.0;
            assert!((point.effective_dimension - dimension).abs() < 1e-6, "{kernel:?}");
            assert!((point.training_mse - training).abs() < 1e-9 * training.max(1e-6), "{kernel:?}");
        }
    }

    /// Against central differences of the function itself.
    #[test]
    fn gradients_are_the_limits_of_differences() {
        const STEP: f64 = 1e-5;
        let (inputs, targets) = rows(20);
        for kernel in KERNELS {
            let found = kernel_gradients(kernel, inputs.view(), targets.view(), (2, &|| true)).unwrap();
            let Some(found) = found else {
                assert!(matches!(kernel, Kernel::Laplace { .. }));
                continue;
            };
            let value = |x: &Array1<f64>, target: usize| -> f64 {
                (0..20).map(|i| targets[[i, target]] * kernel.evaluate(x.view(), inputs.row(i))).sum()
            };
            for (row, input, target) in [(0, 0, 0), (3, 1, 1), (11, 2, 0), (19, 0, 1)] {
                let moved = |by: f64| {
                    let mut x = inputs.row(row).to_owned();
                    x[input] += by;
                    value(&x, target)
                };
                let expected = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                let gap = found[target][[row, input]] - expected;
                assert!(gap.abs() < 1e-4, "{kernel:?} {row} {input}: {gap:e}");
            }
        }
    }

    #[test]
    fn a_stop_is_heard_and_no_factor_is_no_error() {
        let (inputs, targets) = rows(10);
        let twice = concatenate(Axis(0), &[inputs.view(), inputs.view()]).unwrap();
        let targets = concatenate(Axis(0), &[targets.view(), targets.view()]).unwrap();
        let kernel = Kernel::Gaussian { bandwidth: 50.0 };
        assert!(matches!(
            KernelPath::new(kernel, twice.view(), targets.view(), 1, &|| false),
            Err(SolveError::Stopped)
        ));
        let path = KernelPath::new(kernel, twice.view(), targets.view(), 1, &|| true).unwrap();
        assert!(path.at(1e-30, &|| true).unwrap().is_none());
        assert!(matches!(path.at(1e-3, &|| false), Err(SolveError::Stopped)));
    }
}
