//! The file format of a fitted model; the only file that names bincode.
//!
//! ```text
//! offset  bytes
//!      0      8  magic "BOCHNER\0"
//!      8      4  format version, little-endian
//!     12      8  payload length, little-endian
//!     20     32  SHA-256 of the payload
//!     52      …  payload, bincode
//! ```
//!
//! A file from disk is hostile: magic, version, length and checksum are checked before anything is
//! decoded, shapes and finiteness after. The bytes depend on the data, the spec and the seed alone,
//! so training twice gives the same file.

/// Whether the parts of a model fit each other.
pub(crate) mod soundness;

use super::{ErrorBars, FitReport, FittedModel, Head, InputPipeline, Measured, MissingRule, Spread, Statistics};
use crate::features::{FeatureMap, Frequencies, Kernel, MapKind, Precision, Structured};
use crate::storage::files::hex;
use crate::theory::Evidence;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use std::io::Read;

const MAGIC: [u8; 8] = *b"BOCHNER\0";
const FORMAT_VERSION: u32 = 1;
const HEADER_BYTES: usize = 52;

/// Bytes of an artifact that tell how long it is.
pub const ARTIFACT_HEADER: usize = HEADER_BYTES;

/// Why an artifact was refused.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not one of ours.
    #[error("not a bochner artifact: the magic bytes are missing")]
    Magic,
    /// Written by a later release.
    #[error("format version {found} is not known; this release reads up to {FORMAT_VERSION}")]
    Version {
        /// As the file says.
        found: u32,
    },
    /// Cut short or with something appended.
    #[error("the header promises {promised} payload bytes, the file has {found}")]
    Length {
        /// By the header.
        promised: u64,
        /// In the file.
        found: u64,
    },
    /// More than may be read.
    #[error("the header promises {promised} payload bytes, the limit is {limit}")]
    TooLarge {
        /// By the header.
        promised: u64,
        /// Bytes.
        limit: u64,
    },
    /// The stream broke.
    #[error("the file could not be read: {0}")]
    Read(std::io::Error),
    /// A changed byte.
    #[error("the checksum does not match: the file is damaged")]
    Checksum,
    /// The payload does not decode.
    #[error("the payload does not decode: {0}")]
    Decode(#[from] bincode::error::DecodeError),
    /// The model could not be written.
    #[error("the payload could not be encoded: {0}")]
    Encode(#[from] bincode::error::EncodeError),
    /// The parts do not fit each other.
    #[error("the parts of the model disagree: {0}")]
    Shape(&'static str),
    /// A bandwidth, smoothness or order that nothing can be computed with.
    #[error("the kernel's parameters are out of range")]
    Kernel,
    /// Intervals or label sets would say what nobody knows.
    #[error("the calibration cannot be used: {0}")]
    Calibration(&'static str),
    /// Larger than a model may be here.
    #[error("the model has {found} {what}; the limit here is {limit}")]
    Beyond {
        /// Of what there is too much.
        what: &'static str,
        /// In the model.
        found: usize,
        /// As configured.
        limit: usize,
    },
    /// NaN or infinity.
    #[error("{0} hold a number that is not finite")]
    NotFinite(&'static str),
}

/// The payload of format 1: plain numbers and lists, so that no library's layout leaks in.
#[derive(Serialize, Deserialize)]
struct PayloadV1 {
    head: Head,
    inputs: InputPipeline,
    missing: MissingRule,
    kernel: Kernel,
    map: MapKind,
    frequencies: FrequenciesV1,
    phases: Vec<f64>,
    precision: Precision,
    /// s×k, row by row.
    weights: Vec<f64>,
    intercepts: Vec<f64>,
    spread: Option<Spread>,
    error_bars: Option<ErrorBars>,
    interval_scales: Vec<f64>,
    statistics: Option<Statistics>,
    spec: String,
    dataset: String,
    report: FitReport,
    failure_probability: f64,
    evidence: Option<Evidence>,
    measured: Measured,
}

/// The frequencies of format 1.
#[derive(Serialize, Deserialize)]
enum FrequenciesV1 {
    Dense {
        draw_count: usize,
        /// m×d, row by row.
        values: Vec<f64>,
    },
    Structured(Structured),
}

/// The artifact of a model.
pub fn encode(model: &FittedModel) -> Result<Vec<u8>, ArtifactError> {
    let payload = PayloadV1 {
        head: model.head.clone(),
        inputs: model.inputs.clone(),
        missing: model.missing,
        kernel: model.map.kernel,
        map: model.map.kind,
        frequencies: match &model.map.frequencies {
            Frequencies::Dense(values) => {
                FrequenciesV1::Dense { draw_count: values.nrows(), values: values.iter().copied().collect() }
            }
            Frequencies::Structured(structured) => FrequenciesV1::Structured(structured.clone()),
        },
        phases: model.map.phases.clone(),
        precision: model.precision,
        weights: model.weights.iter().copied().collect(),
        intercepts: model.intercepts.clone(),
        spread: model.spread.clone(),
        error_bars: model.error_bars.clone(),
        interval_scales: model.interval_scales.clone(),
        statistics: model.statistics.clone(),
        spec: model.spec.clone(),
        dataset: model.dataset.clone(),
        report: model.report.clone(),
        failure_probability: model.failure_probability,
        evidence: model.evidence.clone(),
        measured: model.measured.clone(),
    };
    let mut bytes = vec![0; HEADER_BYTES]; // filled in when the payload is known
    let length = bincode::serde::encode_into_std_write(payload, &mut bytes, bincode::config::standard())?;
    let (header, payload) = bytes.split_at_mut(HEADER_BYTES);
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&(length as u64).to_le_bytes());
    header[20..].copy_from_slice(&Sha256::digest(payload));
    Ok(bytes)
}

/// The model of an artifact.
pub fn decode(bytes: &[u8]) -> Result<FittedModel, ArtifactError> {
    let payload = checked_payload(bytes)?;
    let (payload, read) = decoder_of(payload.len())(payload)?;
    if read != bytes.len() - HEADER_BYTES {
        return Err(ArtifactError::Shape("bytes are left over"));
    }
    assemble(payload)
}

type Decoder = fn(&[u8]) -> Result<(PayloadV1, usize), bincode::error::DecodeError>;

/// Decoders by the bytes that they may claim. A text is given its memory before the bytes are looked at, so that what
/// a payload may claim must follow from what it has.
const DECODERS: [(usize, Decoder); 7] = [
    (1 << 16, decode_within::<{ 1 << 16 }>),
    (1 << 20, decode_within::<{ 1 << 20 }>),
    (1 << 24, decode_within::<{ 1 << 24 }>),
    (1 << 27, decode_within::<{ 1 << 27 }>),
    (1 << 30, decode_within::<{ 1 << 30 }>),
    (1 << 33, decode_within::<{ 1 << 33 }>),
    (1 << 36, decode_within::<{ 1 << 36 }>),
];

/// What a byte of a payload may claim: a whole number counts as eight, however short it is written.
const CLAIM_PER_BYTE: usize = 8;

/// The decoder that bears this many bytes, and little more.
fn decoder_of(payload_bytes: usize) -> Decoder {
    let claim = payload_bytes.saturating_mul(CLAIM_PER_BYTE);
    let within = DECODERS.iter().find(|(limit, _)| claim <= *limit);
    within.map_or(DECODERS[DECODERS.len() - 1].1, |(_, decoder)| *decoder)
}

fn decode_within<const LIMIT: usize>(payload: &[u8]) -> Result<(PayloadV1, usize), bincode::error::DecodeError> {
    bincode::serde::decode_from_slice(payload, bincode::config::standard().with_limit::<LIMIT>())
}

/// The model of an artifact that streams in. What the header says is checked before the payload is read, and the
/// payload takes memory as its bytes come, never as the header claims.
pub fn read_artifact(mut source: impl Read, limit: u64) -> Result<FittedModel, ArtifactError> {
    let mut bytes = Vec::new();
    source.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(ArtifactError::Read)?;
    let left = artifact_length(&bytes, limit)? - HEADER_BYTES as u64;
    // One byte more, so that something appended is seen.
    source.take(left + 1).read_to_end(&mut bytes).map_err(ArtifactError::Read)?;
    decode(&bytes)
}

/// How long an artifact is by its first bytes, of which all are looked at; its payload at most `limit`.
pub fn artifact_length(start: &[u8], limit: u64) -> Result<u64, ArtifactError> {
    let promised = Header::read(start)?.payload_length;
    if promised > limit {
        return Err(ArtifactError::TooLarge { promised, limit });
    }
    Ok(HEADER_BYTES as u64 + promised)
}

/// The start of an artifact.
struct Header {
    payload_length: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, ArtifactError> {
        if bytes.len() < HEADER_BYTES || bytes[..8] != MAGIC {
            return Err(ArtifactError::Magic);
        }
        let found = u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
        if found != FORMAT_VERSION {
            return Err(ArtifactError::Version { found });
        }
        Ok(Self { payload_length: u64::from_le_bytes(std::array::from_fn(|i| bytes[12 + i])) })
    }
}

/// What an artifact says about itself before it is decoded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArtifactHeader {
    /// Of the file format.
    pub format_version: u32,
    /// Of the file.
    pub bytes: usize,
    /// Of the file, as the registry has it.
    pub sha256: String,
}

/// The header of an artifact whose length and checksum are right.
pub fn read_header(bytes: &[u8]) -> Result<ArtifactHeader, ArtifactError> {
    checked_payload(bytes)?;
    Ok(ArtifactHeader { format_version: FORMAT_VERSION, bytes: bytes.len(), sha256: hex(&Sha256::digest(bytes)) })
}

fn checked_payload(bytes: &[u8]) -> Result<&[u8], ArtifactError> {
    let promised = Header::read(bytes)?.payload_length;
    let (header, payload) = bytes.split_at(HEADER_BYTES);
    if promised != payload.len() as u64 {
        return Err(ArtifactError::Length { promised, found: payload.len() as u64 });
    }
    if Sha256::digest(payload).as_slice() != &header[20..] {
        return Err(ArtifactError::Checksum);
    }
    Ok(payload)
}

fn assemble(payload: PayloadV1) -> Result<FittedModel, ArtifactError> {
    let d = payload.inputs.encoding.input_dim();
    if d == 0 {
        return Err(ArtifactError::Shape("the model has no inputs"));
    }
    let frequencies = checked_frequencies(payload.frequencies, d)?;
    let map = FeatureMap { kernel: payload.kernel, kind: payload.map, frequencies, phases: payload.phases };
    let weights = Array2::from_shape_vec((map.feature_count(), payload.head.output_count()), payload.weights);
    let model = FittedModel {
        head: payload.head,
        inputs: payload.inputs,
        missing: payload.missing,
        map,
        precision: payload.precision,
        weights: weights.map_err(|_| ArtifactError::Shape("weights and frequencies"))?,
        intercepts: payload.intercepts,
        spread: payload.spread,
        error_bars: payload.error_bars,
        interval_scales: payload.interval_scales,
        statistics: payload.statistics,
        spec: payload.spec,
        dataset: payload.dataset,
        report: payload.report,
        failure_probability: payload.failure_probability,
        evidence: payload.evidence,
        measured: payload.measured,
    };
    soundness::check(&model)?;
    Ok(model.with_whole_evidence())
}

fn checked_frequencies(frequencies: FrequenciesV1, input_dim: usize) -> Result<Frequencies, ArtifactError> {
    let disagree = ArtifactError::Shape("frequencies and encoding");
    match frequencies {
        FrequenciesV1::Dense { draw_count, values } => {
            Array2::from_shape_vec((draw_count, input_dim), values).map(Frequencies::Dense).map_err(|_| disagree)
        }
        FrequenciesV1::Structured(structured) if structured.input_dim == input_dim && structured.is_consistent() => {
            Ok(Frequencies::Structured(structured))
        }
        FrequenciesV1::Structured(_) => Err(disagree),
    }
}
