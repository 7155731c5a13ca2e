//! `bochner predict`: an artifact and a file of rows, no service.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use bochner::dataset::CsvOptions;
use bochner::serving::{Format, Refusal, RowReader};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// The rows that the committed artifacts were asked for when they were written.
const ROWS: &str = "even,x,colour\ntrue,0.3,green\nfalse,0.91,red\ntrue,,blue\nfalse,-2.5,mauve\n";

fn artifact(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/artifacts").join(name)
}

/// Runs it with `input` as standard input.
fn predict(model: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    command.arg("predict").arg("--model").arg(model).args(arguments).arg("-");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses its arguments does not read on.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn it_predicts_what_the_service_predicted() {
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(artifact("ridge.json")).unwrap()).unwrap();
    let text = printed(&predict(&artifact("ridge.bochner"), &[], ROWS));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("value"));
    for case in expected.as_array().unwrap() {
        let value: f64 = lines.next().unwrap().parse().unwrap();
        assert!((value - case["values"][0].as_f64().unwrap()).abs() < 1e-5);
    }
    assert_eq!(lines.next(), None);
    let text = printed(&predict(&artifact("logistic.bochner"), &["--to", "ndjson", "--top-k", "2"], ROWS));
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["label"], first["top_k"][0]["label"]);
    assert_eq!((text.lines().count(), first["top_k"].as_array().unwrap().len()), (4, 2));
}

#[test]
fn refusals_are_one_line_and_say_where() {
    let ridge = artifact("ridge.bochner");
    for (model, arguments, input, words) in [
        (&ridge, &["--outputs", "label"][..], ROWS, "/outputs/0: this model predicts numbers"),
        (&ridge, &[], "x,colour,even\n1,red,true\ny,red,true\n", "/lines/3/x: expected a number"),
        (&ridge, &[], "x,colour\n1,red\n", "the model needs column 'even'"),
        (&ridge, &[], "x,colour,even\n1,red,true\n1e308,red,true\n", "/lines/3: an input is so far from the training"),
        (&ridge, &["--outputs", "error_bar"], "x,colour,even\n1e308,red,true\n", "/lines/2: an input is so far"),
        (&ridge, &[], "x,colour,even\n1,red,\"true\n", "/lines/2: a quote is not closed"),
        (&ridge, &[], "x,colour,even\n", "the table has no rows"),
        (&ridge, &["--from", "ndjson"], "\n", "the table has no rows"),
        (&artifact("ridge.json"), &[], ROWS, "not a bochner artifact"),
        (&artifact("none.bochner"), &[], ROWS, "No such file"),
    ] {
        let output = predict(model, arguments, input);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
        assert!(text.starts_with("bochner: ") && text.contains(words), "{text}");
    }
}

#[test]
fn compressed_files_are_read_by_their_ending() {
    let (ridge, folder) = (artifact("ridge.bochner"), tempfile::tempdir().unwrap());
    let expected = printed(&predict(&ridge, &[], ROWS));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(ROWS.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.arg("predict").arg("--model").arg(&ridge).arg(path).output().unwrap()
    };
    assert_eq!(printed(&read("rows.csv.gz", &gzip)), expected);
    assert_eq!(printed(&read("rows.csv.zst", &zstd::encode_all(ROWS.as_bytes(), 1).unwrap())), expected);
    let line = "{\"x\": 0.3, \"colour\": \"green\", \"even\": true}\n";
    let lines = printed(&read("rows.jsonl.zst", &zstd::encode_all(line.as_bytes(), 1).unwrap()));
    assert_eq!(Some(lines.trim()), expected.lines().nth(1));
    let cut = read("cut.csv.gz", &gzip[..gzip.len() - 5]);
    assert_eq!(cut.status.code(), Some(1));
    assert!(String::from_utf8(cut.stderr).unwrap().starts_with("bochner: "));
}

/// The decoder of Arrow panics on a message with offsets outside of itself; that is one line like any other refusal.
#[test]
fn hostile_arrow_is_refused_without_a_word_of_panic() {
    let model = bochner::model::decode(&std::fs::read(artifact("ridge.bochner")).unwrap()).unwrap();
    let x = Arc::new(Float64Array::from(vec![0.3, 0.4])) as ArrayRef;
    let colour = Arc::new(StringArray::from(vec!["red", "green"])) as ArrayRef;
    let even = Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("x", x), ("colour", colour), ("even", even)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let good = writer.into_inner().unwrap();
    let options = CsvOptions { delimiter: b',', header: None };
    let outside = |bytes: &[u8]| {
        let mut reader = RowReader::open(Format::Arrow, bytes, options, &model).unwrap().unwrap();
        let detail =
            |refusal| matches!(refusal, Refusal::Malformed { detail, .. } if detail.contains("outside of itself"));
        reader.next_block().is_err_and(detail)
    };
    let bad = (0..good.len()).map(|at| [&good[..at], &[0x7f], &good[at + 1..]].concat()).find(|bytes| outside(bytes));
    let file = tempfile::NamedTempFile::with_suffix(".arrow").unwrap();
    std::fs::write(file.path(), bad.expect("some byte leads astray")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    let output =
        command.arg("predict").arg("--model").arg(artifact("ridge.bochner")).arg(file.path()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.contains("a message has offsets outside of itself"), "{text}");
}

/// A full disk is told; a reader that has seen enough is none of our business.
#[test]
fn what_cannot_be_written_is_an_error_unless_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, format!("x,colour,even\n{}", "0.3,green,true\n".repeat(20_000))).unwrap();
    for format in ["csv", "ndjson", "arrow"] {
        let run = |target: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
            command.arg("predict").arg("--model").arg(artifact("ridge.bochner")).args(["--to", format]).arg(&rows);
            command.stdout(target).stderr(Stdio::piped()).output().unwrap()
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = run(full.into());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}: {text}");
        assert!(text.starts_with("bochner: cannot write the predictions: No space left"), "{format}: {text}");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = run(writer.into());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn the_demo_walks_from_a_table_to_a_prediction_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let demo = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.args(["demo", "--exit"]).env("TMPDIR", folder.path()).current_dir(folder.path()).output().unwrap()
    };
    let output = demo();
    let text = printed(&output);
    for part in [
        "1. A table of 1200 hours",
        "hour,temperature,wind,weather,holiday,rentals",
        "2. Train",
        "Trained on 960 rows",
        "3. The verdict",
        "proved: ",
        "4. Predict",
        "with probability at least 95%",
        "/models/bicycles/try",
    ] {
        assert!(text.contains(part), "'{part}' in {text}");
    }
    assert_eq!(text.matches("http://127.0.0.1:").count(), 5, "{text}");
    // More rentals in the morning than at night, as the table was made.
    let rentals = |line: &str| {
        let line = text.lines().find(|found| found.contains(line)).unwrap_or_else(|| panic!("{line} in {text}"));
        line.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(rentals("At 8 o'clock") > 2.0 * rentals("At 2 o'clock"), "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the temporary folder is removed");
    let progress = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!progress.contains('\u{1b}'), "no escape codes outside of a terminal: {progress}");
}
