//! Artifacts. Length and checksum are made right first, or no mutation would be decoded. What can be read can be used, and
//! is the same when it is written and read again.
#![no_main]

use bochner::model::{ARTIFACT_HEADER, Predictor, decode, encode, to_onnx};
use bochner::serving::{Output, Outputs};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

fuzz_target!(|input: &[u8]| {
    let _ = decode(input);
    if input.len() < ARTIFACT_HEADER {
        return;
    }
    let mut bytes = input.to_vec();
    let length = (bytes.len() - ARTIFACT_HEADER) as u64;
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    let checksum = Sha256::digest(&bytes[ARTIFACT_HEADER..]);
    bytes[20..52].copy_from_slice(&checksum);
    let Ok(model) = decode(&bytes) else { return };
    let written = encode(&model).expect("a model that was read can be written");
    let again = decode(&written).expect("a model that was written can be read");
    assert!(encode(&again).is_ok_and(|again| again == written));
    model.describe();
    let _ = to_onnx(&model, "fuzzed", 1);
    let outputs = Outputs::known(Output::of(&model), &model);
    let row = vec![0.5; model.inputs.encoding.columns.len()];
    Predictor::new(model).compute(&[&row], outputs.extras());
});
