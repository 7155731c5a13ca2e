//! Exact kernel ridge regression, and ridge regression on random features at several λ, by the code that trains.

use super::ReproduceError;
use crate::features::{FeatureMap, Kernel, Precision};
use crate::solver::{BlockGram, ExactProblem, GramGrid, GramSums, NormalEquations, Reach, Width, solve_ridge};
use crate::training::TrainError;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// Rows of a block.
const BLOCK: usize = 1_024;

/// Relative residual of exact solves.
const TOLERANCE: f64 = 1e-8;

/// Bytes that an exact solve may take for a factor.
const MEMORY: u64 = 2 << 30;

/// An exact problem with the accuracy that all experiments use.
pub(super) fn exact<'a>(
    kernel: Kernel,
    inputs: ArrayView2<'a, f64>,
    targets: ArrayView1<'a, f64>,
    ridge: f64,
    threads: usize,
) -> ExactProblem<'a> {
    ExactProblem {
        kernel,
        inputs,
        targets: targets.insert_axis(Axis(1)),
        ridge,
        tolerance: TOLERANCE,
        features: None,
        precision: Precision::Double,
        preconditioner: None,
        memory: MEMORY,
        threads,
        progress: None,
    }
}

/// (G + λI)w = Ψᵀy/n of these rows, whose targets are taken as they are. One thread.
pub(super) fn equations(
    map: &FeatureMap,
    inputs: ArrayView2<f64>,
    targets: ArrayView1<f64>,
) -> Result<NormalEquations, ReproduceError> {
    let projector = map.projector::<f64>();
    let blocks = || inputs.axis_chunks_iter(Axis(0), BLOCK).zip(targets.axis_chunks_iter(Axis(0), BLOCK));
    let mut reach = Reach { feature: 0.0, weight: 0.0, targets: vec![0.0] };
    for (inputs, targets) in blocks() {
        reach.include(&Reach::of(projector.transform(inputs).view(), targets.insert_axis(Axis(1)), None));
    }
    let width = if map.column_bound().is_some() { Width::Narrow } else { Width::Wide };
    let mut sums = GramSums::new(map.feature_count(), GramGrid::new(&reach, width));
    for (inputs, targets) in blocks() {
        let block = BlockGram::of(projector.transform(inputs), targets.insert_axis(Axis(1)), None);
        sums.add(&[block], 1).map_err(TrainError::from)?;
    }
    Ok(sums.finish().into_normal_equations())
}

/// What random features predict at `test` for each λ. One thread.
pub(super) fn predictions(
    map: &FeatureMap,
    (inputs, targets): (ArrayView2<f64>, ArrayView1<f64>),
    test: ArrayView2<f64>,
    ridges: &[f64],
) -> Result<Vec<Array1<f64>>, ReproduceError> {
    let equations = equations(map, inputs, targets)?;
    let mut weights = Array2::zeros((map.feature_count(), ridges.len()));
    for (ridge, mut column) in ridges.iter().zip(weights.columns_mut()) {
        column.assign(&solve_ridge(&equations, *ridge, 1)?.weights.column(0));
    }
    let projector = map.projector::<f64>();
    let mut found = Array2::zeros((test.nrows(), ridges.len()));
    for (rows, mut values) in test.axis_chunks_iter(Axis(0), BLOCK).zip(found.axis_chunks_iter_mut(Axis(0), BLOCK)) {
        values.assign(&projector.transform(rows).dot(&weights));
    }
    Ok(found.columns().into_iter().map(|column| column.to_owned()).collect())
}

/// The mean of squared differences.
pub(super) fn mean_square(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / left.len() as f64
}
