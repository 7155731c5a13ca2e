//! How much a compressed stream may expand. A small stream that becomes a huge one costs its sender nothing.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Most bytes that one compressed byte may become. Tables of numbers reach 5 to 20, tables of mostly empty cells 100.
pub const COMPRESSION_RATIO: u64 = 256;

/// So many bytes may come of any stream.
const FREE: u64 = 16 << 20;

/// A stream expands too much.
#[derive(Debug, thiserror::Error)]
#[error("the body becomes more than {COMPRESSION_RATIO} times as long when it is decompressed; send it uncompressed")]
pub(super) struct ExpandsTooMuch;

/// A source that counts its bytes.
pub(super) struct Counted<R> {
    pub(super) source: R,
    pub(super) count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// A decoder that fails as soon as its stream has expanded too much.
pub(super) struct Expanding<R> {
    decoder: R,
    compressed: Rc<Cell<u64>>,
    decoded: u64,
}

impl<R> Expanding<R> {
    /// A decoder of a source whose bytes are counted in `compressed`.
    pub(super) fn new(decoder: R, compressed: Rc<Cell<u64>>) -> Self {
        Self { decoder, compressed, decoded: 0 }
    }
}

impl<R: Read> Read for Expanding<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.decoded += count as u64;
        let allowed = self.compressed.get().saturating_mul(COMPRESSION_RATIO).max(FREE);
        if self.decoded > allowed { Err(io::Error::other(ExpandsTooMuch)) } else { Ok(count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::ContentEncoding;
    use std::io::Write;

    /// How many bytes are decoded before a stream ends or is refused, and whether it is refused.
    fn decode(encoding: ContentEncoding, stream: &[u8]) -> (u64, Option<String>) {
        let mut decoder = encoding.decoder(stream).unwrap();
        let (mut bytes, mut chunk) = (0, vec![0; 1 << 16]);
        loop {
            match decoder.read(&mut chunk) {
                Ok(0) => return (bytes, None),
                Ok(count) => bytes += count as u64,
                Err(error) => return (bytes, Some(encoding.unreadable(&error))),
            }
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_refused_at_the_ratio() {
        let zeros = vec![b'0'; 64 << 20];
        for (encoding, stream) in [
            (ContentEncoding::Gzip, gzip(&zeros)),
            (ContentEncoding::Zstd, zstd::encode_all(zeros.as_slice(), 3).unwrap()),
        ] {
            let (bytes, refusal) = decode(encoding, &stream);
            assert!(bytes <= FREE.max(stream.len() as u64 * COMPRESSION_RATIO), "{encoding:?}: {bytes}");
            assert!(refusal.unwrap().contains("256 times"), "{encoding:?}");
        }
    }

    #[test]
    fn short_streams_and_ordinary_tables_pass() {
        let zeros = vec![b'0'; 8 << 20];
        assert_eq!(decode(ContentEncoding::Gzip, &gzip(&zeros)), (8 << 20, None));
        let thousand = (0..1000).map(|row| row.to_string() + ",0,0,0,red\n").collect::<String>();
        let table = thousand.repeat(2000);
        assert!(table.len() as u64 > FREE);
        assert_eq!(decode(ContentEncoding::Gzip, &gzip(table.as_bytes())), (table.len() as u64, None));
    }
}
