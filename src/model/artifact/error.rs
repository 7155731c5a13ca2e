//! Why an artifact was refused.

/// Why an artifact was refused.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not a file of ours.
    #[error("not a bochner artifact: the magic bytes are missing")]
    Magic,
    /// A format that this build does not read.
    #[error("the artifact has format {found}; this build reads 1 and 2. Use a newer release of bochner")]
    Format {
        /// As the file says.
        found: u32,
    },
    /// Cut short or with something appended.
    #[error("the header states {stated} payload bytes, the file has {found}")]
    Length {
        /// In the header.
        stated: u64,
        /// In the file.
        found: u64,
    },
    /// More than may be read.
    #[error("the header states {stated} payload bytes, the limit is {limit}")]
    TooLarge {
        /// In the header.
        stated: u64,
        /// Bytes.
        limit: u64,
    },
    /// The stream ended with an error.
    #[error("the file could not be read: {0}")]
    Read(std::io::Error),
    /// Deleted, or in quarantine.
    #[error("its file is missing")]
    Missing,
    /// A changed byte.
    #[error("the checksum does not match: the file is damaged")]
    Checksum,
    /// The sections of format 2 are not what they should be.
    #[error("section '{}' {problem}", tag.escape_ascii())]
    Section {
        /// Of the section, as it is in the file.
        tag: [u8; 4],
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The payload ends within the header of a section.
    #[error("the payload ends within the header of a section")]
    CutSection,
    /// The payload does not decode.
    #[error("the payload does not decode: {0}")]
    Decode(#[from] bincode::error::DecodeError),
    /// The model could not be written.
    #[error("the payload could not be encoded: {0}")]
    Encode(#[from] bincode::error::EncodeError),
    /// Parts of the model have sizes that do not go together.
    #[error("the parts of the model disagree: {0}")]
    Shape(&'static str),
    /// A bandwidth, smoothness or order that no kernel has.
    #[error("the kernel's parameters are out of range")]
    Kernel,
    /// Intervals or label sets could not be computed from it.
    #[error("the calibration cannot be used: {0}")]
    Calibration(&'static str),
    /// Larger than the service is configured for.
    #[error("the model has {found} {what}; the limit here is {limit}")]
    Beyond {
        /// What is counted.
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
