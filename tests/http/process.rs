//! The real binary on a real socket, to be killed.

use crate::harness::quick;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A running `bochner serve`.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
    log: Arc<Mutex<String>>,
}

impl Process {
    /// Starts on a free port and waits until it listens.
    pub(crate) fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    /// The same with flags.
    pub(crate) fn start_with(data_dir: &Path, flags: &[&str]) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_bochner")), data_dir, flags)
    }

    /// The same with environment variables.
    pub(crate) fn start_in(variables: &[(&str, &str)], data_dir: &Path, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.envs(variables.iter().copied());
        Self::start_by(command, data_dir, flags)
    }

    /// The same with a limit of open files.
    pub(crate) fn start_with_files(limit: usize, data_dir: &Path) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_bochner")]);
        Self::start_by(command, data_dir, &[])
    }

    fn start_by(mut command: Command, data_dir: &Path, flags: &[&str]) -> Self {
        let listen: &[&str] = if flags.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let no_delay: &[&str] = if flags.contains(&"--drain-delay") { &[] } else { &["--drain-delay", "0"] };
        let mut child = command
            .arg("serve")
            .args(listen)
            .args(no_delay)
            .args(flags)
            .args(["--log-format", "json", "--data-dir"])
            .arg(data_dir)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let lines: Arc<Mutex<String>> = Arc::default();
        let address = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the service ended before it listened");
            lines.lock().unwrap().push_str(&line);
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["message"] == "listening" {
                break entry["address"].as_str().unwrap().to_owned();
            }
        };
        let later = Arc::clone(&lines);
        std::thread::spawn(move || {
            let mut line = String::new();
            while log.read_line(&mut line).is_ok_and(|length| length > 0) {
                later.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, address, log: lines }
    }

    /// Waits until the log has a line with this text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.log.lock().unwrap().contains(text) {
            assert!(Instant::now() < deadline, "no '{text}' in {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The lines of the log so far.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.log.lock().unwrap().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Sends a signal, such as HUP.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the exit; its code.
    pub(crate) fn wait(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }

    /// The status of an answer; none if nobody answers.
    pub(crate) fn status_of(&self, path: &str) -> Option<u16> {
        Self::agent().get(self.url(path)).call().ok().map(|answer| answer.status().as_u16())
    }

    /// kill -9.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; the exit code and how long it took.
    pub(crate) fn terminate(self) -> (i32, Duration) {
        let start = Instant::now();
        self.signal("TERM");
        (self.wait(), start.elapsed())
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
        self.post_with(path, &[], media_type, body)
    }

    /// The same with headers.
    pub(crate) fn post_with(&self, path: &str, headers: &[(&str, &str)], media_type: &str, body: &str) -> Value {
        let request = Self::agent().post(self.url(path)).content_type(media_type);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut answer = request.send(body).unwrap();
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

    /// Submits a job. A training has effort fast unless its spec says otherwise.
    pub(crate) fn submit(&self, request: &Value) -> String {
        let mut request = request.clone();
        let trains = request.get("type").is_none_or(|kind| kind == "train");
        if let Some(spec) = request.get_mut("spec").filter(|_| trains) {
            *spec = quick(spec);
        }
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
