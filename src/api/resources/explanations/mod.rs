//! `/api/v1/models/{model}/explanations`.

use crate::api::http::extract::LoadedVersion;
use axum::Json;
use serde_json::{Value, json};

/// `GET …/{model}/explanations` and `GET …/{model}/versions/{version}/explanations`.
pub(crate) async fn show(LoadedVersion(ready): LoadedVersion) -> Json<Value> {
    let model = ready.predictor.model();
    let mut answer = json!({"model": ready.entry.name, "version": ready.entry.version});
    let missing = "This version keeps no explanations: train it with \"explanations\": true.";
    let found = model.explain().unwrap_or_else(|| json!({"columns": [], "missing": missing}));
    if let (Value::Object(answer), Value::Object(found)) = (&mut answer, found) {
        answer.extend(found);
    }
    Json(answer)
}
