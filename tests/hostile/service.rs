//! The process under test, with a dataset and two models that come back if a request deletes them.

use serde_json::Value;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The models that are always there.
const KEPT: [&str; 2] = ["houses", "ridge"];

/// A running `bochner serve` on small limits.
pub(crate) struct Service {
    child: Mutex<Child>,
    address: String,
    panics: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) memory_kib: usize,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory_kib, descriptors, threads } = self;
        write!(f, "{} MiB, {descriptors} descriptors and {threads} threads", memory_kib >> 10)
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

impl Service {
    /// Starts on an empty data directory. Limits are small, so that a request that trains or uploads is soon done.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let limits = "--max-features 64 --max-queued-jobs 4 --training-threads 1 --max-upload 1MiB --max-request 4MiB \
                      --max-artifact 4MiB --max-columns 64 --model-memory 8MiB --allow-model-control --log warn,bochner::cli=info";
        let mut child = Command::new(env!("CARGO_BIN_EXE_bochner"))
            .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data-dir"])
            .arg(folder.path())
            .args(limits.split_whitespace())
            .env("BOCHNER_DRAIN_DELAY", "0")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let entry = |line: String| serde_json::from_str::<Value>(&line).unwrap_or_default();
        let listening = lines.by_ref().map(entry).find(|entry| entry["message"] == "listening");
        let address = listening.expect("the service listens")["address"].as_str().unwrap().to_owned();
        let panics = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&panics);
        std::thread::spawn(move || {
            lines.filter(|line| line.contains("panic")).for_each(|line| found.lock().unwrap().push(line));
        });
        let service = Self { child: Mutex::new(child), address, panics, _folder: folder };
        service.restore();
        service
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Deletes what requests have made, and brings back the dataset `houses` and the models `houses` and `ridge`, so that
    /// what is stored is the same before and after. Any of it may fail meanwhile, since requests go on.
    pub(crate) fn restore(&self) {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = |path: &str| format!("http://{}{path}", self.address);
        let get = |path: &str| -> Value {
            let text = agent.get(url(path)).call().and_then(|mut answer| answer.body_mut().read_to_string());
            text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
        };
        let delete = |path: String| drop(agent.delete(url(&path)).call());
        let list = |answer: &Value, name: &str| answer[name].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for job in list(&get("/api/v1/jobs?limit=1000"), "jobs") {
            delete(format!("/api/v1/jobs/{}", text(&job["id"])));
        }
        for dataset in list(&get("/api/v1/datasets?limit=1000"), "datasets") {
            if dataset["name"] != "houses" {
                delete(format!("/api/v1/datasets/{}", text(&dataset["id"])));
            }
        }
        for model in list(&get("/api/v1/models?limit=1000"), "models") {
            let name = text(&model["name"]);
            for alias in model["aliases"].as_object().into_iter().flatten().map(|(alias, _)| alias) {
                delete(format!("/api/v1/models/{name}/aliases/{alias}"));
            }
            for version in list(&model, "versions").iter().map(|entry| &entry["version"]) {
                if !(KEPT.contains(&name.as_str()) && *version == 1) {
                    delete(format!("/api/v1/models/{name}/versions/{version}"));
                }
            }
        }
        if get("/api/v1/datasets/houses")["rows"].is_null() {
            let table = fs::read(root().join("examples/houses.csv")).unwrap();
            let request = agent.post(url("/api/v1/datasets?name=houses&target=price"));
            drop(request.content_type("text/csv").send(&table[..]));
        }
        for model in KEPT {
            if get(&format!("/api/v1/models/{model}"))["name"].is_null() {
                let artifact = fs::read(root().join("tests/fixtures/artifacts/format-2/ridge.bochner")).unwrap();
                let request = agent.post(url(&format!("/api/v1/models/{model}/versions")));
                drop(request.content_type("application/octet-stream").send(&artifact[..]));
            }
        }
    }

    /// What the process holds when nothing is connected and no job runs: the least of some looks, since memory and idle
    /// threads are returned after ten seconds.
    pub(crate) fn settled(&self) -> Holdings {
        self.restore();
        let end = Instant::now() + Duration::from_secs(12);
        let mut least = self.holdings();
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200));
            let now = self.holdings();
            least = Holdings {
                memory_kib: least.memory_kib.min(now.memory_kib),
                descriptors: least.descriptors.min(now.descriptors),
                threads: least.threads.min(now.threads),
            };
        }
        least
    }

    fn holdings(&self) -> Holdings {
        let process = PathBuf::from(format!("/proc/{}", self.child.lock().unwrap().id()));
        let status = fs::read_to_string(process.join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
        };
        let descriptors = fs::read_dir(process.join("fd")).unwrap().count();
        Holdings { memory_kib: field("VmRSS"), descriptors, threads: field("Threads") }
    }

    /// What the log said of panics.
    pub(crate) fn panics(&self) -> Vec<String> {
        self.panics.lock().unwrap().clone()
    }

    /// SIGTERM; the exit code and how long it took.
    pub(crate) fn terminate(&self) -> (i32, Duration) {
        let start = Instant::now();
        let mut child = self.child.lock().unwrap();
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        (child.wait().unwrap().code().unwrap_or(-1), start.elapsed())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}
