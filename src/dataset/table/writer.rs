//! Writing a table: from an upload, or from a table of an older format.

use super::header::{Blocks, TableHeader};
use super::{Rows, Table};
use crate::dataset::cells::Codes;
use crate::dataset::columns::TextRows;
use crate::dataset::{Dataset, DatasetError, Schema};
use std::io::{self, Write};

/// Writes the rows of `source` as the table of `dataset`: the second pass over an upload.
pub(in crate::dataset) fn write(
    source: &mut impl TextRows,
    dataset: &Dataset,
    target: impl Write,
) -> Result<(), DatasetError> {
    write_as(source, (dataset, &dataset.schema), target)
}

/// Writes the rows of `source`, whose cells are read by the rules of another schema than the dataset's own.
pub(in crate::dataset) fn write_as(
    source: &mut impl TextRows,
    (dataset, schema): (&Dataset, &Schema),
    target: impl Write,
) -> Result<(), DatasetError> {
    let codes: Vec<Codes> = schema.columns.iter().map(Codes::of).collect();
    let mut writer = BlockWriter::begin(dataset, target)?;
    while source.advance()? {
        for (index, codes) in codes.iter().enumerate() {
            writer.push(codes.code(source.cell(index)?))?;
        }
    }
    Ok(writer.finish()?)
}

/// Writes cells that are at hand.
pub(in crate::dataset) fn write_cells(dataset: &Dataset, cells: &[f64], target: impl Write) -> io::Result<()> {
    let mut writer = BlockWriter::begin(dataset, target)?;
    cells.iter().try_for_each(|cell| writer.push(*cell))?;
    writer.finish()
}

/// Writes the rows of a stored table again, in the present format.
pub(in crate::dataset) fn rewrite(table: &Table, dataset: &Dataset, target: impl Write) -> Result<(), DatasetError> {
    let mut writer = BlockWriter::begin(dataset, target)?;
    let rows = table.row_count();
    let mut cells = Vec::new();
    for first in (0..rows).step_by(writer.blocks.block_rows()) {
        cells.resize((rows - first).min(writer.blocks.block_rows()) * table.column_count(), 0.0);
        table.read_rows(first, &mut cells)?;
        cells.iter().try_for_each(|cell| writer.push(*cell))?;
    }
    Ok(writer.finish()?)
}

/// Cells in blocks, each followed by its checksum.
struct BlockWriter<W> {
    target: W,
    blocks: Blocks,
    block_bytes: usize,
    /// The block that is not yet full.
    cells: Vec<u8>,
    index: usize,
}

impl<W: Write> BlockWriter<W> {
    fn begin(dataset: &Dataset, mut target: W) -> io::Result<Self> {
        let (bytes, header) = TableHeader::encode(dataset)?;
        target.write_all(&bytes)?;
        let blocks = header.blocks.clone().ok_or(io::ErrorKind::InvalidData)?;
        let block_bytes = blocks.block_rows() * header.row_bytes();
        Ok(Self { target, blocks, block_bytes, cells: Vec::with_capacity(block_bytes), index: 0 })
    }

    fn push(&mut self, cell: f64) -> io::Result<()> {
        self.cells.extend_from_slice(&cell.to_le_bytes());
        if self.cells.len() == self.block_bytes { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.target.write_all(&self.cells)?;
        self.target.write_all(&self.blocks.checksum(self.index, &self.cells))?;
        self.cells.clear();
        self.index += 1;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.cells.is_empty() { Ok(()) } else { self.end_block() }
    }
}
