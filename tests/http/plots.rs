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

    // At the small lambda that a search finds, the bias of the features leaves no jackknife estimate.
    service.train("given", "waves", &json!({"features": {"count": 64}, "lambda": 1e-3})).await;
    let errors = data(&service, "/api/v1/models/given/plots/error-by-features").await;
    let guarantees = service.get("/api/v1/models/given/guarantees").await.ok(200);
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
    let widths = data(&service, &format!("{plots}/interval-width")).await;
    let at_95 = widths.iter().find(|row| (row[1].as_f64().unwrap() - 0.95).abs() < 1e-9).unwrap();
    let request = json!({"rows": [[0.5, "red", true]], "outputs": ["interval"]});
    let interval =
        service.post("/api/v1/models/waves/predict", &request).await.ok(200)["predictions"][0]["interval"].clone();
    let width = interval["high"].as_f64().unwrap() - interval["low"].as_f64().unwrap();
    assert!((at_95[2].as_f64().unwrap() - width).abs() < 1e-9 * width, "{at_95:?} and {interval}");
}

/// The numbers of a series, x and y with the ends of the interval.
fn series(rows: &[Vec<Value>], name: &str) -> Vec<[f64; 4]> {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let row = |row: &Vec<Value>| [number(&row[1]), number(&row[2]), number(&row[3]), number(&row[4])];
    rows.iter().filter(|row| row[0] == name).map(row).collect()
}

#[tokio::test]
async fn held_out_rows_have_the_predictions_and_intervals_of_the_api() {
    let service = Service::start();
    let table = crate::harness::waves(400);
    service.upload("name=waves", table.clone()).await.ok(201);
    let spec = json!({"features": {"count": 64}, "lambda": 1e-3, "calibration_fraction": 0.2});
    service.train("waves", "waves", &spec).await;
    let report = service.get("/api/v1/models/waves").await.ok(200)["latest"]["report"].clone();
    let plots = "/api/v1/models/waves/plots";
    let rows = series(&data(&service, &format!("{plots}/predicted-actual")).await, "Held-out rows");
    assert_eq!(rows.len() as u64, report["validation_rows"].as_u64().unwrap());
    let mse = rows.iter().map(|[actual, predicted, ..]| (actual - predicted).powi(2)).sum::<f64>() / rows.len() as f64;
    assert!((mse / report["validation_mse"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{mse} and {report}");

    // Every row of the table by its true value, as the API predicts it.
    let cells: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let inputs: Vec<Value> =
        cells.iter().map(|row| json!([row[0].parse::<f64>().ok(), row[1], row[2].parse::<bool>().unwrap()])).collect();
    let request = json!({"rows": inputs, "outputs": ["value", "interval"]});
    let answers = service.post("/api/v1/models/waves/predict", &request).await.ok(200)["predictions"].clone();
    let near = |left: f64, right: &Value| (left - right.as_f64().unwrap()).abs() < 1e-9;
    let mut covered = 0;
    for [actual, predicted, low, high] in &rows {
        let is_it = |index: &usize| {
            let answer = &answers[*index];
            cells[*index][3].parse::<f64>().unwrap() == *actual
                && near(*predicted, &answer["value"])
                && near(*low, &answer["interval"]["low"])
                && near(*high, &answer["interval"]["high"])
        };
        assert!((0..cells.len()).any(|index| is_it(&index)), "no row is predicted as {predicted} for {actual}");
        covered += usize::from(low <= actual && actual <= high);
    }
    // What the coverage plot says at 95% is what the intervals of these rows do.
    let coverage = series(&data(&service, &format!("{plots}/coverage")).await, "Measured");
    let at_95 = coverage.iter().find(|row| row[0] == 0.95).unwrap();
    assert_eq!(at_95[1], covered as f64 / rows.len() as f64);
    assert!(at_95[2] <= at_95[1] && at_95[1] <= at_95[3], "{at_95:?}");

    let residuals = series(&data(&service, &format!("{plots}/residuals")).await, "Held-out rows");
    assert_eq!(service.get(&format!("{plots}/residuals.svg?target=y")).await.status, 200);
    for ([predicted, residual, ..], [actual, of_row, ..]) in residuals.iter().zip(&rows) {
        assert!(predicted == of_row && (residual - (actual - of_row)).abs() < 1e-12);
    }
    let wrong = service.get(&format!("{plots}/residuals.svg?target=z")).await.refused(422, "invalid_parameter");
    assert!(wrong["detail"].as_str().unwrap().contains("no target 'z'"), "{wrong}");
    service.get(&format!("{plots}/roc.svg")).await.refused(409, "not_measured");
}

#[tokio::test]
async fn rows_that_calibrated_the_intervals_do_not_measure_their_coverage() {
    let service = Service::with_model().await;
    let plots = "/api/v1/models/waves/plots";
    let rows = series(&data(&service, &format!("{plots}/predicted-actual")).await, "Held-out rows");
    let coverage = service.get(&format!("{plots}/coverage.json")).await.ok(200);
    let half = format!("The share of {} held-out rows", rows.len() / 2);
    let description = coverage["description"].as_str().unwrap();
    assert!(
        description.starts_with(&half) && description.contains("Every second held-out row calibrates"),
        "{coverage}"
    );
    // By hand: scores of even rows calibrate, odd rows are tested.
    let scores: Vec<f64> = rows.iter().map(|[actual, predicted, ..]| (actual - predicted).abs()).collect();
    let mut first: Vec<f64> = scores.iter().copied().step_by(2).collect();
    first.sort_by(f64::total_cmp);
    let rank = first.len() + 1 - (first.len() + 1) / 10; // at δ = 0.1
    let tested: Vec<f64> = scores.iter().copied().skip(1).step_by(2).collect();
    let share = tested.iter().filter(|score| **score <= first[rank - 1]).count() as f64 / tested.len() as f64;
    let measured = series(&serde_json::from_value::<Vec<Vec<Value>>>(coverage["rows"].clone()).unwrap(), "Measured");
    assert_eq!(measured.iter().find(|row| row[0] == 0.9).unwrap()[1], share);
}

#[tokio::test]
async fn the_list_has_the_numbers_of_every_plot_if_asked() {
    let service = Service::with_model().await;
    let plots = "/api/v1/models/waves/plots";
    let bare = service.get(plots).await.ok(200);
    assert!(bare["plots"].as_array().unwrap().iter().all(|plot| plot.get("rows").is_none()), "{bare}");
    let full = service.get(&format!("{plots}?data=true")).await.ok(200);
    for plot in full["plots"].as_array().unwrap() {
        if plot["missing"].is_string() {
            assert!(plot.get("rows").is_none(), "{plot}");
            continue;
        }
        let path = format!("{plots}/{}.json", plot["name"].as_str().unwrap());
        let alone = service.get(&path).await.ok(200);
        assert_eq!((&plot["columns"], &plot["rows"]), (&alone["columns"], &alone["rows"]), "{path}");
    }
    service.get(&format!("{plots}?data=yes")).await.refused(422, "invalid_parameter");
}

#[tokio::test]
async fn a_model_of_an_earlier_release_says_what_its_plots_lack() {
    let service = Service::start();
    let artifact = include_bytes!("../fixtures/artifacts/format-2/ridge.bochner").to_vec();
    service.post_as("/api/v1/models/old/versions", "application/octet-stream", artifact).await.ok(201);
    for plot in ["predicted-actual", "residuals", "coverage"] {
        let refused = service.get(&format!("/api/v1/models/old/plots/{plot}.svg")).await.refused(409, "not_measured");
        assert!(refused["detail"].as_str().unwrap().contains("keeps no held-out rows"), "{refused}");
    }
}

#[tokio::test]
async fn numbers_of_a_classifier_are_those_of_its_report_and_the_rest_says_why_not() {
    let service = Service::start();
    let lines: Vec<String> = crate::harness::waves(300)
        .lines()
        .enumerate()
        .map(|(index, line)| {
            let (inputs, target) = line.rsplit_once(',').unwrap();
            // Every eleventh label is wrong, so that no curve is perfect.
            let is_high = |y: f64| (y > 1.0) != (index % 11 == 0);
            let label = target.parse::<f64>().map_or("kind", |y| if is_high(y) { "high" } else { "low" });
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

    // The area under the drawn curve is the one that the report has.
    let roc = data(&service, "/api/v1/models/kinds/plots/roc").await;
    let curve: Vec<(f64, f64)> = roc
        .iter()
        .filter(|row| row[0].as_str().unwrap().starts_with("low (0."))
        .map(|row| (row[1].as_f64().unwrap(), row[2].as_f64().unwrap()))
        .collect();
    let area: f64 = curve.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum();
    assert!((area - report["validation_roc_auc"].as_f64().unwrap()).abs() < 1e-9, "{area} and {report}");
    let precision = data(&service, "/api/v1/models/kinds/plots/precision-recall").await;
    let classes = report["classes"].as_array().unwrap();
    let held_out = |index: usize| classes[index]["validation_rows"].as_f64().unwrap();
    let guess = precision.iter().find(|row| row[0] == "Random guess").unwrap();
    assert_eq!(guess[2].as_f64().unwrap(), held_out(1) / (held_out(0) + held_out(1)), "{classes:?}");
    let last = precision.iter().rfind(|row| row[0] != "Random guess").unwrap();
    assert_eq!((&last[1], &last[2]), (&json!(1.0), &guess[2]), "without a threshold every row is found");

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
    for (file, code) in [
        ("confusion.svg?column=x", "unknown_parameter"),
        ("confusion.csv?size=narrow", "unknown_parameter"),
        ("confusion.svg?size=tiny", "invalid_parameter"),
    ] {
        service.get(&format!("/api/v1/models/kinds/plots/{file}")).await.refused(422, code);
    }
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
