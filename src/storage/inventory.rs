//! Which files of a data directory are ours, by name and first bytes. All others are left alone.

use super::card::MAGIC as CARD_MAGIC;
use super::files::{DataDir, at_path};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// How the tables of all format versions begin.
pub const TABLE_MAGIC: &[u8] = b"BOCHTAB";

/// How the artifacts of all format versions begin.
pub const ARTIFACT_MAGIC: &[u8] = b"BOCHNER\0";

/// What a file of ours holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// The rows of a dataset.
    Table,
    /// What the database says of a dataset.
    DatasetCard,
    /// A fitted model.
    Artifact,
    /// What the database says of a model.
    ModelCard,
}

/// A file of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFile {
    /// What it holds.
    pub kind: FileKind,
    /// Its name without the ending: the id of a dataset or artifact.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What came of making entries again from files.
#[derive(Debug)]
pub struct Restored<T> {
    /// The entries that were made.
    pub entries: Vec<T>,
    /// The files that none could be made of, each with the reason.
    pub unusable: Vec<(PathBuf, String)>,
}

impl FileKind {
    const ALL: [Self; 4] = [Self::Table, Self::DatasetCard, Self::Artifact, Self::ModelCard];

    fn folder(self, directory: &DataDir) -> PathBuf {
        match self {
            Self::Table => directory.datasets(),
            Self::Artifact => directory.artifacts(),
            Self::DatasetCard | Self::ModelCard => directory.cards(),
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Self::Table => TABLE_MAGIC,
            Self::Artifact => ARTIFACT_MAGIC,
            Self::DatasetCard | Self::ModelCard => CARD_MAGIC.as_bytes(),
        }
    }

    /// Where the file of this kind is that an id stands for.
    pub fn path(self, directory: &DataDir, id: &str) -> PathBuf {
        self.folder(directory).join(format!("{id}{}", self.ending()))
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Table => ".table",
            Self::Artifact => ".bochner",
            Self::DatasetCard | Self::ModelCard => ".card",
        }
    }

    /// The id that a file name of this kind stands for.
    fn id_of(self, name: &str) -> Option<&str> {
        let hex = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let after = |id: &str, prefix, digits| id.strip_prefix(prefix).is_some_and(|rest| hex(rest, digits));
        let is_id = |id: &&str| match self {
            Self::Table | Self::DatasetCard => after(id, "ds-", 20),
            Self::Artifact => after(id, "job-", 32) || uuid::Uuid::try_parse(id).is_ok(),
            Self::ModelCard => after(id, "model-", 20),
        };
        name.strip_suffix(self.ending()).filter(is_id)
    }
}

/// The files of ours in the folders of a data directory, in the order of their ids. Folders that are missing have none.
pub fn own_files(directory: &DataDir) -> io::Result<Vec<OwnFile>> {
    let mut found = Vec::new();
    for kind in FileKind::ALL {
        let folder = kind.folder(directory);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(|error| at_path(&folder, &error))?,
        };
        for entry in entries {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if let Some(id) = kind.id_of(&name)
                && entry.file_type()?.is_file()
                && begins_with(&path, kind.magic())?
            {
                found.push(OwnFile { kind, id: id.to_owned(), path });
            }
        }
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(found)
}

/// Moves the files of one kind that `is_known` does not know to the quarantine.
pub fn quarantine_strays(
    directory: &DataDir,
    kind: FileKind,
    is_known: impl Fn(&OwnFile) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let strays = own_files(directory)?.into_iter().filter(|file| file.kind == kind && !is_known(file));
    strays.map(|file| directory.move_to_quarantine(&file.path, "no entry of the database refers to it")).collect()
}

fn begins_with(path: &Path, magic: &[u8]) -> io::Result<bool> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| at_path(path, &error))?;
    file.take(magic.len() as u64).read_to_end(&mut start).map_err(|error| at_path(path, &error))?;
    Ok(start == magic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_ours_by_name_and_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let (datasets, artifacts) = (directory.datasets(), directory.artifacts());
        let ours = [
            (datasets.join("ds-0123456789abcdef0123.table"), &b"BOCHTAB1..."[..]),
            (artifacts.join("job-0123456789abcdef0123456789abcdef.bochner"), b"BOCHNER\0..."),
            (artifacts.join("018f0a4e-7c3b-7aaa-8bbb-0123456789ab.bochner"), b"BOCHNER\0..."),
            (directory.cards().join("model-0123456789abcdef0123.card"), b"BOCHNER CARD 1 00000000\n"),
        ];
        let foreign = [
            (datasets.join("my_only_copy.csv"), &b"a,b\n1,2\n"[..]),
            (datasets.join("ds-0123456789abcdef0124.table"), b"my own bytes"),
            (datasets.join("tables.table"), b"BOCHTAB1..."),
            (datasets.join("ds-0123456789abcdef0125.table"), b""),
            (artifacts.join("model.pt"), b"PK"),
            (artifacts.join("best.bochner"), b"BOCHNER\0..."),
        ];
        for (path, content) in ours.iter().chain(&foreign) {
            fs::write(path, content).unwrap();
        }
        std::os::unix::fs::symlink(&ours[0].0, datasets.join("ds-0123456789abcdef0126.table")).unwrap();
        fs::create_dir(datasets.join("lost+found")).unwrap();
        let mut found: Vec<PathBuf> = own_files(&directory).unwrap().into_iter().map(|file| file.path).collect();
        let mut expected: Vec<PathBuf> = ours.iter().map(|(path, _)| path.clone()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        let moved = quarantine_strays(&directory, FileKind::Artifact, |file| file.id.starts_with("job")).unwrap();
        assert_eq!(moved, [directory.quarantine().join("018f0a4e-7c3b-7aaa-8bbb-0123456789ab.bochner")]);
        assert!(foreign.iter().all(|(path, content)| fs::read(path).unwrap() == *content));
    }
}
