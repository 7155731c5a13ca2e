//! `/api/v1/models/{model}/spectrum`.

use super::certifications::row_access;
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::LoadedVersion;
use crate::theory::{SpectralProfile, spectral_profile};
use axum::Json;
use axum::extract::State;
use serde::Serialize;

/// The stored spectrum of one version.
#[derive(Serialize)]
pub(crate) struct Spectrum {
    model: String,
    version: u32,
    #[serde(flatten)]
    profile: Option<SpectralProfile>,
}

/// `GET …/{model}/spectrum` and `GET …/{model}/versions/{version}/spectrum`.
pub(crate) async fn show(
    State(state): State<AppState>,
    LoadedVersion(ready): LoadedVersion,
) -> Result<Json<Spectrum>, ApiError> {
    let rows = row_access(&state, &ready).await?;
    let model = ready.predictor.model();
    let tried = model.measured.exact_krr.is_some();
    let profile_of = |evidence| spectral_profile(evidence).with_rows(rows).with_exact_system_tried(tried);
    let profile = model.evidence.as_ref().map(profile_of);
    Ok(Json(Spectrum { model: ready.entry.name.clone(), version: ready.entry.version, profile }))
}
