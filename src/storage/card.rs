//! What the database says of one dataset or model, in a small file of its own: enough to make the entries again
//! should the database be lost, and to notice that it was.
//!
//! ```text
//! BOCHNER CARD 1 1c291ca3          CRC-32 of the rest
//! {"stamp": …, "content": …}
//! ```
//!
//! The database is the truth and is written first; a card is written after it and is whole or absent. So a card of
//! another database, or with a later count of changes, is a proof that the database lost something.

use super::database::Stamp;
use super::files::DataDir;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// How every card begins.
pub(super) const MAGIC: &str = "BOCHNER CARD 1 ";

/// Far more than the entry of a model with a hundred thousand versions.
const LONGEST_CARD: u64 = 64 << 20;

/// A card as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card<T> {
    /// Of the database when it was written.
    pub stamp: Stamp,
    /// What the database said.
    pub content: T,
}

impl<T: Serialize + for<'de> Deserialize<'de> + PartialEq> Card<T> {
    /// Reads and checks a card.
    pub fn read(path: &Path) -> io::Result<Self> {
        let damaged = |detail: &str| io::Error::new(io::ErrorKind::InvalidData, format!("the card {detail}"));
        if fs::metadata(path)?.len() > LONGEST_CARD {
            return Err(damaged("is too long"));
        }
        let text = fs::read_to_string(path)?;
        let (head, body) = text.split_once('\n').ok_or_else(|| damaged("has no content"))?;
        let checksum = head.strip_prefix(MAGIC).and_then(|checksum| u32::from_str_radix(checksum, 16).ok());
        if checksum.ok_or_else(|| damaged("has no checksum"))? != crc32fast::hash(body.as_bytes()) {
            return Err(damaged("does not match its checksum"));
        }
        serde_json::from_str(body).map_err(|error| damaged(&format!("cannot be read: {error}")))
    }

    /// Writes the card, unless it says the same already.
    pub fn write(&self, directory: &DataDir, path: &Path) -> io::Result<()> {
        let is_same = |known: Self| known.stamp.database == self.stamp.database && known.content == self.content;
        if Self::read(path).is_ok_and(is_same) {
            return Ok(());
        }
        let body = serde_json::to_string(self)?;
        let mut file = directory.temporary_file()?;
        write!(file, "{MAGIC}{:08x}\n{body}", crc32fast::hash(body.as_bytes()))?;
        file.publish(path)
    }

    /// The same if a failure cannot be reported: the next start writes the card again.
    pub fn write_or_warn(&self, directory: &DataDir, path: &Path) {
        if let Err(error) = self.write(directory, path) {
            tracing::warn!(card = %path.display(), %error, "a card could not be written; the next start tries again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_back_and_a_changed_byte_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let path = directory.datasets().join("one.card");
        let card =
            |count, content: &str| Card { stamp: Stamp { database: "a".into(), count }, content: content.to_owned() };
        card(1, "x").write(&directory, &path).unwrap();
        assert_eq!(Card::<String>::read(&path).unwrap(), card(1, "x"));
        card(2, "x").write(&directory, &path).unwrap();
        assert_eq!(Card::<String>::read(&path).unwrap(), card(1, "x")); // says the same
        card(3, "y").write(&directory, &path).unwrap();
        assert_eq!(Card::<String>::read(&path).unwrap(), card(3, "y"));
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(Card::<String>::read(&path).is_err(), "byte {at}");
        }
    }
}
