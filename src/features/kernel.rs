//! The closed set of kernels and the rules that choose their bandwidth.

use super::gaussian;
use crate::random::{Purpose, Stream};
use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

/// A kernel by name, before its bandwidth is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelName {
    /// exp(−‖x−x'‖²/(2σ²)).
    Gaussian,
}

/// How the bandwidth is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bandwidth {
    /// The root mean squared distance between training rows.
    MeanDistance,
    /// Given by the user.
    Fixed(f64),
}

/// A kernel with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// exp(−‖x−x'‖²/(2σ²)).
    Gaussian {
        /// σ.
        bandwidth: f64,
    },
}

impl Kernel {
    /// The kernel whose bandwidth follows `rule` on inputs with these per-column variances.
    pub fn resolve(name: KernelName, rule: Bandwidth, variances: &[f64]) -> Self {
        match name {
            KernelName::Gaussian => Self::Gaussian {
                bandwidth: match rule {
                    Bandwidth::MeanDistance => gaussian::mean_distance(variances),
                    Bandwidth::Fixed(value) => value,
                },
            },
        }
    }

    /// The exact kernel value k(x,x').
    pub fn evaluate(self, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
        match self {
            Self::Gaussian { bandwidth } => gaussian::evaluate(bandwidth, left, right),
        }
    }

    /// Draws `count` frequencies in `input_dim` dimensions (count×d). Row j depends on the seed
    /// and on j alone, so a larger count keeps the smaller one as its prefix.
    pub fn sample(self, seed: u64, count: usize, input_dim: usize) -> Array2<f64> {
        let mut frequencies = Array2::zeros((count, input_dim)); // m×d
        for (j, mut row) in frequencies.rows_mut().into_iter().enumerate() {
            let mut stream = Stream::new(seed, Purpose::Frequencies, j as u64);
            let frequency = row.as_slice_mut().expect("a fresh array is row-major");
            match self {
                Self::Gaussian { bandwidth } => gaussian::sample(bandwidth, &mut stream, frequency),
            }
        }
        frequencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::s;

    #[test]
    fn a_larger_draw_keeps_the_smaller_one_as_its_prefix() {
        let kernel = Kernel::Gaussian { bandwidth: 2.0 };
        let small = kernel.sample(3, 5, 4);
        let large = kernel.sample(3, 50, 4);
        assert_eq!(small, large.slice(s![..5, ..]));
        assert_ne!(small, kernel.sample(4, 5, 4));
    }
}
