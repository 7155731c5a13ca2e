//! √ of the mean over pairs of rows of the variance of a kernel estimate, in closed form: with k₁ = k(x, x'), k₂ = k at
//! twice the distance and v = ½(1 + k₂) − k₁², that of one draw is v for pairs of cosine and sine, v + ½ with a random
//! phase and 1 − k₁² for signs. [S, Theorem 1, Er(k)]

use super::{Kernel, MapKind};
use ndarray::{Array2, ArrayView2};

/// Over all pairs of different rows, for so many draws; none for maps without a closed form, and for fewer than two rows.
pub fn kernel_deviation(kernel: Kernel, kind: MapKind, draw_count: usize, inputs: ArrayView2<f64>) -> Option<f64> {
    let doubled: Array2<f64> = inputs.mapv(|value| 2.0 * value);
    let variance = |i: usize, j: usize| -> Option<f64> {
        let near = kernel.evaluate(inputs.row(i), inputs.row(j));
        let of_wave = || 0.5 * (1.0 + kernel.evaluate(doubled.row(i), doubled.row(j))) - near * near;
        match kind {
            MapKind::Pair => Some(of_wave()),
            MapKind::Phase => Some(of_wave() + 0.5),
            MapKind::Sign => Some(1.0 - near * near),
            MapKind::Spline | MapKind::Linear | MapKind::Points => None,
        }
    };
    let rows = inputs.nrows();
    let mut sum = 0.0;
    for (i, j) in (0..rows).flat_map(|i| (0..i).map(move |j| (i, j))) {
        sum += variance(i, j)?.max(0.0);
    }
    let pairs = rows * rows.saturating_sub(1) / 2;
    (pairs > 0).then(|| (sum / pairs as f64 / draw_count as f64).sqrt())
}
