//! How much of the disk is taken, and what is kept on it.

use crate::harness::{Service, waves};
use crate::process::Process;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test]
async fn at_the_low_water_mark_uploads_and_jobs_are_refused_and_predictions_go_on() {
    let service = Service::with_model_and(&["--max-disk", "16MiB", "--min-free-disk", "1MiB"]).await;
    let info = service.get("/api/v1/info").await.ok(200);
    assert_eq!((&info["limits"]["disk_bytes"], &info["disk"]["low"]), (&json!(16 << 20), &json!(false)), "{info}");
    // Counted before it is written: a table that would not fit leaves nothing.
    let refusal = service.upload("name=long", waves(600_000)).await.refused(507, "disk_full");
    assert!(refusal["detail"].as_str().unwrap().contains("--max-disk"), "{refusal}");
    assert!(service.files("tmp").is_empty());
    std::fs::write(service.data_dir().join("somebody-elses"), vec![0; 16 << 20]).unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await; // the last measurement is used for a second

    let job = json!({"model": "more", "dataset": "waves", "spec": {"features": {"count": 8}}});
    service.post("/api/v1/jobs", &job).await.refused(507, "disk_full");
    service.upload("name=short", waves(20)).await.refused(507, "disk_full");
    let artifact = service.get("/api/v1/models/waves/versions/1/artifact").await.bytes;
    let import = service.post_as("/api/v1/models/copy/versions", "application/octet-stream", artifact).await;
    import.refused(507, "disk_full");
    let rows = json!({"rows": [[0.3, "green", true]]});
    service.post("/api/v1/models/waves/predict", &rows).await.ok(200);
    assert_eq!(service.get("/api/v1/info").await.ok(200)["disk"]["low"], true);
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("\nbochner_disk_room_bytes 0\n"), "{metrics}");

    std::fs::remove_file(service.data_dir().join("somebody-elses")).unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(service.submit_and_wait(&job).await["status"], "succeeded");
}

/// A job that is queued when the disk runs low waits, and runs when there is room.
#[tokio::test]
async fn queued_jobs_wait_for_room() {
    let service = Service::with_model_and(&["--max-disk", "16MiB", "--min-free-disk", "1MiB"]).await;
    let job = json!({"model": "more", "dataset": "waves", "spec": {"features": {"count": 8}}});
    let room = service.data_dir().join("somebody-elses");
    service.get("/api/v1/info").await.ok(200); // measured now, and used for a second
    std::fs::write(&room, vec![0; 16 << 20]).unwrap();
    let queued = service.post("/api/v1/jobs", &job).await;
    if queued.status == 202 {
        std::fs::remove_file(&room).unwrap();
        let path = format!("/api/v1/jobs/{}", queued.json()["id"].as_str().unwrap());
        let deadline = Instant::now() + Duration::from_secs(30);
        while service.get(&path).await.ok(200)["status"] != "succeeded" {
            assert!(Instant::now() < deadline);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn numbers(process: &Process) -> Vec<Value> {
    let model = process.get("/api/v1/models/m");
    model["versions"].as_array().unwrap().iter().map(|version| version["version"].clone()).collect()
}

#[test]
fn old_versions_without_alias_and_finished_jobs_go_when_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("waves", &waves(100));
    for _ in 0..4 {
        let job = process.submit(&json!({"model": "m", "dataset": "waves", "spec": {"features": {"count": 8}}}));
        process.wait_for(&job, &["succeeded"]);
    }
    assert_eq!(process.put("/api/v1/models/m/aliases/prod", &json!({"version": 2})), 201);
    assert_eq!(numbers(&process), [4, 3, 2, 1]);
    process.terminate();
    // Off by default; then by count.
    let process = Process::start(folder.path());
    assert_eq!(process.get("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 4);
    process.terminate();
    let flags = ["--keep-versions", "1", "--keep-jobs", "1", "--keep-version-days", "30", "--keep-job-days", "30"];
    let process = Process::start_with(folder.path(), &flags);
    process.wait_for_log("deleted an old version");
    // A version is gone from the lists before its file is gone from the disk.
    let artifacts = || std::fs::read_dir(folder.path().join("artifacts")).unwrap().count();
    let jobs = || process.get("/api/v1/jobs")["jobs"].as_array().unwrap().len();
    let deadline = Instant::now() + Duration::from_secs(30);
    while (numbers(&process), jobs(), artifacts()) != (vec![json!(4), json!(2)], 1, 2) {
        assert!(Instant::now() < deadline, "{:?}, {} jobs, {} files", numbers(&process), jobs(), artifacts());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(process.get("/api/v1/info")["limits"]["kept_versions"], 1);
    process.kill();
}
