//! The table on disk: every cell a little-endian f64, row by row, in blocks that are verified when they are read.
//!
//! Numbers are themselves, booleans 0 and 1, text the index of its level, missing cells NaN.

/// What stands before the cells.
mod header;

/// A table without a file.
mod in_memory;

/// Writing a table.
mod writer;

use super::{ColumnKind, Dataset, DatasetError};
use header::{CELL_BYTES, CHECKSUM_BYTES, HeaderError, TableHeader};
pub use in_memory::RowsInMemory;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
pub(super) use writer::{rewrite, write, write_as, write_cells};

/// Rows that are read at once to check a table without blocks.
const ROWS_AT_ONCE: usize = 512;

/// Rows of raw cells, read by position. What training sees of a data set.
pub trait Rows: Sync {
    /// n.
    fn row_count(&self) -> usize;

    /// Cells per row, the target among them.
    fn column_count(&self) -> usize;

    /// Fills `cells` with the rows `first..first + cells.len()/column_count()`.
    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()>;
}

/// A table file, opened and checked.
pub struct Table {
    file: File,
    header: TableHeader,
    /// The dataset as errors call it.
    label: String,
    coded: Vec<CodedColumn>,
}

/// A column whose cells are codes: whole numbers below `count`, or missing.
struct CodedColumn {
    index: usize,
    name: String,
    count: usize,
}

impl Table {
    /// Opens a file that must hold exactly the shape of the dataset's schema.
    pub(super) fn open(path: &Path, dataset: &Dataset) -> Result<Self, DatasetError> {
        let label = label(dataset);
        let damaged = |detail: &str| DatasetError::Damaged { dataset: label.clone(), detail: detail.to_owned() };
        let file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged("its file is missing"),
            _ => error.into(),
        })?;
        let header = TableHeader::read(&file).map_err(|error| match error {
            HeaderError::Damaged(detail) => damaged(detail),
            HeaderError::Storage(error) => error.into(),
        })?;
        let schema = &dataset.schema;
        if header.rows as u64 != dataset.kept_rows() || header.columns != schema.columns.len() {
            return Err(damaged("its shape differs from the database"));
        }
        if header.blocks.as_ref().is_some_and(|blocks| blocks.dataset.id != dataset.id) {
            return Err(damaged("its file belongs to another dataset"));
        }
        let coded = schema.columns.iter().enumerate().filter_map(|(index, column)| {
            let count = match column.kind {
                ColumnKind::Numeric | ColumnKind::Date | ColumnKind::Datetime | ColumnKind::Text => return None,
                ColumnKind::Boolean => 2,
                ColumnKind::Categorical => column.levels.len(),
            };
            Some(CodedColumn { index, name: column.name.clone(), count })
        });
        Ok(Self { coded: coded.collect(), file, header, label })
    }

    /// The dataset that a table file says it is of; nothing if its format does not say.
    pub(super) fn describe(path: &Path) -> Result<Option<Dataset>, DatasetError> {
        let damaged = |detail: &str| DatasetError::Damaged {
            dataset: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            detail: detail.to_owned(),
        };
        let header = TableHeader::read(&File::open(path)?).map_err(|error| match error {
            HeaderError::Damaged(detail) => damaged(detail),
            HeaderError::Storage(error) => error.into(),
        })?;
        Ok(header.blocks.map(|blocks| blocks.dataset))
    }

    /// Whether its cells have checksums; those of older formats have none.
    pub(super) fn has_checksums(&self) -> bool {
        self.header.blocks.is_some()
    }

    /// Reads every row, which verifies all of them.
    pub(super) fn verify(&self) -> Result<(), DatasetError> {
        let at_once = self.header.blocks.as_ref().map_or(ROWS_AT_ONCE, header::Blocks::block_rows);
        let mut cells = Vec::new();
        for first in (0..self.header.rows).step_by(at_once) {
            cells.resize((self.header.rows - first).min(at_once) * self.header.columns, 0.0);
            self.read_rows(first, &mut cells)?;
        }
        Ok(())
    }

    /// [`Rows::read`] with what is wrong.
    fn read_rows(&self, first: usize, cells: &mut [f64]) -> Result<(), DatasetError> {
        if cells.is_empty() {
            return Ok(());
        }
        if let Some(blocks) = &self.header.blocks {
            self.read_blocks(blocks, first, cells)?;
        } else {
            let mut bytes = vec![0; cells.len() * CELL_BYTES];
            self.read_bytes(&mut bytes, self.header.row_offset(first))?;
            decode(&bytes, cells);
        }
        self.check_codes(first, cells)
    }

    /// Reads the blocks that the rows are in, whole, since that is what their checksums are of.
    fn read_blocks(&self, blocks: &header::Blocks, first: usize, cells: &mut [f64]) -> Result<(), DatasetError> {
        let (header, columns) = (&self.header, self.header.columns);
        let wanted = first..first + cells.len() / columns;
        let (first_block, last_block) = (blocks.of_row(wanted.start), blocks.of_row(wanted.end - 1));
        let start = blocks.offset(first_block, header);
        let rows = blocks.rows(first_block, header).start..blocks.rows(last_block, header).end;
        let mut bytes = vec![0; rows.len() * header.row_bytes() + (last_block - first_block + 1) * CHECKSUM_BYTES];
        self.read_bytes(&mut bytes, start)?;
        let mut rest = bytes.as_slice();
        for block in first_block..=last_block {
            let rows = blocks.rows(block, header);
            let (content, after) = rest.split_at(rows.len() * header.row_bytes());
            let (checksum, after) = after.split_at(CHECKSUM_BYTES);
            if blocks.checksum(block, content) != checksum {
                let (from, to) = (rows.start + 1, rows.end);
                return Err(self.damaged(format!("block {block} (rows {from} to {to}) does not match its checksum")));
            }
            let shared = wanted.start.max(rows.start)..wanted.end.min(rows.end);
            let source =
                (shared.start - rows.start) * header.row_bytes()..(shared.end - rows.start) * header.row_bytes();
            let target = (shared.start - wanted.start) * columns..(shared.end - wanted.start) * columns;
            decode(&content[source], &mut cells[target]);
            rest = after;
        }
        Ok(())
    }

    fn read_bytes(&self, bytes: &mut [u8], offset: u64) -> Result<(), DatasetError> {
        self.file.read_exact_at(bytes, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("its file is cut short".to_owned()),
            _ => error.into(),
        })
    }

    /// Refuses codes that stand for no level: they become indices and counts.
    fn check_codes(&self, first: usize, cells: &[f64]) -> Result<(), DatasetError> {
        let columns = self.header.columns;
        for column in &self.coded {
            let is_wrong =
                |code: f64| !(code.is_nan() || (0.0..column.count as f64).contains(&code) && code.fract() == 0.0);
            let mut codes = cells.iter().skip(column.index).step_by(columns);
            if let Some(row) = codes.position(|code| is_wrong(*code)) {
                let (row, name) = (first + row + 1, &column.name);
                return Err(self.damaged(format!("row {row}, column '{name}' has a code that stands for no level")));
            }
        }
        Ok(())
    }

    fn damaged(&self, detail: String) -> DatasetError {
        DatasetError::Damaged { dataset: self.label.clone(), detail }
    }
}

impl Rows for Table {
    fn row_count(&self) -> usize {
        self.header.rows
    }

    fn column_count(&self) -> usize {
        self.header.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        self.read_rows(first, cells).map_err(|error| match error {
            DatasetError::Storage(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        })
    }
}

/// A dataset as people know it.
fn label(dataset: &Dataset) -> String {
    let Dataset { id, name, .. } = dataset;
    if name == id { format!("'{id}'") } else { format!("'{name}' ({id})") }
}

fn decode(bytes: &[u8], cells: &mut [f64]) {
    for (cell, bytes) in cells.iter_mut().zip(bytes.as_chunks::<CELL_BYTES>().0) {
        *cell = f64::from_le_bytes(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by another program after the description of the formats: 20 rows of a number, a boolean and a text.
    const GOLDEN: [&[u8]; 2] = [
        include_bytes!("../../../tests/fixtures/tables/format1.table"),
        include_bytes!("../../../tests/fixtures/tables/format2.table"),
    ];

    struct Scratch {
        folder: tempfile::TempDir,
        dataset: Dataset,
    }

    impl Scratch {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("one.table"), GOLDEN[1]).unwrap();
            let dataset = Table::describe(&folder.path().join("one.table")).unwrap().unwrap();
            Self { folder, dataset }
        }

        fn open(&self, bytes: &[u8]) -> Result<Table, DatasetError> {
            let path = self.folder.path().join("one.table");
            std::fs::write(&path, bytes).unwrap();
            Table::open(&path, &self.dataset)
        }

        fn verified(&self, bytes: &[u8]) -> Result<(), DatasetError> {
            self.open(bytes)?.verify()
        }
    }

    fn golden_cell(row: usize, column: usize) -> f64 {
        match column {
            0 if row == 7 => f64::NAN,
            0 => row as f64 / 2.0,
            1 => (row % 2) as f64,
            _ => (row % 3) as f64,
        }
    }

    #[test]
    fn every_format_reads_any_rows() {
        let scratch = Scratch::new();
        for bytes in GOLDEN {
            let table = scratch.open(bytes).unwrap();
            assert_eq!((table.row_count(), table.column_count()), (20, 3));
            for first in 0..20 {
                for count in 0..=20 - first {
                    let mut cells = vec![-1.0; count * 3];
                    table.read(first, &mut cells).unwrap();
                    for (index, cell) in cells.iter().enumerate() {
                        let expected = golden_cell(first + index / 3, index % 3);
                        assert!(*cell == expected || cell.is_nan() && expected.is_nan());
                    }
                }
            }
        }
    }

    #[test]
    fn a_table_is_written_as_it_is_read() {
        let scratch = Scratch::new();
        for bytes in GOLDEN {
            let table = scratch.open(bytes).unwrap();
            let mut written = Vec::new();
            rewrite(&table, &scratch.dataset, &mut written).unwrap();
            let mut again = Vec::new();
            rewrite(&scratch.open(&written).unwrap(), &scratch.dataset, &mut again).unwrap();
            assert_eq!(written, again);
            assert!(scratch.open(&written).unwrap().has_checksums());
        }
    }

    #[test]
    fn no_changed_byte_and_no_cut_goes_unnoticed() {
        let scratch = Scratch::new();
        let good = GOLDEN[1];
        scratch.verified(good).unwrap();
        for at in 0..good.len() {
            let mut bytes = good.to_vec();
            bytes[at] ^= 1 << (at % 8);
            let error = scratch.verified(&bytes).unwrap_err();
            assert!(matches!(error, DatasetError::Damaged { .. }), "byte {at}: {error}");
            assert!(scratch.verified(&good[..at]).is_err(), "cut at {at}");
        }
        assert!(scratch.verified(&[good, b"x"].concat()).is_err());
    }

    #[test]
    fn claims_of_a_header_allocate_nothing() {
        let scratch = Scratch::new();
        for at in [8, 16] {
            for claim in [u64::MAX, u64::MAX / 8, 1 << 40] {
                let mut bytes = GOLDEN[0].to_vec();
                bytes[at..at + 8].copy_from_slice(&claim.to_le_bytes());
                assert!(scratch.open(&bytes).is_err());
            }
        }
        let mut bytes = GOLDEN[1].to_vec();
        bytes[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(scratch.open(&bytes).is_err());
    }

    #[test]
    fn codes_without_a_level_are_refused() {
        let scratch = Scratch::new();
        for (column, code) in [(1, 2.0), (2, 3.0), (2, 1e18), (2, -1.0), (2, 0.5), (2, f64::INFINITY)] {
            let mut bytes = GOLDEN[0].to_vec();
            let at = 24 + (5 * 3 + column) * CELL_BYTES;
            bytes[at..at + CELL_BYTES].copy_from_slice(&f64::to_le_bytes(code));
            let error = scratch.verified(&bytes).unwrap_err().to_string();
            assert!(error.contains("row 6, column") && error.contains("stands for no level"), "{error}");
        }
    }
}
