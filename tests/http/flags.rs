//! Flags of prediction rows: what is unusual about them is said in every format, counted, and refused if asked to.

use crate::harness::{Answer, Service};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

const PREDICT: &str = "/api/v1/models/waves/predict";
const OUTPUTS: &str = "value,interval,in_range,warnings";

/// A usual row, one a hundred times out of range, one with a level that no row has, one with a missing cell.
const TABLE: &str = "x,colour,even\n0.3,green,true\n100,green,true\n0.3,gren,true\n,green,true\n";

fn rows() -> Value {
    json!([[0.3, "green", true], [100, "green", true], [0.3, "gren", true], [null, "green", true]])
}

async fn service() -> Service {
    let service = Service::with(&[]);
    service.upload("name=waves", crate::harness::waves(300)).await.ok(201);
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4, "calibration_fraction": 0.2});
    assert_eq!(service.train("waves", "waves", &spec).await["status"], "succeeded");
    service
}

async fn table(service: &Service, accept: &str) -> Answer {
    let request = Request::post(format!("{PREDICT}?outputs={OUTPUTS}"));
    let request = request.header("content-type", "text/csv").header("accept", accept);
    service.send(request.body(Body::from(TABLE)).unwrap()).await
}

/// The predictions of the rows as JSON has them, checked.
async fn expected(service: &Service) -> Vec<Value> {
    let names: Vec<&str> = OUTPUTS.split(',').collect();
    let answer = service.post(PREDICT, &json!({"rows": rows(), "outputs": names})).await.ok(200);
    let predictions = answer["predictions"].as_array().unwrap().clone();
    assert_eq!(predictions[0]["warnings"], json!([]));
    let far = &predictions[1]["warnings"][0];
    assert_eq!((&far["column"], &far["code"]), (&json!("x"), &json!("out_of_range")));
    assert!(far["detail"].as_str().unwrap().starts_with("100 is outside the training range, 0 to 0.99"), "{far}");
    let unseen = json!([{
        "column": "colour",
        "code": "unknown_level",
        "detail": "'gren' was not among the training data; the nearest known level is 'green'",
        "nearest": "green",
    }]);
    assert_eq!(predictions[2]["warnings"], unseen);
    let filled = json!([{"column": "x", "code": "imputed", "detail": "missing; filled with the training mean"}]);
    assert_eq!(predictions[3]["warnings"], filled);
    for (row, in_range) in [true, false, false, true].into_iter().enumerate() {
        assert_eq!(
            (&predictions[row]["in_range"], &predictions[row]["interval"]["in_range"]),
            (&json!(in_range), &json!(in_range))
        );
    }
    predictions
}

#[tokio::test]
async fn json_and_tables_say_the_same() {
    let service = service().await;
    let expected = expected(&service).await;
    assert_eq!(table(&service, "application/json").await.ok(200)["predictions"], json!(expected));
    let lines = table(&service, "application/x-ndjson").await.text();
    assert_eq!(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>(), expected);

    let text = table(&service, "text/csv").await.text();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), "value,interval_low,interval_high,interval_in_range,in_range,warnings");
    for (line, row) in lines.zip(&expected) {
        let cells: Vec<&str> = line.splitn(6, ',').collect();
        assert_eq!((cells[3], cells[4]), (row["in_range"].to_string().as_str(), row["in_range"].to_string().as_str()));
        let list = cells[5].trim_matches('"').replace("\"\"", "\"");
        assert_eq!(serde_json::from_str::<Value>(&list).unwrap(), row["warnings"], "{line}");
    }

    let bytes = table(&service, "application/vnd.apache.arrow.stream").await.bytes;
    let batches: Vec<RecordBatch> =
        StreamReader::try_new(bytes.as_slice(), None).unwrap().map(Result::unwrap).collect();
    let batch = &batches[0];
    for (row, expected) in expected.iter().enumerate() {
        for name in ["in_range", "interval_in_range"] {
            let value = batch.column_by_name(name).unwrap().as_boolean().value(row);
            assert_eq!(json!(value), expected["in_range"]);
        }
        let list = batch.column_by_name("warnings").unwrap().as_list::<i32>().value(row);
        let warnings = expected["warnings"].as_array().unwrap();
        assert_eq!(list.len(), warnings.len());
        for (at, warning) in warnings.iter().enumerate() {
            for member in ["column", "code", "detail", "nearest"] {
                let texts = list.as_struct().column_by_name(member).unwrap().as_string::<i32>();
                let text = if texts.is_null(at) { Value::Null } else { json!(texts.value(at)) };
                assert_eq!(text, warning[member]);
            }
        }
    }
}

#[tokio::test]
async fn scoring_and_inference_say_the_same() {
    let service = service().await;
    let expected = expected(&service).await;
    let params = json!({"outputs": OUTPUTS.split(',').collect::<Vec<_>>()});
    let split = json!({"columns": ["x", "colour", "even"], "data": rows()});
    let answer = service.post("/invocations", &json!({"dataframe_split": split, "params": params})).await.ok(200);
    assert_eq!(answer["predictions"], json!(expected));

    let inputs = json!([
        {"name": "x", "datatype": "BYTES", "shape": [4], "data": ["0.3", "100", "0.3", ""]},
        {"name": "colour", "datatype": "BYTES", "shape": [4], "data": ["green", "green", "gren", "green"]},
        {"name": "even", "datatype": "BOOL", "shape": [4], "data": [true, true, true, true]},
    ]);
    let outputs = json!([{"name": "in_range"}, {"name": "warnings"}]);
    let infer = "/v2/models/waves/infer";
    let answer = service.post(infer, &json!({"inputs": inputs, "outputs": outputs})).await.ok(200);
    let [in_range, warnings] = answer["outputs"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    assert_eq!((&in_range["datatype"], &warnings["datatype"]), (&json!("BOOL"), &json!("BYTES")));
    for (row, expected) in expected.iter().enumerate() {
        assert_eq!(in_range["data"][row], expected["in_range"]);
        let list: Value = serde_json::from_str(warnings["data"][row].as_str().unwrap()).unwrap();
        assert_eq!(list, expected["warnings"]);
    }

    let outputs = json!([{"name": "warnings", "parameters": {"binary_data": true}}]);
    let answer = service.post(infer, &json!({"inputs": inputs, "outputs": outputs})).await;
    let json_length: usize = answer.header("inference-header-content-length").parse().unwrap();
    let mut rest = &answer.bytes[json_length..];
    for expected in &expected {
        let (length, after) = rest.split_first_chunk().unwrap();
        let (text, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        assert_eq!(serde_json::from_slice::<Value>(text).unwrap(), expected["warnings"]);
        rest = after;
    }
    assert!(rest.is_empty());

    let strict = json!({"inputs": inputs, "parameters": {"strict": true}});
    let refused = service.post(infer, &strict).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["errors"][0]["pointer"]), (422, &json!("/rows/1/x")));
}

#[tokio::test]
async fn a_strict_request_is_refused_with_row_column_and_reason() {
    let service = service().await;
    let strict = format!("{PREDICT}?strict=true");
    let usual = json!({"rows": [[0.3, "green", true]]});
    assert_eq!(service.post(&strict, &usual).await.ok(200), service.post(PREDICT, &usual).await.ok(200));
    for (path, body) in [(strict.as_str(), json!({"rows": rows()})), (PREDICT, json!({"rows": rows(), "strict": true}))]
    {
        let refused = service.post(path, &body).await.refused(422, "invalid_prediction_request");
        let found: Vec<&str> =
            refused["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
        assert_eq!(found, ["/rows/1/x", "/rows/2/colour", "/rows/3/x"]);
        let detail = refused["errors"][1]["detail"].as_str().unwrap();
        assert!(detail.starts_with("'gren' was not among the training data"), "{detail}");
    }
    let refused = service.post_as(&strict, "text/csv", TABLE).await.refused(422, "invalid_prediction_request");
    assert_eq!(refused["errors"][0]["pointer"], "/lines/3/x");
    let body = json!({"instances": rows(), "params": {"strict": true}});
    let refused = service.post("/invocations", &body).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["errors"][2]["pointer"]), (422, &json!("/instances/3/x")));
    let wrong = service.post(&format!("{PREDICT}?strict=maybe"), &usual).await;
    wrong.refused(422, "invalid_parameter");
}

#[tokio::test]
async fn flags_are_counted_by_kind() {
    let service = service().await;
    let metric = |kind: &str| format!("bochner_flagged_cells_total{{model=\"waves\",version=\"1\",kind=\"{kind}\"}}");
    service.post(PREDICT, &json!({"rows": rows()})).await.ok(200);
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains(&format!("{} 1", metric("unknown_level"))), "{metrics}");
    assert!(metrics.contains(&format!("{} 1", metric("imputed"))), "{metrics}");
    assert!(!metrics.contains(&metric("out_of_range")), "ranges are looked at only if asked to: {metrics}");
    service.post(PREDICT, &json!({"rows": rows(), "outputs": ["value", "interval"]})).await.ok(200);
    let metrics = service.get("/metrics").await.text();
    for kind in ["unknown_level", "imputed"] {
        assert!(metrics.contains(&format!("{} 2", metric(kind))), "{metrics}");
    }
    assert!(metrics.contains(&format!("{} 1", metric("out_of_range"))), "{metrics}");
}

/// A file of a release that kept no ranges is served; what needs them is refused, and the rest is said.
#[tokio::test]
async fn a_model_without_ranges_has_no_range_flags_and_says_so() {
    let service = Service::start();
    let artifact = include_bytes!("../fixtures/artifacts/ridge.bochner").as_slice();
    service.post_as("/api/v1/models/old/versions", "application/octet-stream", artifact).await.ok(201);
    let predict = "/api/v1/models/old/predict";
    let rows = json!([[1e6, "gren", null]]);
    let body = json!({"rows": rows, "outputs": ["value", "warnings"]});
    let warnings = service.post(predict, &body).await.ok(200)["predictions"][0]["warnings"].clone();
    let codes: Vec<&Value> = warnings.as_array().unwrap().iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["unknown_level", "imputed"]);
    for body in [json!({"rows": rows, "strict": true}), json!({"rows": rows, "outputs": ["in_range"]})] {
        let refused = service.post(predict, &body).await.refused(422, "invalid_prediction_request");
        assert!(refused["errors"][0]["detail"].as_str().unwrap().contains("kept no ranges"), "{refused}");
    }
    let model = service.get("/api/v1/models/old").await.ok(200);
    assert!(model["latest"]["columns"][0].get("range").is_none(), "{model}");
    assert!(!model["latest"]["outputs"].as_array().unwrap().contains(&json!("in_range")));
}

/// Ranges are those of the fitted rows, dates are shown as dates, and added rows widen them.
#[tokio::test]
async fn ranges_are_told_and_grow_with_added_rows() {
    let service = Service::start();
    let csv = |first: usize| {
        let row = |i: usize| format!("2026-01-{:02},{},{}\n", first + i % 20, first + i % 20, i % 7);
        std::iter::once("when,size,y\n".to_owned()).chain((0..60).map(row)).collect::<String>()
    };
    service.upload("name=first", csv(1)).await.ok(201);
    service.upload("name=second", csv(9)).await.ok(201);
    let spec = json!({"features": {"count": 16}, "lambda": 1e-2, "updatable": true, "validation_fraction": 0});
    assert_eq!(service.train("dated", "first", &spec).await["status"], "succeeded");
    let latest = service.get("/api/v1/models/dated").await.ok(200)["latest"].clone();
    assert_eq!(latest["columns"][0]["range"], json!({"low": "2026-01-01", "high": "2026-01-20"}));
    assert_eq!(latest["columns"][1]["range"], json!({"low": 1.0, "high": 20.0}));
    let body = json!({"rows": [["2026-01-28", 28], ["2026-01-20", 20]], "outputs": ["warnings", "in_range"]});
    let predict = "/api/v1/models/dated/predict";
    let found = service.post(predict, &body).await.ok(200)["predictions"].clone();
    let detail = "2026-01-28 is outside the training range, 2026-01-01 to 2026-01-20";
    assert_eq!((&found[0]["warnings"][0]["detail"], &found[0]["in_range"]), (&json!(detail), &json!(false)));
    assert_eq!(found[1], json!({"warnings": [], "in_range": true}));
    let update = json!({"dataset": "second"});
    let job = Request::post("/api/v1/models/dated/update").header("content-type", "application/json");
    let job = job.header("prefer", "wait=60").body(Body::from(update.to_string())).unwrap();
    assert_eq!(service.send(job).await.ok(200)["status"], "succeeded");
    let found = service.post(predict, &body).await.ok(200);
    assert_eq!((&found["version"], &found["predictions"][0]["warnings"]), (&json!(2), &json!([])));
}
