//! What requests were about, and what more rows would bring.

use crate::harness::{Service, waves};
use serde_json::json;

const PREDICT: &str = "/api/v1/models/waves/predict";
const DRIFT: &str = "/api/v1/models/waves/drift";

#[tokio::test]
async fn requests_are_compared_with_the_fitted_rows() {
    let service = Service::with_model().await;
    let before = service.get(DRIFT).await.ok(200);
    assert_eq!((&before["rows"], &before["columns"][0]["notable"]), (&json!(0), &json!(false)), "{before}");
    for _ in 0..60 {
        service.post(PREDICT, &json!({"rows": [[0.3, "green", true], [0.5, "red", null]]})).await.ok(200);
    }
    let usual = service.get(DRIFT).await.ok(200);
    assert_eq!(usual["rows"], 120);
    let column = |found: &serde_json::Value, index: usize| found["columns"][index].clone();
    let x = column(&usual, 0);
    assert!((x["mean"].as_f64().unwrap() - 0.4).abs() < 1e-12, "{x}");
    assert_eq!((&x["out_of_range"], &x["unknown_levels"], &x["notable"]), (&json!(0.0), &json!(null), &json!(false)));
    assert_eq!(column(&usual, 1)["unknown_levels"], 0.0);
    assert_eq!(column(&usual, 2)["missing"], 0.5);

    // A long request counts as little as a short one, and garbage does no harm.
    let rows: Vec<_> = (0..1000).map(|_| json!([1e308, "mauve", true])).collect();
    service.post(PREDICT, &json!({"rows": rows})).await;
    for _ in 0..10 {
        service.post(PREDICT, &json!({"rows": [[-1e308, "mauve", true]]})).await;
    }
    let found = service.get("/api/v1/models/waves/versions/1/drift").await.ok(200);
    assert_eq!(found["rows"], 138);
    let share = 18.0 / 138.0;
    assert_eq!(
        (&column(&found, 0)["out_of_range"], &column(&found, 1)["unknown_levels"]),
        (&json!(share), &json!(share))
    );
    assert_eq!((&column(&found, 0)["notable"], &column(&found, 2)["notable"]), (&json!(true), &json!(false)));
    assert!(column(&found, 0)["mean"].as_f64().unwrap().is_finite());
    let page = service.get("/models/waves").await.text();
    assert!(
        page.contains("in &#39;x&#39;, &#39;colour&#39;") || page.contains("in &#x27;x&#x27;, &#x27;colour&#x27;"),
        "{page}"
    );
    let refused = service.get(&format!("{DRIFT}?x=1")).await.refused(422, "unknown_parameter");
    assert!(refused.to_string().contains("unknown parameter; this path takes none"), "{refused}");
}

#[tokio::test]
async fn a_learning_curve_is_measured_on_the_same_rows() {
    let service = Service::with(&[]);
    service.upload("name=waves", waves(1000)).await.ok(201);
    let spec = json!({"effort": "fast", "features": {"count": 64}, "learning_curve": true});
    let job = service.train("waves", "waves", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let points = job["report"]["learning_curve"]["points"].as_array().unwrap().clone();
    let rows: Vec<u64> = points.iter().map(|point| point["training_rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [50, 100, 200, 400, 800]);
    assert!(points.iter().all(|point| point["validation_rows"] == 200), "{points:?}");
    assert_eq!(points[4]["mse"], job["report"]["validation_mse"]);
    assert!(points[4]["mse"].as_f64() < points[0]["mse"].as_f64(), "{points:?}");
    assert!(job["report"]["stage_seconds"]["learning_curve"].is_number(), "{job}");
    let plot = service.get("/api/v1/models/waves/plots/learning-curve.json").await.ok(200);
    let first = points[0]["mse"].as_f64().unwrap();
    assert!(plot.to_string().contains(&json!(first).to_string()), "{plot}");
    assert!(service.get("/api/v1/models/waves/plots/learning-curve.svg").await.text().contains("training rows"));
    // The model itself is what it would be without the curve.
    let plain = json!({"effort": "fast", "features": {"count": 64}});
    service.train("plain", "waves", &plain).await;
    let row = json!({"rows": [[0.3, "green", true]]});
    let [one, other] = ["waves", "plain"].map(|name| format!("/api/v1/models/{name}/predict"));
    assert_eq!(
        service.post(&one, &row).await.ok(200)["predictions"],
        service.post(&other, &row).await.ok(200)["predictions"]
    );
    let missing = service.get("/api/v1/models/plain/plots/learning-curve.svg").await;
    assert!(missing.text().contains("learning_curve"), "{}", missing.text());
    let none = json!({"model": "m", "dataset": "waves", "spec": {"learning_curve": true, "validation_fraction": 0}});
    let refused = service.post("/api/v1/jobs", &none).await;
    assert!(refused.status.as_u16() == 422 && refused.text().contains("/spec/learning_curve"), "{}", refused.text());
}
