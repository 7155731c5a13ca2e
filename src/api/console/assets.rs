//! Style sheet, script and icon, embedded. Their address has a hash of their content, so that browsers keep them.

use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::storage::files::hex;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const STYLE: &str = include_str!("assets/console.css");
const SCRIPT: &str = include_str!("assets/console.js");
const ICON: &str = include_str!("assets/icon.svg");

/// The start of a hash of all of them.
pub(super) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let parts = [STYLE, SCRIPT, ICON];
        let hash = parts.iter().fold(Sha256::new(), Digest::chain_update);
        hex(&hash.finalize()[..6])
    });
    &VERSION
}

/// `GET /assets/{file}`.
pub(super) async fn serve(Path(file): Path<String>) -> Response {
    let (media_type, text) = match file.as_str() {
        "console.css" => ("text/css; charset=utf-8", STYLE),
        "console.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return ApiError::new(ErrorCode::RouteNotFound, format!("there is no asset '{file}'")).into_response(),
    };
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, text).into_response()
}
