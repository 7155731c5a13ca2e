//! What the guarantees say of measurements that were not made: remedies that work, and the rows they take.

use crate::harness::{Service, waves};
use serde_json::{Value, json};

/// Ridge, nothing measured against the exact method.
fn unmeasured() -> Value {
    json!({"features": {"count": 64}, "lambda": 0.3, "guarantees": {"exact_rows": 0}})
}

async fn guarantees(service: &Service, model: &str) -> Value {
    service.get(&format!("/api/v1/models/{model}/guarantees?all=true")).await.ok(200)
}

fn found<'a>(guarantees: &'a Value, id: &str) -> &'a Value {
    let list = guarantees["guarantees"].as_array().unwrap();
    list.iter().find(|guarantee| guarantee["id"] == id).unwrap()
}

fn statement<'a>(guarantees: &'a Value, id: &str) -> &'a str {
    found(guarantees, id)["statement"].as_str().unwrap()
}

const MEASURED: [&str; 7] = [
    "wang.theorem1_sharp",
    "wang.eq31",
    "avron.lemma2",
    "bochner.certificate_mean",
    "bochner.certificate_tolerance",
    "bochner.fresh_features",
    "bochner.jackknife",
];

/// Before anything was measured the answer names what takes the rows, and while they are there the job that reads them;
/// without them every other guarantee is unchanged.
#[tokio::test]
async fn a_model_without_its_data_set_says_what_needed_the_rows() {
    let service = Service::with_model().await;
    assert_eq!(service.train("later", "waves", &unmeasured()).await["status"], "succeeded");
    let before = guarantees(&service, "later").await;
    assert_eq!((&before["needs_rows"]["available"], &before["needs_rows"]["reason"]), (&json!(true), &Value::Null));
    let ids = before["needs_rows"]["ids"].as_array().unwrap().clone();
    // Measuring would not help theorem1_sharp: here scaling and bandwidth come from the rows.
    assert!(MEASURED[1..6].iter().all(|id| ids.contains(&json!(id))), "{ids:?}");
    assert!(!ids.contains(&json!(MEASURED[0])), "{ids:?}");
    assert!(statement(&before, "wang.eq31").ends_with("Run a certify job on this model."));

    service.call("DELETE", "/api/v1/datasets/waves").await.ok(204);
    let after = guarantees(&service, "later").await;
    assert_eq!((&after["needs_rows"]["available"], &after["needs_rows"]["ids"]), (&json!(false), &json!(ids)));
    assert!(
        after["needs_rows"]["reason"].as_str().unwrap().contains("dataset is not on this server"),
        "{}",
        after["needs_rows"]
    );
    for (then, now) in before["guarantees"].as_array().unwrap().iter().zip(after["guarantees"].as_array().unwrap()) {
        let needs_rows = ids.contains(&now["id"]);
        assert_eq!(then == now, !needs_rows, "{now}");
        assert_eq!(now["statement"].as_str().unwrap().contains("dataset is not on this server"), needs_rows, "{now}");
        assert_eq!(then["value"], now["value"]);
    }
    let spectrum = service.get("/api/v1/models/later/spectrum").await.ok(200);
    assert!(spectrum["missing"].as_array().unwrap().iter().all(|missing| missing["job"] != "certify"), "{spectrum}");

    // The advice works: the same upload is the same dataset.
    service.upload("name=waves", waves(300)).await.ok(201);
    let job = service.submit_and_wait(&json!({"type": "certify", "model": "later", "version": 1.0})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(guarantees(&service, "later").await["needs_rows"]["ids"], json!([]));
}

#[tokio::test]
async fn an_updated_model_is_not_sent_to_a_job_that_is_refused() {
    let service = Service::with_model().await;
    // At the λ that a search finds, so few features have leverages too large for an estimate from groups.
    let spec = json!({"features": {"count": 64}, "lambda": 1e-2, "updatable": true});
    service.train("grown", "waves", &spec).await;
    service.upload("name=more", waves(360)).await.ok(201);
    service.post("/api/v1/models/grown/update", &json!({"dataset": "more"})).await.ok(202);
    let certify = json!({"type": "certify", "model": "grown"});
    while service.get("/api/v1/models/grown").await.ok(200)["latest"]["version"] != 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    service.post("/api/v1/jobs", &certify).await.refused(409, "model_not_certifiable");
    let told = guarantees(&service, "grown").await;
    assert_eq!(told["needs_rows"]["available"], false);
    assert!(statement(&told, "wang.eq31").contains("Train on all of them in one dataset."), "{told}");
    // The added rows are enough for some measurements.
    assert!(told["measured"]["jackknife_error"].as_f64().unwrap() > 0.0, "{told}");
    assert!(statement(&told, "conformal").contains("of the prediction with probability at least"), "{told}");
    // These rows were already in the first fit; the guarantee assumes that they are new and says so.
    assert!(statement(&told, "conformal").contains("The rows of the update must be new"), "{told}");
    let conformal = found(&told, "conformal");
    assert_eq!(conformal["assumptions"][0]["state"], "assumed", "{conformal}");
    let warnings = &service.get("/api/v1/models/grown").await.ok(200)["latest"]["report"]["warnings"];
    assert!(warnings.to_string().contains("add only new rows"), "{warnings}");
}

#[tokio::test]
async fn what_no_job_measures_says_what_to_train_instead() {
    let service = Service::with_model().await;
    service.upload("name=kinds&target=even", waves(300)).await.ok(201);
    for (name, dataset, spec, id, part) in [
        (
            "unheld",
            "waves",
            json!({"features": {"count": 32}, "validation_fraction": 0}),
            MEASURED[3],
            "validation_fraction",
        ),
        (
            "unheld",
            "waves",
            json!({"features": {"count": 32}, "validation_fraction": 0}),
            "conformal",
            "calibration_fraction",
        ),
        // At this λ the features are enough, so that the missing bars are the only reason.
        (
            "barless",
            "waves",
            json!({"features": {"count": 32}, "lambda": 0.1, "error_bars": false}),
            MEASURED[6],
            "error_bars",
        ),
        (
            "balanced",
            "kinds",
            json!({"features": {"count": 32}, "learner": "ridge", "class_weight": "balanced"}),
            MEASURED[1],
            "without sample and class weights",
        ),
        (
            "straight",
            "waves",
            json!({"features": {"count": 32}, "kernel": {"name": "linear"}}),
            MEASURED[4],
            "linear kernel",
        ),
    ] {
        let job = service.train(name, dataset, &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let told = guarantees(&service, name).await;
        let said = statement(&told, id);
        assert!(said.contains(part) && !said.contains("certify"), "{id}: {said}");
    }
}

/// Known violations are reported before anything is measured, and no job is recommended that could not help.
#[tokio::test]
async fn violations_are_reported_before_a_job_that_could_not_help() {
    let service = Service::with_model().await;
    service.upload("name=kinds&target=colour", waves(300)).await.ok(201);
    let with = |features: Value| json!({"features": features, "lambda": 0.3, "guarantees": {"exact_rows": 0}});
    let mut angular = with(json!({"count": 64, "sampling": "quasi_monte_carlo"}));
    angular["kernel"] = json!({"name": "angular"});
    let plain = json!({"features": {"count": 64}, "lambda": 0.3});
    let softmax = json!({"features": {"count": 64}, "lambda": 0.3, "learner": "logistic"});
    let small = json!({"features": {"count": 64}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    for (dataset, spec, ids, part) in [
        (
            "waves",
            with(json!({"count": 64, "sampling": "orthogonal"})),
            &["wang.theorem1_sharp", "wang.eq31"][..],
            "plain",
        ),
        ("waves", with(json!({"count": 64, "sampling": "orthogonal"})), &["bochner.fresh_features"], "plain"),
        ("waves", angular, &["wang.theorem2"], "plain"),
        ("waves", small, &["wang.theorem1_sharp"], "Use lambda ≥"),
        ("waves", plain, &["avron.lemma6", "shahrampour_kolouri.theorem1"], "Use sampling leverage."),
        ("kinds", softmax.clone(), &["li.corollary2", "avron.lemma6"], "Use sampling leverage."),
        ("kinds", softmax, &["li.theorem2"], "two labels"),
    ] {
        assert_eq!(service.train("m", dataset, &spec).await["status"], "succeeded");
        let told = guarantees(&service, "m").await;
        for id in ids {
            let said = statement(&told, id);
            assert!(said.contains(part) && !said.contains("certify"), "{id}: {said}");
            assert!(!told["needs_rows"]["ids"].as_array().unwrap().contains(&json!(id)), "{id}");
        }
    }
}

/// λ above the trace of K/n, far above it, and so small that the exact system cannot be solved.
#[tokio::test]
async fn lambdas_at_the_ends_are_answered_with_numbers_or_words() {
    let service = Service::with_model().await;
    service.upload("name=kinds&target=even", waves(300)).await.ok(201);
    for (dataset, learner, lambda, id, part) in [
        ("waves", "ridge", 2.0, "avron.theorem7", "Use a smaller lambda."),
        ("waves", "ridge", 1e4, "avron.theorem7", "Use a smaller lambda."),
        ("kinds", "hinge", 1e4, "li.theorem1", "Use a smaller lambda."),
        ("waves", "ridge", 1e-20, "wang.eq31", "the exact kernel system could not be solved"),
    ] {
        let spec = json!({"features": {"count": 64}, "lambda": lambda, "learner": learner});
        let job = service.train("m", dataset, &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let told = guarantees(&service, "m").await;
        assert!(statement(&told, id).contains(part), "{}", statement(&told, id));
        for guarantee in told["guarantees"].as_array().unwrap() {
            let said = guarantee["statement"].as_str().unwrap();
            let strange = |word: &str| ["inf", "NaN"].contains(&word) || word.starts_with("-0");
            assert!(!said.split([' ', ',', ';', '(', ')']).any(strange), "{lambda}: {said}");
        }
    }
    let spec = json!({"learner": "exact_krr", "lambda": 1e-30});
    let job = service.train("exact", "waves", &spec).await;
    let said = job["error"].to_string();
    assert!(job["status"] == "failed" && said.contains("too small") && !said.contains("LAPACK"), "{job}");
}

#[tokio::test]
async fn a_delta_that_cannot_be_told_from_none_is_refused() {
    let service = Service::with_model().await;
    for delta in ["1e-13", "1e-300"] {
        let answer = service.get(&format!("/api/v1/models/waves/guarantees?delta={delta}")).await;
        let refused = answer.refused(422, "invalid_parameter");
        assert!(refused["detail"].as_str().unwrap().contains("1e-12"), "{refused}");
    }
    let told = service.get("/api/v1/models/waves/guarantees?all=true&delta=1e-12").await.ok(200);
    assert!(found(&told, "wang.theorem1")["probability"].as_f64().unwrap() < 1.0, "{told}");
    let spec = json!({"guarantees": {"delta": 1e-20}});
    let request = json!({"model": "m", "dataset": "waves", "spec": spec});
    let refused = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["pointer"], "/spec/guarantees/delta");
}

/// Labels by ridge are calibrated by what supports a label, not by a distance to it.
#[tokio::test]
async fn labels_are_never_said_to_be_within_a_distance() {
    let service = Service::with_model().await;
    service.upload("name=kinds&target=even", waves(400)).await.ok(201);
    for learner in ["ridge", "logistic"] {
        let spec = json!({"features": {"count": 32}, "learner": learner, "lambda": 1e-3});
        assert_eq!(service.train("m", "kinds", &spec).await["status"], "succeeded");
        let told = guarantees(&service, "m").await;
        assert!(statement(&told, "conformal").contains("contains the true label"), "{}", statement(&told, "conformal"));
    }
}

/// Two targets are certified by the norm of their differences, labels by that of their decision values; both have the
/// jackknife estimate.
#[tokio::test]
async fn several_targets_and_labels_are_certified_too() {
    let service = Service::with_model().await;
    service.upload("name=two&target=y,x", waves(400)).await.ok(201);
    service.upload("name=kinds&target=even", waves(400)).await.ok(201);
    for (name, dataset, learner) in [("two", "two", "ridge"), ("kinds", "kinds", "ridge")] {
        let spec = json!({"features": {"count": 32}, "learner": learner, "lambda": 1e-3});
        let job = service.train(name, dataset, &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let told = guarantees(&service, name).await;
        for id in ["bochner.certificate_tolerance", "bochner.jackknife", "conformal"] {
            assert!(
                !statement(&told, id).starts_with("Does not apply")
                    && !statement(&told, id).starts_with("Not available"),
                "{}",
                statement(&told, id)
            );
        }
        let (measured, estimated) = (&told["measured"]["exact_krr_error"], &told["measured"]["jackknife_error"]);
        let ratio = estimated.as_f64().unwrap() / measured.as_f64().unwrap();
        assert!((0.1..10.0).contains(&ratio), "{name}: {estimated} for {measured}");
        assert_eq!(
            told["measured"]["spectral_delta_rows"].as_f64(),
            found(&told, "wang.theorem1")["inputs"]["n"].as_f64()
        );
    }
}

/// The exact solve of 2,400 rows holds matrices of 2,400 by 2,400, whatever the limit of the training was.
#[tokio::test]
async fn a_certify_job_that_cannot_fit_is_refused_with_the_figures() {
    let service = Service::with(&["--training-memory", "64MiB"]);
    service.upload("name=waves", waves(3_000)).await.ok(201);
    let spec = json!({"features": {"count": 16}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    assert_eq!(service.train("large", "waves", &spec).await["status"], "succeeded");
    let refused = service.post("/api/v1/jobs", &json!({"type": "certify", "model": "large"})).await;
    let detail = refused.refused(507, "memory_budget")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("the exact solve would need about") && detail.contains("limit is 64 MiB"), "{detail}");
}
