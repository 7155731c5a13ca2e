//! Path parameters, query parameters and JSON bodies, checked.

use super::body::{media_type, read_whole};
use super::error::ApiError;
use super::error_code::ErrorCode;
use crate::api::AppState;
use crate::model::{check_alias, check_model_reference};
use crate::request::json;
use crate::request::suggest;
use crate::serving::ReadyModel;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, RawPathParams, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A JSON body of any kind.
pub(crate) struct JsonBody(pub(crate) Value);

impl FromRequest<AppState> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let media_type = media_type(request.headers());
        // Many clients send JSON without a content type.
        if !matches!(media_type.as_ref(), "" | "application/json") {
            return Err(ApiError::unsupported_media_type(&media_type, "application/json"));
        }
        let (parts, body) = request.into_parts();
        let deadline = Instant::now() + Duration::from_secs(state.config.upload_idle_seconds);
        let bytes = read_whole(state, &parts.headers, body, deadline).await?;
        if bytes.is_empty() {
            return Err(ApiError::empty_body());
        }
        Ok(Self(read_json(&bytes)?))
    }
}

/// A JSON value in which no member is repeated.
pub(crate) fn read_json(text: &[u8]) -> Result<Value, ApiError> {
    json::read(text).map_err(|error| {
        if error.is_data() {
            ApiError::new(ErrorCode::MalformedRequest, error.to_string())
        } else {
            ApiError::new(ErrorCode::MalformedJson, format!("not JSON: {error}"))
        }
    })
}

/// A whole number, written with or without a fraction of zero: in JSON `1.0` is an integer too.
pub(crate) fn whole_number(value: &Value) -> Option<u32> {
    let number =
        value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number))?;
    Some(number as u32)
}

/// The query parameters. Handlers refuse unknown ones, so that a misspelled `target` is noticed.
pub(crate) struct QueryFields(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for QueryFields {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::read(&parts.uri)
    }
}

impl QueryFields {
    /// The parameters of a URI; refused if one is repeated.
    pub(crate) fn read(uri: &Uri) -> Result<Self, ApiError> {
        if uri.query().is_none() {
            return Ok(Self(HashMap::new()));
        }
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| ApiError::new(ErrorCode::MalformedQuery, error.body_text()))?;
        let mut fields = HashMap::new();
        for (name, value) in pairs.0 {
            if fields.insert(name.clone(), value).is_some() {
                return Err(ApiError::new(ErrorCode::MalformedQuery, format!("'{name}' is given twice")));
            }
        }
        Ok(Self(fields))
    }

    /// No parameters.
    pub(crate) fn none() -> Self {
        Self(HashMap::new())
    }

    /// With parameters from elsewhere in the request; refused if one is repeated.
    pub(crate) fn with(mut self, more: impl IntoIterator<Item = (String, String)>) -> Result<Self, ApiError> {
        for (name, value) in more {
            if self.0.insert(name.clone(), value).is_some() {
                return Err(ApiError::new(ErrorCode::MalformedQuery, format!("'{name}' is given twice")));
            }
        }
        Ok(self)
    }

    /// The parameters if all names are `known`.
    pub(crate) fn only(self, known: &[&str]) -> Result<Self, ApiError> {
        self.check(known)?;
        Ok(self)
    }

    /// Refuses names that are not `known`.
    pub(crate) fn check(&self, known: &[&str]) -> Result<(), ApiError> {
        for name in self.0.keys() {
            if !known.contains(&name.as_str()) {
                let nearest = suggest::nearest(name, known.iter().copied());
                let detail = match known {
                    [] => "unknown parameter; this path takes none".to_owned(),
                    _ => format!("unknown parameter{nearest} (known: {})", known.join(", ")),
                };
                return Err(ApiError::invalid_field(ErrorCode::UnknownParameter, format!("?{name}"), detail));
            }
        }
        Ok(())
    }

    /// A parameter as text; an empty one counts as absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A parameter of at most 200 characters, to be shown again.
    pub(crate) fn short_text(&self, name: &str) -> Result<Option<String>, ApiError> {
        match self.text(name) {
            Some(text) if text.chars().count() > 200 || text.chars().any(char::is_control) => {
                let detail = "must be at most 200 characters, none of them control characters";
                Err(ApiError::invalid_parameter(format!("?{name}"), detail))
            }
            text => Ok(text.map(str::to_owned)),
        }
    }

    /// A parameter of another type; `expected` describes it for the error.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, ApiError> {
        let invalid = |text| ApiError::invalid_parameter(format!("?{name}"), format!("'{text}' is not {expected}"));
        self.text(name).map(|text| text.parse().map_err(|_| invalid(text))).transpose()
    }

    /// The most entries that a listing shows.
    pub(crate) fn limit(&self) -> Result<usize, ApiError> {
        const DEFAULT: usize = 50;
        const MOST: usize = 1000;
        match self.parsed("limit", "a whole number")? {
            None => Ok(DEFAULT),
            Some(limit @ 1..=MOST) => Ok(limit),
            Some(_) => Err(ApiError::invalid_parameter("?limit", format!("must be from 1 to {MOST}"))),
        }
    }
}

/// A model in the path, as `name` or `name@alias`. Path parameters arrive decoded (`%2F` is `/`), so that it is checked
/// before it is used.
pub(crate) struct ModelName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for ModelName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let name = path_parameter(parts, state, "model").await?;
        check_model_reference(&name)?;
        Ok(Self(name))
    }
}

/// The alias of a model in the path.
pub(crate) struct AliasName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for AliasName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let alias = path_parameter(parts, state, "alias").await?;
        check_alias(&alias)?;
        Ok(Self(alias))
    }
}

/// A model version in the path.
pub(crate) struct VersionNumber(pub(crate) u32);

impl<S: Send + Sync> FromRequestParts<S> for VersionNumber {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let text = path_parameter(parts, state, "version").await?;
        read_version(&text).map(Self)
    }
}

/// A model in the path and, if the route has one, a version.
pub(crate) struct VersionedModel {
    pub(crate) name: String,
    pub(crate) version: Option<u32>,
}

impl<S: Send + Sync> FromRequestParts<S> for VersionedModel {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let ModelName(name) = ModelName::from_request_parts(parts, state).await?;
        let Ok(ModelPath { version, .. }) = ModelPath::from_request_parts(parts, state).await;
        Ok(Self { name, version: version.as_deref().map(read_version).transpose()? })
    }
}

/// The model version of a route that takes no query parameters, loaded.
pub(crate) struct LoadedVersion(pub(crate) Arc<ReadyModel>);

impl FromRequestParts<AppState> for LoadedVersion {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let VersionedModel { name, version } = VersionedModel::from_request_parts(parts, state).await?;
        QueryFields::read(&parts.uri)?.check(&[])?;
        Ok(Self(state.load(&name, version).await?))
    }
}

/// The model and the version in the path of a route that predicts, unchecked.
pub(crate) struct ModelPath<'a> {
    name: Cow<'a, str>,
    version: Option<Cow<'a, str>>,
}

impl<'a> ModelPath<'a> {
    pub(crate) fn new(name: &'a str, version: Option<&'a str>) -> Self {
        Self { name: name.into(), version: version.map(Cow::Borrowed) }
    }

    /// The model, as the path has it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The model, which the registry checks, and the version.
    pub(crate) fn check(&self) -> Result<(&str, Option<u32>), ApiError> {
        Ok((&self.name, self.version.as_deref().map(read_version).transpose()?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ModelPath<'static> {
    type Rejection = Infallible;

    /// A parameter that is not UTF-8 becomes an empty name, which the registry refuses.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let parameters = RawPathParams::from_request_parts(parts, state).await.ok();
        let find = |wanted: &str| {
            let mut all = parameters.iter().flatten();
            all.find(|(name, _)| *name == wanted).map(|(_, value)| Cow::Owned(value.to_owned()))
        };
        Ok(Self { name: find("model").unwrap_or_default(), version: find("version") })
    }
}

fn read_version(text: &str) -> Result<u32, ApiError> {
    match text.parse() {
        Ok(version @ 1..) => Ok(version),
        Ok(0) | Err(_) => {
            Err(ApiError::invalid_field(ErrorCode::InvalidVersion, "/version", "must be a whole number from 1"))
        }
    }
}

/// The id of a dataset or job in the path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(path_parameter(parts, state, "id").await?))
    }
}

async fn path_parameter<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, ApiError> {
    let Path(mut parameters) = Path::<HashMap<String, String>>::from_request_parts(parts, state)
        .await
        .map_err(|error| ApiError::new(ErrorCode::MalformedPath, error.body_text()))?;
    parameters.remove(name).ok_or_else(|| ApiError::internal(format!("the route has no parameter '{name}'")))
}
