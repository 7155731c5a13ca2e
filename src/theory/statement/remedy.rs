//! What would make a guarantee available that lacks a measurement: decided in one place, from what is known of the
//! model and of the rows it was trained on, so that nothing is advised which would be refused or do nothing.

use crate::theory::{Evidence, Guarantee};

/// A measurement that a guarantee needs and the model does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The eigenvalues of G.
    Spectrum,
    /// The largest leverage over λ.
    Leverage,
    /// The exact solution at the same λ.
    ExactSolution,
    /// d(λ).
    Dimension,
    /// Δ.
    SpectralDelta,
    /// The model next to the exact method on held-out rows.
    Comparison,
    /// The error by leaving out features.
    Jackknife,
    /// The error by features that were not used.
    FreshFeatures,
    /// Scores of rows that took no part in the fit.
    Scores,
}

impl Lack {
    /// What is needed, and is not there.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Spectrum => "the eigenvalues of the features' Gram matrix are known, which they are not",
            Self::Leverage => "the largest leverage of a feature is known at several lambda, which it is not",
            Self::ExactSolution => "the exact kernel system was solved, which it was not",
            Self::Dimension => "the effective dimension of the kernel is known, which it is not",
            Self::SpectralDelta => {
                "the kernel matrix is approximated within a factor, which no theorem proves and nothing measured shows"
            }
            Self::Comparison => {
                "the model was compared with the exact kernel method on held-out rows, which it was not"
            }
            Self::Jackknife => "the error was estimated by leaving out features, which it was not",
            Self::FreshFeatures => "the error was estimated by features that were not used, which it was not",
            Self::Scores => "rows that took no part in the fit were scored, which none were",
        }
    }
}

/// Whether the rows that a model was trained on can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAccess {
    /// They can.
    Kept,
    /// Their data set was deleted, or is that of another machine.
    Gone,
    /// They come from several data sets, of which one alone is known.
    Scattered,
    /// They are more than an exact solve takes.
    TooMany,
}

impl RowAccess {
    /// Why they cannot be measured again; none where they can.
    pub fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Kept => None,
            Self::Gone => {
                Some("it needs the training rows, and their data set is gone: deleted, or never uploaded here")
            }
            Self::Scattered => Some("it needs the training rows, which come from several data sets since the update"),
            Self::TooMany => Some("it needs the training rows, and they are more than a certify job takes"),
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Kept => "A certify job would make it available.",
            Self::Gone => {
                "It needs the training rows, and their data set is gone: the same upload once more and then a certify job \
                 would make it available."
            }
            Self::Scattered => {
                "It needs the training rows, which come from several data sets since the update: a training on all of them \
                 at once would have it."
            }
            Self::TooMany => {
                "It needs the training rows, and they are more than a certify job takes: a training on fewer would have it."
            }
        }
    }
}

/// What bears on the measurements of a model and is no part of its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circumstances {
    /// Of the training rows.
    pub rows: RowAccess,
    /// Validation rows.
    pub validation_rows: usize,
    /// Validation and calibration rows.
    pub held_out_rows: usize,
    /// Whether a column says how much each row counts.
    pub sample_weights: bool,
    /// Whether k(x, x) grows with the input, as that of the linear kernel does.
    pub kernel_unbounded: bool,
    /// Of an exact solve that was tried: ‖y − (K + nλI)α‖/‖y‖.
    pub exact_residual: Option<f64>,
}

/// What would make a measurement, as a sentence, and whether it takes the training rows and nothing else.
struct Remedy {
    text: String,
    by_rows: bool,
}

impl Remedy {
    fn anew(text: impl Into<String>) -> Self {
        Self { text: text.into(), by_rows: false }
    }

    fn of(lack: Lack, evidence: &Evidence, around: &Circumstances) -> Self {
        let by_rows = Self { text: around.rows.remedy().into(), by_rows: true };
        match lack {
            Lack::Spectrum | Lack::Leverage => by_rows,
            Lack::Jackknife => Self::anew(
                "A training with error_bars and at least two draws of features would have it; no job adds it.",
            ),
            Lack::Scores if around.sample_weights => Self::anew(
                "Rows that count more than others are not exchangeable with new ones: a training without sample weights \
                 would have it.",
            ),
            Lack::Scores if around.held_out_rows == 0 => {
                Self::anew("A training with a calibration_fraction above 0 would have it.")
            }
            Lack::Scores => Self::anew(
                "All rows that were held out were used: a training with a calibration_fraction that leaves two of them \
                 or more would have it.",
            ),
            // Of a classifier certify measures the eigenvalues, and they tell a dimension.
            Lack::Dimension if evidence.target_mean_square.is_none() => by_rows,
            _ if evidence.rows_weighted => Self::anew(
                "The exact method is solved for rows that count the same: a training without sample and class weights \
                 would have it.",
            ),
            Lack::Comparison if around.kernel_unbounded => Self::anew(
                "The linear kernel grows with the input, so that the error of the exact solver has no bound at new ones: \
                 another kernel would have it.",
            ),
            Lack::Comparison | Lack::FreshFeatures if around.validation_rows < 2 => Self::anew(
                "It is measured on validation rows: a training with a validation_fraction above 0 would have it.",
            ),
            Lack::ExactSolution | Lack::SpectralDelta | Lack::Dimension | Lack::Comparison | Lack::FreshFeatures => {
                around.exact_residual.map_or(by_rows, |residual| Self::tried(lack, residual))
            }
        }
    }

    /// Where the exact system was solved and yet something is missing, more of the same does not help.
    fn tried(lack: Lack, residual: f64) -> Self {
        match lack {
            Lack::SpectralDelta => Self::anew("More features or a larger lambda would make the factor smaller."),
            _ if residual >= 1.0 => Self::anew(
                "It was tried, and the exact kernel system cannot be solved in double precision at this lambda: a larger \
                 one would have it.",
            ),
            _ => Self::anew(format!(
                "It was tried and stopped at a relative residual of {residual:.1e}, too large to stand for the exact \
                 solution: a larger lambda makes the system easier."
            )),
        }
    }
}

/// Says what would make each missing measurement, and gives the ids of those that take the training rows.
pub(crate) fn complete(guarantees: &mut [Guarantee], evidence: &Evidence, around: &Circumstances) -> Vec<&'static str> {
    let mut ids = Vec::new();
    for guarantee in guarantees {
        let Some(lack) = guarantee.lacks else { continue };
        let remedy = Remedy::of(lack, evidence, around);
        guarantee.statement = format!("{} {}", guarantee.statement, remedy.text);
        if remedy.by_rows {
            ids.push(guarantee.id);
        }
    }
    ids
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{LossKind, guarantees};

    /// A training on a data set that is still there.
    pub(crate) const AT_HAND: Circumstances = Circumstances {
        rows: RowAccess::Kept,
        validation_rows: 60,
        held_out_rows: 60,
        sample_weights: false,
        kernel_unbounded: false,
        exact_residual: None,
    };

    fn said(evidence: &Evidence, around: Circumstances, id: &str) -> (String, bool) {
        let told = guarantees(evidence, 0.05, 0.95, &around);
        let found = told.guarantees.iter().find(|guarantee| guarantee.id == id).unwrap();
        (found.statement.clone(), told.needing_rows.contains(&id))
    }

    #[test]
    fn what_certify_measures_is_advised_while_the_rows_are_there() {
        for id in
            ["wang.theorem1_sharp", "wang.eq31", "avron.lemma2", "bochner.certificate_mean", "bochner.fresh_features"]
        {
            let (statement, by_rows) = said(&ridge_fit(), AT_HAND, id);
            assert!(by_rows && statement.ends_with("A certify job would make it available."), "{statement}");
            for rows in [RowAccess::Gone, RowAccess::Scattered, RowAccess::TooMany] {
                let (statement, by_rows) = said(&ridge_fit(), Circumstances { rows, ..AT_HAND }, id);
                assert!(by_rows && !statement.contains("A certify job"), "{statement}");
            }
        }
    }

    #[test]
    fn no_job_is_advised_that_would_do_nothing() {
        let weighted = Evidence { rows_weighted: true, ..ridge_fit() };
        let unheld = Circumstances { validation_rows: 0, held_out_rows: 0, ..AT_HAND };
        let linear = Circumstances { kernel_unbounded: true, ..AT_HAND };
        let stuck = Circumstances { exact_residual: Some(2e-3), ..AT_HAND };
        let singular = Circumstances { exact_residual: Some(1.0), ..AT_HAND };
        let dependent = Evidence { draws_independent: false, ..ridge_fit() };
        for (evidence, around, id, part) in [
            (&weighted, AT_HAND, "wang.eq31", "without sample and class weights"),
            (&ridge_fit(), unheld, "bochner.certificate_tolerance", "validation_fraction above 0"),
            (&ridge_fit(), unheld, "bochner.fresh_features", "validation_fraction above 0"),
            (&ridge_fit(), unheld, "conformal", "calibration_fraction above 0"),
            (&ridge_fit(), AT_HAND, "conformal", "were used"),
            (&ridge_fit(), AT_HAND, "bochner.jackknife", "error_bars"),
            (&ridge_fit(), linear, "bochner.certificate_mean", "linear kernel"),
            (&ridge_fit(), stuck, "wang.eq31", "residual of 2.0e-3"),
            (&ridge_fit(), singular, "wang.eq31", "cannot be solved in double precision"),
            (&ridge_fit(), singular, "bochner.certificate_mean", "cannot be solved in double precision"),
            (&dependent, AT_HAND, "wang.theorem1_sharp", "sampling plain"),
            (&dependent, AT_HAND, "wang.eq31", "sampling plain"),
            (&dependent, AT_HAND, "bochner.fresh_features", "sampling plain"),
            (&weighted, Circumstances { sample_weights: true, ..AT_HAND }, "conformal", "without sample weights"),
        ] {
            let (statement, by_rows) = said(evidence, around, id);
            assert!(!by_rows && statement.contains(part) && !statement.contains("certify"), "{id}: {statement}");
        }
    }

    #[test]
    fn a_classifier_has_its_spectrum_from_certify() {
        let few = Evidence { loss: LossKind::Hinge, target_mean_square: None, ..ridge_fit() };
        let classifier = Evidence { feature_count: 300, draw_count: 300, ..few.clone() };
        assert!(said(&classifier, AT_HAND, "li.theorem2").1);
        let (statement, by_rows) = said(&few, AT_HAND, "li.theorem2");
        assert!(!by_rows && statement.contains("It asks for"), "{statement}");
        // Its features are not drawn by leverage, whatever is measured.
        for id in ["li.corollary2", "avron.lemma6"] {
            let (statement, by_rows) = said(&classifier, AT_HAND, id);
            assert!(!by_rows && statement.ends_with("which is not offered yet."), "{statement}");
        }
    }
}
