//! The URI of a folder that only a cluster can read: `s3a://bucket/table`, `hdfs://host:8020/table`, `abfss://…`.

use std::fmt;

/// Longer ones are refused.
const LONGEST: usize = 2_000;

/// What Hadoop reads as a pattern of many paths, or what stands for another character.
const REFUSED: [char; 10] = ['*', '?', '[', ']', '{', '}', '\\', '^', '%', '#'];

/// A scheme, an authority that may be empty, and a path without a slash at its end. As it is written, it says which folder it is:
/// it has no patterns, escapes, and parts such as `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUri(String);

impl RemoteUri {
    /// Whether a text is meant as one, right or wrong.
    pub fn is_meant_by(text: &str) -> bool {
        text.contains("://") && !text.starts_with("file:")
    }

    /// Reads a URI. The error says what it must be.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("must be a URI such as s3a://bucket/folder")?;
        if text.len() > LONGEST {
            return Err("has more than 2,000 bytes");
        }
        let is_letter = |c: char| c.is_ascii_lowercase();
        let of_scheme = |c: char| is_letter(c) || c.is_ascii_digit() || matches!(c, '+' | '.' | '-');
        if !scheme.starts_with(is_letter) || !scheme.chars().all(of_scheme) {
            return Err("must begin with a scheme in small letters, such as s3a or hdfs");
        }
        if rest.chars().any(|c| c.is_control() || REFUSED.contains(&c)) {
            return Err("must not contain patterns and escapes: * ? [ ] { } \\ ^ % # and control characters");
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.split_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err("must not contain a password: give it to the cluster by a setting");
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        if !path.is_empty() && path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("must not contain '..', '.' or two slashes in a row");
        }
        if authority.is_empty() && path.is_empty() {
            return Err("must name a host, a bucket or a folder");
        }
        let slash = if path.is_empty() { "" } else { "/" };
        Ok(Self(format!("{scheme}://{authority}{slash}{path}")))
    }

    /// Whether this is the other folder or within it.
    pub fn is_under(&self, other: &Self) -> bool {
        self.0.strip_prefix(&other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// As Spark is asked for it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RemoteUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_one_folder_or_is_refused() {
        for (written, read) in [
            ("s3a://bucket/rides", "s3a://bucket/rides"),
            ("s3a://bucket/rides/", "s3a://bucket/rides"),
            ("s3a://bucket/", "s3a://bucket"),
            ("hdfs://host:8020/a b/é", "hdfs://host:8020/a b/é"),
            ("hdfs:///rides", "hdfs:///rides"),
            ("abfss://files@account.dfs.core.windows.net/x", "abfss://files@account.dfs.core.windows.net/x"),
        ] {
            assert_eq!(RemoteUri::parse(written).map(|uri| uri.to_string()).as_deref(), Ok(read));
        }
        for (wrong, words) in [
            ("bucket", "must be a URI"),
            ("S3://bucket", "small letters"),
            ("://bucket", "small letters"),
            ("s3a://", "must name"),
            ("s3a:///", "must name"),
            ("s3a://bucket/../other", "'..'"),
            ("s3a://bucket/a/./b", "'.'"),
            ("s3a://bucket//b", "two slashes"),
            ("s3a://bucket/b//", "two slashes"),
            ("s3a://bucket/*", "patterns"),
            ("s3a://bucket/%2e%2e", "escapes"),
            ("s3a://bucket/a\nb", "control"),
            ("s3a://key:secret@bucket/a", "password"),
        ] {
            assert!(RemoteUri::parse(wrong).unwrap_err().contains(words), "{wrong}");
        }
        assert!(RemoteUri::parse(&format!("s3a://{}", "x".repeat(LONGEST))).unwrap_err().contains("2,000"));
    }

    #[test]
    fn a_folder_holds_what_is_within_it_and_not_what_begins_alike() {
        let uri = |text: &str| RemoteUri::parse(text).unwrap();
        for inner in ["s3a://bucket/a", "s3a://bucket/a/b"] {
            assert!(uri(inner).is_under(&uri("s3a://bucket/a/")) && uri(inner).is_under(&uri("s3a://bucket")));
        }
        for other in ["s3a://bucket/ab", "s3a://bucket", "s3a://bucket2/a", "s3://bucket/a", "hdfs:///bucket/a"] {
            assert!(!uri(other).is_under(&uri("s3a://bucket/a")), "{other}");
        }
    }

    #[test]
    fn paths_and_file_locations_are_meant_as_such() {
        for (text, meant) in
            [("s3a://b/x", true), ("file:///x", false), ("file:/x", false), ("/x", false), ("x", false)]
        {
            assert_eq!(RemoteUri::is_meant_by(text), meant, "{text}");
        }
    }
}
