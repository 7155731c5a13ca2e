//! Uploads that must be refused: each says where and why, and stores nothing.

use crate::harness::{Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::io::Write;

/// Uploads, expects this refusal, checks that nothing was stored, and gives the body.
async fn refused(service: &Service, query: &str, table: impl Into<Body>, status: u16, code: &str) -> Value {
    let body = service.upload(query, table).await.refused(status, code);
    assert_eq!(service.get("/api/v1/datasets").await.ok(200)["datasets"], json!([]));
    body
}

fn detail(body: &Value) -> &str {
    body["detail"].as_str().unwrap()
}

#[tokio::test]
async fn an_empty_body() {
    let body = refused(&Service::start(), "", "", 400, "empty_body").await;
    assert!(detail(&body).contains("empty"));
}

#[tokio::test]
async fn a_header_and_no_rows() {
    let body = refused(&Service::start(), "", "a,b\n", 422, "invalid_table").await;
    assert!(detail(&body).contains("no rows"), "{body}");
}

#[tokio::test]
async fn one_row() {
    let body = refused(&Service::start(), "", "a,b\n1,2\n", 422, "invalid_table").await;
    assert!(detail(&body).contains("one row"), "{body}");
}

#[tokio::test]
async fn a_ragged_line() {
    let body = refused(&Service::start(), "", "a,b,c\n1,2,3\n4,5\n6,7,8\n", 422, "invalid_table").await;
    assert_eq!(detail(&body), "line 3: found 2 cells, expected 3 as in the first line");
    assert_eq!(body["errors"][0]["line"], 3);
}

#[tokio::test]
async fn text_in_a_column_named_as_numeric() {
    let table = "size,y\n1,1\ntwo,2\n3,3\n";
    let body = refused(&Service::start(), "numeric=size", table, 422, "invalid_table").await;
    let expected =
        "line 3, column 'size': expected a number, found 'two'; leave the cell empty if the value is missing";
    assert_eq!(detail(&body), expected);
    assert_eq!((&body["errors"][0]["line"], &body["errors"][0]["column"]), (&json!(3), &json!("size")));
    let body = refused(&Service::start(), "task=regression", "a,y\n1,1\n2,low\n", 422, "invalid_table").await;
    assert!(detail(&body).starts_with("line 3, column 'y': expected a number, found 'low'"), "{body}");
}

#[tokio::test]
async fn an_all_missing_column() {
    let body = refused(&Service::start(), "", "a,gap,y\n1,,1\n2,NA,2\n", 422, "invalid_column").await;
    assert!(detail(&body).starts_with("column 'gap': every cell is missing"), "{body}");
    assert_eq!(body["errors"][0]["column"], "gap");
}

#[tokio::test]
async fn a_constant_target() {
    let body = refused(&Service::start(), "", "a,y\n1,5\n2,5.0\n3,5\n", 422, "invalid_column").await;
    assert!(detail(&body).starts_with("column 'y': the target is the same in every row"), "{body}");
}

#[tokio::test]
async fn nan_and_infinity() {
    for cell in ["NaN", "inf", "-Infinity", "1e400"] {
        let body = refused(&Service::start(), "", format!("a,y\n1,1\n{cell},2\n"), 422, "invalid_table").await;
        assert!(detail(&body).starts_with("line 3, column 'a': not a finite number"), "{body}");
    }
}

#[tokio::test]
async fn a_target_that_does_not_exist() {
    let body = refused(&Service::start(), "target=pricee", "size,price\n1,1\n2,2\n", 422, "invalid_parameter").await;
    assert_eq!(body["errors"][0]["pointer"], "?target");
    assert!(detail(&body).contains("did you mean 'price'?"), "{body}");
}

#[tokio::test]
async fn ten_thousand_columns() {
    let names: Vec<String> = (0..10_000).map(|index| format!("c{index}")).collect();
    let numbers = vec!["1"; 10_000].join(",");
    let table = format!("{}\n{numbers}\n{numbers}\n", names.join(","));
    let body = refused(&Service::start(), "", table, 422, "invalid_table").await;
    assert_eq!(detail(&body), "line 1: more columns than the limit of 4096");
}

#[tokio::test]
async fn a_body_over_the_limit_announced_or_not() {
    let service = Service::with(&["--max-upload", "1KiB"]);
    let body = refused(&service, "", waves(100), 413, "body_too_large").await;
    assert!(detail(&body).contains("1024 bytes"), "{body}");
    // In chunks, without a length.
    let chunks = futures_util::stream::iter((0..100).map(|_| Ok::<_, std::io::Error>("1,2\n".repeat(10))));
    let body = refused(&service, "", Body::from_stream(chunks), 413, "body_too_large").await;
    assert!(detail(&body).contains("1024 bytes"), "{body}");
    // A small body that unpacks to a large one.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all("1,2\n".repeat(100_000).as_bytes()).unwrap();
    let request =
        Request::post("/api/v1/datasets").header("content-type", "text/csv").header("content-encoding", "gzip");
    let bomb = gzip.finish().unwrap();
    assert!(bomb.len() < 1024);
    service.send(request.body(Body::from(bomb)).unwrap()).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn a_truncated_or_false_gzip_stream() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(waves(500).as_bytes()).unwrap();
    let mut truncated = gzip.finish().unwrap();
    truncated.truncate(truncated.len() / 2);
    let service = Service::start();
    for (encoding, body) in [("gzip", truncated), ("gzip", b"a,b\n1,2\n".to_vec()), ("zstd", b"a,b\n1,2\n".to_vec())] {
        let request = Request::post("/api/v1/datasets").header("content-type", "text/csv");
        let answer = service.send(request.header("content-encoding", encoding).body(Body::from(body)).unwrap()).await;
        let body = answer.refused(400, "unreadable_body");
        assert!(detail(&body).contains(&format!("the {encoding} stream is damaged or ends early")), "{body}");
    }
    assert_eq!(service.get("/api/v1/datasets").await.ok(200)["datasets"], json!([]));
}

#[tokio::test]
async fn a_connection_that_breaks_off() {
    let chunks = [Ok("a,b\n1,2\n3,4\n"), Err(std::io::Error::other("reset"))];
    let body = Body::from_stream(futures_util::stream::iter(chunks));
    refused(&Service::start(), "", body, 400, "unreadable_body").await;
}

#[tokio::test]
async fn invalid_utf8() {
    let body = refused(&Service::start(), "", b"a,y\nok,1\n\xff\xfe,2\n".to_vec(), 422, "invalid_table").await;
    assert_eq!(detail(&body), "line 3, column 'a': not valid UTF-8");
    refused(&Service::start(), "", b"\xff,y\n1,1\n2,2\n".to_vec(), 422, "invalid_table").await;
}

#[tokio::test]
async fn headers_that_name_nothing_or_the_same_twice_or_are_data() {
    let service = Service::start();
    let body = refused(&service, "", ",a,y\n0,1,2\n1,2,3\n", 422, "invalid_table").await;
    assert!(detail(&body).contains("column 1 has no name"), "{body}");
    let body = refused(&service, "", "a,a\n1,2\n2,3\n", 422, "invalid_table").await;
    assert!(detail(&body).contains("two columns have this name"), "{body}");
    let body = refused(&service, "", "1,2\n3,4\n5,6\n", 422, "invalid_table").await;
    assert!(detail(&body).contains("header=false"), "{body}");
    let body = refused(&service, "", "a;b\n1;2\n3;4\n", 422, "invalid_table").await;
    assert!(detail(&body).contains("set delimiter"), "{body}");
}

#[tokio::test]
async fn too_many_levels_point_at_the_first_text() {
    // Each level twice: levels that are different in every row would be an identifier, which is left out.
    let rows = (0..60).map(|i| format!("id{},{i}", i % 30)).collect::<Vec<_>>().join("\n");
    let service = Service::with(&["--max-levels", "20"]);
    let body = refused(&service, "", format!("who,y\n{rows}\n"), 422, "invalid_table").await;
    assert!(detail(&body).starts_with("line 2, column 'who': 'id0' makes this a text column"), "{body}");
}

#[tokio::test]
async fn parameters_that_are_unknown_or_make_no_sense() {
    let service = Service::start();
    let body = refused(&service, "taget=y", waves(9), 422, "unknown_parameter").await;
    assert!(detail(&body).contains("did you mean 'target'?"), "{body}");
    refused(&service, "header=maybe", waves(9), 422, "invalid_parameter").await;
    refused(&service, "delimiter=ab", waves(9), 422, "invalid_parameter").await;
    refused(&service, "task=guess", waves(9), 422, "invalid_parameter").await;
    refused(&service, "numeric=z", waves(9), 422, "invalid_parameter").await;
    refused(&service, "name=a&name=b", waves(9), 400, "malformed_query").await;
}

#[tokio::test]
async fn other_media_types_and_encodings() {
    let service = Service::start();
    for media_type in ["application/x-www-form-urlencoded", "application/json", "image/png"] {
        let body =
            service.post_as("/api/v1/datasets", media_type, waves(9)).await.refused(415, "unsupported_media_type");
        assert!(detail(&body).contains("text/csv"), "{body}");
    }
    let request = Request::post("/api/v1/datasets").header("content-type", "text/csv").header("content-encoding", "br");
    service.send(request.body(Body::from(waves(9))).unwrap()).await.refused(415, "unsupported_encoding");
}
