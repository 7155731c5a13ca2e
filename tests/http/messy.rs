//! Tables as people have them: what each becomes, or why it is refused, and whether a model on it is as good as on a clean
//! one. The tables and what must happen to them are in tests/fixtures/messy.

use crate::harness::Service;
use serde_json::{Value, json};

fn table(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/messy");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

fn cases() -> Vec<Value> {
    serde_json::from_str(&table("expect.json")).unwrap()
}

fn column<'a>(dataset: &'a Value, name: &str) -> &'a Value {
    let columns = dataset["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap_or_else(|| panic!("no column {name}"))
}

/// Checks what was stored against what must happen.
fn check(case: &Value, dataset: &Value) {
    let name = &case["name"];
    for (expected, field) in [("kinds", "kind"), ("missing", "missing"), ("left_out", "left_out")] {
        for (wanted, value) in case[expected].as_object().into_iter().flatten() {
            assert_eq!(column(dataset, wanted)[field], *value, "{name}: {dataset}");
        }
    }
    if let Some(task) = case.get("task") {
        assert_eq!(dataset["task"], *task, "{name}");
    }
    let found = dataset["quality"]["findings"].as_array().unwrap();
    for wanted in case["findings"].as_array().into_iter().flatten() {
        let is_it = |finding: &&Value| json!([finding["column"], finding["code"], finding["severity"]]) == *wanted;
        let finding = found.iter().find(is_it).unwrap_or_else(|| panic!("{name}: no {wanted} in {found:?}"));
        assert!(finding["detail"].as_str().unwrap().len() > 10 && finding["action"].as_str().unwrap().len() > 10);
    }
}

/// The mean squared error of a small model on the validation rows, or its share of wrong labels.
async fn error(service: &Service, query: &str, name: &str) -> f64 {
    let dataset = service.upload(query, table(name)).await;
    assert!([200, 201].contains(&dataset.status.as_u16()), "{name}: {}", dataset.text());
    let id = dataset.json()["id"].as_str().unwrap().to_owned();
    let spec = json!({"features": {"count": 64, "seed": 3}, "lambda": 1e-3, "validation_fraction": 0.3});
    let job = service.train("messy", &id, &spec).await;
    assert_eq!(job["status"], "succeeded", "{name}: {job}");
    let report = &job["report"];
    let wrong = report["validation_accuracy"].as_f64().map(|accuracy| 1.0 - accuracy);
    wrong.or_else(|| report["validation_mse"].as_f64()).unwrap_or_else(|| panic!("{name}: {report}"))
}

#[tokio::test]
async fn every_messy_table_becomes_what_it_must_or_is_refused_by_name() {
    let service = Service::start();
    let cases = cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let answer = service.upload(case["query"].as_str().unwrap(), table(&format!("{name}.csv"))).await;
        if case["status"] == 422 {
            assert_eq!(answer.status.as_u16(), 422, "{name}: {}", answer.text());
            let body = answer.json();
            for word in case["words"].as_array().unwrap() {
                assert!(body["detail"].as_str().unwrap().contains(word.as_str().unwrap()), "{name}: {body}");
            }
            if let Some(column) = case.get("column") {
                assert_eq!(body["errors"][0]["column"], *column, "{name}: {body}");
            }
        } else {
            assert_eq!(answer.status.as_u16(), 201, "{name}: {}", answer.text());
            check(case, &answer.json());
        }
    }
}

/// Where the mess can be repaired, the error is at most 5% above that on the clean table.
#[tokio::test]
async fn a_model_on_a_repaired_table_is_as_good_as_on_a_clean_one() {
    let service = Service::start();
    let mut compared = 0;
    for case in cases().iter().filter(|case| case["twin"] == true) {
        let name = case["name"].as_str().unwrap();
        let messy = error(&service, case["query"].as_str().unwrap(), &format!("{name}.csv")).await;
        let clean = error(&service, case["clean_query"].as_str().unwrap(), &format!("{name}.clean.csv")).await;
        assert!(messy <= 1.05 * clean + 1e-12, "{name}: {messy} after repair, {clean} clean");
        compared += 1;
    }
    assert!(compared >= 35, "{compared}");
}

/// The same cells mean the same in a prediction, in JSON, JSON lines and CSV.
#[tokio::test]
async fn predictions_read_the_same_cells() {
    let service = Service::start();
    let row = |i: usize| {
        let (area, day) = (40.0 + (i as f64 * 0.618_034).fract() * 2000.0, 1 + i % 28);
        format!("\"${area:.2}\",{},2026-03-{day:02},{:.3}\n", ["yes", "no"][i % 2], area * 2.0 + day as f64)
    };
    let text: String = std::iter::once("area,new,sold,y\n".to_owned()).chain((0..80).map(row)).collect();
    let dataset = service.upload("name=signs", text).await.ok(201);
    let kinds: Vec<&str> = dataset["columns"].as_array().unwrap().iter().map(|c| c["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["numeric", "boolean", "date", "target"]);
    let job = service.train("signs", "signs", &json!({"features": {"count": 64}, "lambda": 1e-4})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let path = "/api/v1/models/signs/predict";
    let predict = async |rows: Value| service.post(path, &json!({"rows": rows})).await.ok(200)["predictions"].clone();
    let plain = predict(json!([[1048.52, true, "2026-03-09"]])).await;
    let dressed = predict(json!([["$1,048.52", "Yes", "9 March 2026"]])).await;
    assert_eq!(plain, dressed);
    let missing = predict(json!([[null, true, "2026-03-09"]])).await;
    assert_eq!(predict(json!([["unknown", "y", "2026-03-09"]])).await, missing);
    let csv = service.post_as(path, "text/csv", "area,new,sold\n\"$1,048.52\",t,03/09/2026\n").await;
    let number: f64 = csv.text().lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(json!([number]), plain);
    let line = "{\"area\": \"$1,048.52\", \"new\": 1, \"sold\": \"2026-03-09\"}\n";
    let lines = service.post_as(path, "application/x-ndjson", line).await;
    assert_eq!(serde_json::from_str::<Value>(lines.text().trim()).unwrap(), plain[0]);
    let record = json!({"area": "$1,048.52", "new": "yes", "sold": "Mar 9, 2026"});
    let scored = service.post("/invocations", &json!({"dataframe_records": [record]})).await.ok(200);
    assert_eq!(scored["predictions"], plain);
    let tensor = |name: &str, text: &str| json!({"name": name, "datatype": "BYTES", "shape": [1], "data": [text]});
    let inputs = json!([tensor("area", "$1,048.52"), tensor("new", "yes"), tensor("sold", "2026-03-09")]);
    let inferred = service.post("/v2/models/signs/infer", &json!({"inputs": inputs})).await.ok(200);
    assert_eq!(inferred["outputs"][0]["data"], plain);
    let body =
        service.post(path, &json!({"rows": [[1.0, true, "soon"]]})).await.refused(422, "invalid_prediction_request");
    assert!(body["errors"][0]["detail"].as_str().unwrap().contains("expected a date"), "{body}");
}

/// Roles change without another upload: the new reading has an id of its own, and the old one stays.
#[tokio::test]
async fn roles_are_changed_in_place_of_another_upload() {
    let service = Service::start();
    let old = service.upload("name=codes", table("integer_codes.csv")).await.ok(201);
    let path = format!("/api/v1/datasets/{}", old["id"].as_str().unwrap());
    let patch = async |body: Value| {
        let request = axum::http::Request::patch(&path).header("content-type", "application/json");
        service.send(request.body(axum::body::Body::from(body.to_string())).unwrap()).await
    };
    let new = patch(json!({"categorical": ["code"], "ignore": "garden"})).await.ok(201);
    assert_ne!(new["id"], old["id"]);
    assert_eq!(
        (&column(&new, "code")["kind"], &column(&new, "garden")["left_out"]),
        (&json!("categorical"), &json!("ignored"))
    );
    assert_eq!(column(&new, "code")["levels"], json!(["1", "2", "3"]));
    assert_eq!(column(&new, "area"), column(&old, "area"));
    assert_eq!(service.get("/api/v1/datasets/codes").await.ok(200)["id"], new["id"]);
    assert_eq!(column(&service.get(&path).await.ok(200), "code")["kind"], "numeric");
    let target = patch(json!({"target": "area"})).await.ok(201);
    assert_eq!((&target["target"], &target["task"]), (&json!("area"), &json!("regression")));
    patch(json!({"missing": ["?"]})).await.refused(422, "invalid_parameter");
    patch(json!({"categoricals": ["code"]})).await.refused(422, "invalid_parameter");
    patch(json!({})).await.refused(422, "invalid_parameter");
    assert!(patch(json!({"numeric": ["district"]})).await.text().contains("expected a number"));
}

/// The same as JSON for programs.
#[tokio::test]
async fn a_schema_says_what_parameters_say() {
    let service = Service::start();
    let by_name = service.upload("categorical=code&target=area", table("integer_codes.csv")).await.ok(201);
    let schema = "%7B%22categorical%22%3A%5B%22code%22%5D%2C%22target%22%3A%22area%22%7D";
    let by_schema = service.upload(&format!("schema={schema}"), table("integer_codes.csv")).await.ok(200);
    assert_eq!(by_name, by_schema);
    service.upload(&format!("schema={schema}&target=area"), table("leak.csv")).await.refused(422, "invalid_parameter");
}

/// The rules of a column are part of the model file.
#[tokio::test]
async fn a_model_keeps_how_its_columns_are_written() {
    let service = Service::start();
    service.upload("name=comma&decimal=comma&missing=-999", table("decimal_comma.csv")).await.ok(201);
    let job = service.train("comma", "comma", &json!({"features": {"count": 32}, "lambda": 1e-3})).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let artifact = service.get("/api/v1/models/comma/versions/1/artifact").await;
    assert_eq!(artifact.status.as_u16(), 200);
    service.post_as("/api/v1/models/copy/versions", "application/octet-stream", artifact.bytes).await.ok(201);
    for path in ["/api/v1/models/comma/predict", "/api/v1/models/copy/predict"] {
        let predict =
            async |rows: Value| service.post(path, &json!({"rows": rows})).await.ok(200)["predictions"].clone();
        let plain = predict(json!([[104.5, 3, "hill", true]])).await;
        assert_eq!(predict(json!([["104,5", "3", "hill", "yes"]])).await, plain, "{path}");
        let missing = predict(json!([[null, 3, "hill", true]])).await;
        assert_eq!(predict(json!([[-999, 3, "hill", true]])).await, missing, "{path}");
    }
}
