//! What all pages share.

use crate::api::AppState;
use crate::keys::random_secret;
use crate::storage::files::hex;
use axum::Router;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The API behind the pages; a clone is a few reference counts.
#[derive(Clone)]
pub(in crate::api) struct Backend {
    pub(super) state: AppState,
    /// The route table of the API, without its counting of requests: a page is one request.
    pub(super) api: Router,
    /// Random for each process; forms show a hash of it. Without random numbers no form is accepted.
    secret: Option<Arc<[u8; 32]>>,
}

impl Backend {
    pub(in crate::api) fn new(state: AppState, api: Router) -> Self {
        Self { state, api, secret: random_secret().map(Arc::new) }
    }

    /// What a form of this reader must show: a page of another origin can neither read nor guess it.
    pub(super) fn form_token(&self, key: Option<&str>) -> Option<String> {
        let mut hash = Sha256::new();
        hash.update(self.secret.as_ref()?.as_ref());
        hash.update(key.unwrap_or_default());
        Some(hex(&hash.finalize()))
    }
}
