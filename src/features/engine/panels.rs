//! Products of inputs with dense frequencies, in one precision.
//!
//! BLAS chooses its kernel by the shape of a product, so that the last bits of a row change with the batch it is in. Here
//! every angle is Σₖ xₖvₖ with fused multiply-adds in the order of k, in any batch.

use crate::linalg::{Aligned, Real, bulk_instructions, checkpoint};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use pulp::{Arch, Simd, WithSimd};

/// Bytes of one input's weights in a panel: two vectors of AVX-512, or twice two of AVX2.
const PANEL_BYTES: usize = 128;

/// Panels that one row is multiplied with together: eight sums hide the latency of an addition.
const GROUP: usize = 4;

/// Rows that share the loads of a panel: twelve sums and two weights fill sixteen registers.
const TILE_ROWS: usize = 6;

/// A remainder of at least this many rows is padded with zeros to a whole tile, so that the weights are loaded once.
const WORTH_A_TILE: usize = 3;

/// Inputs summed over before the next rows: their weights in a panel stay in the first-level cache.
const DEPTH: usize = 256;

/// After so many times as many inputs there is a question whether to stop: with fewer, a whole product takes no longer.
const DEPTHS_AT_ONCE: usize = 16;

/// V cut into panels of a few draws, each stored d×width.
pub(crate) struct Panels<T> {
    input_dim: usize,
    /// m, padded with zeros to whole groups of panels.
    stride: usize,
    cells: Aligned<T>,
}

impl<T: Real> Panels<T> {
    const WIDTH: usize = PANEL_BYTES / size_of::<T>();

    /// From V, m×d.
    pub(crate) fn new(frequencies: ArrayView2<f64>) -> Self {
        let (draw_count, input_dim) = frequencies.dim();
        let stride = draw_count.next_multiple_of(GROUP * Self::WIDTH);
        let mut cells = Aligned::zeros(stride * input_dim);
        for (j, frequency) in frequencies.rows().into_iter().enumerate() {
            if j % Self::WIDTH == 0 {
                checkpoint();
            }
            let panel = &mut cells[j / Self::WIDTH * Self::WIDTH * input_dim..];
            for (weights, value) in panel.chunks_exact_mut(Self::WIDTH).zip(frequency) {
                weights[j % Self::WIDTH] = T::from_f64(*value);
            }
        }
        Self { input_dim, stride, cells }
    }

    /// Angles per row: m, padded.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// vᵀx of every draw for each row: `inputs` is rows×d, `angles` rows×stride.
    pub(crate) fn project(&self, arch: Arch, inputs: &[T], angles: &mut [T]) {
        let rest_rows = inputs.len() / self.input_dim % TILE_ROWS;
        let alone = if rest_rows < WORTH_A_TILE { rest_rows * self.input_dim } else { 0 };
        let (tiled, rest) = inputs.split_at(inputs.len() - alone);
        let mut packed = Vec::with_capacity(tiled.len().div_ceil(TILE_ROWS * self.input_dim) * self.input_dim);
        for tile in tiled.chunks(TILE_ROWS * self.input_dim) {
            let cell = |row: usize, k: usize| tile.get(row * self.input_dim + k).copied().unwrap_or(T::zero());
            packed.extend((0..self.input_dim).map(|k| std::array::from_fn(|row| cell(row, k))));
        }
        angles[..tiled.len() / self.input_dim * self.stride].fill(T::zero());
        arch.dispatch(Project { panels: self, tiles: &packed, rest, angles });
    }
}

/// Rows between two questions whether to stop, a multiple of a tile.
const PROJECTED_AT_ONCE: usize = 48;

/// VR for V (m×d) and R (d×d), each number with fused multiply-adds in the order of k: the same bits on every machine.
pub(crate) fn projected(rows: ArrayView2<f64>, root: ArrayView2<f64>) -> Array2<f64> {
    let panels = Panels::<f64>::new(root.t());
    let mut products = Array2::zeros((rows.nrows(), root.ncols()));
    let mut padded = vec![0.0; PROJECTED_AT_ONCE * panels.stride()];
    let chunks = products.axis_chunks_iter_mut(Axis(0), PROJECTED_AT_ONCE);
    for (rows, mut products) in rows.axis_chunks_iter(Axis(0), PROJECTED_AT_ONCE).zip(chunks) {
        checkpoint();
        let rows = rows.as_standard_layout();
        let padded = &mut padded[..rows.nrows() * panels.stride()];
        panels.project(bulk_instructions(), rows.as_slice().expect("row-major"), padded);
        for (mut product, padded) in products.rows_mut().into_iter().zip(padded.chunks_exact(panels.stride())) {
            product.assign(&ArrayView1::from(&padded[..root.ncols()]));
        }
    }
    products
}

/// A struct and not a closure, for the reason given in `hadamard`.
struct Project<'a, T> {
    panels: &'a Panels<T>,
    /// Tile by tile: d times one input of its rows.
    tiles: &'a [[T; TILE_ROWS]],
    /// The rows after the last tile.
    rest: &'a [T],
    /// Zeros where there are tiles.
    angles: &'a mut [T],
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> WithSimd for Project<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Panels { input_dim, stride, ref cells } = *self.panels;
        let width = Panels::<T>::WIDTH;
        let tiled = self.angles.len() - self.rest.len() / input_dim * stride;
        let (tile_angles, rest_angles) = self.angles.split_at_mut(tiled);
        // Groups outermost: the frequencies come from memory once, the rows stay in the cache.
        for (group, cells) in cells.chunks_exact(GROUP * width * input_dim).enumerate() {
            let first = group * GROUP * width;
            for (panel, cells) in cells.chunks_exact(width * input_dim).enumerate() {
                for (depth, cells) in cells.chunks(DEPTH * width).enumerate() {
                    if depth % DEPTHS_AT_ONCE == DEPTHS_AT_ONCE - 1 {
                        checkpoint();
                    }
                    let tiles = self.tiles.chunks_exact(input_dim);
                    for (tile, angles) in tiles.zip(tile_angles.chunks_mut(TILE_ROWS * stride)) {
                        add_tile(simd, cells, &tile[depth * DEPTH..], first + panel * width, (angles, stride));
                    }
                }
            }
            for (row, angles) in self.rest.chunks_exact(input_dim).zip(rest_angles.chunks_exact_mut(stride)) {
                fill_row(simd, cells, row, &mut angles[first..first + GROUP * width]);
            }
        }
    }
}

/// Adds Σₖ xₖvₖ over the inputs of `cells` (depth×width) to the angles of the rows that a tile has, from draw `first`
/// on.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn add_tile<S: Simd, T: Real>(
    simd: S,
    cells: &[T],
    tile: &[[T; TILE_ROWS]],
    first: usize,
    (angles, stride): (&mut [T], usize),
) {
    let width = Panels::<T>::WIDTH;
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    // Two vectors at a time; with AVX-512 that is the whole width.
    for offset in (0..width).step_by(2 * lanes) {
        let mut sums = [[T::splat(simd, T::zero()); 2]; TILE_ROWS];
        for (sums, angles) in sums.iter_mut().zip(angles.chunks_exact(stride)) {
            sums.copy_from_slice(&T::vectors::<S>(&angles[first + offset..])[..2]);
        }
        for (weights, values) in cells.chunks_exact(width).zip(tile) {
            let weights = T::vectors::<S>(&weights[offset..offset + 2 * lanes]);
            let weights = [weights[0], weights[1]];
            for (sums, value) in sums.iter_mut().zip(values) {
                let value = T::splat(simd, *value);
                sums[0] = T::multiply_add(simd, value, weights[0], sums[0]);
                sums[1] = T::multiply_add(simd, value, weights[1], sums[1]);
            }
        }
        for (sums, angles) in sums.iter().zip(angles.chunks_exact_mut(stride)) {
            T::vectors_mut::<S>(&mut angles[first + offset..])[..2].copy_from_slice(sums);
        }
    }
}

/// Σₖ xₖvₖ of one row and the draws of a group of panels.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn fill_row<S: Simd, T: Real>(simd: S, cells: &[T], row: &[T], angles: &mut [T]) {
    let width = Panels::<T>::WIDTH;
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let (vectors, angles) = (T::vectors::<S>(cells), T::vectors_mut::<S>(angles));
    let panel = vectors.len() / GROUP;
    let panels: [_; GROUP] = std::array::from_fn(|p| vectors[p * panel..][..panel].chunks_exact(width / lanes));
    for offset in (0..width / lanes).step_by(2) {
        let mut sums = [[T::splat(simd, T::zero()); 2]; GROUP];
        let [a, b, c, d] = panels.clone();
        for ((((value, a), b), c), d) in row.iter().zip(a).zip(b).zip(c).zip(d) {
            let value = T::splat(simd, *value);
            for (sums, weights) in sums.iter_mut().zip([a, b, c, d]) {
                sums[0] = T::multiply_add(simd, value, weights[offset], sums[0]);
                sums[1] = T::multiply_add(simd, value, weights[offset + 1], sums[1]);
            }
        }
        for (sums, angles) in sums.iter().zip(angles.chunks_exact_mut(width / lanes)) {
            angles[offset..offset + 2].copy_from_slice(sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::InstructionSet;

    fn panels_and_inputs(draws: usize, input_dim: usize, rows: usize) -> (Array2<f64>, Array2<f64>) {
        let frequencies = Array2::from_shape_fn((draws, input_dim), |(j, k)| ((j * input_dim + k) as f64 * 0.7).cos());
        let inputs = Array2::from_shape_fn((rows, input_dim), |(i, k)| ((i * input_dim + k) as f64 * 0.37).sin());
        (frequencies, inputs)
    }

    fn agrees<T: Real>(draws: usize, input_dim: usize, rows: usize, tolerance: f64) {
        let (frequencies, inputs) = panels_and_inputs(draws, input_dim, rows);
        let panels = Panels::<T>::new(frequencies.view());
        let cells: Vec<T> = inputs.iter().map(|value| T::from_f64(*value)).collect();
        let mut angles = vec![T::one(); rows * panels.stride()];
        panels.project(bulk_instructions(), &cells, &mut angles);
        for set in InstructionSet::ALL.into_iter().filter_map(InstructionSet::arch) {
            let mut again = vec![T::one(); angles.len()];
            panels.project(set, &cells, &mut again);
            assert!(again.iter().zip(&angles).all(|(one, other)| one.to_f64().to_bits() == other.to_f64().to_bits()));
        }
        for (input, angles) in inputs.rows().into_iter().zip(angles.chunks(panels.stride())) {
            for (frequency, angle) in frequencies.rows().into_iter().zip(angles) {
                let exact: f64 = frequency.iter().zip(input).map(|(v, x)| v * x).sum();
                assert!((angle.to_f64() - exact).abs() < tolerance, "m = {draws}, d = {input_dim}, rows {rows}");
            }
        }
    }

    #[test]
    fn it_is_the_product_at_any_shape() {
        for (draws, input_dim, rows) in [(1, 1, 1), (5, 3, 7), (64, 8, 6), (65, 90, 13), (200, 256, 12), (100, 600, 17)]
        {
            agrees::<f64>(draws, input_dim, rows, 1e-12);
            agrees::<f32>(draws, input_dim, rows, 1e-4);
        }
    }

    /// Also of a matrix that is not symmetric, and for numbers of rows that do not come out even.
    #[test]
    fn a_projection_is_the_product() {
        for (rows, inputs) in [(1, 1), (100, 5), (97, 40)] {
            let (root, values) = panels_and_inputs(inputs, inputs, rows);
            let gaps = projected(values.view(), root.view()) - values.dot(&root);
            assert!(gaps.iter().all(|gap| gap.abs() < 1e-12), "{rows}×{inputs}");
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others() {
        let (frequencies, inputs) = panels_and_inputs(150, 300, 20);
        let panels = Panels::<f32>::new(frequencies.view());
        let cells: Vec<f32> = inputs.iter().map(|value| *value as f32).collect();
        let mut together = vec![0.0; 20 * panels.stride()];
        panels.project(bulk_instructions(), &cells, &mut together);
        for (input, expected) in cells.chunks(300).zip(together.chunks(panels.stride())) {
            let mut alone = vec![0.0; panels.stride()];
            panels.project(crate::linalg::instructions_for(1), input, &mut alone);
            assert_eq!(alone, expected);
        }
    }
}
