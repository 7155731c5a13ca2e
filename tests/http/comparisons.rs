//! Jobs of type `compare`, and `bochner compare`: the same numbers, kept with the job.

use crate::harness::{Service, waves};
use crate::process::Process;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn request() -> Value {
    json!({
        "type": "compare", "dataset": "waves", "samplings": ["plain", "elss1", "pooled_ridge", "linear"],
        "features": [8, 16], "repeats": 4, "spec": {"features": {"seed": 3}},
    })
}

/// Mean and standard error, the slow way.
fn recomputed(errors: &[f64]) -> (f64, f64) {
    let n = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let variance = errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * right.abs().max(1.0)
}

fn errors_of(report: &Value, sampling: &str, features: u64) -> Vec<f64> {
    let trials = report["trials"].as_array().unwrap().iter();
    let own = trials.filter(|trial| trial["sampling"] == sampling && trial["features"] == features);
    own.map(|trial| trial["error"].as_f64().unwrap()).collect()
}

#[tokio::test]
async fn a_comparison_has_means_standard_errors_seeds_and_splits() {
    let service = Service::start();
    service.upload("name=waves", waves(200)).await.ok(201);
    let job = service.submit_and_wait(&request()).await;
    assert_eq!((&job["status"], &job["model"], &job["version"]), (&json!("succeeded"), &json!(null), &json!(null)));
    assert_eq!(job["spec"]["test_fraction"], 0.2);
    let report = &job["report"];
    assert_eq!((&report["metric"], &report["dataset"]), (&json!("rmse"), &json!("waves")));
    assert_eq!(report["trials"].as_array().unwrap().len(), 4 * 2 * 4);
    for cell in report["summary"].as_array().unwrap() {
        let (sampling, features) = (cell["sampling"].as_str().unwrap(), cell["features"].as_u64().unwrap());
        let errors = errors_of(report, sampling, features);
        let (mean, error) = recomputed(&errors);
        assert!(close(cell["mean"].as_f64().unwrap(), mean) && errors.len() == 4, "{cell}");
        assert!(close(cell["standard_error"].as_f64().unwrap(), error), "{cell}");
        let plain = errors_of(report, "plain", features);
        let differences: Vec<f64> = errors.iter().zip(&plain).map(|(own, plain)| own - plain).collect();
        if sampling == "plain" {
            assert!(cell["difference"].is_null());
        } else {
            let (mean, error) = recomputed(&differences);
            assert!(close(cell["difference"].as_f64().unwrap(), mean), "{cell}");
            assert!(close(cell["difference_standard_error"].as_f64().unwrap(), error), "{cell}");
        }
    }
    for (number, repetition) in report["repetitions"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&repetition["seed"], &repetition["test_rows"]), (&json!(3 + number), &json!(40)));
        let digits = repetition["test_mask"].as_str().unwrap().chars().map(|digit| digit.to_digit(16).unwrap());
        assert_eq!(digits.map(u32::count_ones).sum::<u32>(), 40, "{repetition}");
    }
    let linear: Vec<Vec<f64>> = [8, 16].map(|features| errors_of(report, "linear", features)).into();
    assert_eq!(linear[0], linear[1], "the inputs themselves do not depend on a feature count");

    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let csv = service.get(&format!("{path}/comparison.csv")).await;
    assert_eq!((csv.status.as_u16(), csv.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert_eq!(csv.text().lines().count(), 1 + 8);
    let svg = service.get(&format!("{path}/comparison.svg")).await;
    assert_eq!((svg.status.as_u16(), svg.header("content-type")), (200, "image/svg+xml"));
    assert!(svg.text().starts_with("<svg ") && svg.text().contains(">pooled_ridge</text>"));
}

#[tokio::test]
async fn bad_comparisons_are_refused_at_their_place() {
    let service = Service::with(&["--max-features", "512", "--training-memory", "64MiB"]);
    service.upload("name=waves", waves(200)).await.ok(201);
    service.upload("name=few", waves(6)).await.ok(201);
    service.upload("name=two&target=x,y", waves(100)).await.ok(201);
    let with = |name: &str, value: Value| {
        let mut request = request();
        request[name] = value;
        request
    };
    for (request, pointer, word) in [
        (with("samplings", json!(["plain", "esll1"])), "/samplings/1", "did you mean 'elss1'?"),
        (with("features", json!([8, 514])), "/features/1", "from 2 to 512"),
        (with("repeats", json!(0)), "/repeats", "from 1"),
        (with("dataset", json!("few")), "/dataset", "only 6 rows have a target"),
        (with("dataset", json!("two")), "/dataset", "takes one target"),
        (with("dataset", json!(7)), "/dataset", "must be a string"),
        (with("samplings", json!(["capped"])), "/dataset", "at most 4 inputs"),
        (with("reps", json!(1)), "/reps", "unknown field"),
        (with("spec", json!({"learner": "logistic"})), "/dataset", "the target holds numbers"),
    ] {
        let refused = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
        let found = refused["errors"]
            .as_array()
            .unwrap()
            .iter()
            .any(|error| error["pointer"] == pointer && error["detail"].as_str().unwrap().contains(word));
        assert!(found, "{pointer}: {refused}");
    }
    let labels = json!({"type": "compare", "dataset": "waves", "samplings": ["plain"], "features": [8], "labels_per_class": [5]});
    let refused = service.post("/api/v1/jobs", &labels).await.refused(422, "invalid_job");
    assert_eq!(refused["errors"][0]["pointer"], "/labels_per_class");
    service.post("/api/v1/jobs", &with("dataset", json!("none"))).await.refused(404, "dataset_not_found");
    let job = service.train("waves", "waves", &json!({"features": {"count": 16}})).await;
    let path = format!("/api/v1/jobs/{}/comparison.csv", job["id"].as_str().unwrap());
    service.get(&path).await.refused(409, "wrong_state");
    service.get("/api/v1/jobs/none/comparison.svg").await.refused(404, "job_not_found");
}

#[tokio::test]
async fn a_running_comparison_shows_progress_and_can_be_canceled() {
    let service = Service::start();
    service.upload("name=waves", waves(20_000)).await.ok(201);
    let mut long = request();
    (long["repeats"], long["features"]) = (json!(1000), json!([512]));
    let job = service.post("/api/v1/jobs", &long).await.ok(202);
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let wait_for = async |wanted: &dyn Fn(&Value) -> bool| {
        for _ in 0..3000 {
            let job = service.get(&path).await.ok(200);
            if wanted(&job) {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{}", service.get(&path).await.text());
    };
    wait_for(&|job| job["progress"]["stage"] == "compare").await;
    service.call("POST", &format!("{path}/cancel")).await.ok(202);
    wait_for(&|job| job["status"] == "canceled").await;
    service.get(&format!("{path}/comparison.csv")).await.refused(409, "wrong_state");
}

fn compare(arguments: &[&str], data: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    command.arg("compare").arg("--data").arg(data).args(arguments).output().unwrap()
}

/// What a killed service had found is there after the next start, and the command finds the same.
#[test]
fn a_comparison_outlives_its_process_and_the_command_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("waves.csv");
    std::fs::write(&data, waves(200)).unwrap();
    let process = Process::start(&folder.path().join("data"));
    process.upload("waves", &waves(200));
    let job = process.submit(&request());
    let before = process.wait_for(&job, &["succeeded", "failed"]);
    process.kill();
    let process = Process::start(&folder.path().join("data"));
    let after = process.get(&format!("/api/v1/jobs/{job}"));
    process.kill();
    assert_eq!(before, after);

    let [json, csv, svg] = ["all.json", "means.csv", "chart.svg"].map(|name| folder.path().join(name));
    let paths = [&json, &csv, &svg].map(|path| path.to_str().unwrap().to_owned());
    let arguments = [
        "--target",
        "y",
        "--sampling",
        "plain,elss1,pooled_ridge,linear",
        "--features",
        "8,16",
        "--repeats",
        "4",
        "--seed",
        "3",
        "--threads",
        "1",
        "--json",
        &paths[0],
        "--csv",
        &paths[1],
        "--svg",
        &paths[2],
    ];
    let output = compare(&arguments, &data);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(found, after["report"], "the number of threads does not matter either");
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("| features | plain | elss1 | pooled_ridge | linear |"), "{page}");
    assert!(page.contains("seeds 3 to 6"), "{page}");
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(progress.lines().last().unwrap().starts_with("32 of 32 fits"), "plain lines off a terminal: {progress}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 9);
    assert!(std::fs::read_to_string(&svg).unwrap().ends_with("</svg>\n"));
}

#[test]
fn the_command_refuses_in_one_line_with_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("waves.csv");
    std::fs::write(&data, waves(60)).unwrap();
    for (arguments, words) in [
        (&["--sampling", "plane"][..], "/samplings/0: must be one of"),
        (&["--target", "z"], "there is no column 'z'"),
        (&["--repeats", "0"], "/repeats: must be a whole number from 1"),
        (&["--features", "20", "--max-features", "16"], "/features/0: must be an even number from 2 to 16"),
        (&["--features", "20", "--memory", "1KiB"], "--memory allows 0 MiB"),
        (&["--spec", "[1]"], "--spec must be a JSON object"),
        (&["--spec", "{"], "--spec is not JSON"),
        (&["--spec", "{\"features\": 3}"], "/spec/features: must be an object"),
        (&["--labels", "5", "--features", "20"], "/labels_per_class: counts rows of each label"),
    ] {
        let output = compare(arguments, &data);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{arguments:?}: {text}");
        assert!(text.starts_with("bochner: ") && text.contains(words), "{arguments:?}: {text}");
    }
    assert_eq!(compare(&["--repeats", "x"], &data).status.code(), Some(2), "what is no number is a usage error");
    assert_eq!(compare(&[], &folder.path().join("none.csv")).status.code(), Some(1));
}

/// Few labels: 5 of each class of 100 rows, the others unlabelled.
#[tokio::test]
async fn labels_can_be_limited_for_each_class() {
    let service = Service::start();
    let row = |i: usize| {
        let x = (i as f64 * 0.618_034).fract();
        format!("{x:.4},{:.4},{}\n", (i as f64 * 0.414_214).fract(), if x > 0.5 { "high" } else { "low" })
    };
    let table: String = std::iter::once("x,z,kind\n".to_owned()).chain((0..125).map(row)).collect();
    service.upload("name=kinds", table).await.ok(201);
    let mut request = json!({
        "type": "compare", "dataset": "kinds", "samplings": ["plain", "elss1", "linear"], "features": [10],
        "labels_per_class": [5, 20], "repeats": 3, "spec": {"lambda": 0.001},
    });
    let job = service.submit_and_wait(&request).await;
    let report = &job["report"];
    assert_eq!(report["metric"], "error_rate", "{job}");
    let rows = &report["repetitions"][0];
    let counts = ["training_rows", "test_rows", "unlabelled_rows"].map(|name| rows[name].as_u64().unwrap());
    assert_eq!(counts, [10, 25, 90], "{rows}");
    let sizes: Vec<u64> =
        report["summary"].as_array().unwrap().iter().map(|c| c["labels_per_class"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [5, 20, 5, 20, 5, 20]);
    request["labels_per_class"] = json!([60]);
    let failed = service.submit_and_wait(&request).await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("nothing_to_learn")));
    assert!(failed["error"]["detail"].as_str().unwrap().contains("asks for 60 rows of label"), "{failed}");
}
