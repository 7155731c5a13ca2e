//! Which folders the service may read where they are. A location is checked as it is written before anything is looked up, and
//! one on this machine again with all symbolic links resolved, so that a refusal tells nothing about what there is elsewhere.

use crate::config::{AllowedLocation, RemoteUri};
use crate::dataset::DatasetError;
use crate::training::TrainError;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Why a location cannot be a dataset.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// No location is allowed.
    #[error("the service reads no files where they are: start it with --dataset-locations to allow folders")]
    NoneAllowed,
    /// Not this one.
    #[error("'{location}' is not under a folder that --dataset-locations allows{detail}")]
    NotAllowed {
        /// As asked for.
        location: String,
        /// What leads out, if it is not the location itself.
        detail: String,
    },
    /// It cannot be read as a table.
    #[error("{0}")]
    Refused(String),
    /// It is not what it was when it was registered.
    #[error("{0}")]
    Changed(String),
    /// The dataset could not be stored.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The pass over its rows failed.
    #[error(transparent)]
    Pass(#[from] TrainError),
}

/// Where the files of a table are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TablePlace {
    /// A folder of this machine, with all links resolved.
    Folder(PathBuf),
    /// A folder that only the cluster can read.
    Remote(RemoteUri),
}

/// The folders that datasets may be in.
#[derive(Debug, Clone, Default)]
pub struct Locations {
    folders: Vec<PathBuf>,
    remote: Vec<RemoteUri>,
}

impl Locations {
    /// Everything under these folders, which need not be there yet.
    pub fn new(allowed: &[AllowedLocation]) -> Self {
        let mut locations = Self::default();
        for allowed in allowed {
            match allowed {
                AllowedLocation::Folder(folder) => locations.folders.push(folder.clone()),
                AllowedLocation::Remote(uri) => locations.remote.push(uri.clone()),
            }
        }
        locations
    }

    /// Where a location is, if it may be read.
    pub fn resolve(&self, location: &str) -> Result<TablePlace, LocationError> {
        let refuse = |detail: &str| LocationError::Refused(format!("'{location}' {detail}"));
        let outside = || LocationError::NotAllowed { location: location.to_owned(), detail: String::new() };
        if !RemoteUri::is_meant_by(location) {
            return self.resolve_folder(location).map(TablePlace::Folder);
        }
        let uri = RemoteUri::parse(location).map_err(refuse)?;
        if self.folders.is_empty() && self.remote.is_empty() {
            return Err(LocationError::NoneAllowed);
        }
        if self.remote.iter().any(|allowed| uri.is_under(allowed)) {
            Ok(TablePlace::Remote(uri))
        } else {
            Err(outside())
        }
    }

    /// The folder of a location on this machine, with all links resolved. Its files are under an allowed folder too.
    fn resolve_folder(&self, location: &str) -> Result<PathBuf, LocationError> {
        let refuse = |detail: &str| LocationError::Refused(format!("'{location}' {detail}"));
        let path = path_of(location).map_err(refuse)?;
        if self.folders.is_empty() && self.remote.is_empty() {
            return Err(LocationError::NoneAllowed);
        }
        let outside = |detail: String| LocationError::NotAllowed { location: location.to_owned(), detail };
        let resolved_folders: Vec<PathBuf> =
            self.folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        let is_under = |path: &Path, folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        // A location that is stored has its links resolved.
        if !is_under(path, &self.folders) && !is_under(path, &resolved_folders) {
            return Err(outside(String::new()));
        }
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => refuse("does not exist"),
            ErrorKind::NotADirectory => refuse("is not a folder"),
            _ => refuse(&format!("cannot be read: {error}")),
        };
        let folder = path.canonicalize().map_err(unreadable)?;
        if !is_under(&folder, &resolved_folders) {
            return Err(outside(": a symbolic link leads out of it".into()));
        }
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // A link that leads nowhere is refused when the file is opened.
            if file.canonicalize().is_ok_and(|file| !is_under(&file, &resolved_folders)) {
                return Err(outside(format!(": '{name}' in it is a symbolic link that leads out")));
            }
        }
        Ok(folder)
    }
}

/// The path of `file:/…` or `file:///…`, as it is written.
fn path_of(location: &str) -> Result<&Path, &'static str> {
    let Some(rest) = location.strip_prefix("file:") else {
        return Err(
            "is not a location: write file:/ and the path of a folder, or a URI that the cluster can read, such as \
             s3a://bucket/folder",
        );
    };
    let path = Path::new(rest.strip_prefix("//").unwrap_or(rest));
    if !path.is_absolute() {
        return Err("must have an absolute path: file:/ and the path of a folder on this machine");
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err("must not contain '..'");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_location_leads_out_of_the_allowed_folders() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        for folder in ["in/table", "in-beside", "out"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("out/x.parquet"), "x").unwrap();
        std::fs::write(base.join("in/file"), "x").unwrap();
        symlink(base.join("out"), base.join("in/link")).unwrap();
        symlink(base.join("in/table"), base.join("in/alias")).unwrap();
        std::fs::create_dir(base.join("in/mixed")).unwrap();
        symlink(base.join("out/x.parquet"), base.join("in/mixed/x.parquet")).unwrap();
        let locations = Locations::new(&["in", "absent"].map(|within| AllowedLocation::Folder(base.join(within))));
        let ask = |within: &str| locations.resolve(&format!("file:{}/{within}", base.display()));
        let table = TablePlace::Folder(base.join("in/table"));
        assert_eq!(ask("in/table").unwrap(), table);
        assert_eq!(ask("in/alias/").unwrap(), table);
        let slashes = locations.resolve(&format!("file://{}/in/./table", base.display()));
        assert_eq!(slashes.unwrap(), table);
        for within in ["out", "in-beside", "nothing", "in/link", "in/mixed"] {
            assert!(matches!(ask(within), Err(LocationError::NotAllowed { .. })), "{within}");
        }
        for (within, words) in [
            ("in/none", "does not exist"),
            ("in/file", "not a folder"),
            ("in/../out", "'..'"),
            ("absent/x", "not exist"),
        ] {
            let refusal = ask(within).unwrap_err();
            assert!(matches!(refusal, LocationError::Refused(_)) && refusal.to_string().contains(words), "{refusal}");
        }
        for (location, words) in [
            ("/in/table", "write file:/"),
            ("file:table", "absolute"),
            ("file://host/table", "absolute"),
            ("", "write file:/"),
        ] {
            assert!(locations.resolve(location).unwrap_err().to_string().contains(words), "{location}");
        }
        for location in ["file:/in", "s3a://bucket/table"] {
            let none = Locations::default().resolve(location);
            assert!(none.unwrap_err().to_string().contains("--dataset-locations"));
        }
    }

    #[test]
    fn uris_are_allowed_by_what_is_written() {
        let uri = |text: &str| RemoteUri::parse(text).unwrap();
        let locations =
            Locations::new(&[AllowedLocation::Remote(uri("s3a://bucket/in")), AllowedLocation::Folder("/in".into())]);
        let found = locations.resolve("s3a://bucket/in/table/").unwrap();
        assert_eq!(found, TablePlace::Remote(uri("s3a://bucket/in/table")));
        for outside in ["s3a://bucket/inner", "s3a://bucket", "s3://bucket/in/table", "hdfs:///in/table"] {
            assert!(matches!(locations.resolve(outside), Err(LocationError::NotAllowed { .. })), "{outside}");
        }
        for wrong in ["s3a://bucket/in/../out", "s3a://bucket/in/*", "S3A://bucket/in"] {
            assert!(matches!(locations.resolve(wrong), Err(LocationError::Refused(_))), "{wrong}");
        }
    }
}
