//! The bandwidth that a rule gives on the scaled training rows.

use crate::dataset::Part;
use crate::features::KernelShape;
use crate::features::distance;
use crate::model::InputPipeline;
use crate::solver::checkpoint;
use crate::training::rows::run::Run;
use crate::training::spec::memory::SORTED_CELLS;
use crate::training::stage::TrainError;
use ndarray::{Array2, ArrayView1};

/// Rows whose pairs the median rule looks at: two million distances.
const MEDIAN_ROWS: usize = 2_000;

/// The mean distance between training rows, unlabelled ones among them, exact. [W, §6.1] For the laplace kernel in the 1-norm,
/// (1/n²)ΣΣ‖xᵢ−xⱼ‖₁, by sorting each column; for the others the root mean square of the 2-norm,
/// √(2Σⱼ Varⱼ), which needs the variances alone.
pub(crate) fn mean_distance(
    run: &Run,
    shape: KernelShape,
    inputs: &InputPipeline,
    variances: &[f64],
) -> Result<f64, TrainError> {
    if shape != KernelShape::Laplace {
        return Ok((2.0 * variances.iter().sum::<f64>()).sqrt());
    }
    let n = run.rows.count(Part::Training) + run.rows.count(Part::Unlabelled);
    let d = inputs.input_dim();
    let group = (SORTED_CELLS / n.max(1)).clamp(1, d);
    let mut sum = 0.0;
    for first in (0..d).step_by(group) {
        let mut columns = vec![Vec::with_capacity(n); group.min(d - first)];
        run.for_each_input(inputs, |input| {
            for (column, value) in columns.iter_mut().zip(input.iter().skip(first)) {
                column.push(*value);
            }
        })?;
        let differences = columns.into_iter().inspect(|_| checkpoint()).map(mean_absolute_difference);
        sum += differences.sum::<f64>();
    }
    Ok(sum)
}

/// (1/n²)ΣΣ|xᵢ−xⱼ| = (2/n²) Σᵢ (2i − n + 1)·x₍ᵢ₎ over the sorted values, i from 0.
pub(crate) fn mean_absolute_difference(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let weighted: f64 = values.iter().enumerate().map(|(i, x)| (2.0 * i as f64 - n + 1.0) * x).sum();
    2.0 * weighted / (n * n)
}

/// The median distance over pairs of rows, all of them in small tables, of a sample in large ones.
pub(crate) fn median_distance(run: &Run, shape: KernelShape, inputs: &InputPipeline) -> Result<f64, TrainError> {
    let (rows, _) = run.collect(&run.sample(MEDIAN_ROWS), inputs, Part::Training)?;
    let step = rows.nrows().div_ceil(MEDIAN_ROWS).max(1);
    let rows = rows.slice(ndarray::s![..;step, ..]).to_owned();
    Ok(median_of_pairs(shape, &rows))
}

/// The median over pairs i < j; the mean of the middle two of an even number.
pub(crate) fn median_of_pairs(shape: KernelShape, rows: &Array2<f64>) -> f64 {
    let between = |left: ArrayView1<f64>, right: ArrayView1<f64>| match shape {
        KernelShape::Laplace => distance::absolute(left, right),
        _ => distance::squared(left, right).sqrt(),
    };
    let mut distances: Vec<f64> = (0..rows.nrows())
        .inspect(|_| checkpoint())
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| between(rows.row(i), rows.row(j)))
        .collect();
    let middle = distances.len() / 2;
    if distances.is_empty() {
        return 0.0;
    }
    let even = distances.len().is_multiple_of(2);
    let (below, &mut upper, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    if even { f64::midpoint(below.iter().copied().fold(f64::NEG_INFINITY, f64::max), upper) } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The golden bandwidths: exact means and medians over all pairs.
    #[test]
    fn rules_give_the_golden_bandwidths() {
        for text in [
            include_str!("../../../tests/fixtures/golden/data_diabetes.json"),
            include_str!("../../../tests/fixtures/golden/data_syn1d.json"),
            include_str!("../../../tests/fixtures/golden/data_syn3d.json"),
        ] {
            let file: serde_json::Value = serde_json::from_str(text).unwrap();
            let rows: Vec<Vec<f64>> = serde_json::from_value(file["X"].clone()).unwrap();
            let flat: Vec<f64> = rows.iter().flatten().copied().collect();
            let inputs = Array2::from_shape_vec((rows.len(), rows[0].len()), flat).unwrap();
            let laplace: f64 = inputs.columns().into_iter().map(|c| mean_absolute_difference(c.to_vec())).sum();
            let gaussian = (2.0 * inputs.var_axis(ndarray::Axis(0), 0.0).sum()).sqrt();
            for (found, name) in [
                (laplace, "laplace"),
                (gaussian, "gaussian"),
                (median_of_pairs(KernelShape::Gaussian, &inputs), "median_l2"),
                (median_of_pairs(KernelShape::Laplace, &inputs), "median_l1"),
            ] {
                let expected = file["bandwidths"][name].as_f64().unwrap();
                assert!((found / expected - 1.0).abs() < 1e-6, "{name}: {found} is not {expected}");
            }
        }
    }
}
