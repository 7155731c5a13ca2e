//! Requests with a mistake in them: none may be answered as if there were no mistake.

use crate::harness::{Answer, Service};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::io::Write;

const PREDICT: &str = "/api/v1/models/num/predict";
const INFER: &str = "/v2/models/num/infer";
const CSV: &str = "text/csv";
const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

fn small_spec() -> Value {
    json!({"features": {"count": 8}, "lambda": 0.1, "error_bars": false, "guarantees": {"exact_rows": 0}})
}

/// A service with the model `num` of three numbers.
async fn service() -> Service {
    let service = Service::with(&["--allow-model-control"]);
    let row = |i: usize| format!("{},{},{},{}\n", i % 7, i % 5, i % 3, i % 4);
    let table: String = (0..60).map(row).collect();
    service.upload("name=num", format!("a,b,c,y\n{table}")).await.ok(201);
    assert_eq!(service.train("num", "num", &small_spec()).await["status"], "succeeded");
    service
}

/// The detail of a refusal in any dialect.
fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text());
    answer.json()["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn quotes_of_csv_that_swallow_rows() {
    let service = service().await;
    for (table, words) in [
        ("a,b,c,z\n1,2,3,\"x\n4,5,6,y\n7,8,9,w\n", "/lines/2: a quote is not closed"),
        ("a,b,c\n1,2,\"3\n", "/lines/2: a quote is not closed"),
        ("a,b,c\n1,2,3\n1,2,\"3\"4\n", "/lines/3: text after a closing quote"),
    ] {
        for path in [PREDICT, "/invocations"] {
            assert_eq!(refused(&service.post_as(path, CSV, table).await, 422), words, "{path}");
        }
    }
    let refused = service.upload("", "a,y\n1,2\n3,\"4\n5,6\n").await.refused(422, "invalid_table");
    assert_eq!(refused["detail"], "line 3: a quote is not closed");
    let answer = service.post_as(PREDICT, CSV, "\"a\",b,\"c\"\n\"1\",2,\"3\" \n").await;
    assert_eq!(answer.text().lines().count(), 2);
}

fn tensor(name: &str, datatype: &str, shape: &Value, data: &Value) -> Value {
    json!({"name": name, "datatype": datatype, "shape": shape, "data": data})
}

async fn infer(service: &Service, inputs: Value) -> Answer {
    service.post(INFER, &json!({"inputs": inputs})).await
}

#[tokio::test]
async fn tensors_that_are_not_what_they_say() {
    let service = service().await;
    let expected = service.post(PREDICT, &json!({"rows": [[1, 2, 3], [4, 5, 6]]})).await.ok(200)["predictions"].clone();
    for data in [json!([1, 2, 3, 4, 5, 6]), json!([[1, 2, 3], [4, 5, 6]])] {
        for datatype in ["FP64", "INT64", "UINT8"] {
            let answer = infer(&service, json!([tensor("m", datatype, &json!([2, 3]), &data)])).await.ok(200);
            assert_eq!(answer["outputs"][0]["data"], expected);
        }
    }
    for data in [json!([[1, 2, 3, 4], [5, 6]]), json!([[1, 2], [3, 4], [5, 6]]), json!([[1, 2, 3], 4, 5, 6])] {
        let answer = infer(&service, json!([tensor("m", "FP64", &json!([2, 3]), &data)])).await;
        let detail = refused(&answer, 422);
        assert!(
            detail.contains("is ragged") || detail.contains("differs from the nesting of data"),
            "{data}: {detail}"
        );
    }
    for (datatype, data, element) in [
        ("INT64", json!([1.5, 2, 3]), "element 0 is 1.5"),
        ("UINT8", json!([3, 300, 2]), "element 1 is 300"),
        ("UINT8", json!([3, 2, -2]), "element 2 is -2"),
        ("BOOL", json!([0, 1, 2]), "element 2 is 2"),
        ("FP16", json!([0, 1, 7e4]), "element 2 is 70000"),
    ] {
        let answer = infer(&service, json!([tensor("m", datatype, &json!([1, 3]), &data)])).await;
        assert_eq!(refused(&answer, 422), format!("/inputs/0/data: {element}, which is not a value of {datatype}"));
    }
}

#[tokio::test]
async fn members_that_are_given_twice() {
    let service = service().await;
    let tensor = r#"{"name":"m","datatype":"FP64","shape":[1,3],"data":[1,2,3]}"#;
    let split = r#""dataframe_split":{"data":[[1,2,3]]}"#;
    for (path, media_type, body, words) in [
        (PREDICT, JSON, r#"{"rows":[[1,2,3]],"rows":[[1,2,3]]}"#.to_owned(), "/rows is given twice"),
        (PREDICT, JSON, r#"{"records":[{"a":1,"b":2,"c":3,"a":9}]}"#.to_owned(), "/records/0/a is given twice"),
        (PREDICT, NDJSON, "\n{\"a\":1,\"b\":2,\"c\":3,\"b\":2}\n".to_owned(), "/lines/2/b is given twice"),
        (
            "/invocations",
            JSON,
            r#"{"dataframe_records":[{"c":1,"a":1,"b":2,"c":3}]}"#.to_owned(),
            "/0/c is given twice",
        ),
        ("/invocations", JSON, r#"{"dataframe_split":{"data":[[1,2,3]],"data":[]}}"#.to_owned(), "split/data is given"),
        ("/invocations", JSON, format!(r#"{{"params":{{}},{split},"params":{{}}}}"#), "/params is given twice"),
        (
            "/invocations",
            JSON,
            format!(r#"{{{split},"params":{{"delta":0.1,"delta":0.2}}}}"#),
            "'delta' is given twice",
        ),
        ("/invocations", JSON, r#"{"inputs":{"a":[1],"b":[2],"c":[3],"a":[4]}}"#.to_owned(), "'a' is named twice"),
        (INFER, JSON, format!(r#"{{"inputs":[{tensor}],"inputs":[{tensor}]}}"#), "/inputs is given twice"),
        (INFER, JSON, format!(r#"{{"inputs":[{}]}}"#, tensor.replace('}', ",\"data\":[4,5,6]}")), "/inputs/0/data is"),
        (INFER, JSON, format!(r#"{{"inputs":[{tensor},{tensor}]}}"#), "more than one input has the name 'm'"),
        ("/api/v1/jobs", JSON, r#"{"model":"m","spec":{"lambda":1,"lambda":2}}"#.to_owned(), "'lambda' is given twice"),
        ("/api/v1/plan", JSON, r#"{"dataset":"num","dataset":"num"}"#.to_owned(), "'dataset' is given twice"),
    ] {
        let answer = service.post_as(path, media_type, body.clone()).await;
        let status = if words.contains("name") { 422 } else { 400 };
        let detail = refused(&answer, status);
        assert!(detail.contains(words), "{body}: {detail}");
    }
    let request = Request::put("/api/v1/models/num/aliases/live").header("content-type", JSON);
    let answer = service.send(request.body(Body::from(r#"{"version":2,"version":1}"#)).unwrap()).await;
    assert!(refused(&answer, 400).starts_with("'version' is given twice at line 1"));
    // What is passed over may come as often as it likes.
    service.post_as(PREDICT, JSON, r#"{"records":[{"z":0,"a":1,"b":2,"z":1,"c":3}]}"#).await.ok(200);
}

#[tokio::test]
async fn a_level_that_is_a_number_is_the_same_in_every_format() {
    let service = Service::start();
    let row = |i: usize| format!("{},{}\n", ["1.0", "2.0", "x"][i % 3], [5, 9, 2][i % 3]);
    let table: String = (0..60).map(row).collect();
    service.upload("name=sizes", format!("size,y\n{table}")).await.ok(201);
    assert_eq!(service.train("sizes", "sizes", &small_spec()).await["status"], "succeeded");
    let path = "/api/v1/models/sizes/predict";
    let predict = async |body: Value| service.post(path, &body).await.ok(200)["predictions"][0].clone();
    let expected = predict(json!({"rows": [["1.0"]]})).await;
    assert_ne!(expected, predict(json!({"rows": [["other"]]})).await);
    for same in [json!(1.0), json!(1), json!("1"), json!("1.00")] {
        assert_eq!(predict(json!({"rows": [[same]]})).await, expected, "{same}");
        assert_eq!(predict(json!({"records": [{"size": same}]})).await, expected, "{same}");
    }
    let answer = service.post_as(path, CSV, "size\n1\n1.0\n").await;
    assert_eq!(answer.text(), format!("value\n{expected}\n{expected}\n"));
    let large = service.post(path, &json!({"rows": [[9_007_199_254_740_993_u64]]})).await;
    assert!(refused(&large, 422).contains("send this level as a string"), "{}", large.text());
}

/// Where a shape, an element or an output is wrong, it is named.
#[tokio::test]
async fn tensors_are_refused_by_what_is_wrong_with_them() {
    let service = service().await;
    for (shape, data, words) in [
        (json!([3]), json!([1, 2, 3]), "/inputs/0/shape: [3] should be [rows, 3]"),
        (json!([1, 1, 3]), json!([1, 2, 3]), "/inputs/0/shape: [1, 1, 3] should be [rows, 3]"),
        (json!([1, 3]), json!([1, {}, 3]), "/inputs/0/data: element 1 is not a number, boolean or string"),
    ] {
        let answer = infer(&service, json!([tensor("inputs", "FP64", &shape, &data)])).await;
        assert_eq!(refused(&answer, 422), words);
    }
    let answer = infer(&service, json!([tensor("inputs", "FP64", &json!([1, 3]), &json!([1, null, 3]))])).await;
    assert!(refused(&answer, 422).ends_with("; for a missing cell, send an empty string in a BYTES tensor"));
    let scalar = ["a", "b", "c"].map(|name| tensor(name, "FP64", &json!([]), &json!([1])));
    assert_eq!(
        refused(&infer(&service, json!(scalar)).await, 422),
        "/inputs/0/shape: [] should be [rows] or [rows, 1]"
    );
    // A float is that of its type, however it is sent.
    let value = async |datatype: &str, cell: f64| {
        let answer = infer(&service, json!([tensor("m", datatype, &json!([1, 3]), &json!([cell, 2, 3]))])).await;
        answer.ok(200)["outputs"][0]["data"][0].clone()
    };
    assert_eq!(value("FP16", 0.1).await, value("FP64", 0.099_975_585_937_5).await);
    assert_ne!(value("FP16", 0.1).await, value("FP64", 0.1).await);
    value("INT64", 9_223_372_036_854_775_807.0).await;
}

/// What is no JSON is malformed wherever it stands, and an empty body is one in every dialect.
#[tokio::test]
async fn text_that_is_no_json() {
    let service = service().await;
    for (path, media_type, body) in [
        (PREDICT, JSON, r#"{"records":[hello]}"#),
        (PREDICT, JSON, r#"{"rows":[hello]}"#),
        (PREDICT, JSON, r#"{"rows":hello}"#),
        (PREDICT, NDJSON, "[1,2,3]\nhello\n"),
        ("/invocations", JSON, r#"{"instances":[hello]}"#),
        ("/invocations", JSON, r#"{"dataframe_split":hello}"#),
        (INFER, JSON, r#"{"inputs":[hello]}"#),
        (INFER, JSON, r#"{"inputs":[{"name":"m","shape":[1,3],"datatype":"FP64","data":hello}]}"#),
    ] {
        let answer = service.post_as(path, media_type, body).await;
        assert!(refused(&answer, 400).contains("not JSON"), "{body}: {}", answer.text());
    }
    let answer = service.post_as(PREDICT, NDJSON, "[1,2,3]\n[1,2\n").await;
    assert_eq!(refused(&answer, 400), "line 2: not JSON: EOF while parsing a list at column 4");
    let answer = service.post_as(PREDICT, NDJSON, "[1,2,3]\n7\n").await;
    assert_eq!(refused(&answer, 422), "/lines/2: must be an object or a list of cells");
    assert_eq!(service.post_as(PREDICT, NDJSON, "\u{feff}[1,2,3]\n").await.text().lines().count(), 1);
    for path in [PREDICT, INFER, "/invocations"] {
        assert_eq!(service.post_as(path, JSON, "").await.json()["code"], "empty_body", "{path}");
    }
}

#[tokio::test]
async fn a_table_of_one_column_loses_no_row() {
    let service = Service::start();
    let row = |i: usize| format!("{},{}\n", i % 7, i % 4);
    let table: String = (0..60).map(row).collect();
    service.upload("name=num", format!("a,y\n{table}")).await.ok(201);
    assert_eq!(service.train("num", "num", &small_spec()).await["status"], "succeeded");
    for path in [PREDICT, "/invocations"] {
        let answer = service.post_as(path, CSV, "a\n1\n\n2\n").await;
        assert!(refused(&answer, 422).starts_with("/lines/3: an empty line"), "{}", answer.text());
    }
    let answer = service.post_as(PREDICT, CSV, "a\n1\n\"\"\n2\n").await;
    assert_eq!(answer.text().lines().count(), 4, "{}", answer.text());
}

/// Lines of a header are one list, and a quality of zero is a refusal however it is written.
#[tokio::test]
async fn what_a_client_accepts() {
    let service = service().await;
    let send = async |path: &str, headers: &[(&str, &str)], body: Value| {
        let request = headers.iter().fold(Request::post(path), |request, (name, value)| request.header(*name, *value));
        service.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let rows = json!({"rows": [[1, 2, 3]]});
    let answer = send(PREDICT, &[("accept", "text/html"), ("accept", "text/csv")], rows).await;
    assert!(answer.text().starts_with("value\n"), "{}", answer.text());
    let cells = vec![[1, 2, 3]; 1000];
    let request = json!({"inputs": [tensor("m", "FP64", &json!([1000, 3]), &json!(cells))]});
    for (accepted, coding) in [
        ("gzip, deflate", "gzip"),
        ("gzip;q=0.0", ""),
        ("gzip;q=0.000, deflate", "deflate"),
        ("gzip;q=0.1, deflate;q=1", "deflate"),
        ("GZIP;Q=0.5", "gzip"),
        ("br, identity", ""),
    ] {
        let answer = send(INFER, &[("accept-encoding", accepted)], request.clone()).await;
        let written = answer.headers.get("content-encoding").map_or("", |coding| coding.to_str().unwrap());
        assert_eq!(written, coding, "{accepted}");
    }
}

#[tokio::test]
async fn a_classifier_far_from_its_rows_is_sure() {
    let service = Service::start();
    let row = |i: usize| format!("{},{}\n", (i % 2 * 2) as f64 + (i % 7) as f64 / 100.0 - 1.0, ["cold", "warm"][i % 2]);
    let table: String = (0..60).map(row).collect();
    service.upload("name=heat", format!("x,kind\n{table}")).await.ok(201);
    let spec = json!({"learner": "ridge", "kernel": {"name": "linear"}, "features": {"count": 2}, "lambda": 1e-3});
    let job = service.train("heat", "heat", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let rows = json!({"rows": [[1e308], [-1e308]], "outputs": ["label", "probabilities"], "top_k": 1});
    let answer = service.post("/api/v1/models/heat/predict", &rows).await.ok(200);
    for (at, label, other) in [(0, "warm", "cold"), (1, "cold", "warm")] {
        let row = &answer["predictions"][at];
        assert_eq!((&row["label"], &row["top_k"][0]["label"]), (&json!(label), &json!(label)), "{row}");
        assert_eq!((&row["probabilities"][label], &row["probabilities"][other]), (&json!(1.0), &json!(0.0)), "{row}");
    }
    let mut inputs = json!({"inputs": [tensor("x", "FP64", &json!([1]), &json!([1e308]))]});
    let answer = service.post("/v2/models/heat/infer", &inputs).await.ok(200);
    assert_eq!(answer["outputs"][1]["data"], json!([0.0, 1.0]));
    let classes = |output: &str| json!([{"name": output, "parameters": {"classification": 1}}]);
    inputs["outputs"] = classes("probabilities");
    let answer = service.post("/v2/models/heat/infer", &inputs).await.ok(200);
    assert_eq!(answer["outputs"][0]["data"], json!(["1:1:warm"]));
    inputs["outputs"] = classes("label");
    let answer = service.post("/v2/models/heat/infer", &inputs).await;
    assert_eq!(answer.json()["errors"][0]["pointer"], "/outputs/0/parameters/classification", "{}", answer.text());
}

#[tokio::test]
async fn parameters_of_the_wrong_type() {
    let service = service().await;
    let rows = tensor("m", "FP64", &json!([1, 3]), &json!([1, 2, 3]));
    for (member, value, pointer) in [
        ("id", json!(7), "/id"),
        ("parameters", json!({"timeout": "x"}), "/parameters/timeout"),
        ("parameters", json!({"timeout": -4}), "/parameters/timeout"),
        ("parameters", json!({"binary_data_output": "yes"}), "/parameters/binary_data_output"),
        ("parameters", json!({"delta": 2}), "/parameters/delta"),
        ("outputs", json!([{"name": "value", "parameters": 1}]), "/outputs/0/parameters"),
        ("outputs", json!([{"name": "value", "parameters": {"binary_data": 1}}]), "/outputs/0/parameters/binary_data"),
        ("parameters", json!({"delta": "x"}), "/parameters/delta"),
        ("outputs", json!([{"name": "value"}, {"name": "value"}]), "/outputs/1/name"),
    ] {
        let answer = service.post(INFER, &json!({"inputs": [rows], member: value})).await;
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer);
    }
    for (params, pointer) in [
        (json!({"delta": 2}), "/params/delta"),
        (json!({"outputs": ["label"]}), "/params/outputs/0"),
        (json!({"outputs": []}), "/params/outputs"),
        (json!({"top_k": 1}), "/params/top_k"),
    ] {
        let answer = service.post("/invocations", &json!({"instances": [[1, 2, 3]], "params": params})).await;
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{}", answer.text());
    }
    let absent = json!({"inputs": [rows], "id": null, "outputs": null, "parameters": {"delta": null, "timeout": null}});
    service.post(INFER, &absent).await.ok(200);
    service.post(INFER, &json!({"inputs": [rows], "parameters": null})).await.ok(200);
    let answer = service.post_as(PREDICT, JSON, "{\"rows\":[[1,2,3]],\n\"delta\":NaN}").await;
    assert_eq!(answer.refused(400, "malformed_json")["detail"], "/delta: not JSON: expected value at line 2 column 9");
    let load = "/v2/repository/models/num/load";
    assert_eq!(service.post_as(load, JSON, "{{{{").await.status, 400);
    assert_eq!(service.post_as("/v2/repository/index", JSON, "[1]").await.status, 400);
    for empty in ["", "{}", "{\"parameters\": {}}"] {
        service.post_as(load, JSON, empty).await.ok(200);
    }
}

#[tokio::test]
async fn tensors_that_the_model_does_not_take_are_passed_over() {
    let service = service().await;
    let expected = service.post(PREDICT, &json!({"rows": [[1, 2, 3]]})).await.ok(200)["predictions"].clone();
    let column = |name: &str, value: i32| tensor(name, "INT32", &json!([1]), &json!([value]));
    let spare = tensor("spare", "BYTES", &json!([5]), &json!(["p", "q", "r", "s", "t"]));
    let columns = json!([spare, column("c", 3), column("a", 1), column("b", 2)]);
    let matrix = tensor("rows", "FP64", &json!([1, 3]), &json!([1, 2, 3]));
    let other = tensor("other", "FP64", &json!([1, 3]), &json!([9, 9, 9]));
    let named = tensor("inputs", "FP64", &json!([1, 3]), &json!([1, 2, 3]));
    for inputs in [columns, json!([spare, matrix]), json!([matrix, spare]), json!([other, named])] {
        assert_eq!(infer(&service, inputs).await.ok(200)["outputs"][0]["data"], expected);
    }
    let answer = infer(&service, json!([matrix, other])).await;
    assert!(refused(&answer, 422).starts_with("/inputs/1/shape: more than one tensor"));
    assert_eq!(refused(&infer(&service, json!([spare])).await, 422), "3 fields are not valid");
}

#[tokio::test]
async fn bytes_that_are_no_text_or_no_stream() {
    let service = service().await;
    for (path, media_type, body) in [
        (PREDICT, JSON, &b"{\"records\":[{\"z\":\"\xff\",\"a\":1,\"b\":2,\"c\":3}]}"[..]),
        (PREDICT, NDJSON, b"{\"z\":[\"\xff\"],\"a\":1,\"b\":2,\"c\":3}\n"),
        (PREDICT, CSV, b"z,a,b,c\n\xff,1,2,3\n"),
        ("/invocations", JSON, b"{\"dataframe_split\":{\"index\":[\"\xff\"],\"data\":[[1,2,3]]}}"),
    ] {
        let answer = service.post_as(path, media_type, body.to_vec()).await;
        assert!(refused(&answer, if media_type == CSV { 422 } else { 400 }).contains("UTF-8"), "{}", answer.text());
    }
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    deflated.write_all(b"{\"rows\":[[1,2,3]]}").unwrap();
    let deflated = deflated.finish().unwrap();
    let send = async |media_type: &str, encoding: &str, body: Vec<u8>| {
        let request = Request::post(PREDICT).header("content-type", media_type).header("content-encoding", encoding);
        service.send(request.body(Body::from(body)).unwrap()).await
    };
    send(JSON, "deflate", deflated.clone()).await.ok(200);
    for junk in [b"x".to_vec(), deflated.clone()] {
        let answer = send(JSON, "deflate", [deflated.clone(), junk].concat()).await;
        assert!(
            answer.refused(400, "unreadable_body")["detail"]
                .as_str()
                .unwrap()
                .contains("bytes follow the end of the stream")
        );
    }
    for media_type in [CSV, NDJSON, "application/vnd.apache.arrow.stream"] {
        let detail = refused(&send(media_type, "gzip", b"a,b,c\n1,2,3\n".to_vec()).await, 400);
        assert!(detail.starts_with("the gzip stream is damaged or ends early"), "{detail}");
    }
}

#[tokio::test]
async fn rows_that_overflow_are_named_by_their_place() {
    let service = Service::start();
    let row = |i: usize| format!("{},{}\n", i % 7, i % 7 * 100);
    let table: String = (0..60).map(row).collect();
    service.upload("name=num", format!("a,y\n{table}")).await.ok(201);
    let spec = json!({"kernel": {"name": "linear"}, "features": {"count": 2}, "lambda": 0.1, "scaling": "none"});
    let job = service.train("num", "num", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    for (path, media_type, body, pointer) in [
        (PREDICT, JSON, r#"{"rows":[[1],[1.7e308]]}"#, "/rows/1"),
        (PREDICT, CSV, "a,z\n\n1,0\n\n1.7e308,0\n", "/lines/5"),
        (PREDICT, NDJSON, "[1]\n\n[1.7e308]\n", "/lines/3"),
        ("/invocations", CSV, "a,z\n1,0\n\n1.7e308,0\n", "/lines/4"),
        ("/invocations", JSON, r#"{"dataframe_split":{"data":[[1.7e308]]}}"#, "/dataframe_split/data/0"),
        ("/invocations", JSON, r#"{"instances":[[1],[1.7e308]]}"#, "/instances/1"),
    ] {
        let answer = service.post_as(path, media_type, body).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.text());
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{body}: {}", answer.text());
    }
}
