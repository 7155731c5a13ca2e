//! `/api/v1/models/{model}/versions`: export and import of artifacts.

use super::models::describe;
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::body::{blocking_reader, check_content_length, content_encoding, unreadable};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{ModelName, QueryFields, VersionNumber};
use crate::api::http::responses::entity_tag::EntityTag;
use crate::api::state::blocking;
use crate::config::Config;
use crate::dataset::ContentEncoding;
use crate::model::{
    ARTIFACT_HEADER, Imported, ModelVersion, artifact_length, check_model_name, check_size, read_artifact,
};
use crate::serving::{NotReady, make_ready};
use crate::storage::database::now;
use crate::storage::disk::Disk;
use crate::storage::files::hex;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use tokio_util::io::ReaderStream;

/// `GET …/versions/{version}/artifact`: the stored file, whose hash is its tag.
pub(crate) async fn export(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let entry = state.registry.find(&name, Some(version))?;
    let tag = EntityTag::new(&entry.sha256);
    let file = {
        let entry = Arc::clone(&entry);
        blocking(move || state.registry.artifact(&entry)).await?
    };
    if tag.is_known(&headers) {
        return Ok(tag.not_modified());
    }
    let disposition = format!("attachment; filename=\"{}-{}.bochner\"", entry.name, entry.version);
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, entry.bytes.to_string()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    let body = Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file)));
    Ok(tag.attach((headers, body).into_response()))
}

/// `POST …/versions`: a file from elsewhere becomes the next version. It may be hostile, so that it is checked while it
/// arrives and loaded before anything is stored. It goes to disk first, so that a slow sender delays nobody; then one
/// file at a time is read, because each may take several times the memory of the largest file.
pub(crate) async fn import(
    State(state): State<AppState>,
    caller: Caller,
    ModelName(name): ModelName,
    query: QueryFields,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    check_model_name(&name)?;
    let origin = query.only(&["origin"])?.short_text("origin")?;
    state.refuse_low_disk().await?;
    let limit = state.config.max_artifact.0;
    check_content_length(&headers, limit)?;
    let encoding = content_encoding(&headers)?;
    let upload = state.uploads.take(caller.client())?;
    let source = blocking_reader(body, state.config.upload_idle_seconds);
    let (folder, disk) = (state.config.data_dir.join("tmp"), state.registry.disk().clone());
    let spooling = blocking(move || -> Result<_, ApiError> {
        Ok((spool(source, encoding, limit, (&folder, &disk))?, upload)) // held until the work is done, even if the client disconnects
    });
    let (spooled, upload) = spooling.await?;

    let closed = |_| ApiError::internal("the semaphore of imports is closed");
    let permit = state.imports.clone().acquire_owned().await.map_err(closed)?;
    let importer = state.clone();
    let entry = blocking(move || -> Result<_, ApiError> {
        let _permits = (permit, upload);
        let Spooled { file, sha256 } = spooled;
        let model = read_artifact(file, limit)?;
        let Config { max_features, max_columns, max_levels, .. } = importer.config;
        check_size(&model, max_features, max_columns, max_levels)?;
        let description = model.describe().to_string();
        let unusable = |error: NotReady| ApiError::invalid_field(ErrorCode::InvalidArtifact, "", error.to_string());
        let predictor = make_ready(model).map_err(unusable)?;
        let stored = importer.registry.store(&uuid::Uuid::now_v7().to_string(), predictor.model())?;
        let stored = stored.marked_as(Some(Imported { at: now(), origin, sha256 }));
        let put = |version: &Arc<ModelVersion>| importer.model_cache.put(version, predictor);
        Ok(importer.registry.publish(&name, &stored, &description, None, put)?)
    })
    .await?;
    let location = format!("/api/v1/models/{}/versions/{}", entry.name, entry.version);
    let described = describe(&state, entry).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(described)).into_response())
}

/// A decoded body on disk.
struct Spooled {
    file: File,
    sha256: String,
}

/// The decoded body as an unnamed file. Its header is checked before the rest is read, and its length is counted before
/// it is written.
fn spool(
    source: impl Read,
    encoding: ContentEncoding,
    limit: u64,
    (folder, disk): (&Path, &Disk),
) -> Result<Spooled, ApiError> {
    let mut decoded = encoding.decoder(source).map_err(unreadable(encoding))?;
    let mut head = Vec::new();
    decoded.by_ref().take(ARTIFACT_HEADER as u64).read_to_end(&mut head).map_err(unreadable(encoding))?;
    let length = artifact_length(&head, limit)?;
    disk.grant(length)?;
    let mut file = tempfile::tempfile_in(folder)?;
    let mut hash = Sha256::new();
    hash.update(&head);
    file.write_all(&head)?;
    let mut left = length - head.len() as u64 + 1; // one byte more, to notice appended bytes
    let mut chunk = vec![0; 1 << 16];
    while left > 0 {
        let most = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = decoded.read(&mut chunk[..most]).map_err(unreadable(encoding))?;
        if count == 0 {
            break;
        }
        hash.update(&chunk[..count]);
        file.write_all(&chunk[..count])?;
        left -= count as u64;
    }
    file.rewind()?;
    Ok(Spooled { file, sha256: hex(&hash.finalize()) })
}
