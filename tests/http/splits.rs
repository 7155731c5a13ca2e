//! Splits by time and group, and cross-validation, over HTTP.

use crate::harness::Service;
use serde_json::{Value, json};

/// Days as dates, shops as texts, and a target that grows slowly.
fn sales(rows: usize) -> String {
    let row = |i: usize| {
        let x = (i as f64 * 0.618_034).fract();
        let (day, shop) = (i * 9 % 28 + 1, ["north", "south", "east", "west", "centre"][i % 5]);
        let blank = if i == 3 { String::new() } else { i.to_string() };
        format!("{x:.5},2026-02-{day:02},{shop},{blank},{:.5}\n", (6.0 * x).sin() + 0.01 * day as f64)
    };
    std::iter::once("x,day,shop,number,y\n".to_owned()).chain((0..rows).map(row)).collect()
}

async fn service() -> Service {
    let service = Service::start();
    service.upload("name=sales", sales(280)).await.ok(201);
    service
}

#[tokio::test]
async fn rows_are_split_by_time_and_by_group() {
    let service = service().await;
    // A fifth is 56 rows: six days of ten rows are nearest to it, and one of five shops.
    for (by, column, rows) in [("time", "day", 60), ("group", "shop", 56)] {
        let spec = json!({"split": {"by": by, "column": column}, "features": {"count": 64}, "cross_validation": 3});
        let job = service.train(by, "sales", &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        assert_eq!(job["spec"]["split"], json!({"by": by, "column": column}));
        let report = &job["report"];
        assert_eq!(report["split"], json!({"by": by, "column": column}), "{report}");
        assert_eq!(report["validation_rows"], rows, "{report}");
        let found = &report["cross_validation"];
        assert_eq!(found["folds"].as_array().unwrap().len(), 3, "{found}");
        assert!(found["scores"]["mse"]["standard_error"].as_f64().unwrap() > 0.0, "{found}");
        // The column is not needed for a prediction.
        let columns = service.get(&format!("/api/v1/models/{by}/versions/1")).await.ok(200)["columns"].clone();
        assert!(columns.as_array().unwrap().iter().all(|input| input["name"] != column), "{columns}");
        let all = service.get(&format!("/api/v1/models/{by}/guarantees?id=conformal")).await.ok(200);
        assert_eq!(all["guarantees"][0]["status"], "not_applicable", "{all}");
        assert!(all["guarantees"][0]["statement"].as_str().unwrap().contains(by), "{all}");
    }
    let job = service.train("plain", "sales", &json!({"features": {"count": 64}})).await;
    assert_eq!(job["report"]["split"], json!({"by": "random"}));
    assert!(job["report"]["cross_validation"].is_null());
}

/// Texts that were not kept cannot be split by.
#[tokio::test]
async fn a_split_by_an_identifier_is_refused() {
    let service = Service::start();
    let row = |i: usize| format!("{},guest-{i:04}-{},{}\n", (i * 7) % 11, i * i, i % 13);
    let table: String = std::iter::once("x,guest,y\n".to_owned()).chain((0..200).map(row)).collect();
    let columns = service.upload("name=guests", table).await.ok(201)["columns"].clone();
    assert_eq!((&columns[1]["kind"], &columns[1]["left_out"]), (&json!("text"), &json!("identifier")));
    let request = json!({"dataset": "guests", "model": "m", "spec": {"split": {"by": "group", "column": "guest"}}});
    let refused = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job").to_string();
    assert!(refused.contains("categorical=guest"), "{refused}");
}

#[tokio::test]
async fn splits_that_cannot_be_made_are_refused_with_the_reason() {
    let service = service().await;
    for (spec, word) in [
        (json!({"split": {"by": "time", "column": "numbr"}}), "did you mean 'number'"),
        (json!({"split": {"by": "time", "column": "y"}}), "is the target"),
        (json!({"split": {"by": "time", "column": "number"}}), "1 missing cells"),
        (json!({"split": {"by": "time", "column": "shop"}}), "neither numbers nor dates"),
        (json!({"split": {"by": "group", "column": "shop"}, "cross_validation": 6}), "5 different values"),
        (json!({"split": {"by": "group", "column": "x"}, "sample_weight": "x"}), "both sample weight"),
        (json!({"split": {"by": "group"}}), "is required"),
        (json!({"split": {"by": "shop", "column": "shop"}}), "must be one of random, time, group"),
        (json!({"cross_validation": 1}), "from 2 to 20"),
        (json!({"split": {"by": "group", "column": "shop"}, "updatable": true}), "at random"),
    ] {
        let body = json!({"model": "refused", "dataset": "sales", "spec": spec});
        let answer = service.post("/api/v1/jobs", &body).await.refused(422, "invalid_job");
        let told = answer["errors"].as_array().unwrap();
        assert!(told.iter().any(|problem| problem["detail"].as_str().unwrap().contains(word)), "{word}: {answer}");
    }
    let only = "t,y\n1,1\n2,3\n3,2\n4,5\n";
    service.upload("name=only", only).await.ok(201);
    let body = json!({"model": "m", "dataset": "only", "spec": {"split": {"by": "time", "column": "t"}}});
    let answer = service.post("/api/v1/jobs", &body).await.refused(422, "invalid_job");
    assert!(answer["detail"].as_str().unwrap().contains("only input"), "{answer}");
}

/// A label that only one group has cannot be both trained and held out.
#[tokio::test]
async fn a_label_without_training_rows_fails_the_job_with_the_reason() {
    let service = Service::start();
    let row =
        |i: usize| format!("{},{},{}\n", (i as f64 * 0.618).fract(), i / 20, if i < 20 { "first" } else { "later" });
    let table: String = std::iter::once("x,block,label\n".to_owned()).chain((0..200).map(row)).collect();
    service.upload("name=blocks", table).await.ok(201);
    let spec = json!({"split": {"by": "time", "column": "block"}, "features": {"count": 16}, "design_fraction": 0.1});
    let job = service.train("blocks", "blocks", &spec).await;
    assert_eq!(job["status"], "failed", "{job}");
    let told = job["error"]["detail"].as_str().or(job["error"].as_str()).unwrap_or_default().to_owned();
    assert!(told.contains("'first'") && told.contains("'block'"), "{job}");
}

#[tokio::test]
async fn models_and_versions_are_compared_by_their_errors() {
    let service = service().await;
    let train = async |model: &str, spec: Value| {
        let job = service.train(model, "sales", &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
    };
    train("rough", json!({"features": {"count": 2}, "lambda": 1.0})).await;
    train("good", json!({"features": {"count": 256}, "lambda": 1e-4})).await;
    train("good", json!({"features": {"count": 4}, "lambda": 0.1})).await;
    train("blind", json!({"features": {"count": 16}, "validation_fraction": 0.0})).await;
    service.put("/api/v1/models/good/aliases/live", &json!({"version": 1})).await.ok(201);

    let names = |listed: &Value| -> Vec<String> {
        listed["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap().to_owned()).collect()
    };
    let list = async |query: &str| service.get(&format!("/api/v1/models{query}")).await.ok(200);
    assert_eq!(names(&list("").await), ["blind", "good", "rough"]);
    assert_eq!(names(&list("?direction=descending").await), ["rough", "good", "blind"]);
    assert_eq!(names(&list("?sort=created").await), ["blind", "good", "rough"]);
    let by_error = list("?sort=error").await;
    let errors: Vec<Option<f64>> = by_error["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["versions"][0]["scores"]["error"].as_f64())
        .collect();
    assert!(errors[0].unwrap() < errors[1].unwrap() && errors[2].is_none(), "{by_error}");
    assert_eq!(names(&by_error)[2], "blind", "a model without errors comes last");
    assert_eq!(names(&list("?sort=error&direction=descending").await)[2], "blind");

    let mut walked = Vec::new();
    let mut query = "?sort=error&limit=1".to_owned();
    loop {
        let page = list(&query).await;
        walked.extend(names(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        let cursor = cursor.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        query = format!("?sort=error&limit=1&cursor={cursor}");
    }
    assert_eq!(walked, names(&by_error));

    let versions = service.get("/api/v1/models/good/versions?sort=error").await.ok(200);
    let listed = versions["versions"].as_array().unwrap();
    assert_eq!((&listed[0]["version"], &listed[1]["version"]), (&json!(1), &json!(2)), "{versions}");
    assert_eq!((&listed[0]["aliases"], &listed[1]["aliases"]), (&json!(["live"]), &json!([])));
    let full = service.get("/api/v1/models/good/versions/1").await.ok(200);
    assert_eq!(listed[0]["scores"]["validation_mse"], full["report"]["validation_mse"]);
    assert_eq!(listed[0]["scores"]["error"].as_f64(), full["report"]["validation_r2"].as_f64().map(|r2| 1.0 - r2));
    let newest = service.get("/api/v1/models/good/versions").await.ok(200);
    assert_eq!(newest["versions"][0]["version"], 2);

    for query in
        ["?sort=size", "?direction=up", "?limit=0", "?cursor=x", "?sort=error&cursor=%5B%22a%22%2C%22b%22%2C1%5D"]
    {
        service.get(&format!("/api/v1/models{query}")).await.refused(422, "invalid_parameter");
    }
    service.get("/api/v1/models/good/versions?sort=name").await.refused(422, "invalid_parameter");
    service.get("/api/v1/models?order=error").await.refused(422, "unknown_parameter");
    service.get("/api/v1/models/nothing/versions").await.refused(404, "model_not_found");
    service.get("/api/v1/models/good@live/versions").await.refused(422, "invalid_model_name");
}
