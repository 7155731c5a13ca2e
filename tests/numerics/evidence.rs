//! Evidence as the golden guarantees have it.

use crate::golden::number;
use bochner::theory::{
    Choices, ErrorEstimates, Estimate, Evidence, ExactEvidence, KernelEvidence, LossKind, RowsSplit, SamplingKind,
    ScoreUnit,
};
use serde_json::Value;

/// A ridge fit with independent features and no measurements.
pub(crate) fn ridge_fit(
    sample_count: usize,
    (feature_count, draw_count): (usize, usize),
    feature_bound: f64,
    ridge: f64,
    target_mean_square: f64,
) -> Evidence {
    Evidence {
        sample_count,
        feature_count,
        draw_count,
        feature_bound: Some(feature_bound),
        sign_features: false,
        sampling: SamplingKind::DataIndependent,
        draws_independent: true,
        unbiased: true,
        choices: Choices::FixedInAdvance,
        rows_weighted: false,
        loss: LossKind::Squared,
        ridge,
        target_count: 1,
        target_mean_square: Some(target_mean_square),
        weight_norm_square: None,
        spectrum: None,
        spectrum_floor: 1e-13,
        kernel: None,
        exact: None,
        pool: None,
        estimates: ErrorEstimates::default(),
        certificate: None,
        calibration_scores: None,
        score_unit: ScoreUnit::Own,
        pool_degrees: Vec::new(),
        enough_features: None,
        predicts_labels: false,
        rows_added: false,
        kernel_diagonal: Some(1.0),
        rows_split: RowsSplit::AtRandom,
    }
}

/// The exact solution of a golden case.
pub(crate) fn exact_of(case: &Value) -> ExactEvidence {
    let lemma2 = &case["avron_lemma2"];
    ExactEvidence {
        quadratic_form: number(&case["Q"]),
        fitted_square: Some(number(&case["Kalpha_norm2"])),
        fitted_form: lemma2["bias"].as_f64().map(|bias| bias / number(&case["lam"])),
        relative_residual: 0.0,
        held_out_error: None,
    }
}

/// The kernel matrix of a golden case, with an approximation measured to be within Δ.
pub(crate) fn kernel_of(case: &Value, spectral_delta: Option<f64>) -> KernelEvidence {
    let dimension = Estimate { value: number(&case["s_lambda"]), standard_error: 0.0 };
    KernelEvidence { dimension, largest: Some(number(&case["mu1"])), spectral_delta }
}

/// The golden case of one map, s and δ.
pub(crate) fn wang_case(file: &Value, case: &Value, bound: &Value) -> Evidence {
    let counts = (bound["s"].as_u64().unwrap() as usize, number(&bound["draws"]) as usize);
    let n = file["n"].as_u64().unwrap() as usize;
    let fit = ridge_fit(n, counts, number(&bound["b"]), number(&case["lam"]), number(&file["y2_mean"]));
    Evidence { exact: Some(exact_of(case)), kernel: Some(kernel_of(case, None)), ..fit }
}

/// Calls `check` with every file, kernel and λ of the golden guarantees; gives their count.
pub(crate) fn for_each_case(mut check: impl FnMut(&Value, &Value, &Value)) -> usize {
    let mut seen = 0;
    for set in ["diabetes", "syn1d", "syn3d"] {
        let file = crate::golden::load(&format!("guarantees_{set}.json"));
        for kernel in file["kernels"].as_array().unwrap() {
            for case in kernel["lambdas"].as_array().unwrap() {
                check(&file, kernel, case);
                seen += 1;
            }
        }
    }
    seen
}
