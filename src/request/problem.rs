//! What is wrong with a request, and where.

/// One problem with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the field, `?name` for a query parameter, or empty for the whole request.
    pub pointer: String,
    /// What is wrong and what is expected.
    pub detail: String,
}

impl Problem {
    /// A problem at a location.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// The JSON pointer to a member of `parent`, escaped. [RFC 6901]
pub(crate) fn pointer(parent: &str, member: &str) -> String {
    format!("{parent}/{}", member.replace('~', "~0").replace('/', "~1"))
}
