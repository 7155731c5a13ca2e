//! Rows of JSON as an object with a list of cells for each column.

use super::json_rows::{NOT_A_CELL, read_cell};
use super::members::skip;
use crate::model::FittedModel;
use crate::request::problem::pointer;
use crate::serving::Refusal;
use crate::serving::request_rows::{Layout, RequestRows};
use jiter::{Jiter, Peek};

/// Reads the object at `place`, which the reader is at; lists that are not columns of the model are skipped. The body has
/// `bytes` bytes.
pub(super) fn read_column_lists(
    json: &mut Jiter,
    model: &FittedModel,
    place: &str,
    limit: usize,
    bytes: usize,
) -> Result<RequestRows, Refusal> {
    let columns = &model.inputs.encoding.columns;
    // Each cell takes at least one byte, so a body has at most bytes/columns full rows: one long column must not
    // reserve memory for all the others.
    let limit = limit.min(bytes / columns.len().max(1));
    let mut block = RequestRows::of(model);
    let mut names = Vec::new();
    let mut key = json.known_object().map(|key| key.map(str::to_owned)).map_err(|error| Refusal::json(json, &error))?;
    while let Some(name) = key {
        if let Some(column) = columns.iter().position(|column| column.name == name) {
            let rows = read_list(json, (column, place), model, &mut block, (names.is_empty(), limit))?;
            if rows != block.len() {
                let detail = format!("has {rows} cells where the first column has {}", block.len());
                return Err(Refusal::invalid(pointer(place, &name), detail));
            }
            names.push(name);
        } else {
            skip(json)?;
        }
        key = json.next_key().map(|key| key.map(str::to_owned)).map_err(|error| Refusal::json(json, &error))?;
    }
    Layout::named(model, &names, place)?;
    if block.is_empty() { Err(Refusal::invalid(place, "is empty")) } else { Ok(block) }
}

/// Reads the cells of one column, each bare or in a list of one; the first column creates the rows.
fn read_list(
    json: &mut Jiter,
    (column, place): (usize, &str),
    model: &FittedModel,
    block: &mut RequestRows,
    (is_first, limit): (bool, usize),
) -> Result<usize, Refusal> {
    let known = &model.inputs.encoding.columns[column];
    let place = pointer(place, &known.name);
    if json.peek().map_err(|error| Refusal::json(json, &error))? != Peek::Array {
        return Err(Refusal::unlike(json, place, "must be a list"));
    }
    let mut row = 0;
    let mut next = json.known_array().map_err(|error| Refusal::json(json, &error))?;
    while let Some(peek) = next {
        if is_first && row < limit {
            block.begin_row();
        } else if row >= block.len() {
            let others = if is_first { "the limit, or the other columns" } else { "the first column" };
            return Err(Refusal::invalid(place, format!("has more than {} cells: more than {others}", block.len())));
        }
        let nested = peek == Peek::Array;
        let peek = if nested {
            let inner = json.known_array().map_err(|error| Refusal::json(json, &error))?;
            inner.ok_or_else(|| Refusal::invalid(format!("{place}/{row}"), NOT_A_CELL))?
        } else {
            peek
        };
        match read_cell(json, peek) {
            Ok(Some(cell)) => block
                .set_at(model, row, column, cell)
                .map_err(|error| Refusal::invalid(format!("{place}/{row}"), error.to_string()))?,
            Ok(None) => return Err(Refusal::invalid(format!("{place}/{row}"), NOT_A_CELL)),
            Err(error) => return Err(Refusal::json(json, &error)),
        }
        if nested && json.array_step().map_err(|error| Refusal::json(json, &error))?.is_some() {
            return Err(Refusal::invalid(format!("{place}/{row}"), "must hold one cell"));
        }
        row += 1;
        next = json.array_step().map_err(|error| Refusal::json(json, &error))?;
    }
    Ok(row)
}
