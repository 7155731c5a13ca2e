//! Rows kept apart to choose scaling, bandwidth and λ, and searches over lists that are fixed in advance.

use crate::harness::{Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

async fn guarantee(service: &Service, model: &str, id: &str) -> Value {
    let answer = service.get(&format!("/api/v1/models/{model}/guarantees?id={id}")).await.ok(200);
    answer["guarantees"][0].clone()
}

fn texts<'a>(guarantee: &'a Value, state: &str) -> Vec<&'a str> {
    let assumptions = guarantee["assumptions"].as_array().unwrap().iter();
    assumptions.filter(|found| found["state"] == state).map(|found| found["text"].as_str().unwrap()).collect()
}

/// Everything is checked but what no data can show: that rows are independent.
fn assert_all_but_independence(found: &Value) {
    assert_eq!(texts(found, "violated"), Vec::<&str>::new(), "{found}");
    let assumed = texts(found, "assumed");
    assert_eq!(assumed, ["training rows and new inputs drawn independently from one distribution"], "{found}");
    assert_ne!(found["status"], "not_applicable");
}

/// The default kernel and scaling on a table with missing cells and a text column: the rows choose all of it, so that a
/// bound does not apply; design rows choose it, and the bound does.
#[tokio::test]
async fn with_design_rows_a_bound_applies_to_the_default_kernel() {
    let service = Service::start();
    service.upload("name=waves", waves(1_000)).await.ok(201);
    let without = service.train("without", "waves", &json!({"lambda": "certified"})).await;
    assert_eq!(without["report"]["design_rows"], 0);
    let refused = guarantee(&service, "without", "bochner.theorem1_relative").await;
    assert_eq!(refused["status"], "not_applicable");
    assert!(refused["needs"]["text"].as_str().unwrap().contains("design_fraction"), "{refused}");

    for (model, bandwidth) in [("rule", "mean_distance"), ("searched", "search")] {
        let spec = json!({"lambda": "certified", "design_fraction": 0.2, "kernel": {"bandwidth": bandwidth}});
        let job = service.train(model, "waves", &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let report = &job["report"];
        let counts = ["training_rows", "validation_rows", "calibration_rows", "design_rows"].map(|name| &report[name]);
        assert_eq!(counts, [&json!(600), &json!(200), &json!(0), &json!(200)]);
        assert_eq!(job["spec"]["design_fraction"], 0.2);
        for id in ["bochner.theorem1_relative", "wang.lemma3"] {
            assert_all_but_independence(&guarantee(&service, model, id).await);
        }
        let found = guarantee(&service, model, "bochner.theorem1_relative").await;
        assert!(
            texts(&found, "checked").iter().any(|text| text.contains("design rows, which took no part in the fit"))
        );
        assert!(found["value"].as_f64().unwrap() > 0.0);
    }

    // The file says it too.
    let artifact = service.get("/api/v1/models/rule/versions/1/artifact").await.bytes.clone();
    service.post_as("/api/v1/models/copy/versions", "application/octet-stream", artifact).await.ok(201);
    let (own, copied) = (guarantee(&service, "rule", "wang.lemma3"), guarantee(&service, "copy", "wang.lemma3"));
    assert_eq!(own.await["assumptions"], copied.await["assumptions"]);
    let copy = service.get("/api/v1/models/copy/versions/1").await.ok(200);
    assert_eq!(copy["report"]["design_rows"], 200, "{copy}");
}

/// λ too may be chosen by design rows, and then stays what it is when rows are added.
#[tokio::test]
async fn design_rows_choose_lambda_and_updates_keep_it() {
    let service = Service::start();
    service.upload("name=first", waves(400)).await.ok(201);
    let table = waves(600);
    let more: Vec<&str> = table.lines().take(1).chain(table.lines().skip(401)).collect();
    service.upload("name=more", more.join("\n")).await.ok(201);
    let spec = json!({"design_fraction": 0.3, "updatable": true, "features": {"count": 64}});
    let job = service.train("growing", "first", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    assert!(job["report"]["lambda_path"].as_array().unwrap().len() > 10, "{job}");
    assert!(job["report"]["loo_rows"].as_u64().unwrap() <= 120, "{job}");
    let checked = guarantee(&service, "growing", "wang.lemma3").await;
    assert_all_but_independence(&checked);

    let request = Request::post("/api/v1/models/growing/update").header("prefer", "wait=60");
    let job = service.send(request.body(Body::from(json!({"dataset": "more"}).to_string())).unwrap()).await.ok(200);
    assert_eq!(job["status"], "succeeded", "{job}");
    assert_eq!((&job["report"]["design_rows"], &job["report"]["added_rows"]), (&json!(120), &json!(160)));
    let first = service.get("/api/v1/models/growing/versions/1").await.ok(200);
    assert_eq!(job["report"]["lambda"], first["report"]["lambda"]);
    // Whether the rows of an update are new cannot be checked.
    let assumed = guarantee(&service, "growing", "wang.lemma3").await;
    assert!(
        texts(&assumed, "assumed").iter().any(|text| text.contains("no update added these to the fit")),
        "{assumed}"
    );
}

#[tokio::test]
async fn labels_are_chosen_for_by_design_rows_too() {
    let service = Service::start();
    service.upload("name=waves&target=even", waves(400)).await.ok(201);
    // Design rows measure the loss of each λ themselves, so no validation rows are needed.
    let spec = json!({"design_fraction": 0.4, "validation_fraction": 0, "features": {"count": 32}});
    let job = service.train("even", "waves", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let warnings = job["report"]["warnings"].to_string();
    assert!(!warnings.contains("chosen on the validation rows"), "{warnings}");
    assert_eq!(job["report"]["design_rows"], 160);
}

/// A bandwidth from a list that is fixed in advance is paid for: δ is divided by the number of candidates.
#[tokio::test]
async fn a_bandwidth_of_a_fixed_list_keeps_the_bounds_at_a_price() {
    let service = Service::start();
    let rows: Vec<String> = (0..500)
        .map(|i| {
            let x = (f64::from(i) * 0.618_034).fract();
            format!("{x:.5},{:.5}", (6.0 * x).sin() + f64::from(i % 5) / 10.0)
        })
        .collect();
    service.upload("name=curve", format!("x,y\n{}\n", rows.join("\n"))).await.ok(201);
    let spec = |bandwidth: Value| json!({"lambda": "certified", "scaling": "none", "kernel": {"bandwidth": bandwidth}, "features": {"count": 256}});
    let listed = service.train("listed", "curve", &spec(json!("grid"))).await;
    let fixed = service.train("fixed", "curve", &spec(json!(1.0))).await;
    let lambda = |job: &Value| job["report"]["lambda"].as_f64().unwrap();
    let logs = [81.0 * 256.0 / 0.05, 256.0 / 0.05].map(f64::ln);
    assert!((lambda(&listed) / lambda(&fixed) - logs[0] / logs[1]).abs() < 1e-9, "{listed}");
    // One of the 81: 2^(j/4).
    let step = 4.0 * listed["report"]["bandwidth"].as_f64().unwrap().log2();
    assert!((step - step.round()).abs() < 1e-9 && step.abs() <= 40.0, "{step}");
    let found = guarantee(&service, "listed", "bochner.theorem1_relative").await;
    assert_all_but_independence(&found);
    assert!(texts(&found, "checked").iter().any(|text| text.contains("delta is divided by 81")), "{found}");

    // With a λ searched for as well, the relative bound pays for the pairs, and Lemma 3 for the kernels alone.
    let mut searched = spec(json!("grid"));
    searched["lambda"] = json!("search");
    service.train("searched", "curve", &searched).await;
    let lemma = guarantee(&service, "searched", "wang.lemma3").await;
    assert_all_but_independence(&lemma);
    assert_eq!(lemma["inputs"]["kernels"], 81.0);
    assert_eq!(guarantee(&service, "searched", "bochner.theorem1_relative").await["inputs"]["candidates"], 81.0 * 35.0);
}

#[tokio::test]
async fn shares_that_leave_nothing_are_refused() {
    let service = Service::start();
    service.upload("name=waves", waves(60)).await.ok(201);
    let job = |spec: Value| json!({"model": "m", "dataset": "waves", "spec": spec});
    let shares = json!({"design_fraction": 0.5, "validation_fraction": 0.3, "calibration_fraction": 0.2});
    let refused = service.post("/api/v1/jobs", &job(shares)).await;
    let refused = refused.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["pointer"], "/spec/design_fraction", "{refused}");
    let few = service.train("m", "waves", &json!({"design_fraction": 0.01})).await;
    assert_eq!(few["status"], "failed");
    assert!(few["error"]["detail"].as_str().unwrap().contains("use a larger design_fraction"), "{few}");
}
