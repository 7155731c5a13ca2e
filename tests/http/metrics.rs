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
async fn series_of_a_version_appear_with_its_first_request() {
    let service = Service::with_model().await;
    let metrics = service.get("/metrics").await.text();
    assert!(!metrics.contains("model=\"waves\""), "{metrics}");
    service.post("/api/v1/models/waves/predict", &json!({"rows": [[0.5, "red", true]]})).await.ok(200);
    assert!(service.get("/metrics").await.text().contains("model=\"waves\""));
}

/// Names and help as promtool wants them: base units, `_total` for counters alone, help for everything, nothing twice.
/// `make check-metrics` asks promtool itself, of the text that this test leaves.
#[tokio::test]
async fn names_and_help_follow_the_rules() {
    let service = Service::with_model().await;
    service.post("/api/v1/models/waves/predict", &json!({"rows": [[0.5, "red", true]]})).await.ok(200);
    let metrics = service.get("/metrics").await.text();
    if let Some(folder) = option_env!("CARGO_TARGET_TMPDIR") {
        std::fs::write(std::path::Path::new(folder).join("metrics.txt"), &metrics).unwrap();
    }
    let mut families = std::collections::BTreeMap::new();
    for line in metrics.lines().filter_map(|line| line.strip_prefix("# ")) {
        let mut words = line.splitn(3, ' ');
        let (word, name, rest) =
            (words.next().unwrap(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let family: &mut (String, String) = families.entry(name.to_owned()).or_default();
        match word {
            "HELP" => {
                assert!(family.0.is_empty(), "{name} has help twice");
                rest.clone_into(&mut family.0);
            }
            "TYPE" => {
                assert!(family.1.is_empty(), "{name} is there twice");
                rest.clone_into(&mut family.1);
            }
            _ => {}
        }
    }
    families.remove("EOF");
    families.retain(|name, _| !name.is_empty());
    assert!(families.len() > 25, "{families:?}");
    for (name, (help, kind)) in &families {
        assert!(help.len() > 5 && !kind.is_empty(), "{name}: {help} {kind}");
        assert!(help.starts_with(char::is_uppercase), "{name}: {help}");
        assert!(name.starts_with("bochner_") || name.starts_with("process_"), "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(!name.ends_with("_total") && !name.ends_with("_count") && !name.ends_with("_sum"), "{name}");
        for unit in ["milliseconds", "_ms", "minutes", "hours", "kilobytes", "megabytes"] {
            assert!(!name.contains(unit), "{name} is not in a base unit");
        }
    }
    for name in [
        "process_cpu_seconds",
        "process_resident_memory_bytes",
        "process_open_fds",
        "bochner_build_info",
        "bochner_disk_used_bytes",
        "bochner_job_seconds",
        "bochner_oldest_queued_job_seconds",
    ] {
        assert!(families.contains_key(name), "{name}");
    }
    assert!(metrics.contains("bochner_job_seconds_count{type=\"train\",outcome=\"succeeded\"} 1"), "{metrics}");
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
