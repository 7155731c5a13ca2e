//! Compressed answers: only when asked for, only where it pays, and the same bytes after decompression.

use crate::harness::{Answer, Service};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::io::Read;

async fn get(service: &Service, path: &str, accepted: &str) -> Answer {
    service.send(Request::get(path).header("accept-encoding", accepted).body(Body::empty()).unwrap()).await
}

fn decompressed(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.header("content-encoding") {
        "gzip" => flate2::read::GzDecoder::new(answer.bytes.as_slice()).read_to_end(&mut plain).unwrap(),
        "zstd" => zstd::Decoder::new(answer.bytes.as_slice()).unwrap().read_to_end(&mut plain).unwrap(),
        other => panic!("{other}"),
    };
    plain
}

fn is_plain(answer: &Answer) -> bool {
    !answer.headers.contains_key("content-encoding")
}

fn varies(answer: &Answer) -> bool {
    answer.headers.get_all("vary").iter().filter(|value| *value == "accept-encoding").count() == 1
}

#[tokio::test]
async fn long_texts_are_compressed_as_asked() {
    let service = Service::with_model().await;
    for path in [
        "/openapi.yaml",
        "/openapi.json",
        "/api/v1/datasets/waves",
        "/api/v1/datasets/waves/preview?rows=100",
        "/api/v1/models/waves/guarantees?all=true",
        "/api/v1/models/waves/plots/spectrum.svg",
        "/docs/guarantees",
    ] {
        let plain = service.get(path).await;
        assert_eq!(plain.status, 200, "{path}: {}", plain.text());
        assert!(is_plain(&plain) && varies(&plain), "{path} {:?}", plain.headers);
        for (accepted, coding) in
            [("gzip", "gzip"), ("gzip, deflate, br, zstd", "zstd"), ("gzip;q=1, zstd;q=0.1", "gzip"), ("*", "zstd")]
        {
            let answer = get(&service, path, accepted).await;
            assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (200, coding), "{path} {accepted}");
            assert!(varies(&answer) && !answer.headers.contains_key("content-length"), "{path}");
            assert_eq!(decompressed(&answer), plain.bytes, "{path}");
            assert!(answer.bytes.len() < plain.bytes.len() * 3 / 4, "{path}: {}", answer.bytes.len());
        }
        // Nothing acceptable that we have: the answer is plain, not refused after the work is done.
        for accepted in ["", "br", "gzip;q=0", "identity;q=0", "identity, gzip;q=0.5"] {
            let answer = get(&service, path, accepted).await;
            assert_eq!((answer.status.as_u16(), &answer.bytes), (200, &plain.bytes), "{path} {accepted}");
            assert!(is_plain(&answer), "{path} {accepted}");
        }
    }
}

#[tokio::test]
async fn short_texts_files_and_events_are_sent_as_they_are() {
    let service = Service::with_model().await;
    let job = service.get("/api/v1/jobs").await.ok(200)["jobs"][0]["id"].as_str().unwrap().to_owned();
    for path in [
        "/livez",
        "/version",
        "/nowhere",
        "/api/v1/models/waves/versions/1/artifact",
        "/api/v1/models/waves/versions/1/onnx",
        &format!("/api/v1/jobs/{job}/events"),
    ] {
        let (plain, answer) = (service.get(path).await, get(&service, path, "gzip, zstd").await);
        assert!(is_plain(&answer), "{path} {:?}", answer.headers);
        assert_eq!(answer.status, plain.status, "{path}");
        if path != "/nowhere" {
            assert_eq!(answer.bytes, plain.bytes, "{path}");
        }
    }
}

#[tokio::test]
async fn a_compressed_answer_has_a_weak_tag_that_is_known() {
    let service = Service::with_model().await;
    let path = "/api/v1/datasets/waves";
    let strong = service.get(path).await.header("etag").to_owned();
    let compressed = get(&service, path, "gzip").await;
    assert_eq!(compressed.header("etag"), format!("W/{strong}"));
    let request = Request::get(path).header("accept-encoding", "gzip").header("if-none-match", format!("W/{strong}"));
    let known = service.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((known.status.as_u16(), known.bytes.len()), (304, 0));
    assert!(varies(&known) && is_plain(&known));
}

#[tokio::test]
async fn long_predictions_are_compressed_and_short_ones_are_not() {
    let service = Service::with_model().await;
    let send = async |path: &str, rows: usize, accepted: &str| {
        let body = json!({"rows": vec![json!([0.25, "red", true]); rows]}).to_string();
        let request = Request::post(path).header("content-type", "application/json");
        service.send(request.header("accept-encoding", accepted).body(Body::from(body)).unwrap()).await
    };
    let predict = "/api/v1/models/waves/predict";
    // The second path has an escape, so that it goes through the route table.
    for path in [predict, "/api/v1/models/w%61ves/predict", "/api/v1/models/waves/versions/1/predict"] {
        for rows in [1, 100] {
            let short = send(path, rows, "gzip, zstd").await;
            assert!(is_plain(&short), "{path} {rows}");
            assert_eq!(short.ok(200)["predictions"].as_array().unwrap().len(), rows);
        }
        let plain = send(path, 20_000, "identity").await;
        assert!(is_plain(&plain) && plain.bytes.len() > 100_000);
        for coding in ["gzip", "zstd"] {
            let long = send(path, 20_000, coding).await;
            assert_eq!(long.header("content-encoding"), coding, "{path}");
            assert!(varies(&long) && long.headers.contains_key("x-request-id"), "{path} {:?}", long.headers);
            let found: Value = serde_json::from_slice(&decompressed(&long)).unwrap();
            assert_eq!(found, plain.ok(200), "{path}");
            assert!(long.bytes.len() * 4 < plain.bytes.len(), "{path} {}", long.bytes.len());
        }
    }
    let table: String = "x,colour,even\n".to_owned() + &"0.25,red,true\n".repeat(20_000);
    let request = Request::post(predict).header("content-type", "text/csv").header("accept-encoding", "gzip");
    let csv = service.send(request.body(Body::from(table)).unwrap()).await;
    assert_eq!((csv.status.as_u16(), csv.header("content-encoding")), (200, "gzip"));
    assert_eq!(String::from_utf8(decompressed(&csv)).unwrap().lines().count(), 20_001);
}

/// `/v2` compresses by its own rules, and nothing is compressed twice.
#[tokio::test]
async fn inference_is_compressed_once() {
    let service = Service::with_model().await;
    let names = ["x", "even"];
    let column = |name: &&str| {
        let (datatype, value) = if *name == "x" { ("FP64", json!(0.25)) } else { ("BOOL", json!(true)) };
        json!({"name": name, "shape": [20_000], "datatype": datatype, "data": vec![value; 20_000]})
    };
    let mut inputs: Vec<Value> = names.iter().map(column).collect();
    inputs.push(json!({"name": "colour", "shape": [20_000], "datatype": "BYTES", "data": vec!["red"; 20_000]}));
    let body = json!({"inputs": inputs}).to_string();
    let request = Request::post("/v2/models/waves/infer").header("accept-encoding", "gzip, zstd");
    let answer = service.send(request.body(Body::from(body)).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (200, "gzip"), "{}", answer.text());
    let found: Value = serde_json::from_slice(&decompressed(&answer)).unwrap();
    assert_eq!(found["outputs"][0]["shape"][0], 20_000);
}
