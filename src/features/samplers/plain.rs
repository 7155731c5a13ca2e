//! Independent draws from the kernel's spectral density.

use crate::features::{Frequencies, Kernel};
use crate::linalg::checkpoint;
use crate::random::{Purpose, Stream};
use ndarray::Array2;
use std::f64::consts::TAU;

/// Draws `count` frequencies, row j from random stream j.
pub(crate) fn sample(kernel: Kernel, seed: u64, count: usize, input_dim: usize) -> Frequencies {
    let mut frequencies = Array2::zeros((count, input_dim)); // m×d
    let mut uniforms = vec![0.0; kernel.uniforms_per_draw(input_dim)];
    for (j, mut row) in frequencies.rows_mut().into_iter().enumerate() {
        checkpoint();
        let mut stream = Stream::new(seed, Purpose::Frequencies, j as u64);
        uniforms.fill_with(|| stream.uniform());
        kernel.frequency(&uniforms, row.as_slice_mut().expect("a fresh array is row-major"));
    }
    Frequencies::Dense(frequencies)
}

/// Phase j from random stream j, uniform on (0, 2π); empty if the map has no phases.
pub(crate) fn phases(wanted: bool, seed: u64, count: usize) -> Vec<f64> {
    let phase = |j| TAU * Stream::new(seed, Purpose::Phases, j as u64).uniform();
    if wanted { (0..count).map(phase).collect() } else { Vec::new() }
}
