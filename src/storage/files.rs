//! Files that are either whole or absent: temporary file, fsync, rename, fsync of the directory.

use super::disk::{Disk, DiskLimits};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How the names of temporary files begin and end. In `tmp`, files of any other name belong to somebody else.
const TEMPORARY_PREFIX: &str = "bochner-";
const TEMPORARY_SUFFIX: &str = ".partial";

/// The folders of a data directory.
#[derive(Debug, Clone)]
pub struct DataDir {
    root: PathBuf,
    disk: Disk,
}

/// What a temporary file may take before it is counted: deleting must be possible on a disk without room, and writes
/// small files.
const UNCOUNTED: u64 = 1 << 20;

/// Bytes of a temporary file that are counted at once, before they are written.
const COUNTED_AT_ONCE: u64 = 4 << 20;

impl DataDir {
    /// The directory as it is: nothing is made or changed.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), disk: Disk::unlimited(root) }
    }

    /// Opens or makes the directory and removes the temporary files that an earlier process left.
    pub fn open(root: &Path) -> io::Result<Self> {
        let directory = Self::at(root);
        for folder in [directory.temporary(), directory.datasets(), directory.artifacts(), directory.cards()] {
            make_folder(&folder)?;
        }
        directory.clear_temporary()?;
        Ok(directory)
    }

    /// The same with limits of what it may take.
    #[must_use]
    pub fn limited(self, limits: DiskLimits) -> Self {
        Self { disk: Disk::limited(&self.root, limits), ..self }
    }

    /// The disk that it is on.
    pub fn disk(&self) -> &Disk {
        &self.disk
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

    /// What the database says of each dataset and model.
    pub fn cards(&self) -> PathBuf {
        self.root.join("cards")
    }

    /// Files that were moved aside: whole, and used by nothing.
    pub fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// A new temporary file, in the data directory and so on the file system that it is published to. Only its owner
    /// may read it.
    pub fn temporary_file(&self) -> io::Result<TempFile> {
        let mut name = tempfile::Builder::new();
        name.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX).rand_bytes(16);
        let file = name.tempfile_in(self.temporary())?;
        let (disk, writer) = (self.disk.clone(), BufWriter::with_capacity(1 << 16, file));
        Ok(TempFile { writer, disk, written: 0, granted: UNCOUNTED })
    }

    /// Moves a file to the quarantine, under a name that is free there, and says so in the log.
    pub fn move_to_quarantine(&self, file: &Path, reason: &str) -> io::Result<PathBuf> {
        make_folder(&self.quarantine())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let free = |number: u32| {
            let name = if number == 1 { name.clone() } else { format!("{name}.{number}") };
            Some(self.quarantine().join(name)).filter(|target| target.symlink_metadata().is_err())
        };
        let no_name = || io::Error::other("no free name in the quarantine");
        let target = (1..=u32::MAX).find_map(free).ok_or_else(no_name)?;
        fs::rename(file, &target).map_err(|error| at_path(file, &error))?;
        tracing::warn!(file = %file.display(), moved_to = %target.display(), reason, "moved to quarantine");
        Ok(target)
    }

    /// Half-written files are of no use to anybody; a file of another name is not ours and stays.
    fn clear_temporary(&self) -> io::Result<()> {
        let folder = self.temporary();
        for entry in fs::read_dir(&folder).map_err(|error| at_path(&folder, &error))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours = name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX);
            if is_ours && entry.file_type()?.is_file() {
                tracing::info!(file = %entry.path().display(), "removing a half-written temporary file");
                fs::remove_file(entry.path()).map_err(|error| at_path(&entry.path(), &error))?;
            }
        }
        Ok(())
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// Makes a folder and those above it where they are missing; only their owner may enter.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| at_path(folder, &error))
}

/// Opens a file to write, or makes it; only its owner may read a new one. What an old one holds is kept.
pub fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Writes the names in a folder to the disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
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
    disk: Disk,
    written: u64,
    /// What may be written before the disk is asked again.
    granted: u64,
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
        target.parent().map_or(Ok(()), sync_folder)
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let after = self.written + bytes.len() as u64;
        if after > self.granted {
            let more = (after - self.granted).max(COUNTED_AT_ONCE);
            self.disk.grant(more)?;
            self.granted += more;
        }
        let count = self.writer.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "its owner's alone");
    }

    #[test]
    fn a_file_is_counted_before_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let limits = DiskLimits { budget: Some(16 << 20), low_water: Some(1 << 20) };
        let directory = DataDir::open(folder.path()).unwrap().limited(limits);
        let mut file = directory.temporary_file().unwrap();
        let chunk = vec![0; 1 << 16];
        let refusal = (0..).find_map(|_| file.write_all(&chunk).err()).unwrap();
        assert_eq!(refusal.kind(), io::ErrorKind::StorageFull);
        assert!(fs::metadata(file.path()).unwrap().len() <= 15 << 20);
        let mut card = directory.temporary_file().unwrap();
        card.write_all(&chunk).unwrap(); // small files, such as cards, are written to the last
        card.publish(&directory.cards().join("one.card")).unwrap();
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
    fn only_our_own_temporary_files_are_removed_at_start() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let left = directory.temporary_file().unwrap();
        let left_path = left.path().to_owned();
        std::mem::forget(left); // as if the process had been killed
        let strangers = ["thesis.docx", "bochner-notes.txt", "lost+found"].map(|name| directory.temporary().join(name));
        fs::write(&strangers[0], b"x").unwrap();
        fs::write(&strangers[1], b"x").unwrap();
        fs::create_dir(&strangers[2]).unwrap();
        assert!(left_path.exists());
        DataDir::open(folder.path()).unwrap();
        assert!(!left_path.exists());
        assert!(strangers.iter().all(|stranger| stranger.exists()));
    }

    #[test]
    fn quarantine_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        for content in ["first", "second", "third"] {
            let file = directory.datasets().join("one.table");
            fs::write(&file, content).unwrap();
            directory.move_to_quarantine(&file, "a test").unwrap();
            assert!(!file.exists());
        }
        for (name, content) in [("one.table", "first"), ("one.table.2", "second"), ("one.table.3", "third")] {
            assert_eq!(fs::read_to_string(directory.quarantine().join(name)).unwrap(), content);
        }
    }

    #[test]
    fn folders_and_files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(&folder.path().join("new/data")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.path().join("new/data")), 0o700);
        assert_eq!(mode(&directory.artifacts()), 0o700);
        assert_eq!(mode(directory.temporary_file().unwrap().path()), 0o600);
    }

    #[test]
    fn a_refusal_names_its_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("datasets"), b"no folder").unwrap();
        let refusal = DataDir::open(folder.path()).unwrap_err().to_string();
        assert!(refusal.contains(folder.path().join("datasets").to_str().unwrap()), "{refusal}");
    }
}
