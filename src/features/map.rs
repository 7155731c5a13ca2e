//! The feature map: sampled frequencies and the function ψ they define.

use super::engine::panels::projected;
use super::kernels::spline;
use super::{Kernel, KernelShape, Projector, Sampling, Structured, Wave};
use crate::random::{Purpose, Stream};
use ndarray::{Array2, Axis};
use serde::Serialize;
use std::borrow::Cow;

/// How a draw becomes columns of ψ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq)]
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

/// Factors of the columns of each draw, beside the amplitude that all columns share.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawScales {
    /// One per draw, at least zero.
    pub factors: Vec<f64>,
    /// The largest that any draw could have had, at least the largest of the factors.
    pub largest: f64,
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
    /// Of draws that do not all count the same.
    pub scales: Option<DrawScales>,
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
        Self { kernel, kind, frequencies, phases, scales: None }
    }

    /// The seed of feature draws for searches: none of them is a draw of a model with this seed.
    pub fn seed_for_searches(seed: u64) -> u64 {
        Stream::new(seed, Purpose::Searches, 0).uniform().to_bits()
    }

    /// The seed of feature draws for learning a metric: neither a model nor another search with this seed uses them.
    pub fn seed_for_metric(seed: u64) -> u64 {
        Stream::new(seed, Purpose::Metric, 0).uniform().to_bits()
    }

    /// ψ(Rx) as a map of x: the symmetric matrix R goes into the frequencies, which are then dense. Their bits are the same
    /// on every machine, which those of BLAS need not be: a pass folds where the rows are.
    #[must_use]
    pub fn folded(&self, root: &Array2<f64>) -> Self {
        let frequencies = self.frequencies.written_out();
        Self { frequencies: Frequencies::Dense(projected(frequencies.view(), root.view())), ..self.clone() }
    }

    /// Whether a linear change of the inputs can go into the frequencies without a change of their form.
    pub fn is_foldable(&self) -> bool {
        matches!((self.kind, &self.frequencies), (MapKind::Pair | MapKind::Phase, Frequencies::Dense(_)))
    }

    /// The kernel at the rows of `points` (s×d).
    pub fn at_points(kernel: Kernel, points: Array2<f64>) -> Self {
        let frequencies = Frequencies::Dense(points);
        Self { kernel, kind: MapKind::Points, frequencies, phases: Vec::new(), scales: None }
    }

    /// The map of some of its draws, which may repeat, with their factors.
    #[must_use]
    pub fn keep(&self, draws: &[usize], scales: Option<DrawScales>) -> Self {
        let frequencies = Frequencies::Dense(self.frequencies.written_out().select(Axis(0), draws));
        let phases = if self.phases.is_empty() { Vec::new() } else { draws.iter().map(|&j| self.phases[j]).collect() };
        Self { kernel: self.kernel, kind: self.kind, frequencies, phases, scales }
    }

    /// b = sup ψ(x;v)² with the factors of the draws; none where ψ is unbounded.
    pub fn bound(&self) -> Option<f64> {
        let largest = self.scales.as_ref().map_or(1.0, |scales| scales.largest);
        self.kind.bound(self.kernel.shape()).map(|bound| bound * largest * largest)
    }

    /// The largest that |ψⱼ(x)| of any column can be; none where it is unbounded.
    pub fn column_bound(&self) -> Option<f64> {
        let of_draw = match self.kind {
            // The √2 of a phase map is in its amplitude.
            MapKind::Pair | MapKind::Phase | MapKind::Sign => Some(1.0),
            MapKind::Spline => self.kind.bound(self.kernel.shape()).map(f64::sqrt),
            MapKind::Linear | MapKind::Points => None,
        };
        let largest = |scales: &DrawScales| scales.factors.iter().copied().fold(0.0, f64::max);
        of_draw.map(|bound| bound * self.scales.as_ref().map_or(1.0, largest) * self.amplitude())
    }

    /// The factor of every column beside the amplitude; empty where all are 1.
    pub fn column_scales(&self) -> Vec<f64> {
        let copies = self.kind.columns_per_draw();
        self.scales.as_ref().map_or_else(Vec::new, |scales| scales.factors.repeat(copies))
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

    /// The factor that every feature has, such as √(1/m).
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

    /// A theorem on the model's draws holds for what a search chose only if the search saw none of them.
    #[test]
    fn searches_have_draws_of_their_own() {
        for seed in [0, 1, 7, u64::MAX] {
            let sample = |seed| FeatureMap::sample(GAUSSIAN, MapKind::Phase, Sampling::Plain, seed, 64, 1);
            let (model, search) = (sample(seed), sample(FeatureMap::seed_for_searches(seed)));
            let (model, search) = (model.frequencies.written_out(), search.frequencies.written_out());
            assert!(model.iter().all(|draw| !search.iter().any(|other| other == draw)), "{seed}");
        }
    }

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
