//! `bochner inspect` on artifacts of the service, and on files that are none.

use crate::harness::waves;
use crate::process::Process;
use bochner::model::{decode, encode};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn inspect(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bochner")).arg("inspect").args(arguments).arg(file).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The refusal of a file: one line, exit code 1, nothing else.
fn refusal(file: &Path) -> String {
    let output = inspect(&[], file);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("bochner: "), "{text}");
    text
}

/// An artifact in `folder` and what the service says about it.
fn trained(folder: &Path) -> (PathBuf, Value) {
    let process = Process::start(folder);
    process.upload("waves", &waves(200));
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4});
    let job = process.submit(&json!({"model": "waves", "dataset": "waves", "spec": spec}));
    process.wait_for(&job, &["succeeded"]);
    let told = process.get("/api/v1/models/waves/versions/1");
    process.kill();
    (folder.join("artifacts").join(format!("{job}.bochner")), told)
}

#[test]
fn it_tells_what_the_service_tells() {
    let folder = tempfile::tempdir().unwrap();
    let (file, told) = trained(folder.path());
    let found: Value = serde_json::from_str(&printed(&inspect(&["--json"], &file))).unwrap();
    assert_eq!(found["format_version"], 2);
    for name in ["artifact_sha256", "artifact_bytes", "dataset", "columns", "targets", "kernel", "shapes", "spec"] {
        assert_eq!(found[name], told[name], "{name}");
    }
    assert_eq!(found["report"]["validation_r2"], told["report"]["validation_r2"]);
    assert_eq!(found["report"]["summary"], told["report"]["summary"]);
    let page = printed(&inspect(&[], &file));
    assert!(page.starts_with(&format!(
        "verdict                       {}",
        told["report"]["summary"]["verdict"].as_str().unwrap()
    )));
    let facts = [
        "artifact                      format 2, ",
        "learner                       ridge\n",
        "columns                       x (numeric), colour (categorical: blue, green, red), even (boolean)\n",
        "targets                       y\n",
        "feature_count                 64\n",
        "validation_r2                 0.",
        "\nadvice                        More features would",
    ];
    for fact in facts {
        assert!(page.contains(fact), "{fact} is not in\n{page}");
    }
}

#[test]
fn hostile_files_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = trained(folder.path());
    let good = std::fs::read(&file).unwrap();
    let hostile = folder.path().join("hostile.bochner");
    let refuse = |bytes: &[u8], reason: &str| {
        std::fs::write(&hostile, bytes).unwrap();
        let text = refusal(&hostile);
        assert!(text.contains(reason), "{text}");
    };
    refuse(b"", "not a bochner artifact");
    refuse(b"not one of ours", "not a bochner artifact");
    refuse(&good[..good.len() - 1], "the file has");
    refuse(&[&good[..8], &[9], &good[9..]].concat(), "format 9; this build reads 1 and 2");
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    refuse(&flipped, "the checksum does not match");
    assert!(refusal(folder.path()).contains("not a regular file"));
    assert!(refusal(&folder.path().join("nothing")).contains("No such file"));
}

#[test]
fn a_terminal_is_not_commanded_by_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = trained(folder.path());
    let mut model = decode(&std::fs::read(&file).unwrap()).unwrap();
    model.inputs.encoding.columns[0].name = "\u{1b}[2Jx\ny".into();
    std::fs::write(&file, encode(&model).unwrap()).unwrap();
    let page = printed(&inspect(&[], &file));
    assert!(!page.contains('\u{1b}') && page.contains("\u{fffd}[2Jx\u{fffd}y (numeric)"), "{page}");
}

/// A full disk is told; a reader that has seen enough is none of our business.
#[test]
fn what_cannot_be_written_is_an_error_unless_nobody_reads() {
    let run = |target: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.args(["inspect", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/artifacts/ridge.bochner")]);
        command.stdout(target).stderr(Stdio::piped()).output().unwrap()
    };
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = run(full.into());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("bochner: ") && text.contains("No space left"), "{text}");

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(writer.into());
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
