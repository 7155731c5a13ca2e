//! Sums on a grid of integers against sums without any rounding: nothing is lost by the grid, at any λ.

use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::{BLOCKS_TOGETHER, Cholesky, Real};
use bochner::random::{Purpose, Stream};
use bochner::solver::{BlockGram, GramGrid, GramSums, NormalEquations, Reach, Width, solve_ridge};
use bochner::sums::ExactSum;
use ndarray::{Array1, Array2, ArrayView1, Axis, s};

const BLOCK: usize = 512;

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// Inputs, targets and the features of a smooth problem, whose Gram matrix has tiny eigenvalues.
fn problem(rows: usize, features: usize) -> (FeatureMap, Array2<f64>, Array1<f64>) {
    let mut stream = Stream::new(11, Purpose::Searches, 0);
    let inputs = Array2::from_shape_fn((rows, 2), |_| 2.0 * stream.uniform() - 1.0);
    let targets = inputs.rows().into_iter().map(|x| (2.0 * x[0]).sin() + x[1] * x[1] + 0.1 * stream.normal()).collect();
    let kernel = Kernel::Gaussian { bandwidth: 1.5 };
    (FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 5, features, 2), inputs, targets)
}

/// Σ c aᵢbᵢ, rounded once.
fn exact_dot(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    let mut sum = ExactSum::ZERO;
    a.iter().zip(b).for_each(|(a, b)| sum.add_product(1, *a, *b));
    sum.to_f64()
}

fn exact_products(psi: &Array2<f64>) -> Array2<f64> {
    let columns: Vec<Array1<f64>> = psi.columns().into_iter().map(|column| column.to_owned()).collect();
    Array2::from_shape_fn((psi.ncols(), psi.ncols()), |(i, j)| {
        exact_dot(columns[i.max(j)].view(), columns[i.min(j)].view())
    })
}

/// The sums of all rows in blocks, four blocks together, as training makes them.
fn sums<T: Real>(psi: &Array2<T>, targets: &Array1<f64>, weights: Option<&[f64]>, width: Width) -> Vec<GramSums> {
    let column = targets.view().insert_axis(Axis(1));
    let grid = GramGrid::new(&Reach::of(psi.view(), column, weights), width);
    let block = |first: usize| {
        let rows = first..psi.nrows().min(first + BLOCK);
        let weights = weights.map(|weights| &weights[rows.clone()]);
        BlockGram::of(psi.slice(s![rows.clone(), ..]).to_owned(), column.slice(s![rows, ..]), weights)
    };
    let blocks: Vec<_> = (0..psi.nrows()).step_by(BLOCK).map(block).collect();
    let of_unit = |blocks: &[BlockGram<T>]| {
        let mut sums = GramSums::new(psi.ncols(), grid.clone());
        sums.add(blocks, 2).unwrap();
        sums
    };
    blocks.chunks(BLOCKS_TOGETHER).map(of_unit).collect()
}

fn total(units: &[GramSums]) -> NormalEquations {
    let mut total = units[0].clone();
    units[1..].iter().for_each(|unit| total.merge(unit).unwrap());
    total.finish().into_normal_equations()
}

#[test]
fn the_grid_adds_no_error_to_that_of_the_features() {
    let (map, inputs, targets) = problem(9_000, 40);
    let psi = map.projector::<f64>().transform(inputs.view());
    let n = psi.nrows() as f64;
    let (exact, dense) = (exact_products(&psi) / n, psi.t().dot(&psi) / n);
    let found = total(&sums(&psi, &targets, None, Width::Narrow));
    let (ours, theirs) = (largest(&found.gram - &exact), largest(&dense - &exact));
    assert!(ours <= theirs && ours < 3e-17, "{ours:e} {theirs:e}");
    for (j, column) in psi.columns().into_iter().enumerate() {
        let expected = exact_dot(column, targets.view()) / n;
        assert!((found.right_side[[j, 0]] - expected).abs() < 1e-16, "{j}");
        assert!((found.mean_feature[j] - exact_dot(column, Array1::ones(9_000).view()) / n).abs() < 1e-16);
    }
    assert!((found.target_mean_square[0] * n / exact_dot(targets.view(), targets.view()) - 1.0).abs() < 1e-15);
    assert_eq!((found.weight, found.sample_count), (n, 9_000));
}

/// At λ = 1e-12 a change of G by one part in 10^16 is seen in the weights. Predictions from the grid are as near those
/// from the exact sums as predictions from a product in f64 are.
#[test]
fn no_lambda_is_too_small_for_the_grid() {
    let (map, inputs, targets) = problem(9_000, 40);
    let psi = map.projector::<f64>().transform(inputs.view());
    let n = psi.nrows() as f64;
    let found = total(&sums(&psi, &targets, None, Width::Narrow));
    let right_side = Array2::from_shape_fn((psi.ncols(), 1), |(j, _)| exact_dot(psi.column(j), targets.view()) / n);
    let solved = |gram: &Array2<f64>, lambda: f64| {
        let mut system = gram.clone();
        system.diag_mut().mapv_inplace(|value| value + lambda);
        psi.dot(&Cholesky::factor(system, 1).unwrap().solve_columns(right_side.clone()))
    };
    let (exact, dense) = (exact_products(&psi) / n, psi.t().dot(&psi) / n);
    for lambda in [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
        let expected = solved(&exact, lambda);
        let ours = psi.dot(&solve_ridge(&found, lambda, 2).unwrap().weights);
        let (ours, theirs) = (largest(ours - &expected), largest(solved(&dense, lambda) - &expected));
        println!("lambda {lambda:e}: grid {ours:.1e}, product in f64 {theirs:.1e}");
        assert!(ours <= 4.0 * theirs + 1e-13, "{lambda:e}: {ours:e} {theirs:e}");
    }
}

/// In mixed precision the sums of four blocks are f32 sums. Adding them on the grid or in f64 gives the same weights, up to the
/// rounding of f64 that λ amplifies.
#[test]
fn weights_are_those_of_sums_in_f64() {
    let (map, inputs, targets) = problem(20_000, 60);
    let psi = map.projector::<f32>().transform(inputs.view());
    let units = sums(&psi, &targets, None, Width::Narrow);
    let found = total(&units);
    let mut in_f64 = found.gram.clone() * 0.0;
    for unit in &units {
        let unit = unit.clone().finish().into_normal_equations();
        in_f64 += &(unit.gram * unit.weight);
    }
    in_f64 /= found.weight;
    assert!(largest(&found.gram - &in_f64) < 1e-16);
    for lambda in [1e-2, 1e-4, 1e-6, 1e-8] {
        let ours = solve_ridge(&found, lambda, 1).unwrap().weights;
        let mut system = in_f64.clone();
        system.diag_mut().mapv_inplace(|value| value + lambda);
        let theirs = Cholesky::factor(system, 1).unwrap().solve_columns(found.right_side.clone());
        let change = largest(&ours - &theirs) / largest(theirs);
        assert!(change < 1e-16 / lambda * 10.0, "{lambda:e}: {change:e}");
    }
}

/// A few rows that count a million times as much as the others, and a few that are a million times as large: the grid is
/// made for the sum of the weights, and 128 bits hold what the large rows leave.
#[test]
fn heavy_rows_leave_the_precision_of_the_others() {
    let (map, inputs, targets) = problem(3_000, 20);
    let psi = map.projector::<f64>().transform(inputs.view());
    let weights: Vec<f64> = (0..3_000).map(|i| if i % 997 == 5 { 1e6 } else { 1.0 + f64::from(i % 7) }).collect();
    let weighted = &psi * &Array1::from_iter(weights.iter().map(|weight| weight.sqrt())).insert_axis(Axis(1));
    let found = total(&sums(&psi, &targets, Some(&weights), Width::Narrow));
    let expected = exact_products(&weighted) / weights.iter().sum::<f64>();
    assert!(largest(&found.gram - &expected) < 1e-16);

    let mut large = psi.clone();
    large.rows_mut().into_iter().step_by(997).for_each(|mut row| row *= 1e6);
    let found = total(&sums(&large, &targets, None, Width::Wide));
    let expected = exact_products(&large) / 3_000.0;
    // A block is summed in f64: where its large rows cancel, their rounding is left.
    let rounding = 1e-16 * largest(expected.clone());
    for (found, expected) in found.gram.iter().zip(&expected) {
        assert!((found - expected).abs() <= rounding + 1e-14 * expected.abs(), "{found:e} {expected:e}");
    }
}

/// Sums that were made for other bounds, or of another size, are not added.
#[test]
fn sums_of_another_grid_are_refused() {
    let (map, inputs, targets) = problem(600, 10);
    let psi = map.projector::<f64>().transform(inputs.view());
    let of =
        |psi: Array2<f64>, targets: &Array1<f64>| GramSums::of(psi, targets.view().insert_axis(Axis(1)), None).unwrap();
    let own = of(psi.clone(), &targets);
    assert!(own.clone().merge(&of(&psi * 3.0, &targets)).is_err());
    assert!(own.clone().merge(&of(psi.clone(), &(&targets * 5.0))).is_err());
    assert!(own.clone().merge(&of(psi.slice(s![.., ..8]).to_owned(), &targets)).is_err());
    let mut far = own.clone();
    assert!((0..100).any(|_| far.merge(&own).is_err()), "a hundred times the rows that the grid was made for");
}
