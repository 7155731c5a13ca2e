//! `PATCH /api/v1/datasets/{id}`: the same rows with other roles.

use super::schema_fields::SchemaFields;
use super::{answer, upload_limits};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{Id, JsonBody};
use crate::api::state::blocking;
use crate::dataset::SchemaChange;
use axum::extract::State;
use axum::response::Response;

/// Answers with the dataset as it is read now. It has an id of its own; the old one stays for the models trained on it.
pub(crate) async fn patch(
    State(state): State<AppState>,
    caller: Caller,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let SchemaFields { target, task, numeric, columns } = SchemaFields::of_json(&body, "")?;
    let raw = [
        ("missing", !columns.missing.is_empty()),
        ("decimal", body.get("decimal").is_some()),
        ("day_first", columns.day_first.is_some()),
    ];
    if let Some((name, _)) = raw.into_iter().find(|(_, given)| *given) {
        let detail =
            format!("cells are kept as they were read, not as they were written; upload the table again with {name}=");
        return Err(ApiError::invalid_parameter(format!("/{name}"), detail));
    }
    let change = SchemaChange {
        target,
        task,
        numeric,
        categorical: columns.categorical,
        datetime: columns.datetime,
        ignore: columns.ignore,
    };
    if change == SchemaChange::default() {
        return Err(ApiError::invalid_parameter(
            "",
            "name at least one of target, task, numeric, categorical, datetime and ignore",
        ));
    }
    state.refuse_low_disk().await?;
    let permit = state.uploads.take(caller.client())?;
    let limits = upload_limits(&state);
    let store = state.datasets.clone();
    let ingested = blocking(move || {
        let _permit = permit; // held until the work is done, even if the client disconnects
        store.reread(&id, &change, limits)
    })
    .await?;
    Ok(answer(ingested))
}
