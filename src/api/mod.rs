//! The HTTP API: extract, call, wrap. The only module that names axum.

/// Transport: connections, bodies, headers, errors, and what is observed of every request.
mod http;

/// Who asks, and what they may do.
mod auth;

/// TLS on a connection.
mod tls;

/// One file per noun of `/api/v1`.
mod resources;

/// Predictions: one pipeline, and a decoder and an encoder for each protocol.
mod predict;

/// Pages for people.
mod console;

/// What every handler shares.
mod state;

/// The route table.
mod routes;

/// The shortcut for predictions in front of the route table.
mod dispatch;

pub use crate::telemetry::PredictionRoute;
pub use dispatch::Dispatch;
pub use http::connection_limits::ConnectionLimits;
pub use http::connections::{Handler, serve};
pub use http::error_code::ErrorCode;
pub use routes::router;
pub use state::AppState;
pub use tls::{Tls, TlsError};
