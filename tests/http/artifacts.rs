//! Models as files: out of one service and into another.

use crate::harness::{Answer, Service, waves};
use axum::body::Body;
use axum::http::Request;
use bochner::dataset::Scaling;
use bochner::features::{Frequencies, Kernel};
use bochner::model::{FittedModel, decode, encode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ARTIFACT: &str = "/api/v1/models/waves/versions/1/artifact";
const PAYLOAD: usize = 52;

async fn export(service: &Service) -> Vec<u8> {
    let answer = service.get(ARTIFACT).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.bytes
}

async fn import(service: &Service, model: &str, bytes: impl Into<Body>) -> Answer {
    service.post_as(&format!("/api/v1/models/{model}/versions"), "application/octet-stream", bytes).await
}

async fn predict(service: &Service, model: &str) -> Value {
    let rows = json!({"rows": [[0.3, "green", true], [null, "red", false]], "outputs": ["value", "interval"]});
    service.post(&format!("/api/v1/models/{model}/predict"), &rows).await.ok(200)["predictions"].clone()
}

#[tokio::test]
async fn a_model_taken_elsewhere_is_the_same_model() {
    let service = Service::with_model().await;
    let answer = service.get(ARTIFACT).await;
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"waves-1.bochner\"");
    assert_eq!(answer.header("content-length"), answer.bytes.len().to_string());
    let told = service.get("/api/v1/models/waves/versions/1").await.ok(200);
    assert_eq!(answer.header("etag"), format!("\"{}\"", told["artifact_sha256"].as_str().unwrap()));
    assert_eq!(bochner::storage::files::hex(&Sha256::digest(&answer.bytes)), told["artifact_sha256"].as_str().unwrap());

    let elsewhere = Service::start();
    let imported = import(&elsewhere, "moved", answer.bytes.clone()).await;
    assert_eq!(imported.header("location"), "/api/v1/models/moved/versions/1");
    let imported = imported.ok(201);
    assert_eq!((&imported["model"], &imported["version"]), (&json!("moved"), &json!(1)));
    for same in ["artifact_sha256", "artifact_bytes", "spec", "columns", "target", "shapes", "example_row"] {
        assert_eq!(imported[same], told[same], "{same}");
    }
    assert_eq!(elsewhere.get("/api/v1/models/moved/versions/1").await.ok(200), imported);
    assert_eq!(predict(&elsewhere, "moved").await, predict(&service, "waves").await);
    let guarantees = elsewhere.get("/api/v1/models/moved/guarantees?all=true").await.ok(200);
    assert_eq!(
        guarantees["guarantees"],
        service.get("/api/v1/models/waves/guarantees?all=true").await.ok(200)["guarantees"]
    );
    // Once more is one version more, and the file is the same again.
    assert_eq!(import(&elsewhere, "moved", answer.bytes.clone()).await.ok(201)["version"], 2);
    let again = elsewhere.get("/api/v1/models/moved/versions/2/artifact").await;
    assert_eq!(again.bytes, answer.bytes);
}

#[tokio::test]
async fn an_imported_version_is_marked_and_so_are_those_made_from_it() {
    let service = Service::start();
    service.upload("name=waves", waves(200)).await.ok(201);
    let spec = json!({"features": {"count": 16}, "lambda": 1e-4, "updatable": true});
    service.train("waves", "waves", &spec).await;
    let own = service.get("/api/v1/models/waves").await.ok(200);
    assert_eq!((&own["versions"][0]["imported"], &own["latest"]["imported"]), (&Value::Null, &Value::Null));
    let guarantees = service.get("/api/v1/models/waves/guarantees").await.ok(200);
    assert!(guarantees["imported"].is_null() && guarantees.get("notice").is_none(), "{guarantees}");

    let bytes = export(&service).await;
    let path = "/api/v1/models/taken/versions?origin=release%207%20of%20the%20lab";
    let taken = service.post_as(path, "application/octet-stream", bytes.clone()).await.ok(201);
    let mark = &taken["imported"];
    assert_eq!(mark["origin"], "release 7 of the lab");
    assert_eq!(mark["sha256"], bochner::storage::files::hex(&Sha256::digest(&bytes)));
    assert!(mark["at"].is_string());
    assert_eq!(service.get("/api/v1/models/taken").await.ok(200)["versions"][0]["imported"], *mark);
    let guarantees = service.get("/api/v1/models/taken/guarantees").await.ok(200);
    assert_eq!(guarantees["imported"], *mark);
    assert!(guarantees["notice"].as_str().unwrap().contains("the word of its sender"), "{guarantees}");

    let update = Request::post("/api/v1/models/taken/update").header("prefer", "wait=60");
    let body = json!({"dataset": "waves"}).to_string();
    let update = service.send(update.body(Body::from(body)).unwrap()).await.ok(200);
    assert_eq!(update["version"], 2, "{update}");
    assert_eq!(service.get("/api/v1/models/taken/versions/2").await.ok(200)["imported"], *mark);
    assert!(import(&service, "plain", bytes.clone()).await.ok(201)["imported"]["origin"].is_null());
    let long = format!("/api/v1/models/taken/versions?origin={}", "a".repeat(201));
    service.post_as(&long, "application/octet-stream", bytes).await.refused(422, "invalid_parameter");
}

#[tokio::test]
async fn a_compressed_file_is_taken() {
    let service = Service::with_model().await;
    let packed = zstd::encode_all(export(&service).await.as_slice(), 1).unwrap();
    let request = Request::post("/api/v1/models/packed/versions").header("content-encoding", "zstd");
    let imported = service.send(request.body(Body::from(packed.clone())).unwrap()).await.ok(201);
    assert_eq!(imported["version"], 1);
    assert_eq!(predict(&service, "packed").await, predict(&service, "waves").await);
    let request = Request::post("/api/v1/models/packed/versions").header("content-encoding", "zstd");
    let cut = packed[..packed.len() - 9].to_vec();
    service.send(request.body(Body::from(cut)).unwrap()).await.refused(400, "unreadable_body");
}

/// The file with a right checksum and something changed in the model.
fn forged(good: &[u8], change: impl Fn(&mut FittedModel)) -> Vec<u8> {
    let mut model = decode(good).unwrap();
    change(&mut model);
    encode(&model).unwrap()
}

fn without_inputs(model: &mut FittedModel) {
    model.inputs.encoding.columns.clear();
    model.inputs.scaling = Scaling { fill: vec![], offset: vec![], factor: vec![] };
    model.map.frequencies = Frequencies::Dense(ndarray::Array2::zeros((model.map.draw_count(), 0)));
}

/// The file with bytes changed and everything else as it was.
fn patched(good: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut bad = good.to_vec();
    bad[at..at + bytes.len()].copy_from_slice(bytes);
    bad
}

#[tokio::test]
async fn hostile_files_are_refused_and_leave_nothing() {
    let service = Service::with_model().await;
    let good = export(&service).await;
    let mut resealed = patched(&good, PAYLOAD, &[0xff; 16]);
    let checksum = Sha256::digest(&resealed[PAYLOAD..]);
    resealed[20..PAYLOAD].copy_from_slice(&checksum);
    for (bad, status, word) in [
        (Vec::new(), 422, "magic"),
        (b"x,y\n1,2\n".to_vec(), 422, "magic"),
        (good[..20].to_vec(), 422, "magic"),
        (patched(&good, 0, b"b"), 422, "magic"),
        (patched(&good, 8, &3_u32.to_le_bytes()), 422, "format 3; this build reads 1 and 2"),
        (patched(&good, 8, &[0xff; 4]), 422, "this build reads 1 and 2"),
        (good[..good.len() - 1].to_vec(), 422, "the header states"),
        (good[..PAYLOAD].to_vec(), 422, "the header states"),
        ([good.as_slice(), b"x"].concat(), 422, "the header states"),
        (patched(&good, good.len() / 2, &[good[good.len() / 2] ^ 1]), 422, "checksum"),
        (patched(&good, 12, &(good.len() as u64).to_le_bytes()), 422, "the header states"),
        (patched(&good, 12, &(10_u64 << 30).to_le_bytes()), 413, "the limit is"),
        (patched(&good, 12, &[0xff; 8]), 413, "the limit is"),
        (resealed, 422, ""),
        (forged(&good, |model| model.weights[[3, 0]] = f64::NAN), 422, "the weights hold a number that is not finite"),
        (forged(&good, |model| model.intercepts[0] = f64::INFINITY), 422, "not finite"),
        (forged(&good, |model| model.intercepts.push(0.0)), 422, "disagree"),
        (forged(&good, |model| model.inputs.scaling.fill.push(0.0)), 422, "scaling and encoding"),
        (forged(&good, |model| model.map.phases.push(0.0)), 422, "disagree"),
        (forged(&good, |model| model.map.kernel = Kernel::Gaussian { bandwidth: 0.0 }), 422, "kernel's parameters"),
        (forged(&good, |model| model.map.kernel = Kernel::Matern { bandwidth: 1.0, nu: 1e9 }), 422, "out of range"),
        (forged(&good, without_inputs), 422, "the model has no inputs"),
        (forged(&good, |model| model.failure_probability = f64::NAN), 422, "the failure probability"),
        (forged(&good, |model| model.interval_scales.clear()), 422, "intervals and outputs"),
    ] {
        let code = if status == 413 { "body_too_large" } else { "invalid_artifact" };
        let body = import(&service, "hostile", bad).await.refused(status, code);
        assert!(body["detail"].as_str().unwrap().contains(word), "{body}");
    }
    service.get("/api/v1/models/hostile").await.refused(404, "model_not_found");
    assert_eq!(service.get("/api/v1/models").await.ok(200)["models"].as_array().unwrap().len(), 1);
    assert_eq!(service.files("artifacts").len(), 1);
    assert_eq!(import(&service, "hostile", good).await.ok(201)["version"], 1);
}

#[tokio::test]
async fn files_beyond_the_limit_are_refused_by_their_length() {
    let service = Service::with_model().await;
    let good = export(&service).await;
    let small = Service::with(&["--max-artifact", "1000"]);
    let announced = Request::post("/api/v1/models/m/versions").header("content-length", good.len());
    small.send(announced.body(Body::from(good.clone())).unwrap()).await.refused(413, "body_too_large");
    let body = import(&small, "m", good).await.refused(413, "body_too_large");
    assert!(body["detail"].as_str().unwrap().contains("1000"), "{body}");
    small.get("/api/v1/models/m").await.refused(404, "model_not_found");
}

/// What was trained or imported predicts from memory: nobody waits for the file of a new version.
#[tokio::test]
async fn a_version_is_in_memory_when_it_becomes_visible() {
    let service = Service::with_model().await;
    let good = export(&service).await;
    import(&service, "moved", good).await.ok(201);
    for file in service.files("artifacts") {
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(predict(&service, "moved").await, predict(&service, "waves").await);
}

/// A file comes to disk first: one that comes slowly keeps nobody waiting.
#[tokio::test]
async fn a_slow_sender_keeps_no_other_file_out() {
    let service = Service::with_model().await;
    let good = export(&service).await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Vec<u8>, std::io::Error>>(1);
    let body = Body::from_stream(futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    }));
    let slow = import(&service, "slow", body);
    let meanwhile = async {
        sender.send(Ok(good[..100].to_vec())).await.unwrap();
        // The first chunk is taken, which is to say that the import has begun.
        let second = sender.reserve().await.unwrap();
        let fast = futures_util::future::join3(
            import(&service, "fast", good.clone()),
            import(&service, "fast", good.clone()),
            import(&service, "fast", good.clone()),
        );
        let (first, next, last) = fast.await;
        second.send(Ok(good[100..].to_vec()));
        drop(sender);
        [first, next, last]
    };
    let (slow, fast) = Box::pin(futures_util::future::join(slow, meanwhile)).await;
    let mut versions = fast.map(|answer| answer.ok(201)["version"].as_u64().unwrap());
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 3]);
    slow.ok(201);
}

#[tokio::test]
async fn a_file_that_comes_too_slowly_is_given_up() {
    let service = Service::with(&["--upload-idle-seconds", "1"]);
    let drip = futures_util::stream::unfold(0, |count| async move {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        Some((Ok::<_, std::io::Error>(if count == 0 { b"BOCHNER\0".to_vec() } else { vec![1] }), count + 1))
    });
    let start = std::time::Instant::now();
    let body = import(&service, "slow", Body::from_stream(drip)).await.refused(400, "unreadable_body");
    assert!(body["detail"].as_str().unwrap().contains("less than 16 KiB a second arrived"), "{body}");
    assert!(start.elapsed() >= std::time::Duration::from_secs(1));
}

#[tokio::test]
async fn a_model_larger_than_those_trained_here_is_refused() {
    let good = export(&Service::with_model().await).await;
    for (flag, limit, words) in [
        ("--max-features", "254", "has 256 features; the limit here is 254"),
        ("--max-columns", "2", "has 3 columns; the limit here is 2"),
        ("--max-levels", "2", "has 3 values in a text column; the limit here is 2"),
    ] {
        let small = Service::with(&[flag, limit]);
        let body = import(&small, "m", good.clone()).await.refused(422, "invalid_artifact");
        assert!(body["detail"].as_str().unwrap().contains(words), "{body}");
        small.get("/api/v1/models/m").await.refused(404, "model_not_found");
    }
    let large = Service::with(&["--max-features", "256", "--max-columns", "3", "--max-levels", "3"]);
    import(&large, "m", good).await.ok(201);
}

#[tokio::test]
async fn names_and_versions_that_are_not_there() {
    let service = Service::with_model().await;
    let good = export(&service).await;
    import(&service, "a@b", good.clone()).await.refused(422, "invalid_model_name");
    import(&service, "..", good.clone()).await.refused(422, "invalid_model_name");
    service.get("/api/v1/models/waves/versions/9/artifact").await.refused(404, "version_not_found");
    service.get("/api/v1/models/nobody/versions/1/artifact").await.refused(404, "model_not_found");
    service.put("/api/v1/models/waves/versions", &json!({})).await.refused(405, "method_not_allowed");
}

/// Out of service, and back in it; versions come and go meanwhile.
#[tokio::test]
async fn a_model_is_unloaded_and_loaded() {
    let service = Service::with_model_and(&["--allow-model-control"]).await;
    let before = predict(&service, "waves").await;
    let rows = json!({"rows": [[0.3, "green", true]]});
    service.post("/v2/repository/models/waves/unload", &json!({})).await.ok(200);
    for path in ["/api/v1/models/waves/predict", "/api/v1/models/waves/versions/1/predict"] {
        service.post(path, &rows).await.refused(409, "model_unloaded");
    }
    for path in ["guarantees", "spectrum", "versions/1/guarantees", "versions/1/spectrum"] {
        service.get(&format!("/api/v1/models/waves/{path}")).await.refused(409, "model_unloaded");
    }
    assert_eq!(service.get("/v2/models/waves/ready").await.json()["code"], "model_unloaded");
    assert_eq!(service.post("/invocations", &rows).await.json()["error_code"], "MODEL_UNLOADED");
    service.put("/api/v1/models/waves/aliases/live", &json!({"version": 1})).await.refused(409, "model_unloaded");
    service.get("/api/v1/models/waves").await.ok(200); // it is still told about, and can be taken away
    let good = export(&service).await;
    assert_eq!(import(&service, "waves", good.clone()).await.ok(201)["version"], 2);
    service.post("/api/v1/models/waves/predict", &rows).await.refused(409, "model_unloaded");
    service.post("/v2/repository/models/waves/load", &json!({})).await.ok(200);
    assert_eq!(predict(&service, "waves").await, before);
    // A name that was unloaded when its model was deleted is free.
    service.post("/v2/repository/models/waves/unload", &json!({})).await.ok(200);
    service.call("DELETE", "/api/v1/models/waves").await.ok(204);
    import(&service, "waves", good).await.ok(201);
    assert_eq!(predict(&service, "waves").await, before);
}

#[tokio::test]
async fn a_file_that_is_missing_is_not_a_version_that_is_missing() {
    let service = Service::with_model().await;
    for file in service.files("artifacts") {
        std::fs::remove_file(file).unwrap();
    }
    service.get(ARTIFACT).await.refused(500, "model_damaged");
    service.get("/api/v1/models/waves/versions/1").await.ok(200);
    service.call("DELETE", "/api/v1/models/waves/versions/1").await.ok(204);
    service.get(ARTIFACT).await.refused(404, "model_not_found");
}
