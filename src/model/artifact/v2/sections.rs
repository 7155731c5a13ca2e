//! Tags, flags and lengths of the sections of format 2.
//!
//! ```text
//! offset  bytes
//!      0      4  tag, ASCII
//!      4      4  flags, little-endian; bit 0: required
//!      8      8  length of the content, little-endian
//!     16      …  content, bincode with integers of fixed length
//! ```

use super::ArtifactError;
use bincode::config::{Configuration, Fixint, LittleEndian};
use serde::{Deserialize, Serialize};

const HEADER_BYTES: usize = 16;

/// A build that does not know a section with this flag must refuse the file.
const REQUIRED: u32 = 1;

const CONTENT: Configuration<LittleEndian, Fixint> = bincode::config::standard().with_fixed_int_encoding();

/// The sections that this build knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Head,
    Inputs,
    Features,
    Scales,
    Weights,
    Spread,
    ErrorBars,
    Intervals,
    Statistics,
    Origin,
    Report,
    Evidence,
    Measured,
    Choices,
    Selection,
    Trials,
    Distance,
    MetricRoot,
    MetricReport,
    Explanations,
    CrossValidation,
    IndividualCurves,
    Search,
    SearchFinals,
    Notations,
    HeldOut,
    Ranges,
    ExactScore,
    Signs,
    LearningCurve,
    LearnerChoice,
}

impl Section {
    const ALL: [Self; 31] = [
        Self::Head,
        Self::Inputs,
        Self::Features,
        Self::Scales,
        Self::Weights,
        Self::Spread,
        Self::ErrorBars,
        Self::Intervals,
        Self::Statistics,
        Self::Origin,
        Self::Report,
        Self::Evidence,
        Self::Measured,
        Self::Choices,
        Self::Selection,
        Self::Trials,
        Self::Distance,
        Self::MetricRoot,
        Self::MetricReport,
        Self::Explanations,
        Self::CrossValidation,
        Self::IndividualCurves,
        Self::Search,
        Self::SearchFinals,
        Self::Notations,
        Self::HeldOut,
        Self::Ranges,
        Self::ExactScore,
        Self::Signs,
        Self::LearningCurve,
        Self::LearnerChoice,
    ];

    fn tag(self) -> [u8; 4] {
        *match self {
            Self::Head => b"HEAD",
            Self::Inputs => b"INPT",
            Self::Features => b"FEAT",
            Self::Scales => b"SCAL",
            Self::Weights => b"WGHT",
            Self::Spread => b"SPRD",
            Self::ErrorBars => b"EBAR",
            Self::Intervals => b"INTV",
            Self::Statistics => b"STAT",
            Self::Origin => b"ORIG",
            Self::Report => b"REPT",
            Self::Evidence => b"EVID",
            Self::Measured => b"MEAS",
            Self::Choices => b"CHOI",
            Self::Selection => b"SLCT",
            Self::Trials => b"TRLS",
            Self::Distance => b"DIST",
            Self::MetricRoot => b"METR",
            Self::MetricReport => b"METI",
            Self::Explanations => b"EXPL",
            Self::CrossValidation => b"XVAL",
            Self::IndividualCurves => b"ICEC",
            Self::Search => b"SRCH",
            Self::SearchFinals => b"SFIN",
            Self::Notations => b"NOTA",
            Self::HeldOut => b"HELD",
            Self::Ranges => b"RANG",
            Self::ExactScore => b"EXSC",
            Self::Signs => b"SIGN",
            Self::LearningCurve => b"LCRV",
            Self::LearnerChoice => b"LRNR",
        }
    }

    /// Without these a prediction would be wrong; a reader that only predicts can skip the others.
    fn flags(self) -> u32 {
        match self {
            Self::Head
            | Self::Inputs
            | Self::Features
            | Self::Scales
            | Self::Weights
            | Self::MetricRoot
            | Self::Notations
            | Self::Signs => REQUIRED,
            Self::Spread
            | Self::ErrorBars
            | Self::Intervals
            | Self::Statistics
            | Self::Origin
            | Self::Report
            | Self::Evidence
            | Self::Measured
            | Self::Choices
            | Self::Selection
            | Self::Trials
            | Self::Distance
            | Self::MetricReport
            | Self::Explanations
            | Self::CrossValidation
            | Self::IndividualCurves
            | Self::Search
            | Self::SearchFinals
            | Self::HeldOut
            | Self::Ranges
            | Self::ExactScore
            | Self::LearningCurve
            | Self::LearnerChoice => 0,
        }
    }

    fn problem(self, problem: &'static str) -> ArtifactError {
        ArtifactError::Section { tag: self.tag(), problem }
    }
}

/// Appends a section.
pub(super) fn write_section(
    bytes: &mut Vec<u8>,
    section: Section,
    content: &impl Serialize,
) -> Result<(), ArtifactError> {
    let start = bytes.len();
    bytes.extend(section.tag());
    bytes.extend(section.flags().to_le_bytes());
    bytes.extend([0; 8]); // filled in when the content is known
    let length = bincode::serde::encode_into_std_write(content, bytes, CONTENT)? as u64;
    bytes[start + 8..start + HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The known sections of a payload.
pub(super) struct Sections<'a> {
    found: Vec<(Section, &'a [u8])>,
}

impl<'a> Sections<'a> {
    /// Finds the sections. Unknown ones are skipped, unless they are required.
    pub(super) fn split(mut payload: &'a [u8]) -> Result<Self, ArtifactError> {
        let mut found: Vec<(Section, &[u8])> = Vec::new();
        while !payload.is_empty() {
            let (header, rest) = payload.split_at_checked(HEADER_BYTES).ok_or(ArtifactError::CutSection)?;
            let tag: [u8; 4] = std::array::from_fn(|i| header[i]);
            let flags = u32::from_le_bytes(std::array::from_fn(|i| header[4 + i]));
            let length = u64::from_le_bytes(std::array::from_fn(|i| header[8 + i]));
            let refusal = |problem| Err(ArtifactError::Section { tag, problem });
            let Some((content, rest)) = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length))
            else {
                return refusal("is longer than the rest of the file");
            };
            payload = rest;
            if flags & !REQUIRED != 0 {
                return refusal("has flags that this build does not know. Use a newer release of bochner");
            }
            match Section::ALL.into_iter().find(|section| section.tag() == tag) {
                Some(section) if found.iter().any(|(known, _)| *known == section) => return refusal("appears twice"),
                Some(section) => found.push((section, content)),
                None if flags & REQUIRED != 0 => {
                    return refusal("is required, and this build does not know it. Use a newer release of bochner");
                }
                None => {}
            }
        }
        Ok(Self { found })
    }

    /// The content of a section that every file has.
    pub(super) fn read<T: Deserialize<'a>>(&self, section: Section) -> Result<T, ArtifactError> {
        self.find(section)?.ok_or_else(|| section.problem("is missing"))
    }

    /// The content of a section, if the file has it.
    pub(super) fn find<T: Deserialize<'a>>(&self, section: Section) -> Result<Option<T>, ArtifactError> {
        let Some((_, content)) = self.found.iter().find(|(known, _)| *known == section) else { return Ok(None) };
        let (value, read) = bincode::serde::borrow_decode_from_slice(content, CONTENT)?;
        if read == content.len() { Ok(Some(value)) } else { Err(section.problem("has bytes after its last field")) }
    }
}
