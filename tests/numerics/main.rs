//! Numbers against independent references: golden files, dense twins, brute force.
#![allow(clippy::unwrap_used)] // a test may panic

mod classification;
mod classifier_properties;
mod classifiers;
mod degenerate;
mod exact;
mod golden;
mod kernel_estimates;
mod ridge;
mod tables;
mod targets;
mod training;
mod wang;
