//! Every operation of the contract with no key, a wrong one, an expired one, one without the scope, one for other models
//! and the right one. What is expected is read from the contract itself: `security` and `x-other-model`.

use crate::harness::{Answer, Service, waves};
use crate::key_files::{KeyFolder, keyed};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::collections::HashMap;

const CONTRACT: &str = include_str!("../../openapi/openapi.yaml");
const SCOPES: [&str; 4] = ["read", "predict", "train", "admin"];

/// An operation as the contract has it.
struct Operation {
    method: String,
    path: String,
    /// The scopes of which one is needed; none if any key will do. No list at all if no key is needed.
    needed: Option<Vec<String>>,
    /// The status of a request with a key for other models, where that is not answered as usual.
    other_model: Option<u64>,
}

impl Operation {
    fn all() -> Vec<Self> {
        let contract: Value = serde_yaml_ng::from_str(CONTRACT).unwrap();
        let mut all = Vec::new();
        for (path, item) in contract["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
                let choices = operation["security"].as_array().unwrap_or_else(|| panic!("{method} {path}: security"));
                let scope = |choice: &Value| choice["key"].as_array().unwrap().first().cloned();
                let scopes = choices.iter().filter_map(scope).map(|scope| scope.as_str().unwrap().to_owned());
                all.push(Self {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    needed: (!choices.is_empty()).then(|| scopes.collect()),
                    other_model: operation["x-other-model"].as_u64(),
                });
            }
        }
        // What deletes comes last, so that the right key finds all there was.
        all.sort_by_key(|operation| (operation.method == "DELETE", operation.path.len()));
        all
    }

    /// With a key that should do, by the least that the contract asks for.
    fn scopes(&self) -> String {
        let needed = self.needed.as_deref().unwrap_or_default();
        needed.first().cloned().unwrap_or_else(|| "train".to_owned())
    }

    /// All scopes that are not enough, if there are any.
    fn other_scopes(&self) -> Option<String> {
        let needed = self.needed.as_deref().filter(|needed| !needed.is_empty())?;
        let is_other = |scope: &&str| *scope != "admin" && !needed.iter().any(|needed| needed == scope);
        Some(SCOPES.into_iter().filter(is_other).collect::<Vec<_>>().join(","))
    }

    async fn send(&self, service: &Service, model: &str, job: &str, key: Option<&str>) -> Answer {
        let id = if self.path.contains("/jobs/") { job } else { "waves" };
        let path = self.path.replace("{model}", model).replace("{version}", "1").replace("{alias}", "live");
        let path = path.replace("{id}", id).replace("{plot}", "coverage.json");
        let body = match (self.method.as_str(), self.path.as_str()) {
            ("POST", "/api/v1/datasets") => return self.upload(service, key).await,
            ("POST", "/api/v1/jobs" | "/api/v1/jobs/estimate") => {
                json!({"model": model, "dataset": "waves", "spec": {"features": {"count": 8}}})
            }
            ("POST", "/api/v1/plan") => json!({"dataset": "waves"}),
            ("POST", "/v2/repository/index") => json!({}),
            ("POST", "/invocations") => json!({"dataframe_records": [{"x": 0.5, "colour": "red", "even": true}]}),
            ("POST", path) if path.ends_with("/predict") => json!({"rows": [[0.5, "red", true]]}),
            ("PUT", _) => json!({"version": 1}),
            _ => Value::Null,
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = keyed(Request::builder().method(self.method.as_str()).uri(path), key);
        let request = if body.is_empty() { request } else { request.header("content-type", "application/json") };
        service.send(request.body(Body::from(body)).unwrap()).await
    }

    async fn upload(&self, service: &Service, key: Option<&str>) -> Answer {
        let request = keyed(Request::post("/api/v1/datasets?name=waves"), key).header("content-type", "text/csv");
        service.send(request.body(Body::from(waves(300))).unwrap()).await
    }
}

/// A service with keys, and with the dataset and the model `waves`; the id of the job that made it.
async fn with_keys(keys: &KeyFolder, flags: &[&str]) -> (Service, String) {
    let admin = keys.admin();
    let file = keys.path();
    let flags: Vec<&str> = ["--api-keys-file", &file, "--allow-model-control"].iter().chain(flags).copied().collect();
    let service = Service::with(&flags);
    let upload = keyed(Request::post("/api/v1/datasets?name=waves"), Some(&admin)).header("content-type", "text/csv");
    service.send(upload.body(Body::from(waves(300))).unwrap()).await.ok(201);
    let job = json!({"model": "waves", "dataset": "waves", "spec": {"features": {"count": 8}}}).to_string();
    let submit = keyed(Request::post("/api/v1/jobs"), Some(&admin)).header("prefer", "wait=60");
    let job = service.send(submit.body(Body::from(job)).unwrap()).await.ok(200);
    (service, job["id"].as_str().unwrap().to_owned())
}

fn code(answer: &Answer) -> String {
    let body: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
    body["code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn every_operation_asks_for_what_the_contract_says() {
    let keys = KeyFolder::new();
    keys.admin();
    let mut texts: HashMap<String, String> = HashMap::new();
    let operations = Operation::all();
    for operation in &operations {
        for scopes in [Some(operation.scopes()), operation.other_scopes()].into_iter().flatten() {
            texts.entry(scopes.clone()).or_insert_with(|| keys.make(&scopes, &[]));
            texts.entry(format!("{scopes} expired")).or_insert_with(|| keys.make_expired(&scopes));
            texts.entry(format!("{scopes} other")).or_insert_with(|| keys.make(&scopes, &["other*"]));
        }
    }
    let (service, job) = with_keys(&keys, &[]).await;
    let mut checked = 0;
    for operation in &operations {
        let name = format!("{} {}", operation.method, operation.path);
        let is_refusal =
            |answer: &Answer| matches!(answer.status.as_u16(), 401 | 429) || code(answer).starts_with("missing_");
        let Some(needed) = &operation.needed else {
            assert!(!is_refusal(&operation.send(&service, "waves", &job, None).await), "{name} is open");
            assert!(!is_refusal(&operation.send(&service, "waves", &job, Some("nonsense")).await), "{name} is open");
            checked += 1;
            continue;
        };
        let (right, wrong) = (&texts[&operation.scopes()], format!("bochner_00000000_{}", "0".repeat(43)));
        let expired = &texts[&format!("{} expired", operation.scopes())];
        for (key, expected) in [
            (None, "missing_key"),
            (Some("nonsense"), "unknown_key"),
            (Some(&wrong), "unknown_key"),
            (Some(expired), "expired_key"),
        ] {
            let answer = operation.send(&service, "waves", &job, key).await;
            assert_eq!((answer.status.as_u16(), code(&answer).as_str()), (401, expected), "{name}: {}", answer.text());
            let challenge = answer.header("www-authenticate");
            assert!(challenge.starts_with("Bearer realm=\"bochner\""), "{challenge}");
            assert_eq!(challenge.contains("invalid_token"), key.is_some(), "{challenge}");
        }
        if let Some(others) = operation.other_scopes() {
            let answer = operation.send(&service, "waves", &job, Some(&texts[&others])).await;
            assert_eq!((answer.status.as_u16(), code(&answer).as_str()), (403, "missing_scope"), "{name}");
            for scope in needed {
                assert!(answer.json()["detail"].as_str().unwrap().contains(scope), "{name}: {}", answer.text());
                assert!(answer.header("www-authenticate").contains(scope), "{name}");
            }
        }
        let elsewhere = &texts[&format!("{} other", operation.scopes())];
        let answers = (
            operation.send(&service, "waves", &job, Some(elsewhere)).await,
            operation.send(&service, "nobody", &job, Some(elsewhere)).await,
        );
        if let Some(status) = operation.other_model {
            let expected = if status == 404 { "job_not_found" } else { "model_not_allowed" };
            assert_eq!((u64::from(answers.0.status.as_u16()), code(&answers.0).as_str()), (status, expected), "{name}");
            let without_id = |answer: &Answer| {
                let mut body = answer.json();
                body["request_id"] = Value::Null;
                body
            };
            assert_eq!(without_id(&answers.0), without_id(&answers.1), "{name} tells whether a model exists");
        } else {
            assert!(!operation.path.contains("{model}"), "{name} needs x-other-model");
            assert!(!is_refusal(&answers.0) && code(&answers.0) != "model_not_allowed", "{name}: {}", answers.0.text());
            assert!(
                !answers.0.text().contains("waves\"") || operation.path.contains("/datasets"),
                "{name} tells of a model"
            );
        }
        let answer = operation.send(&service, "waves", &job, Some(right)).await;
        assert!(!is_refusal(&answer) && answer.status.as_u16() < 500, "{name}: {} {}", answer.status, answer.text());
        assert_ne!(answer.status.as_u16(), 403, "{name}: {}", answer.text());
        checked += 1;
    }
    assert_eq!(checked, operations.len());
    assert!(checked > 50, "{checked}");
}

/// Two clients that number their requests alike get jobs of their own, and hear nothing of each other's.
#[tokio::test]
async fn idempotency_keys_belong_to_the_key_of_their_client() {
    let keys = KeyFolder::new();
    let [first, second, third] = [0; 3].map(|_| keys.make("train,read", &[]));
    let (service, _) = with_keys(&keys, &[]).await;
    let submit = async |key: &str, model: &str| {
        let job = json!({"model": model, "dataset": "waves", "spec": {"features": {"count": 8}}}).to_string();
        let request = keyed(Request::post("/api/v1/jobs"), Some(key)).header("idempotency-key", "1");
        service.send(request.header("prefer", "wait=60").body(Body::from(job)).unwrap()).await
    };
    let id = |answer: Answer| answer.ok(200)["id"].as_str().unwrap().to_owned();
    let of_first = id(submit(&first, "shared").await);
    let of_second = id(submit(&second, "shared").await);
    assert_ne!(of_first, of_second);
    assert_eq!(id(submit(&first, "shared").await), of_first);
    assert_eq!(id(submit(&second, "shared").await), of_second);
    submit(&second, "other").await.refused(409, "idempotency_key_reused");
    id(submit(&third, "other").await);
}
