//! Tables to train on: made ones, and files.

use flate2::read::GzDecoder;
use ndarray::{Array2, s};
use std::io::{BufRead, BufReader};

/// Rows in no order; the first are trained on, the rest are new.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) inputs: Array2<f64>,
    /// One column for each target.
    pub(crate) targets: Array2<f64>,
}

/// A number in (0, 1) that depends on its arguments alone.
pub(crate) fn uniform(stream: u64, index: u64) -> f64 {
    let mut z = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9_u64), (27, 0x94d0_49bb_1331_11eb), (31, 1)] {
        z = (z ^ (z >> shift)).wrapping_mul(factor);
    }
    ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// A standard normal by Box and Muller.
fn normal(stream: u64, index: u64) -> f64 {
    let (u, v) = (uniform(stream, 2 * index), uniform(stream, 2 * index + 1));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Table {
    fn made(name: &str, dimension: usize, rows: usize, f: impl Fn(&[f64], f64) -> [f64; 2]) -> Self {
        let stream = name.bytes().map(u64::from).sum::<u64>();
        let inputs =
            Array2::from_shape_fn((rows, dimension), |(i, j)| 2.0 * uniform(stream, (i * dimension + j) as u64) - 1.0);
        let mut targets = Array2::zeros((rows, 2));
        for (i, mut row) in targets.rows_mut().into_iter().enumerate() {
            let [first, second] = f(&inputs.row(i).to_vec(), normal(stream + 1, i as u64));
            (row[0], row[1]) = (first, second);
        }
        Self { name: name.to_owned(), inputs, targets }
    }

    /// A file with a header, numbers and the target in the last column, its rows shuffled. A second target is the first
    /// times the first input.
    pub(crate) fn read(path: &str) -> Option<Self> {
        let file = std::fs::File::open(path).ok()?;
        let rows: Vec<Vec<f64>> = BufReader::new(GzDecoder::new(file))
            .lines()
            .skip(1)
            .map(|line| line.ok()?.split(',').map(|cell| cell.trim().parse().ok()).collect())
            .collect::<Option<_>>()?;
        let (width, name) = (rows.first()?.len(), path.rsplit('/').next()?.trim_end_matches(".csv.gz").to_owned());
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|a, b| uniform(9, *a as u64).total_cmp(&uniform(9, *b as u64)));
        let flat: Vec<f64> = order.iter().flat_map(|&row| rows[row].clone()).collect();
        let cells = Array2::from_shape_vec((rows.len(), width), flat).ok()?;
        let inputs = cells.slice(s![.., ..width - 1]).to_owned();
        let mut targets = Array2::zeros((rows.len(), 2));
        for (i, mut row) in targets.rows_mut().into_iter().enumerate() {
            (row[0], row[1]) = (cells[[i, width - 1]], cells[[i, width - 1]] * inputs[[i, 0]]);
        }
        Some(Self { name, inputs, targets })
    }
}

/// Tables with smooth, rough, noisy and heavy-tailed targets in one to eight dimensions.
pub(crate) fn made() -> Vec<Table> {
    const ROWS: usize = 1_400;
    vec![
        Table::made("waves", 2, ROWS, |x, e| {
            let y = (3.0 * x[0]).sin() + x[1] * x[1] + 0.1 * e;
            [y, y * x[0] + 0.2 * e]
        }),
        Table::made("friedman", 5, ROWS, |x, e| {
            let y = 10.0 * (3.0 * x[0] * x[1]).sin() + 20.0 * x[2] * x[2] + 10.0 * x[3] + 5.0 * x[4] + e;
            [y, x[0] - x[1] + 0.1 * e]
        }),
        Table::made("steps", 1, ROWS, |x, e| {
            let y = (4.0 * x[0]).floor() + 0.05 * e;
            [y, x[0].abs() + 0.05 * e]
        }),
        Table::made("noise", 3, ROWS, |x, e| [e, 0.1 * x[0] + e * e]),
        Table::made("tails", 8, ROWS, |x, e| [x.iter().sum::<f64>() + 0.1 * e.powi(5), x[0] * x[1] + 0.1 * e]),
    ]
}
