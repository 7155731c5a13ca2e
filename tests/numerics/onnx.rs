//! Models that have no ONNX file. Those that have one run in onnxruntime: `tests/clients`.

use crate::tables::{fit, waves};
use bochner::features::{Frequencies, Structured};
use bochner::model::{OnnxError, to_onnx};
use serde_json::json;

#[test]
fn exact_kernels_have_a_file_where_they_have_operators() {
    let exact = |nu: f64| {
        let spec = json!({"learner": "exact_krr", "lambda": 0.01, "kernel": {"name": "matern", "nu": nu}});
        to_onnx(&fit(&waves(60), &spec, 1).unwrap().model, "exact", 1)
    };
    assert!([0.5, 1.5, 2.5].map(exact).iter().all(Result::is_ok));
    assert!(matches!(exact(1.2), Err(OnnxError::Smoothness { nu: 1.2 })));
}

#[test]
fn what_the_format_cannot_hold_is_refused_before_it_is_written_out() {
    let spec = json!({"features": {"count": 64, "sampling": "structured"}, "guarantees": {"exact_rows": 0}});
    let mut model = fit(&waves(200), &spec, 1).unwrap().model;
    assert!(to_onnx(&model, "waves", 1).is_ok());
    let p = 1 << 16;
    let huge = Structured { input_dim: p, norms: vec![1.0; p], signs: vec![false; 3 * p] }; // 16 GiB written out
    assert!(huge.is_consistent());
    model.map.frequencies = Frequencies::Structured(huge);
    let OnnxError::TooLarge { bytes } = to_onnx(&model, "waves", 1).unwrap_err() else { panic!("it is too large") };
    assert!(bytes >= p * p * 4, "{bytes}");
}
