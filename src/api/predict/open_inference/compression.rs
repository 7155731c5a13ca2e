//! Compression of responses.

use super::JSON_LENGTH;
use crate::api::http::accept::{Weighted, field_lines};
use crate::api::http::error::ApiError;
use crate::api::predict::pipeline::typed;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

/// Shorter responses are not compressed.
const WORTH_COMPRESSING: usize = 1024;

/// How a response is compressed.
#[derive(Debug, Clone, Copy)]
pub(super) enum TritonCoding {
    Gzip,
    Deflate,
}

impl TritonCoding {
    /// The coding with the highest weight, gzip of equals; none unless the client names it.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let accepted = field_lines(headers, &header::ACCEPT_ENCODING)?;
        let codings: Vec<Weighted> = accepted.split(',').map(Weighted::read).collect();
        let weight = |coding: Self| {
            let named = codings.iter().find(|named| named.name.eq_ignore_ascii_case(coding.name()));
            named.map_or(0.0, |named| named.weight)
        };
        let (gzip, deflate) = (weight(Self::Gzip), weight(Self::Deflate));
        match gzip.max(deflate) {
            most if most <= 0.0 => None,
            most if gzip == most => Some(Self::Gzip),
            _ => Some(Self::Deflate),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        }
    }

    fn encode(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// A response, compressed if the client accepts it and it is long enough. `json_length` is set if bytes follow the JSON.
pub(super) fn compressed(
    coding: Option<TritonCoding>,
    bytes: Vec<u8>,
    json_length: Option<usize>,
) -> Result<Response<Vec<u8>>, ApiError> {
    let coding = coding.filter(|_| bytes.len() >= WORTH_COMPRESSING);
    let bytes = match coding {
        Some(coding) => coding.encode(&bytes)?,
        None => bytes,
    };
    let media_type = if json_length.is_some() { "application/octet-stream" } else { "application/json" };
    let mut response = typed(media_type, bytes);
    if let Some(coding) = coding {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
    if let Some(length) = json_length {
        response.headers_mut().insert(JSON_LENGTH, HeaderValue::from(length));
    }
    Ok(response)
}
