//! Servers on a core of their own: ours, and a bare axum handler.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Tells the bench to be the bare handler.
pub(crate) const BARE: &str = "BOCHNER_BENCH_BARE";

/// A server process on the first core; it ends with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Ours, on a data directory, with flags.
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Self {
        let mut command = pinned(env!("CARGO_BIN_EXE_bochner"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data-dir"])
            .arg(folder)
            .args(flags);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("taskset and the server start");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.by_ref().map(Result::unwrap).find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            line["address"].as_str()?.parse().ok()
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.expect("the server says where it listens") }
    }

    /// A handler that reads the body and answers a constant.
    pub(crate) fn start_bare() -> Self {
        Self::start_self(&[(BARE, "1")])
    }

    /// This bench, told by variables to be a server and to print its address.
    pub(crate) fn start_self(variables: &[(&str, &str)]) -> Self {
        let exe = std::env::current_exe().unwrap();
        let mut command = pinned(exe.to_str().unwrap());
        let mut child = command.envs(variables.iter().copied()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, address: line.trim().parse().unwrap() }
    }

    /// Seconds that its threads have computed: unlike the time of day, they do not grow when others use the machine.
    pub(crate) fn computed(&self) -> f64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let nanoseconds = threads.filter_map(|thread| {
            let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        });
        nanoseconds.sum::<u64>() as f64 / 1e9
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let answer = ureq::post(format!("http://{}{path}", self.address))
            .header("content-type", "application/json")
            .send(body.to_string());
        serde_json::from_str(&answer.expect("a good answer").body_mut().read_to_string().unwrap()).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = ureq::get(format!("http://{}{path}", self.address)).call();
        serde_json::from_str(&answer.expect("a good answer").body_mut().read_to_string().unwrap()).unwrap()
    }

    /// Uploads a table of numbers whose last column is the target.
    pub(crate) fn upload(&self, name: &str, rows: usize, inputs: usize) {
        let answer = ureq::post(format!("http://{}/api/v1/datasets?name={name}", self.address))
            .header("content-type", "text/csv")
            .send(table(rows, inputs));
        answer.expect("the upload is taken");
    }

    /// Trains and waits.
    pub(crate) fn train(&self, model: &str, dataset: &str, spec: &Value) {
        let job = self.submit(model, dataset, spec);
        self.wait(&job);
    }

    /// The id of a job, of effort fast.
    pub(crate) fn submit(&self, model: &str, dataset: &str, spec: &Value) -> String {
        let mut spec = spec.clone();
        spec["effort"] = json!("fast");
        let job = self.post("/api/v1/jobs", &json!({"model": model, "dataset": dataset, "spec": spec}));
        job["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn wait(&self, job: &str) {
        loop {
            let job = self.get(&format!("/api/v1/jobs/{job}"));
            match job["status"].as_str().unwrap() {
                "succeeded" => return,
                "queued" | "running" => std::thread::sleep(std::time::Duration::from_millis(20)),
                _ => panic!("{job}"),
            }
        }
    }

    /// Resident memory in MiB.
    pub(crate) fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn pinned(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", program]);
    command
}

/// The bare handler: what axum takes without us.
pub(crate) fn be_bare() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        let answer = |body: Bytes| async move {
            assert!(!body.is_empty());
            ([("content-type", "application/json")], r#"{"model":"m","version":1,"predictions":[0.12345678]}"#)
        };
        axum::serve(listener, Router::new().route("/", post(answer))).await.unwrap();
    });
}

fn table(rows: usize, inputs: usize) -> String {
    let names: Vec<String> = (0..inputs).map(|column| format!("x{column}")).collect();
    let mut lines = vec![names.join(",") + ",y"];
    for row in 0..rows {
        let cells = row_of(row, inputs);
        let target = (3.0 * cells[0]).sin() + cells[cells.len() - 1];
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:.4}")).collect();
        lines.push(format!("{},{target:.4}", cells.join(",")));
    }
    lines.join("\n") + "\n"
}

/// A row of numbers between 0 and 1.
pub(crate) fn row_of(row: usize, inputs: usize) -> Vec<f64> {
    (0..inputs).map(|column| ((row * inputs + column) as f64 * 0.618_034).fract()).collect()
}
