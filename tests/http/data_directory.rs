//! Nothing gets lost: foreign files, a lost database, files without an entry.

use crate::harness::waves;
use crate::process::Process;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the binary to its end; its exit code and all it printed.
pub(crate) fn run(data_dir: &Path, arguments: &[&str]) -> (i32, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bochner")).args(arguments).arg("--data-dir").arg(data_dir).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// A way to lose the database of a directory.
type Lose = fn(&Path);

pub(crate) fn doctor(data_dir: &Path) -> (i32, String) {
    run(data_dir, &["doctor"])
}

pub(crate) fn repair(data_dir: &Path) -> (i32, String) {
    run(data_dir, &["doctor", "--repair"])
}

/// Starting must be refused with instructions.
fn refused(data_dir: &Path) -> String {
    let (code, text) = run(data_dir, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("Nothing was changed") && text.contains("bochner doctor --repair"), "{text}");
    text
}

/// Every file of these folders with its bytes.
fn contents(data_dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = ["datasets", "artifacts", "cards", "tmp"].map(|folder| data_dir.join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

pub(crate) fn only_file(data_dir: &Path, folder: &str, ending: &str) -> PathBuf {
    let files = fs::read_dir(data_dir.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) fn train(process: &Process, model: &str, dataset: &str) -> Value {
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4});
    let job = process.submit(&json!({"model": model, "dataset": dataset, "spec": spec}));
    process.wait_for(&job, &["succeeded", "failed"])
}

pub(crate) fn predict(process: &Process, model: &str) -> Value {
    let body = json!({"rows": [[0.5, "red", true], [0.1, "blue", false]]}).to_string();
    process.post(&format!("/api/v1/models/{model}/predict"), "application/json", &body)["predictions"].take()
}

#[test]
fn a_folder_of_somebody_else_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = [
        "datasets/my_only_copy.csv",
        "datasets/ds-0123456789abcdef0123.table",
        "artifacts/model.pt",
        "artifacts/best.bochner",
        "tmp/draft",
        "tmp/019a93f7e0c07d10a2a6e51b7b2a0a11",
    ];
    for file in foreign.map(|file| folder.path().join(file)) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "somebody's own work").unwrap();
    }
    for _ in 0..2 {
        let process = Process::start(folder.path());
        process.upload("waves", &waves(50));
        process.kill();
        for file in foreign {
            let content = fs::read_to_string(folder.path().join(file));
            assert_eq!(content.ok().as_deref(), Some("somebody's own work"), "{file}");
        }
    }
    assert!(!folder.path().join("quarantine").exists());
    let (code, text) = repair(folder.path());
    assert_eq!(code, 0, "{text}");
    assert!(foreign.iter().all(|file| folder.path().join(file).exists()));
}

/// What the service tells of everything that must come back.
fn told(process: &Process) -> Value {
    let mut model = process.get("/api/v1/models/m");
    model["latest"]["report"]["stage_seconds"].take(); // told by the database alone
    json!({
        "datasets": process.get("/api/v1/datasets"),
        "first": process.get("/api/v1/datasets/first")["id"],
        "second": process.get("/api/v1/datasets/second")["id"],
        "models": process.get("/api/v1/models"),
        "model": model,
        "predictions": [predict(process, "m"), predict(process, "m@prod"), predict(process, "other")],
    })
}

/// A directory with two datasets, one of them under two names, and two models, one with an alias and a version that was
/// deleted; killed, so that most of the database is in its -wal.
fn lived_in(data_dir: &Path) -> Value {
    let process = Process::start(data_dir);
    process.upload("first", &waves(200));
    process.upload("second", &waves(200));
    process.upload("long", &waves(300));
    for dataset in ["second", "long", "long"] {
        assert_eq!(train(&process, "m", dataset)["status"], "succeeded");
    }
    assert_eq!(train(&process, "other", "long")["status"], "succeeded");
    assert_eq!(process.put("/api/v1/models/m/aliases/prod", &json!({"version": 1})), 201);
    assert_eq!(process.delete("/api/v1/models/m/versions/3"), 204);
    let before = told(&process);
    process.kill();
    before
}

#[test]
fn a_lost_database_is_noticed_and_made_again_from_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    let before = lived_in(&original);
    let ways: [(&str, Lose); 4] = [
        ("missing", |root| {
            for file in ["bochner.sqlite", "bochner.sqlite-wal", "bochner.sqlite-shm"] {
                fs::remove_file(root.join(file)).unwrap();
            }
        }),
        ("empty", |root| {
            fs::write(root.join("bochner.sqlite"), b"").unwrap();
        }),
        ("without -wal", |root| fs::remove_file(root.join("bochner.sqlite-wal")).unwrap()),
        ("of others", |root| {
            let other = root.with_extension("other");
            let process = Process::start(&other);
            process.upload("else", &waves(90));
            process.terminate();
            fs::remove_file(root.join("bochner.sqlite-wal")).unwrap();
            fs::copy(other.join("bochner.sqlite"), root.join("bochner.sqlite")).unwrap();
        }),
    ];
    for (number, (way, lose)) in ways.into_iter().enumerate() {
        let root = folder.path().join(number.to_string());
        copy(&original, &root);
        lose(&root);
        let files = contents(&root);
        let text = refused(&root);
        assert!(text.contains("holds 2 tables and 3 model artifacts"), "{way}: {text}");
        let (code, text) = doctor(&root);
        assert_eq!(code, 3, "{way}: {text}");
        assert_eq!(contents(&root), files, "{way}");
        assert!(way != "empty" || root.join("bochner.sqlite-wal").exists()); // it may hold all there is

        let (code, text) = repair(&root);
        assert_eq!(code, if way == "of others" { 3 } else { 0 }, "{way}: {text}"); // their table is not here
        for line in ["dataset 'second'", "dataset 'long'", "model 'm' version 1", "model 'm' version 2", "'other'"] {
            assert!(text.contains(line), "{way}: {line} in {text}");
        }
        let process = Process::start(&root);
        if way == "of others" {
            assert_eq!(process.delete("/api/v1/datasets/else"), 204);
        }
        assert_eq!(told(&process), before, "{way}");
        assert_eq!(train(&process, "m", "long")["version"], 4, "{way}"); // no number is given out twice
        process.kill();
        let (code, text) = doctor(&root);
        assert_eq!(code, 0, "{way}: {text}");
        let aside = fs::read_dir(root.join("quarantine")).into_iter().flatten();
        for file in aside.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
            assert!(file.starts_with("bochner.sqlite"), "{way}: {file}"); // what was left of the database, no other
        }
    }
}

/// The database of an earlier moment knows some of the files, and must not be taken for the whole truth.
#[test]
fn a_database_that_is_older_than_the_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("first", &waves(200));
    train(&process, "m", "first");
    process.terminate();
    let early = fs::read(folder.path().join("bochner.sqlite")).unwrap();
    let process = Process::start(folder.path());
    process.upload("second", &waves(300));
    train(&process, "m", "second");
    assert_eq!(process.put("/api/v1/models/m/aliases/prod", &json!({"version": 2})), 201);
    let before = predict(&process, "m@prod");
    process.terminate();
    fs::write(folder.path().join("bochner.sqlite"), early).unwrap();

    assert!(refused(folder.path()).contains("older than these files"));
    assert_eq!(repair(folder.path()).0, 0);
    let process = Process::start(folder.path());
    assert_eq!(predict(&process, "m@prod"), before);
    assert_eq!(process.get("/api/v1/datasets")["datasets"].as_array().unwrap().len(), 2);
    process.kill();
}

/// Artifacts of releases without cards, whose database is gone: nothing tells whose they are, and they still serve.
#[test]
fn artifacts_without_a_card_come_back_as_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("first", &waves(200));
    train(&process, "m", "first");
    let before = predict(&process, "m");
    process.terminate();
    fs::remove_file(folder.path().join("bochner.sqlite")).unwrap();
    fs::remove_dir_all(folder.path().join("cards")).unwrap();
    refused(folder.path());
    assert_eq!(repair(folder.path()).0, 0);
    let process = Process::start(folder.path());
    assert_eq!(predict(&process, "recovered"), before);
    assert_eq!(process.get("/api/v1/datasets/first")["rows"], 200);
    process.kill();
}

#[test]
fn a_damaged_database_is_moved_aside_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("first", &waves(200));
    process.terminate();
    let database = folder.path().join("bochner.sqlite");
    fs::write(&database, b"not a database at all, but long enough to be taken for one by its length").unwrap();
    let (code, text) = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && text.contains("bochner.sqlite is damaged. Nothing was changed"), "{text}");
    assert_eq!(doctor(folder.path()).0, 3);
    assert_eq!(repair(folder.path()).0, 0);
    assert!(folder.path().join("quarantine/bochner.sqlite").exists());
    let process = Process::start(folder.path());
    assert_eq!(process.get("/api/v1/datasets/first")["rows"], 200);
    process.kill();
}

/// What a crash leaves between a file and its entry is kept aside, with a line in the log.
#[test]
fn a_file_without_an_entry_is_moved_and_never_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("first", &waves(200));
    train(&process, "m", "first");
    process.kill();
    let files = contents(folder.path());
    let database = Connection::open(folder.path().join("bochner.sqlite")).unwrap();
    database
        .execute_batch("DELETE FROM models; DELETE FROM dataset_names; DELETE FROM datasets; DELETE FROM jobs;")
        .unwrap();
    drop(database);
    let (code, text) = doctor(folder.path());
    assert!(code == 3 && text.contains("no entry of the database refers to it"), "{text}");
    assert_eq!(contents(folder.path()), files);
    let process = Process::start(folder.path());
    process.kill();
    for (file, content) in files.iter().filter(|(file, _)| !file.to_string_lossy().contains("model-")) {
        let moved = folder.path().join("quarantine").join(file.file_name().unwrap());
        assert_eq!(&fs::read(moved).unwrap(), content);
        assert!(!file.exists());
    }
}

#[test]
fn files_are_readable_by_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("data");
    let process = Process::start(&root);
    process.upload("waves", &waves(200));
    train(&process, "m", "waves");
    let mut seen = 0;
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                seen += 1;
            }
        }
    }
    process.kill();
    assert!(seen >= 9, "{seen}"); // lock, reserve, database with -wal and -shm, table, artifact, two cards
}
