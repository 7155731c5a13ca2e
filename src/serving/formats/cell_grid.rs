//! A JSON list of rows before its column order is known: the numbers in one vector, other cells by their index.

use super::json_rows::{NOT_A_CELL, read_cell, too_many_rows};
use crate::dataset::Cell;
use crate::model::FittedModel;
use crate::serving::Refusal;
use crate::serving::request_rows::{Layout, RequestRows};
use jiter::{Jiter, Peek};

/// Cells in the order of the request. A request may name its columns after its rows.
#[derive(Debug, Default)]
pub(super) struct Grid {
    place: &'static str,
    /// Cells of the first row.
    width: usize,
    rows: usize,
    /// NaN where the cell is not a number.
    numbers: Vec<f64>,
    /// Whether all are known to be finite.
    finite: bool,
    /// Cells that are not numbers, by index.
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
    /// Rows of finite numbers.
    pub(super) fn of_numbers(place: &'static str, width: usize, rows: usize, numbers: Vec<f64>) -> Self {
        Self { place, width, rows, numbers, finite: true, others: Vec::new() }
    }

    /// The cells, row by row.
    #[cfg(test)]
    pub(super) fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Reads the list of rows at `place`.
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

    /// Encodes the rows for a model into an empty block. Without a layout they are in the model's own order.
    pub(super) fn into_block(
        mut self,
        mut block: RequestRows,
        model: &FittedModel,
        layout: Option<Layout>,
    ) -> Result<RequestRows, Refusal> {
        let columns = &model.inputs.encoding.columns;
        let expected = layout.as_ref().map_or(columns.len(), |layout| layout.width);
        if self.width != expected {
            let detail = format!("has {} cells where {expected} are expected", self.width);
            return Err(Refusal::invalid(self.row(0), detail));
        }
        let natural = layout.as_ref().is_none_or(Layout::is_natural);
        if natural && block.take_numbers(model, &mut self.numbers, self.finite) {
            return Ok(block);
        }
        let layout = layout.unwrap_or_else(|| Layout::natural(model));
        for (row, numbers) in self.numbers.chunks_exact(self.width).enumerate() {
            block.begin_row();
            for (column, &position) in layout.positions.iter().enumerate() {
                let cell = self.cell(row * self.width + position, numbers[position]);
                let place = || self.row(row);
                let Some(cell) = cell else {
                    let pointer = crate::request::problem::pointer(&place(), &columns[column].name);
                    return Err(Refusal::invalid(pointer, NOT_A_CELL));
                };
                block.set(model, column, cell).map_err(|error| error.at(&place(), &columns[column]))?;
            }
        }
        Ok(block)
    }

    /// A cell; none if it is a list or an object.
    fn cell(&self, index: usize, number: f64) -> Option<Cell<'_>> {
        if !number.is_nan() {
            return Some(Cell::Number(number));
        }
        match self.others.binary_search_by_key(&index, |(index, _)| *index).map(|found| &self.others[found].1) {
            Err(_) => Some(Cell::Number(number)), // a bare NaN, which data frames may hold
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
