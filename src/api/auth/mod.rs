//! Who asks, and what they may do: keys, scopes, models, and the limits of one client.

/// Which route needs which scope.
mod permissions;

/// The key in the headers of a request.
pub(crate) mod credentials;

/// Who asks.
mod caller;

/// The check of every request.
mod authorize;

/// Requests a second of one client.
mod rate;

/// The share of one client in places that all use.
mod slots;

pub(crate) use authorize::{Request, authorize, authorize_route};
pub(crate) use caller::{Caller, Client};
pub(crate) use permissions::{Access, permission};
pub(crate) use rate::{RateLimit, RateStatus};
pub(crate) use slots::ClientSlots;
