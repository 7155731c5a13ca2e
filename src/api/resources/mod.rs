//! One file per noun of `/api/v1`.

/// `/api/v1/datasets`.
pub(crate) mod datasets;

/// `/api/v1/jobs`.
pub(crate) mod jobs;

/// Server-sent events of a job.
pub(crate) mod job_events;

/// `/api/v1/models`.
pub(crate) mod models;

/// `/api/v1/models/{model}/aliases`.
pub(crate) mod aliases;

/// `/api/v1/models/{model}/versions`: export and import of artifacts.
pub(crate) mod artifacts;

/// `/api/v1/models/{model}/versions/{version}/onnx`.
pub(crate) mod onnx;

/// Jobs of type `certify`.
pub(crate) mod certifications;

/// `/api/v1/models/{model}/update`.
pub(crate) mod updates;

/// `/api/v1/models/{model}/guarantees`.
pub(crate) mod guarantees;

/// What the columns of a model do to its outputs.
pub(crate) mod explanations;

/// `/api/v1/models/{model}/spectrum`.
pub(crate) mod spectrum;

/// `/api/v1/models/{model}/plots`.
pub(crate) mod plots;

/// `/api/v1/plan`.
pub(crate) mod plan;

/// Health, metrics, version, limits, and the OpenAPI document.
pub(crate) mod operations;
