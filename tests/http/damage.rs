//! Damaged tables and artifacts are named, set aside and repaired; nothing is computed from them.

use crate::data_directory::{doctor, only_file, predict, repair, run, train};
use crate::harness::waves;
use crate::process::Process;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x10;
    fs::write(file, bytes).unwrap();
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
    for path in ["guarantees", "spectrum", "versions/1/artifact", "versions/1/onnx"] {
        let answer = process.get(&format!("/api/v1/models/bad/{path}"));
        assert_eq!((&answer["status"], &answer["code"]), (&json!(500), &json!("model_damaged")), "{answer}");
        let detail = answer["detail"].as_str().unwrap();
        assert!(detail.contains("model 'bad' version 1") && detail.contains("its file is missing"), "{detail}");
    }
    let copy = folder.path().join("copy");
    let (code, text) = run(folder.path(), &["backup", copy.to_str().unwrap()]);
    assert!(code == 3 && text.contains("model 'bad' version 1") && text.contains("its file is missing"), "{text}");
    assert_eq!(predict(&process, "good").as_array().unwrap().len(), 2);
    assert_eq!(process.delete("/api/v1/models/bad"), 204);
    process.kill();
    assert_eq!(doctor(folder.path()).0, 0);
}
