//! Who asks.

use super::authorize::check_scope;
use super::{Access, RateStatus};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::keys::{Key, KeyId, Scope, Scopes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::{Value, json};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Whose limits a request counts against: a key, or an address where there are no keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    Key(KeyId),
    Address(IpAddr),
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(id) => write!(f, "key {id}"),
            Self::Address(address) => write!(f, "address {address}"),
        }
    }
}

/// Who asks: somebody with a key, or anybody where there are no keys.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(super) client: Client,
    pub(super) key: Option<Arc<Key>>,
    pub(super) rate: Option<RateStatus>,
}

impl Caller {
    /// Whose limits it counts against.
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// Its rate, if that is limited.
    pub(crate) fn rate(&self) -> Option<RateStatus> {
        self.rate
    }

    /// What its key lets it do; none where there are no keys.
    pub(crate) fn describe_key(&self) -> Option<Value> {
        let key = self.key.as_ref()?;
        let scopes: Vec<&str> = key.scopes.iter().map(Scope::name).collect();
        let models: Vec<String> = key.models.iter().map(ToString::to_string).collect();
        Some(json!({"name": key.name, "scopes": scopes, "models": models}))
    }

    /// Refuses a key without this scope, for what a route offers to some of its callers alone.
    pub(crate) fn check_scope(&self, scope: Scope) -> Result<(), ApiError> {
        self.key.as_ref().map_or(Ok(()), |key| check_scope(key.scopes, Access::OneOf(Scopes::of(&[scope]))))
    }

    /// Whether it may see and use a model, by `name` or `name@alias`.
    pub(crate) fn covers(&self, model: &str) -> bool {
        let name = model.split_once('@').map_or(model, |(name, _)| name);
        self.key.as_ref().is_none_or(|key| key.covers(name))
    }

    /// Whether it may see and use all models.
    pub(crate) fn covers_all_models(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.covers_all_models())
    }

    /// Refuses a model that its key is not for. The answer is the same whether or not there is such a model.
    pub(crate) fn check_model(&self, model: &str) -> Result<(), ApiError> {
        if self.covers(model) { Ok(()) } else { Err(model_not_allowed()) }
    }
}

/// The refusal of a model that a key is not for.
pub(crate) fn model_not_allowed() -> ApiError {
    let detail = "the key is not for this model, whether or not there is one of this name";
    ApiError::new(ErrorCode::ModelNotAllowed, detail)
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| ApiError::internal("a handler asks who called before that was checked"))
    }
}
