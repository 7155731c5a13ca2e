//! What the columns of a model do, over HTTP.

use crate::harness::Service;
use serde_json::{Value, json};

#[tokio::test]
async fn explanations_are_kept_where_they_are_asked_for() {
    let service = Service::with_model().await;
    let told = service.get("/api/v1/models/waves/explanations").await.ok(200);
    assert_eq!(told["columns"], json!([]));
    assert!(told["missing"].as_str().unwrap().contains("\"explanations\": true"), "{told}");
    let spec = json!({"features": {"count": 64}, "explanations": true, "kernel": {"metric": "diagonal"}});
    let job = service.train("told", "waves", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let metric = &job["report"]["metric"];
    assert_eq!(metric["relevances"].as_array().unwrap().len(), 3, "{metric}");
    let told = service.get("/api/v1/models/told/explanations").await.ok(200);
    assert_eq!(service.get("/api/v1/models/told/versions/1/explanations").await.ok(200), told);
    let columns = told["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 3);
    for column in columns {
        assert!(column["permutation"]["standard_error"].as_f64().unwrap() >= 0.0, "{column}");
        let dependence = &column["partial_dependence"];
        let points = dependence["points"].as_array().unwrap().len();
        let curves = dependence["outputs"].as_object().unwrap();
        assert!(curves.values().all(|curve| curve.as_array().unwrap().len() == points), "{column}");
    }
    assert!(columns[1]["partial_dependence"]["points"].as_array().unwrap().iter().all(Value::is_string));
    service.get("/api/v1/models/nothing/explanations").await.refused(404, "model_not_found");
    service.get("/api/v1/models/told/explanations?column=x").await.refused(422, "unknown_parameter");
}

#[tokio::test]
async fn contributions_are_an_output_of_predictions() {
    let service = Service::with_model().await;
    let body = json!({"rows": [[0.3, "green", true], [0.9, "red", false]], "outputs": ["value", "contributions"]});
    let answer = service.post("/api/v1/models/waves/predict", &body).await.ok(200);
    for row in answer["predictions"].as_array().unwrap() {
        let shares = row["contributions"]["columns"].as_object().unwrap();
        assert_eq!(shares.len(), 3);
        let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        let total = sum + row["contributions"]["baseline"].as_f64().unwrap();
        assert!((total - row["value"].as_f64().unwrap()).abs() < 1e-4, "{row}");
    }
}
