//! Transport: connections, bodies, headers, errors, and what is observed of every request.

/// One error type, three renderings.
pub(crate) mod error;

/// Request ids, spans, metrics, and the rendering of errors.
pub(crate) mod observe;

/// The same for requests that must be answered in microseconds.
pub(crate) mod watch;

/// The way in: predictions at once, the rest through the route table.
pub(crate) mod dispatch;

/// Connections.
pub(crate) mod connections;

/// Whether they do something.
pub(crate) mod idle;

/// Request bodies.
pub(crate) mod body;

/// Bodies that nobody reads to their end.
pub(crate) mod drain;

/// Queries and names, checked.
pub(crate) mod extract;

/// The format that an answer is written in.
pub(crate) mod accept;

/// Long answers.
pub(crate) mod spool;

/// Large answers on their way.
pub(crate) mod response_memory;
