//! Distances between rows.

use ndarray::ArrayView1;

/// ‖x−x'‖².
pub fn squared(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// ‖x−x'‖₁.
pub fn absolute(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b).abs()).sum()
}

/// Partial sums of an inner product: the compiler keeps them in vectors.
const SUMS: usize = 8;

/// ⟨x,x'⟩. Without BLAS: what executors of a cluster run can reach this, and they have none.
pub fn inner_product(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    let (left, right) = (left.as_standard_layout(), right.as_standard_layout());
    let (left, last_left) = left.as_slice().expect("contiguous").as_chunks::<SUMS>();
    let (right, last_right) = right.as_slice().expect("contiguous").as_chunks::<SUMS>();
    let mut sums = [0.0; SUMS];
    for (left, right) in left.iter().zip(right) {
        for lane in 0..SUMS {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f64 = last_left.iter().zip(last_right).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// ‖x‖.
pub fn norm(vector: ArrayView1<f64>) -> f64 {
    inner_product(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, s};

    /// Whole numbers, so that every order of summation is exact; also of a view that is not contiguous.
    #[test]
    fn inner_products_of_any_length_are_right() {
        for length in [0, 1, 7, 8, 9, 40] {
            let left = Array1::from_shape_fn(2 * length, |i| (i % 7) as f64 - 3.0);
            let right = Array1::from_shape_fn(length, |i| (i % 5) as f64);
            let every_other = left.slice(s![..;2]);
            let expected: f64 = (0..length).map(|i| left[2 * i] * right[i]).sum();
            assert_eq!(inner_product(every_other, right.view()), expected);
        }
    }
}
