//! The spectrum of a model as the API shows it: the decay of the eigenvalues, the effective dimension over λ, the
//! leverages, and what is missing.

use super::papers::li::{covers, describe_decay, describe_rate};
use super::spectrum::{Decay, ExponentFit, decay, decay_exponent, effective_dimension, ridges_around};
use super::{Estimate, Evidence, LossKind, RowAccess, SamplingKind};
use serde::Serialize;

/// Up to this many eigenvalues are listed in full. Of more, the first half of this number is listed, then ranks that grow
/// by a constant factor.
const LISTED: usize = 256;

/// What is known about the spectrum of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpectralProfile {
    /// λ of the model.
    pub lambda: f64,
    /// μ of G = ΨᵀΨ/n.
    pub eigenvalues: Option<Eigenvalues>,
    /// N(λ) = Σ μ/(μ+λ) of the features, which is too small if there are few of them.
    pub effective_dimension: Option<DimensionCurve>,
    /// s_λ = Tr K(K + nλI)⁻¹ of the exact kernel.
    pub kernel_dimension: Option<Estimate>,
    /// The largest leverage in the pool of candidates, or of the features if there was no pool.
    pub leverage: Option<LeverageCurve>,
    /// The decay of the eigenvalues.
    pub regime: Option<Regime>,
    /// The fields above that are empty, with the job that measures them.
    pub missing: Vec<Missing>,
}

/// All or some of the eigenvalues, descending.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Eigenvalues {
    /// The number of all eigenvalues.
    pub count: usize,
    /// Σ μ over all eigenvalues.
    pub sum: f64,
    /// Whether `values` lists all of them.
    pub complete: bool,
    /// The listed eigenvalues with their ranks.
    pub values: Vec<Ranked>,
}

/// One eigenvalue and its rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ranked {
    /// Counted from 1.
    pub rank: usize,
    /// μ.
    pub value: f64,
}

/// The effective dimension as a function of λ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DimensionCurve {
    /// N at the λ of the model.
    pub at_lambda: f64,
    /// N over a decade to each side of that λ.
    pub grid: Vec<DimensionPoint>,
    /// γ̂ with N(λ) of the order λ^(−γ) over the grid. [R, §2]
    pub gamma: Option<ExponentFit>,
}

/// N at one λ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DimensionPoint {
    /// λ.
    pub lambda: f64,
    /// N(λ).
    pub dimension: f64,
}

/// F̂∞ as a function of λ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeverageCurve {
    /// F̂∞ at several λ.
    pub points: Vec<LeveragePoint>,
    /// α̂ with F̂∞(λ) of the order λ^(−α), if there are enough features to estimate it. [R, §3]
    pub alpha: Option<ExponentFit>,
}

/// F̂∞ at one λ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeveragePoint {
    /// λ.
    pub lambda: f64,
    /// The number of candidates times the largest leverage.
    pub largest: f64,
}

/// The kind of decay that fits best, with the row of Li's tables for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regime {
    /// `finite_rank`, `exponential` or `polynomial`.
    pub kind: &'static str,
    /// The rank, if it is finite.
    pub rank: Option<usize>,
    /// The fit, if the decay is exponential or polynomial.
    pub fit: Option<ExponentFit>,
    /// The decay and the learning rate it gives, in words.
    pub statement: String,
}

/// An empty field of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The name of the field.
    pub what: &'static str,
    /// Why it is empty.
    pub reason: &'static str,
    /// The type of the job that measures it; none if no job does.
    pub job: Option<&'static str>,
}

/// Collects what the evidence holds about the spectrum.
pub fn spectral_profile(evidence: &Evidence) -> SpectralProfile {
    let spectrum = evidence.spectrum.as_deref();
    let pool = evidence.pool.as_ref();
    let decay = spectrum.and_then(|spectrum| decay(spectrum, evidence.spectrum_floor, evidence.sample_count));
    SpectralProfile {
        lambda: evidence.ridge,
        eigenvalues: spectrum.map(listed),
        effective_dimension: spectrum.map(|spectrum| dimension_curve(spectrum, evidence.ridge)),
        kernel_dimension: evidence.kernel.as_ref().map(|kernel| kernel.dimension),
        leverage: pool.map(|pool| LeverageCurve {
            points: pool.largest_leverages.iter().map(|&(lambda, largest)| LeveragePoint { lambda, largest }).collect(),
            alpha: evidence.leverage_exponent(),
        }),
        regime: decay.map(|decay| regime(decay, evidence)),
        missing: missing(evidence, decay.is_some()),
    }
}

impl SpectralProfile {
    /// Removes certify jobs that could not run because the training rows cannot be read again.
    #[must_use]
    pub fn with_rows(mut self, rows: RowAccess) -> Self {
        if let Some(obstacle) = rows.obstacle() {
            for missing in self.missing.iter_mut().filter(|missing| missing.job == Some("certify")) {
                (missing.reason, missing.job) = (obstacle, None);
            }
        }
        self
    }

    /// Removes the job for the kernel dimension if the exact solve has already failed.
    #[must_use]
    pub fn with_exact_system_tried(mut self, tried: bool) -> Self {
        let failed = |missing: &&mut Missing| tried && missing.what == "kernel_dimension";
        for missing in self.missing.iter_mut().filter(failed) {
            missing.reason = "the exact kernel system cannot be solved at this lambda; use a larger one";
            missing.job = None;
        }
        self
    }
}

fn listed(spectrum: &[f64]) -> Eigenvalues {
    let (count, first) = (spectrum.len(), LISTED / 2);
    let mut ranks: Vec<usize> = (1..=count).collect();
    if count > LISTED {
        let growth = (count as f64 / first as f64).powf(1.0 / first as f64);
        let later = (1..=first).map(|step| (first as f64 * growth.powf(step as f64)).round() as usize);
        ranks = (1..=first).chain(later.filter(|rank| *rank > first).map(|rank| rank.min(count))).collect();
        ranks.dedup();
    }
    Eigenvalues {
        count,
        sum: spectrum.iter().rev().sum(),
        complete: ranks.len() == count,
        values: ranks.into_iter().map(|rank| Ranked { rank, value: spectrum[rank - 1] }).collect(),
    }
}

fn dimension_curve(spectrum: &[f64], ridge: f64) -> DimensionCurve {
    let at = |lambda: f64| DimensionPoint { lambda, dimension: effective_dimension(spectrum, lambda) };
    let grid: Vec<DimensionPoint> = ridges_around(ridge).into_iter().map(at).collect();
    let points: Vec<(f64, f64)> = grid.iter().map(|point| (point.lambda, point.dimension)).collect();
    DimensionCurve { at_lambda: at(ridge).dimension, gamma: decay_exponent(&points), grid }
}

/// The learning rate is that of classifiers with a Lipschitz loss; for other models only the decay is described.
fn regime(decay: Decay, evidence: &Evidence) -> Regime {
    let (kind, rank, fit) = match decay {
        Decay::FiniteRank(rank) => ("finite_rank", Some(rank), None),
        Decay::Exponential(fit) => ("exponential", None, Some(fit)),
        Decay::Polynomial(fit) => ("polynomial", None, Some(fit)),
    };
    let by_leverage = evidence.sampling == SamplingKind::LeverageWeighted;
    let statement = if covers(evidence) { describe_rate(decay, by_leverage) } else { describe_decay(decay) };
    Regime { kind, rank, fit, statement }
}

fn missing(evidence: &Evidence, regime_known: bool) -> Vec<Missing> {
    let exact = evidence.sampling == SamplingKind::NoFeatures;
    let comparable = evidence.loss == LossKind::Squared && !evidence.rows_weighted;
    let mut missing = Vec::new();
    let mut note = |what, reason, job| missing.push(Missing { what, reason, job });
    if evidence.spectrum.is_none() {
        let (reason, job) = if exact {
            ("the model has no features, and its kernel matrix is not kept", None)
        } else {
            ("training computes the eigenvalues only for ridge models with few features", Some("certify"))
        };
        for what in ["eigenvalues", "effective_dimension", "regime"] {
            note(what, reason, job);
        }
    } else if !regime_known {
        note("regime", "too few eigenvalues exceed the rounding error to fit their decay", None);
    }
    if evidence.kernel.is_none() {
        let (reason, job) = match (exact, comparable) {
            (true, _) => {
                ("there are more training rows than guarantees.exact_rows; train with a larger value", Some("train"))
            }
            (false, true) => ("the exact kernel system was not solved", Some("certify")),
            (false, false) => ("it is measured only for ridge regression on equally weighted rows", None),
        };
        note("kernel_dimension", reason, job);
    }
    if evidence.pool.is_none() {
        let (reason, job) = if exact {
            ("the model has no features", None)
        } else {
            ("training computes the leverages only for ridge models with few features", Some("certify"))
        };
        note("leverage", reason, job);
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{KernelEvidence, PoolEvidence};

    /// μᵢ = i^(−2): a polynomial of exponent 2, N(λ) of the order λ^(−½).
    #[test]
    fn a_power_law_is_recognised() {
        let spectrum: Vec<f64> = (1..=20_000).map(|i| f64::from(i).powi(-2)).collect();
        let evidence = Evidence { spectrum: Some(spectrum.clone()), ridge: 1e-4, ..ridge_fit() };
        let profile = spectral_profile(&evidence);
        let regime = profile.regime.unwrap();
        assert_eq!((regime.kind, regime.rank), ("polynomial", None));
        assert!((regime.fit.unwrap().exponent - 2.0).abs() < 1e-9 && regime.fit.unwrap().residual < 1e-9);
        assert_eq!(regime.statement, "the spectrum decays like i^-2.00");
        let hinge = spectral_profile(&Evidence { loss: LossKind::Hinge, ..evidence.clone() });
        assert!(hinge.regime.unwrap().statement.contains("the learning rate is then 1/sqrt(n)"));
        let softmax = Evidence { loss: LossKind::Logistic, target_count: 3, ..evidence.clone() };
        assert!(!spectral_profile(&softmax).regime.unwrap().statement.contains("rate"));
        let curve = profile.effective_dimension.unwrap();
        let gamma = curve.gamma.unwrap();
        assert!((gamma.exponent - 0.5).abs() < 0.02 && gamma.quality > 0.999 && gamma.residual < 0.05, "{gamma:?}");
        assert_eq!(curve.grid.len(), 9);
        assert!((curve.grid[4].dimension - curve.at_lambda).abs() < 1e-9 * curve.at_lambda);
        let listed = profile.eigenvalues.unwrap();
        assert!(!listed.complete && listed.values.len() <= LISTED && listed.count == 20_000);
        assert_eq!((listed.values[0].rank, listed.values.last().unwrap().rank), (1, 20_000));
        assert!(listed.values.windows(2).all(|pair| pair[0].rank < pair[1].rank));
        assert!(listed.values.iter().all(|ranked| ranked.value == spectrum[ranked.rank - 1]));
    }

    #[test]
    fn missing_fields_name_the_job_that_measures_them() {
        let jobs = |evidence: &Evidence| -> Vec<(&str, Option<&str>)> {
            spectral_profile(evidence).missing.iter().map(|missing| (missing.what, missing.job)).collect()
        };
        let unknown = jobs(&ridge_fit());
        assert_eq!(unknown.len(), 5);
        assert!(
            unknown.contains(&("kernel_dimension", Some("certify")))
                && unknown.contains(&("leverage", Some("certify")))
        );
        assert!(unknown.contains(&("eigenvalues", Some("certify"))));
        let deleted = spectral_profile(&ridge_fit()).with_rows(RowAccess::Gone);
        assert!(deleted.missing.iter().all(|missing| missing.job.is_none()));
        assert!(deleted.missing.iter().any(|missing| missing.reason.contains("dataset is not on this server")));
        let tried = spectral_profile(&ridge_fit()).with_exact_system_tried(true);
        let dimension = tried.missing.iter().find(|missing| missing.what == "kernel_dimension").unwrap();
        assert!(dimension.job.is_none() && dimension.reason.contains("cannot be solved"));
        let weighted = Evidence { rows_weighted: true, ..ridge_fit() };
        assert!(jobs(&weighted).contains(&("kernel_dimension", None)));
        let exact = Evidence { sampling: SamplingKind::NoFeatures, ..ridge_fit() };
        assert!(jobs(&exact).contains(&("kernel_dimension", Some("train"))));
        assert!(jobs(&exact).contains(&("regime", None)));
        let dimension = Estimate { value: 4.0, standard_error: 0.1 };
        let known = Evidence {
            spectrum: Some(vec![1.0, 0.5, 0.25]),
            kernel: Some(KernelEvidence { dimension, largest: None, spectral_delta: None }),
            pool: Some(PoolEvidence {
                candidate_count: 10_000,
                row_count: 10,
                spectrum: vec![1.0],
                kernel_deviation: None,
                largest_leverages: vec![(0.1, 10.0), (0.01, 100.0), (0.001, 1_000.0)],
            }),
            ..ridge_fit()
        };
        let profile = spectral_profile(&known);
        assert!(profile.missing.is_empty() && profile.eigenvalues.unwrap().complete);
        assert!((profile.leverage.unwrap().alpha.unwrap().exponent - 1.0).abs() < 1e-12);
        assert_eq!(profile.kernel_dimension, Some(dimension));
    }
}
