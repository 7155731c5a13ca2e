//! The committed contract against the routes and the error codes of the service.

use crate::harness::Service;
use bochner::api::ErrorCode;
use bochner::api::PredictionRoute;
use serde_json::Value;

const CONTRACT: &str = include_str!("../../openapi/openapi.yaml");
const ROUTES: &str = include_str!("../../src/api/routes.rs");

fn contract() -> Value {
    serde_yaml_ng::from_str(CONTRACT).unwrap()
}

/// (method, path) of every route in the route table.
fn routes() -> Vec<(String, String)> {
    let table: String = ROUTES.split_whitespace().collect();
    let mut routes = PredictionRoute::ALL.map(|route| ("post".to_owned(), route.path().to_owned())).to_vec();
    for route in table.split(".route(\"").skip(1) {
        let (path, methods) = route.split_once("\",").unwrap();
        for method in ["get", "post", "put", "patch", "delete"] {
            let registered =
                |call: &str| methods.split(".route(").next().unwrap().contains(&format!("{call}{method}("));
            if registered("") && (methods.starts_with(&format!("{method}(")) || registered(").")) {
                routes.push((method.to_owned(), path.to_owned()));
            }
        }
    }
    routes
}

#[test]
fn every_route_is_in_the_contract_and_the_other_way_round() {
    let contract = contract();
    let mut documented: Vec<(String, String)> = Vec::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            documented.push((method.clone(), path.clone()));
        }
    }
    let mut routes = routes();
    documented.sort();
    routes.sort();
    assert!(routes.len() > 20, "{routes:?}");
    assert_eq!(routes, documented);
}

/// The codes and their statuses are listed twice in the contract: as an enum, and in a table with their meanings.
#[test]
fn the_contract_has_exactly_the_error_codes_of_the_service() {
    let problem = &contract()["components"]["schemas"]["Problem"];
    let known: Vec<(u16, &str)> = ErrorCode::ALL.map(|code| (code.status().as_u16(), code.name())).into();
    let listed: Vec<&str> =
        problem["properties"]["code"]["enum"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    assert_eq!(listed, known.iter().map(|(_, name)| *name).collect::<Vec<_>>());
    let described: Vec<(u16, &str)> = problem["description"]
        .as_str()
        .unwrap()
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            let status = cells.next()?.parse().ok()?;
            Some((status, cells.next()?.trim_matches('`')))
        })
        .collect();
    assert_eq!(described, known);
}

#[test]
fn titles_and_names_of_error_codes_are_unique() {
    for (index, code) in ErrorCode::ALL.into_iter().enumerate() {
        assert_eq!(code as usize, index, "ALL has the order of the declaration");
        let others = || ErrorCode::ALL.into_iter().filter(|other| *other != code);
        assert!(others().all(|other| other.name() != code.name() && other.title() != code.title()), "{code:?}");
    }
}

#[tokio::test]
async fn the_contract_is_served() {
    let answer = Service::start().get("/openapi.yaml").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text(), CONTRACT);
}

#[tokio::test]
async fn the_contract_is_served_as_json_too() {
    let service = Service::start();
    for _ in 0..2 {
        let answer = service.get("/openapi.json").await;
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.ok(200), contract());
    }
    let order: Vec<String> = service.get("/openapi.json").await.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(order[..3], ["openapi", "info", "servers"], "in the order in which it is written");
}

/// JSON keeps the last of two equal keys, so that the first would be lost without a word.
#[test]
fn no_key_of_the_contract_is_there_twice() {
    serde_yaml_ng::from_str::<serde_yaml_ng::Value>(CONTRACT).unwrap();
}

#[tokio::test]
async fn health_version_limits_and_metrics() {
    let service = Service::start();
    assert_eq!(service.get("/livez").await.ok(200)["live"], true);
    assert_eq!(service.get("/readyz").await.ok(200)["ready"], true);
    assert_eq!(service.get("/version").await.ok(200)["name"], "bochner");
    assert!(service.get("/api/v1/info").await.ok(200)["limits"]["columns"].is_u64());
    service.get("/nowhere").await;
    let metrics = service.get("/metrics").await.text();
    assert!(
        metrics.contains("bochner_http_requests_total{method=\"GET\",route=\"/livez\",status=\"200\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("route=\"unmatched\",status=\"404\""), "{metrics}");
    assert!(metrics.contains("bochner_jobs{status=\"queued\"} 0"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
}
