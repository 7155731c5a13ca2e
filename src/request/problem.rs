//! What is wrong with a request, and where.

/// One thing wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub detail: String,
}

impl Problem {
    /// A problem at a place.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// The JSON pointer to a member of what `parent` points to. [RFC 6901]
pub(crate) fn pointer(parent: &str, member: &str) -> String {
    format!("{parent}/{}", member.replace('~', "~0").replace('/', "~1"))
}
