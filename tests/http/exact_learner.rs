//! Exact kernel ridge regression as a model, over HTTP.

use crate::harness::{Service, waves};
use serde_json::json;

#[tokio::test]
async fn an_exact_model_is_trained_and_served() {
    let service = Service::with_model().await;
    let job = service.train("exact", "waves", &json!({"learner": "exact_krr", "lambda": 1e-6})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(job["spec"]["features"], json!({"seed": 0}));
    let report = &job["report"];
    assert!(report["relative_residual"].as_f64().unwrap() < 1e-8, "{report}");
    assert_eq!((&report["converged"], &report["preconditioner"]), (&json!(true), &json!("none")));
    assert!(report["solver_slack"].as_f64().unwrap() < 1e-3, "{report}");
    assert_eq!(report["feature_count"], report["training_rows"]);

    let rows: Vec<_> = (0..40).map(|i| json!([f64::from(i) / 40.0, "green", true])).collect();
    let body = json!({"rows": rows, "outputs": ["value", "interval"]});
    let exact = service.post("/api/v1/models/exact/predict", &body).await.ok(200)["predictions"].clone();
    let near = service.post("/api/v1/models/waves/predict", &body).await.ok(200)["predictions"].clone();
    for (exact, near) in exact.as_array().unwrap().iter().zip(near.as_array().unwrap()) {
        let (exact, near) = (exact["value"].as_f64().unwrap(), near["value"].as_f64().unwrap());
        assert!((exact - near).abs() < 0.1, "{exact} {near}");
    }
    assert_eq!(exact[0]["interval"]["coverage"], 0.95);
    let alone = service.post("/api/v1/models/exact/predict", &json!({"rows": [rows[7]]})).await.ok(200);
    assert_eq!(alone["predictions"][0], exact[7]["value"]);

    let model = service.get("/api/v1/models/exact").await.ok(200)["latest"].clone();
    assert_eq!(model["outputs"], json!(["value", "interval", "in_range", "warnings"]));
    assert_eq!(model["shapes"], json!({"inputs": 5, "features": 240, "draws": 240}));
    let answer = service.get("/api/v1/models/exact/guarantees?all=true").await.ok(200);
    for guarantee in answer["guarantees"].as_array().unwrap().iter().filter(|found| found["id"] != "conformal") {
        assert_eq!(guarantee["status"], "not_applicable", "{guarantee}");
        assert!(guarantee["statement"].as_str().unwrap().contains("exact kernel method itself"), "{guarantee}");
    }
    assert!(answer["measured"]["exact_krr_error"].is_null());
}

#[tokio::test]
async fn what_an_exact_model_cannot_do_is_refused() {
    let service = Service::with_model().await;
    let refused = async |spec: serde_json::Value, dataset: &str| {
        let request = json!({"model": "m", "dataset": dataset, "spec": spec});
        service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job")["errors"][0].clone()
    };
    let error = refused(json!({"learner": "exact_krr", "features": {"count": 8}}), "waves").await;
    assert_eq!(error["pointer"], "/spec/features/count");
    let error = refused(json!({"learner": "exact_krr", "updatable": true}), "waves").await;
    assert_eq!(error["pointer"], "/spec/updatable");
    service.upload("name=labels&target=colour", waves(60)).await.ok(201);
    let error = refused(json!({"learner": "exact_krr"}), "labels").await;
    assert_eq!(error["pointer"], "/dataset");
    assert!(error["detail"].as_str().unwrap().contains("predicts numbers"), "{error}");

    let spec = json!({"learner": "exact_krr", "lambda": "inverse_sqrt_n"});
    assert_eq!(service.train("exact", "waves", &spec).await["status"], "succeeded");
    let body = json!({"rows": [[0.3, "green", true]], "outputs": ["error_bar"]});
    let bars = service.post("/api/v1/models/exact/predict", &body).await.refused(422, "invalid_prediction_request");
    assert!(!bars["detail"].as_str().unwrap().contains("train it with"), "{bars}");
    let certify = json!({"type": "certify", "model": "exact"});
    service.post("/api/v1/jobs", &certify).await.refused(409, "model_not_certifiable");
    let update = service.post("/api/v1/models/exact/update", &json!({"dataset": "waves"})).await;
    update.refused(409, "model_not_updatable");
}
