//! The feature map: sampled frequencies and the function ψ they define.

use super::{Kernel, Wave};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

/// How a frequency becomes columns of ψ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapKind {
    /// √(1/m)·[cos(Vx), sin(Vx)]: all cosines, then all sines; s = 2m columns from m draws.
    Pair,
}

impl MapKind {
    /// Independent draws behind `feature_count` columns.
    pub fn draw_count(self, feature_count: usize) -> usize {
        match self {
            Self::Pair => feature_count / 2,
        }
    }

    /// b = sup ψ(x;v)², the constant of W's Assumption 1.
    pub fn bound(self) -> f64 {
        match self {
            Self::Pair => 1.0,
        }
    }
}

/// How frequencies are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Independently from the kernel's spectral density.
    Plain,
}

/// ψ: R^d → R^s with E ψ(x)ᵀψ(x') = k(x,x').
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureMap {
    /// How frequencies become columns.
    pub kind: MapKind,
    /// V, m×d; the bandwidth is inside.
    pub frequencies: Array2<f64>,
}

impl FeatureMap {
    /// Samples a map of `feature_count` columns for `kernel`.
    pub fn sample(
        kernel: Kernel,
        kind: MapKind,
        sampling: Sampling,
        seed: u64,
        feature_count: usize,
        input_dim: usize,
    ) -> Self {
        let draws = kind.draw_count(feature_count);
        let frequencies = match sampling {
            Sampling::Plain => kernel.sample(seed, draws, input_dim),
        };
        Self { kind, frequencies }
    }

    /// d.
    pub fn input_dim(&self) -> usize {
        self.frequencies.ncols()
    }

    /// s.
    pub fn feature_count(&self) -> usize {
        match self.kind {
            MapKind::Pair => 2 * self.frequencies.nrows(),
        }
    }

    /// The map made ready to run in one precision.
    pub fn projector<T: Wave>(&self) -> Projector<T> {
        Projector {
            directions: self.frequencies.t().mapv(T::from_f64).as_standard_layout().into_owned(),
            amplitude: T::from_f64((1.0 / self.frequencies.nrows() as f64).sqrt()),
            feature_count: self.feature_count(),
        }
    }
}

/// A feature map in one precision.
pub struct Projector<T> {
    /// Vᵀ, d×m.
    directions: Array2<T>,
    /// √(1/m).
    amplitude: T,
    feature_count: usize,
}

impl<T: Wave> Projector<T> {
    /// s.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// Ψ of a block of inputs (rows×d), as rows×s.
    pub fn transform(&self, inputs: ArrayView2<T>) -> Array2<T> {
        let (rows, draws) = (inputs.nrows(), self.directions.ncols());
        let mut features = Array2::zeros((rows, self.feature_count)); // rows×s
        let mut angles = Array2::zeros((rows, draws)); // rows×m
        general_mat_mul(T::one(), &inputs, &self.directions, T::zero(), &mut angles);
        for (angles, mut features) in angles.axis_iter(Axis(0)).zip(features.axis_iter_mut(Axis(0))) {
            let (mut cosines, mut sines) = features.multi_slice_mut((s![..draws], s![draws..]));
            T::cos_sin(
                self.amplitude,
                angles.as_slice().expect("rows are contiguous"),
                cosines.as_slice_mut().expect("rows are contiguous"),
                sines.as_slice_mut().expect("rows are contiguous"),
            );
        }
        features
    }
}
