//! `bochner train`, `compare`, `guarantees` and `completions`: the same library, no service, and exit codes that are kept.

use crate::harness::waves;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FAST: &str = r#"{"effort": "fast", "features": {"count": 32}, "lambda": 1e-3}"#;

fn bochner(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    command.current_dir(folder).args(arguments).env("RUST_BACKTRACE", "0").output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The exit code, and the words on standard error.
fn failed(output: &Output) -> (i32, String) {
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder with a table.
fn folder(name: &str, content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

#[test]
fn a_model_is_trained_and_its_guarantees_are_listed() {
    let (folder, _) = folder("waves.csv", waves(300));
    let at = folder.path();
    let output = bochner(at, &["train", "waves.csv", "--target", "y", "--spec", FAST]);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("waves: 300 rows of 4 columns; target y"), "{notes}");
    let page = printed(&output);
    assert!(page.ends_with("model: waves.bochner\n"), "{page}");

    // As JSON, to a chosen file, by any number of threads: the same bytes.
    let arguments = ["train", "waves.csv", "--target", "y", "--spec", FAST, "--json", "--output", "again.bochner"];
    let description: Value =
        serde_json::from_str(&printed(&bochner(at, &[&arguments[..], &["--threads", "1"]].concat()))).unwrap();
    assert_eq!((&description["target"], &description["artifact"]), (&json!("y"), &json!("again.bochner")));
    let verdict = description["report"]["summary"]["verdict"].as_str().unwrap();
    assert_eq!(page.lines().next(), Some(verdict));
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("waves.bochner"), bytes("again.bochner"));

    let rows = "x,colour,even\n0.5,red,true\n";
    std::fs::write(at.join("rows.csv"), rows).unwrap();
    let predicted = printed(&bochner(at, &["predict", "--model", "waves.bochner", "rows.csv"]));
    assert!(predicted.lines().nth(1).unwrap().parse::<f64>().unwrap().is_finite(), "{predicted}");

    let short = printed(&bochner(at, &["guarantees", "waves.bochner"]));
    assert!(short.contains("bochner.jackknife (") && !short.contains("(not_applicable)"), "{short}");
    let all = printed(&bochner(at, &["guarantees", "waves.bochner", "--all"]));
    assert!(all.contains("(not_applicable)") && all.len() > short.len(), "{all}");
    let arguments = ["guarantees", "waves.bochner", "--all", "--json", "--delta", "0.01"];
    let found: Value = serde_json::from_str(&printed(&bochner(at, &arguments))).unwrap();
    assert_eq!(found["delta"], 0.01);
    let ids: Vec<&str> =
        found["guarantees"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"wang.theorem1") && ids.contains(&"conformal"), "{ids:?}");
}

#[test]
fn columns_are_read_as_the_flags_say() {
    let table = "code;when;price;size;note;y\n".to_owned()
        + &(0..60)
            .map(|i| format!("{};0{}/0{}/2026;{},5;lost;n{i};{}\n", i % 3, i % 9 + 1, i % 7 + 1, i, i * 2))
            .collect::<Vec<_>>()
            .concat();
    let table = table.replacen(";lost;", ";3;", 40);
    let (folder, _) = folder("sales.csv", table);
    let flags = "--delimiter semicolon --decimal comma --categorical code --datetime when --day-first true \
                 --ignore note --missing lost --numeric size,price --target y --task regression";
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let train = [&["train", "sales.csv", "--json", "--spec", FAST][..], &flags].concat();
    let output = bochner(folder.path(), &train);
    let description: Value = serde_json::from_str(&printed(&output)).unwrap();
    let kinds: Vec<(&str, &str)> = description["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| (column["name"].as_str().unwrap(), column["kind"].as_str().unwrap()))
        .collect();
    assert!(kinds.contains(&("code", "categorical")) && kinds.contains(&("price", "numeric")), "{kinds:?}");
    assert!(kinds.contains(&("size", "numeric")) && !kinds.iter().any(|(name, _)| *name == "note"), "{kinds:?}");
    assert!(kinds.iter().any(|(name, kind)| *name == "when" && kind.starts_with("date")), "{kinds:?}");
    assert!(description["report"]["filled_cells"].as_u64().unwrap() > 0, "{}", description["report"]);

    // The same flags, the same struct: a comparison reads the same table.
    let compare = ["compare", "--data", "sales.csv", "--sampling", "plain", "--features", "8", "--repeats", "2"];
    let page = printed(&bochner(folder.path(), &[&compare[..], &flags].concat()));
    assert!(page.contains("test RMSE of y"), "{page}");

    for (flag, value, words) in
        [("--ignore", "nobody", "nobody"), ("--numeric", "note", "note"), ("--target", "nobody", "nobody")]
    {
        let mut wrong = train.clone();
        match wrong.iter().position(|argument| *argument == flag) {
            Some(place) => wrong[place + 1] = value,
            None => wrong.extend([flag, value]),
        }
        let (code, said) = failed(&bochner(folder.path(), &wrong));
        assert!(code == 1 && said.starts_with("bochner: sales.csv: ") && said.contains(words), "{flag}: {said}");
    }
}

#[test]
fn every_upload_format_is_read_and_findings_are_told() {
    let (folder, _) = folder(
        "table.tsv",
        "id\tx\ty\n".to_owned() + &(0..80).map(|i| format!("k{i}\t{i}\t{}\n", i * i)).collect::<Vec<_>>().concat(),
    );
    let at = folder.path();
    let output = bochner(at, &["train", "table.tsv", "--spec", FAST]);
    printed(&output);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("column 'id': "), "an identifier is left out, and that is said: {notes}");
    let records: Vec<Value> = (0..80).map(|i| json!({"x": i, "y": i * i})).collect();
    std::fs::write(at.join("records.json"), json!(records).to_string()).unwrap();
    let lines = records.iter().map(|record| format!("{record}\n")).collect::<Vec<_>>().concat();
    std::fs::write(at.join("lines.ndjson"), &lines).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, lines.as_bytes()).unwrap();
    std::fs::write(at.join("packed.ndjson.gz"), gzip.finish().unwrap()).unwrap();
    let mut found = Vec::new();
    for name in ["records.json", "lines.ndjson", "packed.ndjson.gz"] {
        let arguments = ["train", name, "--target", "y", "--spec", FAST, "--output", "one.bochner", "--json"];
        let description: Value = serde_json::from_str(&printed(&bochner(at, &arguments))).unwrap();
        found.push(description["report"]["training_mse"].clone());
    }
    assert!(found[0].is_number() && found.iter().all(|error| *error == found[0]), "{found:?}");
}

#[test]
fn exit_codes_are_what_the_help_says() {
    let (folder, _) = folder("waves.csv", waves(100));
    let at = folder.path();
    let help = printed(&bochner(at, &["--help"]));
    for code in ["  0  ", "  1  ", "  2  ", "  3  ", "  130  "] {
        assert!(help.contains(code), "{code}: {help}");
    }
    let one = [
        (&["train", "none.csv"][..], "none.csv: "),
        (&["train", "waves.csv", "--spec", "none.json"], "--spec none.json: "),
        (&["train", "waves.csv", "--spec", "{"], "--spec is not JSON"),
        (&["train", "waves.csv", "--spec", r#"{"lambada": 1}"#], "did you mean"),
        (
            &["train", "waves.csv", "--max-features", "16", "--spec", r#"{"features": {"count": 32}}"#],
            "/spec/features/count",
        ),
        (&["train", "waves.csv", "--memory", "1KiB", "--spec", FAST], "--memory allows 0 MiB"),
        (&["train", "waves.csv", "--spec", FAST, "--output", "no/such/folder/m.bochner"], "no/such/folder/m.bochner: "),
        (&["guarantees", "none.bochner"], "none.bochner: "),
        (&["guarantees", "waves.csv"], "waves.csv: "),
        (&["guarantees", "waves.csv", "--delta", "2"], "--delta must be"),
        (&["compare", "--data", "none.csv"], "none.csv: "),
        (&["healthcheck", "--listen", "127.0.0.1:1"], "bochner: "),
        (&["doctor", "--data-dir", "none"], "bochner: "),
    ];
    for (arguments, words) in one {
        let (code, said) = failed(&bochner(at, arguments));
        assert!(code == 1 && said.contains(words), "{arguments:?}: {code} {said}");
        assert_eq!(said.lines().last().unwrap().find("bochner: "), Some(0), "{said}");
    }
    assert!(!at.join("waves.bochner").exists(), "nothing is written by a command that fails");
    for arguments in [
        &["train"][..],
        &["train", "waves.csv", "--no-such-flag"],
        &["train", "waves.csv", "--task", "guessing"],
        &["train", "waves.csv", "--decimal", "dot"],
        &["completions", "cmd"],
        &["guarantees"],
        &["no-such-command"],
    ] {
        assert_eq!(failed(&bochner(at, arguments)).0, 2, "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_stopped_training_leaves_no_model_and_exits_with_130() {
    use std::io::{BufRead, BufReader};
    let (folder, _) = folder("waves.csv", waves(60_000));
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    let spec = r#"{"effort": "fast", "features": {"count": 4096}}"#;
    command.current_dir(folder.path()).args(["train", "waves.csv", "--spec", spec]);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("60000 rows") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it told the table");
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let rest: Vec<String> = said.lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.last().unwrap().contains("stopped; no model was written"), "{rest:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the table is there");
}

#[test]
fn completions_name_the_commands_and_their_flags() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&bochner(folder.path(), &["completions", shell]));
        for word in ["train", "guarantees", "categorical", "cors-origins"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    if Command::new("bash").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let script = printed(&bochner(folder.path(), &["completions", "bash"]));
        let path = folder.path().join("bochner.bash");
        std::fs::write(&path, script).unwrap();
        let checked = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}
