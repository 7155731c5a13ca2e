//! What a prediction request may take: time for its body and its model, memory, rows, bytes of an answer.

use crate::harness::{Service, open_body, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PREDICT: &str = "/api/v1/models/waves/predict";

async fn service(flags: &[&str]) -> Service {
    let service = Service::with(flags);
    service.upload("name=waves", waves(120)).await.ok(201);
    let spec =
        json!({"features": {"count": 128}, "lambda": 1e-3, "error_bars": false, "guarantees": {"exact_rows": 0}});
    assert_eq!(service.train("waves", "waves", &spec).await["status"], "succeeded");
    service
}

/// Rows as a JSON body of at least so many bytes.
fn large(bytes: usize) -> String {
    let row = r#"[0.5,"red",true]"#;
    format!("{{\"rows\":[{}]}}", vec![row; bytes / (row.len() + 1) + 1].join(","))
}

/// A connection on which a request has begun and stands still.
async fn stalled(address: std::net::SocketAddr, path: &str, headers: &str, length: usize, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(sent).await.unwrap();
    stream
}

#[tokio::test]
async fn a_body_that_stands_still_is_given_up_in_every_dialect() {
    let service = service(&["--allow-model-control"]).await;
    let address = service.listen().await;
    for (path, member) in [
        (PREDICT, "detail"),
        ("/v2/models/waves/infer", "error"),
        ("/v2/repository/index", "error"),
        ("/v2/repository/models/waves/load", "error"),
        ("/invocations", "message"),
        ("/api/v1/plan", ""),
    ] {
        let start = Instant::now();
        let mut stream = stalled(address, path, "x-timeout-ms: 300\r\n", 100, b"{\"rows\":").await;
        if member.is_empty() {
            continue; // its limit is a minute; it is enough that it takes the connection
        }
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
        ended.expect("the connection ends").unwrap();
        assert!(start.elapsed() >= Duration::from_millis(300), "{path}");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["code"], "body_timeout", "{path}");
        assert!(body[member].as_str().unwrap().contains("deadline"), "{path}: {body}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_unreadable_and_not_too_large() {
    let service = Service::start();
    let address = service.listen().await;
    for (framing, sent) in [("content-length: 50", "{\"re"), ("transfer-encoding: chunked", "zz\r\n{}\r\n")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST /v2/repository/index HTTP/1.1\r\nhost: localhost\r\n{framing}\r\n\r\n{sent}");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut answer)).await;
        ended.expect("the connection ends").unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("unreadable_body"), "{framing}: {answer}");
    }
    let request = Request::post("/v2/repository/index").header("content-encoding", "gzip");
    assert_eq!(service.send(request.body(Body::from("{}")).unwrap()).await.json()["code"], "unreadable_body");
}

#[tokio::test]
async fn large_bodies_share_their_memory() {
    // Room for three of the largest.
    let service = service(&["--max-request", "1MiB", "--max-request-memory", "3MiB"]).await;
    let address = service.listen().await;
    let body = large(900 << 10);
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(stalled(address, PREDICT, "", 1 << 20, body.as_bytes()).await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let refused = service.post_as(PREDICT, "application/json", large(600 << 10)).await;
    refused.refused(503, "overloaded");
    assert_eq!(refused.header("retry-after"), "1");
    service.post(PREDICT, &json!({"rows": [[0.5, "red", true]]})).await.ok(200);
    drop(streams);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let answer = service.post_as(PREDICT, "application/json", large(600 << 10)).await.ok(200);
    assert!(answer["predictions"].as_array().unwrap().len() > 30_000);
}

#[tokio::test]
async fn answers_that_nobody_takes_share_their_memory() {
    let service = Service::with(&["--max-answer-memory", "12MiB"]);
    service.upload("name=waves", waves(120)).await.ok(201);
    let spec = json!({"features": {"count": 8}, "lambda": 1e-3, "calibration_fraction": 0.2});
    assert_eq!(service.train("waves", "waves", &spec).await["status"], "succeeded");
    let address = service.listen().await;
    let body = large(1_700_000 - 17).replace("]]}", "]],\"outputs\":[\"value\",\"interval\"]}"); // 100,000 rows
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut deaf = socket.connect(address).await.unwrap();
    let head = format!("POST {PREDICT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    deaf.write_all(head.as_bytes()).await.unwrap();
    deaf.write_all(body.as_bytes()).await.unwrap();
    let mut first = [0; 400];
    deaf.read_exact(&mut first).await.unwrap();
    let first = String::from_utf8_lossy(&first).into_owned();
    assert!(first.starts_with("HTTP/1.1 200 OK") && first.contains("content-length: "), "{first}");

    service.post_as(PREDICT, "application/json", body.clone()).await.refused(503, "overloaded");
    service.post(PREDICT, &json!({"rows": [[0.5, "red", true]]})).await.ok(200);
    drop(deaf);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let answer = service.post_as(PREDICT, "application/json", body).await;
    assert!(answer.bytes.len() > 6 << 20, "{}", answer.bytes.len());
    assert_eq!(answer.ok(200)["predictions"].as_array().unwrap().len(), 100_000);
}

#[tokio::test]
async fn tables_and_answers_have_limits() {
    let lines = "[0.5, \"red\", true]\n".repeat(6000);
    let short = service(&["--max-table-rows", "5000", "--max-answer-numbers", "10"]).await;
    let refused = short.post_as(PREDICT, "application/x-ndjson", lines.clone()).await.refused(413, "table_too_long");
    assert!(refused["detail"].as_str().unwrap().contains("5000"));
    let rows = vec![json!([0.5, "red", true]); 11];
    let refused = short.post(PREDICT, &json!({"rows": rows})).await.refused(422, "invalid_prediction_request");
    assert!(refused["detail"].as_str().unwrap().contains("11 numbers"), "{refused}");
    short.post(PREDICT, &json!({"rows": rows[1..]})).await.ok(200);
    let inputs = |rows: usize| {
        let tensor = |name, datatype, cell: Value| json!({"name": name, "shape": [rows], "datatype": datatype, "data": vec![cell; rows]});
        vec![
            tensor("x", "FP64", json!(0.5)),
            tensor("colour", "BYTES", json!("red")),
            tensor("even", "BOOL", json!(true)),
        ]
    };
    assert_eq!(short.post("/v2/models/waves/infer", &json!({"inputs": inputs(11)})).await.status, 422);
    short.post("/v2/models/waves/infer", &json!({"inputs": inputs(10)})).await.ok(200);
    let many: Vec<Value> = inputs(1).into_iter().cycle().take(3 + 1024 + 1).collect();
    let refused = short.post("/v2/models/waves/infer", &json!({"inputs": many})).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert_eq!(refused.json()["errors"][0]["pointer"], "/inputs");
    let narrow = service(&["--max-table-answer", "1KiB"]).await;
    narrow.post_as(PREDICT, "application/x-ndjson", lines).await.refused(413, "table_too_long");
    let limits = narrow.get("/api/v1/info").await.ok(200)["limits"].clone();
    assert_eq!(limits["table_answer_bytes"], 1024);
}

#[tokio::test]
async fn a_table_ends_with_its_client() {
    let service = service(&[]).await;
    let (sender, body) = open_body();
    let lines = "[0.5, \"red\", true]\n".repeat(5000);
    sender.send(lines.clone()).unwrap();
    let request = Request::post(PREDICT).header("content-type", "application/x-ndjson");
    let request = request.body(body).unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(300), service.send(request)).await.is_err());
    let counted = "bochner_shed_requests_total{model=\"waves\",version=\"1\",reason=\"disconnected\"} 1";
    let start = Instant::now();
    while !service.get("/metrics").await.text().contains(counted) {
        assert!(start.elapsed() < Duration::from_secs(10), "it is read on");
        let _ = sender.send(lines.clone()); // nobody may be there any more
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_deadline_that_passes_while_the_model_is_read_says_so() {
    let service = Service::with(&["--model-memory", "1KiB"]);
    service.upload("name=waves", waves(120)).await.ok(201);
    let spec = json!({
        "features": {"count": 1500}, "lambda": 1e-3, "error_bars": false, "spread": true,
        "guarantees": {"exact_rows": 0},
    });
    for model in ["waves", "other"] {
        assert_eq!(service.train(model, "waves", &spec).await["status"], "succeeded");
    }
    let body = json!({"rows": [[0.5, "red", true]]}).to_string();
    let request = Request::post(PREDICT).header("x-timeout-ms", "1").body(Body::from(body.clone())).unwrap();
    let answer = service.send(request).await;
    answer.refused(503, "model_loading");
    assert_eq!(answer.header("retry-after"), "1");
    service.post_as(PREDICT, "application/json", body).await.ok(200);
    let metrics = service.get("/metrics").await.text();
    let counted = "bochner_shed_requests_total{model=\"waves\",version=\"1\",reason=\"model_loading\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}
