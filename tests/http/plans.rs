//! Plans: how many features a target takes, and what no number of them reaches.

use crate::harness::Service;
use serde_json::{Value, json};

/// Plans for plain numbers and for a dataset; missing, excessive and impossible values are refused with their place.
#[tokio::test]
async fn a_plan_says_how_many_features_a_target_takes() {
    let service = Service::with_model().await;
    let numbers = json!({"n": 100_000, "d": 90, "y_mean_square": 1.0, "lambda": "certified", "target": {"error": 0.1}});
    let plan = service.post("/api/v1/plan", &numbers).await.ok(200);
    let choices = plan["choices"].as_array().unwrap();
    assert_eq!((choices.len(), &choices[1]["id"]), (2, &json!("bochner.theorem1_relative")));
    let (count, cost) = (choices[1]["feature_count"].as_f64().unwrap(), &choices[1]["cost"]);
    assert!(count > 100.0 && cost["training_flops"].as_f64().unwrap() > 1e5 * count * count, "{plan}");
    // Half the error takes more features.
    let halved = json!({"n": 100_000, "d": 90, "y_mean_square": 1.0, "lambda": "certified", "target": {"error": 0.05}});
    let halved = service.post("/api/v1/plan", &halved).await.ok(200);
    assert!(halved["choices"][1]["feature_count"].as_f64().unwrap() > count);

    let of_table = json!({"dataset": "waves", "target": {"rate": {"r": 0.75, "gamma": 0.5, "alpha": 0.5}}});
    let plan = service.post("/api/v1/plan", &of_table).await.ok(200);
    assert_eq!((&plan["n"], &plan["d"]), (&json!(240), &json!(5)), "{plan}");
    assert!(plan["choices"].as_array().unwrap().iter().all(|choice| choice["form"] != "bound"), "{plan}");
    for (wrong, pointer) in [
        (json!({"target": {"error": 1}}), "/n"),
        (json!({"dataset": "waves", "n": 3, "target": {"error": 1}}), "/n"),
        (json!({"dataset": "waves"}), "/target"),
        (json!({"dataset": "waves", "target": {"error": 1, "delta_spectral": 0.2}}), "/target"),
        (json!({"dataset": "waves", "target": {"error": -1}}), "/target/error"),
        (json!({"dataset": "waves", "kernel": {"name": "linear"}, "target": {"error": 1}}), "/kernel"),
        (json!({"dataset": "waves", "target": {"error": 1}, "lamda": 1}), "/lamda"),
        (json!({"dataset": 7, "target": {"error": 1}}), "/dataset"),
    ] {
        let refused = service.post("/api/v1/plan", &wrong).await.refused(422, "invalid_plan");
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
    }
    let nowhere = json!({"dataset": "nowhere", "target": {"error": 1}});
    service.post("/api/v1/plan", &nowhere).await.refused(404, "dataset_not_found");
}

/// What cannot be is refused by the name of its field, and what cannot be reached is said, without a number.
#[tokio::test]
async fn a_plan_never_answers_with_nonsense() {
    let service = Service::start();
    let with = |extra: Value| {
        let mut plan = json!({"n": 1_000, "d": 8, "y_mean_square": 1.0, "target": {"delta_spectral": 0.5}});
        plan.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        plan
    };
    for (wrong, pointer) in [
        (json!({"lambda": 0.1, "effective_dimension": 1e-9}), "/effective_dimension"),
        (json!({"lambda": 0.1, "effective_dimension": 20}), "/effective_dimension"),
        (json!({"lambda": 1e-5, "effective_dimension": 1_001}), "/effective_dimension"),
        (json!({"delta": 1e-300}), "/delta"),
    ] {
        let refused = service.post("/api/v1/plan", &with(wrong)).await.refused(422, "invalid_plan");
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
    }
    let vast = 1_u64 << 40;
    for unreachable in [
        json!({"lambda": 1e6}),
        json!({"lambda": 1e6, "target": {"rate": {}}}),
        json!({"n": vast, "d": vast, "lambda": 1e-300, "target": {"delta_spectral": 1e-300}}),
        json!({"n": vast, "d": vast, "lambda": "certified", "target": {"delta_spectral": 1e-300}}),
    ] {
        let plan = service.post("/api/v1/plan", &with(unreachable)).await.ok(200);
        for choice in plan["choices"].as_array().unwrap() {
            let said = choice["statement"].as_str().unwrap();
            assert!(!said.contains("inf") && !said.contains("NaN") && !said.starts_with('-'), "{said}");
            assert_eq!(said.starts_with("No number of features"), choice["feature_count"].is_null(), "{said}");
            assert_eq!(choice["cost"].is_null(), choice["feature_count"].is_null(), "{said}");
            assert!(choice["cost"].as_object().is_none_or(|cost| cost.values().all(Value::is_number)), "{plan}");
        }
        assert!(plan["choices"].to_string().contains("No number of features"), "{plan}");
    }
}

/// Targets whose largest rows may all be trained on: whatever the split, the recipe keeps what the plan promises.
#[tokio::test]
async fn a_plan_for_a_data_set_holds_for_any_split() {
    let service = Service::start();
    let rows: Vec<String> =
        (0..403).map(|i| format!("{},{}", i * 7 % 403, if i % 50 == 0 { 30 } else { i % 3 })).collect();
    service.upload("name=spiky&target=y", format!("x,y\n{}\n", rows.join("\n"))).await.ok(201);
    let plan = json!({"dataset": "spiky", "lambda": 0.4, "target": {"error": 2.0}});
    let plan = service.post("/api/v1/plan", &plan).await.ok(200);
    let (count, planned) = (&plan["choices"][0]["feature_count"], plan["y_mean_square"].as_f64().unwrap());
    for seed in 0..6 {
        let mut spec = json!({"kernel": {"bandwidth": 100.0}, "scaling": "none", "guarantees": {"exact_rows": 0}});
        (spec["features"], spec["lambda"]) = (json!({"count": count, "seed": seed}), json!(0.4));
        let job = service.train("m", "spiky", &spec).await;
        assert_eq!((&job["status"], &job["report"]["training_rows"]), (&json!("succeeded"), &plan["n"]), "{job}");
        let told = service.get("/api/v1/models/m/guarantees?all=true").await.ok(200);
        let remark = told["guarantees"].as_array().unwrap().iter().find(|found| found["id"] == "wang.remark1").unwrap();
        assert!(remark["value"].as_f64().unwrap() <= 2.0, "{remark}");
        assert!(remark["inputs"]["mean_square_target"].as_f64().unwrap() <= planned, "{remark}");
        assert_ne!(remark["status"], "not_applicable", "{remark}");
    }
}
