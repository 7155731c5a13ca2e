//! One error type, three renderings.
//!
//! A handler's error travels in the response's extensions; the outermost layer renders it, since
//! only there the path and the request id are known.

use crate::dataset::DatasetError;
use crate::jobs::JobError;
use crate::model::{ArtifactError, OnnxError, RegistryError};
use crate::request::problem::{Problem, pointer};
use crate::serving::{ModelCacheError, Refusal};
use crate::telemetry::Outcome;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A refusal, as a user sees it; the cause is for the log alone.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    detail: String,
    errors: Vec<Value>,
    retry_after_seconds: Option<u32>,
    cause: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), errors: Vec::new(), retry_after_seconds: None, cause: None }
    }

    pub(crate) fn malformed(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub(crate) fn empty_body() -> Self {
        Self::malformed("empty_body", "the body is empty; send a JSON object")
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub(crate) fn method_not_allowed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
    }

    pub(crate) fn too_large(limit: u64) -> Self {
        let detail = format!("the body is larger than the limit of {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
    }

    pub(crate) fn unsupported_media_type(found: &str, accepted: &str) -> Self {
        let detail = format!("content-type '{found}' is not taken here; send {accepted}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
    }

    pub(crate) fn busy(code: &'static str, detail: impl Into<String>) -> Self {
        Self { retry_after_seconds: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail) }
    }

    /// Well-formed but not valid, with every problem placed.
    pub(crate) fn invalid(code: &'static str, problems: Vec<Problem>) -> Self {
        let detail = match problems.as_slice() {
            [only] if only.pointer.is_empty() => only.detail.clone(),
            [only] => format!("{}: {}", only.pointer, only.detail),
            many => format!("{} fields are not valid", many.len()),
        };
        let items = problems.into_iter().map(|p| json!({"pointer": p.pointer, "detail": p.detail}));
        Self { errors: items.collect(), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail) }
    }

    /// One problem with one field.
    pub(crate) fn invalid_field(code: &'static str, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::invalid(code, vec![Problem { pointer: pointer.into(), detail: detail.into() }])
    }

    /// How a prediction that ends in this is counted.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.status.as_u16() {
            503 | 504 => Outcome::Shed,
            400..500 => Outcome::Refused,
            _ => Outcome::Failed,
        }
    }

    /// Our fault. What happened goes to the log, not to the user.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        let detail = "something went wrong on our side; the log has the cause under this request id";
        Self { cause: Some(cause.to_string()), ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail) }
    }

    fn storage(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::StorageFull { Self::disk_full(error) } else { Self::internal(error) }
    }

    fn database(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::disk_full(error),
            _ => Self::internal(error),
        }
    }

    fn disk_full(cause: impl ToString) -> Self {
        let error = Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", "the disk is full");
        Self { cause: Some(cause.to_string()), ..error }
    }

    /// One line for clients that show no more: the first of several problems stands in it.
    fn message(&self) -> String {
        let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
        match self.errors.as_slice() {
            [first, _, ..] => format!("{}; {}: {}", self.detail, text(&first["pointer"]), text(&first["detail"])),
            _ => self.detail.clone(),
        }
    }

    /// The body and headers for a path of this API.
    pub(crate) fn render(&self, path: &str, request_id: &str) -> Response {
        let mut body = json!({
            "type": format!("urn:bochner:error:{}", self.code),
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id,
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors.clone());
        }
        let media_type = match dialect(path) {
            Dialect::Native => "application/problem+json",
            Dialect::InferenceV2 => {
                body["error"] = json!(self.message());
                "application/json"
            }
            Dialect::Invocations => {
                body["error_code"] = json!(self.code.to_uppercase());
                body["message"] = json!(self.message());
                "application/json"
            }
        };
        if let Some(cause) = &self.cause {
            tracing::error!(request_id, cause, code = self.code, "request failed");
        }
        let mut response = (self.status, body.to_string()).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Who is listening.
enum Dialect {
    Native,
    InferenceV2,
    Invocations,
}

fn dialect(path: &str) -> Dialect {
    if path == "/v2" || path.starts_with("/v2/") {
        Dialect::InferenceV2
    } else if path == "/invocations" {
        Dialect::Invocations
    } else {
        Dialect::Native
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<DatasetError> for ApiError {
    fn from(error: DatasetError) -> Self {
        let detail = error.to_string();
        let unprocessable = |code| Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail.clone());
        match error {
            DatasetError::Empty => Self::malformed("empty_body", detail),
            DatasetError::Unreadable { .. } => Self::malformed("unreadable_body", detail),
            DatasetError::TooLarge { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail),
            DatasetError::At { place, detail: what } => {
                let mut item = json!({"pointer": format!("/lines/{}", place.line), "line": place.line, "detail": what});
                if let Some(column) = &place.column {
                    item["column"] = json!(column);
                }
                Self { errors: vec![item], ..unprocessable("invalid_table") }
            }
            DatasetError::Column { column, detail: what } => {
                let item = json!({"pointer": pointer("/columns", &column), "column": column, "detail": what});
                Self { errors: vec![item], ..unprocessable("invalid_column") }
            }
            DatasetError::Table { .. } => unprocessable("invalid_table"),
            DatasetError::Option { option, detail: what } => {
                Self::invalid_field("invalid_parameter", format!("?{option}"), what)
            }
            DatasetError::NotFound { .. } => Self::not_found("dataset_not_found", detail),
            DatasetError::InUse { .. } => Self::new(StatusCode::CONFLICT, "dataset_in_use", detail),
            DatasetError::Damaged { .. } => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "dataset_damaged", detail),
            DatasetError::Storage(error) => Self::storage(&error),
            DatasetError::Database(error) => Self::database(&error),
        }
    }
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        let detail = error.to_string();
        match error {
            JobError::NotFound { .. } => Self::not_found("job_not_found", detail),
            JobError::QueueFull { .. } => Self { retry_after_seconds: Some(10), ..Self::busy("queue_full", detail) },
            JobError::Draining => Self::busy("draining", detail),
            JobError::State { .. } => Self::new(StatusCode::CONFLICT, "wrong_state", detail),
            JobError::NoDataset { .. } => Self::not_found("dataset_not_found", detail),
            JobError::KeyReused => Self::new(StatusCode::CONFLICT, "idempotency_key_reused", detail),
            JobError::Database(error) => Self::database(&error),
        }
    }
}

impl From<OnnxError> for ApiError {
    fn from(error: OnnxError) -> Self {
        Self::new(StatusCode::CONFLICT, "not_exportable", error.to_string())
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        let detail = error.to_string();
        match error {
            RegistryError::Name { .. } => Self::invalid_field("invalid_model_name", "/model", detail),
            RegistryError::NotFound { .. } => Self::not_found("model_not_found", detail),
            RegistryError::NoVersion { .. } => Self::not_found("version_not_found", detail),
            RegistryError::Alias { .. } => Self::invalid_field("invalid_alias", "/alias", detail),
            RegistryError::NoAlias { .. } => Self::not_found("alias_not_found", detail),
            RegistryError::Aliased { .. } => Self::new(StatusCode::CONFLICT, "version_aliased", detail),
            RegistryError::Artifact { .. } | RegistryError::Superseded { .. } | RegistryError::Encode(_) => {
                Self::internal(detail)
            }
            RegistryError::Storage(error) => Self::storage(&error),
            RegistryError::Database(error) => Self::database(&error),
        }
    }
}

/// An artifact from a request.
impl From<ArtifactError> for ApiError {
    fn from(error: ArtifactError) -> Self {
        match error {
            ArtifactError::TooLarge { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", error.to_string())
            }
            ArtifactError::Read(_) => Self::malformed("unreadable_body", error.to_string()),
            ArtifactError::Encode(_) => Self::internal(error),
            _ => Self::invalid_field("invalid_artifact", "", error.to_string()),
        }
    }
}

impl From<ModelCacheError> for ApiError {
    fn from(error: ModelCacheError) -> Self {
        match error {
            ModelCacheError::Unloaded { .. } => Self::new(StatusCode::CONFLICT, "model_unloaded", error.to_string()),
            ModelCacheError::Registry(error) => error.into(),
            ModelCacheError::NotReady(error) => Self::internal(error),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed { code, detail } => Self::malformed(code, detail),
            Refusal::Invalid(problems) => Self::invalid("invalid_prediction_request", problems),
            Refusal::TooLarge { limit } => Self::too_large(limit),
        }
    }
}

/// An answer that could not be written.
impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> Self {
        Self::storage(&error)
    }
}
