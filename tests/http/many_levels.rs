//! Text columns with many levels: trained, kept, served in every format, exported and explained.

use crate::harness::Service;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::fmt::Write;

const PREDICT: &str = "/api/v1/models/shops/predict";
const LEVELS: usize = 400;

/// The effect of a level: fixed, between −1 and 1, and nothing that its digits tell.
fn effect(level: usize) -> f64 {
    ((level * 2_654_435_761 % 1_000_003) as f64 / 500_001.5) - 1.0
}

/// 4,000 rows: 400 shops with ten rows each, a number, and a few shops with a single row.
fn shops() -> String {
    let mut table = String::from("shop,x,y\n");
    for row in 0..10 * LEVELS {
        let (level, x) = (row * 7919 % LEVELS, (row * 104_729 % 9_973) as f64 / 9_973.0);
        let _ = writeln!(table, "S{level:03}-{},{x},{}", level * level % 97, 2.0 * effect(level) + x);
    }
    for once in 0..30 {
        let _ = writeln!(table, "once {once},0.5,{}", 0.5 + 0.01 * f64::from(once));
    }
    table
}

fn name(level: usize) -> String {
    format!("S{level:03}-{}", level * level % 97)
}

async fn service() -> Service {
    let service = Service::with(&[]);
    let dataset = service.upload("name=shops&target=y", shops()).await.ok(201);
    let finding = dataset["quality"]["findings"].as_array().unwrap();
    let finding = finding.iter().find(|finding| finding["code"] == "high_cardinality").expect("many levels are said");
    assert_eq!(finding["severity"], "note", "{finding}");
    assert!(finding["detail"].as_str().unwrap().contains("64 inputs of signs"), "{finding}");
    let spec = json!({"effort": "fast", "features": {"count": 1024}, "lambda": 1e-5, "explanations": true, "error_bars": false,
        "calibration_fraction": 0.1, "guarantees": {"exact_rows": 0}});
    let job = service.train("shops", "shops", &spec).await;
    assert_eq!((&job["status"], &job["report"]["input_dim"]), (&json!("succeeded"), &json!(65)), "{job}");
    service
}

#[tokio::test]
async fn levels_are_learned_and_rare_ones_taken_together() {
    let service = service().await;
    let model = service.get("/api/v1/models/shops").await.ok(200);
    let report = &model["latest"]["report"];
    // Without the shops, x explains 3% of the variance.
    assert!(report["validation_r2"].as_f64().unwrap() > 0.8, "{report}");
    let column = &model["latest"]["columns"][0];
    assert_eq!(column["levels"].as_array().unwrap().len(), LEVELS + 30);
    let rare = column["signs"]["rare_levels"].as_u64().unwrap();
    assert!((30..40).contains(&rare) && column["signs"]["inputs"] == 64, "{column}");

    let rows = json!([[name(3), 0.5], [name(250), 0.5], ["once 3", 0.5], ["once 9", 0.5], ["never", 0.5]]);
    let found = service.post(PREDICT, &json!({"rows": rows})).await.ok(200)["predictions"].clone();
    let number = |row: usize| found[row].as_f64().unwrap();
    for (row, level) in [(0, 3), (1, 250)] {
        let truth = 2.0 * effect(level) + 0.5;
        assert!((number(row) - truth).abs() < 0.6, "{} for {truth}", number(row));
    }
    assert_eq!((number(2), number(2)), (number(3), number(4)), "rare and unknown levels are one");
    let flags =
        service.post(PREDICT, &json!({"rows": rows, "outputs": ["warnings"]})).await.ok(200)["predictions"].clone();
    assert_eq!(flags[2]["warnings"], json!([]));
    assert_eq!(flags[4]["warnings"][0]["code"], "unknown_level");
}

#[tokio::test]
async fn every_format_and_every_copy_predicts_the_same() {
    let service = service().await;
    let rows = json!([[name(3), 0.5], ["never", 0.1], [null, 0.2]]);
    let expected = service.post(PREDICT, &json!({"rows": rows})).await.ok(200)["predictions"].clone();
    let csv = format!("shop,x\n{},0.5\nnever,0.1\n,0.2\n", name(3));
    let request = Request::post(PREDICT).header("content-type", "text/csv").header("accept", "application/json");
    assert_eq!(service.send(request.body(Body::from(csv)).unwrap()).await.ok(200)["predictions"], expected);

    let artifact = service.get("/api/v1/models/shops/versions/1/artifact").await.bytes;
    service.post_as("/api/v1/models/copy/versions", "application/octet-stream", artifact.clone()).await.ok(201);
    let copied = service.post("/api/v1/models/copy/predict", &json!({"rows": rows})).await.ok(200);
    assert_eq!(copied["predictions"], expected);
    assert_eq!(service.get("/api/v1/models/copy/versions/1/artifact").await.bytes, artifact);

    let onnx = service.get("/api/v1/models/shops/versions/1/onnx").await.bytes;
    let text = String::from_utf8_lossy(&onnx);
    assert!(text.contains("shop~63") && text.contains("\"others\":\""), "the signs are in the metadata");

    let explained = service.get("/api/v1/models/shops/explanations").await.ok(200);
    let columns = explained["columns"].as_array().unwrap();
    assert_eq!((columns.len(), &columns[0]["column"]), (2, &json!("shop")));
    let increase = |column: &Value| column["permutation"]["loss_increase"].as_f64().unwrap();
    assert!(increase(&columns[0]) > increase(&columns[1]), "{explained}");
    let page = service.get("/models/shops/try").await.text();
    assert!(page.contains("<input type=\"text\" id=\"c0\""), "a level is written, not chosen among hundreds: {page}");
}

#[tokio::test]
async fn too_many_levels_and_late_texts_are_refused_with_what_to_send() {
    let service = Service::with(&["--max-levels", "1500"]);
    let table = |rows: usize, cell: &dyn Fn(usize) -> String| {
        let mut table = String::from("a,y\n");
        for row in 0..rows {
            let _ = writeln!(table, "{},{}", cell(row), row % 10);
        }
        table
    };
    let many = table(5000, &|row| format!("t{}", row % 1600));
    let refused = service.upload("target=y", many).await.refused(422, "invalid_table");
    assert!(refused.to_string().contains("more than 1500 distinct values"), "{refused}");
    // Numbers first, so that the column looks like numbers; most of the later cells are texts.
    let late = table(5000, &|row| if row < 2000 { row.to_string() } else { format!("t{}", row % 20) });
    let refused = service.upload("target=y", late).await.refused(422, "invalid_table");
    assert!(refused.to_string().contains("categorical=a"), "{refused}");
    let labels = table(3000, &|row| format!("{}", row % 10)).replace("a,y", "y,a");
    let labels = labels.lines().enumerate().fold(String::new(), |text, (row, line)| {
        if row == 0 { format!("{line}\n") } else { format!("{text}L{}{line}\n", row % 1200) }
    });
    let refused = service.upload("target=y", labels).await.refused(422, "invalid_column");
    assert!(refused.to_string().contains("more than 1000 distinct labels"), "{refused}");
}
