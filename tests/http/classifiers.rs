//! Classifiers over HTTP: labels in, labels out.

use crate::harness::Service;
use serde_json::{Value, json};

/// Three kinds of flowers by two lengths.
fn flowers(rows: usize) -> String {
    let row = |i: usize| {
        let kind = ["iris", "rose", "tulip"][i % 3];
        let wiggle = |factor: f64| (i as f64 * factor).fract() - 0.5;
        let centre = [(0.0, 0.0), (3.0, 0.5), (1.0, 3.0)][i % 3];
        format!("{:.4},{:.4},{kind}", centre.0 + 1.5 * wiggle(0.618_034), centre.1 + 1.5 * wiggle(0.414_214))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("length,width,kind\n{}\n", rows.join("\n"))
}

async fn with_flowers(spec: &Value) -> Service {
    let service = Service::start();
    let dataset = service.upload("name=flowers", flowers(300)).await.ok(201);
    assert_eq!(dataset["task"], "classification");
    let job = service.train("flowers", "flowers", spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    service
}

async fn predict(service: &Service, body: &Value) -> Value {
    service.post("/api/v1/models/flowers/predict", body).await.ok(200)["predictions"].clone()
}

#[tokio::test]
async fn labels_are_given_back_with_probabilities() {
    let service = with_flowers(&json!({"features": {"count": 64}})).await;
    let model = service.get("/api/v1/models/flowers").await.ok(200)["latest"].clone();
    assert_eq!(model["spec"]["learner"], "logistic");
    assert_eq!(model["labels"], json!(["iris", "rose", "tulip"]));
    let outputs = ["label", "decision_values", "probabilities", "label_set", "contributions", "in_range", "warnings"];
    assert_eq!(model["outputs"], json!(outputs));
    assert!(model["report"]["validation_accuracy"].as_f64().unwrap() > 0.97, "{model}");
    assert_eq!(model["report"]["confusion"].as_array().unwrap().len(), 3);

    let rows = json!([[0.0, 0.0], [3.0, 0.5], [1.0, 3.0]]);
    assert_eq!(predict(&service, &json!({"rows": rows})).await, json!(["iris", "rose", "tulip"]));
    let outputs = json!({"rows": rows, "outputs": ["label", "probabilities", "decision_values"], "top_k": 2});
    let answer = predict(&service, &outputs).await;
    let rose = &answer[1];
    assert_eq!(rose["label"], "rose");
    assert!(rose["probabilities"]["rose"].as_f64().unwrap() > 0.8, "{rose}");
    assert!(rose["decision_values"]["rose"].as_f64() > rose["decision_values"]["iris"].as_f64());
    assert_eq!((&rose["top_k"][0]["label"], rose["top_k"].as_array().unwrap().len()), (&json!("rose"), 2));
    assert_eq!(rose["top_k"][0]["probability"], rose["probabilities"]["rose"]);
    let top = predict(&service, &json!({"rows": rows, "top_k": 1})).await;
    assert_eq!(top[2]["top_k"][0]["label"], top[2]["label"]);
    let guarantees = service.get("/api/v1/models/flowers/guarantees?all=true").await.ok(200);
    for guarantee in guarantees["guarantees"].as_array().unwrap() {
        let id = guarantee["id"].as_str().unwrap();
        let statement = guarantee["statement"].as_str().unwrap();
        assert!(!id.starts_with("wang.theorem1") || statement.contains("requires ridge regression"), "{statement}");
        assert!(id != "li.corollary1" || statement.contains("softmax"), "{statement}");
    }
}

#[tokio::test]
async fn a_model_that_was_not_calibrated_says_so() {
    let spec = json!({"learner": "hinge", "calibration_fraction": 0, "lambda": 1e-3, "features": {"count": 32}});
    let service = with_flowers(&spec).await;
    let body = json!({"rows": [[0, 0]], "outputs": ["probabilities"]});
    let refusal =
        service.post("/api/v1/models/flowers/predict", &body).await.refused(422, "invalid_prediction_request");
    assert!(refusal["detail"].as_str().unwrap().contains("calibration_fraction"), "{refusal}");
    for (body, pointer) in [
        (json!({"rows": [[0, 0]], "outputs": ["value"]}), "/outputs/0"),
        (json!({"rows": [[0, 0]], "outputs": ["labels"]}), "/outputs/0"),
        (json!({"rows": [[0, 0]], "top_k": 4}), "/top_k"),
        (json!({"rows": [[0, 0]], "top_k": 0}), "/top_k"),
        (json!({"rows": [[0, 0]], "top_k": "all"}), "/top_k"),
    ] {
        let answer = service.post("/api/v1/models/flowers/predict", &body).await;
        assert_eq!(answer.refused(422, "invalid_prediction_request")["errors"][0]["pointer"], pointer);
    }
    let top = predict(&service, &json!({"rows": [[3.0, 0.5]], "top_k": 2})).await;
    assert_eq!((&top[0]["top_k"][0], &top[0]["label"]), (&json!({"label": "rose"}), &json!("rose")));
}

#[tokio::test]
async fn ridge_classifies_with_its_theorem_and_two_labels_have_one_decision_value() {
    let service = Service::start();
    let table = flowers(300).replace("tulip", "rose");
    service.upload("name=flowers", table).await.ok(201);
    let kernel = json!({"bandwidth": 2.0});
    let spec = json!({"learner": "ridge", "lambda": "certified", "features": {"count": 400}, "kernel": kernel, "scaling": "none"});
    let job = service.train("flowers", "flowers", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert!(job["report"]["validation_roc_auc"].as_f64().unwrap() > 0.9, "{job}");
    let answer = predict(&service, &json!({"rows": [[0, 0]], "outputs": ["label", "decision_values"]})).await;
    assert_eq!(answer[0]["label"], "iris");
    assert!(answer[0]["decision_values"].as_f64().unwrap() < 0.0);
    let guarantees = service.get("/api/v1/models/flowers/guarantees?all=true").await.ok(200);
    let of_id = |id: &str| guarantees["guarantees"].as_array().unwrap().iter().find(|found| found["id"] == id).unwrap();
    // It applies, and is too weak for the features of one model.
    assert_eq!(of_id("bochner.theorem1_relative")["status"], "vacuous", "{guarantees}");
    assert!(
        of_id("li.theorem1")["statement"].as_str().unwrap().contains("ridge regression is not Lipschitz"),
        "{guarantees}"
    );
    assert!(guarantees["measured"]["exact_krr_error"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn numbers_and_truth_values_can_be_labels() {
    let service = Service::start();
    let rows: Vec<String> = (0..120).map(|i| format!("{},{},{}", i, i / 40, i >= 60)).collect();
    let table = format!("x,digit,late\n{}\n", rows.join("\n"));
    service.upload("name=digits&target=digit&task=classification", table.clone()).await.ok(201);
    service.train("digits", "digits", &json!({"features": {"count": 16}})).await;
    let answer = service.post("/api/v1/models/digits/predict", &json!({"rows": [[100, true]]})).await.ok(200);
    assert_eq!(answer["predictions"], json!(["2"]));
    service.upload("name=late&target=late", table).await.ok(201);
    service.train("late", "late", &json!({"features": {"count": 16}})).await;
    let answer = service.post("/api/v1/models/late/predict", &json!({"rows": [[100, 2]]})).await.ok(200);
    assert_eq!(answer["predictions"], json!(["true"]));
}

#[tokio::test]
async fn what_does_not_go_with_labels_is_refused() {
    let service = Service::start();
    service.upload("name=flowers", flowers(60)).await.ok(201);
    service.upload("name=numbers", "x,y\n1,2\n2,3\n3,5\n4,4\n").await.ok(201);
    for (dataset, spec, part) in [
        ("flowers", json!({"spread": true}), "spread is for numbers"),
        ("flowers", json!({"updatable": true}), "updatable is for numbers"),
        ("flowers", json!({"lambda": "certified"}), "does not apply to learner logistic"),
        ("flowers", json!({"validation_fraction": 0}), "searches lambda by validation loss"),
        ("flowers", json!({"learner": "svm"}), "must be one of ridge, logistic"),
        ("flowers", json!({"class_weight": "equal"}), "must be one of none, balanced"),
        ("flowers", json!({"validation_fraction": 0.6, "calibration_fraction": 0.5}), "must sum to less than 1"),
        ("numbers", json!({"learner": "hinge"}), "learner hinge predicts labels"),
        ("numbers", json!({"class_weight": "balanced"}), "class_weight is for labels"),
    ] {
        let request = json!({"model": "m", "dataset": dataset, "spec": spec});
        let body = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
        assert!(body.to_string().contains(part), "{spec}: {body}");
    }
    let body = service.upload("name=gone", "x,k\n1,a\n2,NaN\n3,b\n").await.refused(422, "invalid_table");
    assert!(body["detail"].as_str().unwrap().contains("line 3, column 'k'"), "{body}");
    service.upload("name=one", "x,k\n1,a\n2,a\n3,a\n").await.refused(422, "invalid_column");
}

/// Sets of labels at a δ of the request's own, where a share of the rows was left untouched.
#[tokio::test]
async fn label_sets_hold_the_label_with_a_chosen_probability() {
    let service = with_flowers(&json!({"features": {"count": 64}, "calibration_fraction": 0.3})).await;
    let between = json!([[1.5, 0.25], [0.0, 0.0]]);
    let ask = |delta: f64| json!({"rows": between, "outputs": ["label", "label_set"], "delta": delta});
    let (wide, narrow) = (predict(&service, &ask(0.01)).await, predict(&service, &ask(0.4)).await);
    let labels = |answer: &Value, row: usize| answer[row]["label_set"]["labels"].as_array().unwrap().clone();
    assert!((0..2).all(|row| labels(&wide, row).len() >= labels(&narrow, row).len()), "{wide} {narrow}");
    assert_eq!(labels(&wide, 1)[0], "iris");
    assert_eq!(wide[0]["label_set"]["coverage"], 0.99);
    // Fewer rows than such a δ takes: every label may be the true one.
    assert_eq!(labels(&predict(&service, &ask(1e-6)).await, 0).len(), 3);

    // λ was searched for on the validation rows, and no others were left.
    let without = with_flowers(&json!({"features": {"count": 16}, "calibration_fraction": 0})).await;
    let refused = without.post("/api/v1/models/flowers/predict", &ask(0.1)).await;
    let refused = refused.refused(422, "invalid_prediction_request");
    assert!(refused["errors"][0]["detail"].as_str().unwrap().contains("calibration_fraction"), "{refused}");
}
