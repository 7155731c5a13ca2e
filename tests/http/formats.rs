//! Tables in and answers out. That every format says the same is tested with other people's readers and writers, in
//! `tests/clients`; here is what those cannot do.

use crate::harness::{Answer, Service};
use arrow_array::{ArrayRef, BooleanArray, NullArray, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use axum::body::{Body, Bytes};
use axum::http::Request;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

const PREDICT: &str = "/api/v1/models/waves/predict";
const ARROW: &str = "application/vnd.apache.arrow.stream";
const TABLE: &str = "x,colour,even\n0.3,green,true\n,red,false\n";

async fn send(service: &Service, headers: &[(&str, &str)], body: &'static str) -> Answer {
    let request = headers.iter().fold(Request::post(PREDICT), |request, (name, value)| request.header(*name, *value));
    service.send(request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn a_table_is_answered_in_the_format_that_is_asked_for() {
    let service = Service::with_model().await;
    let rows = json!({"rows": [[0.3, "green", true], [null, "red", false]]});
    let expected = service.post(PREDICT, &rows).await.ok(200);
    let csv = ("content-type", "text/csv");
    let answer = send(&service, &[csv, ("accept", "application/json")], TABLE).await;
    assert_eq!(answer.ok(200), expected);
    let lines: Vec<String> = expected["predictions"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let answer = send(&service, &[csv], TABLE).await;
    assert_eq!(answer.header("content-type"), "text/csv");
    assert_eq!(answer.text(), format!("value\n{}\n", lines.join("\n")));
    let answer = send(&service, &[csv, ("accept", "application/x-ndjson")], TABLE).await;
    assert_eq!(answer.text(), format!("{}\n", lines.join("\n")));
    let lines = "[0.3, \"green\", true]\n\n{\"even\": false, \"colour\": \"red\", \"x\": null}";
    let answer = send(&service, &[("content-type", "application/jsonl"), ("accept", "text/csv")], lines).await;
    assert_eq!(answer.text(), send(&service, &[csv], TABLE).await.text());
    send(&service, &[csv, ("accept", "text/html")], TABLE).await.refused(406, "not_acceptable");
    let answer = send(&service, &[csv, ("accept", "text/csv;q=0, application/json;q=0.5")], TABLE).await;
    assert_eq!(answer.ok(200), expected);
}

#[tokio::test]
async fn times_that_are_none() {
    let service = Service::with_model().await;
    for media_type in ["text/csv", "application/json"] {
        for wrong in ["", "0", "-1", "1.5", "soon", "30001", "18446744073709551615", "99999999999999999999"] {
            let answer = send(&service, &[("content-type", media_type), ("x-timeout-ms", wrong)], TABLE).await;
            let body = answer.refused(400, "invalid_header");
            assert!(body["detail"].as_str().unwrap().contains("x-timeout-ms"), "{body}");
        }
    }
    for right in ["1", "1000", "30000"] {
        let answer = send(&service, &[("content-type", "text/csv"), ("x-timeout-ms", right)], TABLE).await;
        // A millisecond is a time, if one that may be over before the rows are computed.
        let in_time = answer.status == 200 || right == "1" && answer.status == 504;
        assert!(in_time, "{}", answer.text());
    }
}

#[tokio::test]
async fn more_tables_at_once_than_allowed_are_refused() {
    let service = Service::with(&["--max-concurrent-predictions", "1"]);
    service.upload("name=waves", crate::harness::waves(60)).await.ok(201);
    service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Result<Bytes, std::io::Error>>();
    let stream = futures_util::stream::unfold(receiver, |mut receiver| async {
        let chunk = receiver.recv().await?;
        Some((chunk, receiver))
    });
    let slow = Request::post(PREDICT).header("content-type", "text/csv").body(Body::from_stream(stream)).unwrap();
    let slow = service.send(slow);
    let other = async {
        sender.send(Ok(Bytes::from(TABLE))).unwrap();
        // The slow one has its place as soon as it has been looked at once.
        for _ in 0..200 {
            let answer = send(&service, &[("content-type", "text/csv")], TABLE).await;
            if answer.status == 503 {
                answer.refused(503, "overloaded");
                assert_eq!(answer.header("retry-after"), "1");
                drop(sender);
                return;
            }
        }
        panic!("never refused");
    };
    let (slow, ()) = tokio::join!(slow, other);
    assert_eq!(slow.status, 200, "{}", slow.text());
    assert_eq!(slow.text(), send(&service, &[("content-type", "text/csv")], TABLE).await.text());
}

/// What comes in parts is read as it comes, and says the same as what comes at once: predictions or where it is wrong.
#[tokio::test]
async fn json_in_parts_is_answered_as_json_at_once() {
    let service = Service::start();
    let number = |i: u32| f64::from(i) * 0.618_034 % 1.0 - 0.5;
    let row = |i: u32| (12 * i..12 * i + 12).map(|i| number(i).to_string()).collect::<Vec<_>>().join(",");
    let lines: Vec<String> = (0..40).map(row).collect();
    let names: Vec<String> = (0..12).map(|i| format!("x{i}")).collect();
    let table: Vec<String> = lines.iter().enumerate().map(|(i, line)| format!("{line},{}", i % 5)).collect();
    service.upload("name=many", format!("{},y\n{}\n", names.join(","), table.join("\n"))).await.ok(201);
    service.train("many", "many", &json!({"features": {"count": 8}})).await;
    let rows = format!("[{}]", lines.join("],["));
    let reversed: Vec<String> = (0..12).rev().map(|i| format!("\"x{i}\"")).collect();
    let told = |answer: &Answer| {
        let mut told = answer.json();
        told.as_object_mut().unwrap().remove("request_id");
        told
    };
    for (status, body) in [
        (200, format!("{{\"rows\":[{rows}]}}")),
        (200, format!("{{\"rows\": [{}], \"outputs\": [\"value\"]}}", rows.replace(',', ", "))),
        (200, format!("{{\"rows\":[{rows}],\"columns\":[{}]}}", reversed.join(","))),
        (200, format!("{{\"columns\":[{}],\"rows\":[{rows}]}}", reversed.join(","))),
        (422, format!("{{\"rows\":[{rows},[1,2]]}}")),
        (422, format!("{{\"rows\":[{rows},[{}\"]\"]]}}", "0.5,".repeat(11))),
        (422, format!("{{\"rows\":[{rows},[{}1e999]]}}", "0.5,".repeat(11))),
        (400, format!("{{\"rows\":[{rows}")),
        (400, format!("{{\"rows\":[{rows}]]}}")),
        (400, format!("{{\"rows\":[{rows}],\"rows\":[]}}")),
    ] {
        let path = "/api/v1/models/many/predict";
        let at_once = service.post_as(path, "application/json", body.clone()).await;
        assert_eq!(at_once.status, status, "{}", at_once.text());
        for size in [5, 64, 1000, 4096] {
            let parts: Vec<_> = body.as_bytes().chunks(size).map(|part| Ok::<_, Infallible>(part.to_vec())).collect();
            let request = Request::post(path).header("content-type", "application/json");
            let request = request.body(Body::from_stream(futures_util::stream::iter(parts))).unwrap();
            let answer = service.send(request).await;
            assert_eq!((answer.status, told(&answer)), (at_once.status, told(&at_once)), "in parts of {size}");
        }
    }
}

/// An Arrow stream of one batch.
fn arrow(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// A column of nulls takes no bytes however long it is: no memory may be taken for its rows.
#[tokio::test]
async fn rows_that_cost_the_sender_nothing_cost_us_nothing() {
    let service = Service::with_model().await;
    let nulls = || Arc::new(NullArray::new(1 << 40)) as ArrayRef;
    let body = arrow(vec![("x", nulls()), ("colour", nulls()), ("even", nulls())]);
    assert!(body.len() < 2000);
    let answer = service.post_as(PREDICT, ARROW, body).await;
    let body = answer.refused(422, "invalid_prediction_request");
    assert_eq!(body["errors"][0]["pointer"], "/schema", "{body}");
}

/// What a writer makes of a column in which every cell is missing.
#[tokio::test]
async fn a_column_of_nulls_is_missing_cells() {
    let service = Service::with_model().await;
    let colours: ArrayRef = Arc::new(StringArray::from(vec!["red", "green"]));
    let even: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    let body = arrow(vec![("x", Arc::new(NullArray::new(2))), ("colour", colours), ("even", even)]);
    let request = Request::post(PREDICT).header("content-type", ARROW).header("accept", "application/json");
    let answer = service.send(request.body(Body::from(body)).unwrap()).await.ok(200);
    let rows = json!({"rows": [[null, "red", true], [null, "green", false]]});
    assert_eq!(answer, service.post(PREDICT, &rows).await.ok(200));
}

/// A bit a row: a batch is cut into blocks before its rows become numbers.
#[tokio::test]
async fn a_batch_is_read_in_blocks() {
    let service = Service::start();
    let lines: Vec<String> = (0..50).map(|i| format!("{},{}", i % 2 == 0, i % 2)).collect();
    let table = lines.join("\n");
    service.upload("name=bits", format!("bit,y\n{table}")).await.ok(201);
    service.train("bits", "bits", &json!({"features": {"count": 2}, "lambda": 0.1})).await;
    let bits: BooleanArray = (0..20_000).map(|i| (i % 7 != 0).then_some(i % 2 == 0)).collect();
    let request = Request::post("/api/v1/models/bits/predict").header("content-type", ARROW);
    let request = request.header("accept", "application/json");
    let body = arrow(vec![("bit", Arc::new(bits))]);
    let answer = service.send(request.body(Body::from(body)).unwrap()).await.ok(200);
    let predictions = answer["predictions"].as_array().unwrap();
    let rows = json!({"rows": [[true], [false], [null]]});
    let expected = service.post("/api/v1/models/bits/predict", &rows).await.ok(200);
    assert_eq!(predictions.len(), 20_000);
    for (at, prediction) in predictions.iter().enumerate() {
        let kind = if at % 7 == 0 { 2 } else { at % 2 };
        assert_eq!(*prediction, expected["predictions"][kind], "row {at}");
    }
}

/// The sender chooses how many names there are: finding the model's among them must not take their square, which here
/// would be hours.
#[tokio::test]
async fn very_many_columns_are_passed_over() {
    let service = Service::with_model().await;
    let mut columns: Vec<String> = (0..300_000).map(|number| format!("column {number}")).collect();
    let mut row = vec![json!(0); columns.len()];
    columns.extend(["even", "x", "colour"].map(str::to_owned));
    row.extend([json!(true), json!(0.3), json!("green")]);
    let found = service.post(PREDICT, &json!({"columns": columns, "rows": [row]})).await.ok(200);
    let expected = service.post(PREDICT, &json!({"rows": [[0.3, "green", true]]})).await.ok(200);
    assert_eq!(found, expected);
    columns.truncate(300_000);
    let refused = service.post(PREDICT, &json!({"columns": columns, "rows": [[0]]})).await;
    assert_eq!(refused.refused(422, "invalid_prediction_request")["errors"].as_array().unwrap().len(), 3);
}
