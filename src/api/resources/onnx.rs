//! `/api/v1/models/{model}/versions/{version}/onnx`.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{ModelName, VersionNumber};
use crate::api::state::blocking;
use crate::model::to_onnx;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

/// `GET`: the prediction function as an ONNX file.
pub(crate) async fn download(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
) -> Result<impl IntoResponse, ApiError> {
    let model = state.load(&name, Some(version)).await?;
    // Making a file takes several times its size in memory, so that it counts as a table prediction.
    let permit = state.streams.clone().try_acquire_owned();
    let overloaded = "too many tables and exports are being computed; try again later";
    let permit = permit.map_err(|_| ApiError::new(ErrorCode::Overloaded, overloaded))?;
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
