//! Models that bring every guarantee into every status that it can have.
#![allow(clippy::unnecessary_wraps)] // the fields of evidence are options

use crate::evidence::ridge_fit;
use bochner::theory::{
    CertificateDetail, CertificateEvidence, Choices, Circumstances, ErrorEstimates, Estimate, Evidence, ExactEvidence,
    JackknifeDetail, KernelEvidence, LossKind, PoolEvidence, RowAccess, SamplingKind, ScaledDifferences, ScoreUnit,
};

/// A model, where it was trained, and the δ that is asked for.
pub(crate) struct Case {
    pub(crate) evidence: Evidence,
    pub(crate) around: Circumstances,
    pub(crate) delta: f64,
}

const AT_HAND: Circumstances = Circumstances {
    rows: RowAccess::Kept,
    validation_rows: 60,
    held_out_rows: 60,
    sample_weights: false,
    kernel_unbounded: false,
    exact_residual: None,
};

fn case(evidence: Evidence) -> Case {
    Case { evidence, around: AT_HAND, delta: 0.05 }
}

/// 300 rows and 200 phase features, with a kernel fixed in advance and no measurements.
fn plain() -> Evidence {
    ridge_fit(300, (200, 200), 2.0, 0.7, 0.31)
}

fn exact(quadratic_form: f64, fitted_square: f64) -> Option<ExactEvidence> {
    Some(ExactEvidence {
        quadratic_form,
        fitted_square: Some(fitted_square),
        fitted_form: None,
        relative_residual: 0.0,
        held_out_error: None,
    })
}

fn kernel(standard_error: f64, largest: Option<f64>, spectral_delta: Option<f64>) -> Option<KernelEvidence> {
    Some(KernelEvidence { dimension: Estimate { value: 4.0, standard_error }, largest, spectral_delta })
}

fn pool(candidate_count: usize, row_count: usize, leverage: fn(f64) -> f64) -> Option<PoolEvidence> {
    let lambdas = [0.1, 0.03, 0.01, 0.003, 0.001];
    Some(PoolEvidence {
        candidate_count,
        row_count,
        spectrum: vec![0.5, 0.1, 0.01],
        kernel_deviation: Some(0.08),
        largest_leverages: lambdas.map(|lambda| (lambda, leverage(lambda))).to_vec(),
    })
}

/// A pool that was scored by something else than leverage.
fn empty_pool() -> Option<PoolEvidence> {
    pool(2_000, 300, |_| 1.0).map(|pool| PoolEvidence { spectrum: Vec::new(), largest_leverages: Vec::new(), ..pool })
}

fn power_law(exponent: i32) -> Option<Vec<f64>> {
    Some((1..200).map(|i| f64::from(i).powi(-exponent)).collect())
}

fn certificate(count: u32, offset: f64, mean_square: f64) -> Option<CertificateEvidence> {
    Some(CertificateEvidence {
        differences: (1..=count).map(|j| offset + f64::from(j) / 4_000.0).collect(),
        clipped_mean_square: mean_square,
        clipped_square_variance: 0.0001,
        clip_width: 2.0,
        solver_slack: 0.001,
        detail: Some(CertificateDetail {
            clipped_squares: vec![mean_square; count as usize],
            scaled: Some(ScaledDifferences {
                ratios: (1..=count).map(|j| 3.0 * f64::from(j) / f64::from(count)).collect(),
                mean_squares: vec![0.0004 + offset * offset],
            }),
            validation_rows: count as usize,
            calibration_rows: 0,
            unlabelled_rows: 0,
        }),
    })
}

fn scores(count: u32) -> Option<Vec<f64>> {
    Some((1..=count).map(|j| f64::from(j) / 100.0).collect())
}

/// Everything that a certify job measures.
fn measured() -> Evidence {
    Evidence {
        feature_count: 2_000,
        draw_count: 2_000,
        exact: exact(0.037, 0.5),
        kernel: kernel(0.0, Some(0.8), Some(0.2)),
        spectrum: power_law(2),
        pool: pool(2_000, 300, |lambda| lambda.powf(-0.7)),
        estimates: ErrorEstimates {
            jackknife: Some(0.0012),
            fresh_features: Some(0.0015),
            jackknife_detail: Some(JackknifeDetail {
                low: 0.0007,
                high: 0.0021,
                rows: 900,
                left_out: false,
                pooled: true,
            }),
        },
        certificate: certificate(900, 0.0, 0.01),
        calibration_scores: scores(99),
        ..plain()
    }
}

fn classifier(loss: LossKind, target_count: usize) -> Evidence {
    Evidence { loss, target_count, target_mean_square: None, predicts_labels: true, ..measured() }
}

fn leverage_weighted(evidence: Evidence) -> Evidence {
    Evidence { sampling: SamplingKind::LeverageWeighted, ..evidence }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = ridge().into_iter().chain(uninformative()).chain(other_models()).map(case).collect();
    cases.extend(circumstances());
    cases.push(Case { delta: 0.01, ..case(Evidence { calibration_scores: scores(19), ..plain() }) });
    cases.push(Case { delta: 0.5, ..case(measured()) });
    cases
}

/// Ridge regression by random features.
fn ridge() -> Vec<Evidence> {
    let chosen = |choices| Evidence { choices, ..measured() };
    let near_ceiling = Evidence { pool: pool(2_000, 300, |_| 1_900.0), ..measured() };
    vec![
        measured(),
        plain(),
        chosen(Choices::FromInputs),
        chosen(Choices::FromTargets),
        chosen(Choices::FromDraws),
        chosen(Choices::FromDesignRows),
        Evidence { rows_added: true, ..chosen(Choices::FromDesignRows) },
        chosen(Choices::FromList { kernels: 81, lambdas: 35 }),
        Evidence { sign_features: true, feature_bound: Some(1.0), ..chosen(Choices::FromDraws) },
        Evidence { sign_features: true, feature_bound: Some(1.0), ..measured() },
        Evidence { sign_features: true, feature_bound: Some(1.0), ..plain() },
        Evidence { target_count: 3, score_unit: ScoreUnit::TrainingError, ..measured() },
        Evidence { target_count: 3, score_unit: ScoreUnit::Spread, ..measured() },
        Evidence { score_unit: ScoreUnit::Spread, ..measured() },
        Evidence { predicts_labels: true, ..measured() },
        Evidence { rows_added: true, ..measured() },
        Evidence { unbiased: false, ..measured() },
        Evidence { exact: exact(0.037, 0.5), spectrum: power_law(2), ..plain() },
        Evidence { exact: exact(0.037, 0.5), kernel: kernel(0.3, None, None), ..plain() },
        Evidence { kernel: kernel(0.3, None, None), ..measured() },
        Evidence { sample_count: 1_500, kernel: kernel(0.3, None, Some(0.2)), ..measured() },
        Evidence { pool: None, ..measured() },
        near_ceiling,
        Evidence { spectrum: Some(vec![0.0; 3]), ..measured() },
        Evidence { ridge: 0.29, ..measured() },
        Evidence { ridge: 0.29, ..plain() },
        Evidence { ridge: 1e-5, sample_count: 100_000, ..measured() },
        Evidence { ridge: 0.01, sample_count: 16, feature_bound: Some(1.0), ..measured() },
        Evidence { ridge: 0.01, sample_count: 4, feature_bound: Some(1.0), kernel: None, ..measured() },
        Evidence { ridge: 2.0, kernel: None, exact: None, ..measured() },
        Evidence { ridge: 0.9, ..measured() },
        Evidence { feature_count: 20, draw_count: 20, ..measured() },
        Evidence { feature_bound: None, kernel_diagonal: None, ..measured() },
        Evidence {
            feature_bound: None,
            kernel_diagonal: None,
            kernel: kernel(0.0, Some(0.001), Some(0.2)),
            ..measured()
        },
        Evidence { draws_independent: false, ..measured() },
        Evidence { rows_weighted: true, ..measured() },
        Evidence { sampling: SamplingKind::ChosenByInputs, ..measured() },
        leverage_weighted(Evidence { sample_count: 5_000, pool: pool(10, 5_000, |_| 1.0), ..measured() }),
        leverage_weighted(Evidence {
            feature_count: 20,
            draw_count: 20,
            pool: pool(1_000, 300, |_| 1.0),
            ..measured()
        }),
        leverage_weighted(Evidence { kernel: None, spectrum: None, ..measured() }),
        leverage_weighted(Evidence { kernel: None, ..measured() }),
        leverage_weighted(Evidence { pool_degrees: vec![(0.9, 3.0)], ..measured() }),
        leverage_weighted(Evidence { pool_degrees: vec![(0.01, 9.0), (1.0 / 300.0, 12.0)], ..measured() }),
        Evidence { sampling: SamplingKind::ChosenByTargets, unbiased: false, ..measured() },
        Evidence { sampling: SamplingKind::ChosenByInputs, unbiased: false, pool: empty_pool(), ..measured() },
        Evidence { certificate: certificate(58, 0.0, 0.01), ..measured() },
        Evidence { certificate: certificate(1, 0.0, 0.01), ..measured() },
        Evidence {
            certificate: certificate(900, 0.0, 0.01).map(|found| CertificateEvidence { detail: None, ..found }),
            ..measured()
        },
    ]
}

/// Bounds that are no better than a trivial one.
fn uninformative() -> Vec<Evidence> {
    vec![
        Evidence { exact: exact(20.0, 1.0), ..plain() },
        Evidence { exact: exact(20.0, 1.0), ridge: 0.49, ..plain() },
        Evidence { exact: exact(20.0, 1.0), ridge: 0.12, ..plain() },
        Evidence { sample_count: 10_000, feature_count: 2, draw_count: 2, ..plain() },
        Evidence { exact: exact(20.0, 3.0), sample_count: 100_000, ridge: 0.005, ..plain() },
        Evidence { sample_count: 100_000, ridge: 0.005, target_mean_square: Some(0.31), ..plain() },
        Evidence { sign_features: true, feature_bound: Some(1.0), exact: exact(0.01, 3.0), ..plain() },
        Evidence { certificate: certificate(59, 0.5413, 0.01), ..measured() },
        Evidence { certificate: certificate(900, 1.0, 0.4), ..measured() },
    ]
}

/// Classifiers and the exact kernel method.
fn other_models() -> Vec<Evidence> {
    let exponential: Vec<f64> = (1..40).map(|i| (-0.5 * f64::from(i)).exp()).collect();
    let finite: Vec<f64> = [1.0, 0.5, 0.3, 0.1].into_iter().chain([0.0; 96]).collect();
    vec![
        classifier(LossKind::Logistic, 1),
        classifier(LossKind::Hinge, 3),
        classifier(LossKind::Logistic, 3),
        classifier(LossKind::SquaredHinge, 1),
        Evidence { feature_count: 20, draw_count: 20, ..classifier(LossKind::Hinge, 1) },
        Evidence { ridge: 1e4, kernel: None, exact: None, ..classifier(LossKind::Hinge, 1) },
        Evidence { spectrum: None, kernel: None, pool: None, exact: None, ..classifier(LossKind::Hinge, 1) },
        Evidence { feature_bound: None, ..classifier(LossKind::Hinge, 1) },
        Evidence { kernel: kernel(0.3, None, None), ..leverage_weighted(classifier(LossKind::Hinge, 1)) },
        Evidence { spectrum: None, kernel: None, ..leverage_weighted(classifier(LossKind::Hinge, 1)) },
        leverage_weighted(Evidence {
            sample_count: 5_000,
            ridge: 1.0 / 5_000.0,
            pool: pool(10, 5_000, |_| 1.0),
            ..classifier(LossKind::Logistic, 1)
        }),
        leverage_weighted(Evidence {
            ridge: 1e-3,
            pool_degrees: vec![(1e-2, 3.0)],
            pool: pool(2_000, 300, |_| 1.0),
            ..classifier(LossKind::Logistic, 1)
        }),
        leverage_weighted(Evidence { spectrum: Some(exponential.clone()), ..classifier(LossKind::Hinge, 1) }),
        leverage_weighted(Evidence { spectrum: Some(finite.clone()), ..classifier(LossKind::Hinge, 1) }),
        Evidence { spectrum: Some(exponential), ..classifier(LossKind::Hinge, 1) },
        Evidence { spectrum: Some(finite), ..classifier(LossKind::Hinge, 1) },
        Evidence { sampling: SamplingKind::NoFeatures, feature_bound: None, ..measured() },
        Evidence { sampling: SamplingKind::NoFeatures, feature_bound: None, spectrum: None, pool: None, ..plain() },
    ]
}

/// A model without measurements in every situation that changes a remedy.
fn circumstances() -> Vec<Case> {
    let solved = Evidence { exact: exact(0.037, 0.5), kernel: kernel(0.3, None, None), ..plain() };
    let around = [
        Circumstances { rows: RowAccess::Gone, ..AT_HAND },
        Circumstances { rows: RowAccess::Scattered, ..AT_HAND },
        Circumstances { rows: RowAccess::TooMany, ..AT_HAND },
        Circumstances { validation_rows: 0, held_out_rows: 0, ..AT_HAND },
        Circumstances { sample_weights: true, ..AT_HAND },
        Circumstances { kernel_unbounded: true, ..AT_HAND },
        Circumstances { exact_residual: Some(2e-3), ..AT_HAND },
        Circumstances { exact_residual: Some(1.0), ..AT_HAND },
    ];
    let mut cases: Vec<Case> = around.into_iter().map(|around| Case { around, ..case(plain()) }).collect();
    cases.push(Case { around: Circumstances { exact_residual: Some(1e-12), ..AT_HAND }, ..case(solved) });
    cases.push(case(Evidence { rows_weighted: true, ..plain() }));
    cases
}
