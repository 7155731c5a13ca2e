//! The parts of a model as files hold them: mirrors of the program's own types, made for files alone.
//!
//! Formats 1 and 2 are written down in these structs, so none of them ever changes: no field is added, removed or
//! moved, and an enum only gains variants at its end. What a later release wants to keep goes into a section of its own
//! (see `v2`). The program's own types are free to change; only the conversions here follow.
//!
//! Texts are borrowed from the file, so a length that lies is refused before any memory is given.

/// Columns, their encoding and scaling.
pub(super) mod inputs;

/// The kernel and the map that approximates it.
pub(super) mod features;

/// What the outputs mean.
pub(super) mod head;

/// Spread, error bars and sums: what only some models keep.
pub(super) mod extras;

/// How linear systems and classifiers were solved.
pub(super) mod solves;

/// How the fit went.
pub(super) mod report;

/// How good the predictions are.
pub(super) mod errors;

/// What guarantees are computed from.
pub(super) mod evidence;

/// Details of the distance to the exact method.
pub(super) mod distance;

/// What scaling, kernel and λ were chosen from.
pub(super) mod choices;

/// What later releases tell about a model.
pub(super) mod insight;

/// What the columns of a model do to its outputs.
pub(super) mod explanations;

/// A learned metric.
pub(super) mod metric;

/// Features that were chosen by rows.
pub(super) mod selection;

use std::borrow::Cow;

/// A list of numbers: borrowed when a file is written, owned when it was read.
pub(super) type Numbers<'a> = Cow<'a, [f64]>;

/// Borrows texts, to be written.
fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Owns texts that were read.
fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// Converts every item of a list.
fn converted<T, U: From<T>>(items: impl IntoIterator<Item = T>) -> Vec<U> {
    items.into_iter().map(U::from).collect()
}
