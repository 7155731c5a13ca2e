//! Reduction of a symmetric matrix to band form: G = Mᵀ B M with M orthogonal and B of a few diagonals.
//!
//! For (G + λI)⁻¹ at many λ it serves as well as an eigendecomposition, in a tenth of the time, since nearly all of the
//! work is matrix products. LAPACK's own reduction to band form (`dsytrd_sy2sb`) is not reachable through
//! ndarray-linalg, and is parallel only through BLAS threads, whose number may change the bits.

use super::{Lanes, Real, checkpoint, in_parallel};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, concatenate, s};
use pulp::{Arch, Simd, WithSimd};

/// Diagonals of B below the main one, and reflectors of one panel.
const BANDWIDTH: usize = 16;

/// Columns whose quadratic forms are computed together, and vectors of them held in registers: enough to hide the
/// latency of a multiplication.
pub const LANES: usize = 64;
const GROUP: usize = 8;

/// Panels merged into one before M is applied: wider products are faster.
const MERGED: usize = 8;

/// Rows of a product that one thread computes at once.
const CHUNK_ROWS: usize = 128;

/// B and M of a symmetric matrix.
pub struct Banded {
    /// `band[[i, k]]` = B at row i, k to the left of the diagonal.
    band: Array2<f64>,
    /// M.
    pub rotation: Reflectors<f64>,
}

impl Banded {
    /// Reduces a full symmetric matrix on up to `threads` threads.
    pub fn reduce(mut matrix: Array2<f64>, threads: usize) -> Self {
        let order = matrix.nrows();
        assert_eq!(matrix.ncols(), order);
        let mut panels = Vec::new();
        let mut start = 0;
        while start + BANDWIDTH + 1 < order {
            let first = start + BANDWIDTH;
            let (panel, triangle) = Panel::annihilating(matrix.slice(s![first.., start..first]), first);
            matrix.slice_mut(s![first.., start..first]).assign(&triangle);
            panel.apply_to_both_sides(matrix.slice_mut(s![first.., first..]), threads);
            panels.push(panel);
            start = first;
        }
        let band =
            Array2::from_shape_fn((order, BANDWIDTH + 1), |(i, k)| if k <= i { matrix[[i, i - k]] } else { 0.0 });
        let panels = panels.chunks(MERGED).map(Panel::merged).collect();
        Self { band, rotation: Reflectors { panels } }
    }

    /// B + λI = L D Lᵀ.
    pub fn factor(&self, shift: f64) -> ShiftedFactor {
        let order = self.band.nrows();
        let mut lower = Array2::<f64>::zeros((order, BANDWIDTH)); // lower[[i, k − 1]] = L at (i, i − k)
        let mut pivots = vec![0.0; order];
        // Products l·d of the current row, by column.
        let mut scaled = [0.0; BANDWIDTH + 1];
        for i in 0..order {
            let reach = i.min(BANDWIDTH);
            // From the leftmost column of the band to the diagonal.
            for k in (1..=reach).rev() {
                let column = i - k;
                let known = (k + 1..=reach).map(|left| {
                    let distance = left - k; // of that column from `column`
                    scaled[left] * lower[[column, distance - 1]]
                });
                scaled[k] = self.band[[i, k]] - known.sum::<f64>();
            }
            let mut pivot = self.band[[i, 0]] + shift;
            for k in 1..=reach {
                lower[[i, k - 1]] = scaled[k] / pivots[i - k];
                pivot -= scaled[k] * lower[[i, k - 1]];
            }
            // A pivot that is not positive comes from rounding: λ is too small for this matrix.
            pivots[i] = if pivot > 0.0 { pivot } else { f64::NAN };
        }
        ShiftedFactor { lower, pivots }
    }
}

/// L D Lᵀ of B + λI, L with ones on its diagonal. NaN where the matrix is not positive definite.
pub struct ShiftedFactor {
    /// `lower[[i, k − 1]]` = L at row i, k to the left of the diagonal.
    lower: Array2<f64>,
    /// The diagonal of D.
    pivots: Vec<f64>,
}

impl ShiftedFactor {
    /// Whether B + λI is positive definite.
    pub fn is_definite(&self) -> bool {
        self.pivots.iter().all(|pivot| pivot.is_finite())
    }

    /// (B + λI)⁻¹ b.
    pub fn solve(&self, b: ArrayView1<f64>) -> Array1<f64> {
        let mut x = b.to_owned();
        for (i, row) in self.lower.rows().into_iter().enumerate() {
            let known: f64 = row.iter().take(i).enumerate().map(|(k, value)| value * x[i - k - 1]).sum();
            x[i] -= known;
        }
        x.iter_mut().zip(&self.pivots).for_each(|(x, pivot)| *x /= pivot);
        for (i, row) in self.lower.rows().into_iter().enumerate().rev() {
            let own = x[i];
            row.iter().take(i).enumerate().for_each(|(k, value)| x[i - k - 1] -= value * own);
        }
        x
    }

    /// tr (B + λI)⁻¹, from only the entries of the inverse within the band, last row first:
    /// Z = D⁻¹L⁻¹ + (I − Lᵀ)Z gives each from those right of and below it.
    pub fn inverse_trace(&self) -> f64 {
        let order = self.pivots.len();
        let mut inverse = Array2::<f64>::zeros((order, BANDWIDTH + 1)); // inverse[[i, k]] = Z at (i, i + k)
        for i in (0..order).rev() {
            let reach = BANDWIDTH.min(order - 1 - i);
            for k in (0..=reach).rev() {
                let entry = |row: usize| {
                    let (small, large) = (row.min(i + k), row.max(i + k));
                    inverse[[small, large - small]]
                };
                let known: f64 = (1..=reach).map(|below| self.lower[[i + below, below - 1]] * entry(i + below)).sum();
                inverse[[i, k]] = if k == 0 { 1.0 / self.pivots[i] } else { 0.0 } - known;
            }
        }
        inverse.column(0).sum()
    }

    /// zᵀ(B + λI)⁻¹z of every column of Z, given by rows of [`LANES`]: with L v = z it is Σ v²/d.
    pub fn quadratic_forms(&self, z: &[f64]) -> [f64; LANES] {
        let mut sums = [0.0; LANES];
        Arch::new().dispatch(QuadraticForms { factor: self, z, sums: &mut sums });
        sums
    }
}

struct QuadraticForms<'a> {
    factor: &'a ShiftedFactor,
    z: &'a [f64],
    sums: &'a mut [f64; LANES],
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl WithSimd for QuadraticForms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lower = self.factor.lower.as_slice().expect("rows are contiguous");
        let zero = simd.splat_f64s(0.0);
        for (group, sums) in f64::vectors_mut::<S>(self.sums).chunks_exact_mut(GROUP).enumerate() {
            // The last rows of −v, each at its index modulo the bandwidth.
            let mut recent = [[zero; GROUP]; BANDWIDTH];
            let rows = self.z.chunks_exact(LANES).zip(lower.chunks_exact(BANDWIDTH)).zip(&self.factor.pivots);
            for (i, ((z, row), pivot)) in rows.enumerate() {
                let z = &f64::vectors::<S>(z)[group * GROUP..];
                let mut v: [S::f64s; GROUP] = std::array::from_fn(|lane| z[lane]);
                for (k, &factor) in row.iter().enumerate() {
                    // Before the first row the factors are zero.
                    let earlier = &recent[(i + BANDWIDTH - 1 - k) % BANDWIDTH];
                    let factor = simd.splat_f64s(factor);
                    for lane in 0..GROUP {
                        v[lane] = simd.mul_add_f64s(factor, earlier[lane], v[lane]);
                    }
                }
                let inverse = simd.splat_f64s(1.0 / pivot);
                for lane in 0..GROUP {
                    sums[lane] = simd.mul_add_f64s(simd.mul_f64s(v[lane], v[lane]), inverse, sums[lane]);
                    recent[i % BANDWIDTH][lane] = simd.neg_f64s(v[lane]);
                }
            }
        }
    }
}

/// M as a product of block reflectors.
pub struct Reflectors<T> {
    panels: Vec<Panel<T>>,
}

impl<T: Real> Reflectors<T> {
    /// Overwrites X (order×columns) with M X.
    pub fn rotate(&self, mut columns: ArrayViewMut2<T>) {
        for panel in &self.panels {
            panel.apply(columns.slice_mut(s![panel.first.., ..]), panel.triangle.t());
        }
    }

    /// Overwrites X with Mᵀ X.
    pub fn rotate_back(&self, mut columns: ArrayViewMut2<T>) {
        for panel in self.panels.iter().rev() {
            panel.apply(columns.slice_mut(s![panel.first.., ..]), panel.triangle.view());
        }
    }
}

impl Reflectors<f64> {
    /// M rounded to another precision.
    pub fn rounded<T: Real>(&self) -> Reflectors<T> {
        let rounded = |panel: &Panel<f64>| Panel {
            first: panel.first,
            vectors: panel.vectors.mapv(T::from_f64),
            triangle: panel.triangle.mapv(T::from_f64),
        };
        Reflectors { panels: self.panels.iter().map(rounded).collect() }
    }
}

/// Q = I − V T Vᵀ on the rows from `first` on.
struct Panel<T> {
    first: usize,
    /// V, rows×b.
    vectors: Array2<T>,
    /// T, b×b, upper triangular.
    triangle: Array2<T>,
}

impl Panel<f64> {
    /// Q with QᵀA = [R; 0] for a tall A, and that matrix.
    fn annihilating(block: ArrayView2<f64>, first: usize) -> (Self, Array2<f64>) {
        let (rows, columns) = block.dim();
        let count = columns.min(rows);
        // Both transposed, so that a column is contiguous.
        let mut work = block.t().as_standard_layout().into_owned();
        let mut vectors = Array2::<f64>::zeros((count, rows));
        let mut scales = Vec::with_capacity(count);
        for j in 0..count {
            let mut vector = work.slice(s![j, j..]).to_owned();
            let scale = reflector(&mut vector);
            for mut column in work.slice_mut(s![j.., j..]).rows_mut() {
                let along = scale * vector.dot(&column);
                column.scaled_add(-along, &vector);
            }
            work.slice_mut(s![j, j + 1..]).fill(0.0);
            vectors.slice_mut(s![j, j..]).assign(&vector);
            scales.push(scale);
        }
        let products = vectors.dot(&vectors.t()); // VᵀV
        let mut triangle = Array2::<f64>::zeros((count, count));
        for (j, &scale) in scales.iter().enumerate() {
            let column = triangle.slice(s![..j, ..j]).dot(&products.slice(s![..j, j])) * -scale;
            triangle.slice_mut(s![..j, j]).assign(&column);
            triangle[[j, j]] = scale;
        }
        let reduced = work.t().as_standard_layout().into_owned();
        (Self { first, vectors: vectors.t().as_standard_layout().into_owned(), triangle }, reduced)
    }

    /// Q₁Q₂… of panels that follow each other: (I − V₁T₁V₁ᵀ)(I − V₂T₂V₂ᵀ) has V = [V₁ V₂] and
    /// T = [T₁, −T₁V₁ᵀV₂T₂; 0, T₂].
    fn merged(panels: &[Self]) -> Self {
        let (first, rows) = (panels[0].first, panels[0].vectors.nrows());
        let count = panels.iter().map(|panel| panel.vectors.ncols()).sum();
        let mut vectors = Array2::zeros((rows, count));
        let mut triangle = Array2::zeros((count, count));
        let mut done = 0;
        for panel in panels {
            let next = done + panel.vectors.ncols();
            vectors.slice_mut(s![panel.first - first.., done..next]).assign(&panel.vectors);
            let overlap = vectors.slice(s![.., ..done]).t().dot(&vectors.slice(s![.., done..next]));
            let corner = -triangle.slice(s![..done, ..done]).dot(&overlap).dot(&panel.triangle);
            triangle.slice_mut(s![..done, done..next]).assign(&corner);
            triangle.slice_mut(s![done..next, done..next]).assign(&panel.triangle);
            done = next;
        }
        Self { first, vectors, triangle }
    }

    /// A ← QᵀAQ = A − VWᵀ − WVᵀ with W = AVT − ½V(TᵀVᵀAVT).
    fn apply_to_both_sides(&self, mut matrix: ArrayViewMut2<f64>, threads: usize) {
        let (v, t) = (&self.vectors, &self.triangle);
        let vt = v.dot(t);
        let mut w = Array2::zeros(vt.dim());
        let chunks = matrix.axis_chunks_iter(Axis(0), CHUNK_ROWS).zip(w.axis_chunks_iter_mut(Axis(0), CHUNK_ROWS));
        in_parallel(threads, chunks.collect(), |(rows, mut w)| general_mat_mul(1.0, &rows, &vt, 0.0, &mut w));
        let inner = vt.t().dot(&w); // TᵀVᵀAVT
        general_mat_mul(-0.5, v, &inner, 1.0, &mut w);
        let left = concatenate![Axis(1), *v, w];
        let right = concatenate![Axis(1), w, *v].reversed_axes();
        let chunks = matrix.axis_chunks_iter_mut(Axis(0), CHUNK_ROWS).zip(left.axis_chunks_iter(Axis(0), CHUNK_ROWS));
        in_parallel(threads, chunks.collect(), |(mut rows, left)| {
            general_mat_mul(-1.0, &left, &right, 1.0, &mut rows);
        });
    }
}

impl<T: Real> Panel<T> {
    /// X ← X − V S VᵀX, with S = Tᵀ for Qᵀ and T for Q.
    fn apply(&self, mut columns: ArrayViewMut2<T>, triangle: ArrayView2<T>) {
        checkpoint();
        let along = triangle.dot(&self.vectors.t().dot(&columns));
        general_mat_mul(T::from_f64(-1.0), &self.vectors, &along, T::one(), &mut columns);
    }
}

/// Overwrites x with v, v₁ = 1, and returns τ such that (I − τvvᵀ)x is a multiple of the first axis.
fn reflector(x: &mut Array1<f64>) -> f64 {
    let rest = x.slice(s![1..]);
    let (first, rest) = (x[0], rest.dot(&rest));
    if rest == 0.0 {
        x.fill(0.0);
        x[0] = 1.0;
        return 0.0;
    }
    let norm = first.hypot(rest.sqrt());
    let (target, first_less_target) = (-norm.copysign(first), first + norm.copysign(first));
    *x /= first_less_target;
    x[0] = 1.0;
    -first_less_target / target
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::symmetric_eigen;

    const ORDERS: [usize; 7] = [1, 2, 33, 34, 40, 150, 321];

    fn matrix(order: usize) -> Array2<f64> {
        let noise = Array2::from_shape_fn((order, order), |(i, j)| ((i * 31 + j * 17) as f64).sin());
        noise.t().dot(&noise) / order as f64
    }

    #[test]
    fn the_parts_rebuild_the_matrix() {
        for order in ORDERS {
            let full = matrix(order);
            let parts = Banded::reduce(full.clone(), 2);
            let mut band = Array2::zeros((order, order));
            for (i, k) in (0..order).flat_map(|i| (0..=BANDWIDTH.min(i)).map(move |k| (i, k))) {
                (band[[i, i - k]], band[[i - k, i]]) = (parts.band[[i, k]], parts.band[[i, k]]);
            }
            parts.rotation.rotate_back(band.view_mut()); // MᵀB
            let mut rebuilt = band.reversed_axes().as_standard_layout().into_owned();
            parts.rotation.rotate_back(rebuilt.view_mut());
            assert!((&rebuilt - &full).iter().all(|gap| gap.abs() < 1e-12), "{order}");

            let mut there_and_back = full.clone();
            parts.rotation.rotate(there_and_back.view_mut());
            parts.rotation.rotate_back(there_and_back.view_mut());
            assert!((&there_and_back - &full).iter().all(|gap| gap.abs() < 1e-12), "{order}");
            assert_eq!(parts.band, Banded::reduce(full, 3).band, "threads change nothing");
        }
    }

    /// Against the eigendecomposition, at λ from large to small.
    #[test]
    fn every_shift_is_solved_and_traced() {
        for (order, shift) in ORDERS.into_iter().flat_map(|order| [10.0, 0.3, 1e-4].map(|shift| (order, shift))) {
            let full = matrix(order);
            let (eigenvalues, vectors) = symmetric_eigen(full.clone()).unwrap();
            let parts = Banded::reduce(full, 1);
            let factor = parts.factor(shift);
            assert!(factor.is_definite());

            let trace: f64 = eigenvalues.iter().map(|mu| 1.0 / (mu + shift)).sum();
            assert!((factor.inverse_trace() / trace - 1.0).abs() < 1e-9, "{order} {shift}");

            let b = Array1::from_shape_fn(order, |i| (i as f64 * 0.7).cos());
            let in_eigenvectors = vectors.dot(&b);
            let expected = vectors.t().dot(&(&in_eigenvectors / &(&eigenvalues + shift)));
            let mut columns = b.clone().insert_axis(Axis(1));
            parts.rotation.rotate(columns.view_mut());
            let z: Vec<f64> =
                columns.iter().flat_map(|&value| (0..LANES).map(move |lane| value * lane as f64)).collect();
            let forms = factor.quadratic_forms(&z);
            let mut solved = factor.solve(columns.column(0)).insert_axis(Axis(1));
            parts.rotation.rotate_back(solved.view_mut());
            let size = expected.dot(&expected).sqrt();
            assert!((&solved.column(0) - &expected).iter().all(|gap| gap.abs() < 1e-9 * size), "{order} {shift}");
            let form = |lane: usize| b.dot(&expected) * (lane * lane) as f64;
            assert!((0..LANES).all(|lane| (forms[lane] - form(lane)).abs() <= 1e-9 * form(lane)), "{order} {shift}");
        }
    }

    #[test]
    fn a_shift_too_small_is_reported_as_indefinite() {
        let negative = -Array2::<f64>::eye(3);
        assert!(!Banded::reduce(negative.clone(), 1).factor(0.5).is_definite());
        assert!(Banded::reduce(negative, 1).factor(1.5).is_definite());
    }
}
