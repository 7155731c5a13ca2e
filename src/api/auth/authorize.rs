//! The check of every request: which key, whether it allows what is asked, and whether its client asks too often.

use super::caller::model_not_allowed;
use super::{Access, Caller, Client, credentials, permission};
use crate::api::AppState;
use crate::api::http::connections::ClientAddress;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::keys::{Key, KeyWatch, Scope, Scopes};
use axum::extract::{MatchedPath, RawPathParams, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// What is checked of a request.
pub(crate) struct Request<'a> {
    /// Its headers.
    pub(crate) headers: &'a HeaderMap,
    /// Where it comes from.
    pub(crate) address: IpAddr,
    /// Who may send it.
    pub(crate) access: Access,
    /// The model in its path, by `name` or `name@alias`.
    pub(crate) model: Option<&'a str>,
}

/// Who sends a request; refused if they may not. Nothing is looked up before, so that a refusal says nothing about what
/// there is.
pub(crate) fn authorize(state: &AppState, request: &Request) -> Result<Caller, ApiError> {
    let anybody = Caller { client: Client::Address(request.address), key: None, rate: None };
    let is_open =
        request.access == Access::Open || (request.access == Access::Metrics && state.config.access.open_metrics);
    if is_open {
        return Ok(anybody);
    }
    let found = match &state.keys {
        Some(keys) => valid_key(keys, request.headers).map(Some),
        None => Ok(None),
    };
    // Requests with a wrong key count against the limit of their address.
    let client = match &found {
        Ok(Some(key)) => Client::Key(key.id),
        Ok(None) | Err(_) => anybody.client,
    };
    let rate = state.rate.as_ref().map(|rate| rate.count(client)).transpose()?;
    let caller = Caller { client, key: found?, rate };
    if let Some(key) = &caller.key {
        check_scope(key.scopes, request.access)?;
    }
    let covered = match request.access {
        Access::Metrics => caller.covers_all_models(),
        Access::Open | Access::AnyKey | Access::OneOf(_) => request.model.is_none_or(|model| caller.covers(model)),
    };
    if covered { Ok(caller) } else { Err(model_not_allowed()) }
}

/// The key that a request shows, if it is in force.
fn valid_key(keys: &KeyWatch, headers: &HeaderMap) -> Result<Arc<Key>, ApiError> {
    let refusal = |code, detail: &str, challenge: &'static str| {
        Err(ApiError::new(code, detail).with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
    };
    let Some(text) = credentials::presented(headers) else {
        let detail = "this request needs a key: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'";
        return refusal(ErrorCode::MissingKey, detail, "Bearer realm=\"bochner\"");
    };
    match keys.find(&text) {
        None => {
            let challenge = "Bearer realm=\"bochner\", error=\"invalid_token\", error_description=\"unknown key\"";
            refusal(ErrorCode::UnknownKey, "the key is not known here; it may have been revoked", challenge)
        }
        Some(key) if key.expires_at.is_some() && key.has_expired(SystemTime::now()) => {
            let challenge = "Bearer realm=\"bochner\", error=\"invalid_token\", error_description=\"expired key\"";
            refusal(ErrorCode::ExpiredKey, "the key has expired; ask for a new one", challenge)
        }
        Some(key) => Ok(key),
    }
}

pub(super) fn check_scope(scopes: Scopes, access: Access) -> Result<(), ApiError> {
    let needed = match access {
        Access::Open | Access::AnyKey => return Ok(()),
        Access::OneOf(needed) => needed,
        Access::Metrics => Scopes::of(&[Scope::Read]),
    };
    if scopes.allow_one_of(needed) {
        return Ok(());
    }
    let names: Vec<&str> = needed.iter().map(Scope::name).collect();
    let detail = format!("this request needs a key with the scope {}; this key has {scopes}", names.join(" or "));
    let challenge = format!("Bearer realm=\"bochner\", error=\"insufficient_scope\", scope=\"{}\"", names.join(" "));
    let challenge = HeaderValue::from_str(&challenge).unwrap_or(HeaderValue::from_static("Bearer"));
    Err(ApiError::new(ErrorCode::MissingScope, detail).with_header(header::WWW_AUTHENTICATE, challenge))
}

/// The middleware of the route table: the handlers behind it know their caller.
pub(crate) async fn authorize_route(
    State(state): State<AppState>,
    parameters: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    mut request: axum::extract::Request,
    next: Next,
) -> Response {
    let extensions = request.extensions();
    let address = ClientAddress::of(extensions);
    let path = extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let access = permission(request.method(), path);
    let mut given = parameters.iter().flatten();
    let model = given.find(|(name, _)| *name == "model").map(|(_, value)| value);
    // A parameter that is not UTF-8 is no model that a pattern could match.
    let model = model.or(path.contains("{model}").then_some(""));
    let checked = authorize(&state, &Request { headers: request.headers(), address, access, model });
    let caller = match checked {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    if let Some(key) = &caller.key
        && !request.method().is_safe()
    {
        tracing::info!(key = %key.id, name = key.name, path = request.uri().path(), "a request that changes something");
    }
    let rate = caller.rate();
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(rate) = rate {
        rate.tell(response.headers_mut());
    }
    response
}
