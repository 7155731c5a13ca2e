//! The feature map: sampled frequencies and the function ψ they define.

use super::kernels::spline;
use super::{Kernel, KernelShape, Projector, Sampling, Structured, Wave};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How a draw becomes columns of ψ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapKind {
    /// √(1/m)·[cos(Vx), sin(Vx)]: all cosines, then all sines; s = 2m columns from m draws.
    Pair,
    /// √(2/s)·cos(Vx + b).
    Phase,
    /// √(1/s)·sgn(Vx), with sgn(0) = 1.
    Sign,
    /// √(1/s)·Λ_{q/2}(x, ω).
    Spline,
    /// √(1/s)·Vx.
    Linear,
    /// k(x, xᵢ) at given points: nothing is drawn, and Wᵀψ is a function of the kernel's own space.
    Points,
}

impl MapKind {
    /// The maps whose draws can serve a kernel, the preferred one first.
    pub fn serving(kernel: KernelShape) -> &'static [Self] {
        match kernel {
            KernelShape::Gaussian | KernelShape::Laplace | KernelShape::Matern { .. } | KernelShape::Cauchy => {
                &[Self::Pair, Self::Phase]
            }
            KernelShape::Angular => &[Self::Sign],
            KernelShape::Spline { .. } => &[Self::Spline],
            KernelShape::Linear => &[Self::Linear],
        }
    }

    /// Whether this map can serve a kernel; points serve every kernel.
    pub fn goes_with(self, kernel: KernelShape) -> bool {
        self == Self::Points || Self::serving(kernel).contains(&self)
    }

    /// Columns of ψ per draw.
    pub fn columns_per_draw(self) -> usize {
        match self {
            Self::Pair => 2,
            Self::Phase | Self::Sign | Self::Spline | Self::Linear | Self::Points => 1,
        }
    }

    /// b = sup ψ(x;v)², the constant of W's Assumption 1; none where ψ is unbounded or nothing is drawn.
    pub fn bound(self, kernel: KernelShape) -> Option<f64> {
        match (self, kernel) {
            (Self::Pair | Self::Sign, _) => Some(1.0),
            (Self::Phase, _) => Some(2.0),
            (Self::Spline, KernelShape::Spline { order }) => spline::feature_bound(order),
            (Self::Spline | Self::Linear | Self::Points, _) => None,
        }
    }
}

/// The draws behind a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Frequencies {
    /// V, m×d; the bandwidth is inside.
    Dense(Array2<f64>),
    /// V as a product of Hadamard matrices, signs and norms.
    Structured(Structured),
}

impl Frequencies {
    /// m, the number of draws.
    pub fn draw_count(&self) -> usize {
        match self {
            Self::Dense(frequencies) => frequencies.nrows(),
            Self::Structured(structured) => structured.norms.len(),
        }
    }

    /// d, the number of inputs.
    pub fn input_dim(&self) -> usize {
        match self {
            Self::Dense(frequencies) => frequencies.ncols(),
            Self::Structured(structured) => structured.input_dim,
        }
    }

    /// V as a dense m×d matrix.
    pub fn written_out(&self) -> Cow<'_, Array2<f64>> {
        match self {
            Self::Dense(frequencies) => Cow::Borrowed(frequencies),
            Self::Structured(structured) => Cow::Owned(structured.to_dense()),
        }
    }
}

/// ψ: R^d → R^s with E ψ(x)ᵀψ(x') = k(x,x'), or k(x, xᵢ) at s points.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMap {
    /// The kernel it approximates, or is.
    pub kernel: Kernel,
    /// How draws become columns.
    pub kind: MapKind,
    /// V, the knots of a spline, or the points themselves.
    pub frequencies: Frequencies,
    /// b of the phase map, one per draw; empty for other maps.
    pub phases: Vec<f64>,
}

impl FeatureMap {
    /// Samples a map of `feature_count` columns.
    pub fn sample(
        kernel: Kernel,
        kind: MapKind,
        sampling: Sampling,
        seed: u64,
        feature_count: usize,
        input_dim: usize,
    ) -> Self {
        let draws = feature_count / kind.columns_per_draw();
        let (frequencies, phases) = sampling.sample(kernel, kind, seed, draws, input_dim);
        Self { kernel, kind, frequencies, phases }
    }

    /// The kernel at the rows of `points` (s×d).
    pub fn at_points(kernel: Kernel, points: Array2<f64>) -> Self {
        Self { kernel, kind: MapKind::Points, frequencies: Frequencies::Dense(points), phases: Vec::new() }
    }

    /// d, the number of inputs.
    pub fn input_dim(&self) -> usize {
        self.frequencies.input_dim()
    }

    /// m, the number of draws.
    pub fn draw_count(&self) -> usize {
        self.frequencies.draw_count()
    }

    /// s, the number of columns of ψ.
    pub fn feature_count(&self) -> usize {
        self.draw_count() * self.kind.columns_per_draw()
    }

    /// The factor of every feature, such as √(1/m).
    pub fn amplitude(&self) -> f64 {
        let draws = self.draw_count() as f64;
        match self.kind {
            MapKind::Phase => (2.0 / draws).sqrt(),
            MapKind::Pair | MapKind::Sign | MapKind::Spline | MapKind::Linear => (1.0 / draws).sqrt(),
            MapKind::Points => 1.0,
        }
    }

    /// Estimated multiplications per row.
    pub fn operations_per_row(&self) -> usize {
        let projection = match &self.frequencies {
            Frequencies::Dense(frequencies) => frequencies.len(),
            Frequencies::Structured(structured) => 16 * structured.norms.len(),
        };
        projection + 16 * self.feature_count()
    }

    /// The map in one precision, ready to evaluate.
    pub fn projector<T: Wave>(&self) -> Projector<T> {
        Projector::new(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUSSIAN: Kernel = Kernel::Gaussian { bandwidth: 2.0 };

    #[test]
    fn a_larger_draw_keeps_the_smaller_one_as_its_prefix() {
        for sampling in [Sampling::Plain, Sampling::Orthogonal, Sampling::Structured, Sampling::QuasiMonteCarlo] {
            let sample = |seed, count| FeatureMap::sample(GAUSSIAN, MapKind::Phase, sampling, seed, count, 4);
            let (small, large) = (sample(3, 5), sample(3, 150));
            let prefix = large.frequencies.written_out().slice(ndarray::s![..5, ..]).to_owned();
            assert_eq!(*small.frequencies.written_out(), prefix, "{sampling:?}");
            assert_eq!(small.phases, large.phases[..5]);
            assert_ne!(small, sample(4, 5));
        }
    }
}
