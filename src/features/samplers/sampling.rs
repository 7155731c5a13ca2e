//! The enum of all samplings.

use super::{orthogonal, plain, quasi_monte_carlo, structured};
use crate::features::{Frequencies, Kernel, KernelShape, MapKind};
use serde::Serialize;

/// How frequencies are drawn. In every sampling draw j depends only on the seed and on j, so that a larger draw has the
/// smaller one as its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    /// From a pool of plain draws, with replacement by their ridge leverage at the λ of the model, and reweighted, which
    /// keeps the kernel. [R, Remark 4; L, Corollary 2; A, Lemma 6]
    Leverage,
    /// The same at λ = 1/n. [S, Algorithm 1]
    Elss1,
    /// The draws of a pool with the largest leverage, which changes the kernel. [S, Algorithm 2]
    Elss2,
    /// The draws of a pool that correlate most with the targets. [S, the baseline EERF]
    Eerf,
    /// The draws of a pool with the largest weights of a kernel aligned with the targets, and those weights.
    /// [S, the baseline LKRF]
    Lkrf,
    /// The draws of a pool that ridge regression on it needs most.
    PooledRidge,
    /// Independently from a wider density than that of the kernel, and reweighted, which keeps the kernel. [A, §6]
    Capped,
}

/// The data that decide which features a sampling keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// None.
    Nothing,
    /// Inputs: a pool of candidates is scored on rows, with or without a target.
    Inputs,
    /// Inputs and targets: a pool of candidates is scored on rows with a target.
    Targets,
    /// The range of the inputs.
    Range,
}

impl Sampling {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 11] = [
        ("plain", Self::Plain),
        ("orthogonal", Self::Orthogonal),
        ("structured", Self::Structured),
        ("quasi_monte_carlo", Self::QuasiMonteCarlo),
        ("leverage", Self::Leverage),
        ("elss1", Self::Elss1),
        ("elss2", Self::Elss2),
        ("eerf", Self::Eerf),
        ("lkrf", Self::Lkrf),
        ("pooled_ridge", Self::PooledRidge),
        ("capped", Self::Capped),
    ];

    /// The name in specs and reports.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, sampling)| *sampling == self).map_or("plain", |(name, _)| name)
    }

    /// The data that decide which features are kept.
    pub fn chosen_by(self) -> ChosenBy {
        match self {
            Self::Plain | Self::Orthogonal | Self::Structured | Self::QuasiMonteCarlo => ChosenBy::Nothing,
            Self::Leverage | Self::Elss1 | Self::Elss2 => ChosenBy::Inputs,
            Self::Eerf | Self::Lkrf | Self::PooledRidge => ChosenBy::Targets,
            Self::Capped => ChosenBy::Range,
        }
    }

    /// Whether features are chosen from a pool of candidates.
    pub fn has_pool(self) -> bool {
        matches!(self.chosen_by(), ChosenBy::Inputs | ChosenBy::Targets)
    }

    /// Whether the draws of the model are exchangeable, so that leaving some out tells what others would change.
    pub fn draws_are_exchangeable(self) -> bool {
        !matches!(self, Self::Elss2 | Self::Eerf | Self::Lkrf | Self::PooledRidge)
    }

    /// Why this sampling cannot serve a kernel, if it cannot.
    pub fn refusal(self, kernel: KernelShape) -> Option<String> {
        let isotropic = matches!(kernel, KernelShape::Gaussian | KernelShape::Matern { .. });
        match self {
            Self::Orthogonal | Self::Structured if !isotropic => Some(format!(
                "orthogonal directions need an isotropic spectral density, as gaussian and matern have; {} does not have \
                 one: use plain or quasi_monte_carlo",
                kernel.name()
            )),
            Self::Capped if kernel != KernelShape::Gaussian => Some(format!(
                "the capped density is that of the gaussian kernel; {} has none: use leverage",
                kernel.name()
            )),
            Self::Plain
            | Self::Orthogonal
            | Self::Structured
            | Self::QuasiMonteCarlo
            | Self::Leverage
            | Self::Elss1
            | Self::Elss2
            | Self::Eerf
            | Self::Lkrf
            | Self::PooledRidge
            | Self::Capped => None,
        }
    }

    /// Whether the draws are independent of each other, and of the rows, which the theorems assume.
    pub fn draws_are_independent(self) -> bool {
        self == Self::Plain
    }

    /// Whether ψ(x)ᵀψ(x') is exactly unbiased for the kernel; for draws from a pool, over the pool as well.
    pub fn is_unbiased(self) -> bool {
        self != Self::Structured && self.draws_are_exchangeable()
    }

    /// Draws `count` frequencies in `input_dim` dimensions, with the phases of a phase map. Where rows decide which draws
    /// are kept, these are the candidates, or plain draws for a search on a sample of the rows.
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
            Self::Plain
            | Self::Leverage
            | Self::Elss1
            | Self::Elss2
            | Self::Eerf
            | Self::Lkrf
            | Self::PooledRidge
            | Self::Capped => (plain::sample(kernel, seed, count, input_dim), plain::phases(phased, seed, count)),
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
