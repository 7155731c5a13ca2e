//! `/api/v1/models/{model}/plots`: what is known of a version as pictures, tables and JSON.

/// The plots that there are.
mod plot_name;

/// Plots of the report of the fit.
mod of_report;

/// Plots of bounds, spectra and interval widths.
mod of_evidence;

/// Plots of held-out rows.
mod of_held_out;

use super::certifications::row_access;
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{QueryFields, VersionedModel};
use crate::plots::{Plot, Size};
use crate::serving::ReadyModel;
use crate::theory::RowAccess;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use plot_name::{Absent, PlotName};
use serde_json::{Value, json};
use std::collections::HashMap;

/// `GET …/plots`: every plot, and why some are not there; with `?data=true` the numbers too.
pub(crate) async fn list(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    let with_data = query.only(&["data"])?.parsed::<bool>("data", "true or false")?.unwrap_or(false);
    let ready = state.load(&name, version).await?;
    let rows = row_access(&state, &ready).await?;
    let entry = |plot: PlotName| {
        let made = make(plot, &ready, rows, None);
        let reason = made.as_ref().err().map(Absent::reason);
        let title = made.as_ref().map_or(plot.title(), Plot::title).to_owned();
        let description = made.as_ref().ok().map(Plot::description);
        let mut entry = json!({"name": plot.name(), "title": title, "description": description, "missing": reason});
        if let (true, Ok(made)) = (with_data, &made) {
            let (columns, rows) = made.table();
            entry["columns"] = json!(columns);
            entry["rows"] = json!(rows);
        }
        entry
    };
    let plots = PlotName::ALL.map(entry);
    Ok(Json(json!({"model": ready.entry.name, "version": ready.entry.version, "plots": plots})))
}

/// `GET …/plots/{name}.svg`, `.csv` and `.json`.
pub(crate) async fn show(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
    Path(path): Path<HashMap<String, String>>,
    query: QueryFields,
) -> Result<Response, ApiError> {
    let file = path.get("plot").map(String::as_str).unwrap_or_default();
    let (plot, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    let plot = PlotName::from_name(plot).filter(|_| ["svg", "csv", "json"].contains(&ending)).ok_or_else(|| {
        let names = PlotName::ALL.map(PlotName::name).join(", ");
        let detail = format!("there is no plot '{file}'; ask for one of {names}, followed by .svg, .csv or .json");
        ApiError::new(ErrorCode::RouteNotFound, detail)
    })?;
    let parameter = plot.parameter();
    let of_pictures = (ending == "svg").then_some("size");
    let query = query.only(&parameter.into_iter().chain(of_pictures).collect::<Vec<_>>())?;
    let size = query.parsed::<Size>("size", "'wide' or 'narrow'")?.unwrap_or(Size::Wide);
    let ready = state.load(&name, version).await?;
    let rows = row_access(&state, &ready).await?;
    let made =
        make(plot, &ready, rows, parameter.and_then(|name| query.text(name))).map_err(|absent| match absent {
            Absent::NotMeasured(reason) => ApiError::new(ErrorCode::NotMeasured, format!("{}: {reason}", plot.name())),
            Absent::NoColumn(detail) => ApiError::invalid_parameter("?column", detail),
            Absent::NoTarget(detail) => ApiError::invalid_parameter("?target", detail),
        })?;
    Ok(match ending {
        "svg" => {
            // Opened by itself, the chart must not be able to run or load anything.
            let policy = "default-src 'none'; style-src 'unsafe-inline'";
            let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, policy)];
            (headers, made.to_svg(size)).into_response()
        }
        "csv" => ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], made.to_csv()).into_response(),
        _ => {
            let mut body = json!({"model": ready.entry.name, "version": ready.entry.version, "name": plot.name()});
            if let (Value::Object(body), Value::Object(rest)) = (&mut body, made.to_json()) {
                body.extend(rest);
            }
            Json(body).into_response()
        }
    })
}

fn make(plot: PlotName, ready: &ReadyModel, rows: RowAccess, chosen: Option<&str>) -> Result<Plot, Absent> {
    let model = ready.predictor.model();
    match plot {
        PlotName::ErrorByFeatures => of_evidence::error_by_features(model, rows),
        PlotName::Spectrum => of_evidence::spectrum(model, rows),
        PlotName::Leverage => of_evidence::leverage(model, rows),
        PlotName::IntervalWidth => of_evidence::interval_width(model),
        PlotName::PredictedActual => of_held_out::predicted_against_actual(model, chosen),
        PlotName::Residuals => of_held_out::residuals(model, chosen),
        PlotName::Roc => of_held_out::roc(model),
        PlotName::PrecisionRecall => of_held_out::precision_recall(model),
        PlotName::Coverage => of_held_out::coverage(model),
        PlotName::LambdaPath => of_report::lambda_path(model),
        PlotName::Reliability => of_report::reliability(model),
        PlotName::Confusion => of_report::confusion(model),
        PlotName::MetricByRound => of_report::metric_by_round(model),
        PlotName::LearningCurve => of_report::learning_curve(model),
        PlotName::Importance => of_report::importance(model),
        PlotName::PartialDependence => of_report::partial_dependence(model, chosen),
    }
}
