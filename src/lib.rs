//! Bochner turns an uploaded table into a served kernel model with its proof attached.
//!
//! Data flows one way: an upload becomes a [`dataset`]; a request becomes a job, which `jobs` runs; [`training`] asks
//! [`features`] for ψ and `solver` for weights; [`theory`] states how far the result can be from the exact kernel method;
//! [`model`] keeps it; `serving` answers predictions. `docs/architecture.md` has the map with a picture.
//!
//! As a library: [`dataset::DatasetStore`] reads a table, [`training::TrainSpec`] is checked JSON, [`training::train`]
//! makes a [`model::FittedModel`], [`model::Predictor`] predicts, and [`theory::guarantees`] lists what is proved.
//! `examples/train_and_predict.rs` shows all of it.
//!
//! What each module may not do: only `api` knows HTTP; `jobs` knows nothing of kernels; `training` uses neither HTTP nor
//! the disk; `theory` does no I/O and draws no random numbers; only `linalg` calls BLAS and LAPACK; only
//! `model/artifact` knows the file format.
//!
//! Modules fall in three groups. The public face of the library is documented item by item (`missing_docs`). Modules
//! that are `pub` for tests and benches only are hidden from the documentation. The rest is private.

/// The command line.
pub mod cli;

/// Tables in files that stay where they are, and the engines that run passes over them.
#[doc(hidden)]
pub mod cluster;

/// The experiments of the papers.
#[warn(missing_docs)]
pub mod reproduce;

/// Every setting of the service, as flags and environment variables.
#[warn(missing_docs)] // the comments are the text of --help
pub mod config;

/// The composition root: opens stores, starts workers, builds routes.
pub mod app;

/// Logs and metrics.
mod telemetry;

/// HTTP.
#[doc(hidden)]
pub mod api;

/// Keys: who may do what.
#[warn(missing_docs)]
pub mod keys;

/// When and where work runs.
mod jobs;

/// Models ready to predict.
#[doc(hidden)]
pub mod serving;

/// From a checked spec and rows to a fitted model.
#[warn(missing_docs)]
pub mod training;

/// Fitted models, their files and their versions.
#[warn(missing_docs)]
pub mod model;

/// Uploaded tables: typed columns, encoding, scaling, splits.
#[warn(missing_docs)]
pub mod dataset;

/// x ↦ ψ(x): kernels and their random features.
#[warn(missing_docs)]
pub mod features;

/// ψ, y, λ ↦ w, with evidence.
#[doc(hidden)]
pub mod solver;

/// Plain numbers in, guarantees out.
#[warn(missing_docs)]
pub mod theory;

/// Charts: numbers in, SVG out.
#[warn(missing_docs)]
pub mod plots;

/// The data directory: the database, files that are whole or absent, a disk reserve.
pub mod storage;

/// What is wrong with a request, and where.
mod request;

/// Sums that are the same bits in any order.
#[doc(hidden)]
pub mod sums;

/// Reproducible random numbers.
#[doc(hidden)]
pub mod random;

/// BLAS, LAPACK and our own matrix kernels.
#[doc(hidden)]
pub mod linalg;
