//! Draws from a density that is flatter than that of the gaussian kernel, for inputs of few dimensions. [A, §6]
//!
//! In A's units, η = v·σ for angular frequencies v, the spectral density p of a coordinate is standard normal, R is the
//! half-width of the inputs divided by 2πσ, and n_λ is 1/λ. Each coordinate has its own density q and the draws the
//! factor √(p/q), so that the kernel estimate stays unbiased.

use crate::features::{DrawScales, Kernel};
use crate::random::{Purpose, Stream, normal_quantile};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The two forms of the density.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CappedConstants {
    /// As Definition 9 prints it: uniform up to 10√log n_λ, which pays only at an astronomically large n_λ.
    Paper,
    /// q ∝ p/(p + 2R/n_λ), the shape of Theorem 14.
    Practical,
}

/// Beyond this |η| the practical density has less than 1e-20 of its mass.
const EDGE: f64 = 14.0;
/// Cells of the table of its distribution function.
const CELLS: usize = 4_096;
/// Nodes and weights of Gauss–Legendre quadrature on [−1, 1], degree 9.
const NODES: [(f64, f64); 5] = [
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
];

/// p, the standard normal density.
fn normal_density(eta: f64) -> f64 {
    libm::exp(-0.5 * eta * eta) / (2.0 * PI).sqrt()
}

/// The density of one coordinate.
#[derive(Debug, Clone)]
pub enum CappedDensity {
    /// p itself, for a coordinate without extent.
    Plain,
    /// Uniform up to the edge, p beyond it.
    Paper {
        /// 10√log n_λ.
        edge: f64,
        /// Probability of the uniform part.
        inside: f64,
        /// ∫ of the unnormalised density.
        total: f64,
        /// n_λ.
        n_lambda: f64,
    },
    /// p/(p + c), normalised.
    Practical {
        /// 2R/n_λ.
        c: f64,
        /// ∫ p/(p + c).
        normaliser: f64,
        /// The integral up to the start of each cell.
        table: Vec<f64>,
    },
}

impl CappedDensity {
    /// The density for half-width `radius`, in A's units, and n_λ; none for the paper's constants where n_λ ≤ 1.
    pub fn new(constants: CappedConstants, radius: f64, n_lambda: f64) -> Option<Self> {
        match constants {
            CappedConstants::Paper => (n_lambda > 1.0).then(|| {
                let log = n_lambda.ln();
                let height = 25.0 * radius.max(3_000.0 * log.powf(1.5));
                let edge = 10.0 * log.sqrt();
                let tail = n_lambda * libm::erfc(edge / std::f64::consts::SQRT_2);
                let total = 2.0 * edge * height + tail;
                Self::Paper { edge, inside: 2.0 * edge * height / total, total, n_lambda }
            }),
            CappedConstants::Practical if radius > 0.0 => {
                let c = 2.0 * radius / n_lambda;
                let mut table = vec![0.0];
                let mut sum = 0.0;
                for cell in 0..CELLS {
                    let start = cell_start(cell);
                    sum += integral(c, start, cell_start(cell + 1));
                    table.push(sum);
                }
                Some(Self::Practical { c, normaliser: sum, table })
            }
            CappedConstants::Practical => Some(Self::Plain),
        }
    }

    /// q(η).
    pub fn density(&self, eta: f64) -> f64 {
        match self {
            Self::Plain => normal_density(eta),
            Self::Paper { edge, inside, .. } if eta.abs() <= *edge => inside / (2.0 * edge),
            Self::Paper { total, n_lambda, .. } => normal_density(eta) * n_lambda / total,
            Self::Practical { c, normaliser, .. } => {
                let p = normal_density(eta);
                p / (p + c) / normaliser
            }
        }
    }

    /// ∫ q up to η.
    pub fn distribution(&self, eta: f64) -> f64 {
        match self {
            Self::Plain => 0.5 * libm::erfc(-eta / std::f64::consts::SQRT_2),
            Self::Paper { edge, inside, total, n_lambda } => {
                let tail = |from: f64| 0.5 * n_lambda * libm::erfc(from / std::f64::consts::SQRT_2) / total;
                if eta < -edge {
                    tail(-eta)
                } else if eta <= *edge {
                    tail(*edge) + inside * (eta + edge) / (2.0 * edge)
                } else {
                    1.0 - tail(eta)
                }
            }
            Self::Practical { c, normaliser, table } => {
                let eta = eta.clamp(-EDGE, EDGE);
                let cell = (((eta + EDGE) / (2.0 * EDGE) * CELLS as f64) as usize).min(CELLS - 1);
                (table[cell] + integral(*c, cell_start(cell), eta)) / normaliser
            }
        }
    }

    /// p/q at η, the square of the factor of a draw.
    pub fn weight_square(&self, eta: f64) -> f64 {
        match self {
            Self::Plain => 1.0,
            Self::Paper { edge, inside, .. } if eta.abs() <= *edge => normal_density(eta) * 2.0 * edge / inside,
            Self::Paper { total, n_lambda, .. } => total / n_lambda,
            Self::Practical { c, normaliser, .. } => normaliser * (normal_density(eta) + c),
        }
    }

    /// sup p/q.
    pub fn largest_weight_square(&self) -> f64 {
        match self {
            Self::Paper { edge, .. } => self.weight_square(0.0).max(self.weight_square(2.0 * edge)),
            Self::Plain | Self::Practical { .. } => self.weight_square(0.0),
        }
    }

    /// η with ∫ q up to it equal to `uniform`.
    fn quantile(&self, uniform: f64) -> f64 {
        match self {
            Self::Plain => normal_quantile(uniform),
            Self::Paper { edge, inside, .. } => {
                let tail = 0.5 * (1.0 - inside);
                if (uniform - 0.5).abs() <= 0.5 * inside {
                    (uniform - 0.5) / inside * 2.0 * edge
                } else {
                    // The tails hold less than 1e-60 of the mass: no uniform number of 53 bits comes here but by rounding.
                    edge.copysign(uniform - tail - 0.5)
                }
            }
            Self::Practical { c, normaliser, table } => {
                let target = uniform * normaliser;
                let cell = table.partition_point(|sum| *sum <= target).clamp(1, CELLS) - 1;
                let (mut low, mut high) = (cell_start(cell), cell_start(cell + 1));
                // 40 halvings of a cell are below the spacing of f64 there.
                for _ in 0..40 {
                    let middle = f64::midpoint(low, high);
                    if table[cell] + integral(*c, cell_start(cell), middle) < target {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                f64::midpoint(low, high)
            }
        }
    }
}

fn cell_start(cell: usize) -> f64 {
    (2.0 * cell as f64 / CELLS as f64 - 1.0) * EDGE
}

/// ∫ p/(p + c) between two points of a cell.
fn integral(c: f64, from: f64, to: f64) -> f64 {
    let (centre, half) = (f64::midpoint(from, to), 0.5 * (to - from));
    let value = |(node, weight): &(f64, f64)| {
        let p = normal_density(centre + half * node);
        weight * p / (p + c)
    };
    half * NODES.iter().map(value).sum::<f64>()
}

/// Frequencies with their factors.
pub struct CappedDraws {
    /// V, m×d.
    pub frequencies: Array2<f64>,
    /// √(p/q) of each.
    pub scales: DrawScales,
}

impl CappedDraws {
    /// Draws `count` frequencies of the gaussian kernel, row j from random stream j; one density per input.
    pub fn sample(kernel: Kernel, densities: &[CappedDensity], seed: u64, count: usize) -> Self {
        let bandwidth = kernel.bandwidth().unwrap_or(1.0);
        let mut frequencies = Array2::zeros((count, densities.len()));
        let mut factors = Vec::with_capacity(count);
        for (j, mut row) in frequencies.rows_mut().into_iter().enumerate() {
            let mut stream = Stream::new(seed, Purpose::Frequencies, j as u64);
            let mut square = 1.0;
            for (coordinate, density) in row.iter_mut().zip(densities) {
                let eta = density.quantile(stream.uniform());
                square *= density.weight_square(eta);
                *coordinate = eta / bandwidth;
            }
            factors.push(square.sqrt());
        }
        let largest: f64 = densities.iter().map(CappedDensity::largest_weight_square).product();
        Self { frequencies, scales: DrawScales { factors, largest: largest.sqrt() } }
    }
}
