//! How many candidates a search affords, and on how many features.

use crate::training::spec::effort::SearchSize;

/// Features of a candidate's fit, largest first.
const FEATURES: [usize; 5] = [1_024, 768, 512, 384, 256];

/// Candidates that every search tries, however small the fit is that they are for.
const FEWEST: usize = 24;

/// Candidates of the final, and the work on them in units of that on all before.
pub(super) const FINALS: usize = 5;
const FINAL_SHARE: f64 = 1.1;

/// Rows of a final on more features than rows, where not all are affordable, largest first.
const ROWS: [usize; 4] = [1_536, 1_024, 768, 512];

/// λ that such a fit tries, about.
const TRIED_LAMBDAS: f64 = 5.0;

/// The size of a table and of a model for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FitSize {
    pub(super) rows: usize,
    pub(super) inputs: usize,
    pub(super) features: usize,
    /// Whether these can be fitted by the system of the rows.
    pub(super) by_rows: bool,
}

/// What a search has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    /// Of each candidate's fit, even.
    pub(super) features: usize,
    pub(super) candidates: usize,
    pub(super) finals: Option<Finals>,
}

/// The fits of the final, if better ones are affordable for so few candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finals {
    /// On more features.
    Features(usize),
    /// On those of the model, which outnumber these rows.
    Rows { rows: usize, features: usize },
    /// Without features.
    Kernel,
}

impl Finals {
    /// Of the fits; 0 without features.
    pub(super) fn features(self) -> usize {
        match self {
            Self::Features(features) | Self::Rows { features, .. } => features,
            Self::Kernel => 0,
        }
    }
}

impl FitSize {
    /// Products of one fit: rows by squared features in f32, the factor, and the features.
    fn operations(self) -> f64 {
        let [n, d, s] = [self.rows, self.inputs, self.features].map(|count| count as f64);
        n * s * s + s.powi(3) + n * s * (2.0 * d + 40.0)
    }

    /// The same for a candidate in f64, which takes twice the time, with the reduction of its Gram matrix for all λ and the
    /// rotation of the compared rows.
    fn candidate_operations(self, size: SearchSize, features: usize) -> f64 {
        let rows = self.rows.min(size.rows) as f64;
        let compared = size.compared as f64;
        let (d, p) = (self.inputs as f64, features as f64);
        2.0 * rows * p * p + 8.0 * p.powi(3) + 4.0 * compared.min(rows) * p * p + rows * p * (4.0 * d + 80.0)
    }

    /// The same by the system of so many rows: its matrix, and a factor with the diagonal of the inverse for each λ.
    fn operations_by_rows(self, rows: usize) -> f64 {
        let [n, d, s] = [rows, self.inputs, self.features].map(|count| count as f64);
        2.0 * n * n * s + TRIED_LAMBDAS * n.powi(3) + n * s * (4.0 * d + 80.0)
    }

    /// The final on the features of the model, on as many rows as are affordable.
    fn finals_by_rows(self, affordable: f64) -> Option<Finals> {
        let counts = std::iter::once(self.rows).chain(ROWS.into_iter().filter(|rows| *rows < self.rows));
        let rows = counts.filter(|_| self.by_rows).find(|rows| self.operations_by_rows(*rows) <= affordable)?;
        Some(Finals::Rows { rows, features: self.features & !1 })
    }

    /// The most features that leave room for the candidates that the search wants.
    pub(super) fn budget(self, size: SearchSize) -> Budget {
        let total = (size.fits * self.operations()).max(size.least_operations);
        // More features than rows tell little about other rows.
        let most = (self.features & !1).min(2 * self.rows.max(64));
        let affordable = |features: usize| total / self.candidate_operations(size, features);
        let fitting = FEATURES.into_iter().filter(|features| *features <= most);
        let features = fitting.clone().find(|features| affordable(*features) >= size.candidates as f64);
        let features = features.or(fitting.clone().next_back()).unwrap_or(most.max(2));
        let in_final = FINALS as f64 / FINAL_SHARE;
        let more = fitting.take_while(|more| *more > features).find(|more| affordable(*more) >= in_final);
        let finals = self.finals_by_rows(total / in_final).or(more.map(Finals::Features));
        let candidates = (affordable(features) as usize).clamp(FEWEST, 2 * size.candidates);
        Budget { features, candidates, finals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::Effort;

    #[test]
    fn larger_fits_afford_more_features_and_enough_candidates() {
        let size = Effort::Balanced.search_size().unwrap();
        let of_fit = |rows, features, by_rows| FitSize { rows, inputs: 8, features, by_rows }.budget(size);
        let budget = |rows, features| of_fit(rows, features, false);
        let (small, medium, large) = (budget(500, 1_024), budget(16_384, 2_048), budget(100_000, 4_096));
        assert!(small.features == 256 && small.candidates >= FEWEST);
        assert!(medium.features >= small.features.min(384) && medium.candidates >= size.candidates, "{medium:?}");
        assert!(large.features == 1_024 && large.candidates >= size.candidates, "{large:?}");
        assert_eq!(budget(100, 40).features, 40);
        assert_eq!((small.finals, large.finals, budget(100, 40).finals), (Some(Finals::Features(512)), None, None));
        let finals = |rows, features| of_fit(rows, features, true).finals.unwrap();
        assert_eq!(finals(800, 3_200), Finals::Rows { rows: 800, features: 3_200 });
        assert_eq!(finals(2_500, 4_096), Finals::Rows { rows: 1_024, features: 4_096 });
    }
}
