//! What the columns of a model do, over HTTP.

use crate::harness::Service;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_ipc::reader::StreamReader;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

#[tokio::test]
async fn explanations_are_kept_where_they_are_asked_for() {
    let service = Service::with_model().await;
    let told = service.get("/api/v1/models/waves/explanations").await.ok(200);
    assert_eq!(told["columns"], json!([]));
    assert!(told["missing"].as_str().unwrap().contains("\"explanations\": true"), "{told}");
    let spec = json!({"features": {"count": 64}, "explanations": true, "kernel": {"metric": "diagonal"}});
    let job = service.train("told", "waves", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let metric = &job["report"]["metric"];
    assert_eq!(metric["relevances"].as_array().unwrap().len(), 3, "{metric}");
    let told = service.get("/api/v1/models/told/explanations").await.ok(200);
    assert_eq!(service.get("/api/v1/models/told/versions/1/explanations").await.ok(200), told);
    let columns = told["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 3);
    for column in columns {
        assert!(column["permutation"]["standard_error"].as_f64().unwrap() >= 0.0, "{column}");
        let dependence = &column["partial_dependence"];
        let points = dependence["points"].as_array().unwrap().len();
        let curves = dependence["outputs"].as_object().unwrap();
        assert!(curves.values().all(|curve| curve.as_array().unwrap().len() == points), "{column}");
    }
    assert!(columns[1]["partial_dependence"]["points"].as_array().unwrap().iter().all(Value::is_string));
    service.get("/api/v1/models/nothing/explanations").await.refused(404, "model_not_found");
    service.get("/api/v1/models/told/explanations?column=x").await.refused(422, "unknown_parameter");
}

#[tokio::test]
async fn contributions_are_an_output_of_predictions() {
    let service = Service::with_model().await;
    let body = json!({"rows": [[0.3, "green", true], [0.9, "red", false]], "outputs": ["value", "contributions"]});
    let answer = service.post("/api/v1/models/waves/predict", &body).await.ok(200);
    for row in answer["predictions"].as_array().unwrap() {
        let shares = row["contributions"]["columns"].as_object().unwrap();
        assert_eq!(shares.len(), 3);
        let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
        let total = sum + row["contributions"]["baseline"].as_f64().unwrap();
        assert!((total - row["value"].as_f64().unwrap()).abs() < 1e-6, "{row}");
    }
}

/// The same numbers in lines, cells and columns, which add up to the prediction there too.
#[tokio::test]
async fn contributions_add_up_in_every_format() {
    let service = Service::with_model().await;
    let answer = async |media_type: &str| {
        let path = "/api/v1/models/waves/predict?outputs=value,contributions";
        let request = Request::post(path).header("content-type", "text/csv").header("accept", media_type);
        service.send(request.body(Body::from("x,colour,even\n0.3,green,true\n0.9,red,false\n")).unwrap()).await
    };
    let names = ["value", "contribution_baseline", "contribution.x", "contribution.colour", "contribution.even"];
    let expected: Vec<[f64; 5]> = answer("application/json").await.ok(200)["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let (value, told) = (&row["value"], &row["contributions"]);
            let shares = &told["columns"];
            [value, &told["baseline"], &shares["x"], &shares["colour"], &shares["even"]]
                .map(|number| number.as_f64().unwrap())
        })
        .collect();
    assert_eq!(expected.len(), 2);
    for [value, parts @ ..] in &expected {
        assert!((parts.iter().sum::<f64>() - value).abs() < 1e-6, "{expected:?}");
    }
    // One of the two colours is not the typical one.
    assert!((2..4).all(|at| expected.iter().any(|row| row[at].abs() > 1e-3)), "{expected:?}");

    let lines = answer("application/x-ndjson").await.text();
    let as_json = answer("application/json").await.ok(200)["predictions"].clone();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(lines), as_json);

    let text = answer("text/csv").await.text();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), names.join(","));
    let cells: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert_eq!(cells, expected);

    let bytes = answer("application/vnd.apache.arrow.stream").await.bytes;
    let batch = StreamReader::try_new(bytes.as_slice(), None).unwrap().next().unwrap().unwrap();
    for (at, name) in names.into_iter().enumerate() {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Float64Type>();
        assert_eq!(column.values().to_vec(), expected.iter().map(|row| row[at]).collect::<Vec<f64>>(), "{name}");
    }
}
