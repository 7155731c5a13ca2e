//! What the eigenvalues of a model tell, from what was kept of its training: how they fall, the effective dimension
//! over λ with its exponent, and what would have to be measured to know more.

use super::papers::li::{fall_of, rate_of, speaks_of};
use super::spectrum::{Decay, ExponentFit, decay, decay_exponent, effective_dimension, ridges_around};
use super::{Estimate, Evidence, LossKind, RowAccess, SamplingKind};
use serde::Serialize;

/// Up to so many eigenvalues are told one by one. Of more, the first half of that many, then ranks that grow by a
/// constant factor.
const LISTED: usize = 256;

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpectralProfile {
    /// λ of the model.
    pub lambda: f64,
    /// μ of G = ΨᵀΨ/n.
    pub eigenvalues: Option<Eigenvalues>,
    /// N(λ) = Σ μ/(μ+λ) of the features, which few of them leave too small.
    pub effective_dimension: Option<DimensionCurve>,
    /// s_λ = Tr K(K + nλI)⁻¹ of the exact kernel, measured.
    pub kernel_dimension: Option<Estimate>,
    /// The largest leverage in the pool that features were chosen from, or of the features themselves.
    pub leverage: Option<LeverageCurve>,
    /// How the eigenvalues fall.
    pub regime: Option<Regime>,
    /// What is not known, and the job that would measure it.
    pub missing: Vec<Missing>,
}

/// Eigenvalues, descending.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Eigenvalues {
    /// All of them.
    pub count: usize,
    /// Σ μ.
    pub sum: f64,
    /// Whether every one is told.
    pub complete: bool,
    /// With their ranks, from 1.
    pub values: Vec<Ranked>,
}

/// One eigenvalue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ranked {
    /// From 1.
    pub rank: usize,
    /// μ.
    pub value: f64,
}

/// N over λ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DimensionCurve {
    /// At the λ of the model.
    pub at_lambda: f64,
    /// A decade to each side of it.
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

/// F̂∞ over λ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeverageCurve {
    /// Where it was worked out.
    pub points: Vec<LeveragePoint>,
    /// α̂ with F̂∞(λ) of the order λ^(−α), where the features are enough to tell. [R, §3]
    pub alpha: Option<ExponentFit>,
}

/// F̂∞ at one λ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LeveragePoint {
    /// λ.
    pub lambda: f64,
    /// The number of candidates times the largest leverage of one.
    pub largest: f64,
}

/// The kind of decay that fits best, and what the tables of Li 2022 say of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regime {
    /// `finite_rank`, `exponential` or `polynomial`.
    pub kind: &'static str,
    /// Of a finite rank.
    pub rank: Option<usize>,
    /// Of an exponential or a polynomial.
    pub fit: Option<ExponentFit>,
    /// In words.
    pub statement: String,
}

/// Something that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Which field.
    pub what: &'static str,
    /// Why it is empty.
    pub reason: &'static str,
    /// The type of the job that would measure it; none where no job does.
    pub job: Option<&'static str>,
}

/// What is known of the spectrum.
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
    /// No job is advised that could not run: where the training rows cannot be read again, that is the reason.
    #[must_use]
    pub fn with_rows(mut self, rows: RowAccess) -> Self {
        if let Some(obstacle) = rows.obstacle() {
            for missing in self.missing.iter_mut().filter(|missing| missing.job == Some("certify")) {
                (missing.reason, missing.job) = (obstacle, None);
            }
        }
        self
    }

    /// Nor one that ran in vain: where the exact system was tried and told no dimension, another try tells none.
    #[must_use]
    pub fn with_exact_system_tried(mut self, tried: bool) -> Self {
        let in_vain = |missing: &&mut Missing| tried && missing.what == "kernel_dimension";
        for missing in self.missing.iter_mut().filter(in_vain) {
            missing.reason = "the exact kernel system was tried, and cannot be solved at this lambda";
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

/// The rate is that of classifiers with a Lipschitz loss: of others the fall alone is told.
fn regime(decay: Decay, evidence: &Evidence) -> Regime {
    let (kind, rank, fit) = match decay {
        Decay::FiniteRank(rank) => ("finite_rank", Some(rank), None),
        Decay::Exponential(fit) => ("exponential", None, Some(fit)),
        Decay::Polynomial(fit) => ("polynomial", None, Some(fit)),
    };
    let by_leverage = evidence.sampling == SamplingKind::LeverageWeighted;
    let statement = if speaks_of(evidence) { rate_of(decay, by_leverage) } else { fall_of(decay) };
    Regime { kind, rank, fit, statement }
}

fn missing(evidence: &Evidence, regime_known: bool) -> Vec<Missing> {
    let exact = evidence.sampling == SamplingKind::NoFeatures;
    let comparable = evidence.loss == LossKind::Squared && !evidence.rows_weighted;
    let mut missing = Vec::new();
    let mut note = |what, reason, job| missing.push(Missing { what, reason, job });
    if evidence.spectrum.is_none() {
        let (reason, job) = if exact {
            ("the model has no features, and its kernel matrix is never held", None)
        } else {
            ("training keeps the eigenvalues of ridge models with few features alone", Some("certify"))
        };
        for what in ["eigenvalues", "effective_dimension", "regime"] {
            note(what, reason, job);
        }
    } else if !regime_known {
        note("regime", "too few eigenvalues stand above rounding to tell how they fall", None);
    }
    if evidence.kernel.is_none() {
        let (reason, job) = match (exact, comparable) {
            (true, _) => ("there are more training rows than guarantees.exact_rows", Some("train")),
            (false, true) => ("the exact kernel system was not solved", Some("certify")),
            (false, false) => ("it is measured for least squares on rows that count the same", None),
        };
        note("kernel_dimension", reason, job);
    }
    if evidence.pool.is_none() {
        let (reason, job) = if exact {
            ("the model has no features", None)
        } else {
            ("training keeps the leverages of ridge models with few features alone", Some("certify"))
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
    fn a_power_law_is_told_as_one() {
        let spectrum: Vec<f64> = (1..=20_000).map(|i| f64::from(i).powi(-2)).collect();
        let evidence = Evidence { spectrum: Some(spectrum.clone()), ridge: 1e-4, ..ridge_fit() };
        let profile = spectral_profile(&evidence);
        let regime = profile.regime.unwrap();
        assert_eq!((regime.kind, regime.rank), ("polynomial", None));
        assert!((regime.fit.unwrap().exponent - 2.0).abs() < 1e-9 && regime.fit.unwrap().residual < 1e-9);
        assert_eq!(regime.statement, "the spectrum falls like i^-2.00");
        let hinge = spectral_profile(&Evidence { loss: LossKind::Hinge, ..evidence.clone() });
        assert!(hinge.regime.unwrap().statement.contains("rate is 1/sqrt(n)"));
        let softmax = Evidence { loss: LossKind::Logistic, target_count: 3, ..evidence.clone() };
        assert!(!spectral_profile(&softmax).regime.unwrap().statement.contains("rate"));
        let curve = profile.effective_dimension.unwrap();
        let gamma = curve.gamma.unwrap();
        assert!((gamma.exponent - 0.5).abs() < 0.02 && gamma.quality > 0.999 && gamma.residual < 0.05, "{gamma:?}");
        assert_eq!(curve.grid.len(), 9);
        assert!((curve.grid[4].dimension - curve.at_lambda).abs() < 1e-9 * curve.at_lambda);
        let told = profile.eigenvalues.unwrap();
        assert!(!told.complete && told.values.len() <= LISTED && told.count == 20_000);
        assert_eq!((told.values[0].rank, told.values.last().unwrap().rank), (1, 20_000));
        assert!(told.values.windows(2).all(|pair| pair[0].rank < pair[1].rank));
        assert!(told.values.iter().all(|ranked| ranked.value == spectrum[ranked.rank - 1]));
    }

    #[test]
    fn what_is_missing_names_the_job_that_would_measure_it() {
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
        assert!(deleted.missing.iter().any(|missing| missing.reason.contains("data set is gone")));
        let tried = spectral_profile(&ridge_fit()).with_exact_system_tried(true);
        let dimension = tried.missing.iter().find(|missing| missing.what == "kernel_dimension").unwrap();
        assert!(dimension.job.is_none() && dimension.reason.contains("was tried"));
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
