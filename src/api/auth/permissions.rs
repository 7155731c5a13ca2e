//! Which route needs which scope: one table for all routes.

use crate::keys::{Scope, Scopes};
use axum::http::Method;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, without a key: health.
    Open,
    /// Any valid key.
    AnyKey,
    /// A key with one of these scopes.
    OneOf(Scopes),
    /// As the configuration says: everybody, or keys that may read all models.
    Metrics,
}

const READ: Access = Access::OneOf(Scopes::of(&[Scope::Read]));
const PREDICT: Access = Access::OneOf(Scopes::of(&[Scope::Predict]));
/// What clients look up before they ask for predictions.
const READ_OR_PREDICT: Access = Access::OneOf(Scopes::of(&[Scope::Read, Scope::Predict]));
const TRAIN: Access = Access::OneOf(Scopes::of(&[Scope::Train]));
const ADMIN: Access = Access::OneOf(Scopes::of(&[Scope::Admin]));

/// Every route. Those that predict come first, since they are looked up most often.
const PERMISSIONS: [(&str, &str, Access); 69] = [
    ("POST", "/api/v1/models/{model}/predict", PREDICT),
    ("POST", "/api/v1/models/{model}/versions/{version}/predict", PREDICT),
    ("POST", "/v2/models/{model}/infer", PREDICT),
    ("POST", "/v2/models/{model}/versions/{version}/infer", PREDICT),
    ("POST", "/invocations", PREDICT),
    ("POST", "/api/v1/datasets", TRAIN),
    ("GET", "/api/v1/datasets", READ),
    ("GET", "/api/v1/datasets/{id}", READ),
    ("PUT", "/api/v1/datasets/{id}", TRAIN),
    ("PATCH", "/api/v1/datasets/{id}", TRAIN),
    ("DELETE", "/api/v1/datasets/{id}", TRAIN),
    ("GET", "/api/v1/datasets/{id}/preview", READ),
    ("POST", "/api/v1/jobs", TRAIN),
    ("GET", "/api/v1/jobs", READ),
    ("POST", "/api/v1/jobs/estimate", READ),
    ("GET", "/api/v1/jobs/{id}", READ),
    ("DELETE", "/api/v1/jobs/{id}", TRAIN),
    ("POST", "/api/v1/jobs/{id}/cancel", TRAIN),
    ("GET", "/api/v1/jobs/{id}/events", READ),
    ("GET", "/api/v1/jobs/{id}/comparison.csv", READ),
    ("GET", "/api/v1/jobs/{id}/comparison.svg", READ),
    ("GET", "/api/v1/models", READ),
    ("GET", "/api/v1/models/{model}", READ),
    ("DELETE", "/api/v1/models/{model}", ADMIN),
    ("POST", "/api/v1/models/{model}/update", TRAIN),
    ("PUT", "/api/v1/models/{model}/aliases/{alias}", ADMIN),
    ("DELETE", "/api/v1/models/{model}/aliases/{alias}", ADMIN),
    ("POST", "/api/v1/models/{model}/versions", ADMIN),
    ("GET", "/api/v1/models/{model}/versions", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/artifact", READ),
    ("GET", "/api/v1/models/{model}/guarantees", READ),
    ("GET", "/api/v1/models/{model}/spectrum", READ),
    ("GET", "/api/v1/models/{model}/drift", READ),
    ("GET", "/api/v1/models/{model}/explanations", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}", READ),
    ("DELETE", "/api/v1/models/{model}/versions/{version}", ADMIN),
    ("GET", "/api/v1/models/{model}/versions/{version}/guarantees", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/onnx", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/explanations", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/spectrum", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/drift", READ),
    ("GET", "/api/v1/models/{model}/plots", READ),
    ("GET", "/api/v1/models/{model}/plots/{plot}", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/plots", READ),
    ("GET", "/api/v1/models/{model}/versions/{version}/plots/{plot}", READ),
    ("POST", "/api/v1/plan", READ),
    ("GET", "/v2", Access::AnyKey),
    ("GET", "/v2/", Access::AnyKey),
    ("GET", "/v2/health/live", Access::Open),
    ("GET", "/v2/health/ready", Access::Open),
    ("GET", "/v2/models/stats", READ_OR_PREDICT),
    ("GET", "/v2/models/{model}", READ_OR_PREDICT),
    ("GET", "/v2/models/{model}/ready", READ_OR_PREDICT),
    ("GET", "/v2/models/{model}/stats", READ_OR_PREDICT),
    ("GET", "/v2/models/{model}/versions/{version}", READ_OR_PREDICT),
    ("GET", "/v2/models/{model}/versions/{version}/ready", READ_OR_PREDICT),
    ("GET", "/v2/models/{model}/versions/{version}/stats", READ_OR_PREDICT),
    ("POST", "/v2/repository/index", READ_OR_PREDICT),
    ("POST", "/v2/repository/models/{model}/load", ADMIN),
    ("POST", "/v2/repository/models/{model}/unload", ADMIN),
    ("GET", "/ping", Access::Open),
    ("GET", "/health", Access::Open),
    ("GET", "/api/v1/info", Access::AnyKey),
    ("GET", "/livez", Access::Open),
    ("GET", "/readyz", Access::Open),
    ("GET", "/version", Access::AnyKey),
    ("GET", "/metrics", Access::Metrics),
    ("GET", "/openapi.yaml", Access::AnyKey),
    ("GET", "/openapi.json", Access::AnyKey),
];

/// Who may use a route, by its path in the route table. HEAD is GET without the body. A path without a route, or with
/// another method, needs a key, and is then refused as such.
pub(crate) fn permission(method: &Method, path: &str) -> Access {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let found = PERMISSIONS.iter().find(|(known, route, _)| *route == path && *known == method);
    found.map_or(Access::AnyKey, |(_, _, access)| *access)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::PredictionRoute;

    #[test]
    fn predictions_need_their_scope_on_every_route() {
        for route in PredictionRoute::ALL {
            assert_eq!(permission(&Method::POST, route.path()), PREDICT);
        }
    }

    #[test]
    fn no_route_is_there_twice_and_what_is_not_there_needs_a_key() {
        for (index, (method, path, access)) in PERMISSIONS.iter().enumerate() {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(permission(&method, path), *access);
            assert!(!PERMISSIONS[..index].iter().any(|(m, p, _)| *m == method.as_str() && p == path), "{path}");
        }
        assert_eq!(permission(&Method::HEAD, "/livez"), Access::Open);
        assert_eq!(permission(&Method::POST, "/livez"), Access::AnyKey);
        assert_eq!(permission(&Method::GET, "/nowhere"), Access::AnyKey);
    }
}
