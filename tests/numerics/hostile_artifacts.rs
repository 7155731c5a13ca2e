//! Artifacts whose checksum is right and whose payload lies: refused or read, never a panic.

use crate::tables::{fit, waves};
use bochner::model::{Predictor, decode, encode, to_onnx};
use serde_json::json;
use sha2::{Digest, Sha256};

const HEADER_BYTES: usize = 52;
const CHECKSUM: std::ops::Range<usize> = 20..52;

#[test]
fn a_lie_in_the_payload_is_refused_or_harmless() {
    for sampling in ["plain", "structured"] {
        let spec = json!({"features": {"count": 8, "sampling": sampling}, "guarantees": {"exact_rows": 0}});
        let good = encode(&fit(&waves(100), &spec, 1).unwrap().model).unwrap();
        let mut refused = 0;
        for position in HEADER_BYTES..good.len() {
            for value in [0, 1, 0x7f, 250, 253, 255] {
                let mut bytes = good.clone();
                bytes[position] = value;
                let checksum = Sha256::digest(&bytes[HEADER_BYTES..]);
                bytes[CHECKSUM].copy_from_slice(&checksum);
                match decode(&bytes) {
                    Ok(model) => {
                        model.describe();
                        to_onnx(&model, "waves", 1).unwrap();
                        let row = vec![0.5; model.inputs.encoding.columns.len()];
                        Predictor::new(model).predict(&[&row]);
                    }
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
