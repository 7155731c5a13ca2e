//! A feature map in one precision, ready to evaluate.

use super::hadamard::Hadamard;
use super::panels::Panels;
use crate::features::kernels::spline::Spline;
use crate::features::{FeatureMap, Frequencies, Kernel, KernelPoints, MapKind, Wave};
use crate::linalg::{Real, Scratch, bulk_instructions, checkpoint, instructions_for};
use ndarray::{Array2, ArrayView2, Axis};
use pulp::Arch;
use std::f64::consts::TAU;

/// Rows whose angles are held at once: they stay in the second-level cache until their cosines are computed. With many
/// inputs the frequencies do not fit that cache, so more rows share each load of them. Both are multiples of the six rows
/// that share a panel of dense frequencies.
const CHUNK_ROWS: usize = 48;
const MANY_INPUTS: usize = 256;
const CHUNK_ROWS_OF_MANY: usize = 96;

/// ψ in one precision.
pub struct Projector<T> {
    kind: MapKind,
    directions: Directions<T>,
    /// One per draw, or empty.
    phases: Vec<f64>,
    /// The factor of every feature, such as √(1/m).
    amplitude: T,
    /// One per column beside the amplitude, or empty.
    scales: Vec<T>,
    draw_count: usize,
    feature_count: usize,
}

/// How inputs become angles vᵀx.
enum Directions<T> {
    /// V in the precision of the features.
    Dense(Panels<T>),
    /// V in f64: angles are formed and reduced before they are rounded.
    Wide(Panels<f64>),
    /// Hadamard products in f64, for the same reason.
    WideStructured(Hadamard<f64>),
    /// Hadamard products.
    Structured(Hadamard<T>),
    /// No angle: the knots ω and the spline around them.
    Knots(Vec<f64>, Spline),
    /// No angle: the kernel at the points.
    Points(KernelPoints<T>),
}

impl<T: Wave> Projector<T> {
    pub(crate) fn new(map: &FeatureMap) -> Self {
        let directions = match (&map.frequencies, map.kernel) {
            (Frequencies::Dense(points), kernel) if map.kind == MapKind::Points => {
                Directions::Points(KernelPoints::new(kernel, points.view()))
            }
            (Frequencies::Dense(knots), Kernel::Spline { order }) => {
                Directions::Knots(knots.iter().copied().collect(), Spline::new(order / 2))
            }
            (Frequencies::Dense(frequencies), kernel) if kernel.is_heavy_tailed() => {
                Directions::Wide(Panels::new(frequencies.view()))
            }
            (Frequencies::Dense(frequencies), _) => Directions::Dense(Panels::new(frequencies.view())),
            (Frequencies::Structured(structured), kernel) if kernel.is_heavy_tailed() => {
                Directions::WideStructured(Hadamard::new(structured))
            }
            (Frequencies::Structured(structured), _) => Directions::Structured(Hadamard::new(structured)),
        };
        Self {
            kind: map.kind,
            directions,
            phases: map.phases.clone(),
            amplitude: T::from_f64(map.amplitude()),
            scales: map.column_scales().into_iter().map(T::from_f64).collect(),
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
        let mut features = Array2::zeros((0, 0));
        self.transform_into(inputs, &mut features);
        features
    }

    /// Ψ written into an array whose memory is reused. The features of a row have the same bits in any batch.
    pub fn transform_into(&self, inputs: ArrayView2<f64>, features: &mut Array2<T>) {
        let shape = (inputs.nrows(), self.feature_count); // rows×s
        if features.dim() != shape || !features.is_standard_layout() {
            let (mut memory, _) = std::mem::replace(features, Array2::zeros((0, 0))).into_raw_vec_and_offset();
            memory.resize(shape.0 * shape.1, T::zero());
            *features = Array2::from_shape_vec(shape, memory).expect("as many elements");
        }
        let mut features = features.rows_mut().into_iter();
        self.for_each_row(inputs, |arch, angles| {
            if let Some(mut row) = features.next() {
                self.finish(arch, angles, row.as_slice_mut().expect("a row is contiguous"));
            }
        });
    }

    /// Passes Ψ to `take` a few rows at a time, while they are in the first-level cache: the index of the first row, and
    /// the features of up to `at_once` rows. The features of a row have the same bits in any batch.
    pub fn transform_by(&self, inputs: ArrayView2<f64>, at_once: usize, mut take: impl FnMut(usize, &mut [T])) {
        let mut features = Scratch::of(at_once * self.feature_count);
        let mut done = 0;
        self.for_each_row(inputs, |arch, angles| {
            self.finish(arch, angles, &mut features[done % at_once * self.feature_count..][..self.feature_count]);
            done += 1;
            if done % at_once == 0 || done == inputs.nrows() {
                let first = (done - 1) / at_once * at_once;
                take(first, &mut features[..(done - first) * self.feature_count]);
            }
        });
    }

    /// Passes the angles of every row to `take`, in order, with the instructions they were computed with.
    fn for_each_row(&self, inputs: ArrayView2<f64>, mut take: impl FnMut(Arch, &mut [T])) {
        let arch = instructions_for(inputs.nrows());
        let stride = self.stride();
        let chunk_rows = if inputs.ncols() < MANY_INPUTS { CHUNK_ROWS } else { CHUNK_ROWS_OF_MANY };
        let mut angles = Scratch::of(inputs.nrows().min(chunk_rows) * stride);
        for inputs in inputs.axis_chunks_iter(Axis(0), chunk_rows) {
            checkpoint();
            self.fill_angles(arch, inputs, &mut angles[..inputs.nrows() * stride]);
            for angles in angles.chunks_exact_mut(stride).take(inputs.nrows()) {
                take(arch, &mut angles[..self.draw_count]);
            }
        }
    }

    /// Room for the angles of one row: m, or more where the directions are padded.
    fn stride(&self) -> usize {
        match &self.directions {
            Directions::Dense(panels) => panels.stride(),
            Directions::Wide(panels) => panels.stride(),
            Directions::WideStructured(hadamard) => hadamard.stride(),
            Directions::Structured(hadamard) => hadamard.stride(),
            Directions::Knots(knots, _) => knots.len(),
            Directions::Points(points) => points.count(),
        }
    }

    /// vᵀx for every row and draw; for a spline its value at the knot, for points the kernel.
    fn fill_angles(&self, arch: Arch, inputs: ArrayView2<f64>, angles: &mut [T]) {
        match &self.directions {
            Directions::Dense(panels) => panels.project(arch, &rounded(inputs), angles),
            Directions::Structured(hadamard) => hadamard.project(bulk_instructions(), &rounded(inputs), angles),
            Directions::Wide(panels) => {
                let mut wide = Scratch::<f64>::of(angles.len());
                panels.project(arch, &rounded(inputs), &mut wide);
                self.reduce(&wide, angles);
            }
            Directions::WideStructured(hadamard) => {
                let mut wide = Scratch::<f64>::of(angles.len());
                hadamard.project(bulk_instructions(), &rounded(inputs), &mut wide);
                self.reduce(&wide, angles);
            }
            Directions::Points(points) => {
                points.alike(inputs).fill_tile(0..inputs.nrows(), points, 0..points.count(), angles);
            }
            Directions::Knots(knots, spline) => {
                for (angles, input) in angles.chunks_exact_mut(knots.len()).zip(inputs.column(0)) {
                    for (value, knot) in angles.iter_mut().zip(knots) {
                        *value = T::from_f64(spline.at(input - knot));
                    }
                }
            }
        }
    }

    /// Angles with their phases, reduced to a turn before they are rounded.
    fn reduce(&self, wide: &[f64], angles: &mut [T]) {
        for (angles, wide) in angles.chunks_exact_mut(self.stride()).zip(wide.chunks_exact(self.stride())) {
            for (j, (angle, wide)) in angles.iter_mut().zip(wide).enumerate() {
                let wide = wide + self.phases.get(j).copied().unwrap_or(0.0);
                // Beyond this the rounded turn is off by turns itself; the remainder is exact, and slow.
                let turned = if wide.abs() < 1e15 { wide - TAU * (wide / TAU).round() } else { wide % TAU };
                *angle = T::from_f64(turned);
            }
        }
    }

    /// From the angles of a row to its features.
    fn finish(&self, arch: Arch, angles: &mut [T], features: &mut [T]) {
        match self.kind {
            MapKind::Pair => {
                let (cosines, sines) = features.split_at_mut(self.draw_count);
                T::cos_sin(arch, self.amplitude, angles, cosines, sines);
            }
            MapKind::Phase => {
                // Wide angles have theirs: a phase is added before the reduction.
                if !matches!(self.directions, Directions::Wide(_) | Directions::WideStructured(_)) {
                    for (angle, phase) in angles.iter_mut().zip(&self.phases) {
                        *angle = *angle + T::from_f64(*phase);
                    }
                }
                T::cosines(arch, self.amplitude, angles, features);
            }
            MapKind::Sign => {
                let (plus, minus) = (self.amplitude, T::zero() - self.amplitude);
                for (feature, angle) in features.iter_mut().zip(angles) {
                    *feature = if angle.to_f64() >= 0.0 { plus } else { minus };
                }
            }
            MapKind::Spline | MapKind::Linear | MapKind::Points => {
                for (feature, angle) in features.iter_mut().zip(angles) {
                    *feature = *angle * self.amplitude;
                }
            }
        }
        for (feature, scale) in features.iter_mut().zip(&self.scales) {
            *feature = *feature * *scale;
        }
    }
}

/// The inputs in one precision, row by row.
fn rounded<T: Real>(inputs: ArrayView2<f64>) -> Scratch<T> {
    let mut rounded = Scratch::of(inputs.len());
    for (target, value) in rounded.iter_mut().zip(inputs) {
        *target = T::from_f64(*value);
    }
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Sampling;

    /// Dense, wide and structured angles, in both precisions: a row alone and among others, in chunks that do
    /// not come out even.
    #[test]
    fn a_row_has_the_same_features_in_any_batch() {
        fn check<T: Wave + PartialEq>(map: &FeatureMap, inputs: &Array2<f64>) {
            let projector = map.projector::<T>();
            let together = projector.transform(inputs.view());
            for (input, expected) in inputs.axis_chunks_iter(Axis(0), 1).zip(together.axis_chunks_iter(Axis(0), 1)) {
                assert!(projector.transform(input) == expected);
            }
        }
        let gaussian = Kernel::Gaussian { bandwidth: 3.0 };
        for (kernel, sampling) in [
            (gaussian, Sampling::Plain),
            (gaussian, Sampling::Structured),
            (Kernel::Laplace { bandwidth: 3.0 }, Sampling::Plain),
            (Kernel::Matern { nu: 0.5, bandwidth: 3.0 }, Sampling::Structured),
        ] {
            for (rows, input_dim) in [(53, 70), (7, 300)] {
                let map = FeatureMap::sample(kernel, MapKind::Pair, sampling, 1, 130, input_dim);
                let inputs =
                    Array2::from_shape_fn((rows, input_dim), |(i, k)| ((i * input_dim + k) as f64 * 0.37).sin());
                check::<f32>(&map, &inputs);
                check::<f64>(&map, &inputs);
                let points = FeatureMap::at_points(kernel, inputs.mapv(|value| value * 0.9));
                check::<f32>(&points, &inputs);
                check::<f64>(&points, &inputs);
            }
        }
    }

    #[test]
    fn at_points_the_features_are_the_kernel() {
        let kernel = Kernel::Matern { bandwidth: 0.8, nu: 1.5 };
        let rows =
            |count: usize, step: f64| Array2::from_shape_fn((count, 3), |(i, k)| ((i * 3 + k) as f64 * step).sin());
        let (points, inputs) = (rows(70, 0.37), rows(60, 0.91));
        let features = FeatureMap::at_points(kernel, points.clone()).projector::<f64>().transform(inputs.view());
        assert_eq!(features.dim(), (60, 70));
        for ((row, column), feature) in features.indexed_iter() {
            assert!((feature - kernel.evaluate(inputs.row(row), points.row(column))).abs() < 1e-14);
        }
    }
}
