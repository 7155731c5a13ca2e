//! The rules of the house: who may use whom, and how long a file may be.
#![allow(clippy::unwrap_used)] // a test may panic

use std::fs;
use std::path::{Path, PathBuf};

/// Each module with the modules it may use, from the top of the service to its foundations. An edge
/// that is not here is a decision, not an accident: add it with care.
const ALLOWED: [(&str, &[&str]); 18] = [
    ("main", &["cli"]),
    ("cli", &["app", "config", "dataset", "model", "serving", "telemetry"]),
    (
        "app",
        &[
            "api",
            "config",
            "database",
            "dataset",
            "files",
            "jobs",
            "linalg",
            "model",
            "reserve",
            "runner",
            "serving",
            "telemetry",
            "training",
        ],
    ),
    (
        "api",
        &[
            "config",
            "dataset",
            "jobs",
            "json",
            "model",
            "problem",
            "serving",
            "suggest",
            "telemetry",
            "theory",
            "training",
        ],
    ),
    ("runner", &["dataset", "jobs", "model", "serving", "telemetry", "training"]),
    ("telemetry", &["config"]),
    ("jobs", &["database"]),
    ("serving", &["dataset", "json", "model", "problem", "suggest", "telemetry", "theory"]),
    ("training", &["dataset", "features", "model", "problem", "solver", "suggest", "theory"]),
    ("model", &["database", "dataset", "features", "files", "linalg", "solver", "theory"]),
    ("dataset", &["database", "files", "random", "suggest"]),
    ("solver", &["features", "linalg"]),
    ("features", &["linalg", "random"]),
    ("theory", &[]),
    ("config", &[]),
    ("database", &["reserve"]),
    ("files", &[]),
    ("lib", &[]),
];

/// Crates that only one place may name.
const OWNED: [(&str, &str); 4] =
    [("bincode::", "model/artifact.rs"), ("ndarray_linalg", "linalg"), ("unsafe ", "linalg"), ("axum", "api/")];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Every file under src with its path relative to it.
fn source_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let relative = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    sources(&root).iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

/// The code of a file without its unit tests and comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn module_of(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

#[test]
fn modules_use_only_what_they_may() {
    for (path, text) in source_files() {
        let module = module_of(&path);
        let allowed = ALLOWED.iter().find(|(name, _)| *name == module).map_or(&[][..], |(_, allowed)| allowed);
        for (at, _) in code(&text).match_indices("crate::") {
            let used: String = code(&text)[at + "crate::".len()..]
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                .collect();
            assert!(used == module || allowed.contains(&used.as_str()), "{path} may not use {used}");
        }
    }
}

#[test]
fn some_crates_have_one_owner() {
    for (path, text) in source_files() {
        for (word, owner) in OWNED {
            assert!(path.starts_with(owner) || !code(&text).contains(word), "{path} names {word}");
        }
    }
}

#[test]
fn files_stay_short_enough_to_read() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let tests =
        sources(&tests).into_iter().map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap()));
    for (path, text) in source_files().into_iter().chain(tests) {
        let lines = text.lines().count();
        assert!(lines <= 400, "{path} has {lines} lines");
    }
}
