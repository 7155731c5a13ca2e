//! `/api/v1/models/{model}/versions`: artifacts out and in.

use super::AppState;
use super::body::{blocking_reader, content_encoding, refuse_announced};
use super::error::ApiError;
use super::extract::{ModelName, VersionNumber};
use super::models::describe;
use super::state::blocking;
use crate::model::{ModelVersion, check_model_name, read_artifact};
use crate::serving::{NotReady, make_ready};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio_util::io::ReaderStream;

/// `GET …/versions/{version}/artifact`: the file as it lies on disk.
pub(super) async fn export(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
) -> Result<Response, ApiError> {
    let entry = state.registry.find(&name, Some(version))?;
    let file = {
        let entry = Arc::clone(&entry);
        blocking(move || state.registry.artifact(&entry)).await?
    };
    let disposition = format!("attachment; filename=\"{}-{}.bochner\"", entry.name, entry.version);
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, entry.bytes.to_string()),
        (header::CONTENT_DISPOSITION, disposition),
        (header::ETAG, format!("\"{}\"", entry.sha256)),
    ];
    Ok((headers, Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file)))).into_response())
}

/// `POST …/versions`: a file from elsewhere becomes the next version. A file is hostile: it is checked as it comes,
/// and tried out before anything is kept. One at a time, since each may take a few times the largest file.
pub(super) async fn import(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    check_model_name(&name)?;
    let limit = state.config.max_artifact.0;
    refuse_announced(&headers, limit)?;
    let encoding = content_encoding(&headers)?;
    let permit = state.imports.clone().try_acquire_owned();
    let permit = permit.map_err(|_| ApiError::busy("overloaded", "another model file is being imported"))?;
    let source = blocking_reader(body, state.config.upload_idle_seconds);
    let importer = state.clone();
    let entry = blocking(move || -> Result<_, ApiError> {
        let _permit = permit;
        let unreadable = |error| ApiError::malformed("unreadable_body", encoding.unreadable(&error));
        let model = read_artifact(encoding.decoder(source).map_err(unreadable)?, limit)?;
        let description = model.describe().to_string();
        let unusable = |error: NotReady| ApiError::invalid_field("invalid_artifact", "", error.to_string());
        let predictor = make_ready(model).map_err(unusable)?;
        let stored = importer.registry.store(&uuid::Uuid::now_v7().to_string(), predictor.model())?;
        let put = |version: &Arc<ModelVersion>| importer.shelf.put(version, predictor);
        Ok(importer.registry.publish(&name, &stored, &description, None, put)?)
    })
    .await?;
    let location = format!("/api/v1/models/{}/versions/{}", entry.name, entry.version);
    let described = describe(&state, entry).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(described)).into_response())
}
