//! An upload from a form, handed to the API as it arrives.

use crate::api::console::api_client::{ApiClient, ApiRefusal, read};
use crate::api::console::backend::Backend;
use crate::api::console::page::{segment, stale_form};
use crate::api::console::session::has_token;
use axum::body::{Body, Bytes};
use axum::extract::Multipart;
use axum::extract::multipart::{Field, MultipartError};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::sync::mpsc;

/// Longest text of a field that is not the file.
const LONGEST_FIELD: usize = 1000;

/// Parts of a file on their way to the API.
const PARTS_AHEAD: usize = 4;

/// What a form says about its file.
#[derive(Default)]
pub(super) struct Upload {
    pub(super) file_name: String,
    pub(super) name: String,
    pub(super) target: String,
}

impl Upload {
    /// Sends a body to the API and gives the dataset that it has become.
    pub(super) async fn send(&self, api: &ApiClient, body: Body) -> Result<Value, ApiRefusal> {
        let (media_type, encoding) = types(&self.file_name);
        let mut headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))]);
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let name = if self.name.is_empty() { stem(&self.file_name) } else { &self.name };
        let mut path = format!("/api/v1/datasets?name={}", segment(name));
        if !self.target.is_empty() {
            path = format!("{path}&target={}", segment(&self.target));
        }
        read(api.send(Method::POST, &path, headers, body).await).await
    }
}

/// Reads the fields of the form in their order, the file last, and gives the dataset.
pub(super) async fn receive(backend: &Backend, api: &ApiClient, mut form: Multipart) -> Result<Value, ApiRefusal> {
    let (mut upload, mut trusted) = (Upload::default(), false);
    while let Some(mut field) = form.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name != "file" {
            let value = short_text(&mut field).await?;
            match name.as_str() {
                "token" => trusted = has_token(backend, api.key(), &value),
                "name" => upload.name = value,
                "target" => upload.target = value,
                _ => {}
            }
            continue;
        }
        if !trusted {
            return Err(stale_form());
        }
        upload.file_name = field.file_name().unwrap_or_default().to_owned();
        if upload.file_name.is_empty() {
            break;
        }
        return pass_on(&upload, api, field).await;
    }
    Err(if trusted { refused(StatusCode::UNPROCESSABLE_ENTITY, "Choose a file first.".into()) } else { stale_form() })
}

/// Sends the file part by part: none waits for the whole.
async fn pass_on(upload: &Upload, api: &ApiClient, mut field: Field<'_>) -> Result<Value, ApiRefusal> {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(PARTS_AHEAD);
    let parts = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    let reading = async move {
        while let Some(part) = field.next().await {
            let part = part.map_err(|error: MultipartError| std::io::Error::other(error.body_text()));
            let is_last = part.is_err();
            // An API that has refused listens no more; the rest is read, so that the browser reads the answer.
            let _ = sender.send(part).await;
            if is_last {
                break;
            }
        }
    };
    let (answer, ()) = tokio::join!(upload.send(api, Body::from_stream(parts)), reading);
    answer
}

async fn short_text(field: &mut Field<'_>) -> Result<String, ApiRefusal> {
    let mut bytes = Vec::new();
    while let Some(part) = field.chunk().await.map_err(broken)? {
        bytes.extend_from_slice(&part);
        if bytes.len() > LONGEST_FIELD {
            let detail = format!("A field of the form is longer than {LONGEST_FIELD} bytes.");
            return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, detail));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn broken(error: MultipartError) -> ApiRefusal {
    refused(error.status(), error.body_text())
}

fn refused(status: StatusCode, detail: String) -> ApiRefusal {
    ApiRefusal { status, title: "The upload was refused".into(), detail, problems: Vec::new() }
}

/// Media type and compression by the ending of a file name. The API says which it takes.
fn types(file_name: &str) -> (&'static str, Option<&'static str>) {
    let lower = file_name.to_ascii_lowercase();
    let (inner, encoding) = match lower.rsplit_once('.') {
        Some((inner, "gz")) => (inner, Some("gzip")),
        Some((inner, "zst")) => (inner, Some("zstd")),
        _ => (lower.as_str(), None),
    };
    let media_type = match inner.rsplit_once('.').map(|(_, ending)| ending) {
        Some("tsv" | "tab") => "text/tab-separated-values",
        Some("parquet" | "pq") => "application/vnd.apache.parquet",
        Some("arrows") => "application/vnd.apache.arrow.stream",
        Some("arrow" | "feather" | "ipc") => "application/vnd.apache.arrow.file",
        Some("libsvm" | "svm" | "svmlight") => "text/x-libsvm",
        Some("ndjson" | "jsonl") => "application/x-ndjson",
        Some("json") => "application/json",
        _ => "text/csv",
    };
    (media_type, encoding)
}

/// The name of a file up to its first dot.
fn stem(file_name: &str) -> &str {
    file_name.rsplit(['/', '\\']).next().and_then(|name| name.split('.').next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_names_the_format() {
        assert_eq!(types("Houses.CSV"), ("text/csv", None));
        assert_eq!(types("a.b.tsv.gz"), ("text/tab-separated-values", Some("gzip")));
        assert_eq!(types("plain"), ("text/csv", None));
        assert_eq!(types("t.arrow").0, "application/vnd.apache.arrow.file", "as docs/formats.md has it");
        assert_eq!(types("t.arrows").0, "application/vnd.apache.arrow.stream");
        assert_eq!(types("table.csv.zst"), ("text/csv", Some("zstd")));
        assert_eq!([stem("C:\\x\\houses.v2.csv"), stem("a/b"), stem("")], ["houses", "b", ""]);
    }
}
