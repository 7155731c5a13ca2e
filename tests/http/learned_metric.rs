//! Learned metrics over HTTP: tables with little or too much to learn from, and what is refused.

use crate::harness::Service;
use serde_json::{Value, json};

#[tokio::test]
async fn metrics_that_cannot_be_learned_are_refused_with_the_reason() {
    let service = Service::with_model().await;
    for (kernel, place, word) in [
        (json!({"name": "angular", "metric": "diagonal"}), "/spec/kernel/metric", "does not depend on distances"),
        (json!({"name": "laplace", "metric": "full"}), "/spec/kernel/metric", "use diagonal"),
        (json!({"metric": "diagonal", "bandwidth": "median"}), "/spec/kernel/bandwidth", "search or a number"),
        (json!({"metric": "half"}), "/spec/kernel/metric", "diagonal"),
    ] {
        let body = json!({"model": "refused", "dataset": "waves", "spec": {"kernel": kernel}});
        let answer = service.post("/api/v1/jobs", &body).await.refused(422, "invalid_job");
        let problem = &answer["errors"][0];
        assert_eq!(problem["pointer"], place, "{answer}");
        assert!(problem["detail"].as_str().unwrap().contains(word), "{answer}");
    }
}

#[tokio::test]
async fn one_input_has_no_metric() {
    let service = Service::start();
    let rows = (0..40).map(|i| format!("{},{}\n", f64::from(i) / 10.0, f64::from(i * i % 17)));
    service.upload("name=line", std::iter::once("x,y\n".to_owned()).chain(rows).collect::<String>()).await.ok(201);
    for metric in ["diagonal", "full"] {
        let body = json!({"model": "refused", "dataset": "line", "spec": {"kernel": {"metric": metric}}});
        let answer = service.post("/api/v1/jobs", &body).await.refused(422, "invalid_job");
        let problem = &answer["errors"][0];
        assert_eq!(problem["pointer"], "/dataset", "{answer}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("has one input") && detail.contains("remove kernel.metric"), "{detail}");
    }
    // A search has nothing to weigh and says so by what it keeps.
    let spec = json!({"kernel": {"metric": "search"}, "features": {"count": 32}});
    let job = service.train("searched", "line", &spec).await;
    assert_eq!((&job["status"], &job["report"]["metric"]["chosen"]), (&json!("succeeded"), &json!("none")), "{job}");
}

/// Three columns, two of which never vary: there is one relevance, and it goes to the column that does.
#[tokio::test]
async fn inputs_that_never_vary_have_no_relevance() {
    let service = Service::start();
    let row = |i: usize| {
        let x = (i as f64 * 0.618_034).fract();
        format!("7,{x:.5},same,{:.5}\n", (6.0 * x).sin())
    };
    let table: String = std::iter::once("a,x,b,y\n".to_owned()).chain((0..120).map(row)).collect();
    service.upload("name=flat", table).await.ok(201);
    for metric in ["diagonal", "full", "search"] {
        let spec = json!({"features": {"count": 64}, "kernel": {"metric": metric}});
        let job = service.train("flat", "flat", &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let found = &job["report"]["metric"];
        assert_eq!(found["chosen"], "none", "a metric of one varying input is a bandwidth: {found}");
        assert_eq!(found["effective_rank"], 1.0, "{found}");
        let relevance = |name: &str| {
            let all = found["relevances"].as_array().unwrap();
            all.iter().find(|column| column["column"] == name).map(|column| column["share"].as_f64().unwrap())
        };
        assert_eq!((relevance("a"), relevance("x"), relevance("b")), (Some(0.0), Some(1.0), Some(0.0)), "{found}");
        let warnings = job["report"]["warnings"].to_string();
        assert!(warnings.contains("Column 'a' has an input that is constant over the training rows"), "{warnings}");
        let body = json!({"rows": [[7, 0.3, "same"], [9, 0.3, "other"]]});
        let answer = service.post("/api/v1/models/flat/predict", &body).await.ok(200);
        assert_eq!(answer["predictions"][0], answer["predictions"][1], "constant columns have no effect");
        assert!((answer["predictions"][0].as_f64().unwrap() - 1.8_f64.sin()).abs() < 0.05, "{answer}");
    }
}

/// Fifty text columns of a hundred levels: a full metric is a matrix of 5,000 × 5,000.
#[tokio::test]
async fn a_full_metric_of_5000_indicators_is_refused_by_its_memory() {
    let service = Service::with(&["--training-memory", "1GiB", "--training-threads", "2"]);
    let columns: Vec<String> = (0..50).map(|column| format!("c{column}")).collect();
    let row = |i: usize| {
        let cells: Vec<String> = (0..50).map(|column| format!("l{}", (i + column * 7) % 100)).collect();
        format!("{},{}\n", cells.join(","), i % 13)
    };
    let head = format!("{},y\n", columns.join(","));
    service.upload("name=wide", std::iter::once(head).chain((0..200).map(row)).collect::<String>()).await.ok(201);
    let job = |metric: &str| {
        let spec = json!({"kernel": {"metric": metric, "bandwidth": 10}, "features": {"count": 16}, "lambda": 1e-3,
            "effort": "fast", "guarantees": {"exact_rows": 0}});
        json!({"model": "wide", "dataset": "wide", "spec": spec})
    };
    let answer = service.post("/api/v1/jobs", &job("full")).await.refused(507, "memory_budget");
    let detail = answer["detail"].as_str().unwrap();
    assert!(detail.contains("the limit is 1024 MiB") && detail.contains("use kernel.metric 'diagonal'"), "{detail}");
    let figure = detail.split("about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    // At least the matrix, its root and its eigenvectors, of 191 MiB each; 2.3 GiB by the estimate.
    let need: f64 = figure.parse().unwrap();
    assert!((1_024.0..4_096.0).contains(&need), "{detail}");
    let trained: Value = service.submit_and_wait(&job("diagonal")).await;
    assert_eq!(trained["status"], "succeeded", "{trained}");
    assert_eq!(trained["report"]["metric"]["relevances"].as_array().unwrap().len(), 50, "one a column");
}
