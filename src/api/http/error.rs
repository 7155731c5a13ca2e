//! The error type of every handler, and the body it is rendered as for each protocol.
//!
//! A handler's error travels in the response's extensions. `observe` renders it, because only there are the path and
//! the request id known.

use super::error_code::ErrorCode;
use crate::dataset::{DatasetError, PlaceUnit};
use crate::jobs::JobError;
use crate::model::{ArtifactError, OnnxError, RegistryError};
use crate::request::problem::{Problem, pointer};
use crate::serving::{ModelCacheError, Refusal};
use crate::storage::disk::DiskLow;
use crate::telemetry::{Outcome, Protocol};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error as the client sees it. The cause of an internal error goes to the log only.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    code: ErrorCode,
    detail: String,
    errors: Vec<Value>,
    cause: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), cause: None, headers: Vec::new() }
    }

    /// With a header in addition to those of every error, or in place of one.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn empty_body() -> Self {
        Self::new(ErrorCode::EmptyBody, "the body is empty; send a JSON object")
    }

    pub(crate) fn not_an_object() -> Self {
        Self::new(ErrorCode::MalformedRequest, "the body must be a JSON object")
    }

    pub(crate) fn draining() -> Self {
        Self::new(ErrorCode::Draining, "the service is shutting down")
    }

    pub(crate) fn too_large(limit: u64) -> Self {
        Self::new(ErrorCode::BodyTooLarge, format!("the body is larger than the limit of {limit} bytes"))
    }

    pub(crate) fn unsupported_media_type(found: &str, accepted: &str) -> Self {
        let detail = format!("content-type '{found}' is not supported here; send {accepted}");
        Self::new(ErrorCode::UnsupportedMediaType, detail)
    }

    /// Well-formed but invalid, with the location of every problem.
    pub(crate) fn invalid(code: ErrorCode, problems: Vec<Problem>) -> Self {
        let detail = match problems.as_slice() {
            [only] if only.pointer.is_empty() => only.detail.clone(),
            [only] => format!("{}: {}", only.pointer, only.detail),
            many => format!("{} fields are not valid", many.len()),
        };
        let items = problems.into_iter().map(|p| json!({"pointer": p.pointer, "detail": p.detail}));
        Self { errors: items.collect(), ..Self::new(code, detail) }
    }

    /// One problem with one field.
    pub(crate) fn invalid_field(code: ErrorCode, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::invalid(code, vec![Problem::new(pointer, detail)])
    }

    /// A query parameter or a field of that name has an invalid value.
    pub(crate) fn invalid_parameter(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::invalid_field(ErrorCode::InvalidParameter, pointer, detail)
    }

    /// A fault of the service. The cause is logged and not shown to the client.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        let detail = "the service failed to answer; its log has the cause under this request id";
        Self { cause: Some(cause.to_string()), ..Self::new(ErrorCode::Internal, detail) }
    }

    fn storage(error: &std::io::Error) -> Self {
        let is_low = error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<DiskLow>);
        match error.kind() {
            std::io::ErrorKind::StorageFull if is_low => Self::new(ErrorCode::DiskFull, error.to_string()),
            std::io::ErrorKind::StorageFull => Self::disk_full(error),
            _ => Self::internal(error),
        }
    }

    fn database(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::disk_full(error),
            _ => Self::internal(error),
        }
    }

    fn disk_full(cause: impl ToString) -> Self {
        let detail = "the disk of the data directory is full; free some space and try again";
        Self { cause: Some(cause.to_string()), ..Self::new(ErrorCode::DiskFull, detail) }
    }

    /// How a prediction that ends with this error is counted.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.code.status().as_u16() {
            429 | 503 | 504 => Outcome::Shed,
            400..500 => Outcome::Refused,
            _ => Outcome::Failed,
        }
    }

    /// One line for clients that show nothing else: of several problems, it has the first.
    fn message(&self) -> String {
        let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
        match self.errors.as_slice() {
            [first, _, ..] => format!("{}; {}: {}", self.detail, text(&first["pointer"]), text(&first["detail"])),
            _ => self.detail.clone(),
        }
    }

    /// The response for a client of one protocol. Logs the cause if there is one.
    pub(crate) fn render(&self, protocol: Protocol, request_id: &str) -> Response {
        let (code, status) = (self.code.name(), self.code.status());
        let mut body = json!({
            "type": format!("urn:bochner:error:{code}"),
            "title": self.code.title(),
            "status": status.as_u16(),
            "detail": self.detail,
            "code": code,
            "request_id": request_id,
        });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors.clone());
        }
        let media_type = match protocol {
            Protocol::Native => "application/problem+json",
            Protocol::InferenceV2 => {
                body["error"] = json!(self.message());
                "application/json"
            }
            Protocol::Invocations => {
                body["error_code"] = json!(code.to_uppercase());
                body["message"] = json!(self.message());
                "application/json"
            }
        };
        if let Some(cause) = &self.cause {
            tracing::error!(request_id, cause, code, "request failed");
        }
        let mut response = (status, body.to_string()).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some(seconds) = self.code.retry_after_seconds() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        for (name, value) in &self.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<DatasetError> for ApiError {
    fn from(error: DatasetError) -> Self {
        let detail = error.to_string();
        match error {
            DatasetError::Empty => Self::new(ErrorCode::EmptyBody, detail),
            DatasetError::Unreadable { .. } => Self::new(ErrorCode::UnreadableBody, detail),
            DatasetError::WrongFormat { .. } => Self::new(ErrorCode::UnsupportedMediaType, detail),
            DatasetError::TooLarge { .. } => Self::new(ErrorCode::BodyTooLarge, detail),
            DatasetError::At { place, detail: what } => {
                let number = place.line;
                let mut item = match place.unit {
                    PlaceUnit::Line => json!({"pointer": format!("/lines/{number}"), "line": number, "detail": what}),
                    PlaceUnit::Row => json!({"pointer": format!("/rows/{number}"), "row": number, "detail": what}),
                };
                if let Some(column) = &place.column {
                    item["column"] = json!(column);
                }
                Self { errors: vec![item], ..Self::new(ErrorCode::InvalidTable, detail) }
            }
            DatasetError::Column { column, detail: what } => {
                let item = json!({"pointer": pointer("/columns", &column), "column": column, "detail": what});
                Self { errors: vec![item], ..Self::new(ErrorCode::InvalidColumn, detail) }
            }
            DatasetError::Table { .. } => Self::new(ErrorCode::InvalidTable, detail),
            DatasetError::Option { option, detail: what } => Self::invalid_parameter(format!("?{option}"), what),
            DatasetError::NotFound { .. } => Self::new(ErrorCode::DatasetNotFound, detail),
            DatasetError::InUse { .. } => Self::new(ErrorCode::DatasetInUse, detail),
            DatasetError::Located { .. } => Self::new(ErrorCode::DatasetLocated, detail),
            DatasetError::Damaged { .. } => Self::new(ErrorCode::DatasetDamaged, detail),
            DatasetError::Storage(error) => Self::storage(&error),
            DatasetError::Database(error) => Self::database(&error),
        }
    }
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        let detail = error.to_string();
        match error {
            JobError::NotFound { .. } => Self::new(ErrorCode::JobNotFound, detail),
            JobError::QueueFull { .. } => Self::new(ErrorCode::QueueFull, detail),
            JobError::ClientQueueFull { .. } => Self::new(ErrorCode::ClientLimit, detail),
            JobError::Draining => Self::new(ErrorCode::Draining, detail),
            JobError::State { .. } => Self::new(ErrorCode::WrongState, detail),
            JobError::NoDataset { .. } => Self::new(ErrorCode::DatasetNotFound, detail),
            JobError::KeyReused => Self::new(ErrorCode::IdempotencyKeyReused, detail),
            JobError::UnknownKind { .. } | JobError::Thread { .. } => Self::internal(detail),
            JobError::Database(error) => Self::database(&error),
        }
    }
}

impl From<OnnxError> for ApiError {
    fn from(error: OnnxError) -> Self {
        Self::new(ErrorCode::NotExportable, error.to_string())
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        let detail = error.to_string();
        match error {
            RegistryError::Name { .. } => Self::invalid_field(ErrorCode::InvalidModelName, "/model", detail),
            RegistryError::NotFound { .. } => Self::new(ErrorCode::ModelNotFound, detail),
            RegistryError::NoVersion { .. } => Self::new(ErrorCode::VersionNotFound, detail),
            RegistryError::Alias { .. } => Self::invalid_field(ErrorCode::InvalidAlias, "/alias", detail),
            RegistryError::NoAlias { .. } => Self::new(ErrorCode::AliasNotFound, detail),
            RegistryError::Aliased { .. } => Self::new(ErrorCode::VersionAliased, detail),
            RegistryError::Artifact { .. } => {
                let remedy = "train the model again or import its file, then delete this version";
                Self::new(ErrorCode::ModelDamaged, format!("{detail}; {remedy}"))
            }
            RegistryError::Superseded { .. } | RegistryError::Encode(_) => Self::internal(detail),
            RegistryError::Storage(error) => Self::storage(&error),
            RegistryError::Database(error) => Self::database(&error),
        }
    }
}

/// For an artifact that a client sent.
impl From<ArtifactError> for ApiError {
    fn from(error: ArtifactError) -> Self {
        match error {
            ArtifactError::TooLarge { .. } => Self::new(ErrorCode::BodyTooLarge, error.to_string()),
            ArtifactError::Read(_) => Self::new(ErrorCode::UnreadableBody, error.to_string()),
            ArtifactError::Encode(_) => Self::internal(error),
            _ => Self::invalid_field(ErrorCode::InvalidArtifact, "", error.to_string()),
        }
    }
}

impl From<ModelCacheError> for ApiError {
    fn from(error: ModelCacheError) -> Self {
        match error {
            ModelCacheError::Unloaded { .. } => Self::new(ErrorCode::ModelUnloaded, error.to_string()),
            ModelCacheError::Registry(error) => error.into(),
            ModelCacheError::NotReady(error) => Self::internal(error),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed { code, detail } => Self::new(code.into(), detail),
            Refusal::Invalid(problems) => Self::invalid(ErrorCode::InvalidPredictionRequest, problems),
            Refusal::TooLarge { limit } => Self::too_large(limit),
        }
    }
}

/// For a response that cannot be written to its spool file.
impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> Self {
        Self::storage(&error)
    }
}
