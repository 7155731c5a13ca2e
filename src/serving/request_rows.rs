//! The rows of a request, encoded for a model.

use super::unknown_levels::UnknownLevels;
use super::{Refusal, RowLocations};
use crate::dataset::{Cell, EncodingError, InputColumn};
use crate::model::{FittedModel, MissingRule};
use crate::request::problem::{Problem, pointer};
use std::collections::HashMap;

/// Most names of a request, and most missing columns, that are compared for a "did you mean".
const COMPARED_NAMES: usize = 256;
const COMPARED_COLUMNS: usize = 16;

/// Rows in the order of a model's columns; a category is the number of its level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestRows {
    /// Row by row.
    codes: Vec<f64>,
    width: usize,
    /// Whether NaN means a missing cell; otherwise it is an error.
    nan_is_missing: bool,
    /// Cells with a category that was not in the training data.
    pub unknown_levels: u64,
    /// Missing cells.
    pub missing_cells: u64,
    /// The texts of those categories.
    unknown: UnknownLevels,
    /// Where the rows stand in the request.
    pub locations: RowLocations,
}

impl RequestRows {
    /// An empty block for a model.
    pub fn of(model: &FittedModel) -> Self {
        Self { width: model.inputs.encoding.columns.len(), ..Self::default() }
    }

    /// An empty block for a data frame, in which NaN means a missing cell.
    pub(super) fn of_frame(model: &FittedModel) -> Self {
        Self { nan_is_missing: true, ..Self::of(model) }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.codes.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.codes.chunks_exact(self.width)
    }

    /// A range of rows, as the predictor takes them.
    pub fn slices(&self, range: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = &[f64]> {
        self.codes[range.start * self.width..range.end * self.width].chunks_exact(self.width)
    }

    /// Adds a row whose cells are all missing.
    pub(super) fn begin_row(&mut self) {
        self.begin_rows(1);
    }

    /// Adds rows whose cells are all missing.
    pub fn begin_rows(&mut self, count: usize) {
        self.codes.resize(self.codes.len() + count * self.width, f64::NAN);
    }

    /// The texts of categories that were not in the training data.
    pub(super) fn unknown_texts(&self) -> &UnknownLevels {
        &self.unknown
    }

    /// Adds the rows of another block of the same model.
    pub fn append(&mut self, model: &FittedModel, mut other: Self) {
        if !other.unknown.is_empty() {
            let columns = model.inputs.encoding.columns.iter().cycle();
            for (code, _) in other.codes.iter_mut().zip(columns).filter(|(code, column)| column.is_unknown(**code)) {
                *code = other.unknown.text(*code).map_or(*code, |text| self.unknown.code(text));
            }
        }
        self.codes.extend(other.codes);
        self.missing_cells += other.missing_cells;
        self.locations.append(other.locations);
        self.unknown_levels += other.unknown_levels;
    }

    /// Moves a table of numbers, in the order of the model, into this block if every column is numeric and every number
    /// finite; pass `finite` if that is known. Returns whether it did.
    pub fn take_numbers(&mut self, model: &FittedModel, numbers: &mut Vec<f64>, finite: bool) -> bool {
        let numeric = model.inputs.encoding.columns.iter().all(InputColumn::takes_numbers_as_they_are);
        let plain = numeric && (finite || numbers.iter().all(|number| number.is_finite()));
        if plain {
            self.codes = std::mem::take(numbers);
        }
        plain
    }

    /// Sets a cell of the last row.
    pub(super) fn set(&mut self, model: &FittedModel, column: usize, cell: Cell) -> Result<(), CellError> {
        self.set_at(model, self.len() - 1, column, cell)
    }

    /// Sets a cell of any row.
    pub fn set_at(&mut self, model: &FittedModel, row: usize, column: usize, cell: Cell) -> Result<(), CellError> {
        let cell = match cell {
            Cell::Number(number) if number.is_nan() && self.nan_is_missing => Cell::Missing,
            cell => cell,
        };
        self.store(model, row, column, cell)
    }

    /// Sets a cell from text, as CSV has it: the kind of the column decides how it is read.
    pub fn set_text_at(&mut self, model: &FittedModel, row: usize, column: usize, text: &str) -> Result<(), CellError> {
        self.store(model, row, column, Cell::Text(text))
    }

    fn store(&mut self, model: &FittedModel, row: usize, column: usize, cell: Cell) -> Result<(), CellError> {
        let known = &model.inputs.encoding.columns[column];
        let mut code = known.code(cell).map_err(CellError::Kind)?;
        if code.is_nan() {
            if model.missing == MissingRule::Refuse {
                return Err(CellError::Missing);
            }
            self.missing_cells += 1;
        } else if known.is_unknown(code) {
            self.unknown_levels += 1;
            code = match cell {
                Cell::Text(text) => self.unknown.code(text.trim_ascii()),
                Cell::Number(number) => self.unknown.code(&number.to_string()),
                Cell::Boolean(value) => self.unknown.code(if value { "true" } else { "false" }),
                Cell::Missing => code,
            };
        }
        self.codes[row * self.width + column] = code;
        Ok(())
    }
}

/// Why a cell is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CellError {
    /// Not a value of the column's kind.
    #[error("{0}")]
    Kind(EncodingError),
    /// Missing, and the model has no rule for missing cells.
    #[error("missing, and this model was trained to refuse missing cells")]
    Missing,
}

impl CellError {
    /// The refusal that names the row and the column.
    pub fn at(&self, row: &str, column: &InputColumn) -> Refusal {
        Refusal::invalid(pointer(row, &column.name), self.to_string())
    }
}

/// Where each column of a model lies in the rows of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// The number of cells in a row of the request.
    pub(super) width: usize,
    /// For each column of the model, the position of its cell.
    pub(super) positions: Vec<usize>,
}

impl Layout {
    /// The model's own order.
    pub(super) fn natural(model: &FittedModel) -> Self {
        let width = model.inputs.encoding.columns.len();
        Self { width, positions: (0..width).collect() }
    }

    /// Finds the columns by name; one refusal at `place` names all that are missing.
    pub(super) fn named(model: &FittedModel, names: &[String], place: &str) -> Result<Self, Refusal> {
        // The client chooses how many names there are, so nothing here may take quadratic time.
        let mut problems = Vec::new();
        let mut known = HashMap::with_capacity(names.len());
        let mut twice = None;
        for (position, name) in names.iter().enumerate() {
            if known.insert(name.as_str(), position).is_some() {
                twice.get_or_insert(name);
            }
        }
        let mut positions = Vec::new();
        for column in &model.inputs.encoding.columns {
            if let Some(position) = known.get(column.name.as_str()) {
                positions.push(*position);
            } else {
                let few = if problems.len() < COMPARED_COLUMNS { COMPARED_NAMES } else { 0 };
                let compared = names.iter().take(few).map(String::as_str);
                let nearest = crate::request::suggest::nearest(&column.name, compared);
                problems.push(Problem::new(place, format!("the model needs column '{}'{nearest}", column.name)));
            }
        }
        if let Some(name) = twice {
            problems.push(Problem::new(place, format!("'{name}' is named twice")));
        }
        if problems.is_empty() { Ok(Self { width: names.len(), positions }) } else { Err(Refusal::Invalid(problems)) }
    }

    pub(super) fn is_natural(&self) -> bool {
        self.positions.len() == self.width && self.positions.iter().enumerate().all(|(at, position)| at == *position)
    }
}
