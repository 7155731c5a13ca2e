//! Public tables for benches: a header, numbers, and the target in the last column.

use flate2::read::GzDecoder;
use ndarray::Array2;
use std::io::{BufRead, BufReader};

/// Standardised inputs (n×d) and the cells of the last column.
pub(crate) fn read(path: &str) -> (Array2<f64>, Vec<String>) {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut cells = Vec::new();
    let mut targets = Vec::new();
    for line in BufReader::new(GzDecoder::new(file)).lines().skip(1) {
        let line = line.expect("a readable file");
        let (inputs, target) = line.rsplit_once(',').expect("several columns");
        cells.extend(inputs.split(',').map(|cell| cell.parse::<f64>().expect("numbers")));
        targets.push(target.to_owned());
    }
    let width = cells.len() / targets.len().max(1);
    let mut inputs = Array2::from_shape_vec((targets.len(), width), cells).expect("a rectangular table");
    for mut column in inputs.columns_mut() {
        let (mean, deviation) = (column.mean().unwrap_or(0.0), column.std(0.0));
        column.mapv_inplace(|value| if deviation > 0.0 { (value - mean) / deviation } else { 0.0 });
    }
    (inputs, targets)
}
