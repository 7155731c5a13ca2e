//! `/v2` requests with binary tensors, through the whole service. The first two bytes are the length of the JSON.
#![no_main]

use axum::body::Body;
use axum::http::Request;
use bochner_fuzz::Service;
use libfuzzer_sys::fuzz_target;
use std::cell::LazyCell;

thread_local! {
    static SERVICE: LazyCell<Service> = LazyCell::new(Service::start);
}

fuzz_target!(|input: &[u8]| {
    let Some((&[low, high], body)) = input.split_first_chunk() else { return };
    let json_length = u16::from_le_bytes([low, high]);
    for model in ["ridge", "linear"] {
        let mut request = Request::post(format!("/v2/models/{model}/infer"));
        if json_length > 0 {
            request = request.header("inference-header-content-length", json_length);
        }
        let request = request.body(Body::from(body.to_vec())).expect("a request");
        SERVICE.with(|service| service.send(request));
    }
});
