//! Transport: connections, bodies, headers, errors, and what is observed of every request.

/// Connections, and what answers their requests.
pub(crate) mod connections;

/// Caps on connections.
pub(crate) mod connection_limits;

/// Idle connections.
pub(crate) mod idle;

/// Request bodies.
pub(crate) mod body;

/// Draining of bodies that are not read to their end.
pub(crate) mod drain;

/// Path parameters, query parameters and JSON bodies.
pub(crate) mod extract;

/// Requests that a web page of somebody else makes a browser send.
pub(crate) mod cross_site;

/// `Accept` headers.
pub(crate) mod accept;

/// Error codes.
pub(crate) mod error_code;

/// The error type of every handler.
pub(crate) mod error;

/// Request ids, log lines, metrics and the rendering of errors.
pub(crate) mod observe;

/// Entity tags and compression.
pub(crate) mod responses;

/// The memory of large responses.
pub(crate) mod response_memory;

/// Long responses before they are sent.
pub(crate) mod spool;
