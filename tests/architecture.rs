//! The rules of the house: who may use whom, and how long a file may be.
#![allow(clippy::unwrap_used)] // a test may panic

use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms it may use, from the top of the service to its foundations. A room is a top folder or a
/// folder in it, and the name of a top folder alone stands for what its `mod.rs` offers. An edge that is not here is a
/// decision, not an accident: add it with care. A room may always use itself, the folder it is in and, from that
/// folder's own files, its rooms.
const ALLOWED: [(&str, &[&str]); 58] = [
    ("main", &["cli"]),
    ("lib", &[]),
    (
        "cli",
        &[
            "app",
            "cluster",
            "config",
            "dataset",
            "keys",
            "model",
            "plots",
            "reproduce",
            "request",
            "serving",
            "telemetry",
            "theory",
            "theory::ours",
            "training",
        ],
    ),
    ("cli::inputs", &["app", "config", "dataset", "request", "training"]),
    ("cli::demo", &["app"]),
    ("cli::cluster", &["cli::inputs", "cluster", "config", "linalg", "training"]),
    ("cluster", &["config", "dataset", "training"]),
    (
        "reproduce",
        &["app", "dataset", "features", "linalg", "plots", "random", "solver", "theory", "theory::papers", "training"],
    ),
    ("reproduce::avron", &["dataset", "features", "solver", "theory", "theory::papers"]),
    (
        "app",
        &[
            "api",
            "cluster",
            "config",
            "dataset",
            "jobs",
            "keys",
            "linalg",
            "model",
            "request",
            "serving",
            "storage",
            "telemetry",
            "theory",
            "training",
        ],
    ),
    ("config", &["linalg", "request"]),
    ("telemetry", &["config"]),
    ("api", &["config", "dataset", "jobs", "keys", "model", "serving", "storage", "telemetry"]),
    ("api::console", &["api::http", "keys", "plots", "storage", "telemetry"]),
    ("api::auth", &["api::http", "config", "keys", "telemetry"]),
    (
        "api::resources",
        &[
            "api::auth",
            "api::http",
            "cluster",
            "config",
            "dataset",
            "jobs",
            "keys",
            "model",
            "plots",
            "request",
            "serving",
            "storage",
            "telemetry",
            "theory",
            "theory::ours",
            "theory::papers",
            "theory::plan",
            "training",
        ],
    ),
    ("api::predict", &["api::auth", "api::http", "dataset", "model", "request", "serving", "telemetry"]),
    ("api::http", &["config", "dataset", "jobs", "model", "request", "serving", "storage", "telemetry"]),
    ("keys", &["storage"]),
    ("jobs", &["storage", "telemetry"]),
    ("serving", &["dataset", "model", "request", "telemetry", "theory", "theory::ours"]),
    ("serving::runtime", &["model", "telemetry"]),
    ("serving::formats", &["dataset", "model", "request", "telemetry"]),
    ("training", &["dataset", "features", "model", "request", "solver", "theory", "theory::papers", "theory::plan"]),
    (
        "training::compare",
        &[
            "dataset",
            "features",
            "model",
            "plots",
            "request",
            "training::assess",
            "training::choose",
            "training::fit",
            "training::rows",
            "training::spec",
        ],
    ),
    (
        "training::assess",
        &[
            "dataset",
            "features",
            "model",
            "solver",
            "theory",
            "theory::ours",
            "training::fit",
            "training::rows",
            "training::spec",
        ],
    ),
    (
        "training::fit",
        &["dataset", "features", "model", "solver", "theory", "theory::ours", "training::rows", "training::spec"],
    ),
    (
        "training::choose",
        &[
            "dataset",
            "features",
            "model",
            "solver",
            "theory",
            "theory::papers",
            "training::fit",
            "training::rows",
            "training::spec",
        ],
    ),
    (
        "training::located",
        &["dataset", "features", "model", "request", "solver", "sums", "training::rows", "training::spec"],
    ),
    ("training::partial", &["dataset", "features", "solver", "sums"]),
    ("training::rows", &["dataset", "features", "model", "solver", "sums", "training::spec"]),
    ("training::spec", &["dataset", "features", "model", "request", "solver", "theory", "theory::ours"]),
    ("model", &["dataset", "features", "linalg", "solver", "theory", "theory::ours", "theory::papers"]),
    ("model::store", &["storage"]),
    ("model::onnx", &["features"]),
    ("model::insight", &["dataset", "features", "theory::ours"]),
    ("model::artifact", &["dataset", "features", "solver", "storage", "theory"]),
    ("dataset", &["random", "request", "storage", "sums"]),
    ("dataset::formats", &[]),
    ("dataset::parts", &["random"]),
    ("dataset::columns", &["dataset::cells", "dataset::formats", "dataset::quality", "request"]),
    ("dataset::table", &["dataset::cells", "dataset::columns", "dataset::formats"]),
    ("dataset::quality", &["dataset::cells"]),
    ("dataset::cells", &[]),
    ("solver", &["linalg"]),
    ("solver::ridge", &["linalg", "sums"]),
    ("solver::pool", &["linalg"]),
    ("solver::classifier", &["linalg"]),
    ("solver::exact", &["features", "linalg"]),
    ("features", &["linalg", "random"]),
    ("features::engine", &["features::kernels", "linalg"]),
    ("features::samplers", &["features::engine", "linalg", "random"]),
    ("features::kernels", &["random"]),
    ("theory", &[]),
    ("plots", &[]),
    ("storage", &[]),
    ("linalg", &["sums"]),
    ("sums", &[]),
];

/// Rooms of `theory` may use these of its rooms: statements know no theorem, papers know no result of ours.
const IN_THEORY: [(&str, &[&str]); 5] = [
    ("theory::statement", &[]),
    ("theory::papers", &["theory::statement"]),
    ("theory::ours", &["theory::papers", "theory::statement"]),
    ("theory::summary", &["theory::ours", "theory::statement"]),
    ("theory::plan", &["theory::ours", "theory::papers", "theory::statement"]),
];

/// Crates that only one place may name.
const OWNED: [(&str, &str); 6] = [
    ("bincode::", "model/artifact/"),
    ("ndarray_linalg", "linalg"),
    ("unsafe ", "linalg"),
    ("axum", "api/"),
    ("governor", "api/auth/"),
    ("getrandom", "keys/"),
];

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

/// The module that a file is, as the parts of its path.
fn module_of(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts
}

/// The room that a path of modules is in: its first two parts where that is a folder, else the first.
fn room_of(parts: &[&str], rooms: &[String]) -> String {
    let second = parts.iter().take(2).copied().collect::<Vec<_>>().join("::");
    if rooms.contains(&second) { second } else { parts[0].to_owned() }
}

/// Every path in the code of a file that leads to another module of this crate, in full.
fn paths_out<'t>(module: &[&'t str], code: &'t str) -> Vec<Vec<&'t str>> {
    let mut found = Vec::new();
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == ':';
    for (at, _) in code.match_indices("crate::") {
        found.push(code[at..].split(|c| !is_name(c)).next().unwrap().split("::").skip(1).collect());
    }
    for (at, _) in code.match_indices("super::") {
        if code[..at].ends_with("super::") {
            continue;
        }
        let path: Vec<&str> = code[at..].split(|c| !is_name(c)).next().unwrap().split("::").collect();
        let up = path.iter().take_while(|part| **part == "super").count();
        let kept = &module[..module.len().saturating_sub(up)];
        found.push(kept.iter().copied().chain(path.into_iter().skip(up)).collect());
    }
    found.retain(|path: &Vec<&str>| path.first().is_some_and(|part| !part.is_empty()));
    found
}

#[test]
fn rooms_use_only_what_they_may() {
    let files = source_files();
    let rooms: Vec<String> =
        files.iter().filter_map(|(path, _)| path.strip_suffix("/mod.rs")).map(|path| path.replace('/', "::")).collect();
    for (path, text) in &files {
        let module = module_of(path);
        let room = room_of(&module, &rooms);
        let table = || ALLOWED.iter().chain(&IN_THEORY);
        let allowed = table().find(|(name, _)| *name == room).map_or(&[][..], |(_, allowed)| *allowed);
        let folder = room.split("::").next().unwrap();
        for used in paths_out(&module, &code(text)) {
            let used = room_of(&used, &rooms);
            let at_home =
                used == room || used == folder || (room == folder && used.starts_with(&format!("{folder}::")));
            assert!(at_home || allowed.contains(&used.as_str()), "{path} may not use {used}");
        }
    }
}

/// A list that nobody keeps true is worse than none.
#[test]
fn every_room_of_the_table_exists() {
    let files = source_files();
    for (room, allowed) in ALLOWED.iter().chain(&IN_THEORY) {
        for name in allowed.iter().chain([room]) {
            let path = name.replace("::", "/");
            let is_there =
                |(file, _): &(String, String)| *file == format!("{path}.rs") || *file == format!("{path}/mod.rs");
            assert!(files.iter().any(is_there), "there is no {name}");
        }
    }
}

/// A folder is read at a glance.
#[test]
fn folders_stay_small_enough_to_see() {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for (path, _) in source_files() {
        *counts.entry(path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()).or_default() += 1;
    }
    for (folder, count) in counts {
        assert!(count <= 14, "src/{folder} holds {count} files");
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

/// A map that names what is gone is worse than none: every path under `src`, `tests` or `docs` in the guides exists.
#[test]
fn guides_name_only_what_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let decisions = fs::read_dir(root.join("docs/decisions")).unwrap().map(|entry| entry.unwrap().path());
    let guides = ["CONTRIBUTING.md", "docs/architecture.md"].map(|guide| root.join(guide)).into_iter().chain(decisions);
    let mut named = 0;
    for guide in guides {
        let text = fs::read_to_string(&guide).unwrap();
        let starts = ["src/", "tests/", "docs/", "openapi/", "scripts/"];
        // Every second piece is between backticks; a placeholder such as `<name>` stands for a file to come.
        for quoted in text.split('`').skip(1).step_by(2) {
            let path = quoted.split(' ').next().unwrap_or_default();
            if starts.iter().any(|start| path.starts_with(start)) && !path.contains('<') {
                assert!(root.join(path).exists(), "{} names {path}", guide.display());
                named += 1;
            }
        }
    }
    assert!(named > 50, "{named} paths");
}
