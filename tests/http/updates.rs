//! Several targets, sample weights and updates, over HTTP.

use crate::harness::{Answer, Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

const SPEC: &str = r#"{"features": {"count": 256}, "lambda": 1e-6, "updatable": true}"#;

async fn update(service: &Service, model: &str, body: &Value) -> Answer {
    let request = Request::post(format!("/api/v1/models/{model}/update")).header("prefer", "wait=60");
    service.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// The header and some rows of the waves, from row `first` on.
fn part(first: usize, rows: usize) -> String {
    let all = waves(first + rows);
    let mut lines = all.lines();
    let header = lines.next().unwrap();
    std::iter::once(header).chain(lines.skip(first)).flat_map(|line| [line, "\n"]).collect()
}

async fn with_updatable() -> Service {
    let service = Service::start();
    service.upload("name=first", part(0, 200)).await.ok(201);
    service.upload("name=more", part(200, 100)).await.ok(201);
    let spec: Value = serde_json::from_str(SPEC).unwrap();
    assert_eq!(service.train("waves", "first", &spec).await["status"], "succeeded");
    service
}

#[tokio::test]
async fn rows_are_added_to_a_model_and_updates_add_up() {
    let service = with_updatable().await;
    let job = update(&service, "waves", &json!({"dataset": "more"})).await.ok(200);
    assert_eq!((&job["status"], &job["type"], &job["version"]), (&json!("succeeded"), &json!("update"), &json!(2)));
    let report = &job["report"];
    assert_eq!(
        (&report["base_version"], &report["added_rows"], &report["training_rows"]),
        (&json!(1), &json!(80), &json!(240))
    );
    // Without waiting, one after the other: both see the rows of the one before.
    for _ in 0..2 {
        service.post("/api/v1/models/waves/update", &json!({"dataset": "more"})).await.ok(202);
    }
    let last = update(&service, "waves", &json!({"dataset": "more"})).await.ok(200);
    assert_eq!((&last["version"], &last["report"]["training_rows"]), (&json!(5), &json!(240 + 3 * 80)));
    let from_first = update(&service, "waves", &json!({"dataset": "more", "version": 1.0})).await.ok(200);
    assert_eq!((&from_first["version"], &from_first["report"]["training_rows"]), (&json!(6), &json!(240)));
    let body = json!({"rows": [[0.3, "green", true]]});
    let value = service.post("/api/v1/models/waves/predict", &body).await.ok(200)["predictions"][0].as_f64().unwrap();
    assert!((value - ((1.8_f64).sin() + 1.0)).abs() < 0.2, "{value}");
}

#[tokio::test]
async fn updates_that_cannot_be_are_refused_with_the_reason() {
    let service = with_updatable().await;
    service.train("fixed", "first", &json!({"features": {"count": 8}})).await;
    let body = update(&service, "fixed", &json!({"dataset": "more"})).await.refused(409, "model_not_updatable");
    assert!(body["detail"].as_str().unwrap().contains("updatable"), "{body}");
    service.upload("name=purple", part(200, 50).replace("red", "purple")).await.ok(201);
    service.upload("name=narrow", "x,y\n1,2\n2,3\n3,5\n").await.ok(201);
    for (dataset, part) in
        [("purple", "'purple', which the training data did not have"), ("narrow", "needs column 'colour'")]
    {
        let body = update(&service, "waves", &json!({"dataset": dataset})).await.refused(422, "invalid_job");
        assert!(body["errors"].to_string().contains(part), "{body}");
    }
    service.upload("name=weighted", "x,w,y\n1,1,2\n2,2,3\n3,1,5\n4,1,4\n").await.ok(201);
    service.upload("name=negative", "x,w,y\n1,-1,2\n2,1,3\n").await.ok(201);
    let spec = json!({"features": {"count": 8}, "updatable": true, "sample_weight": "w"});
    service.train("weighted", "weighted", &spec).await;
    let body = update(&service, "weighted", &json!({"dataset": "negative"})).await.refused(422, "invalid_job");
    assert!(body["errors"].to_string().contains("negative numbers"), "{body}");
    update(&service, "waves", &json!({})).await.refused(422, "invalid_job");
    update(&service, "waves", &json!({"dataset": "more", "versoin": 1})).await.refused(422, "invalid_job");
    update(&service, "waves", &json!({"dataset": "more", "version": -1})).await.refused(422, "invalid_job");
    update(&service, "waves", &json!({"dataset": "more", "version": 9})).await.refused(404, "version_not_found");
    update(&service, "waves", &json!({"dataset": "more", "version": 1_540_051.0}))
        .await
        .refused(404, "version_not_found");
    update(&service, "nobody", &json!({"dataset": "more"})).await.refused(404, "model_not_found");
    update(&service, "waves", &json!({"dataset": "nothing"})).await.refused(404, "dataset_not_found");
    update(&service, "waves", &json!([])).await.refused(400, "malformed_request");
}

#[tokio::test]
async fn several_targets_are_predicted_by_name() {
    let service = Service::start();
    let dataset = service.upload("name=two&target=y,x", waves(300)).await.ok(201);
    assert_eq!(dataset["targets"], json!(["y", "x"]));
    let spec = json!({"features": {"count": 32}, "spread": true});
    let job = service.train("two", "two", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!(job["report"]["unlabelled_rows"], 6); // x is missing there
    let request = json!({"rows": [["green", true]], "outputs": ["value", "spread"]});
    let answer = service.post("/api/v1/models/two/predict", &request).await.ok(200);
    let prediction = &answer["predictions"][0];
    assert!(prediction["value"]["y"].is_f64() && prediction["spread"]["x"].as_f64().unwrap() > 0.0, "{answer}");
    let plain = service.post("/api/v1/models/two/predict", &json!({"rows": [["green", true]]})).await.ok(200);
    assert_eq!(plain["predictions"][0], prediction["value"]);
    let guarantee = service.get("/api/v1/models/two/guarantees?all=true").await.ok(200);
    assert!(guarantee["measured"]["exact_krr_error"].as_f64().unwrap() > 0.0);

    for (query, part) in [
        ("target=y,z", "there is no column 'z'"),
        ("target=y,y", "named twice"),
        ("target=y,colour", "several targets must all be numbers"),
        ("target=x,colour,even,y", "several targets must all be numbers"),
    ] {
        let body = service.upload(query, waves(20)).await.refused(422, "invalid_parameter");
        assert!(body["detail"].as_str().unwrap().contains(part), "{body}");
    }
    service.upload("target=a,b", "a,b\n1,2\n2,3\n").await.refused(422, "invalid_parameter");
}

#[tokio::test]
async fn sample_weights_name_a_column_of_their_own() {
    let service = Service::start();
    let rows: Vec<String> = (0..200).map(|i| format!("{},{},{}", i, i % 3, (f64::from(i) / 20.0).sin())).collect();
    service.upload("name=weighted", format!("x,w,y\n{}\n", rows.join("\n"))).await.ok(201);
    let job = service.train("m", "weighted", &json!({"sample_weight": "w", "features": {"count": 16}})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let model = service.get("/api/v1/models/m").await.ok(200);
    assert_eq!(model["latest"]["columns"].as_array().unwrap().len(), 1);
    let guarantees = service.get("/api/v1/models/m/guarantees?id=wang.theorem1").await.ok(200);
    assert!(guarantees["guarantees"][0]["statement"].as_str().unwrap().contains("sample weights"), "{guarantees}");

    let asked = json!({"rows": [[1.0]], "outputs": ["interval"]});
    let refused = service.post("/api/v1/models/m/predict", &asked).await.refused(422, "invalid_prediction_request");
    assert!(refused["detail"].as_str().unwrap().contains("without sample weights"), "{refused}");

    service.upload("name=bad", "x,w,v,t,z,y\n1,-1,,a,0,2\n2,1,1,b,0,3\n4,1,2,a,0,4\n").await.ok(201);
    for (column, part) in [
        ("w", "negative numbers"),
        ("v", "missing"),
        ("t", "numeric column"),
        ("z", "are all 0"),
        ("y", "both target"),
        ("ww", "'w'"),
    ] {
        let request = json!({"model": "m", "dataset": "bad", "spec": {"sample_weight": column}});
        let body = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
        assert!(body["detail"].as_str().unwrap().contains(part), "{column}: {body}");
    }
}

/// What trials settled stays settled: the spec keeps `auto` and `search`, the model its features.
#[tokio::test]
async fn rows_are_added_to_a_model_whose_features_were_settled_by_trials() {
    let service = Service::start();
    service.upload("name=first", part(0, 200)).await.ok(201);
    service.upload("name=more", part(200, 100)).await.ok(201);
    let spec = json!({"features": {"count": "auto", "sampling": "search"}, "lambda": 1e-6, "updatable": true});
    let first = service.train("waves", "first", &spec).await;
    assert_eq!(
        (&first["status"], &first["spec"]["features"]["count"]),
        (&json!("succeeded"), &json!("auto")),
        "{first}"
    );
    let trials = &first["report"]["feature_trials"];
    assert_eq!(trials["feature_count"], first["report"]["feature_count"]);
    assert_eq!(trials["samplings"].as_array().unwrap().len(), 3, "{trials}");
    let second = update(&service, "waves", &json!({"dataset": "more"})).await.ok(200);
    assert_eq!(second["status"], "succeeded", "{second}");
    for field in ["feature_trials", "feature_count"] {
        assert_eq!(second["report"][field], first["report"][field], "{field}");
    }
}
