//! Numbers against independent references: golden files, dense twins, brute force.
#![allow(clippy::unwrap_used)] // a test may panic

mod classification;
mod classifier_properties;
mod classifiers;
mod coverage;
mod degenerate;
mod dense;
mod evidence;
mod exact;
mod exact_learner;
mod golden;
mod golden_artifacts;
mod guarantees;
mod hostile_artifacts;
mod jackknife;
mod kernel_estimates;
mod montecarlo;
mod onnx;
mod planner;
mod relative_event;
mod ridge;
mod small_lambda;
mod soundness;
mod spectrum;
mod statement_cases;
mod statements;
mod tables;
mod targets;
mod training;
mod wang;
