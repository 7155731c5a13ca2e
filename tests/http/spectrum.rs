//! What is kept of a model's spectrum, over HTTP.

use crate::harness::{Service, waves};
use serde_json::{Value, json};

#[tokio::test]
async fn the_spectrum_is_told_from_what_was_kept() {
    let service = Service::with_model().await;
    let told = service.get("/api/v1/models/waves/spectrum").await.ok(200);
    assert_eq!((&told["model"], &told["version"], &told["lambda"]), (&json!("waves"), &json!(1), &json!(1e-6)));
    assert_eq!(told["eigenvalues"]["count"], 256);
    assert_eq!(told["eigenvalues"]["values"].as_array().unwrap().len(), 256);
    assert!((told["eigenvalues"]["sum"].as_f64().unwrap() - 1.0).abs() < 1e-5, "{told}");
    let curve = &told["effective_dimension"];
    assert_eq!(curve["grid"].as_array().unwrap().len(), 9);
    for name in ["exponent", "r_squared", "residual"] {
        assert!(curve["gamma"][name].is_f64(), "{curve}");
    }
    assert_eq!(told["kernel_dimension"]["standard_error"], 0.0);
    let statement = told["regime"]["statement"].as_str().unwrap();
    // Li's rates are for classifiers; for ridge regression only the decay is described.
    assert!(statement.starts_with("the spectrum") && !statement.contains("rate"), "{statement}");
    let leverages = told["leverage"]["points"].as_array().unwrap();
    assert_eq!(leverages.len(), 9);
    assert!(leverages.iter().all(|point| point["largest"].as_f64().unwrap() > 1.0), "{told}");
    assert_eq!(told["missing"], json!([]), "{told}");
    assert_eq!(service.get("/api/v1/models/waves/versions/1/spectrum").await.ok(200), told);
    service.get("/api/v1/models/waves/versions/2/spectrum").await.refused(404, "version_not_found");
    service.get("/api/v1/models/nothing/spectrum").await.refused(404, "model_not_found");
    service.get("/api/v1/models/waves/spectrum?delta=0.1").await.refused(422, "unknown_parameter");
}

#[tokio::test]
async fn what_is_not_known_names_its_job_and_the_job_measures_it() {
    let service = Service::start();
    service.upload("name=labels&target=colour", waves(200)).await.ok(201);
    assert_eq!(service.train("labels", "labels", &json!({"features": {"count": 16}})).await["status"], "succeeded");
    let missing = |told: &Value, what: &str| -> Option<Value> {
        told["missing"].as_array().unwrap().iter().find(|missing| missing["what"] == what).cloned()
    };
    let told = service.get("/api/v1/models/labels/spectrum").await.ok(200);
    assert!(told["eigenvalues"].is_null() && told["regime"].is_null());
    assert_eq!(missing(&told, "eigenvalues").unwrap()["job"], "certify");
    assert_eq!(missing(&told, "leverage").unwrap()["job"], "certify");
    assert!(missing(&told, "kernel_dimension").unwrap()["job"].is_null());
    let job = service.submit_and_wait(&json!({"type": "certify", "model": "labels"})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let told = service.get("/api/v1/models/labels/spectrum").await.ok(200);
    assert_eq!(told["eigenvalues"]["count"], 16);
    assert!(missing(&told, "eigenvalues").is_none() && missing(&told, "leverage").is_none());
    assert_eq!(told["leverage"]["points"].as_array().unwrap().len(), 9);
}

#[tokio::test]
async fn the_share_of_a_tolerance_is_chosen_with_the_request() {
    let service = Service::with_model().await;
    let tolerance = async |query: &str| {
        let answer = service.get(&format!("/api/v1/models/waves/guarantees?all=true{query}")).await.ok(200);
        let found = answer["guarantees"].as_array().unwrap().iter();
        let found = found.clone().find(|found| found["id"] == "bochner.certificate_tolerance").unwrap().clone();
        (answer, found)
    };
    let (answer, usual) = tolerance("").await;
    assert_eq!((&answer["share"], &usual["inputs"]["share"]), (&json!(0.95), &json!(0.95)));
    let preconditioning = &answer["measured"]["preconditioning"];
    assert_eq!(preconditioning.is_null(), answer["measured"]["spectral_delta"].as_f64().unwrap() >= 1.0, "{answer}");
    let (answer, smaller) = tolerance("&share=0.8&delta=0.1").await;
    assert_eq!((&answer["share"], &smaller["inputs"]["share"]), (&json!(0.8), &json!(0.8)));
    assert!(smaller["value"].as_f64().unwrap() < usual["value"].as_f64().unwrap_or(f64::INFINITY));
    // Any value of the sample covers enough at a confidence of almost none.
    let (_, bold) = tolerance("&share=0.9&delta=0.9999999999999999").await;
    assert!(bold["value"].as_f64().unwrap() > 0.0, "{bold}");
    for query in ["?share=0", "?share=1", "?share=much"] {
        let path = format!("/api/v1/models/waves/guarantees{query}");
        let refused = service.get(&path).await.refused(422, "invalid_parameter");
        assert_eq!(refused["errors"][0]["pointer"], "?share");
    }
}
