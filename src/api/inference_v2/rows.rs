//! Tensors as rows of a model: one matrix, or one tensor for each column.

use super::tensor::{Elements, Tensor};
use crate::dataset::{Cell, InputColumn};
use crate::model::FittedModel;
use crate::problem::Problem;
use crate::serving::{CellError, Refusal, RowBlock};
use crate::suggest;
use std::collections::HashMap;

/// Inputs of a request, and columns that are not among them, that are compared for a "did you mean".
const COMPARED_NAMES: usize = 256;
const COMPARED_COLUMNS: usize = 16;

/// The rows that the inputs of a request hold, at most `limit`.
pub(super) fn rows_of(inputs: &[Tensor], model: &FittedModel, limit: usize) -> Result<RowBlock, Refusal> {
    let columns = &model.inputs.encoding.columns;
    match inputs {
        [matrix] if matrix.shape.len() == 2 && matrix.shape[1] == columns.len() => from_matrix(matrix, model, limit),
        [matrix] if matrix.shape.len() == 2 && matrix.shape[1] > 1 => {
            let detail =
                format!("{:?} has {} columns, and the model has {}", matrix.shape, matrix.shape[1], columns.len());
            Err(Refusal::invalid("/inputs/0/shape", detail))
        }
        tensors => from_columns(tensors, model, limit),
    }
}

fn from_matrix(matrix: &Tensor, model: &FittedModel, limit: usize) -> Result<RowBlock, Refusal> {
    let columns = &model.inputs.encoding.columns;
    let mut block = empty(matrix.shape[0], model, limit)?;
    if let Elements::Numbers(numbers) = &matrix.elements
        && block.take_numbers(model, &mut numbers.clone())
    {
        return Ok(block);
    }
    for row in 0..matrix.shape[0] {
        for (column, known) in columns.iter().enumerate() {
            set(&mut block, model, (row, column), &matrix.elements, row * columns.len() + column)
                .map_err(|error| at(&error, row, known))?;
        }
    }
    Ok(block)
}

fn from_columns(tensors: &[Tensor], model: &FittedModel, limit: usize) -> Result<RowBlock, Refusal> {
    let rows = tensors.first().and_then(|tensor| tensor.shape.first()).copied().unwrap_or_default();
    let columns = &model.inputs.encoding.columns;
    let found = find_columns(tensors, columns, rows)?; // before there is room for their rows
    let mut block = empty(rows, model, limit)?;
    for (column, (known, tensor)) in columns.iter().zip(found).enumerate() {
        for row in 0..rows {
            set(&mut block, model, (row, column), &tensor.elements, row).map_err(|error| at(&error, row, known))?;
        }
    }
    Ok(block)
}

/// The tensor of each column, of so many rows.
fn find_columns<'t>(tensors: &'t [Tensor], columns: &[InputColumn], rows: usize) -> Result<Vec<&'t Tensor>, Refusal> {
    let mut problems = Vec::new();
    let mut of_columns = Vec::with_capacity(columns.len());
    let mut by_name = HashMap::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter().enumerate() {
        by_name.entry(tensor.name.as_str()).or_insert((index, tensor));
    }
    for known in columns {
        let Some(&(index, tensor)) = by_name.get(known.name.as_str()) else {
            // The sender chooses how many there are of both: nothing here may take their product.
            let few = if problems.len() < COMPARED_COLUMNS { COMPARED_NAMES } else { 0 };
            let names = tensors.iter().take(few).map(|tensor| tensor.name.as_str());
            let detail = format!("there is no input '{}'{}", known.name, suggest::nearest(&known.name, names));
            problems.push(Problem::new("/inputs", detail));
            continue;
        };
        if tensor.shape != [rows] && tensor.shape != [rows, 1] {
            let detail = format!("{:?} should be [{rows}] or [{rows}, 1]", tensor.shape);
            return Err(Refusal::invalid(format!("/inputs/{index}/shape"), detail));
        }
        of_columns.push(tensor);
    }
    if problems.is_empty() { Ok(of_columns) } else { Err(Refusal::Invalid(problems)) }
}

fn empty(rows: usize, model: &FittedModel, limit: usize) -> Result<RowBlock, Refusal> {
    match rows {
        0 => Err(Refusal::invalid("/inputs/0/shape", "holds no rows")),
        rows if rows > limit => {
            Err(Refusal::invalid("/inputs/0/shape", format!("has {rows} rows; the limit is {limit}")))
        }
        rows => {
            let mut block = RowBlock::of(model);
            block.begin_rows(rows);
            Ok(block)
        }
    }
}

fn set(
    block: &mut RowBlock,
    model: &FittedModel,
    (row, column): (usize, usize),
    elements: &Elements,
    index: usize,
) -> Result<(), CellError> {
    match elements {
        Elements::Numbers(numbers) => block.set_at(model, row, column, Cell::Number(numbers[index])),
        Elements::Booleans(booleans) => block.set_at(model, row, column, Cell::Boolean(booleans[index])),
        Elements::Texts(texts) => block.set_text_at(model, row, column, &texts[index]),
    }
}

fn at(error: &CellError, row: usize, column: &InputColumn) -> Refusal {
    error.at(&format!("/rows/{row}"), column)
}
