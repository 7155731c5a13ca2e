//! Settings from flags, environment and file.

use crate::process::Process;
use std::process::Command;

#[test]
fn flags_win_over_the_environment_and_both_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bochner.toml");
    std::fs::write(&file, "max_columns = 11\nmax_levels = 12\nmax_queued_jobs = 13\nallow_model_control = true\n")
        .unwrap();
    let data = folder.path().join("data");
    let flags = ["--config", file.to_str().unwrap(), "--max-columns", "21"];
    let variables = [("BOCHNER_MAX_COLUMNS", "31"), ("BOCHNER_MAX_LEVELS", "32"), ("BOCHNER_MAX_COLUMS", "41")];
    let process = Process::start_in(&variables, &data, &flags);
    let limits = process.get("/api/v1/info")["limits"].clone();
    assert_eq!((&limits["columns"], &limits["levels"], &limits["queued_jobs"]), (&21.into(), &32.into(), &13.into()));
    process.wait_for_log("BOCHNER_MAX_COLUMS; did you mean 'BOCHNER_MAX_COLUMNS'?");
    process.kill();
}

#[test]
fn a_wrong_file_ends_the_start_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bochner.toml");
    for (text, part) in [
        ("max_colums = 11", "max_columns"),
        ("max_columns = 'many'", "--max-columns"),
        ("max_columns =", "not TOML"),
        ("[limits]\nmax_columns = 3", "unknown setting 'limits'"),
    ] {
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        let ended = command.args(["serve", "--config"]).arg(&file).output().unwrap();
        let message = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.code() == Some(2) && message.contains(part), "{text}: {message}");
    }
    let absent = folder.path().join("absent.toml");
    let ended = Command::new(env!("CARGO_BIN_EXE_bochner")).args(["serve", "--config"]).arg(&absent).output().unwrap();
    assert!(String::from_utf8_lossy(&ended.stderr).contains("absent.toml"));
}

#[test]
fn a_hangup_changes_the_log_filter_while_the_service_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bochner.toml");
    std::fs::write(&file, "log = 'info'\n").unwrap();
    let data = folder.path().join("data");
    let process = Process::start_with(&data, &["--config", file.to_str().unwrap(), "--default-model", "absent@prod"]);
    process.wait_for_log("the default model does not exist");
    std::fs::write(&file, "log = 'bochner=debug,info'\n").unwrap();
    process.signal("HUP");
    process.wait_for_log("the log filter was changed by SIGHUP");
    process.get("/livez");
    process.wait_for_log("answered"); // at level debug
    std::fs::write(&file, "log = 'no such filter=='\n").unwrap();
    process.signal("HUP");
    process.wait_for_log("the log filter stays as it is");
    process.kill();
    let process = Process::start(&data);
    process.signal("HUP");
    process.wait_for_log("\"now\":\"debug\"");
    process.kill();
}
