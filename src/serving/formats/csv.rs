//! Reads rows from CSV and writes answers as CSV.

use super::BLOCK_ROWS;
use crate::dataset::{CsvOptions, CsvTable};
use crate::model::FittedModel;
use crate::serving::answer_columns::Cells;
use crate::serving::request_rows::{Layout, RequestRows};
use crate::serving::{Answer, Refusal};
use std::io::{self, Read, Write};

/// Most columns of a table that the model does not use.
pub(super) const SPARE_COLUMNS: usize = 4096;

/// Reads the rows of a model from CSV.
pub struct CsvRows<'m, R> {
    table: CsvTable<R>,
    layout: Layout,
    /// Columns that the model does not use.
    spare: Vec<usize>,
    model: &'m FittedModel,
}

impl<'m, R: Read> CsvRows<'m, R> {
    /// Reads the header and finds the model's columns in it. Without a header the columns are in the model's order.
    pub(super) fn open(source: R, options: CsvOptions, model: &'m FittedModel) -> Result<Self, Refusal> {
        let limit = model.inputs.encoding.columns.len() + SPARE_COLUMNS;
        let table = CsvTable::new(source, options, limit)?;
        let layout = match options.header {
            Some(false) => Layout::natural(model),
            None | Some(true) => Layout::named(model, &table.names, "/lines/1")?,
        };
        if table.names.len() != layout.width {
            let detail = format!("has {} cells where {} are expected", table.names.len(), layout.width);
            return Err(Refusal::invalid("/lines/1", detail));
        }
        let mut is_spare = vec![true; layout.width];
        for &position in &layout.positions {
            is_spare[position] = false;
        }
        let spare = (0..layout.width).filter(|&position| is_spare[position]).collect();
        Ok(Self { table, layout, spare, model })
    }

    pub(super) fn next_block(&mut self) -> Result<Option<RequestRows>, Refusal> {
        let mut block = RequestRows::of(self.model);
        while block.len() < BLOCK_ROWS && self.table.advance()? {
            block.begin_row();
            block.locations.push_line(self.table.line());
            for &position in &self.spare {
                self.table.cell(position)?; // must still be UTF-8, though its value is not used
            }
            for (column, &position) in self.layout.positions.iter().enumerate() {
                let text = self.table.cell(position)?;
                block.set_text_at(self.model, block.len() - 1, column, text).map_err(|error| {
                    let line = format!("/lines/{}", self.table.line());
                    error.at(&line, &self.model.inputs.encoding.columns[column])
                })?;
            }
        }
        Ok(Some(block).filter(|block| !block.is_empty()))
    }
}

/// Writes rows, with a header before the first.
pub(super) fn write(answer: Answer, with_header: bool, target: &mut impl Write) -> io::Result<()> {
    let columns = answer.columns();
    if with_header {
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        writeln!(target, "{}", names.join(","))?;
    }
    for row in 0..answer.predictions.values.nrows() {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                target.write_all(b",")?;
            }
            match &column.cells {
                Cells::Numbers(numbers) => {
                    if let Some(number) = numbers[row] {
                        write!(target, "{number}")?;
                    }
                }
                Cells::Texts(texts) => target.write_all(quoted(&texts[row]).as_bytes())?,
                Cells::Truths(truths) => write!(target, "{}", truths[row])?,
                Cells::Warnings(lists) => target.write_all(quoted(&serde_json::to_string(&lists[row])?).as_bytes())?,
                Cells::Lists(lists) => target.write_all(quoted(&serde_json::to_string(&lists[row])?).as_bytes())?,
            }
        }
        target.write_all(b"\n")?;
    }
    Ok(())
}

/// A text as a cell, quoted if necessary.
fn quoted(text: &str) -> String {
    let needs_quotes = text.contains([',', '"', '\n', '\r']) || text.trim().len() != text.len() || text.is_empty();
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn texts_are_quoted_if_necessary() {
        assert_eq!(quoted("red"), "red");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted(" x"), "\" x\"");
    }
}
