//! Spread, error bars and sums: what only some models keep.

use super::Numbers;
use crate::model::{ErrorBars, Spread, Statistics, TargetCoding};
use crate::solver::PackedGram;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredSpread<'a> {
    noise_variances: Numbers<'a>,
    sample_count: usize,
    /// The lower triangle, row by row.
    factor: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredErrorBars<'a> {
    group_count: usize,
    /// Outputs × groups × s.
    weights: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredStatistics<'a> {
    /// The lower triangle, row by row.
    products: Numbers<'a>,
    /// k×s, row by row.
    moments: Numbers<'a>,
    features: Numbers<'a>,
    targets: Numbers<'a>,
    target_squares: Numbers<'a>,
    weight: f64,
    sample_count: usize,
    coding: StoredCoding<'a>,
}

#[derive(Serialize, Deserialize)]
enum StoredCoding<'a> {
    Numbers { shift: Numbers<'a>, unit: Numbers<'a> },
    Classes { count: usize },
}

impl<'a> From<&'a Spread> for StoredSpread<'a> {
    fn from(Spread { noise_variances, sample_count, factor }: &'a Spread) -> Self {
        Self { noise_variances: noise_variances.into(), sample_count: *sample_count, factor: factor.into() }
    }
}

impl From<StoredSpread<'_>> for Spread {
    fn from(stored: StoredSpread) -> Self {
        Self {
            noise_variances: stored.noise_variances.into_owned(),
            sample_count: stored.sample_count,
            factor: stored.factor.into_owned(),
        }
    }
}

impl<'a> From<&'a ErrorBars> for StoredErrorBars<'a> {
    fn from(ErrorBars { group_count, weights }: &'a ErrorBars) -> Self {
        Self { group_count: *group_count, weights: weights.into() }
    }
}

impl From<StoredErrorBars<'_>> for ErrorBars {
    fn from(stored: StoredErrorBars) -> Self {
        Self { group_count: stored.group_count, weights: stored.weights.into_owned() }
    }
}

impl<'a> From<&'a Statistics> for StoredStatistics<'a> {
    fn from(Statistics { gram, coding }: &'a Statistics) -> Self {
        Self {
            products: (&gram.products).into(),
            moments: (&gram.moments).into(),
            features: (&gram.features).into(),
            targets: (&gram.targets).into(),
            target_squares: (&gram.target_squares).into(),
            weight: gram.weight,
            sample_count: gram.sample_count,
            coding: match coding {
                TargetCoding::Numbers { shift, unit } => {
                    StoredCoding::Numbers { shift: shift.into(), unit: unit.into() }
                }
                TargetCoding::Classes { count } => StoredCoding::Classes { count: *count },
            },
        }
    }
}

impl From<StoredStatistics<'_>> for Statistics {
    fn from(stored: StoredStatistics) -> Self {
        Self {
            gram: PackedGram {
                products: stored.products.into_owned(),
                moments: stored.moments.into_owned(),
                features: stored.features.into_owned(),
                targets: stored.targets.into_owned(),
                target_squares: stored.target_squares.into_owned(),
                weight: stored.weight,
                sample_count: stored.sample_count,
            },
            coding: match stored.coding {
                StoredCoding::Numbers { shift, unit } => {
                    TargetCoding::Numbers { shift: shift.into_owned(), unit: unit.into_owned() }
                }
                StoredCoding::Classes { count } => TargetCoding::Classes { count },
            },
        }
    }
}
