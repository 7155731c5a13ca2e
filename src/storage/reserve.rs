//! Room kept aside on the disk, so that a full one can be cleared: the database needs some even to delete.

use super::files::open_private;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Enough for the journal of a few deletes, and for the database to be opened.
const RESERVE_BYTES: usize = 1 << 20;

/// A file whose only use is the room it takes.
#[derive(Debug, Clone)]
pub struct Reserve {
    path: PathBuf,
}

/// The reserve while its room is free for others; made again when this is dropped.
pub struct Lent<'a> {
    reserve: &'a Reserve,
}

impl Reserve {
    /// The reserve of the folder that `file` lies in.
    pub fn beside(file: &Path) -> Self {
        Self { path: file.with_file_name("bochner.reserve") }
    }

    /// Frees the room for what must not fail. Should somebody else take it meanwhile, it is lost until there is room
    /// again.
    pub fn lend(&self) -> Lent<'_> {
        // A reserve that is not there has no room to give.
        let _ = fs::remove_file(&self.path);
        Lent { reserve: self }
    }

    /// Takes the room again, or as much of it as there is.
    fn keep(&self) -> io::Result<()> {
        open_private(&self.path)?.write_all(&vec![0; RESERVE_BYTES])
    }
}

impl Lent<'_> {
    /// Makes the reserve again and tells whether there was too little room for it.
    pub fn is_disk_full(self) -> bool {
        self.reserve.keep().is_err_and(|error| error.kind() == io::ErrorKind::StorageFull)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // What was written until the disk was full stays: some room is better than none.
        let _ = self.reserve.keep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_free_while_it_is_lent() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::beside(&folder.path().join("some.file"));
        let bytes = || fs::metadata(&reserve.path).map(|file| file.len()).ok();
        for _ in 0..2 {
            let lent = reserve.lend();
            assert_eq!(bytes(), None);
            drop(lent);
            assert_eq!(bytes(), Some(RESERVE_BYTES as u64));
        }
        assert!(!reserve.lend().is_disk_full());
    }
}
