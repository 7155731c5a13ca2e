//! The table on disk: every cell a little-endian f64, row by row, read in blocks.
//!
//! Numbers are themselves, booleans 0 and 1, text the index of its level, missing cells NaN.

use super::formats::csv::CsvTable;
use super::profile::{Reading, read};
use super::{Column, ColumnKind, DatasetError, Schema};
use crate::storage::files::TempFile;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: [u8; 8] = *b"BOCHTAB1";
const HEADER_BYTES: u64 = 24;
const CELL_BYTES: usize = 8;

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
    row_count: usize,
    column_count: usize,
}

impl Table {
    /// Opens a file that must hold exactly the shape of `schema`.
    pub(super) fn open(path: &Path, id: &str, schema: &Schema) -> Result<Self, DatasetError> {
        let damaged = |detail| DatasetError::Damaged { id: id.to_owned(), detail };
        let file = File::open(path)?;
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact_at(&mut header, 0).map_err(|_| damaged("the header is cut short"))?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
        if header[..8] != MAGIC {
            return Err(damaged("the magic bytes are wrong"));
        }
        let (rows, columns) = (number(8), number(16));
        if rows != schema.row_count || columns != schema.columns.len() as u64 {
            return Err(damaged("its shape differs from the index"));
        }
        if file.metadata()?.len() != HEADER_BYTES + rows * columns * CELL_BYTES as u64 {
            return Err(damaged("its length differs from its shape"));
        }
        Ok(Self { file, row_count: rows as usize, column_count: columns as usize })
    }
}

impl Rows for Table {
    fn row_count(&self) -> usize {
        self.row_count
    }

    fn column_count(&self) -> usize {
        self.column_count
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        let mut bytes = vec![0; cells.len() * CELL_BYTES];
        let offset = HEADER_BYTES + (first * self.column_count * CELL_BYTES) as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        for (cell, bytes) in cells.iter_mut().zip(bytes.as_chunks::<CELL_BYTES>().0) {
            *cell = f64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// Writes the rows of `source` as a table: the second pass over an upload.
pub(super) fn write(
    source: &mut CsvTable<impl Read>,
    schema: &Schema,
    file: &mut TempFile,
) -> Result<(), DatasetError> {
    let codes: Vec<Codes> = schema.columns.iter().map(Codes::of).collect();
    file.write_all(&MAGIC)?;
    file.write_all(&schema.row_count.to_le_bytes())?;
    file.write_all(&(schema.columns.len() as u64).to_le_bytes())?;
    while source.advance()? {
        for (index, codes) in codes.iter().enumerate() {
            file.write_all(&codes.code(source.cell(index)?).to_le_bytes())?;
        }
    }
    Ok(())
}

/// How the texts of one column become numbers.
struct Codes<'a> {
    levels: Option<HashMap<&'a str, f64>>,
}

impl<'a> Codes<'a> {
    fn of(column: &'a Column) -> Self {
        let categorical = column.kind == ColumnKind::Categorical;
        let level = |(index, level): (usize, &'a String)| (level.as_str(), index as f64);
        Self { levels: categorical.then(|| column.levels.iter().enumerate().map(level).collect()) }
    }

    fn code(&self, cell: &str) -> f64 {
        match (read(cell), &self.levels) {
            (Reading::Number(number), None) => number,
            (Reading::Boolean(value), None) => f64::from(u8::from(value)),
            (Reading::Number(_) | Reading::Boolean(_) | Reading::NotFinite | Reading::Text, Some(levels)) => {
                levels.get(cell).copied().unwrap_or(f64::NAN)
            }
            // Of these only missing cells are left: the first pass refused columns with the others.
            (Reading::Missing, _) | (Reading::NotFinite | Reading::Text, None) => f64::NAN,
        }
    }
}
