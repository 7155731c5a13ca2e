//! Nothing gets lost: foreign files, a lost database, damaged tables and artifacts.

use crate::harness::waves;
use crate::process::Process;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs the binary to its end; its exit code and all it printed.
fn run(data_dir: &Path, arguments: &[&str]) -> (i32, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bochner")).args(arguments).arg("--data-dir").arg(data_dir).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// A way to lose the database of a directory.
type Lose = fn(&Path);

fn doctor(data_dir: &Path) -> (i32, String) {
    run(data_dir, &["doctor"])
}

fn repair(data_dir: &Path) -> (i32, String) {
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
    let folders = ["datasets", "artifacts", "tmp"].map(|folder| data_dir.join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn only_file(data_dir: &Path, folder: &str, ending: &str) -> PathBuf {
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

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x10;
    fs::write(file, bytes).unwrap();
}

fn train(process: &Process, model: &str, dataset: &str) -> Value {
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4});
    let job = process.submit(&json!({"model": model, "dataset": dataset, "spec": spec}));
    process.wait_for(&job, &["succeeded", "failed"])
}

fn predict(process: &Process, model: &str) -> Value {
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
    let mut models = process.get("/api/v1/models");
    // How long training took is told by the database alone.
    for model in models["models"].as_array_mut().unwrap() {
        model["latest"]["report"]["stage_seconds"].take();
    }
    json!({
        "datasets": process.get("/api/v1/datasets"),
        "first": process.get("/api/v1/datasets/first")["id"],
        "second": process.get("/api/v1/datasets/second")["id"],
        "models": models,
        "aliases": process.get("/api/v1/models/m")["aliases"],
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
            fs::remove_file(root.join("bochner.sqlite-wal")).unwrap();
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
        assert!(!root.join("quarantine").exists(), "{way}");
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
    for directory in ["datasets", "artifacts"] {
        fs::remove_file(only_file(folder.path(), directory, "card")).unwrap();
    }
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
    assert!(code == 1 && text.contains("the database cannot be used"), "{text}");
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
fn a_damaged_table_fails_its_job_by_name_until_it_is_uploaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let id = process.upload("waves", &waves(3_000))["id"].as_str().unwrap().to_owned();
    assert_eq!(train(&process, "m", "waves")["status"], "succeeded");
    let (model, table) = (predict(&process, "m"), only_file(folder.path(), "datasets", "table"));
    let good = fs::read(&table).unwrap();
    let damages: [(&str, &dyn Fn()); 4] = [
        ("block 3 (rows 1537 to 2048) does not match its checksum", &|| {
            flip(&table, good.len() - 3_000 * 32 + 1_600 * 32);
        }),
        ("its header does not match its checksum", &|| flip(&table, 40)),
        ("its length differs from its shape", &|| fs::write(&table, &good[..good.len() - 9]).unwrap()),
        ("its file is missing", &|| fs::remove_file(&table).unwrap()),
    ];
    for (how, damage) in damages {
        damage();
        let job = train(&process, "m", "waves");
        assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("dataset")), "{job}");
        let detail = job["error"]["detail"].as_str().unwrap();
        let expected = format!("dataset 'waves' ({id}) is damaged: {how}; upload the same file again to repair it");
        assert!(detail.contains(&expected), "{detail}");
        process.upload("waves", &waves(3_000));
        assert_eq!(fs::read(&table).unwrap(), good, "{how}");
    }
    assert_eq!(train(&process, "m", "waves")["status"], "succeeded");
    assert_eq!(predict(&process, "m"), model);

    flip(&table, good.len() - 100);
    assert_eq!(process.get("/api/v1/datasets/waves/preview?rows=3")["rows"].as_array().unwrap().len(), 3);
    let (code, text) = doctor(folder.path());
    assert!(code == 1 && text.contains("another process is using"), "{text}");
    process.kill();
    for attempt in [doctor(folder.path()), repair(folder.path())] {
        assert!(
            attempt.0 == 3 && attempt.1.contains("dataset 'waves'") && attempt.1.contains("block 5"),
            "{attempt:?}"
        );
    }
}

/// Two number columns and one of labels, as the first release wrote it.
fn first_format(labels: [f64; 4]) -> Vec<u8> {
    let rows = labels.iter().enumerate().flat_map(|(row, label)| [row as f64, 0.5 * row as f64, *label]);
    let cells = rows.flat_map(f64::to_le_bytes);
    b"BOCHTAB1".iter().copied().chain(4_u64.to_le_bytes()).chain(3_u64.to_le_bytes()).chain(cells).collect()
}

#[test]
fn tables_of_the_first_format_are_migrated_and_their_codes_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("abc", "a,b,c\n0,0,red\n1,0.5,blue\n2,1,red\n3,1.5,blue\n");
    let preview = process.get("/api/v1/datasets/abc/preview");
    process.kill();
    let table = only_file(folder.path(), "datasets", "table");
    fs::write(&table, first_format([1.0, 0.0, 1.0, 0.0])).unwrap();
    let process = Process::start(folder.path());
    assert_eq!(process.get("/api/v1/datasets/abc/preview"), preview);
    assert!(fs::read(&table).unwrap().starts_with(b"BOCHTAB2"));
    process.kill();

    for code in [1e18, 2.0, -1.0, 0.5, f64::INFINITY] {
        fs::write(&table, first_format([1.0, 0.0, code, 0.0])).unwrap();
        let process = Process::start(folder.path());
        let job = process.submit(&json!({"model": "m", "dataset": "abc", "spec": {"learner": "logistic"}}));
        let job = process.wait_for(&job, &["succeeded", "failed"]);
        let detail = job["error"]["detail"].as_str().unwrap();
        assert!(detail.contains("row 3, column 'c' has a code that stands for no level"), "{code}: {job}");
        process.kill();
    }
}

#[test]
fn a_damaged_artifact_is_quarantined_while_all_else_serves() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("waves", &waves(200));
    train(&process, "bad", "waves");
    let artifact = only_file(folder.path(), "artifacts", "bochner");
    train(&process, "good", "waves");
    process.kill();
    flip(&artifact, 2_000);
    let (code, text) = doctor(folder.path());
    assert!(code == 3 && text.contains("model 'bad' version 1") && text.contains("checksum"), "{text}");

    let process = Process::start(folder.path());
    let moved = folder.path().join("quarantine").join(artifact.file_name().unwrap());
    for _ in 0..1_000 {
        if moved.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(moved.exists() && !artifact.exists());
    assert_eq!(predict(&process, "good").as_array().unwrap().len(), 2);
    assert_eq!(process.delete("/api/v1/models/bad"), 204);
    process.kill();
    assert_eq!(doctor(folder.path()).0, 0);
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
