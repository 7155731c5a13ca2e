//! Tensors as rows: one matrix, or one tensor for each column.

use super::tensor::{Elements, Tensor};
use crate::dataset::{Cell, InputColumn};
use crate::model::FittedModel;
use crate::request::problem::Problem;
use crate::request::suggest;
use crate::serving::{CellError, Refusal, RequestRows};
use std::collections::HashMap;

/// Most inputs, and most missing columns, that are compared for a "did you mean".
const COMPARED_NAMES: usize = 256;
const COMPARED_COLUMNS: usize = 16;

/// The name of the matrix in the metadata of a model.
const MATRIX: &str = "inputs";

/// The rows of the inputs of a request, at most `limit`. Inputs that are neither a column nor the matrix are ignored.
pub(crate) fn rows_of(inputs: &mut [Tensor], model: &FittedModel, limit: usize) -> Result<RequestRows, Refusal> {
    let columns = &model.inputs.encoding.columns;
    let is_matrix = |tensor: &Tensor| tensor.shape.len() == 2 && tensor.shape[1] == columns.len();
    if let [only] = inputs {
        if is_matrix(only) {
            return from_matrix((0, only), model, limit);
        }
        if only.shape.len() == 2 && only.shape[1] > 1 {
            let detail = format!("{:?} has {} columns, but the model has {}", only.shape, only.shape[1], columns.len());
            return Err(Refusal::invalid("/inputs/0/shape", detail));
        }
        if only.name == MATRIX && !columns.iter().any(|column| column.name == MATRIX) {
            let detail = format!("{:?} should be [rows, {}]", only.shape, columns.len());
            return Err(Refusal::invalid("/inputs/0/shape", detail));
        }
    }
    let by_name = by_name(inputs)?;
    if columns.iter().any(|column| by_name.contains_key(column.name.as_str())) {
        return from_columns(inputs, &by_name, model, limit);
    }
    let mut matrices = inputs.iter().enumerate().filter(|(_, tensor)| is_matrix(tensor));
    let index = match (by_name.get(MATRIX), matrices.next(), matrices.next()) {
        (Some((index, tensor)), ..) if is_matrix(tensor) => *index,
        (_, Some((index, _)), None) => index,
        (_, Some(_), Some((index, _))) => {
            let detail =
                format!("more than one tensor has the shape of the rows; name the one with the rows '{MATRIX}'");
            return Err(Refusal::invalid(format!("/inputs/{index}/shape"), detail));
        }
        (_, None, _) => return from_columns(inputs, &by_name, model, limit),
    };
    from_matrix((index, &mut inputs[index]), model, limit)
}

/// Tensors with their indices, by name.
type ByName<'t> = HashMap<&'t str, (usize, &'t Tensor)>;

fn by_name(inputs: &[Tensor]) -> Result<ByName<'_>, Refusal> {
    let mut by_name = HashMap::with_capacity(inputs.len());
    for (index, tensor) in inputs.iter().enumerate() {
        if by_name.insert(tensor.name.as_str(), (index, tensor)).is_some() {
            let detail = format!("more than one input has the name '{}'", tensor.name);
            return Err(Refusal::invalid(format!("/inputs/{index}/name"), detail));
        }
    }
    Ok(by_name)
}

/// The rows of a matrix. Its numbers are moved out if the model takes them as they are.
fn from_matrix(
    (index, matrix): (usize, &mut Tensor),
    model: &FittedModel,
    limit: usize,
) -> Result<RequestRows, Refusal> {
    let columns = &model.inputs.encoding.columns;
    let mut block = empty(matrix.shape[0], index, model, limit)?;
    if let Elements::Numbers(numbers) = &mut matrix.elements
        && block.take_numbers(model, numbers, false)
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

fn from_columns(
    inputs: &[Tensor],
    by_name: &ByName,
    model: &FittedModel,
    limit: usize,
) -> Result<RequestRows, Refusal> {
    let columns = &model.inputs.encoding.columns;
    let found = find_columns(inputs, by_name, columns)?;
    let (first, tensor) = found[0]; // a model has a column
    let Some(&rows) = tensor.shape.first() else {
        return Err(Refusal::invalid(format!("/inputs/{first}/shape"), "[] should be [rows] or [rows, 1]"));
    };
    for (index, tensor) in &found {
        if tensor.shape != [rows] && tensor.shape != [rows, 1] {
            let detail = format!("{:?} should be [{rows}] or [{rows}, 1]", tensor.shape);
            return Err(Refusal::invalid(format!("/inputs/{index}/shape"), detail));
        }
    }
    let mut block = empty(rows, first, model, limit)?;
    for (column, (known, (_, tensor))) in columns.iter().zip(found).enumerate() {
        for row in 0..rows {
            set(&mut block, model, (row, column), &tensor.elements, row).map_err(|error| at(&error, row, known))?;
        }
    }
    Ok(block)
}

/// The tensor of each column, with its index.
fn find_columns<'t>(
    inputs: &[Tensor],
    by_name: &ByName<'t>,
    columns: &[InputColumn],
) -> Result<Vec<(usize, &'t Tensor)>, Refusal> {
    let mut problems = Vec::new();
    let mut found = Vec::with_capacity(columns.len());
    for known in columns {
        if let Some(&tensor) = by_name.get(known.name.as_str()) {
            found.push(tensor);
            continue;
        }
        // The sender chooses the number of both, so that the work must not grow with their product.
        let few = if problems.len() < COMPARED_COLUMNS { COMPARED_NAMES } else { 0 };
        let names = inputs.iter().take(few).map(|tensor| tensor.name.as_str());
        let detail = format!("there is no input '{}'{}", known.name, suggest::nearest(&known.name, names));
        problems.push(Problem::new("/inputs", detail));
    }
    if problems.is_empty() { Ok(found) } else { Err(Refusal::Invalid(problems)) }
}

/// Empty rows for the tensor at `index`.
fn empty(rows: usize, index: usize, model: &FittedModel, limit: usize) -> Result<RequestRows, Refusal> {
    let place = || format!("/inputs/{index}/shape");
    match rows {
        0 => Err(Refusal::invalid(place(), "has no rows")),
        rows if rows > limit => Err(Refusal::invalid(place(), format!("has {rows} rows; the limit is {limit}"))),
        rows => {
            let mut block = RequestRows::of(model);
            block.begin_rows(rows);
            Ok(block)
        }
    }
}

fn set(
    block: &mut RequestRows,
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
