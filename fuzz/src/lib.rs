//! What the fuzz targets share: models of the golden files, and a service that is called without a socket.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use bochner::api::Handler;
use bochner::app::App;
use bochner::cli::{Cli, Command};
use bochner::config::Config;
use bochner::dataset::CsvOptions;
use bochner::model::{FittedModel, decode};
use bochner::serving::{Format, RowReader};
use clap::Parser;
use http_body_util::BodyExt;
use std::net::Ipv4Addr;
use std::sync::LazyLock;
use tokio::runtime::Runtime;

const RIDGE: &[u8] = include_bytes!("../../tests/fixtures/artifacts/format-2/ridge.bochner");
const LINEAR: &[u8] = include_bytes!("../../tests/fixtures/artifacts/format-2/linear.bochner");

/// A model of a number, a category and a boolean, and one of numbers only.
pub static MODELS: LazyLock<[FittedModel; 2]> =
    LazyLock::new(|| [RIDGE, LINEAR].map(|bytes| decode(bytes).expect("a golden file can be read")));

/// Reads a table to its end or to its first error, for each model. Rows that were read have the width of the model.
pub fn read_table(format: Format, csv: CsvOptions, bytes: &[u8]) {
    for model in MODELS.iter() {
        let Ok(Some(mut reader)) = RowReader::open(format, bytes, csv, model) else { continue };
        while let Ok(Some(block)) = reader.next_block() {
            assert!(!block.is_empty(), "a block without rows is the end");
            assert!(block.rows().all(|row| row.len() == model.inputs.encoding.columns.len()));
        }
    }
}

/// A service with the models `ridge` and `linear`, on a data directory of its own.
pub struct Service {
    runtime: Runtime,
    app: App,
    _folder: tempfile::TempDir,
}

impl Service {
    /// Starts a service and imports the models.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let Command::Serve(config) = Cli::parse_from(["bochner", "serve"]).command else { unreachable!() };
        let config = Config { data_dir: folder.path().to_owned(), prediction_threads: 1, ..*config };
        let app = runtime.block_on(async { App::start(config) }).expect("an empty data directory can be used");
        let service = Self { runtime, app, _folder: folder };
        for (name, artifact) in [("ridge", RIDGE), ("linear", LINEAR)] {
            let request = Request::post(format!("/api/v1/models/{name}/versions"))
                .header("content-type", "application/octet-stream")
                .body(Body::from(artifact));
            assert_eq!(service.send(request.expect("a request")), StatusCode::CREATED);
        }
        service
    }

    /// Sends a request and reads the whole answer. Bad input is the client's fault, never the service's.
    pub fn send(&self, mut request: Request<Body>) -> StatusCode {
        request.headers_mut().insert("host", axum::http::HeaderValue::from_static("localhost"));
        let (parts, body) = request.into_parts();
        self.runtime.block_on(async {
            let answer = self.app.dispatch.handle(Ipv4Addr::LOCALHOST.into(), parts, body).await;
            let status = answer.status();
            let bytes = answer.into_body().collect().await.expect("an answer ends").to_bytes();
            assert!(
                !status.is_server_error() || status == StatusCode::SERVICE_UNAVAILABLE,
                "{status}: {}",
                String::from_utf8_lossy(&bytes)
            );
            status
        })
    }
}
