//! `/api/v1/models/{model}/explanations`.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{QueryFields, VersionedModel};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// `GET …/{model}/explanations` and `GET …/{model}/versions/{version}/explanations`.
pub(crate) async fn show(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    query.only(&[])?;
    let ready = state.load(&name, version).await?;
    let model = ready.predictor.model();
    let mut answer = json!({"model": ready.entry.name, "version": ready.entry.version});
    let missing = "This version keeps no explanations: train it with \"explanations\": true.";
    let found = model.explain().unwrap_or_else(|| json!({"columns": [], "missing": missing}));
    if let (Value::Object(answer), Value::Object(found)) = (&mut answer, found) {
        answer.extend(found);
    }
    Ok(Json(answer))
}
