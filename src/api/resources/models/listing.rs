//! Models and versions next to each other: sorted, in pages.

use super::{brief, summary};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{ModelName, QueryFields};
use crate::api::state::blocking;
use crate::model::{ModelVersion, RegistryError, ScoresByVersion, check_model_name};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::sync::Arc;

/// `GET`: the models that the caller may see, with their versions, newest first.
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    let query = query.only(&["sort", "direction", "limit", "cursor"])?;
    let page = Page::read(&query, &[("name", Sort::Name), ("error", Sort::Error), ("created", Sort::Created)])?;
    let listed = blocking(move || -> Result<_, RegistryError> {
        let scores = state.registry.scores(None)?;
        let mut versions = state.registry.list(None);
        versions.retain(|version| caller.covers(&version.name));
        let models: Vec<&[Arc<ModelVersion>]> =
            versions.chunk_by(|left, right| left.name == right.name).filter(|versions| !versions.is_empty()).collect();
        // A model is compared by its newest version.
        let key = |versions: &&[Arc<ModelVersion>]| page.key(&versions[0], &scores);
        let (shown, next_cursor) = page.cut(models, key);
        let models = shown.into_iter().map(|versions| summary(&state, versions, &scores)).collect::<Vec<_>>();
        Ok(json!({"models": models, "next_cursor": next_cursor}))
    });
    Ok(Json(listed.await?))
}

/// `GET …/{model}/versions`.
pub(crate) async fn versions(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    check_model_name(&name)?;
    let query = query.only(&["sort", "direction", "limit", "cursor"])?;
    let page = Page::read(&query, &[("version", Sort::Version), ("error", Sort::Error), ("created", Sort::Created)])?;
    let listed = blocking(move || -> Result<_, RegistryError> {
        state.registry.find(&name, None)?;
        let scores = state.registry.scores(Some(&name))?;
        let aliases = state.registry.aliases(&name);
        let versions = state.registry.list(Some(&name));
        let (shown, next_cursor) = page.cut(versions.iter().collect(), |version| page.key(version, &scores));
        let show = |version: &Arc<ModelVersion>| {
            let mut shown = brief(version, &scores);
            let own = aliases.iter().filter(|(_, aliased)| **aliased == version.version).map(|(alias, _)| alias);
            shown["aliases"] = json!(own.collect::<Vec<_>>());
            shown
        };
        let versions = shown.into_iter().map(show).collect::<Vec<_>>();
        Ok(json!({"model": name, "versions": versions, "next_cursor": next_cursor}))
    });
    Ok(Json(listed.await?))
}

/// What entries are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Name,
    Version,
    Error,
    Created,
}

/// The place of an entry: what it is sorted by, then what tells it from entries that are equal in that.
#[derive(Debug, Clone, PartialEq)]
struct SortKey {
    /// None comes last in both directions.
    first: Option<Value>,
    name: String,
    version: u32,
}

/// What was asked for.
struct Page {
    sort: Sort,
    descending: bool,
    limit: usize,
    /// The key of the last entry of the page before.
    after: Option<SortKey>,
}

impl Page {
    /// Reads the parameters; the first of `sorts` is the default.
    fn read(query: &QueryFields, sorts: &[(&str, Sort)]) -> Result<Self, ApiError> {
        let wanted = query.text("sort").unwrap_or(sorts[0].0);
        let sort = sorts.iter().find(|(name, _)| *name == wanted).map(|(_, sort)| *sort).ok_or_else(|| {
            let names = sorts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            ApiError::invalid_parameter("?sort", format!("must be one of {names}"))
        })?;
        let descending = match query.text("direction") {
            None => matches!(sort, Sort::Version | Sort::Created),
            Some("ascending") => false,
            Some("descending") => true,
            Some(_) => {
                return Err(ApiError::invalid_parameter("?direction", "must be ascending or descending"));
            }
        };
        let invalid =
            || ApiError::invalid_parameter("?cursor", "must be next_cursor of the page before, sorted the same way");
        let after = query.text("cursor").map(|text| SortKey::parse(text, sort).ok_or_else(invalid)).transpose()?;
        Ok(Self { sort, descending, limit: query.limit()?, after })
    }

    fn key(&self, version: &ModelVersion, scores: &ScoresByVersion) -> SortKey {
        let first = match self.sort {
            Sort::Name | Sort::Version => None,
            Sort::Error => {
                scores.get(&(version.name.clone(), version.version)).and_then(|own| own.error).map(|e| json!(e))
            }
            Sort::Created => Some(json!(version.created_at)),
        };
        SortKey { first, name: version.name.clone(), version: version.version }
    }

    /// The entries of this page, and where the next begins.
    fn cut<T>(&self, entries: Vec<T>, key: impl Fn(&T) -> SortKey) -> (Vec<T>, Option<String>) {
        let mut keyed: Vec<(SortKey, T)> = entries.into_iter().map(|entry| (key(&entry), entry)).collect();
        keyed.sort_by(|left, right| self.compare(&left.0, &right.0));
        keyed.retain(|(key, _)| self.after.as_ref().is_none_or(|after| self.compare(key, after) == Ordering::Greater));
        let more = keyed.len() > self.limit;
        keyed.truncate(self.limit);
        let next = keyed.last().filter(|_| more).map(|(key, _)| key.to_text());
        (keyed.into_iter().map(|(_, entry)| entry).collect(), next)
    }

    fn compare(&self, left: &SortKey, right: &SortKey) -> Ordering {
        let turned = |order: Ordering| if self.descending { order.reverse() } else { order };
        let first = match (&left.first, &right.first) {
            (Some(left), Some(right)) => turned(match (left.as_f64(), right.as_f64()) {
                (Some(left), Some(right)) => left.total_cmp(&right),
                _ => left.as_str().cmp(&right.as_str()),
            }),
            (left, right) => left.is_none().cmp(&right.is_none()),
        };
        let rest = left.name.cmp(&right.name).then(left.version.cmp(&right.version));
        // Entries that are equal go by name and version; without anything else to sort by, these have the direction.
        first.then(if left.first.is_none() && self.sort != Sort::Error { turned(rest) } else { rest })
    }
}

impl SortKey {
    fn to_text(&self) -> String {
        json!([self.first, self.name, self.version]).to_string()
    }

    fn parse(text: &str, sort: Sort) -> Option<Self> {
        let (first, name, version): (Value, String, u32) = serde_json::from_str(text).ok()?;
        let first = Some(first).filter(|first| !first.is_null());
        let fits = match (&first, sort) {
            (None, Sort::Name | Sort::Version | Sort::Error) => true,
            (Some(first), Sort::Error) => first.is_f64(),
            (Some(first), Sort::Created) => first.is_string(),
            (None, Sort::Created) | (Some(_), Sort::Name | Sort::Version) => false,
        };
        fits.then_some(Self { first, name, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(sort: Sort, descending: bool, limit: usize, after: Option<SortKey>) -> Page {
        Page { sort, descending, limit, after }
    }

    #[test]
    fn pages_follow_each_other_whatever_they_are_sorted_by() {
        let errors = [("a", Some(0.5)), ("b", None), ("c", Some(0.1)), ("d", Some(0.5)), ("e", Some(0.3))];
        let key = |entry: &(&str, Option<f64>)| SortKey {
            first: entry.1.map(|error| json!(error)),
            name: entry.0.to_owned(),
            version: 1,
        };
        for (descending, expected) in [(false, "c e a d b"), (true, "a d e c b")] {
            let (mut after, mut seen) = (None, Vec::new());
            loop {
                let (shown, next) = page(Sort::Error, descending, 2, after).cut(errors.to_vec(), key);
                seen.extend(shown.into_iter().map(|(name, _)| name));
                match next {
                    Some(next) => after = SortKey::parse(&next, Sort::Error),
                    None => break,
                }
                assert!(after.is_some());
            }
            assert_eq!(seen.join(" "), expected);
        }
    }

    #[test]
    fn cursors_of_another_order_are_refused() {
        for (text, sort) in [
            ("", Sort::Name),
            ("x", Sort::Name),
            ("[0.5,\"a\",1]", Sort::Name),
            ("[null,\"a\",1]", Sort::Created),
            ("[\"2026\",\"a\",1]", Sort::Error),
            ("[null,\"a\"]", Sort::Name),
        ] {
            assert_eq!(SortKey::parse(text, sort), None, "{text}");
        }
        assert!(SortKey::parse("[null,\"a\",1]", Sort::Version).is_some());
    }
}
