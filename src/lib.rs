//! Bochner turns an uploaded table into a served kernel model with its proof attached.
//!
//! Data flows one way: bytes become a `dataset`; a request becomes a job, which `jobs` runs;
//! `training` asks `features` for ψ and `solver` for weights; `theory` says how far the result can
//! be from the exact kernel method; `model` keeps it; `serving` answers predictions.
//!
//! What each module may not do: only `api` knows HTTP; `jobs` knows nothing of kernels; `training`
//! has neither HTTP nor disk; `theory` has neither I/O nor randomness; only `linalg` calls BLAS and
//! LAPACK; only `model/artifact` knows the file format.

/// The command line.
pub mod cli;

/// Every knob.
pub mod config;

/// The composition root.
pub mod app;

/// Logs and metrics.
pub mod telemetry;

/// HTTP.
pub mod api;

/// When and where work runs.
pub mod jobs;

/// Models ready to predict.
pub mod serving;

/// The recipe: spec and rows in, fitted model out.
pub mod training;

/// What is kept of a training run.
pub mod model;

/// Uploaded tables, made trustworthy.
pub mod dataset;

/// x ↦ ψ(x).
pub mod features;

/// ψ, y, λ ↦ w, with evidence.
pub mod solver;

/// Plain numbers in, guarantees out.
pub mod theory;

/// The data directory: the database, files that are whole or absent, a disk reserve.
pub mod storage;

/// What is wrong with a request, and where.
pub mod request;

/// Reproducible randomness.
pub mod random;

/// BLAS and LAPACK.
pub mod linalg;
