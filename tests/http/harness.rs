//! An app on an empty data directory, called without a socket.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use bochner::api::Handler;
use bochner::app::App;
use bochner::cli::{Cli, Command};
use bochner::config::Config;
use clap::Parser;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// The default configuration with some flags.
pub(crate) fn config(flags: &[&str]) -> Config {
    let arguments = ["bochner", "serve"].iter().chain(flags);
    let Command::Serve(config) = Cli::parse_from(arguments).command else { panic!("serve is serve") };
    *config
}

/// A service of its own for one test.
pub(crate) struct Service {
    app: App,
    folder: tempfile::TempDir,
}

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name}")).to_str().unwrap()
    }

    /// Asserts a refusal in our format and gives its body.
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let body = self.json();
        assert_eq!(body["code"], code, "{body}");
        assert_eq!(body["status"], status);
        assert_eq!(body["request_id"], self.header("x-request-id"));
        body
    }

    /// Asserts success and gives the body.
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        if self.bytes.is_empty() { Value::Null } else { self.json() }
    }
}

impl Service {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// With flags such as `--max-columns 3`.
    pub(crate) fn with(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            data_dir: folder.path().to_owned(),
            program: Some(env!("CARGO_BIN_EXE_bochner").into()),
            ..config(flags)
        };
        Self { app: App::start(config).unwrap(), folder }
    }

    /// The data directory.
    pub(crate) fn data_dir(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// What lies in a folder of the data directory.
    pub(crate) fn files(&self, folder: &str) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.folder.path().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// On a socket, for what only shows there; gives its address. It ends with the test's runtime.
    pub(crate) async fn listen(&self) -> std::net::SocketAddr {
        self.listen_until(std::future::pending()).await.0
    }

    /// The same until `stop` ends; gives what ends with the last connection too.
    pub(crate) async fn listen_until(
        &self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> (std::net::SocketAddr, JoinHandle<()>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (address, tokio::spawn(self.app.serve(listener, stop)))
    }

    /// Sends a request as a client on this machine would, unless it names a host itself.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (mut parts, body) = request.into_parts();
        parts.headers.entry("host").or_insert(HeaderValue::from_static("localhost"));
        let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        let (parts, body) = self.app.dispatch.handle(address, parts, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    pub(crate) async fn call(&self, method: &str, path: &str) -> Answer {
        self.send(Request::builder().method(method).uri(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path).await
    }

    /// Puts JSON.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        let request = Request::put(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(path, "application/json", body.to_string()).await
    }

    pub(crate) async fn post_as(&self, path: &str, media_type: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path).header("content-type", media_type);
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn upload(&self, query: &str, body: impl Into<Body>) -> Answer {
        self.post_as(&format!("/api/v1/datasets?{query}"), "text/csv", body).await
    }

    /// Trains, with effort fast unless the spec says otherwise, and waits for the end.
    pub(crate) async fn train(&self, model: &str, dataset: &str, spec: &Value) -> Value {
        self.submit_and_wait(&json!({"model": model, "dataset": dataset, "spec": quick(spec)})).await
    }

    /// Submits a job and waits for its end.
    pub(crate) async fn submit_and_wait(&self, job: &Value) -> Value {
        let request =
            Request::post("/api/v1/jobs").header("content-type", "application/json").header("prefer", "wait=60");
        self.send(request.body(Body::from(job.to_string())).unwrap()).await.ok(200)
    }

    /// A service with the data set `waves` and the model `waves` trained on it.
    pub(crate) async fn with_model() -> Self {
        Self::with_model_and(&[]).await
    }

    /// The same with flags.
    pub(crate) async fn with_model_and(flags: &[&str]) -> Self {
        let service = Self::with(flags);
        service.upload("name=waves", waves(300)).await.ok(201);
        let job = service.train("waves", "waves", &json!({"features": {"count": 256}, "lambda": 1e-6})).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        service
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.app.jobs.drain(Duration::from_secs(30));
    }
}

/// A table with a number, a text, a truth value and some missing cells; target last.
pub(crate) fn waves(rows: usize) -> String {
    let row = |i: usize| {
        let x = (i as f64 * 0.618_034).fract();
        let colour = ["red", "green", "blue"][i % 3];
        let shown = if i % 50 == 7 { String::new() } else { format!("{x:.5}") };
        format!("{shown},{colour},{},{:.5}\n", i.is_multiple_of(2), (6.0 * x).sin() + (i % 3) as f64)
    };
    std::iter::once("x,colour,even,y\n".to_owned()).chain((0..rows).map(row)).collect()
}

/// A body that grows by what is sent to it, and ends with the sender.
pub(crate) fn open_body() -> (UnboundedSender<String>, Body) {
    let (sender, receiver) = unbounded_channel();
    let next = async |mut receiver: UnboundedReceiver<String>| {
        let text = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(text), receiver))
    };
    (sender, Body::from_stream(futures_util::stream::unfold(receiver, next)))
}

/// The spec with effort fast, unless it says otherwise: tests of anything but the search need no search.
pub(crate) fn quick(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.entry("effort").or_insert_with(|| json!("fast"));
    }
    spec
}
