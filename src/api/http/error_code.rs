//! Error codes: the stable word, the HTTP status and the title of every error that the API answers.

use crate::serving::RefusalCode;
use axum::http::StatusCode;

/// What went wrong, as a client can match on it. A new code is added here, to `ALL` and to `openapi/openapi.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the title of each code says what it means
pub enum ErrorCode {
    MalformedPath,
    MalformedQuery,
    MalformedHeader,
    InvalidHeader,
    MalformedJson,
    MalformedRequest,
    MalformedArrow,
    EmptyBody,
    UnreadableBody,
    MissingKey,
    UnknownKey,
    ExpiredKey,
    MissingScope,
    ModelNotAllowed,
    HostNotAllowed,
    OriginNotAllowed,
    ModelControlOff,
    LocationNotAllowed,
    RouteNotFound,
    DatasetNotFound,
    JobNotFound,
    ModelNotFound,
    VersionNotFound,
    AliasNotFound,
    MethodNotAllowed,
    NotAcceptable,
    BodyTimeout,
    DatasetInUse,
    DatasetLocated,
    ModelNotCertifiable,
    ModelNotUpdatable,
    WrongState,
    NotExportable,
    NotMeasured,
    VersionAliased,
    ModelUnloaded,
    NoDefaultModel,
    IdempotencyKeyReused,
    BodyTooLarge,
    TableTooLong,
    UnsupportedMediaType,
    UnsupportedEncoding,
    UnknownParameter,
    InvalidParameter,
    InvalidTable,
    InvalidColumn,
    InvalidJob,
    InvalidPlan,
    InvalidPredictionRequest,
    InvalidModelName,
    InvalidVersion,
    InvalidAlias,
    InvalidArtifact,
    RateLimited,
    ClientLimit,
    Internal,
    DatasetDamaged,
    ModelDamaged,
    ClusterFailed,
    Overloaded,
    ModelLoading,
    QueueFull,
    Draining,
    Disconnected,
    DeadlineExceeded,
    DiskFull,
    MemoryBudget,
}

impl ErrorCode {
    /// Every code, in the order of the declaration. The length names the last variant, so that one added before it and
    /// left out here does not compile.
    pub const ALL: [Self; Self::MemoryBudget as usize + 1] = [
        Self::MalformedPath,
        Self::MalformedQuery,
        Self::MalformedHeader,
        Self::InvalidHeader,
        Self::MalformedJson,
        Self::MalformedRequest,
        Self::MalformedArrow,
        Self::EmptyBody,
        Self::UnreadableBody,
        Self::MissingKey,
        Self::UnknownKey,
        Self::ExpiredKey,
        Self::MissingScope,
        Self::ModelNotAllowed,
        Self::HostNotAllowed,
        Self::OriginNotAllowed,
        Self::ModelControlOff,
        Self::LocationNotAllowed,
        Self::RouteNotFound,
        Self::DatasetNotFound,
        Self::JobNotFound,
        Self::ModelNotFound,
        Self::VersionNotFound,
        Self::AliasNotFound,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::BodyTimeout,
        Self::DatasetInUse,
        Self::DatasetLocated,
        Self::ModelNotCertifiable,
        Self::ModelNotUpdatable,
        Self::WrongState,
        Self::NotExportable,
        Self::NotMeasured,
        Self::VersionAliased,
        Self::ModelUnloaded,
        Self::NoDefaultModel,
        Self::IdempotencyKeyReused,
        Self::BodyTooLarge,
        Self::TableTooLong,
        Self::UnsupportedMediaType,
        Self::UnsupportedEncoding,
        Self::UnknownParameter,
        Self::InvalidParameter,
        Self::InvalidTable,
        Self::InvalidColumn,
        Self::InvalidJob,
        Self::InvalidPlan,
        Self::InvalidPredictionRequest,
        Self::InvalidModelName,
        Self::InvalidVersion,
        Self::InvalidAlias,
        Self::InvalidArtifact,
        Self::RateLimited,
        Self::ClientLimit,
        Self::Internal,
        Self::DatasetDamaged,
        Self::ModelDamaged,
        Self::ClusterFailed,
        Self::Overloaded,
        Self::ModelLoading,
        Self::QueueFull,
        Self::Draining,
        Self::Disconnected,
        Self::DeadlineExceeded,
        Self::DiskFull,
        Self::MemoryBudget,
    ];

    /// The word in `code`, which never changes.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The status of an answer with this code.
    pub fn status(self) -> StatusCode {
        self.row().1
    }

    /// A short summary, the same for every answer with this code. [RFC 9457, section 3.1.3]
    pub fn title(self) -> &'static str {
        self.row().2
    }

    /// Seconds after which the same request may succeed, for refusals that pass by themselves.
    pub(super) fn retry_after_seconds(self) -> Option<u32> {
        match self {
            Self::QueueFull | Self::ClientLimit => Some(10), // a job or an upload ends less often than a request
            _ => (self.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        }
    }

    fn row(self) -> (&'static str, StatusCode, &'static str) {
        use StatusCode as S;
        match self {
            Self::MalformedPath => ("malformed_path", S::BAD_REQUEST, "Malformed path"),
            Self::MalformedQuery => ("malformed_query", S::BAD_REQUEST, "Malformed query string"),
            Self::MalformedHeader => ("malformed_header", S::BAD_REQUEST, "Malformed header"),
            Self::InvalidHeader => ("invalid_header", S::BAD_REQUEST, "Invalid header value"),
            Self::MalformedJson => ("malformed_json", S::BAD_REQUEST, "Malformed JSON"),
            Self::MalformedRequest => ("malformed_request", S::BAD_REQUEST, "Malformed request"),
            Self::MalformedArrow => ("malformed_arrow", S::BAD_REQUEST, "Malformed Arrow stream"),
            Self::EmptyBody => ("empty_body", S::BAD_REQUEST, "Empty body"),
            Self::UnreadableBody => ("unreadable_body", S::BAD_REQUEST, "Unreadable body"),
            Self::MissingKey => ("missing_key", S::UNAUTHORIZED, "Key needed"),
            Self::UnknownKey => ("unknown_key", S::UNAUTHORIZED, "Unknown key"),
            Self::ExpiredKey => ("expired_key", S::UNAUTHORIZED, "Expired key"),
            Self::MissingScope => ("missing_scope", S::FORBIDDEN, "Scope missing"),
            Self::ModelNotAllowed => ("model_not_allowed", S::FORBIDDEN, "Model not allowed"),
            Self::HostNotAllowed => ("host_not_allowed", S::FORBIDDEN, "Host not allowed"),
            Self::OriginNotAllowed => ("origin_not_allowed", S::FORBIDDEN, "Origin not allowed"),
            Self::ModelControlOff => ("model_control_off", S::FORBIDDEN, "Model control is off"),
            Self::LocationNotAllowed => ("location_not_allowed", S::FORBIDDEN, "Location not allowed"),
            Self::RouteNotFound => ("route_not_found", S::NOT_FOUND, "Route not found"),
            Self::DatasetNotFound => ("dataset_not_found", S::NOT_FOUND, "Dataset not found"),
            Self::JobNotFound => ("job_not_found", S::NOT_FOUND, "Job not found"),
            Self::ModelNotFound => ("model_not_found", S::NOT_FOUND, "Model not found"),
            Self::VersionNotFound => ("version_not_found", S::NOT_FOUND, "Version not found"),
            Self::AliasNotFound => ("alias_not_found", S::NOT_FOUND, "Alias not found"),
            Self::MethodNotAllowed => ("method_not_allowed", S::METHOD_NOT_ALLOWED, "Method not allowed"),
            Self::NotAcceptable => ("not_acceptable", S::NOT_ACCEPTABLE, "No acceptable format"),
            Self::BodyTimeout => ("body_timeout", S::REQUEST_TIMEOUT, "Body arrived too slowly"),
            Self::DatasetInUse => ("dataset_in_use", S::CONFLICT, "Dataset in use"),
            Self::DatasetLocated => ("dataset_located", S::CONFLICT, "Rows stay where they are"),
            Self::ModelNotCertifiable => ("model_not_certifiable", S::CONFLICT, "Model cannot be certified"),
            Self::ModelNotUpdatable => ("model_not_updatable", S::CONFLICT, "Model cannot be updated"),
            Self::WrongState => ("wrong_state", S::CONFLICT, "Wrong job state"),
            Self::NotExportable => ("not_exportable", S::CONFLICT, "Model cannot be exported"),
            Self::NotMeasured => ("not_measured", S::CONFLICT, "Not measured for this version"),
            Self::VersionAliased => ("version_aliased", S::CONFLICT, "Version has an alias"),
            Self::ModelUnloaded => ("model_unloaded", S::CONFLICT, "Model is unloaded"),
            Self::NoDefaultModel => ("no_default_model", S::CONFLICT, "No default model"),
            Self::IdempotencyKeyReused => ("idempotency_key_reused", S::CONFLICT, "Idempotency key reused"),
            Self::BodyTooLarge => ("body_too_large", S::PAYLOAD_TOO_LARGE, "Body too large"),
            Self::TableTooLong => ("table_too_long", S::PAYLOAD_TOO_LARGE, "Table too long"),
            Self::UnsupportedMediaType => {
                ("unsupported_media_type", S::UNSUPPORTED_MEDIA_TYPE, "Unsupported content type")
            }
            Self::UnsupportedEncoding => {
                ("unsupported_encoding", S::UNSUPPORTED_MEDIA_TYPE, "Unsupported content encoding")
            }
            Self::UnknownParameter => ("unknown_parameter", S::UNPROCESSABLE_ENTITY, "Unknown query parameter"),
            Self::InvalidParameter => ("invalid_parameter", S::UNPROCESSABLE_ENTITY, "Invalid parameter"),
            Self::InvalidTable => ("invalid_table", S::UNPROCESSABLE_ENTITY, "Invalid table"),
            Self::InvalidColumn => ("invalid_column", S::UNPROCESSABLE_ENTITY, "Invalid column"),
            Self::InvalidJob => ("invalid_job", S::UNPROCESSABLE_ENTITY, "Invalid job"),
            Self::InvalidPlan => ("invalid_plan", S::UNPROCESSABLE_ENTITY, "Invalid plan request"),
            Self::InvalidPredictionRequest => {
                ("invalid_prediction_request", S::UNPROCESSABLE_ENTITY, "Invalid prediction request")
            }
            Self::InvalidModelName => ("invalid_model_name", S::UNPROCESSABLE_ENTITY, "Invalid model name"),
            Self::InvalidVersion => ("invalid_version", S::UNPROCESSABLE_ENTITY, "Invalid version"),
            Self::InvalidAlias => ("invalid_alias", S::UNPROCESSABLE_ENTITY, "Invalid alias"),
            Self::InvalidArtifact => ("invalid_artifact", S::UNPROCESSABLE_ENTITY, "Invalid model file"),
            Self::RateLimited => ("rate_limited", S::TOO_MANY_REQUESTS, "Too many requests"),
            Self::ClientLimit => ("client_limit", S::TOO_MANY_REQUESTS, "Limit of one client reached"),
            Self::DatasetDamaged => ("dataset_damaged", S::INTERNAL_SERVER_ERROR, "Stored table is damaged"),
            Self::ModelDamaged => ("model_damaged", S::INTERNAL_SERVER_ERROR, "Stored model is damaged"),
            Self::Internal => ("internal", S::INTERNAL_SERVER_ERROR, "Internal error"),
            Self::ClusterFailed => ("cluster_failed", S::BAD_GATEWAY, "Cluster failed"),
            Self::Overloaded => ("overloaded", S::SERVICE_UNAVAILABLE, "Overloaded"),
            Self::ModelLoading => ("model_loading", S::SERVICE_UNAVAILABLE, "Model is loading"),
            Self::QueueFull => ("queue_full", S::SERVICE_UNAVAILABLE, "Job queue full"),
            Self::Draining => ("draining", S::SERVICE_UNAVAILABLE, "Shutting down"),
            Self::Disconnected => ("disconnected", S::SERVICE_UNAVAILABLE, "Client disconnected"),
            Self::DeadlineExceeded => ("deadline_exceeded", S::GATEWAY_TIMEOUT, "Deadline exceeded"),
            Self::DiskFull => ("disk_full", S::INSUFFICIENT_STORAGE, "Disk full"),
            Self::MemoryBudget => ("memory_budget", S::INSUFFICIENT_STORAGE, "Memory budget exceeded"),
        }
    }
}

impl From<RefusalCode> for ErrorCode {
    fn from(code: RefusalCode) -> Self {
        match code {
            RefusalCode::MalformedJson => Self::MalformedJson,
            RefusalCode::MalformedRequest => Self::MalformedRequest,
            RefusalCode::MalformedArrow => Self::MalformedArrow,
            RefusalCode::EmptyBody => Self::EmptyBody,
            RefusalCode::UnreadableBody => Self::UnreadableBody,
        }
    }
}
