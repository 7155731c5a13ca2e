//! A shortcut in front of the route table. Predictions are recognised by their path and go straight to their handler.
//! All other requests, and predictions whose path has escapes, go through the route table, which has the same handler.
//!
//! `cargo bench --bench dispatch` measures what it is worth: 1.053 times the throughput of single rows (quartiles 1.031 to
//! 1.068). Without it, `app` serves `router(state)` itself.

use super::AppState;
use super::auth::credentials::are_deliberate;
use super::console;
use super::http::connections::Handler;
use super::http::cross_site::{preflight, refuse_form};
use super::http::drain::drain_on_drop;
use super::http::extract::ModelPath;
use super::http::observe::{observe_early, refuse};
use super::http::responses::compression::{compress_prediction, is_long};
use super::predict::predict;
use super::routes::router;
use crate::telemetry::{PredictionRoute, Protocol};
use axum::Router;
use axum::body::Body;
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use std::net::IpAddr;

/// All routes, with the shortcut; a clone is two reference counts.
#[derive(Clone)]
pub struct Dispatch {
    state: AppState,
    routes: Router,
}

impl Dispatch {
    /// The routes of an app.
    pub fn new(state: AppState) -> Self {
        Self { routes: router(state.clone()), state }
    }

    /// The route table without the shortcut.
    pub fn routes(&self) -> Router {
        self.routes.clone()
    }
}

impl Handler for Dispatch {
    async fn handle(&self, address: IpAddr, parts: Parts, body: Body) -> Response {
        let cors = &self.state.hosts.cors;
        let origin = cors.listed(&parts.headers);
        let response = self.answer(address, parts, body).await;
        cors.expose(origin, response)
    }
}

impl Dispatch {
    /// Predictions change nothing, so that forms may send them; and no form sends a key in a header. The route table is
    /// boxed: a connection has room for the largest future of any request, and moves it.
    async fn answer(&self, address: IpAddr, parts: Parts, body: Body) -> Response {
        let prediction = if parts.method == Method::POST { prediction_route(parts.uri.path()) } else { None };
        let checked = self.state.hosts.check(&parts).and_then(|()| match prediction {
            Some(_) => Ok(()),
            None if console::is_form(&parts) => console::check_same_origin(&parts),
            None if are_deliberate(&parts.headers) => Ok(()),
            None => refuse_form(&parts),
        });
        match (checked, prediction) {
            (Err(error), _) => {
                drop(drain_on_drop(body));
                refuse(&self.state, &parts, &error)
            }
            (Ok(()), Some((route, model))) => {
                let response = predict(&self.state, route, model, address, &parts, body).await;
                match route.protocol() {
                    Protocol::Native if is_long(&response) => {
                        Box::pin(compress_prediction(&parts.headers, response)).await
                    }
                    Protocol::Native | Protocol::InferenceV2 | Protocol::Invocations => response,
                }
            }
            (Ok(()), None) if self.state.hosts.cors.is_preflight(&parts) => {
                drop(drain_on_drop(body));
                observe_early(&self.state, &parts, preflight())
            }
            (Ok(()), None) => Box::pin(self.routes.handle(address, parts, body)).await,
        }
    }
}

/// The route of a path with a model in it and nothing to decode.
fn prediction_route(path: &str) -> Option<(PredictionRoute, ModelPath<'_>)> {
    let (segments, newest, by_version) = if let Some(rest) = path.strip_prefix("/api/v1/models/") {
        (rest.strip_suffix("/predict")?, PredictionRoute::Predict, PredictionRoute::PredictVersion)
    } else {
        let rest = path.strip_prefix("/v2/models/")?;
        (rest.strip_suffix("/infer")?, PredictionRoute::Infer, PredictionRoute::InferVersion)
    };
    let (route, name, version) = match segments.split_once('/') {
        Some((name, rest)) => (by_version, name, Some(rest.strip_prefix("versions/")?)),
        None => (newest, segments, None),
    };
    let is_segment = |text: &str| !text.is_empty() && !text.contains(['/', '%']);
    (is_segment(name) && version.is_none_or(is_segment)).then(|| (route, ModelPath::new(name, version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_predict_are_distinguished_from_all_others() {
        use PredictionRoute::{Infer, InferVersion, Predict, PredictVersion};
        for (path, route, name, version) in [
            ("/api/v1/models/m@live/predict", Predict, "m@live", None),
            ("/api/v1/models/m/versions/2/predict", PredictVersion, "m", Some(2)),
            ("/api/v1/models/predict/predict", Predict, "predict", None),
            ("/v2/models/m/infer", Infer, "m", None),
            ("/v2/models/m/versions/2/infer", InferVersion, "m", Some(2)),
        ] {
            let (found, model) = prediction_route(path).unwrap();
            assert_eq!((found, model.check().unwrap()), (route, (name, version)), "{path}");
        }
        for other in [
            "/api/v1/models/predict",
            "/api/v1/models//predict",
            "/api/v1/models/mpredict",
            "/api/v1/models/m/predict/",
            "/api/v1/models/m/x/predict",
            "/api/v1/models/m/versions/predict",
            "/api/v1/models/m/versions//predict",
            "/api/v1/models/m/versions/2/3/predict",
            "/api/v1/models/m%40live/predict",
            "/v2/models/m/predict",
            "/api/v1/models/m/infer",
            "/invocations",
        ] {
            assert!(prediction_route(other).is_none(), "{other}");
        }
    }
}
