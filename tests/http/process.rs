//! The real binary on a real socket, to be killed.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `bochner serve`.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

impl Process {
    /// Starts on a free port and waits until it listens.
    pub(crate) fn start(data_dir: &Path) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_bochner")), data_dir)
    }

    /// The same with a limit of open files.
    pub(crate) fn start_with_files(limit: usize, data_dir: &Path) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_bochner")]);
        Self::start_by(command, data_dir)
    }

    fn start_by(mut command: Command, data_dir: &Path) -> Self {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data-dir"])
            .arg(data_dir)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the service ended before it listened");
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["message"] == "listening" {
                break entry["address"].as_str().unwrap().to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { child, address }
    }

    /// kill -9.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; the exit code and how long it took.
    pub(crate) fn terminate(mut self) -> (i32, Duration) {
        let start = Instant::now();
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        (self.child.wait().unwrap().code().unwrap(), start.elapsed())
    }

    /// A field of `/proc/…/status`, such as `Threads`.
    pub(crate) fn status(&self, field: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
        value.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn agent() -> ureq::Agent {
        ureq::Agent::config_builder().http_status_as_error(false).build().into()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let mut answer = Self::agent().get(self.url(path)).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    }

    /// Posts and expects success.
    pub(crate) fn post(&self, path: &str, media_type: &str, body: &str) -> Value {
        let mut answer = Self::agent().post(self.url(path)).content_type(media_type).send(body).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        assert!(answer.status().is_success(), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Puts JSON and gives the status.
    pub(crate) fn put(&self, path: &str, body: &Value) -> u16 {
        let request = Self::agent().put(self.url(path)).content_type("application/json");
        request.send(body.to_string()).unwrap().status().as_u16()
    }

    /// Deletes and gives the status.
    pub(crate) fn delete(&self, path: &str) -> u16 {
        Self::agent().delete(self.url(path)).call().unwrap().status().as_u16()
    }

    pub(crate) fn upload(&self, name: &str, table: &str) -> Value {
        self.post(&format!("/api/v1/datasets?name={name}"), "text/csv", table)
    }

    pub(crate) fn submit(&self, request: &Value) -> String {
        let job = self.post("/api/v1/jobs", "application/json", &request.to_string());
        job["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a job is in one of these states.
    pub(crate) fn wait_for(&self, job: &str, states: &[&str]) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let job = self.get(&format!("/api/v1/jobs/{job}"));
            if states.contains(&job["status"].as_str().unwrap()) {
                return job;
            }
            assert!(Instant::now() < deadline, "{job}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Begins an upload and sends only part of what it announced.
pub(crate) fn begin_upload(process: &Process, part: &str, announced: usize) -> TcpStream {
    let mut stream = process.connect();
    let head = format!(
        "POST /api/v1/datasets?name=half HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: {announced}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(part.as_bytes()).unwrap();
    stream.flush().unwrap();
    stream
}

/// Follows the events of a job until the stream ends, and gives what came.
pub(crate) fn listen_to_events(process: &Process, job: &str) -> std::thread::JoinHandle<String> {
    let mut stream = process.connect();
    let head = format!("GET /api/v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap(); // the answer has begun
    std::thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
}

/// In huge pages memory would follow what the kernel has free, not what is used.
#[cfg(target_os = "linux")]
#[test]
fn it_keeps_to_small_pages() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let allowed = process.status("THP_enabled");
    process.kill();
    assert_eq!(allowed, 0);
}
