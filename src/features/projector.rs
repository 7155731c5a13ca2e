//! A feature map made ready to run in one precision.

use super::spline::Spline;
use super::{FeatureMap, Frequencies, Kernel, MapKind, Structured, Wave};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};
use std::f64::consts::TAU;

/// ψ in one precision.
pub struct Projector<T> {
    kind: MapKind,
    directions: Directions<T>,
    /// One a draw, or none.
    phases: Vec<f64>,
    /// What unscaled features are multiplied with.
    amplitude: T,
    draw_count: usize,
    feature_count: usize,
}

/// How inputs become angles vᵀx.
enum Directions<T> {
    /// Vᵀ, d×m, in the precision of the features.
    Dense(Array2<T>),
    /// Vᵀ in f64: angles are formed and reduced before they are rounded.
    Wide(Array2<f64>),
    /// Hadamard products.
    Structured(Structured),
    /// No angle: the knots ω and the spline around them.
    Knots(Vec<f64>, Spline),
}

impl<T: Wave> Projector<T> {
    pub(super) fn new(map: &FeatureMap) -> Self {
        let transposed = |frequencies: &Array2<f64>| frequencies.t().as_standard_layout().into_owned(); // d×m
        let directions = match (&map.frequencies, map.kernel) {
            (Frequencies::Dense(knots), Kernel::Spline { order }) => {
                Directions::Knots(knots.iter().copied().collect(), Spline::new(order / 2))
            }
            (Frequencies::Dense(frequencies), kernel) if kernel.is_heavy_tailed() => {
                Directions::Wide(transposed(frequencies))
            }
            (Frequencies::Dense(frequencies), _) => Directions::Dense(transposed(frequencies).mapv(T::from_f64)),
            (Frequencies::Structured(structured), _) => Directions::Structured(structured.clone()),
        };
        let draws = map.draw_count() as f64;
        let amplitude = match map.kind {
            MapKind::Phase => (2.0 / draws).sqrt(),
            MapKind::Pair | MapKind::Sign | MapKind::Spline | MapKind::Linear => (1.0 / draws).sqrt(),
        };
        Self {
            kind: map.kind,
            directions,
            phases: map.phases.clone(),
            amplitude: T::from_f64(amplitude),
            draw_count: map.draw_count(),
            feature_count: map.feature_count(),
        }
    }

    /// s.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// Ψ of a block of inputs (rows×d), as rows×s.
    pub fn transform(&self, inputs: ArrayView2<f64>) -> Array2<T> {
        let mut angles = self.angles(inputs); // rows×m
        match self.kind {
            MapKind::Pair => self.pairs(&angles),
            MapKind::Phase => {
                let mut features = Array2::zeros(angles.dim());
                for (angles, mut features) in angles.rows().into_iter().zip(features.rows_mut()) {
                    T::cosines(
                        self.amplitude,
                        contiguous(&angles),
                        features.as_slice_mut().expect("a row is contiguous"),
                    );
                }
                features
            }
            MapKind::Sign => {
                let (plus, minus) = (self.amplitude, T::zero() - self.amplitude);
                angles.mapv_inplace(|angle| if angle.to_f64() >= 0.0 { plus } else { minus });
                angles
            }
            MapKind::Spline | MapKind::Linear => {
                angles.mapv_inplace(|angle| angle * self.amplitude);
                angles
            }
        }
    }

    fn pairs(&self, angles: &Array2<T>) -> Array2<T> {
        let mut features = Array2::zeros((angles.nrows(), self.feature_count)); // rows×s
        for (angles, mut features) in angles.axis_iter(Axis(0)).zip(features.axis_iter_mut(Axis(0))) {
            let (mut cosines, mut sines) = features.multi_slice_mut((s![..self.draw_count], s![self.draw_count..]));
            T::cos_sin(
                self.amplitude,
                contiguous(&angles),
                cosines.as_slice_mut().expect("a row is contiguous"),
                sines.as_slice_mut().expect("a row is contiguous"),
            );
        }
        features
    }

    /// vᵀx + b for every row and draw; for a spline its value at the knot.
    fn angles(&self, inputs: ArrayView2<f64>) -> Array2<T> {
        let shape = (inputs.nrows(), self.draw_count);
        let mut angles = Array2::zeros(shape); // rows×m
        match &self.directions {
            Directions::Dense(directions) => {
                general_mat_mul(T::one(), &inputs.mapv(T::from_f64), directions, T::zero(), &mut angles);
            }
            Directions::Structured(structured) => {
                structured.project(inputs.mapv(T::from_f64).view(), angles.view_mut());
            }
            Directions::Wide(directions) => {
                let wide = inputs.dot(directions);
                for (angles, wide) in angles.rows_mut().into_iter().zip(wide.rows()) {
                    for (j, (angle, wide)) in angles.into_iter().zip(wide).enumerate() {
                        let wide = wide + self.phases.get(j).copied().unwrap_or(0.0);
                        *angle = T::from_f64(wide - TAU * (wide / TAU).round());
                    }
                }
                return angles; // phases are in
            }
            Directions::Knots(knots, spline) => {
                for (mut angles, input) in angles.rows_mut().into_iter().zip(inputs.column(0)) {
                    for (value, knot) in angles.iter_mut().zip(knots) {
                        *value = T::from_f64(spline.at(input - knot));
                    }
                }
            }
        }
        if !self.phases.is_empty() {
            for mut row in angles.rows_mut() {
                for (angle, phase) in row.iter_mut().zip(&self.phases) {
                    *angle = *angle + T::from_f64(*phase);
                }
            }
        }
        angles
    }
}

fn contiguous<'a, T>(row: &'a ndarray::ArrayView1<T>) -> &'a [T] {
    row.as_slice().expect("a row is contiguous")
}
