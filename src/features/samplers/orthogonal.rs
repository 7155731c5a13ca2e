//! Orthogonal directions with independent norms.
//! [Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016, *Orthogonal random features*]
//!
//! Blocks of d directions are orthonormal; each gets the norm that an independent draw would have
//! had, so every single frequency has the kernel's own distribution and the estimate is unbiased.

use crate::features::{Frequencies, Kernel};
use crate::linalg::checkpoint;
use crate::random::{Purpose, Stream};
use ndarray::Array2;

/// Draws `count` frequencies. Rows of a block are orthogonalised in order, so that a shorter sample is a prefix of a
/// longer one.
pub(crate) fn sample(kernel: Kernel, seed: u64, count: usize, input_dim: usize) -> Frequencies {
    let mut frequencies = Array2::zeros((count, input_dim)); // m×d
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(input_dim);
    for j in 0..count {
        if j % input_dim == 0 {
            basis.clear();
        }
        let mut stream = Stream::new(seed, Purpose::Directions, j as u64);
        let direction = orthonormal_to(&basis, std::iter::repeat_with(|| stream.normal()).take(input_dim).collect());
        let norm = radius(kernel, seed, j, input_dim);
        for (coordinate, unit) in frequencies.row_mut(j).iter_mut().zip(&direction) {
            *coordinate = norm * unit;
        }
        basis.push(direction);
    }
    Frequencies::Dense(frequencies)
}

/// ‖v‖ of an independent draw in `dimension` dimensions: a chi variable times the kernel's factor.
pub(crate) fn radius(kernel: Kernel, seed: u64, j: usize, dimension: usize) -> f64 {
    checkpoint(); // of thousands of dimensions, a norm takes a while
    let mut stream = Stream::new(seed, Purpose::Norms, j as u64);
    let stretch = kernel.stretch(stream.uniform()).expect("checked: the spectral density is isotropic");
    let square: f64 = (0..dimension).map(|_| stream.normal().powi(2)).sum();
    square.sqrt() * stretch
}

/// The unit vector along the part of `vector` that is orthogonal to `basis`. Gram–Schmidt twice: once loses
/// orthogonality, twice is enough. [Parlett 1998, §6.9]
fn orthonormal_to(basis: &[Vec<f64>], mut vector: Vec<f64>) -> Vec<f64> {
    let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    for _ in 0..2 {
        for other in basis {
            let overlap = dot(other, &vector);
            vector.iter_mut().zip(other).for_each(|(value, part)| *value -= overlap * part);
        }
    }
    let norm = dot(&vector, &vector).sqrt();
    for value in &mut vector {
        *value /= norm;
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_of_a_block_are_orthogonal() {
        let kernel = Kernel::Gaussian { bandwidth: 1.0 };
        let Frequencies::Dense(frequencies) = sample(kernel, 3, 25, 10) else { panic!("dense") };
        let products = frequencies.dot(&frequencies.t());
        for i in 0..25 {
            for j in 0..i {
                let same_block = i / 10 == j / 10;
                let cosine = products[[i, j]] / (products[[i, i]] * products[[j, j]]).sqrt();
                assert!(!same_block || cosine.abs() < 1e-14, "{i} {j}: {cosine}");
            }
        }
    }
}
