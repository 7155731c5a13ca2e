//! The kernel and the map that approximates it.

use super::Numbers;
use crate::features::{FeatureMap, Frequencies, Kernel, MapKind, Precision, Structured};
use crate::model::ArtifactError;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredKernel {
    Gaussian { bandwidth: f64 },
    Laplace { bandwidth: f64 },
    Matern { bandwidth: f64, nu: f64 },
    Cauchy { bandwidth: f64 },
    Angular,
    Spline { order: u32 },
    Linear,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredMapKind {
    Pair,
    Phase,
    Sign,
    Spline,
    Linear,
    Points,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredFrequencies<'a> {
    /// m×d, row by row.
    Dense { draw_count: usize, values: Numbers<'a> },
    /// Products of Hadamard matrices and signs, as [`Structured`] has them.
    Structured { input_dim: usize, norms: Numbers<'a>, signs: Cow<'a, [bool]> },
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredPrecision {
    Mixed,
    Double,
}

/// The feature map of stored parts, for models of this many inputs.
pub(in crate::model::artifact) fn feature_map(
    kernel: StoredKernel,
    kind: StoredMapKind,
    frequencies: StoredFrequencies,
    phases: Numbers,
    input_dim: usize,
) -> Result<FeatureMap, ArtifactError> {
    if input_dim == 0 {
        return Err(ArtifactError::Shape("the model has no inputs"));
    }
    let kernel = Kernel::from(kernel);
    // Before anything is computed with it: the time of a spline grows with its order.
    if !kernel.is_valid() {
        return Err(ArtifactError::Kernel);
    }
    let disagree = ArtifactError::Shape("frequencies and encoding");
    let frequencies = match frequencies {
        StoredFrequencies::Dense { draw_count, values } => {
            let values = Array2::from_shape_vec((draw_count, input_dim), values.into_owned());
            Frequencies::Dense(values.map_err(|_| disagree)?)
        }
        StoredFrequencies::Structured { input_dim: stored_dim, norms, signs } => {
            let (norms, signs) = (norms.into_owned(), signs.into_owned());
            let structured = Structured { input_dim: stored_dim, norms, signs };
            if stored_dim != input_dim || !structured.is_consistent() {
                return Err(disagree);
            }
            Frequencies::Structured(structured)
        }
    };
    let (kind, phases) = (kind.into(), phases.into_owned());
    Ok(FeatureMap { kernel, kind, frequencies, phases, scales: None })
}

/// The weights of stored numbers, s×k.
pub(in crate::model::artifact) fn weight_matrix(
    map: &FeatureMap,
    output_count: usize,
    weights: Numbers,
) -> Result<Array2<f64>, ArtifactError> {
    let weights = Array2::from_shape_vec((map.feature_count(), output_count), weights.into_owned());
    weights.map_err(|_| ArtifactError::Shape("weights and frequencies"))
}

impl<'a> From<&'a Frequencies> for StoredFrequencies<'a> {
    fn from(frequencies: &'a Frequencies) -> Self {
        match frequencies {
            Frequencies::Dense(values) => {
                Self::Dense { draw_count: values.nrows(), values: values.iter().copied().collect() }
            }
            Frequencies::Structured(Structured { input_dim, norms, signs }) => {
                Self::Structured { input_dim: *input_dim, norms: norms.into(), signs: signs.into() }
            }
        }
    }
}

impl From<Kernel> for StoredKernel {
    fn from(kernel: Kernel) -> Self {
        match kernel {
            Kernel::Gaussian { bandwidth } => Self::Gaussian { bandwidth },
            Kernel::Laplace { bandwidth } => Self::Laplace { bandwidth },
            Kernel::Matern { bandwidth, nu } => Self::Matern { bandwidth, nu },
            Kernel::Cauchy { bandwidth } => Self::Cauchy { bandwidth },
            Kernel::Angular => Self::Angular,
            Kernel::Spline { order } => Self::Spline { order },
            Kernel::Linear => Self::Linear,
        }
    }
}

impl From<StoredKernel> for Kernel {
    fn from(stored: StoredKernel) -> Self {
        match stored {
            StoredKernel::Gaussian { bandwidth } => Self::Gaussian { bandwidth },
            StoredKernel::Laplace { bandwidth } => Self::Laplace { bandwidth },
            StoredKernel::Matern { bandwidth, nu } => Self::Matern { bandwidth, nu },
            StoredKernel::Cauchy { bandwidth } => Self::Cauchy { bandwidth },
            StoredKernel::Angular => Self::Angular,
            StoredKernel::Spline { order } => Self::Spline { order },
            StoredKernel::Linear => Self::Linear,
        }
    }
}

impl From<MapKind> for StoredMapKind {
    fn from(kind: MapKind) -> Self {
        match kind {
            MapKind::Pair => Self::Pair,
            MapKind::Phase => Self::Phase,
            MapKind::Sign => Self::Sign,
            MapKind::Spline => Self::Spline,
            MapKind::Linear => Self::Linear,
            MapKind::Points => Self::Points,
        }
    }
}

impl From<StoredMapKind> for MapKind {
    fn from(stored: StoredMapKind) -> Self {
        match stored {
            StoredMapKind::Pair => Self::Pair,
            StoredMapKind::Phase => Self::Phase,
            StoredMapKind::Sign => Self::Sign,
            StoredMapKind::Spline => Self::Spline,
            StoredMapKind::Linear => Self::Linear,
            StoredMapKind::Points => Self::Points,
        }
    }
}

impl From<Precision> for StoredPrecision {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::Mixed => Self::Mixed,
            Precision::Double => Self::Double,
        }
    }
}

impl From<StoredPrecision> for Precision {
    fn from(stored: StoredPrecision) -> Self {
        match stored {
            StoredPrecision::Mixed => Self::Mixed,
            StoredPrecision::Double => Self::Double,
        }
    }
}
