//! Conjugate gradients for several columns at once, preconditioned. Residuals are carried along: the caller
//! works out the true one at the end and corrects for what rounding left.

use super::SolveError;
use super::low_rank::LowRank;
use ndarray::{Array1, Array2, Axis, Zip};

/// How the columns came out.
pub(super) struct Iterated {
    /// X, n×k.
    pub(super) solution: Array2<f64>,
    pub(super) iterations: usize,
    /// The largest ‖B − AX‖/‖B‖ of a column, as far as it is carried along.
    pub(super) ratio: f64,
}

/// When to stop.
pub(super) struct Goal {
    /// ‖B − AX‖ of each column over ‖B‖ of that column.
    pub(super) tolerance: f64,
    pub(super) iteration_limit: usize,
}

/// Solves A·X = B from zero, A given by its products. A column that has converged is left alone. `left` is told
/// after every iteration the largest ‖B − AX‖/‖B‖ of a column, as far as it is carried along.
pub(super) fn conjugate_gradients(
    multiply: impl Fn(&Array2<f64>) -> Result<Array2<f64>, SolveError>,
    preconditioner: Option<&LowRank>,
    b: &Array2<f64>,
    goal: &Goal,
    left: &dyn Fn(f64),
) -> Result<Iterated, SolveError> {
    let precondition = |residual: &Array2<f64>| match preconditioner {
        Some(preconditioner) => preconditioner.divide(residual),
        None => Ok(residual.clone()),
    };
    let sizes = norms(b);
    let wanted = &sizes * goal.tolerance;
    let mut x = Array2::zeros(b.dim());
    let mut residual = b.clone();
    let mut z = precondition(&residual)?;
    let mut direction = z.clone();
    let mut energy = products(&residual, &z);
    for iteration in 0..goal.iteration_limit {
        let moving = norms(&residual).iter().zip(&wanted).map(|(norm, wanted)| norm > wanted).collect::<Vec<_>>();
        if !moving.contains(&true) {
            let ratio = largest_ratio(&norms(&residual), &sizes);
            return Ok(Iterated { solution: x, iterations: iteration, ratio });
        }
        let image = multiply(&direction)?;
        let curvature = products(&direction, &image);
        let step = Array1::from_shape_fn(curvature.len(), |column| {
            if moving[column] && curvature[column] > 0.0 { energy[column] / curvature[column] } else { 0.0 }
        });
        x += &(&direction * &step);
        residual -= &(&image * &step);
        left(largest_ratio(&norms(&residual), &sizes));
        z = precondition(&residual)?;
        let before = std::mem::replace(&mut energy, products(&residual, &z));
        let momentum =
            Zip::from(&energy).and(&before).map_collect(|now, before| if *before > 0.0 { now / before } else { 0.0 });
        direction = &z + &(&direction * &momentum);
    }
    let ratio = largest_ratio(&norms(&residual), &sizes);
    Ok(Iterated { solution: x, iterations: goal.iteration_limit, ratio })
}

/// The largest left/size, 0 where the size is.
pub(super) fn largest_ratio(left: &Array1<f64>, sizes: &Array1<f64>) -> f64 {
    let ratios = left.iter().zip(sizes).map(|(left, size)| if *size > 0.0 { left / size } else { 0.0 });
    ratios.fold(0.0, f64::max)
}

/// ‖column‖ of each column.
pub(super) fn norms(columns: &Array2<f64>) -> Array1<f64> {
    products(columns, columns).mapv(f64::sqrt)
}

fn products(left: &Array2<f64>, right: &Array2<f64>) -> Array1<f64> {
    (left * right).sum_axis(Axis(0))
}
