//! Files that are either whole or absent: temporary file, fsync, rename, fsync of the directory.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The folders of a data directory.
#[derive(Debug, Clone)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// Opens or creates the directory and removes the temporary files of an earlier process.
    pub fn open(root: &Path) -> io::Result<Self> {
        let directory = Self { root: root.to_owned() };
        for folder in [directory.temporary(), directory.datasets(), directory.artifacts()] {
            fs::create_dir_all(&folder).map_err(|error| at_path(&folder, &error))?;
        }
        sweep(&directory.temporary(), |_| false)?;
        Ok(directory)
    }

    /// The embedded database.
    pub fn database(&self) -> PathBuf {
        self.root.join("bochner.sqlite")
    }

    /// The tables of uploaded datasets.
    pub fn datasets(&self) -> PathBuf {
        self.root.join("datasets")
    }

    /// Model artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// A new temporary file, in the data directory and so on the file system that it is published to.
    pub fn temporary_file(&self) -> io::Result<TempFile> {
        // As readable as other new files of this process (its umask decides), not by its owner alone.
        let file = tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(self.temporary())?;
        Ok(TempFile { writer: BufWriter::with_capacity(1 << 16, file) })
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// Removes the files of `folder` whose stem `keep` rejects. A crash leaves them between the rename of a file and its
/// entry in the database, or between a deleted entry and its file. Directories, such as the `lost+found` of a volume,
/// are not ours and stay.
pub fn sweep(folder: &Path, keep: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| at_path(folder, &error))? {
        let entry = entry?;
        let path = entry.path();
        let known = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(&keep);
        if !known && !entry.file_type()?.is_dir() {
            tracing::info!(file = %path.display(), "removing a file that nothing refers to");
            fs::remove_file(&path).map_err(|error| at_path(&path, &error))?;
        }
    }
    Ok(())
}

/// The same error with the path in its message.
pub fn at_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file under construction; removed when dropped unless it was published. What cannot be removed then is removed at
/// the next start.
pub struct TempFile {
    writer: BufWriter<NamedTempFile>,
}

impl TempFile {
    /// Its temporary path.
    pub fn path(&self) -> &Path {
        self.writer.get_ref().path()
    }

    /// Writes buffered bytes to the file, so that it can be read by its path.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Writes the content to the disk and gives the file its final name in one step.
    pub fn publish(self, target: &Path) -> io::Result<()> {
        let file = self.writer.into_inner()?;
        file.as_file().sync_all()?;
        file.persist(target)?;
        // The new name itself must survive a power cut.
        match target.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let target = directory.artifacts().join("one.bin");

        let mut abandoned = directory.temporary_file().unwrap();
        abandoned.write_all(b"half").unwrap();
        drop(abandoned);
        assert!(!target.exists());
        assert_eq!(fs::read_dir(directory.temporary()).unwrap().count(), 0);

        let mut file = directory.temporary_file().unwrap();
        file.write_all(b"whole").unwrap();
        file.publish(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
        assert_eq!(fs::read_dir(directory.temporary()).unwrap().count(), 0);
        fs::write(folder.path().join("other"), b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&target), mode(&folder.path().join("other")), "as readable as any new file");
    }

    #[test]
    fn a_file_that_cannot_be_published_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let file = directory.temporary_file().unwrap();
        assert!(file.publish(&folder.path().join("absent/one.bin")).is_err());
        assert_eq!(fs::read_dir(directory.temporary()).unwrap().count(), 0);
    }

    #[test]
    fn leftovers_are_cleared_at_start_and_by_the_sweep() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        fs::write(directory.temporary().join("left"), b"x").unwrap();
        fs::write(directory.datasets().join("known.table"), b"x").unwrap();
        fs::write(directory.datasets().join("orphan.table"), b"x").unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        assert!(!directory.temporary().join("left").exists());
        sweep(&directory.datasets(), |stem| stem == "known").unwrap();
        assert!(directory.datasets().join("known.table").exists());
        assert!(!directory.datasets().join("orphan.table").exists());
    }

    #[test]
    fn directories_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let strangers = [directory.temporary(), directory.datasets()].map(|folder| folder.join("lost+found"));
        for stranger in &strangers {
            fs::create_dir(stranger).unwrap();
        }
        let directory = DataDir::open(folder.path()).unwrap();
        sweep(&directory.datasets(), |_| false).unwrap();
        assert!(strangers.iter().all(|stranger| stranger.is_dir()));
    }

    #[test]
    fn a_refusal_names_its_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("datasets"), b"no folder").unwrap();
        let refusal = DataDir::open(folder.path()).unwrap_err().to_string();
        assert!(refusal.contains(folder.path().join("datasets").to_str().unwrap()), "{refusal}");
    }
}
