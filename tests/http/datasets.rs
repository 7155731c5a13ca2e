//! Uploads that work.

use crate::harness::{Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use std::io::Write;

#[tokio::test]
async fn an_upload_is_described_previewed_listed_and_deleted() {
    let service = Service::start();
    let answer = service.upload("name=waves", waves(300)).await;
    let dataset = answer.ok(201);
    let id = dataset["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), format!("/api/v1/datasets/{id}"));
    assert_eq!(
        (&dataset["rows"], &dataset["labelled_rows"], &dataset["target"]),
        (&json!(300), &json!(300), &json!("y"))
    );
    assert_eq!(dataset["task"], "regression");
    let kinds: Vec<&str> = dataset["columns"].as_array().unwrap().iter().map(|c| c["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["numeric", "categorical", "boolean", "target"]);
    assert_eq!(dataset["columns"][0]["missing"], 6);
    assert_eq!(dataset["columns"][1]["levels"], json!(["blue", "green", "red"]));

    assert_eq!(service.get(&format!("/api/v1/datasets/{id}")).await.ok(200), dataset);
    assert_eq!(service.get("/api/v1/datasets/waves").await.ok(200), dataset); // by name as well
    let preview = service.get(&format!("/api/v1/datasets/{id}/preview?rows=8")).await.ok(200);
    assert_eq!(preview["rows"].as_array().unwrap().len(), 8);
    assert_eq!(preview["rows"][0], json!([0.0, "red", true, 0.0]));
    assert_eq!(preview["rows"][7][0], json!(null));

    service.call("DELETE", &format!("/api/v1/datasets/{id}")).await.ok(204);
    service.get(&format!("/api/v1/datasets/{id}")).await.refused(404, "dataset_not_found");
    assert_eq!(service.get("/api/v1/datasets").await.ok(200)["datasets"], json!([]));
}

#[tokio::test]
async fn the_same_bytes_are_the_same_data_set_however_they_travel() {
    let service = Service::start();
    let table = waves(50);
    let named = service.upload("name=a", table.clone()).await.ok(201);
    let first = service.upload("name=b", table.clone()).await.ok(200);
    assert_eq!((&first["id"], &first["name"]), (&named["id"], &json!("b")));
    for name in ["a", "b"] {
        assert_eq!(service.get(&format!("/api/v1/datasets/{name}")).await.ok(200), first); // both lead to it
    }

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(table.as_bytes()).unwrap();
    let zstd = zstd::encode_all(table.as_bytes(), 0).unwrap();
    for (encoding, body) in [("gzip", gzip.finish().unwrap()), ("zstd", zstd)] {
        let request = Request::post("/api/v1/datasets").header("content-type", "text/csv");
        let answer = service.send(request.header("content-encoding", encoding).body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.ok(200), first, "{encoding}");
    }
    // Another target makes another data set.
    let other = service.upload("target=x", table).await.ok(201);
    assert_ne!(other["id"], first["id"]);
    assert_eq!(other["target"], "x");
}

#[tokio::test]
async fn delimiters_headers_and_quotes_are_understood() {
    let service = Service::start();
    let semicolons = service.upload("delimiter=%3B", "a;b\n1;2\n3;4\n").await.ok(201);
    assert_eq!(semicolons["columns"][0]["name"], "a");
    let bare = service.upload("header=false", "1,2\n3,4\n").await.ok(201);
    assert_eq!((&bare["rows"], &bare["columns"][1]["name"]), (&json!(2), &json!("column_2")));
    let tabs =
        service.post_as("/api/v1/datasets", "text/tab-separated-values; charset=utf-8", "a\tb\n1\t5\n3\t4\n").await;
    assert_eq!(tabs.ok(201)["target"], "b");
    let quoted = service.upload("", "\u{feff}\"a, b\",y\r\n\"x\r\ny\",1\r\n\"z \"\"q\"\"\",2\r\n").await.ok(201);
    assert_eq!(quoted["columns"][0]["name"], "a, b");
    assert_eq!(quoted["columns"][0]["levels"], json!(["x\r\ny", "z \"q\""]));
    let labels = service.upload("", "a,kind\n1,cat\n2,dog\n").await.ok(201);
    assert_eq!(labels["task"], "classification");
    let numbers = service.upload("task=classification", "a,kind\n1,4\n2,5\n").await.ok(201);
    assert_eq!(numbers["columns"][1]["levels"], json!(["4", "5"]));
}

#[tokio::test]
async fn a_missing_target_makes_an_unlabelled_row() {
    let service = Service::start();
    let dataset = service.upload("", "a,y\n1,2\n2,\n3,4\n4,NA\n5,1\n").await.ok(201);
    assert_eq!((&dataset["rows"], &dataset["labelled_rows"]), (&json!(5), &json!(3)));
    let finding = &dataset["quality"]["findings"][0];
    assert_eq!((&finding["code"], &finding["column"]), (&json!("unlabelled_rows"), &json!("y")));
    assert_eq!(finding["detail"], "2 of 5 rows have no target in column 'y'");
    let almost: Vec<String> = (0..40).map(|row| format!("{row},{}", if row < 3 { "" } else { "1.5" })).collect();
    let dataset = service.upload("", format!("a,y\n{}\n9,2\n", almost.join("\n"))).await.ok(201);
    let findings = dataset["quality"]["findings"].to_string();
    assert!(!findings.contains("unlabelled_rows"), "few empty targets are nothing to tell: {findings}");
}

#[tokio::test]
async fn listings_are_paged() {
    let service = Service::start();
    for number in 0..5 {
        service.upload("", format!("a,b\n{number},1\n2,2\n")).await.ok(201);
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = service.get(&format!("/api/v1/datasets?limit=2&cursor={cursor}")).await.ok(200);
        seen.extend(page["datasets"].as_array().unwrap().iter().map(|dataset| dataset["id"].to_string()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
    service.get("/api/v1/datasets?cursor=nonsense").await.refused(422, "invalid_parameter");
    service.get("/api/v1/datasets?limit=0").await.refused(422, "invalid_parameter");
}

/// The database needs room even to delete: it is kept from the start on, and taken again after each delete.
#[tokio::test]
async fn room_to_clear_a_full_disk_is_kept() {
    let service = Service::start();
    let reserve = || service.files("").into_iter().find(|file| file.ends_with("bochner.reserve"));
    service.upload("name=waves", waves(20)).await.ok(201);
    let file = reserve().unwrap();
    assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    std::fs::remove_file(&file).unwrap();
    service.call("DELETE", "/api/v1/datasets/waves").await.ok(204);
    assert_eq!(reserve(), Some(file));
}

/// Whichever comes first, each request is answered as if it were alone.
#[tokio::test]
async fn bytes_that_are_being_deleted_can_be_uploaded_again() {
    let service = Service::start();
    let table = "a,y\n1,2\n2,3\n3,5\n";
    for _ in 0..200 {
        let (first, deleted, second) = tokio::join!(
            service.upload("name=again", table),
            service.call("DELETE", "/api/v1/datasets/again"),
            service.upload("name=again", table),
        );
        for answer in [first, second] {
            assert!([200, 201].contains(&answer.status.as_u16()), "{}", answer.text());
        }
        assert!([204, 404].contains(&deleted.status.as_u16()), "{}", deleted.text());
    }
}
