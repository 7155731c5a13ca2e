//! What to do about a missing measurement. Decided in one place, from the model and its training rows, so that no
//! remedy is given that would be refused or have no effect.

use crate::theory::{Evidence, Guarantee};

/// The fewest inputs that the jackknife estimate looks at: a mean over fewer says little about new ones.
pub const JACKKNIFE_ROWS: usize = 20;

/// A measurement that a guarantee requires and the model does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// The eigenvalues of G.
    Spectrum,
    /// The largest leverage of a feature at several λ.
    Leverage,
    /// The exact solution at the same λ.
    ExactSolution,
    /// d(λ) of the kernel.
    Dimension,
    /// Δ.
    SpectralDelta,
    /// The differences to the exact method on held-out rows.
    Comparison,
    /// The error estimated by leaving out features.
    Jackknife,
    /// The error estimated from unused features.
    FreshFeatures,
    /// Scores of rows that were not used in the fit.
    Scores,
}

impl Lack {
    /// The measurement, as a noun phrase.
    pub(crate) fn requirement(self) -> &'static str {
        match self {
            Self::Spectrum => "the eigenvalues of the Gram matrix of the features",
            Self::Leverage => "the largest leverage of a feature at several values of lambda",
            Self::ExactSolution => "the exact solution of the kernel system",
            Self::Dimension => "the effective dimension of the kernel",
            Self::SpectralDelta => "an approximation of the kernel matrix within a factor 1 ± Delta with Delta < 1",
            Self::Comparison => "a comparison with the exact kernel method on held-out rows",
            Self::Jackknife => "an error estimate from leaving out features",
            Self::FreshFeatures => "an error estimate from unused features",
            Self::Scores => "scores of rows that were not used in the fit",
        }
    }

    /// The clause that follows "here" in a statement.
    pub(crate) fn shortfall(self) -> &'static str {
        match self {
            Self::Spectrum => "they were not computed",
            Self::Leverage | Self::Dimension | Self::ExactSolution => "it was not computed",
            Self::SpectralDelta => "neither a theorem nor a measurement gives one",
            Self::Comparison | Self::Jackknife | Self::FreshFeatures => "none was made",
            Self::Scores => "no such rows were scored",
        }
    }
}

/// Whether the rows that a model was trained on can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAccess {
    /// The dataset is still there.
    Kept,
    /// The dataset was deleted, or the model was made on another machine.
    Gone,
    /// The rows come from several datasets, of which only one is known.
    Scattered,
    /// There are more rows than an exact solve accepts.
    TooMany,
    /// The rows stay in files that only a training reads.
    Elsewhere,
}

impl RowAccess {
    /// Why the rows cannot be measured again; none if they can.
    pub fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Kept => None,
            Self::Gone => Some(
                "requires the training rows, but their dataset is not on this server: it was deleted or never uploaded",
            ),
            Self::Scattered => Some("requires the training rows, but since the update they come from several datasets"),
            Self::TooMany => Some("requires the training rows, but there are more of them than a certify job accepts"),
            Self::Elsewhere => {
                Some("requires the training rows, but they stay in files that a certify job does not read")
            }
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Kept => "Run a certify job on this model.",
            Self::Gone => {
                "This requires the training rows, but their dataset is not on this server. Upload it again, then run a \
                 certify job."
            }
            Self::Scattered => {
                "This requires the training rows, but since the update they come from several datasets. Train on all of \
                 them in one dataset."
            }
            Self::TooMany => {
                "This requires the training rows, but there are more of them than a certify job accepts. Train on fewer \
                 rows."
            }
            Self::Elsewhere => {
                "This requires the training rows, but they stay in files that a certify job does not read. Upload them and \
                 train on the upload."
            }
        }
    }
}

/// What decides how a model can be measured and is not part of its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circumstances {
    /// Whether the training rows can be read again.
    pub rows: RowAccess,
    /// The number of validation rows.
    pub validation_rows: usize,
    /// The number of validation and calibration rows together.
    pub held_out_rows: usize,
    /// Whether a column gives each row a weight.
    pub sample_weights: bool,
    /// Whether k(x, x) grows with the input, as in the linear kernel.
    pub kernel_unbounded: bool,
    /// ‖y − (K + nλI)α‖/‖y‖ of the exact solve, if one was attempted.
    pub exact_residual: Option<f64>,
}

/// How to make a measurement.
struct Remedy {
    text: String,
    /// Whether nothing but the training rows is needed.
    by_rows: bool,
}

impl Remedy {
    fn by_training_again(text: impl Into<String>) -> Self {
        Self { text: text.into(), by_rows: false }
    }

    fn of(lack: Lack, evidence: &Evidence, around: &Circumstances) -> Self {
        let by_rows = Self { text: around.rows.remedy().into(), by_rows: true };
        match lack {
            Lack::Spectrum | Lack::Leverage => by_rows,
            Lack::Jackknife if around.held_out_rows < JACKKNIFE_ROWS => Self::by_training_again(format!(
                "Train with error_bars, at least two feature draws and at least {JACKKNIFE_ROWS} validation rows. An estimate is not \
                 given where a few rows decide it, or where the features are too few for the kernel, so that leaving some out \
                 misses their bias; more features or a larger lambda help then.",
            )),
            Lack::Jackknife => Self::by_training_again(
                "Train again with error_bars and at least two feature draws: no job can add the estimate later. An estimate is \
                 not given where a few rows decide it, or where the features are too few for the kernel, so that leaving some out \
                 misses their bias; more features or a larger lambda help then.",
            ),
            Lack::Scores if around.sample_weights => Self::by_training_again(
                "Train without sample weights: weighted rows are not exchangeable with new rows.",
            ),
            Lack::Scores if around.held_out_rows == 0 => {
                Self::by_training_again("Train with calibration_fraction > 0.")
            }
            Lack::Scores => Self::by_training_again(
                "All held-out rows were used for something else. Train with a calibration_fraction that leaves at least \
                 two of them.",
            ),
            // A certify job computes the eigenvalues of a classifier, and they give a dimension.
            Lack::Dimension if evidence.target_mean_square.is_none() => by_rows,
            _ if evidence.rows_weighted => Self::by_training_again(
                "Train without sample and class weights: the exact method is only solved for equally weighted rows.",
            ),
            Lack::Comparison if around.kernel_unbounded => Self::by_training_again(
                "Choose a different kernel: the linear kernel is unbounded, so the error of the exact solver at new inputs \
                 has no bound.",
            ),
            Lack::Comparison | Lack::FreshFeatures if around.validation_rows < 2 => Self::by_training_again(
                "Train with validation_fraction > 0: the measurement uses at least two validation rows.",
            ),
            Lack::ExactSolution | Lack::SpectralDelta | Lack::Dimension | Lack::Comparison | Lack::FreshFeatures => {
                around.exact_residual.map_or(by_rows, |residual| Self::after_an_exact_solve(lack, residual))
            }
        }
    }

    /// The exact solve was attempted and the measurement is still missing: the same job again would not help.
    fn after_an_exact_solve(lack: Lack, residual: f64) -> Self {
        match lack {
            Lack::SpectralDelta => Self::by_training_again("Use more features or a larger lambda."),
            _ if residual >= 1.0 => Self::by_training_again(
                "Use a larger lambda, or give jobs more memory: at this lambda, the exact kernel system could not be solved.",
            ),
            _ => Self::by_training_again(format!(
                "Use a larger lambda: at this one, the exact solver stopped at a relative residual of {residual:.1e}, which \
                 is too large."
            )),
        }
    }
}

/// Adds a remedy to every guarantee that lacks a measurement; gives the ids of those that need only the training rows.
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

    /// A model whose dataset is still there.
    pub(crate) const AT_HAND: Circumstances = Circumstances {
        rows: RowAccess::Kept,
        validation_rows: 60,
        held_out_rows: 60,
        sample_weights: false,
        kernel_unbounded: false,
        exact_residual: None,
    };

    fn statement_of(evidence: &Evidence, around: Circumstances, id: &str) -> (String, bool) {
        let catalogue = guarantees(evidence, 0.05, 0.95, &around);
        let found = catalogue.guarantees.iter().find(|guarantee| guarantee.id == id).unwrap();
        (found.statement.clone(), catalogue.needing_rows.contains(&id))
    }

    #[test]
    fn a_certify_job_is_recommended_while_the_rows_are_there() {
        for id in
            ["wang.theorem1_sharp", "wang.eq31", "avron.lemma2", "bochner.certificate_mean", "bochner.fresh_features"]
        {
            let (statement, by_rows) = statement_of(&ridge_fit(), AT_HAND, id);
            assert!(by_rows && statement.ends_with("Run a certify job on this model."), "{statement}");
            for rows in [RowAccess::Gone, RowAccess::Scattered, RowAccess::TooMany, RowAccess::Elsewhere] {
                let (statement, by_rows) = statement_of(&ridge_fit(), Circumstances { rows, ..AT_HAND }, id);
                assert!(by_rows && !statement.contains("Run a certify job on"), "{statement}");
            }
        }
    }

    #[test]
    fn no_job_is_recommended_that_would_have_no_effect() {
        let weighted = Evidence { rows_weighted: true, ..ridge_fit() };
        let unheld = Circumstances { validation_rows: 0, held_out_rows: 0, ..AT_HAND };
        let linear = Circumstances { kernel_unbounded: true, ..AT_HAND };
        let stuck = Circumstances { exact_residual: Some(2e-3), ..AT_HAND };
        let singular = Circumstances { exact_residual: Some(1.0), ..AT_HAND };
        let dependent = Evidence { draws_independent: false, ..ridge_fit() };
        for (evidence, around, id, part) in [
            (&weighted, AT_HAND, "wang.eq31", "without sample and class weights"),
            (&ridge_fit(), unheld, "bochner.certificate_tolerance", "validation_fraction > 0"),
            (&ridge_fit(), unheld, "bochner.fresh_features", "validation_fraction > 0"),
            (&ridge_fit(), unheld, "conformal", "calibration_fraction > 0"),
            (&ridge_fit(), AT_HAND, "conformal", "were used for something else"),
            (&ridge_fit(), AT_HAND, "bochner.jackknife", "error_bars"),
            (&ridge_fit(), linear, "bochner.certificate_mean", "linear kernel"),
            (&ridge_fit(), stuck, "wang.eq31", "residual of 2.0e-3"),
            (&ridge_fit(), singular, "wang.eq31", "the exact kernel system could not be solved"),
            (&ridge_fit(), singular, "bochner.certificate_mean", "the exact kernel system could not be solved"),
            (&dependent, AT_HAND, "wang.theorem1_sharp", "Use plain sampling."),
            (&dependent, AT_HAND, "wang.eq31", "Use plain sampling."),
            (&dependent, AT_HAND, "bochner.fresh_features", "Use plain sampling."),
            (&weighted, Circumstances { sample_weights: true, ..AT_HAND }, "conformal", "without sample weights"),
        ] {
            let (statement, by_rows) = statement_of(evidence, around, id);
            assert!(!by_rows && statement.contains(part) && !statement.contains("certify"), "{id}: {statement}");
        }
    }

    #[test]
    fn certify_measures_the_spectrum_of_a_classifier() {
        let few = Evidence { loss: LossKind::Hinge, target_mean_square: None, ..ridge_fit() };
        let classifier = Evidence { feature_count: 300, draw_count: 300, ..few.clone() };
        assert!(statement_of(&classifier, AT_HAND, "li.theorem2").1);
        let (statement, by_rows) = statement_of(&few, AT_HAND, "li.theorem2");
        assert!(!by_rows && statement.contains("requires enough features"), "{statement}");
        // No measurement changes how its features were drawn.
        for id in ["li.corollary2", "avron.lemma6"] {
            let (statement, by_rows) = statement_of(&classifier, AT_HAND, id);
            assert!(!by_rows && statement.ends_with("Use sampling leverage."), "{statement}");
        }
    }
}
