//! Models: what is told about them, predictions, guarantees.

use crate::harness::{Service, waves};
use serde_json::{Value, json};

async fn predict(service: &Service, body: &Value) -> Value {
    service.post("/api/v1/models/waves/predict", body).await.ok(200)["predictions"].clone()
}

#[tokio::test]
async fn rows_records_and_named_columns_agree() {
    let service = Service::with_model().await;
    let plain = predict(&service, &json!({"rows": [[0.3, "green", true]]})).await;
    let expected = (6.0_f64 * 0.3).sin() + 1.0;
    assert!((plain[0].as_f64().unwrap() - expected).abs() < 0.1, "{plain} is not {expected}");
    let named = json!({"columns": ["even", "unused", "colour", "x"], "rows": [[true, "?", "green", 0.3]]});
    assert_eq!(predict(&service, &named).await, plain);
    let records = json!({"records": [{"colour": "green", "even": true, "x": 0.3, "unused": [1]}]});
    assert_eq!(predict(&service, &records).await, plain);
    let objects = predict(&service, &json!({"rows": [[0.3, "green", true]], "outputs": ["value"]})).await;
    assert_eq!(objects, json!([{"value": plain[0]}]));
    let by_version =
        service.post("/api/v1/models/waves/versions/1/predict", &json!({"rows": [[0.3, "green", true]]})).await;
    assert_eq!(by_version.ok(200), json!({"model": "waves", "version": 1, "predictions": plain}));
}

#[tokio::test]
async fn missing_cells_and_unknown_levels_are_served_and_counted() {
    let service = Service::with_model().await;
    let missing = predict(&service, &json!({"rows": [[null, "green", null]]})).await;
    assert!(missing[0].is_f64());
    let unknown = predict(&service, &json!({"rows": [[0.3, "mauve", true], [0.3, "pink", true]]})).await;
    assert_eq!(unknown[0], unknown[1]);
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("bochner_unknown_levels_total{model=\"waves\"} 2"), "{metrics}");
    assert!(metrics.contains("bochner_predicted_rows_total{model=\"waves\"} 3"), "{metrics}");

    service.upload("name=whole", "a,y\n1,1\n2,4\n3,9\n4,16\n5,25\n").await.ok(201);
    let spec = json!({"missing": "refuse", "features": {"count": 8}});
    assert_eq!(service.train("strict", "whole", &spec).await["status"], "succeeded");
    let answer = service.post("/api/v1/models/strict/predict", &json!({"rows": [[null]]})).await;
    assert_eq!(answer.refused(422, "invalid_prediction_request")["errors"][0]["pointer"], "/rows/0/a");
    let request = json!({"model": "m", "dataset": "waves", "spec": spec});
    let body = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
    assert!(body["detail"].as_str().unwrap().contains("column 'x' has 6 missing cells"), "{body}");
}

#[tokio::test]
async fn wrong_cells_are_placed() {
    let service = Service::with_model().await;
    let green = json!([0.3, "green", true]);
    for (body, pointer) in [
        (json!({"rows": [green, [0.3, "green"]]}), "/rows/1"),
        (json!({"rows": [green, ["a", "green", true]]}), "/rows/1/x"),
        (json!({"rows": [green, [0.3, "green", 7]]}), "/rows/1/even"),
        (json!({"rows": [green, [[0.3], "green", true]]}), "/rows/1/x"),
        (json!({"rows": [green, [1e308, "green", true]]}), "/rows/1"),
        (json!({"rows": []}), "/rows"),
        (json!({"rows": 3}), "/rows"),
        (json!({"rows": [green], "records": []}), ""),
        (json!({}), ""),
        (json!({"rows": [green], "columns": ["x", "colour"]}), "/columns"),
        (json!({"records": [{"x": 1, "color": "red", "even": true}]}), "/records/0"),
        (json!({"row": [green]}), "/row"),
        (json!({"rows": [green], "outputs": ["value", "interval"]}), "/outputs/1"),
        (json!({"rows": [green], "outputs": ["spread"]}), "/outputs/0"),
        (json!({"rows": [green], "outputs": []}), "/outputs"),
    ] {
        let answer = service.post("/api/v1/models/waves/predict", &body).await;
        let refusal = answer.refused(422, "invalid_prediction_request");
        assert_eq!(refusal["errors"][0]["pointer"], pointer, "{body}: {refusal}");
    }
    let media = "application/json";
    for text in ["{\"rows\": [[NaN, \"green\", true]]}", "{\"rows\": [[1e999, \"green\", true]]}", "{", "\u{1}"] {
        service.post_as("/api/v1/models/waves/predict", media, text).await.refused(400, "malformed_json");
    }
    service.post_as("/api/v1/models/waves/predict", media, b"\xff".to_vec()).await.refused(400, "malformed_json");
}

#[tokio::test]
async fn a_batch_is_its_rows_one_by_one() {
    let service = Service::with_model().await;
    let colours = ["red", "blue"];
    let rows: Vec<Value> = (0..600).map(|i| json!([i as f64 / 600.0, colours[i % 2], true])).collect();
    let batch = predict(&service, &json!({"rows": rows})).await;
    for index in [0, 255, 256, 599] {
        let single = predict(&service, &json!({"rows": [rows[index]]})).await;
        let difference = single[0].as_f64().unwrap() - batch[index].as_f64().unwrap();
        assert!(difference.abs() < 1e-5, "row {index}: {difference}");
    }
}

#[tokio::test]
async fn the_spread_is_an_output_of_models_that_keep_it() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4, "spread": true});
    assert_eq!(service.train("spread", "waves", &spec).await["status"], "succeeded");
    let body = json!({"rows": [[0.3, "green", true], [40.0, "green", true]], "outputs": ["value", "spread"]});
    let answer = service.post("/api/v1/models/spread/predict", &body).await.ok(200);
    let spread = |row: usize| answer["predictions"][row]["spread"].as_f64().unwrap();
    assert!(spread(0) > 0.0, "{answer}");
    assert!(spread(1) > spread(0), "{answer}"); // far from the rows less is known
    let model = service.get("/api/v1/models/spread").await.ok(200);
    assert_eq!(model["latest"]["outputs"], json!(["value", "spread"]));
}

#[tokio::test]
async fn limits_on_rows_are_stated() {
    let service = Service::with(&["--max-prediction-rows", "2"]);
    service.upload("name=waves", waves(60)).await.ok(201);
    service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    let row = json!([0.1, "red", true]);
    let answer = service.post("/api/v1/models/waves/predict", &json!({"rows": [row, row, row]})).await;
    let body = answer.refused(422, "invalid_prediction_request");
    assert!(body["detail"].as_str().unwrap().contains("has 3 rows; the limit is 2"), "{body}");
}

#[tokio::test]
async fn a_model_is_described_with_a_row_that_works() {
    let service = Service::with_model().await;
    let model = service.get("/api/v1/models/waves/versions/1").await.ok(200);
    assert_eq!(model["target"], "y");
    assert_eq!(model["shapes"], json!({"inputs": 5, "features": 256, "draws": 128}));
    assert_eq!(model["spec"]["features"]["count"], 256);
    predict(&service, &json!({"rows": [model["example_row"]]})).await;
    assert_eq!(service.get("/api/v1/models/waves").await.ok(200)["latest"], model);
    assert_eq!(service.get("/api/v1/models").await.ok(200)["models"][0]["name"], "waves");
}

#[tokio::test]
async fn versions_count_on_and_can_be_deleted() {
    let service = Service::with_model().await;
    service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    service.call("DELETE", "/api/v1/models/waves/versions/2").await.ok(204);
    service.get("/api/v1/models/waves/versions/2").await.refused(404, "version_not_found");
    let job = service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    assert_eq!(job["version"], 3);
    service.call("DELETE", "/api/v1/models/waves").await.ok(204);
    service.get("/api/v1/models/waves").await.refused(404, "model_not_found");
    service
        .post("/api/v1/models/waves/predict", &json!({"rows": [[0.3, "red", true]]}))
        .await
        .refused(404, "model_not_found");
}

fn guarantee<'a>(answer: &'a Value, id: &str) -> &'a Value {
    answer["guarantees"].as_array().unwrap().iter().find(|guarantee| guarantee["id"] == id).unwrap()
}

#[tokio::test]
async fn guarantees_follow_delta_and_the_ridge() {
    let service = Service::with_model().await;
    let small = service.get("/api/v1/models/waves/guarantees").await.ok(200);
    assert_eq!(small["guarantees"].as_array().unwrap().len(), 23);
    assert_eq!(small["guarantees"][0]["id"], "wang.theorem1");
    assert_eq!(small["guarantees"][0]["status"], "not_applicable");
    assert!(small["measured"]["exact_krr_error"].as_f64().unwrap() > 0.0);

    let job = service.train("safe", "waves", &json!({"features": {"count": 400}, "lambda": "certified"})).await;
    assert_eq!(job["status"], "succeeded");
    let safe = service.get("/api/v1/models/safe/guarantees?delta=0.05").await.ok(200);
    let certified = guarantee(&safe, "bochner.theorem1_relative");
    assert_eq!(certified["status"], "conditional", "{certified}");
    assert!(certified["statement"].as_str().unwrap().contains("95 %"), "{certified}");
    assert!(safe["measured"]["exact_krr_error"].as_f64() < certified["value"].as_f64());
    assert!(certified["inputs"]["sharper_bound"].as_f64() < certified["value"].as_f64());
    // Estimates and rates claim no probability, and what was not measured has no value.
    assert_eq!(guarantee(&safe, "wang.eq31")["form"], "estimate");
    assert_eq!(guarantee(&safe, "rudi_rosasco.theorem1")["probability"], Value::Null);
    assert_eq!(guarantee(&safe, "bochner.certificate_mean")["value"], Value::Null);
    // Without a delta, the one the model was trained for counts.
    let spec = json!({"features": {"count": 400}, "lambda": "certified", "guarantees": {"delta": 0.3}});
    service.train("bold", "waves", &spec).await;
    let bold = service.get("/api/v1/models/bold/guarantees").await.ok(200);
    let status = &guarantee(&bold, "bochner.theorem1_relative")["status"];
    assert_eq!((&bold["delta"], status), (&json!(0.3), &json!("conditional")));
    // A smaller δ needs a larger λ.
    let stricter = service.get("/api/v1/models/safe/versions/1/guarantees?delta=0.001").await.ok(200);
    assert_eq!(guarantee(&stricter, "bochner.theorem1_relative")["status"], "not_applicable");
    for wrong in ["0", "1", "-1", "x", "NaN"] {
        let answer = service.get(&format!("/api/v1/models/safe/guarantees?delta={wrong}")).await;
        answer.refused(422, "invalid_parameter");
    }
}
