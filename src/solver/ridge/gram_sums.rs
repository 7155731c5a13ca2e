//! The sums of a Gram matrix while rows are added: integers, so that they are the same for any order of the blocks.

use super::gram::{Gram, Sums};
use super::gram_grid::{GramGrid, Reach, Unit, Width};
use crate::linalg::{Real, add_outer_products};
use crate::solver::BlockGram;
use crate::sums::GridInt;
use ndarray::{Array1, Array2, ArrayView2};

/// A sum is not finite, or larger than the bounds that its grid was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sums of features and targets are too large or not finite; scale the inputs, or divide inputs and targets by a \
     constant"
)]
pub struct OffGrid;

/// Why two sums cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They do not belong together.
    #[error("the sums were made for different bounds, or for different numbers of features or targets")]
    OtherGrid,
    /// Their sum is beyond the bounds of the grid.
    #[error(transparent)]
    OffGrid(#[from] OffGrid),
}

/// Statistics of blocks of rows as multiples of the units of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct GramSums {
    pub(super) grid: GramGrid,
    pub(super) products: Products,
    /// k×s, row by row.
    pub(super) moments: Vec<i128>,
    pub(super) features: Vec<i128>,
    pub(super) targets: Vec<i128>,
    pub(super) target_squares: Vec<i128>,
    pub(super) weight: i128,
    pub(super) sample_count: u64,
}

/// Lower triangle of Σ c ψψᵀ, s×s.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Products {
    Narrow(Array2<i64>),
    Wide(Array2<i128>),
}

impl Products {
    /// In f64, each rounded once. 64-bit integers make room for them in place.
    fn into_matrix(self, unit: Unit) -> Array2<f64> {
        match self {
            Self::Narrow(products) => in_f64(products, unit),
            Self::Wide(products) => in_f64(products, unit),
        }
    }
}

fn in_f64<I: GridInt>(counts: Array2<I>, unit: Unit) -> Array2<f64> {
    let shape = counts.raw_dim();
    // Standard layout from the first cell on: the vector is the matrix. `collect` reuses its memory where sizes agree.
    let (counts, _) = counts.into_raw_vec_and_offset();
    let values = counts.into_iter().map(|count| unit.times(count)).collect();
    Array2::from_shape_vec(shape, values).expect("one value for each count")
}

impl GramSums {
    /// The sums of no rows.
    pub fn new(feature_count: usize, grid: GramGrid) -> Self {
        let (shape, k) = ((feature_count, feature_count), grid.targets.len());
        Self {
            products: match grid.width {
                Width::Narrow => Products::Narrow(Array2::zeros(shape)),
                Width::Wide => Products::Wide(Array2::zeros(shape)),
            },
            moments: vec![0; k * feature_count],
            features: vec![0; feature_count],
            targets: vec![0; k],
            target_squares: vec![0; k],
            weight: 0,
            sample_count: 0,
            grid,
        }
    }

    /// The sums of rows at hand: features rows×s, targets rows×k, and one weight a row unless all count the same.
    pub fn of<T: Real>(
        features: Array2<T>,
        targets: ArrayView2<f64>,
        weights: Option<&[f64]>,
    ) -> Result<Self, OffGrid> {
        let grid = GramGrid::new(&Reach::of(features.view(), targets, weights), Width::Narrow);
        let mut sums = Self::new(features.ncols(), grid);
        sums.add(&[BlockGram::of(features, targets, weights)], 1)?;
        Ok(sums)
    }

    /// Adds blocks. Every [`BLOCKS_TOGETHER`](crate::linalg::BLOCKS_TOGETHER) of them are rounded once, and the bits are
    /// the same for any number of threads. After an error the sums are of no use.
    pub fn add<T: Real>(&mut self, blocks: &[BlockGram<T>], threads: usize) -> Result<(), OffGrid> {
        let rows: Vec<_> = blocks.iter().map(BlockGram::rows).collect();
        let scale = self.grid.products().scale();
        let fit = match &mut self.products {
            Products::Narrow(products) => add_outer_products(&rows, products, scale, threads),
            Products::Wide(products) => add_outer_products(&rows, products, scale, threads),
        };
        if !fit {
            return Err(OffGrid);
        }
        blocks.iter().try_for_each(|block| self.add_sums(block.sums()))
    }

    fn add_sums(&mut self, block: &Sums) -> Result<(), OffGrid> {
        let grid = &self.grid;
        let s = self.features.len();
        add_rounded(&mut self.features, block.features.iter(), grid.features())?;
        for (target, moments) in block.moments.rows().into_iter().enumerate() {
            add_rounded(&mut self.moments[target * s..][..s], moments.iter(), grid.moments(target))?;
            add_rounded(&mut self.targets[target..=target], [&block.targets[target]], grid.targets(target))?;
            let squares = [&block.target_squares[target]];
            add_rounded(&mut self.target_squares[target..=target], squares, grid.target_squares(target))?;
        }
        add_rounded(std::slice::from_mut(&mut self.weight), [&block.weight], grid.weight())?;
        self.sample_count += block.sample_count as u64;
        Ok(())
    }

    /// s.
    pub fn feature_count(&self) -> usize {
        self.features.len()
    }

    /// The units, and with them the number of targets.
    pub fn grid(&self) -> &GramGrid {
        &self.grid
    }

    /// n, the rows so far.
    pub fn row_count(&self) -> u64 {
        self.sample_count
    }

    /// Adds the sums of other rows, made for the same grid.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.grid != other.grid || self.features.len() != other.features.len() {
            return Err(MergeError::OtherGrid);
        }
        match (&mut self.products, &other.products) {
            (Products::Narrow(sums), Products::Narrow(more)) => add_matrix(sums, more)?,
            (Products::Wide(sums), Products::Wide(more)) => add_matrix(sums, more)?,
            (Products::Narrow(_), Products::Wide(_)) | (Products::Wide(_), Products::Narrow(_)) => {
                return Err(MergeError::OtherGrid);
            }
        }
        add_all(&mut self.moments, &other.moments)?;
        add_all(&mut self.features, &other.features)?;
        add_all(&mut self.targets, &other.targets)?;
        add_all(&mut self.target_squares, &other.target_squares)?;
        add_all(std::slice::from_mut(&mut self.weight), &[other.weight])?;
        self.sample_count += other.sample_count;
        Ok(())
    }

    /// The statistics in f64: every sum is rounded once.
    pub fn finish(self) -> Gram {
        let (grid, s, k) = (&self.grid, self.features.len(), self.targets.len());
        let products = self.products.into_matrix(grid.products());
        let by_target = |counts: &[i128], unit: &dyn Fn(usize) -> Unit| {
            Array1::from_shape_fn(k, |target| unit(target).times(counts[target]))
        };
        Gram::from_sums(
            products,
            Sums {
                moments: Array2::from_shape_fn((k, s), |(target, j)| {
                    grid.moments(target).times(self.moments[target * s + j])
                }),
                features: self.features.iter().map(|count| grid.features().times(*count)).collect(),
                targets: by_target(&self.targets, &|target| grid.targets(target)),
                target_squares: by_target(&self.target_squares, &|target| grid.target_squares(target)),
                weight: grid.weight().times(self.weight),
                sample_count: self.sample_count as usize,
            },
        )
    }
}

fn add_rounded<'v>(sums: &mut [i128], values: impl IntoIterator<Item = &'v f64>, unit: Unit) -> Result<(), OffGrid> {
    let scale = unit.scale();
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.checked_plus(value * scale).ok_or(OffGrid)?;
    }
    Ok(())
}

fn add_all<I: GridInt>(sums: &mut [I], more: &[I]) -> Result<(), OffGrid> {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.plus(*more);
        if !sum.fits() {
            return Err(OffGrid);
        }
    }
    Ok(())
}

fn add_matrix<I: GridInt>(sums: &mut Array2<I>, more: &Array2<I>) -> Result<(), OffGrid> {
    let (Some(sums), Some(more)) = (sums.as_slice_mut(), more.as_slice()) else { return Err(OffGrid) };
    add_all(sums, more)
}
