//! The enum of all samplings.

use super::{orthogonal, plain, quasi_monte_carlo, structured};
use crate::features::{Frequencies, Kernel, KernelShape, MapKind};
use serde::{Deserialize, Serialize};

/// How frequencies are drawn. In every sampling draw j depends only on the seed and on j, so that a larger draw has the
/// smaller one as its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Independently from the kernel's spectral density.
    Plain,
    /// In orthogonal directions, with independent norms.
    Orthogonal,
    /// In orthogonal directions made of Hadamard matrices: O(s log d) per row, no dense matrix.
    Structured,
    /// At scrambled Sobol points through the quantile function.
    QuasiMonteCarlo,
}

impl Sampling {
    /// Why this sampling cannot serve a kernel, if it cannot.
    pub fn refusal(self, kernel: KernelShape) -> Option<String> {
        let isotropic = matches!(kernel, KernelShape::Gaussian | KernelShape::Matern { .. });
        match self {
            Self::Orthogonal | Self::Structured if !isotropic => Some(format!(
                "orthogonal directions need an isotropic spectral density, as gaussian and matern have; {} does not have \
                 one: use plain or quasi_monte_carlo",
                kernel.name()
            )),
            Self::Plain | Self::Orthogonal | Self::Structured | Self::QuasiMonteCarlo => None,
        }
    }

    /// Whether the draws are independent of each other, which the theorems assume.
    pub fn draws_are_independent(self) -> bool {
        self == Self::Plain
    }

    /// Whether ψ(x)ᵀψ(x') is exactly unbiased for the kernel.
    pub fn is_unbiased(self) -> bool {
        self != Self::Structured
    }

    /// Draws `count` frequencies in `input_dim` dimensions, with the phases of a phase map.
    pub(crate) fn sample(
        self,
        kernel: Kernel,
        kind: MapKind,
        seed: u64,
        count: usize,
        input_dim: usize,
    ) -> (Frequencies, Vec<f64>) {
        let phased = kind == MapKind::Phase;
        match self {
            Self::Plain => (plain::sample(kernel, seed, count, input_dim), plain::phases(phased, seed, count)),
            Self::Orthogonal => {
                (orthogonal::sample(kernel, seed, count, input_dim), plain::phases(phased, seed, count))
            }
            Self::Structured => {
                (structured::sample(kernel, seed, count, input_dim), plain::phases(phased, seed, count))
            }
            Self::QuasiMonteCarlo => quasi_monte_carlo::sample(kernel, phased, seed, count, input_dim),
        }
    }
}
