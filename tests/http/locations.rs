//! Datasets by location: tables in Parquet files that stay where they are.

use crate::harness::{Answer, Service};
use crate::key_files::{KeyFolder, keyed};
use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use axum::body::Body;
use axum::http::Request;
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A folder that is allowed, with a table of some files in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.table()).unwrap();
        for (part, rows) in [700, 1, 600].into_iter().enumerate() {
            write(&place.table().join(format!("part {part}.parquet")), &rides(rows, part));
        }
        std::fs::write(place.table().join("_SUCCESS"), "").unwrap();
        place
    }

    fn table(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("rides of a day")
    }

    fn location(&self) -> String {
        format!("file:{}", self.table().display())
    }

    fn service(&self, flags: &[&str]) -> Service {
        let allowed = self.folder.path().to_str().unwrap();
        let flags: Vec<&str> = ["--dataset-locations", allowed].iter().chain(flags).copied().collect();
        Service::with(&flags)
    }

    /// Files in a folder of their own.
    fn folder(&self, name: &str, files: &[(&str, RecordBatch)]) -> String {
        let folder = self.folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(&folder).unwrap();
        for (name, batch) in files {
            write(&folder.join(name), batch);
        }
        format!("file:{}", folder.display())
    }
}

fn write(path: &Path, batch: &RecordBatch) {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Distance, hour, whether it is night, a note and the fare, with some missing cells.
fn rides(rows: usize, part: usize) -> RecordBatch {
    let share = |row: usize, factor: f64| ((row + 4_000 * part) as f64 * factor).fract();
    let km = move |row| 30.0 * share(row, 0.618_034);
    let night = move |row| share(row, 0.324_718) < 0.3;
    let fare = move |row| {
        let missing = row % 97 == 3;
        (!missing).then(|| 3.0 + 2.0 * f64::powf(km(row), 0.8) + if night(row) { 4.0 } else { 0.0 })
    };
    let rows = 0..rows;
    RecordBatch::try_from_iter([
        (
            "km",
            Arc::new(rows.clone().map(|row| (row % 50 != 7).then(|| km(row))).collect::<Float64Array>()) as ArrayRef,
        ),
        ("hour", Arc::new(rows.clone().map(|row| i64::try_from(row % 24).ok()).collect::<Int64Array>())),
        ("night", Arc::new(rows.clone().map(|row| Some(night(row))).collect::<BooleanArray>())),
        ("note", Arc::new(rows.clone().map(|row| Some(format!("ride {row}"))).collect::<StringArray>())),
        ("fare", Arc::new(rows.map(fare).collect::<Float64Array>())),
    ])
    .unwrap()
}

fn spec() -> Value {
    json!({
        "effort": "fast",
        "kernel": {"bandwidth": 2.0},
        "features": {"count": 32, "seed": 3},
        "lambda": 1e-4,
        "calibration_fraction": 0.1,
        "error_bars": false,
        "guarantees": {"exact_rows": 0},
    })
}

async fn register(service: &Service, body: &Value) -> Answer {
    service.post("/api/v1/datasets", body).await
}

async fn registered(service: &Service, place: &Place) -> Value {
    let body =
        json!({"location": place.location(), "format": "parquet", "name": "rides", "target": "fare", "ignore": "note"});
    register(service, &body).await.ok(201)
}

fn command_line(place: &Place, spec: &Value) -> String {
    let output = place.folder.path().join("rides.bochner");
    let done = Command::new(env!("CARGO_BIN_EXE_bochner"))
        .args(["train", "--target", "fare", "--ignore", "note", "--spec", &spec.to_string(), "--output"])
        .args([&output, &place.table()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Sha256::digest(std::fs::read(output).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn a_folder_is_a_dataset_and_its_model_that_of_the_command_line() {
    let place = Place::new();
    let service = place.service(&[]);
    let dataset = registered(&service, &place).await;
    let id = dataset["id"].as_str().unwrap().to_owned();
    assert_eq!((&dataset["rows"], &dataset["labelled_rows"]), (&json!(1301), &json!(1286)), "{dataset}");
    assert_eq!((&dataset["location"], &dataset["targets"]), (&json!(place.location()), &json!(["fare"])));
    let names: Vec<&str> = dataset["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["km", "hour", "night", "fare"]);
    assert_eq!((&dataset["columns"][1]["min"], &dataset["columns"][1]["max"]), (&json!(0.0), &json!(23.0)));
    assert_eq!(dataset["columns"][2]["kind"], "boolean");
    let again = registered_again(&service, &place).await;
    assert_eq!(again["id"], dataset["id"]);
    assert_eq!(service.get("/api/v1/datasets/rides").await.ok(200)["location"], dataset["location"]);
    assert_eq!(service.get("/api/v1/datasets").await.ok(200)["datasets"][0]["id"], dataset["id"]);
    let preview = service.get("/api/v1/datasets/rides/preview?rows=1000").await.ok(200);
    assert_eq!(preview["rows"].as_array().unwrap().len(), 1000);
    assert!(preview["rows"][0][2].is_boolean(), "{}", preview["rows"][0]);
    for page in ["/datasets".to_owned(), format!("/datasets/{id}")] {
        let page = service.get(&page).await;
        assert!(page.status == 200 && page.text().contains(&place.location()), "{}", page.text());
    }

    let request = json!({"model": "rides", "dataset": "rides", "spec": spec(), "engine": "local"});
    let estimate = service.post("/api/v1/jobs/estimate", &request).await.ok(200);
    assert!(estimate["memory_bytes"].as_u64().unwrap() > 0);
    let job = service.submit_and_wait(&request).await;
    assert_eq!(
        (&job["status"], &job["engine"], &job["dataset"]),
        (&json!("succeeded"), &json!("local"), &json!(id)),
        "{job}"
    );
    let model = service.get("/api/v1/models/rides/versions/1").await.ok(200);
    assert_eq!(
        (&model["dataset"], &model["artifact_sha256"]),
        (&json!(id), &json!(command_line(&place, &spec()))),
        "{model}"
    );
    let page = service.get(&format!("/jobs/{}", job["id"].as_str().unwrap())).await;
    assert_eq!(page.status, 200);
    assert_eq!(service.get("/models/rides/versions/1").await.status, 200);
    let target = json!({"rate": {"r": 0.75, "gamma": 0.5, "alpha": 0.5}});
    service.post("/api/v1/plan", &json!({"dataset": "rides", "target": target})).await.ok(200);

    // What would read rows that are not here.
    let to_dataset = "/api/v1/datasets/rides";
    let patch = Request::patch(to_dataset).body(Body::from(json!({"ignore": ["hour"]}).to_string())).unwrap();
    let refused = service.send(patch).await.refused(409, "dataset_located");
    assert!(refused["detail"].as_str().unwrap().contains(&place.location()), "{refused}");
    let compare = json!({"type": "compare", "dataset": "rides"});
    service.post("/api/v1/jobs", &compare).await.refused(409, "dataset_located");
    let update = json!({"dataset": "rides"});
    service.post("/api/v1/models/rides/update", &update).await.refused(409, "dataset_located");
    let certify = json!({"type": "certify", "model": "rides"});
    service.post("/api/v1/jobs", &certify).await.refused(409, "model_not_certifiable");

    // It goes, the files stay, and what is deleted can be registered again.
    let files = || std::fs::read_dir(place.table()).unwrap().count();
    let before = files();
    service.call("DELETE", to_dataset).await.ok(204);
    assert_eq!(files(), before);
    assert!(service.files("datasets").is_empty());
    service.get(to_dataset).await.refused(404, "dataset_not_found");
    assert_eq!(registered(&service, &place).await["id"], dataset["id"]);
}

async fn registered_again(service: &Service, place: &Place) -> Value {
    let body = json!({"location": format!("{}/", place.location()), "target": "fare", "ignore": ["note"]});
    register(service, &body).await.ok(200)
}

#[tokio::test]
async fn files_that_were_changed_are_refused_by_name() {
    let place = Place::new();
    let service = place.service(&[]);
    registered(&service, &place).await;
    let request = json!({"model": "rides", "dataset": "rides", "spec": spec()});
    // The same name, size and number of rows: the values themselves are compared.
    let file = place.table().join("part 1.parquet");
    let original = std::fs::read(&file).unwrap();
    write(&file, &rides(1, 7));
    assert_eq!(std::fs::read(&file).unwrap().len(), original.len());
    let job = service.submit_and_wait(&request).await;
    assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("dataset")), "{job}");
    assert!(job["error"]["detail"].as_str().unwrap().contains("changed since"), "{job}");
    write(&file, &rides(2, 1));
    let refused = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
    assert!(refused["detail"].as_str().unwrap().contains("were changed since"), "{refused}");
    std::fs::write(&file, original).unwrap();
    assert_eq!(service.submit_and_wait(&request).await["status"], "succeeded");
    std::fs::remove_dir_all(place.table()).unwrap();
    let refused = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
    assert!(refused["detail"].as_str().unwrap().contains("does not exist"), "{refused}");
}

#[tokio::test]
async fn what_cannot_be_a_dataset_is_refused_by_name() {
    let place = Place::new();
    let none = Service::start();
    let refused = register(&none, &json!({"location": place.location()})).await.refused(403, "location_not_allowed");
    assert!(refused["detail"].as_str().unwrap().contains("--dataset-locations"), "{refused}");

    let service = place.service(&["--max-columns", "7"]);
    let elsewhere = Place::new();
    register(&service, &json!({"location": elsewhere.location()})).await.refused(403, "location_not_allowed");
    std::os::unix::fs::symlink(elsewhere.table(), place.folder.path().join("way out")).unwrap();
    let out = format!("file:{}/way out", place.folder.path().canonicalize().unwrap().display());
    register(&service, &json!({"location": out})).await.refused(403, "location_not_allowed");

    let number = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
    let of = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let plain = || of(vec![("x", number(vec![1.0, 2.0])), ("y", number(vec![1.0, 2.0]))]);
    let other = of(vec![("x", number(vec![1.0])), ("z", number(vec![1.0]))]);
    let small = of(vec![("x", Arc::new(Float32Array::from(vec![1.0])) as ArrayRef), ("y", number(vec![1.0]))]);
    let infinite = of(vec![("x", number(vec![1.0, f64::INFINITY])), ("y", number(vec![1.0, 2.0]))]);
    let one = of(vec![("x", number(vec![1.0])), ("y", number(vec![1.0]))]);
    let wide: Vec<(String, ArrayRef)> = (0..8).map(|i| (format!("c{i}"), number(vec![1.0, 2.0]))).collect();
    let wide = RecordBatch::try_from_iter(wide).unwrap();
    let location = |name: &str, files: &[(&str, RecordBatch)]| place.folder(name, files);
    let empty = location("empty", &[]);
    let good = location("good", &[("a.parquet", plain())]);
    for (location, part) in [
        (empty.clone(), "no file that ends with .parquet"),
        (format!("{empty}/none"), "does not exist"),
        (format!("{good}/a.parquet"), "not a folder"),
        (format!("{good}/../good"), "'..'"),
        ("s3a://bucket/../rides".to_owned(), "'..'"),
        ("s3a://bucket/*".to_owned(), "patterns"),
        ("s3a://key:secret@bucket/rides".to_owned(), "password"),
        ("rides".to_owned(), "file:/"),
        (location("other", &[("a.parquet", plain()), ("b.parquet", other)]), "file 'b.parquet': its columns differ"),
        (location("types", &[("a.parquet", plain()), ("b.parquet", small)]), "column 'x' holds Float32"),
        (
            location("infinite", &[("a.parquet", infinite)]),
            "file 'a.parquet': row 2, column 'x' is not a finite number",
        ),
        (location("one", &[("a.parquet", one)]), "fewer than 2 rows"),
        (location("wide", &[("a.parquet", wide)]), "the limit is 7"),
        (place.location(), "column 'note' holds values of type Utf8"),
    ] {
        let refused = register(&service, &json!({"location": location})).await.refused(422, "invalid_parameter");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.starts_with("/location: ") && detail.contains(part), "{location}: {detail}");
    }
    std::fs::write(place.folder.path().join("good/cut.parquet"), "PAR1").unwrap();
    let refused = register(&service, &json!({"location": good})).await.refused(422, "invalid_parameter");
    assert!(refused["detail"].as_str().unwrap().contains("file 'cut.parquet'"), "{refused}");
    std::fs::remove_file(place.folder.path().join("good/cut.parquet")).unwrap();

    for uri in ["s3a://bucket/rides", "hdfs://host/rides"] {
        register(&service, &json!({"location": uri})).await.refused(403, "location_not_allowed");
    }

    for (member, value, pointer) in [
        ("format", json!("csv"), "/format"),
        ("name", json!(7), "/name"),
        ("task", json!("classification"), "/task"),
        ("numeric", json!(["x"]), "/numeric"),
        ("categorical", json!(["x"]), "/categorical"),
        ("missing", json!(["none"]), "/missing"),
        ("decimal", json!("comma"), "/decimal"),
        ("day_first", json!(true), "/day_first"),
        ("header", json!(true), "/header"),
        ("delimiter", json!(","), "/delimiter"),
        ("targte", json!("x"), "/targte"),
        ("target", json!("z"), "/location"),
        ("ignore", json!(["z"]), "/location"),
    ] {
        let body = json!({"location": good, member: value});
        let refused = register(&service, &body).await.refused(422, "invalid_parameter");
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
    }
    let query = service.post("/api/v1/datasets?name=x", &json!({"location": good})).await;
    query.refused(422, "unknown_parameter");
    let twice = format!("{{\"location\": \"{good}\", \"location\": \"s3://x\"}}");
    service.post_as("/api/v1/datasets", "application/json", twice).await.refused(400, "malformed_request");
    assert!(service.get("/api/v1/datasets").await.ok(200)["datasets"].as_array().unwrap().is_empty());
    assert!(service.files("datasets").is_empty());
    // A table that has a column of this name is a table.
    let table = json!({"location": ["a", "b", "a", "b"], "y": [1, 2, 3, 4]});
    assert_eq!(service.post("/api/v1/datasets", &table).await.ok(201)["location"], Value::Null);
}

/// What the cluster does with them is in tests/spark/test_uris.py.
#[tokio::test]
async fn a_uri_is_allowed_by_its_prefix_and_needs_a_cluster() {
    let body = |uri: &str| json!({"location": uri, "format": "parquet"});
    let alone = Service::with(&["--dataset-locations", "s3a://bucket/in"]);
    for outside in ["s3a://bucket/inner", "s3a://bucket", "s3://bucket/in/rides", "file:/in/rides"] {
        register(&alone, &body(outside)).await.refused(403, "location_not_allowed");
    }
    let refused = register(&alone, &body("s3a://bucket/in/rides")).await.refused(422, "invalid_parameter");
    assert!(refused["detail"].as_str().unwrap().contains("can only be read on Spark"), "{refused}");
    assert_eq!(refused["errors"][0]["pointer"], "/location");
    let flags =
        ["--dataset-locations", "s3a://bucket/in", "--spark-master", "local[1]", "--spark-python", "/no/python"];
    let without_python = Service::with(&flags);
    let refused = register(&without_python, &body("s3a://bucket/in/rides")).await.refused(502, "cluster_failed");
    assert!(refused["detail"].as_str().unwrap().contains("/no/python"), "{refused}");
    for service in [alone, without_python] {
        assert!(service.get("/api/v1/datasets").await.ok(200)["datasets"].as_array().unwrap().is_empty());
    }
}

#[tokio::test]
async fn only_an_admin_key_registers_a_location() {
    let (place, keys) = (Place::new(), KeyFolder::new());
    let (admin, trainer) = (keys.admin(), keys.make("train,read", &[]));
    let service = place.service(&["--api-keys-file", &keys.path()]);
    let send = async |key: &str| {
        let body = json!({"location": place.location(), "target": "fare", "ignore": "note", "name": "rides"});
        let request = keyed(Request::post("/api/v1/datasets"), Some(key)).header("content-type", "application/json");
        service.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let refused = send(&trainer).await.refused(403, "missing_scope");
    assert!(refused["detail"].as_str().unwrap().contains("admin"), "{refused}");
    send(&admin).await.ok(201);
    // Anyone who may train may train on it.
    let job = json!({"model": "rides", "dataset": "rides", "spec": spec()}).to_string();
    let request = keyed(Request::post("/api/v1/jobs"), Some(&trainer)).header("prefer", "wait=60");
    let job = service.send(request.body(Body::from(job)).unwrap()).await.ok(200);
    assert_eq!(job["status"], "succeeded", "{job}");
}

#[tokio::test]
async fn what_located_training_cannot_do_is_refused_before_it_runs() {
    let place = Place::new();
    let service = place.service(&[]);
    registered(&service, &place).await;
    let submit = async |body: Value| service.post("/api/v1/jobs", &body).await.refused(422, "invalid_job");
    for (field, spec) in [
        ("/spec/learner", json!({"learner": "exact_krr"})),
        ("/spec/cross_validation", json!({"cross_validation": 5})),
        ("/spec/sample_weight", json!({"sample_weight": "km"})),
    ] {
        let refused = submit(json!({"model": "m", "dataset": "rides", "spec": spec})).await;
        assert_eq!(refused["errors"][0]["pointer"], field, "{refused}");
    }
    for (engine, part) in
        [(json!("spark"), "--spark-master"), (json!("ray"), "'local' or 'spark'"), (json!(1), "'local'")]
    {
        let refused = submit(json!({"model": "m", "dataset": "rides", "engine": engine})).await;
        assert_eq!(refused["errors"][0]["pointer"], "/engine");
        assert!(refused["detail"].as_str().unwrap().contains(part), "{refused}");
    }
    let with_master = place.service(&["--spark-master", "local[1]", "--spark-python", "/no/such/python"]);
    with_master.upload("name=waves", crate::harness::waves(100)).await.ok(201);
    let refused = with_master.post("/api/v1/jobs", &json!({"model": "m", "dataset": "waves", "engine": "spark"})).await;
    assert!(refused.refused(422, "invalid_job")["detail"].as_str().unwrap().contains("by location"));
    registered(&with_master, &place).await;
    let job = json!({"model": "m", "dataset": "rides", "engine": "spark", "spec": spec()});
    let job = with_master.submit_and_wait(&job).await;
    assert_eq!(
        (&job["status"], &job["engine"], &job["error"]["code"]),
        (&json!("failed"), &json!("spark"), &json!("engine"))
    );
    assert!(job["error"]["detail"].as_str().unwrap().contains("/no/such/python"), "{job}");
}
