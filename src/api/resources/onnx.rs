//! `/api/v1/models/{model}/versions/{version}/onnx`.

use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{ModelName, VersionNumber};
use crate::api::http::responses::entity_tag::EntityTag;
use crate::api::state::blocking;
use crate::model::to_onnx;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

/// `GET`: the prediction function as an ONNX file. Its tag names the model file and the release, which together decide
/// about its bytes, so that a client that has the file costs no work.
pub(crate) async fn download(
    State(state): State<AppState>,
    caller: Caller,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let entry = state.registry.find(&name, Some(version))?;
    state.model_cache.ready(&entry)?; // unloaded models are refused
    let tag = EntityTag::new(&format!("{}-onnx-{}", entry.sha256, env!("CARGO_PKG_VERSION")));
    if tag.is_listed(&headers) {
        return Ok(tag.not_modified());
    }
    let model = state.load(&name, Some(version)).await?;
    // Making a file takes several times its size in memory, so that it counts as a table prediction.
    let permit = state.streams.take(caller.client())?;
    let filename = format!("attachment; filename=\"{}-{}.onnx\"", model.entry.name, model.entry.version);
    let bytes = blocking(move || {
        let _permit = permit;
        to_onnx(model.predictor.model(), &model.entry.name, model.entry.version)
    })
    .await?;
    if tag.is_known(&headers) {
        return Ok(tag.not_modified()); // `*`: whether there is a file shows when it is made
    }
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, filename)];
    Ok(tag.attach((headers, bytes).into_response()))
}
