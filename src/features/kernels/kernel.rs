//! The enum of all kernels.

use super::{angular, cauchy, gaussian, laplace, linear, matern, spline};
use crate::random::normal_quantile;
use ndarray::ArrayView1;
use std::ops::RangeInclusive;

/// A kernel before its bandwidth is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KernelShape {
    /// exp(−‖x−x'‖²/(2σ²)).
    Gaussian,
    /// exp(−‖x−x'‖₁/σ).
    Laplace,
    /// Matérn of smoothness ν.
    Matern {
        /// ν.
        nu: f64,
    },
    /// Π 1/(1 + (xⱼ−x'ⱼ)²/σ²).
    Cauchy,
    /// (2/π)·arcsin of the cosine of the angle.
    Angular,
    /// Periodic spline on [0, 1].
    Spline {
        /// q, even.
        order: u32,
    },
    /// xᵀx'.
    Linear,
}

impl KernelShape {
    /// Valid ν. Outside of it values are inaccurate and may take very long to compute.
    pub const SMOOTHNESSES: RangeInclusive<f64> = 0.05..=100.0;
    /// Valid q, of which only even ones; q coefficients are kept.
    pub const ORDERS: RangeInclusive<u32> = 2..=20;

    /// Whether ν or q is valid.
    pub fn is_valid(self) -> bool {
        match self {
            Self::Matern { nu } => Self::SMOOTHNESSES.contains(&nu),
            Self::Spline { order } => Self::ORDERS.contains(&order) && order.is_multiple_of(2),
            Self::Gaussian | Self::Laplace | Self::Cauchy | Self::Angular | Self::Linear => true,
        }
    }

    /// The name in specs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Laplace => "laplace",
            Self::Matern { .. } => "matern",
            Self::Cauchy => "cauchy",
            Self::Angular => "angular",
            Self::Spline { .. } => "spline",
            Self::Linear => "linear",
        }
    }

    /// Whether it has a bandwidth; these are the kernels that depend on x − x' only.
    pub fn has_bandwidth(self) -> bool {
        match self {
            Self::Gaussian | Self::Laplace | Self::Matern { .. } | Self::Cauchy => true,
            Self::Angular | Self::Spline { .. } | Self::Linear => false,
        }
    }

    /// k(x, x) if it is the same for all x; none for the linear kernel.
    pub fn diagonal(self) -> Option<f64> {
        match self {
            Self::Gaussian | Self::Laplace | Self::Matern { .. } | Self::Cauchy | Self::Angular => Some(1.0),
            Self::Spline { order } => {
                let anywhere = ArrayView1::from(&[0.0]);
                Some(spline::evaluate(order, anywhere, anywhere))
            }
            Self::Linear => None,
        }
    }

    /// The kernel with this bandwidth, which those without one ignore.
    pub fn with_bandwidth(self, bandwidth: f64) -> Kernel {
        match self {
            Self::Gaussian => Kernel::Gaussian { bandwidth },
            Self::Laplace => Kernel::Laplace { bandwidth },
            Self::Matern { nu } => Kernel::Matern { bandwidth, nu },
            Self::Cauchy => Kernel::Cauchy { bandwidth },
            Self::Angular => Kernel::Angular,
            Self::Spline { order } => Kernel::Spline { order },
            Self::Linear => Kernel::Linear,
        }
    }
}

/// A kernel with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// exp(−‖x−x'‖²/(2σ²)).
    Gaussian {
        /// σ.
        bandwidth: f64,
    },
    /// exp(−‖x−x'‖₁/σ).
    Laplace {
        /// σ.
        bandwidth: f64,
    },
    /// Matérn.
    Matern {
        /// ℓ.
        bandwidth: f64,
        /// ν.
        nu: f64,
    },
    /// Π 1/(1 + (xⱼ−x'ⱼ)²/σ²).
    Cauchy {
        /// σ.
        bandwidth: f64,
    },
    /// (2/π)·arcsin of the cosine of the angle.
    Angular,
    /// Periodic spline on [0, 1].
    Spline {
        /// q, even.
        order: u32,
    },
    /// xᵀx'.
    Linear,
}

impl Kernel {
    /// The kernel without its bandwidth.
    pub fn shape(self) -> KernelShape {
        match self {
            Self::Gaussian { .. } => KernelShape::Gaussian,
            Self::Laplace { .. } => KernelShape::Laplace,
            Self::Matern { nu, .. } => KernelShape::Matern { nu },
            Self::Cauchy { .. } => KernelShape::Cauchy,
            Self::Angular => KernelShape::Angular,
            Self::Spline { order } => KernelShape::Spline { order },
            Self::Linear => KernelShape::Linear,
        }
    }

    /// Whether all parameters are valid.
    pub fn is_valid(self) -> bool {
        self.shape().is_valid() && self.bandwidth().is_none_or(|bandwidth| bandwidth > 0.0 && bandwidth.is_finite())
    }

    /// σ or ℓ; none for kernels without one.
    pub fn bandwidth(self) -> Option<f64> {
        match self {
            Self::Gaussian { bandwidth }
            | Self::Laplace { bandwidth }
            | Self::Matern { bandwidth, .. }
            | Self::Cauchy { bandwidth } => Some(bandwidth),
            Self::Angular | Self::Spline { .. } | Self::Linear => None,
        }
    }

    /// The exact kernel value k(x,x').
    pub fn evaluate(self, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
        match self {
            Self::Gaussian { bandwidth } => gaussian::evaluate(bandwidth, left, right),
            Self::Laplace { bandwidth } => laplace::evaluate(bandwidth, left, right),
            Self::Matern { bandwidth, nu } => matern::evaluate(bandwidth, nu, left, right),
            Self::Cauchy { bandwidth } => cauchy::evaluate(bandwidth, left, right),
            Self::Angular => angular::evaluate(left, right),
            Self::Spline { order } => spline::evaluate(order, left, right),
            Self::Linear => linear::evaluate(left, right),
        }
    }

    /// Uniform numbers that make one frequency in d dimensions.
    pub(crate) fn uniforms_per_draw(self, input_dim: usize) -> usize {
        input_dim + usize::from(matches!(self, Self::Matern { .. }))
    }

    /// One frequency by inversion, from as many uniform numbers as [`Self::uniforms_per_draw`] says.
    /// For the spline kernel it is the knot ω, uniform itself.
    pub(crate) fn frequency(self, uniforms: &[f64], frequency: &mut [f64]) {
        let (coordinates, rest) = uniforms.split_at(frequency.len());
        match self {
            Self::Laplace { bandwidth } => laplace::frequency(bandwidth, coordinates, frequency),
            Self::Cauchy { bandwidth } => cauchy::frequency(bandwidth, coordinates, frequency),
            Self::Spline { .. } => frequency.copy_from_slice(coordinates),
            Self::Gaussian { .. } | Self::Matern { .. } | Self::Angular | Self::Linear => {
                let stretch = self.stretch(rest.first().copied().unwrap_or(0.5)).unwrap_or(1.0);
                for (coordinate, uniform) in frequency.iter_mut().zip(coordinates) {
                    *coordinate = normal_quantile(*uniform) * stretch;
                }
            }
        }
    }

    /// For an isotropic spectral density, the factor that turns a standard normal vector into a
    /// frequency; random for the Matérn kernel, from one more uniform number.
    pub(crate) fn stretch(self, uniform: f64) -> Option<f64> {
        match self {
            Self::Gaussian { bandwidth } => Some(gaussian::stretch(bandwidth)),
            Self::Matern { bandwidth, nu } => Some(matern::stretch(bandwidth, nu, uniform)),
            Self::Laplace { .. } | Self::Cauchy { .. } | Self::Angular | Self::Spline { .. } | Self::Linear => None,
        }
    }

    /// Whether frequencies are so heavy-tailed that angles vᵀx reach thousands: those are formed and
    /// reduced in f64 before any rounding to f32.
    pub fn is_heavy_tailed(self) -> bool {
        match self {
            Self::Laplace { .. } => true,
            Self::Matern { nu, .. } => nu < 1.0,
            Self::Gaussian { .. } | Self::Cauchy { .. } | Self::Angular | Self::Spline { .. } | Self::Linear => false,
        }
    }
}
