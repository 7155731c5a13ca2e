//! The service as its users see it: without a socket where that is enough, as a real process where
//! it is not.
#![allow(clippy::unwrap_used)] // a test may panic

mod aliases;
mod artifacts;
mod bad_requests;
mod bad_tables;
mod batching;
mod classifiers;
mod connections;
mod contract;
mod crashes;
mod cross_site;
mod damage;
mod data_directory;
mod datasets;
mod exact_learner;
mod exports;
mod formats;
mod guarantees;
mod harness;
mod inspect;
mod jobs;
mod limits;
mod memory;
mod metrics;
mod mistakes;
mod models;
mod offline;
mod plans;
mod process;
mod spectrum;
mod summary;
mod updates;
