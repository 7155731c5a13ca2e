//! The JSON request of MLflow's scoring server.
#![no_main]

use bochner::serving::ScoringRequest;
use bochner_fuzz::MODELS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    for model in MODELS.iter() {
        if let Ok(request) = ScoringRequest::read(body, model, 100) {
            assert!((1..=100).contains(&request.block.len()));
        }
    }
});
