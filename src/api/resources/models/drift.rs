//! `/api/v1/models/{model}/drift`: how rows of requests differ from those that a version was fitted on.

use crate::api::http::extract::LoadedVersion;
use crate::dataset::InputColumn;
use crate::serving::ColumnDrift;
use axum::Json;
use serde_json::{Value, json};

/// `GET …/{model}/drift` and `GET …/{model}/versions/{version}/drift`.
pub(crate) async fn show(LoadedVersion(ready): LoadedVersion) -> Json<Value> {
    let model = ready.predictor.model();
    let report = ready.drift.report(model);
    let shown = |(column, drift): (&InputColumn, &ColumnDrift)| {
        json!({
            "column": column.name,
            "missing": drift.missing,
            "out_of_range": drift.outside,
            "unknown_levels": drift.unknown,
            "mean": drift.means.map(|(served, _)| served),
            "training_mean": drift.means.map(|(_, training)| training),
            "notable": drift.is_notable,
        })
    };
    let columns = model.inputs.encoding.columns.iter().zip(&report.columns).map(shown).collect::<Vec<_>>();
    Json(json!({
        "model": ready.entry.name,
        "version": ready.entry.version,
        "rows": report.rows,
        "seconds": report.seconds,
        "expected_out_of_range": report.expected_outside,
        "columns": columns,
    }))
}
