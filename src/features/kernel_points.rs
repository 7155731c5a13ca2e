//! Exact kernel values between many points.

use super::{Exponential, Kernel};
use crate::linalg::{bulk_instructions, checkpoint};
use ndarray::{Array2, ArrayView2};
use std::ops::Range;

/// Coordinates added to a row of distances at once, so that the row is read and written once for all of them.
const COORDINATES: usize = 4;

/// Points in one precision, stored by rows and by coordinates.
pub struct KernelPoints<T> {
    kernel: Kernel,
    /// n×d.
    inputs: Array2<f64>,
    /// `inputs` in this precision, row by row.
    rows: Vec<T>,
    /// `inputs` in this precision, d×n: the values of a coordinate are contiguous.
    coordinates: Vec<T>,
}

impl<T: Exponential> KernelPoints<T> {
    /// The rows of `inputs` (n×d).
    pub fn new(kernel: Kernel, inputs: ArrayView2<f64>) -> Self {
        Self { kernel, inputs: inputs.to_owned(), rows: converted(inputs), coordinates: converted(inputs.t()) }
    }

    /// Other points of the same kernel.
    #[must_use]
    pub fn alike(&self, inputs: ArrayView2<f64>) -> Self {
        Self::new(self.kernel, inputs)
    }

    /// The points at these positions, in this order.
    #[must_use]
    pub fn select(&self, positions: &[usize]) -> Self {
        self.alike(self.inputs.select(ndarray::Axis(0), positions).view())
    }

    /// n, the number of points.
    pub fn count(&self) -> usize {
        self.inputs.nrows()
    }

    /// k(x, x) of every point.
    pub fn diagonal(&self) -> Vec<f64> {
        self.inputs.rows().into_iter().map(|row| self.kernel.evaluate(row, row)).collect()
    }

    /// k(xᵢ, zⱼ) for points i of this set and j of another, row by row into `tile`. Distances are sums of
    /// differences, never differences of products, so that distances of near points lose no digits.
    pub fn fill_tile(&self, rows: Range<usize>, other: &Self, columns: Range<usize>, tile: &mut [T]) {
        assert_eq!(tile.len(), rows.len() * columns.len());
        let Some(shape) = Shape::of(self.kernel) else {
            for (values, i) in tile.chunks_exact_mut(columns.len().max(1)).zip(rows) {
                checkpoint();
                for (value, j) in values.iter_mut().zip(columns.clone()) {
                    *value = T::from_f64(self.kernel.evaluate(self.inputs.row(i), other.inputs.row(j)));
                }
            }
            return;
        };
        let dim = self.inputs.ncols();
        for (values, i) in tile.chunks_exact_mut(columns.len().max(1)).zip(rows) {
            checkpoint();
            shape.fill(&self.rows[i * dim..(i + 1) * dim], other, columns.clone(), values);
        }
    }

    fn coordinate(&self, index: usize, columns: Range<usize>) -> &[T] {
        let start = index * self.count();
        &self.coordinates[start + columns.start..start + columns.end]
    }
}

/// Row by row, in this precision.
fn converted<T: Exponential>(values: ArrayView2<f64>) -> Vec<T> {
    let mut converted = Vec::with_capacity(values.len());
    for row in values.rows() {
        checkpoint();
        converted.extend(row.iter().map(|&value| T::from_f64(value)));
    }
    converted
}

/// Kernels that are evaluated on whole slices; others are evaluated value by value.
#[derive(Clone, Copy)]
enum Shape {
    /// exp(−rate·Σ(x−z)²).
    Squared { rate: f64 },
    /// exp(−rate·Σ|x−z|).
    Absolute { rate: f64 },
    /// A polynomial in t = scale·‖x−z‖ times exp(−t): a Matérn kernel of half-integer smoothness.
    Polynomial { scale: f64, linear: f64, quadratic: f64 },
    /// Π 1/(1 + rate·(x−z)²).
    Product { rate: f64 },
}

impl Shape {
    #[allow(clippy::float_cmp)] // smoothnesses with a closed form are exact numbers
    fn of(kernel: Kernel) -> Option<Self> {
        match kernel {
            Kernel::Gaussian { bandwidth } => Some(Self::Squared { rate: 0.5 / (bandwidth * bandwidth) }),
            Kernel::Laplace { bandwidth } => Some(Self::Absolute { rate: 1.0 / bandwidth }),
            Kernel::Matern { bandwidth, nu } => {
                let scale = (2.0 * nu).sqrt() / bandwidth;
                [(0.5, 0.0, 0.0), (1.5, 1.0, 0.0), (2.5, 1.0, 1.0 / 3.0)]
                    .into_iter()
                    .find(|(closed, ..)| *closed == nu)
                    .map(|(_, linear, quadratic)| Self::Polynomial { scale, linear, quadratic })
            }
            Kernel::Cauchy { bandwidth } => Some(Self::Product { rate: 1.0 / (bandwidth * bandwidth) }),
            Kernel::Angular | Kernel::Spline { .. } | Kernel::Linear => None,
        }
    }

    /// The kernel between one point and the columns of `others`.
    fn fill<T: Exponential>(self, point: &[T], others: &KernelPoints<T>, columns: Range<usize>, values: &mut [T]) {
        match self {
            Self::Squared { rate } => {
                add_over_coordinates(point, others, columns, values, |difference| difference * difference);
                T::decays(T::from_f64(rate), values);
            }
            Self::Absolute { rate } => {
                add_over_coordinates(point, others, columns, values, T::magnitude);
                T::decays(T::from_f64(rate), values);
            }
            Self::Polynomial { scale, linear, quadratic } => {
                add_over_coordinates(point, others, columns, values, |difference| difference * difference);
                for value in &mut *values {
                    *value = value.root();
                }
                let mut factors = values.to_vec();
                let [scale, linear, quadratic] = [scale, linear, quadratic].map(T::from_f64);
                for factor in &mut factors {
                    let t = scale * *factor;
                    *factor = T::one() + t * (linear + t * quadratic);
                }
                T::decays(scale, values);
                values.iter_mut().zip(&factors).for_each(|(value, factor)| *value = *value * *factor);
            }
            Self::Product { rate } => {
                let rate = T::from_f64(rate);
                values.fill(T::one());
                for (k, &x) in point.iter().enumerate() {
                    let others = others.coordinate(k, columns.clone());
                    bulk_instructions().dispatch(|| {
                        for (value, &z) in values.iter_mut().zip(others) {
                            *value = *value * (T::one() + rate * (x - z) * (x - z));
                        }
                    });
                }
                for value in values {
                    *value = T::one() / *value;
                }
            }
        }
    }
}

/// `values[j] = Σₖ term(xₖ − zⱼₖ)`.
fn add_over_coordinates<T: Exponential>(
    point: &[T],
    others: &KernelPoints<T>,
    columns: Range<usize>,
    values: &mut [T],
    term: impl Fn(T) -> T + Copy,
) {
    values.fill(T::zero());
    let whole = point.chunks_exact(COORDINATES);
    let done = point.len() - whole.remainder().len();
    for (k, x) in whole.enumerate() {
        let [a, b, c, d]: [&[T]; COORDINATES] =
            std::array::from_fn(|at| others.coordinate(k * COORDINATES + at, columns.clone()));
        let [xa, xb, xc, xd] = [x[0], x[1], x[2], x[3]];
        bulk_instructions().dispatch(|| {
            for ((((value, &a), &b), &c), &d) in values.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *value = *value + ((term(xa - a) + term(xb - b)) + (term(xc - c) + term(xd - d)));
            }
        });
    }
    for (k, &x) in point.iter().enumerate().skip(done) {
        let others = others.coordinate(k, columns.clone());
        bulk_instructions().dispatch(|| {
            for (value, &z) in values.iter_mut().zip(others) {
                *value = *value + term(x - z);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: [Kernel; 10] = [
        Kernel::Gaussian { bandwidth: 1.3 },
        Kernel::Laplace { bandwidth: 2.1 },
        Kernel::Matern { bandwidth: 1.1, nu: 0.5 },
        Kernel::Matern { bandwidth: 1.1, nu: 1.5 },
        Kernel::Matern { bandwidth: 1.1, nu: 2.5 },
        Kernel::Matern { bandwidth: 1.1, nu: 1.0 },
        Kernel::Cauchy { bandwidth: 0.8 },
        Kernel::Angular,
        Kernel::Linear,
        Kernel::Spline { order: 4 },
    ];

    fn largest_gap<T: Exponential>(kernel: Kernel, left: &Array2<f64>, right: &Array2<f64>) -> f64 {
        let (rows, columns) = (KernelPoints::<T>::new(kernel, left.view()), KernelPoints::new(kernel, right.view()));
        let mut tile = vec![T::one(); 5 * 40]; // must be overwritten
        rows.fill_tile(2..7, &columns, 3..43, &mut tile);
        let gap = |at: usize| {
            let exact = kernel.evaluate(left.row(2 + at / 40), right.row(3 + at % 40));
            (tile[at].to_f64() - exact).abs()
        };
        (0..tile.len()).map(gap).fold(0.0, f64::max)
    }

    #[test]
    fn tiles_are_the_kernel_value_by_value() {
        for kernel in KERNELS {
            let d = if matches!(kernel, Kernel::Spline { .. }) { 1 } else { 6 };
            let points = |rows: usize, seed: f64| {
                Array2::from_shape_fn((rows, d), |(i, j)| ((i * d + j) as f64 * seed).sin() * 0.5 + 0.5)
            };
            let (left, right) = (points(10, 0.7), points(50, 1.9));
            assert!(largest_gap::<f64>(kernel, &left, &right) < 1e-14, "{kernel:?}");
            assert!(largest_gap::<f32>(kernel, &left, &right) < 1e-6, "{kernel:?}");
        }
    }
}
