//! What is counted of predictions, as a scrape tells it.

use crate::harness::Service;
use serde_json::{Value, json};

/// A series as the metrics have it; none where it is not there.
fn series(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

#[tokio::test]
async fn requests_are_counted_by_model_version_protocol_and_outcome() {
    let service = Service::with_model().await;
    let predict = "/api/v1/models/waves/predict";
    let row = json!([0.5, "red", true]);
    for rows in [1, 3] {
        service.post(predict, &json!({"rows": vec![row.clone(); rows]})).await.ok(200);
    }
    service.post_as(predict, "text/csv", "x,colour,even\n0.5,red,true\n").await;
    assert_eq!(service.post(predict, &json!({"rows": [["far", "red", true]]})).await.status, 422);
    let tensor =
        |name, datatype, cell: Value| json!({"name": name, "shape": [1], "datatype": datatype, "data": [cell]});
    let inputs =
        [tensor("x", "FP64", json!(0.5)), tensor("colour", "BYTES", json!("red")), tensor("even", "BOOL", json!(true))];
    service.post("/v2/models/waves/infer", &json!({"inputs": inputs})).await.ok(200);
    service.post("/invocations", &json!({"instances": [row]})).await.ok(200);

    let metrics = service.get("/metrics").await.text();
    let version = "model=\"waves\",version=\"1\"";
    let count = |name: &str, labels: &str| series(&metrics, &format!("bochner_{name}{{{version}{labels}}}"));
    for (protocol, answered, refused, rows) in
        [("native", 3.0, Some(1.0), 5.0), ("v2", 1.0, None, 1.0), ("invocations", 1.0, None, 1.0)]
    {
        let labels = |outcome: &str| format!(",protocol=\"{protocol}\",outcome=\"{outcome}\"");
        assert_eq!(count("predictions_total", &labels("answered")), Some(answered), "{protocol}");
        assert_eq!(count("predictions_total", &labels("refused")), refused, "{protocol}");
        assert_eq!(count("prediction_seconds_count", &labels("answered")), Some(answered), "{protocol}");
        assert!(count("prediction_seconds_sum", &labels("answered")).unwrap() > 0.0);
        assert_eq!(count("prediction_rows_count", &labels("answered")), Some(answered), "{protocol}");
        assert_eq!(count("prediction_rows_sum", &labels("answered")), Some(rows), "{protocol}");
    }
    assert_eq!(count("predicted_rows_total", ""), Some(7.0));
    assert_eq!(count("queued_rows", ""), Some(0.0));
    assert!(count("model_memory_bytes", "").unwrap() > 1000.0);
    // Each request is decoded, computed and encoded once; the table alone went through the queue.
    for (stage, times) in [("decode", 5.0), ("compute", 5.0), ("encode", 5.0), ("queue", 1.0)] {
        let found = count("prediction_stage_seconds_count", &format!(",stage=\"{stage}\""));
        assert_eq!(found, Some(times), "{stage}");
    }
    assert_eq!(count("batches_total", ""), Some(1.0));

    assert_eq!(service.call("DELETE", "/api/v1/models/waves").await.status, 204);
    let metrics = service.get("/metrics").await.text();
    assert!(!metrics.contains("model=\"waves\""), "{metrics}");
}

#[tokio::test]
async fn json_lines_go_by_several_names_and_the_index_tells_what_is_served() {
    let service = Service::with_model_and(&["--allow-model-control"]).await;
    let lines = "[0.5, \"red\", true]\n";
    let mut answers = Vec::new();
    for name in ["application/x-ndjson", "application/jsonl", "application/ndjson", "Application/JSONL"] {
        let request = axum::http::Request::post("/api/v1/models/waves/predict");
        let request = request.header("content-type", "application/x-ndjson").header("accept", name);
        let answer = service.send(request.body(lines.into()).unwrap()).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/x-ndjson"), "{name}");
        answers.push(answer.text());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let index = async |body: Value| service.post("/v2/repository/index", &body).await;
    assert_eq!(index(json!({"ready": true})).await.ok(200).as_array().unwrap().len(), 1);
    service.post("/v2/repository/models/waves/unload", &json!({})).await.ok(200);
    assert_eq!(index(json!({"ready": true})).await.ok(200), json!([]));
    assert_eq!(index(json!({})).await.ok(200)[0]["state"], "UNAVAILABLE");
    assert_eq!(index(json!({"ready": "yes"})).await.status, 422);
    assert_eq!(service.call("POST", "/v2/repository/index").await.ok(200).as_array().unwrap().len(), 1);
}
