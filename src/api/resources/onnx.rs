//! `/api/v1/models/{model}/versions/{version}/onnx`.

use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{ModelName, VersionNumber};
use crate::api::state::blocking;
use crate::model::to_onnx;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

/// `GET`: the prediction function as an ONNX file.
pub(crate) async fn download(
    State(state): State<AppState>,
    caller: Caller,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
) -> Result<impl IntoResponse, ApiError> {
    let model = state.load(&name, Some(version)).await?;
    // Making a file takes several times its size in memory, so that it counts as a table prediction.
    let permit = state.streams.take(caller.client())?;
    let filename = format!("attachment; filename=\"{}-{}.onnx\"", model.entry.name, model.entry.version);
    let bytes = blocking(move || {
        let _permit = permit;
        to_onnx(model.predictor.model(), &model.entry.name, model.entry.version)
    })
    .await?;
    Ok((
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, filename)],
        bytes,
    ))
}
