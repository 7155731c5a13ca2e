//! `bochner predict`: an artifact and a file of rows, no service.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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
        (&ridge, &[], "x,colour,even\n1,red,true\ny,red,true\n", "/lines/3/x: a number is expected here"),
        (&ridge, &[], "x,colour\n1,red\n", "the model needs column 'even'"),
        (&ridge, &[], "x,colour,even\n1,red,true\n1e308,red,true\n", "/rows/1: an input is so far from the training"),
        (&ridge, &["--outputs", "error_bar"], "x,colour,even\n1e308,red,true\n", "/rows/0: an input is so far"),
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
