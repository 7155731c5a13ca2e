//! A table of JSON cells as it came: numbers in one list, whatever else by its place.

use super::super::Refusal;
use super::super::rows::{Layout, RowBlock};
use super::decimal::read_number;
use super::json::{NOT_A_CELL, read_cell, too_many_rows};
use super::number_run::RunReader;
use crate::dataset::Cell;
use crate::model::FittedModel;
use jiter::{Jiter, Peek};

/// Numbers of so few bytes, whole ones mostly, are read one by one.
const SHORT: usize = 3;

/// Rows in the order of the request: which column a cell belongs to may be told only after them.
#[derive(Debug, Default)]
pub(super) struct Grid {
    place: &'static str,
    /// Cells of the first row.
    width: usize,
    rows: usize,
    /// NaN where the cell is no number.
    numbers: Vec<f64>,
    /// Cells that are no numbers, by index.
    others: Vec<(usize, Other)>,
}

#[derive(Debug)]
enum Other {
    Missing,
    Boolean(bool),
    Text(String),
    /// A list or an object.
    Nested,
}

impl Grid {
    /// Reads a list of rows that lies at `place`.
    pub(super) fn read(
        json: &mut Jiter,
        place: &'static str,
        model: &FittedModel,
        limit: usize,
    ) -> Result<Self, Refusal> {
        let numbers = Vec::with_capacity(model.inputs.encoding.columns.len()); // most requests are one row
        let mut grid = Self { place, numbers, ..Self::default() };
        if json.peek().map_err(|error| Refusal::json(json, &error))? != Peek::Array {
            return Err(Refusal::unlike(json, place, "must be a list"));
        }
        let mut next = json.known_array().map_err(|error| Refusal::json(json, &error))?;
        while let Some(peek) = next {
            if grid.rows == limit {
                return Err(too_many_rows(json, peek, place, limit));
            }
            grid.read_row(json, peek)?;
            next = json.array_step().map_err(|error| Refusal::json(json, &error))?;
        }
        if grid.rows == 0 { Err(Refusal::invalid(place, "is empty")) } else { Ok(grid) }
    }

    /// The same for rows of numbers alone, which lie at the start of `text`, and where they end. None where there is
    /// anything else, whatever it is: that is to be read with care.
    pub(super) fn scan(text: &[u8], place: &'static str, model: &FittedModel, limit: usize) -> Option<(Self, usize)> {
        let numbers = Vec::with_capacity(model.inputs.encoding.columns.len());
        let mut grid = Self { place, numbers, ..Self::default() };
        let runs = RunReader::new();
        let mut at = after(text, 0, b'[')?;
        loop {
            at = grid.scan_row(text, at, runs).filter(|_| grid.rows <= limit)?;
            if grid.rows == 1 {
                // Rows are about as long as the first; no number takes fewer than two bytes.
                let more = text.len() / at * grid.width;
                grid.numbers.reserve(more.min(text.len() / 2).min(limit.saturating_mul(grid.width)));
            }
            match after(text, at, b',') {
                Some(next) => at = next,
                None => return after(text, at, b']').map(|end| (grid, end)),
            }
        }
    }

    /// One row of numbers, and where it ends. Where one number is a long one, a run of such is expected behind it.
    fn scan_row(&mut self, text: &[u8], start: usize, runs: RunReader) -> Option<usize> {
        let mut at = past_blanks(text, after(text, start, b'[')?);
        let before = self.numbers.len();
        loop {
            let (number, end) = read_number(text, at)?;
            self.numbers.push(number);
            let Some(comma) = after(text, end, b',') else {
                at = after(text, end, b']')?;
                break;
            };
            let next = past_blanks(text, comma);
            let long = end - at > SHORT && next - comma <= 1;
            at = if long { past_blanks(text, runs.read(text, next, next > comma, &mut self.numbers)) } else { next };
        }
        let width = self.numbers.len() - before;
        self.width = if self.rows == 0 { width } else { self.width };
        self.rows += 1;
        (width == self.width).then_some(at)
    }

    /// Reads one row.
    fn read_row(&mut self, json: &mut Jiter, peek: Peek) -> Result<(), Refusal> {
        if peek != Peek::Array {
            return Err(Refusal::unlike(json, self.row(self.rows), "must be a list of cells"));
        }
        let start = self.numbers.len();
        let mut next = json.known_array().map_err(|error| Refusal::json(json, &error))?;
        while let Some(peek) = next {
            self.push(json, peek)?;
            next = json.array_step().map_err(|error| Refusal::json(json, &error))?;
        }
        let width = self.numbers.len() - start;
        if self.rows == 0 {
            self.width = width;
        } else if width != self.width {
            let detail = format!("has {width} cells where the first row has {}", self.width);
            return Err(Refusal::invalid(self.row(self.rows), detail));
        }
        self.rows += 1;
        Ok(())
    }

    fn push(&mut self, json: &mut Jiter, peek: Peek) -> Result<(), Refusal> {
        let other = match read_cell(json, peek) {
            Ok(Some(Cell::Number(number))) => {
                self.numbers.push(number);
                return Ok(());
            }
            Ok(Some(Cell::Missing)) => Other::Missing,
            Ok(Some(Cell::Boolean(value))) => Other::Boolean(value),
            Ok(Some(Cell::Text(text))) => Other::Text(text.to_owned()),
            Ok(None) => Other::Nested,
            Err(error) => return Err(Refusal::json(json, &error)),
        };
        self.others.push((self.numbers.len(), other));
        self.numbers.push(f64::NAN);
        Ok(())
    }

    /// The rows as a model takes them, put into an empty block. Without a layout they are in the model's own order.
    pub(super) fn into_block(
        mut self,
        mut block: RowBlock,
        model: &FittedModel,
        layout: Option<Layout>,
    ) -> Result<RowBlock, Refusal> {
        let columns = &model.inputs.encoding.columns;
        let expected = layout.as_ref().map_or(columns.len(), |layout| layout.width);
        if self.width != expected {
            let detail = format!("has {} cells where {expected} are expected", self.width);
            return Err(Refusal::invalid(self.row(0), detail));
        }
        if layout.as_ref().is_none_or(Layout::is_natural) && block.take_numbers(model, &mut self.numbers) {
            return Ok(block);
        }
        let layout = layout.unwrap_or_else(|| Layout::natural(model));
        for (row, numbers) in self.numbers.chunks_exact(self.width).enumerate() {
            block.begin_row();
            for (column, &position) in layout.positions.iter().enumerate() {
                let cell = self.cell(row * self.width + position, numbers[position]);
                let place = || self.row(row);
                let Some(cell) = cell else {
                    let pointer = crate::problem::pointer(&place(), &columns[column].name);
                    return Err(Refusal::invalid(pointer, NOT_A_CELL));
                };
                block.set(model, column, cell).map_err(|error| error.at(&place(), &columns[column]))?;
            }
        }
        Ok(block)
    }

    /// A cell; none where it is a list or an object.
    fn cell(&self, index: usize, number: f64) -> Option<Cell<'_>> {
        if !number.is_nan() {
            return Some(Cell::Number(number));
        }
        match self.others.binary_search_by_key(&index, |(index, _)| *index).map(|found| &self.others[found].1) {
            Err(_) => Some(Cell::Number(number)), // a bare NaN, where those are read
            Ok(Other::Missing) => Some(Cell::Missing),
            Ok(Other::Boolean(value)) => Some(Cell::Boolean(*value)),
            Ok(Other::Text(text)) => Some(Cell::Text(text)),
            Ok(Other::Nested) => None,
        }
    }

    fn row(&self, row: usize) -> String {
        format!("{}/{row}", self.place)
    }
}

/// Where the next byte lies that is not blank.
#[inline]
fn past_blanks(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// Behind `mark`, if that is the next byte that is not blank.
#[inline]
fn after(text: &[u8], at: usize, mark: u8) -> Option<usize> {
    let at = past_blanks(text, at);
    (text.get(at) == Some(&mark)).then_some(at + 1)
}
