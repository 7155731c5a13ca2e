//! The handler of every route that predicts: finds the model, hands the request to its protocol, and counts the outcome.

use super::pipeline::{PredictionRequest, deadline};
use super::{mlflow, native, open_inference};
use crate::api::AppState;
use crate::api::auth::{self, Caller, authorize, permission};
use crate::api::http::connections::ClientAddress;
use crate::api::http::drain::drain_on_drop;
use crate::api::http::error::ApiError;
use crate::api::http::extract::ModelPath;
use crate::api::http::observe::{Observation, TimedResponse, observe_prediction};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use std::net::IpAddr;
use std::pin::pin;
use std::time::Instant;

/// A route that predicts, for the route table.
pub(crate) fn predict_route(route: PredictionRoute) -> MethodRouter<AppState> {
    post(move |State(state): State<AppState>, path: ModelPath<'static>, request: Request| async move {
        let (parts, body) = request.into_parts();
        let address = ClientAddress::of(&parts.extensions);
        predict(&state, route, path, address, &parts, body).await
    })
}

/// Answers a prediction request from an address.
pub(crate) async fn predict(
    state: &AppState,
    route: PredictionRoute,
    path: ModelPath<'_>,
    address: IpAddr,
    parts: &Parts,
    body: Body,
) -> Response {
    let observation = Observation::of_prediction(route, &parts.headers);
    let start = observation.start;
    let model = match route.protocol() {
        Protocol::Native | Protocol::InferenceV2 => Some(path.name()),
        Protocol::Invocations => None,
    };
    let access = permission(&Method::POST, route.path());
    let caller = authorize(state, &auth::Request { headers: &parts.headers, address, access, model });
    let rate = caller.as_ref().ok().and_then(Caller::rate);
    let work = pin!(answer(state, route, &path, parts, drain_on_drop(body), start, caller));
    let mut response = observe_prediction(state, observation, work).await;
    if let Some(rate) = rate {
        rate.tell(response.headers_mut());
    }
    response
}

async fn answer(
    state: &AppState,
    route: PredictionRoute,
    path: &ModelPath<'_>,
    parts: &Parts,
    body: Body,
    start: Instant,
    caller: Result<Caller, ApiError>,
) -> Result<TimedResponse, ApiError> {
    let caller = &caller?;
    let protocol = route.protocol();
    let default;
    let (name, version) = match protocol {
        Protocol::Native | Protocol::InferenceV2 => path.check()?,
        Protocol::Invocations => {
            default = mlflow::default_model_of(state, caller)?;
            (default.as_ref(), None)
        }
    };
    let deadline = deadline(state, &parts.headers, start)?;
    let model = state.load_by(name, version, deadline).await?;
    let request = PredictionRequest { state, caller, model: &model, parts, start, deadline };
    // Native requests are the most frequent ones. The others are boxed to keep this future small.
    let outcome = match protocol {
        Protocol::Native => native::answer(&request, body).await,
        Protocol::InferenceV2 => Box::pin(open_inference::answer(&request, body)).await,
        Protocol::Invocations => Box::pin(mlflow::answer(&request, body)).await,
    };
    match &outcome {
        Ok(answered) => model.meters.answered(protocol, start, answered.ready_at, answered.rows),
        Err(error) => model.meters.ended(protocol, error.outcome(), start.elapsed()),
    }
    outcome.map(|answered| TimedResponse { response: answered.response, ready_at: answered.ready_at })
}
