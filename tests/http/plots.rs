//! Plots: the same numbers as the API's other answers, as picture, table and JSON.

use crate::harness::Service;
use serde_json::{Value, json};

async fn data(service: &Service, path: &str) -> Vec<Vec<Value>> {
    let plot = service.get(&format!("{path}.json")).await.ok(200);
    assert!(plot["title"].is_string() && plot["description"].is_string(), "{plot}");
    let rows: Vec<Vec<Value>> = serde_json::from_value(plot["rows"].clone()).unwrap();
    let csv = service.get(&format!("{path}.csv")).await;
    assert_eq!(csv.text().lines().count(), rows.len() + 1, "{}", csv.text());
    let svg = service.get(&format!("{path}.svg")).await;
    assert_eq!(svg.header("content-type"), "image/svg+xml");
    let svg = svg.text();
    assert!(
        svg.contains("<title id=\"title\">") && svg.contains("<desc id=\"desc\">") && !svg.contains("NaN"),
        "{svg}"
    );
    assert!(svg.contains("prefers-color-scheme:dark"));
    rows
}

#[tokio::test]
async fn numbers_of_a_regression_are_those_of_its_reports() {
    let service = Service::start();
    service.upload("name=waves", crate::harness::waves(300)).await.ok(201);
    service.train("waves", "waves", &json!({"features": {"count": 64}, "explanations": true})).await;
    let model = service.get("/api/v1/models/waves").await.ok(200)["latest"].clone();
    let report = &model["report"];
    let plots = "/api/v1/models/waves/plots";

    let path = data(&service, &format!("{plots}/lambda-path")).await;
    let expected: Vec<(f64, f64)> = report["lambda_path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| (point["lambda"].as_f64().unwrap(), point["loo_mse"].as_f64().unwrap()))
        .collect();
    let drawn: Vec<(f64, f64)> = path
        .iter()
        .filter(|row| row[0] == "Leave-one-out error")
        .map(|row| (row[1].as_f64().unwrap(), row[2].as_f64().unwrap()))
        .collect();
    assert_eq!(drawn, expected);

    let errors = data(&service, &format!("{plots}/error-by-features")).await;
    let guarantees = service.get("/api/v1/models/waves/guarantees").await.ok(200);
    let named = |name: &str| errors.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}: {errors:?}"));
    assert_eq!(named("Measured")[2], guarantees["measured"]["exact_krr_error"]);
    assert_eq!(named("Estimated (jackknife)")[2], guarantees["measured"]["jackknife_error"]);
    assert_eq!(named("Estimated (jackknife)")[3], guarantees["measured"]["jackknife_interval"][0]);
    let bound =
        guarantees["guarantees"].as_array().unwrap().iter().find(|item| item["id"] == "bochner.certificate_mean");
    assert_eq!(named("Proved for this model")[2], bound.unwrap()["value"]);

    let spectrum = service.get("/api/v1/models/waves/spectrum").await.ok(200);
    let eigenvalues = data(&service, &format!("{plots}/spectrum")).await;
    assert_eq!(eigenvalues[0][2], spectrum["eigenvalues"]["values"][0]["value"]);
    assert!(
        eigenvalues
            .iter()
            .any(|row| row[0] == "Effective dimension" && row[1] == spectrum["effective_dimension"]["at_lambda"])
    );

    let explanations = service.get("/api/v1/models/waves/explanations").await.ok(200);
    let importance = data(&service, &format!("{plots}/importance")).await;
    for column in explanations["columns"].as_array().unwrap() {
        let row = importance.iter().find(|row| row[0] == column["column"]).unwrap();
        assert_eq!(
            (&row[1], &row[2]),
            (&column["permutation"]["loss_increase"], &column["permutation"]["standard_error"])
        );
    }
    let dependence = data(&service, &format!("{plots}/partial-dependence")).await;
    assert_eq!(dependence[0][1], explanations["columns"][0]["partial_dependence"]["points"][0]);
    assert_eq!(dependence[0][2], explanations["columns"][0]["partial_dependence"]["outputs"]["y"][0]);
    let coloured = service.get(&format!("{plots}/partial-dependence.csv?column=colour")).await.text();
    assert!(coloured.starts_with("name,mean prediction,standard_error\nblue,"), "{coloured}");

    // An interval as wide as predictions have it.
    let coverage = data(&service, &format!("{plots}/coverage")).await;
    let at_95 = coverage.iter().find(|row| (row[1].as_f64().unwrap() - 0.95).abs() < 1e-9).unwrap();
    let request = json!({"rows": [[0.5, "red", true]], "outputs": ["interval"]});
    let interval =
        service.post("/api/v1/models/waves/predict", &request).await.ok(200)["predictions"][0]["interval"].clone();
    let width = interval["high"].as_f64().unwrap() - interval["low"].as_f64().unwrap();
    assert!((at_95[2].as_f64().unwrap() - width).abs() < 1e-9 * width, "{at_95:?} and {interval}");
}

#[tokio::test]
async fn numbers_of_a_classifier_are_those_of_its_report_and_the_rest_says_why_not() {
    let service = Service::start();
    let lines: Vec<String> = crate::harness::waves(300)
        .lines()
        .map(|line| {
            let (inputs, target) = line.rsplit_once(',').unwrap();
            let label = target.parse::<f64>().map_or("kind", |y| if y > 1.0 { "high" } else { "low" });
            format!("{inputs},{label}\n")
        })
        .collect();
    service.upload("name=kinds", lines.concat()).await.ok(201);
    service.train("kinds", "kinds", &json!({"features": {"count": 32}, "learner": "logistic", "lambda": 1e-3})).await;
    let report = service.get("/api/v1/models/kinds").await.ok(200)["latest"]["report"].clone();
    let confusion = data(&service, "/api/v1/models/kinds/plots/confusion").await;
    assert_eq!((&confusion[0][1], &confusion[1][2]), (&report["confusion"][0][0], &report["confusion"][1][1]));
    let reliability = data(&service, "/api/v1/models/kinds/versions/1/plots/reliability").await;
    assert_eq!(reliability[0][2], report["reliability"][0]["accuracy"]);

    let listed = service.get("/api/v1/models/kinds/plots").await.ok(200);
    for plot in listed["plots"].as_array().unwrap() {
        let path = format!("/api/v1/models/kinds/plots/{}.svg", plot["name"].as_str().unwrap());
        let answer = service.get(&path).await;
        match plot["missing"].as_str() {
            None => assert_eq!(answer.status, 200, "{path}"),
            Some(reason) => {
                let refused = answer.refused(409, "not_measured");
                assert!(refused["detail"].as_str().unwrap().contains(reason), "{refused}");
            }
        }
    }
    for name in ["nothing.svg", "confusion", "confusion.png", ".svg"] {
        service.get(&format!("/api/v1/models/kinds/plots/{name}")).await.refused(404, "route_not_found");
    }
    service.get("/api/v1/models/kinds/plots/confusion.svg?column=x").await.refused(422, "unknown_parameter");
}

#[tokio::test]
async fn an_estimate_says_what_a_training_would_take_and_stores_nothing() {
    let service = Service::start();
    service.upload("name=waves", crate::harness::waves(300)).await.ok(201);
    let request = json!({"model": "waves", "dataset": "waves", "spec": {"features": {"count": 64}}});
    let found = service.post("/api/v1/jobs/estimate", &request).await.ok(200);
    assert_eq!((&found["training_rows"], &found["features"]), (&json!(240), &json!(64)), "{found}");
    let larger = json!({"model": "waves", "dataset": "waves", "spec": {"features": {"count": 512}}});
    let larger = service.post("/api/v1/jobs/estimate", &larger).await.ok(200);
    assert!(larger["memory_bytes"].as_u64() > found["memory_bytes"].as_u64());
    assert_eq!(service.get("/api/v1/jobs").await.ok(200)["jobs"], json!([]));
    let wrong = json!({"model": "waves", "dataset": "waves", "spec": {"features": {"count": 0}}});
    service.post("/api/v1/jobs/estimate", &wrong).await.refused(422, "invalid_job");
}
