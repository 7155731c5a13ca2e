//! Files that are either whole or absent: temporary file, fsync, rename, fsync of the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The folders of a data directory.
#[derive(Debug, Clone)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// Opens or makes the directory and clears what an earlier process left half-written.
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

    /// Tables of uploaded data sets.
    pub fn datasets(&self) -> PathBuf {
        self.root.join("datasets")
    }

    /// Model artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// A new temporary file, on the same file system as its future place.
    pub fn temporary_file(&self) -> io::Result<TempFile> {
        let path = self.temporary().join(uuid::Uuid::now_v7().simple().to_string());
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        Ok(TempFile { path, writer: BufWriter::with_capacity(1 << 16, file), published: false })
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// Removes the files of `folder` whose stem `keep` does not know: left by a crash between the
/// rename of a file and its entry in the database, or between a deleted entry and its file.
/// Directories are none of ours, such as the `lost+found` of a volume, and stay.
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

/// The same error with the path it is about, which the system leaves out.
pub fn at_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file under construction; it vanishes when dropped unless it was published.
pub struct TempFile {
    path: PathBuf,
    writer: BufWriter<File>,
    published: bool,
}

impl TempFile {
    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands buffered bytes to the system, so that the file can be read back by its path.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Makes the content durable and gives the file its final name in one step.
    pub fn publish(mut self, target: &Path) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.path, target)?;
        self.published = true;
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

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.published {
            // A leftover is swept at the next start.
            let _ = fs::remove_file(&self.path);
        }
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
