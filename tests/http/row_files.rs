//! Rows to predict in the formats of uploads: Parquet, Arrow files, JSON lists.

use crate::harness::{Answer, Service};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::FileWriter;
use axum::body::Body;
use axum::http::Request;
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::sync::Arc;

const PREDICT: &str = "/api/v1/models/waves/predict";
const PARQUET: &str = "application/vnd.apache.parquet";
const ARROW_FILE: &str = "application/vnd.apache.arrow.file";

/// Three rows with a missing cell, in another order than the model's and with a column that it does not use.
fn batch() -> RecordBatch {
    RecordBatch::try_from_iter([
        ("even", Arc::new(BooleanArray::from(vec![true, false, true])) as ArrayRef),
        ("x", Arc::new(Float64Array::from(vec![Some(0.3), None, Some(0.1 + 0.2)]))),
        ("unused", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
        ("colour", Arc::new(StringArray::from(vec!["green", "red", "blue"]))),
    ])
    .unwrap()
}

fn parquet_file(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow_file(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

async fn send(service: &Service, media_type: &str, accept: &str, body: Vec<u8>) -> Answer {
    let request = Request::post(PREDICT).header("content-type", media_type).header("accept", accept);
    service.send(request.body(Body::from(body)).unwrap()).await
}

fn rows() -> Value {
    json!([[0.3, "green", true], [null, "red", false], [0.1 + 0.2, "blue", true]])
}

#[tokio::test]
async fn files_are_predicted_like_rows() {
    let service = Service::with_model().await;
    let expected = service.post(PREDICT, &json!({"rows": rows()})).await.ok(200);
    for (media_type, body) in [
        (PARQUET, parquet_file(&batch())),
        ("application/x-parquet", parquet_file(&batch())),
        (ARROW_FILE, arrow_file(&batch())),
    ] {
        assert_eq!(
            send(&service, media_type, "application/json", body.clone()).await.ok(200),
            expected,
            "{media_type}"
        );
        let answer = send(&service, media_type, "*/*", body).await;
        assert_eq!(answer.header("content-type"), "application/vnd.apache.arrow.stream");
        let rows: usize =
            StreamReader::try_new(answer.bytes.as_slice(), None).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 3);
    }
}

#[tokio::test]
async fn faults_of_files_are_named_and_placed() {
    let service = Service::with_model().await;
    let words = |answer: &Answer| {
        let refused = answer.refused(422, "invalid_prediction_request");
        let error = &refused["errors"][0];
        format!("{} {}", error["pointer"].as_str().unwrap_or_default(), error["detail"].as_str().unwrap_or_default())
    };
    let parquet = parquet_file(&batch());
    let send = |media_type: &'static str, body: Vec<u8>| send(&service, media_type, "application/json", body);
    for media_type in ["application/json", "text/csv", "application/x-ndjson", ARROW_FILE] {
        let found = words(&send(media_type, parquet.clone()).await);
        assert_eq!(found, " this is a Parquet file: send it as application/vnd.apache.parquet", "{media_type}");
    }
    let found = words(&send("application/vnd.apache.arrow.stream", arrow_file(&batch())).await);
    assert_eq!(found, " this is an Arrow file: send it as application/vnd.apache.arrow.file");
    let found = words(&send(PARQUET, b"x,colour,even\n0.3,green,true\n".to_vec()).await);
    assert_eq!(found, " this is not a Parquet file: its first bytes are different");
    let mut cut = parquet.clone();
    cut.truncate(parquet.len() / 2);
    assert!(words(&send(PARQUET, cut).await).starts_with(" not a valid Parquet file"));
    send(PARQUET, Vec::new()).await.refused(400, "empty_body");

    let nan = Arc::new(Float64Array::from(vec![0.5, f64::NAN]));
    let colours = Arc::new(StringArray::from(vec!["red", "red"]));
    let even = Arc::new(BooleanArray::from(vec![true, true]));
    let columns: Vec<(&str, ArrayRef)> = vec![("x", nan), ("colour", colours), ("even", even)];
    let found = words(&send(PARQUET, parquet_file(&RecordBatch::try_from_iter(columns.clone()).unwrap())).await);
    assert_eq!(found, "/rows/1/x not a finite number");
    let few = RecordBatch::try_from_iter(columns.into_iter().take(2)).unwrap();
    assert_eq!(words(&send(ARROW_FILE, arrow_file(&few)).await), "/schema the model needs column 'even'");
    let strict = Request::post(format!("{PREDICT}?strict=true")).header("content-type", PARQUET);
    let answer = service.send(strict.body(Body::from(parquet)).unwrap()).await;
    assert!(words(&answer).starts_with("/rows/1/x missing"), "{}", answer.text());
}

#[tokio::test]
async fn json_tables_are_read_as_uploads_have_them() {
    let service = Service::with_model().await;
    let expected = service.post(PREDICT, &json!({"rows": rows(), "outputs": ["value", "warnings"]})).await.ok(200);
    let path = format!("{PREDICT}?outputs=value,warnings");
    let columns = json!({"id": [7, 8, 9], "even": [true, false, true], "x": [0.3, null, 0.1 + 0.2], "colour": ["green", "red", "blue"]});
    assert_eq!(service.post(&path, &columns).await.ok(200), expected);
    let records: Vec<Value> = (0..3)
        .map(|row| json!({"x": columns["x"][row], "colour": columns["colour"][row], "even": columns["even"][row], "id": row}))
        .collect();
    assert_eq!(service.post(&path, &json!(records)).await.ok(200), expected);

    for (body, pointer, words) in [
        (json!({"x": [1], "colour": ["red", "red"], "even": [true]}), "/colour", "more than 1 cells"),
        (json!({"x": [1], "colour": ["red"]}), "", "the model needs column 'even'"),
        (json!({"x": [1, "a"], "colour": ["red", "red"], "even": [true, true]}), "/x/1", "expected a number"),
        (json!([{"x": 1, "colour": "red"}]), "/0", "column 'even' is missing"),
        (json!({"row": [[1, "red", true]]}), "/row", "did you mean 'rows'"),
        (json!({"recods": [{"x": 1}]}), "/recods", "did you mean 'records'"),
    ] {
        let refused = service.post(PREDICT, &body).await.refused(422, "invalid_prediction_request");
        let error = &refused["errors"][0];
        assert_eq!(error["pointer"], pointer, "{refused}");
        assert!(error["detail"].as_str().unwrap().contains(words), "{refused}");
    }
    let answer = service.post_as(PREDICT, "application/json", "[1, 2]").await;
    answer.refused(400, "malformed_request");
}

/// `decimal` is an option of delimited text alone.
#[tokio::test]
async fn a_json_upload_with_decimal_commas_is_not_advised_an_option_that_it_lacks() {
    let service = Service::start();
    let records: Vec<Value> = (0..20).map(|i| json!({"area": format!("{i},5"), "y": i})).collect();
    let answer = service.post("/api/v1/datasets?name=commas", &json!(records)).await;
    let detail = answer.refused(422, "invalid_column")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("Write them as numbers with a decimal point"), "{detail}");
    assert!(!detail.contains("decimal=comma"), "{detail}");
    let lines: Vec<String> = (0..20).map(|i| format!("\"{i},5\",{i}\n")).collect();
    let answer = service.upload("name=commas", format!("area,y\n{}", lines.concat())).await;
    let detail = answer.refused(422, "invalid_column")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("Send decimal=comma, or send categorical=area"), "{detail}");
}

/// Bodies without a content type, and with one that says nothing, are recognised by their first bytes.
#[tokio::test]
async fn bodies_without_a_type_are_recognised() {
    let service = Service::with_model().await;
    let expected = service.post(PREDICT, &json!({"rows": rows()})).await.ok(200)["predictions"].clone();
    let csv = "colour,x,even\ngreen,0.3,true\nred,,false\nblue,0.30000000000000004,true\n";
    let ndjson = "{\"x\": 0.3, \"colour\": \"green\", \"even\": true}\n{\"colour\": \"red\", \"x\": null, \"even\": false}\n\
                  {\"x\": 0.30000000000000004, \"colour\": \"blue\", \"even\": true}\n";
    for body in [
        parquet_file(&batch()),
        arrow_file(&batch()),
        csv.into(),
        csv.replace(',', "\t").into(),
        ndjson.into(),
        json!({"strict": false, "rows": rows()}).to_string().into(),
        json!({"rows": rows()}).to_string().into(),
    ] {
        for media_type in [None, Some("application/octet-stream")] {
            let mut request = Request::post(PREDICT).header("accept", "application/json");
            if let Some(media_type) = media_type {
                request = request.header("content-type", media_type);
            }
            let answer = service.send(request.body(Body::from(body.clone())).unwrap()).await;
            let shown = String::from_utf8_lossy(&body[..20.min(body.len())]).into_owned();
            assert_eq!(answer.ok(200)["predictions"], expected, "{media_type:?} {shown}");
        }
    }
    for (body, words) in [
        (&b"1 1:0.5 2:3\n"[..], "this looks like LIBSVM"),
        (&[0x1f, 0x8b, 8, 0, 0][..], "send it with content-encoding gzip"),
    ] {
        let answer = service.send(Request::post(PREDICT).body(Body::from(body)).unwrap()).await;
        assert!(answer.status.as_u16() == 422 && answer.text().contains(words), "{}", answer.text());
    }
    let wrong = send(&service, "text/csv", "application/json", b"{\"rows\": [[1]]}".to_vec()).await;
    assert!(wrong.text().contains("this looks like JSON: send it as application/json"), "{}", wrong.text());
    let empty = service.send(Request::post(PREDICT).body(Body::empty()).unwrap()).await;
    empty.refused(400, "empty_body");
}
