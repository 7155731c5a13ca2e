//! The console at `/`: pages for people, made of what the API answers.
//!
//! A page asks the route table of the API, in this process, with the key of its reader. Scopes, models, limits and
//! checks are therefore those of the API, and there is no second way to anything.

/// The routes of the console.
mod routes;

/// What all pages share: the API behind them, and the secret of their forms.
mod backend;

/// Requests to the API on behalf of a reader.
mod api_client;

/// The key in a cookie, and what a form must show before it changes something.
mod session;

/// The frame of every page, and pages about refusals.
mod page;

/// Numbers, sizes and times as people read them.
mod display;

/// The pages, one file for each noun.
mod pages;

/// Style sheet, script and icon.
mod assets;

pub(super) use backend::Backend;
pub(super) use page::no_such_page;
pub(super) use routes::{is_form, routes};
pub(super) use session::check_same_origin;
