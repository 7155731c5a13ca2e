//! The screen that a reader sees first: the summary of a model, and the guarantees that apply to it.

use crate::harness::{Service, waves};
use serde_json::{Value, json};

fn near(summary: &Value, figure: f64) {
    let shown = summary.as_f64().unwrap();
    assert!((shown - figure).abs() <= 1e-3 * figure.abs(), "{shown} for {figure}");
}

#[tokio::test]
async fn the_summary_has_the_figures_of_the_report() {
    let service = Service::start();
    service.upload("name=waves", waves(600)).await.ok(201);
    let job = service.train("m", "waves", &json!({"features": {"count": 64}})).await;
    let told = service.get("/api/v1/models/m/guarantees").await.ok(200);
    assert!(serde_json::to_string_pretty(&told).unwrap().lines().count() <= 105, "{told:#}");
    let (summary, report) = (&told["summary"], &job["report"]);
    assert_eq!(*summary, report["summary"]);
    assert_eq!(*summary, service.get("/api/v1/models/m").await.ok(200)["latest"]["report"]["summary"]);
    let figure = |name: &str| report[name].as_f64().unwrap();
    near(&summary["fit"]["r2"], figure("validation_r2"));
    near(&summary["fit"]["typical_error"], figure("validation_mse").sqrt());
    let distance = told["measured"]["exact_krr_error"].as_f64().unwrap();
    assert_eq!(summary["random_features"]["source"], "measured");
    near(&summary["random_features"]["distance_squared"], distance);
    near(&summary["random_features"]["share_of_error"], distance / figure("validation_mse"));
    let exact = told["measured"]["exact_krr_validation_mse"].as_f64().unwrap();
    near(&summary["random_features"]["exact_typical_error"], exact.sqrt());
    // Two functions at a root mean squared distance d have errors that are at most d apart.
    let apart = (exact.sqrt() - figure("validation_mse").sqrt()).abs();
    assert!(exact > 0.0 && apart <= distance.sqrt() * (1.0 + 1e-9), "{exact} {distance}");
    let asked = json!({"rows": [[1.0, "green", true]], "outputs": ["interval"], "delta": 0.05});
    let interval = service.post("/api/v1/models/m/predict", &asked).await.ok(200)["predictions"][0]["interval"].clone();
    near(&summary["fit"]["interval_width"], interval["high"].as_f64().unwrap() - interval["low"].as_f64().unwrap());
    assert!(summary["proved"]["conformal"].as_str().unwrap().ends_with("with probability at least 95%."), "{summary}");
}

/// What applies comes best first and in short; the rest on request, with what it needs.
#[tokio::test]
async fn what_does_not_apply_is_shown_on_request() {
    let service = Service::with_model().await;
    let get = async |query: &str| service.get(&format!("/api/v1/models/waves/guarantees{query}")).await.ok(200);
    let (short, all) = (get("").await, get("?all=true").await);
    let rank = |guarantee: &Value| {
        let place = |names: &[&str], name: &str| names.iter().position(|known| guarantee[name] == **known).unwrap();
        let forms = ["bound", "requirement", "estimate", "term", "rate"];
        (place(&["holds", "conditional", "vacuous", "not_applicable"], "status"), place(&forms, "form"))
    };
    let ranks = |answer: &Value| answer["guarantees"].as_array().unwrap().iter().map(rank).collect::<Vec<_>>();
    assert!(ranks(&short).is_sorted() && ranks(&all).is_sorted(), "{short}");
    assert!(ranks(&short).iter().all(|(status, _)| *status < 3));
    assert_eq!(ranks(&short).len() as u64 + short["not_shown"].as_u64().unwrap(), ranks(&all).len() as u64);
    assert!(short["guarantees"][0].get("assumptions").is_none());

    let one = get("?id=wang.theorem1,conformal").await;
    assert_eq!(one["guarantees"].as_array().unwrap().len(), 2);
    let theorem1 = &one["guarantees"][1];
    assert_eq!(theorem1["id"], "wang.theorem1");
    let needed = theorem1["needs"]["lambda"].as_f64().unwrap();
    near(&theorem1["assumptions"][0]["need"], needed);
    assert!(theorem1["needs"]["text"].as_str().unwrap().contains("Use lambda ≥"), "{theorem1}");
    let refused = service.get("/api/v1/models/waves/guarantees?id=wang.therem1").await;
    let refused = refused.refused(422, "invalid_parameter");
    assert!(refused["detail"].as_str().unwrap().contains("did you mean 'wang.theorem1'?"), "{refused}");
}

#[tokio::test]
async fn every_kind_of_model_has_a_summary() {
    let service = Service::with_model().await;
    service.upload("name=kinds&target=colour", waves(300)).await.ok(201);
    for (dataset, spec, part) in [
        ("kinds", json!({"learner": "logistic", "features": {"count": 32}}), "of the labels are right"),
        ("kinds", json!({"learner": "ridge", "features": {"count": 32}}), "move its decision values"),
        ("waves", json!({"learner": "exact_krr", "lambda": 1e-3}), "nothing is lost by approximation"),
        ("waves", json!({"features": {"count": 32}, "validation_fraction": 0}), "The fit is not known"),
    ] {
        let job = service.train("m", dataset, &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let told = service.get("/api/v1/models/m/guarantees").await.ok(200);
        assert!(told["summary"]["verdict"].as_str().unwrap().contains(part), "{}", told["summary"]);
        assert_eq!(told["summary"]["verdict"], job["report"]["summary"]["verdict"]);
        assert!(!told["summary"]["advice"].as_array().unwrap().is_empty());
    }
}

/// A certify job tells what it measured, and the version's report does so from then on.
#[tokio::test]
async fn a_certify_job_shows_what_it_measured() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 64}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    let trained = service.train("later", "waves", &spec).await;
    assert_eq!(trained["report"]["summary"]["random_features"]["source"], "estimated");
    let advice = service.get("/api/v1/models/later/guarantees").await.ok(200)["summary"]["advice"].to_string();
    assert!(advice.contains("Run a certify job"), "{advice}");
    let job = service.submit_and_wait(&json!({"type": "certify", "model": "later"})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(job["report"]["summary"]["random_features"]["source"], "measured");
    assert!(job["report"]["measured"]["exact_krr_error"].as_f64().unwrap() > 0.0);
    // The same as that of the exact method trained by itself at the same λ.
    let alone = json!({"learner": "exact_krr", "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    let alone = service.train("alone", "waves", &alone).await;
    let error = job["report"]["measured"]["exact_krr_validation_mse"].as_f64().unwrap();
    near(&alone["report"]["validation_mse"], error);
    assert_eq!(job["report"]["stage_seconds"], trained["report"]["stage_seconds"]);
    assert_eq!(job["report"], service.get("/api/v1/models/later").await.ok(200)["latest"]["report"]);
}
