//! Files that are read again when they change. Their stamps are looked at every second: this works on every file
//! system and for files that are replaced by a rename or through a symbolic link.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// What changes with a file: its identity, its size and its time of change, to the nanosecond. None if it is not there.
type FileStamp = Option<(u64, u64, i64, i64)>;

/// Files, as they were before they were read.
pub struct WatchedFiles {
    paths: Vec<PathBuf>,
    seen: Vec<FileStamp>,
}

impl WatchedFiles {
    /// To be called before the files are read the first time: no change after that is missed.
    pub fn before_reading(paths: Vec<PathBuf>) -> Self {
        Self { seen: stamps(&paths), paths }
    }

    /// Calls `reload` whenever one of the files has changed, until the value is dropped.
    pub fn reload_on_change<T: Send + Sync + 'static>(
        self,
        name: &str,
        value: &Arc<T>,
        reload: impl Fn(&T) + Send + 'static,
    ) -> io::Result<()> {
        let value = Arc::downgrade(value);
        let Self { paths, mut seen } = self;
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(value) = later(&value) {
                let now = stamps(&paths);
                if now != seen {
                    seen = now;
                    reload(&value);
                }
            }
        })?;
        Ok(())
    }
}

/// The value after a while, unless it was dropped.
fn later<T>(value: &Weak<T>) -> Option<Arc<T>> {
    std::thread::sleep(INTERVAL);
    value.upgrade()
}

fn stamps(paths: &[PathBuf]) -> Vec<FileStamp> {
    let stamp = |path: &PathBuf| {
        let file = Path::metadata(path).ok()?;
        Some((file.ino(), file.size(), file.ctime(), file.ctime_nsec()))
    };
    paths.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    #[test]
    fn a_change_a_replacement_and_a_disappearance_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watched");
        fs::write(&path, "one").unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let wait_for = |expected: usize| {
            let start = Instant::now();
            while count.load(Ordering::SeqCst) < expected {
                assert!(start.elapsed() < Duration::from_secs(20), "{expected}");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let reload = |count: &AtomicUsize| {
            count.fetch_add(1, Ordering::SeqCst);
        };
        let files = WatchedFiles::before_reading(vec![path.clone()]);
        fs::write(&path, "two").unwrap(); // right after it was read
        files.reload_on_change("test", &count, reload).unwrap();
        wait_for(1);
        fs::write(folder.path().join("new"), "two").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        wait_for(2);
        fs::remove_file(&path).unwrap();
        wait_for(3);
        std::thread::sleep(2 * INTERVAL);
        assert_eq!(count.load(Ordering::SeqCst), 3, "no change, no call");
    }
}
