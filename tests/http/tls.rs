//! TLS as curl and our own health check see it.

use crate::process::Process;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

/// The body that curl gets of a service, or what it says.
fn curl(process: &Process, authority: &str, arguments: &[&str]) -> Result<String, String> {
    let url = format!("https://{}/livez", process.address);
    let done = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "10", "--cacert", fixture(authority).to_str().unwrap()])
        .args(arguments)
        .arg(url)
        .output()
        .expect("curl starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
}

#[test]
fn the_certificate_of_the_files_is_shown_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let install = |name: &str| {
        for (from, to) in [(format!("{name}.key"), "tls.key"), (format!("{name}.pem"), "tls.pem")] {
            fs::copy(fixture(&from), path("new")).unwrap();
            fs::rename(path("new"), path(to)).unwrap();
        }
    };
    install("first");
    let (certificate, key) = (path("tls.pem"), path("tls.key"));
    let flags = ["--tls-certificate", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let process = Process::start_with(&path("data"), &flags);
    assert!(curl(&process, "first.pem", &[]).unwrap().contains("live"));
    for version in ["--tlsv1.2", "--tlsv1.3", "--http2"] {
        assert_eq!(
            curl(&process, "first.pem", &[version, "--write-out", "%{http_version}"]).unwrap(),
            "{\"live\":true}1.1"
        );
    }
    assert!(curl(&process, "first.pem", &["--tls-max", "1.1", "--tlsv1.0"]).is_err());
    assert!(curl(&process, "second.pem", &[]).is_err(), "another certificate");

    let healthcheck = |certificate: Option<&Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.args(["healthcheck", "--listen", &process.address]);
        let command = certificate.iter().fold(&mut command, |command, path| command.arg("--tls-certificate").arg(path));
        command.output().unwrap().status.success()
    };
    assert!(healthcheck(Some(&certificate)));
    assert!(!healthcheck(Some(&fixture("second.pem"))) && !healthcheck(None));

    install("second");
    let start = Instant::now();
    while curl(&process, "second.pem", &[]).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20), "the files are not read again");
    }
    fs::write(&certificate, "broken").unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    assert!(curl(&process, "second.pem", &[]).is_ok(), "the last good one");
    let (code, _) = process.terminate();
    assert_eq!(code, 0);
}

#[test]
fn unusable_files_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (fixture("first.pem"), fixture("second.key"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path());
    let done = command.arg("--tls-certificate").arg(&certificate).arg("--tls-key").arg(&key).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(told.contains("first.pem") && told.contains("second.key"), "{told}");
}
