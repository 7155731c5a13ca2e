//! What the pool that features were chosen from tells about the effective dimension.

use super::Evidence;
use super::spectrum::effective_dimension;

/// Two λ whose ratio is this close to 1 are the same.
pub(crate) const SAME_RIDGE: f64 = 1e-9;

impl Evidence {
    /// λ of the scores that features were chosen by.
    pub(super) fn score_ridge(&self) -> Option<f64> {
        self.pool_degrees.first().map(|(ridge, _)| *ridge)
    }

    /// The sum of the leverages that features were drawn by, to which the draws that theorems require are proportional:
    /// d(λ) for scores at the λ of the model, and what the pool tells where they were made at a smaller one. The flag
    /// says whether it is exact.
    pub(super) fn leverage_sum(&self) -> Option<(f64, bool)> {
        let known = self.effective_dimension();
        match (self.pool_degrees.first(), known) {
            (Some((scored, degrees)), known) if (scored / self.ridge - 1.0).abs() > SAME_RIDGE => {
                Some((known.map_or(*degrees, |(dimension, _)| dimension.max(*degrees)), false))
            }
            (Some((_, degrees)), None) => Some((*degrees, false)),
            (_, known) => known,
        }
    }

    /// deg = Σ μ/(μ + λ) of the pool at λ, if it is known.
    pub(super) fn pool_degrees_at(&self, ridge: f64) -> Option<f64> {
        let spectrum = self.pool.as_ref().map(|pool| &pool.spectrum).filter(|spectrum| !spectrum.is_empty());
        let known = || self.pool_degrees.iter().find(|(at, _)| (at / ridge - 1.0).abs() <= SAME_RIDGE);
        spectrum.map(|spectrum| effective_dimension(spectrum, ridge)).or_else(|| known().map(|(_, degrees)| *degrees))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{Estimate, KernelEvidence, PoolEvidence};

    /// Scores at the λ of the model sum up to d(λ); scores at a smaller λ to more.
    #[test]
    fn the_sum_of_leverages_follows_the_lambda_of_the_scores() {
        let scored = |degrees: Vec<(f64, f64)>| Evidence { pool_degrees: degrees, ..ridge_fit() };
        assert_eq!(ridge_fit().leverage_sum(), None);
        assert_eq!(scored(vec![(0.7, 5.0)]).leverage_sum(), Some((5.0, false)));
        assert_eq!(scored(vec![(0.1, 9.0)]).leverage_sum(), Some((9.0, false)));
        let dimension = Estimate { value: 4.0, standard_error: 0.0 };
        let kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta: None });
        let known = |degrees| Evidence { kernel: kernel.clone(), ..scored(degrees) };
        assert_eq!(known(vec![(0.7, 5.0)]).leverage_sum(), Some((4.0, true)));
        assert_eq!(known(vec![(0.1, 9.0)]).leverage_sum(), Some((9.0, false)));
        assert_eq!(known(vec![(0.1, 3.0)]).leverage_sum(), Some((4.0, false)));
    }

    /// The spectrum of a pool serves every λ; without one only those that were computed are known.
    #[test]
    fn degrees_come_from_the_spectrum_or_from_what_was_computed() {
        let pool = |spectrum: Vec<f64>| PoolEvidence {
            candidate_count: 10,
            row_count: 300,
            spectrum,
            kernel_deviation: None,
            largest_leverages: Vec::new(),
        };
        let of = |spectrum| Evidence {
            pool: Some(pool(spectrum)),
            pool_degrees: vec![(0.1, 9.0), (0.01, 12.0)],
            ..ridge_fit()
        };
        assert_eq!(of(vec![0.7, 0.7]).pool_degrees_at(0.7), Some(1.0));
        assert_eq!((of(Vec::new()).pool_degrees_at(0.01), of(Vec::new()).pool_degrees_at(0.7)), (Some(12.0), None));
    }
}
