//! One file per noun of `/api/v1`: extract, call, wrap.

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

/// `/api/v1/models/{model}/versions`: artifacts out and in.
pub(crate) mod artifacts;

/// `/api/v1/models/{model}/versions/{version}/onnx`.
pub(crate) mod onnx;

/// Jobs that measure what training left out.
pub(crate) mod certifications;

/// Rows added to a model.
pub(crate) mod updates;

/// `/api/v1/models/{model}/guarantees`.
pub(crate) mod guarantees;

/// `/api/v1/models/{model}/spectrum`.
pub(crate) mod spectrum;

/// `/api/v1/plan`.
pub(crate) mod plan;

/// Health, metrics, version, limits, contract.
pub(crate) mod operations;
