//! The units in which a Gram matrix and the sums beside it are counted.

use crate::linalg::Real;
use crate::sums::{GridInt, exponent_above, power_of_two};
use ndarray::ArrayView2;

/// Upper bounds of what is summed, over all rows that will ever be added.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// Of every |ψⱼ|.
    pub feature: f64,
    /// Of Σ c; n without weights.
    pub weight: f64,
    /// Of |y| for each target.
    pub targets: Vec<f64>,
}

impl Reach {
    /// That of these rows: features rows×s, targets rows×k, and one weight a row unless all count the same.
    pub fn of<T: Real>(features: ArrayView2<T>, targets: ArrayView2<f64>, weights: Option<&[f64]>) -> Self {
        let largest = |largest: f64, value: f64| largest.max(value.abs());
        Self {
            feature: features.iter().map(|value| value.to_f64()).fold(0.0, largest),
            weight: weights.map_or(targets.nrows() as f64, |weights| weights.iter().sum()),
            targets: targets.columns().into_iter().map(|column| column.iter().copied().fold(0.0, largest)).collect(),
        }
    }

    /// Covers more rows, with as many targets.
    pub fn include(&mut self, other: &Self) {
        self.feature = self.feature.max(other.feature);
        self.weight += other.weight;
        self.targets.iter_mut().zip(&other.targets).for_each(|(target, other)| *target = target.max(*other));
    }
}

/// The integers that count products of features. Sums beside the matrix are few and always counted in 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 64 bits, where the bound of the features is known to be near their size: a sum then has 58 or more of them.
    Narrow,
    /// 128 bits, where a few rows may have features far larger than all others.
    Wide,
}

/// Bounds as powers of two, and the units that follow from them: no sum can leave its integers, and no sum is rounded
/// more coarsely than this makes necessary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GramGrid {
    pub(crate) width: Width,
    /// |ψⱼ| ≤ 2^feature.
    pub(crate) feature: i32,
    /// Σ c ≤ 2^weight.
    pub(crate) weight: i32,
    /// |y| ≤ 2^target.
    pub(crate) targets: Vec<i32>,
}

/// Units are kept in this range of powers of two, in which they and their inverses are normal numbers.
const UNITS: i32 = 960;

impl GramGrid {
    /// The finest grid for sums within these bounds.
    pub fn new(reach: &Reach, width: Width) -> Self {
        Self {
            width,
            feature: exponent_above(reach.feature),
            weight: exponent_above(reach.weight),
            targets: reach.targets.iter().map(|target| exponent_above(*target)).collect(),
        }
    }

    /// k.
    pub fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// Σ c ψψᵀ.
    pub(crate) fn products(&self) -> Unit {
        match self.width {
            Width::Narrow => Unit::below::<i64>(self.weight + 2 * self.feature),
            Width::Wide => Unit::below::<i128>(self.weight + 2 * self.feature),
        }
    }

    /// Σ c y ψ.
    pub(crate) fn moments(&self, target: usize) -> Unit {
        Unit::below::<i128>(self.weight + self.feature + self.targets[target])
    }

    /// Σ c ψ.
    pub(crate) fn features(&self) -> Unit {
        Unit::below::<i128>(self.weight + self.feature)
    }

    /// Σ c y.
    pub(crate) fn targets(&self, target: usize) -> Unit {
        Unit::below::<i128>(self.weight + self.targets[target])
    }

    /// Σ c y².
    pub(crate) fn target_squares(&self, target: usize) -> Unit {
        Unit::below::<i128>(self.weight + 2 * self.targets[target])
    }

    /// Σ c.
    pub(crate) fn weight(&self) -> Unit {
        Unit::below::<i128>(self.weight)
    }
}

/// A power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit(i32);

impl Unit {
    /// The smallest whose multiples up to 2^`exponent` are within the limit of these integers.
    fn below<I: GridInt>(exponent: i32) -> Self {
        Self((exponent - I::LIMIT).clamp(-UNITS, UNITS))
    }

    /// Multiples of the unit in 1.
    pub(crate) fn scale(self) -> f64 {
        power_of_two(-self.0)
    }

    /// So many units.
    pub(crate) fn times<I: GridInt>(self, count: I) -> f64 {
        count.to_f64() * power_of_two(self.0)
    }
}
