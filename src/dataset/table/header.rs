//! What stands before the cells of a table file, in all format versions.
//!
//! ```text
//! offset  bytes
//!      0      8  magic "BOCHTAB2"; the last byte is the format version
//!      8      8  rows
//!     16      8  columns
//!     24      4  rows of a block
//!     28      4  length of the description, d
//!     32      d  the dataset as JSON: id, name, schema, what was uploaded and when
//!   32+d      4  CRC-32 of all of the above
//!   36+d      …  blocks: cells, then their CRC-32, begun at the header's own plus the number of the block
//! ```
//!
//! Numbers are little-endian. Each block's checksum begins where it does so that a block in the wrong place, or of
//! another table, does not match. Version 1 had magic, rows and columns, then the cells without any checksum.

use crate::dataset::Dataset;
use crate::dataset::stored::StoredDataset;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

const MAGIC_1: [u8; 8] = *b"BOCHTAB1";
const MAGIC_2: [u8; 8] = *b"BOCHTAB2";
const HEADER_1_BYTES: u64 = 24;
const HEADER_2_BYTES: usize = 32;
pub(super) const CELL_BYTES: usize = 8;
pub(super) const CHECKSUM_BYTES: usize = 4;

/// A block is about this long, so that a few rows cost no more than this to verify.
const BLOCK_BYTES: usize = 1 << 16;

/// Bounds on the rows of a block. Training reads 512 rows at once, or stretches of 16: neither is cut by a power of two
/// between them.
const BLOCK_ROWS: Range<usize> = 16..512;

/// How a table file is laid out.
#[derive(Debug)]
pub(super) struct TableHeader {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Where the cells begin.
    start: u64,
    /// Absent in format 1.
    pub(super) blocks: Option<Blocks>,
}

/// How the cells are cut into blocks.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    rows: usize,
    seed: u32,
    /// Whose table this is.
    pub(super) dataset: Dataset,
}

/// Why a header cannot be used.
pub(super) enum HeaderError {
    Damaged(&'static str),
    Storage(io::Error),
}

impl TableHeader {
    /// The bytes before the cells of a dataset, and how its cells are cut.
    pub(super) fn encode(dataset: &Dataset) -> io::Result<(Vec<u8>, Self)> {
        let (rows, columns) = (dataset.kept_rows(), dataset.schema.columns.len());
        let fitting = BLOCK_BYTES / (columns * CELL_BYTES).max(1);
        let power = fitting.checked_ilog2().map_or(0, |power| 1 << power);
        let block_rows: usize = power.clamp(BLOCK_ROWS.start, BLOCK_ROWS.end);
        let description = serde_json::to_vec(&StoredDataset::from(dataset))?;
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "the names and levels take more than 4 GiB");
        let length = u32::try_from(description.len()).map_err(too_long)?;
        let mut bytes = MAGIC_2.to_vec();
        bytes.extend(rows.to_le_bytes());
        bytes.extend((columns as u64).to_le_bytes());
        bytes.extend((block_rows as u32).to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(description);
        let seed = crc32fast::hash(&bytes);
        bytes.extend(seed.to_le_bytes());
        let blocks = Blocks { rows: block_rows, seed, dataset: dataset.clone() };
        let header = Self { rows: rows as usize, columns, start: bytes.len() as u64, blocks: Some(blocks) };
        Ok((bytes, header))
    }

    /// Reads the header of any format version. Nothing is allocated that the file is not long enough for.
    pub(super) fn read(file: &File) -> Result<Self, HeaderError> {
        let length = file.metadata().map_err(HeaderError::Storage)?.len();
        let short = "its header is cut short";
        let mut fixed = [0; HEADER_2_BYTES];
        read_at(file, &mut fixed[..HEADER_1_BYTES as usize], 0, short)?;
        let number = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let (rows, columns) = (number(&fixed, 8), number(&fixed, 16));
        let (start, blocks) = match &fixed[..8] {
            magic if magic == MAGIC_1 => (HEADER_1_BYTES, None),
            magic if magic == MAGIC_2 => {
                read_at(file, &mut fixed, 0, short)?;
                let last = number(&fixed, 24);
                let (block_rows, described) = ((last & u64::from(u32::MAX)) as usize, (last >> 32) as usize);
                let start = (HEADER_2_BYTES + described + CHECKSUM_BYTES) as u64;
                if start > length {
                    return Err(HeaderError::Damaged(short));
                }
                let mut bytes = vec![0; start as usize];
                read_at(file, &mut bytes, 0, short)?;
                let (content, checksum) = bytes.split_at(HEADER_2_BYTES + described);
                let seed = crc32fast::hash(content);
                if seed.to_le_bytes() != checksum {
                    return Err(HeaderError::Damaged("its header does not match its checksum"));
                }
                let dataset = serde_json::from_slice::<StoredDataset>(&content[HEADER_2_BYTES..]);
                let dataset = dataset.map_err(|_| HeaderError::Damaged("its description cannot be read"))?;
                if block_rows == 0 {
                    return Err(HeaderError::Damaged("its blocks have no rows"));
                }
                (start, Some(Blocks { rows: block_rows, seed, dataset: dataset.into() }))
            }
            _ => return Err(HeaderError::Damaged("it does not begin like a table")),
        };
        let cells = rows.checked_mul(columns).and_then(|cells| cells.checked_mul(CELL_BYTES as u64));
        let count = blocks.as_ref().map_or(0, |blocks| rows.div_ceil(blocks.rows as u64));
        let checksums = count.checked_mul(CHECKSUM_BYTES as u64);
        let content = cells.zip(checksums).and_then(|(cells, checksums)| cells.checked_add(checksums));
        let expected = content.and_then(|content| content.checked_add(start));
        if expected != Some(length) {
            return Err(HeaderError::Damaged("its length differs from its shape"));
        }
        Ok(Self { rows: rows as usize, columns: columns as usize, start, blocks })
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.columns * CELL_BYTES
    }

    /// Where a row begins in a file without blocks.
    pub(super) fn row_offset(&self, row: usize) -> u64 {
        self.start + (row * self.row_bytes()) as u64
    }
}

impl Blocks {
    /// The number of the block that a row is in.
    pub(super) fn of_row(&self, row: usize) -> usize {
        row / self.rows
    }

    /// The rows of a block.
    pub(super) fn rows(&self, block: usize, header: &TableHeader) -> Range<usize> {
        block * self.rows..header.rows.min((block + 1) * self.rows)
    }

    /// Rows of every block but the last.
    pub(super) fn block_rows(&self) -> usize {
        self.rows
    }

    /// Where a block begins.
    pub(super) fn offset(&self, block: usize, header: &TableHeader) -> u64 {
        header.row_offset(block * self.rows) + (block * CHECKSUM_BYTES) as u64
    }

    /// The checksum of the cells of a block.
    pub(super) fn checksum(&self, block: usize, cells: &[u8]) -> [u8; CHECKSUM_BYTES] {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.seed.wrapping_add(block as u32));
        hasher.update(cells);
        hasher.finalize().to_le_bytes()
    }
}

fn read_at(file: &File, bytes: &mut [u8], offset: u64, short: &'static str) -> Result<(), HeaderError> {
    file.read_exact_at(bytes, offset).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => HeaderError::Damaged(short),
        _ => HeaderError::Storage(error),
    })
}
