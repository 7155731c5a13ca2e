//! Numbers against independent references: golden files, dense twins, brute force.

mod exact;
mod golden;
mod kernel_estimates;
mod ridge;
mod training;
mod wang;
