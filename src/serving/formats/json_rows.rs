//! Rows of JSON, one by one: records, and lists of cells.

use super::members::skip;
use super::names::Names;
use crate::dataset::Cell;
use crate::model::FittedModel;
use crate::request::problem::pointer;
use crate::request::suggest;
use crate::serving::Refusal;
use crate::serving::request_rows::RequestRows;
use jiter::{Jiter, JiterError, Peek};

/// Reads a list of records into an empty block.
pub(super) fn read_records(
    json: &mut Jiter,
    mut block: RequestRows,
    model: &FittedModel,
    place: &str,
    limit: usize,
) -> Result<RequestRows, Refusal> {
    let malformed = |json: &Jiter, error: JiterError| Refusal::json(json, &error);
    if json.peek().map_err(|error| malformed(json, error))? != Peek::Array {
        return Err(Refusal::unlike(json, place, "must be a list"));
    }
    let names = Names::of(model);
    let mut next = json.known_array().map_err(|error| malformed(json, error))?;
    while let Some(peek) = next {
        let row = block.len();
        if row == limit {
            return Err(too_many_rows(json, peek, place, limit));
        }
        read_record(json, peek, (model, &names), &mut block, &format!("{place}/{row}"))?;
        next = json.array_step().map_err(|error| malformed(json, error))?;
    }
    if block.is_empty() { Err(Refusal::invalid(place, "is empty")) } else { Ok(block) }
}

/// The refusal of a list with more than `limit` rows; the reader is at the first row too many.
pub(super) fn too_many_rows(json: &mut Jiter, peek: Peek, place: &str, limit: usize) -> Refusal {
    let mut count = limit;
    let mut next = Some(peek);
    while let Some(peek) = next {
        count += 1;
        next = match json.known_skip(peek).and_then(|()| json.array_step()) {
            Ok(next) => next,
            Err(error) => return Refusal::json(json, &error),
        };
    }
    Refusal::invalid(place, format!("has {count} rows; the limit is {limit}"))
}

/// Reads one record into one row; members that are not columns of the model are skipped.
pub(super) fn read_record(
    json: &mut Jiter,
    peek: Peek,
    (model, columns_by_name): (&FittedModel, &Names),
    block: &mut RequestRows,
    place: &str,
) -> Result<(), Refusal> {
    if peek != Peek::Object {
        return Err(Refusal::unlike(json, place, "must be an object"));
    }
    let columns = &model.inputs.encoding.columns;
    block.begin_row();
    let mut seen = vec![false; columns.len()];
    let mut expected = 0; // most records are in the model's order
    let mut names = Vec::new();
    let mut next = find_column(json.known_object(), columns_by_name, expected, &mut names);
    loop {
        match next {
            Ok(MemberName::End) => break,
            Ok(MemberName::Other) => skip(json)?,
            Ok(MemberName::Column(column)) => {
                if std::mem::replace(&mut seen[column], true) {
                    return Err(Refusal::twice(&pointer(place, &columns[column].name)));
                }
                let peek = json.peek().map_err(|error| Refusal::json(json, &error))?;
                match read_cell(json, peek) {
                    Ok(Some(cell)) => {
                        block.set(model, column, cell).map_err(|error| error.at(place, &columns[column]))?;
                    }
                    Ok(None) => return Err(Refusal::invalid(pointer(place, &columns[column].name), NOT_A_CELL)),
                    Err(error) => return Err(Refusal::json(json, &error)),
                }
                expected = column + 1;
            }
            Err(error) => return Err(Refusal::json(json, &error)),
        }
        next = find_column(json.next_key(), columns_by_name, expected, &mut names);
    }
    match seen.iter().position(|seen| !seen) {
        None => Ok(()),
        Some(column) => {
            let name = &columns[column].name;
            let nearest = suggest::nearest(name, names.iter().map(String::as_str));
            Err(Refusal::invalid(place, format!("column '{name}' is missing{nearest}; send null for a missing cell")))
        }
    }
}

/// Reads one list of cells, in the order of the model, into one row.
pub(super) fn read_row(
    json: &mut Jiter,
    model: &FittedModel,
    block: &mut RequestRows,
    place: &str,
) -> Result<(), Refusal> {
    let columns = &model.inputs.encoding.columns;
    block.begin_row();
    let mut count = 0;
    let mut next = json.known_array().map_err(|error| Refusal::json(json, &error))?;
    while let Some(peek) = next {
        if let Some(column) = columns.get(count) {
            match read_cell(json, peek) {
                Ok(Some(cell)) => block.set(model, count, cell).map_err(|error| error.at(place, column))?,
                Ok(None) => return Err(Refusal::invalid(pointer(place, &column.name), NOT_A_CELL)),
                Err(error) => return Err(Refusal::json(json, &error)),
            }
        } else {
            json.known_skip(peek).map_err(|error| Refusal::json(json, &error))?;
        }
        count += 1;
        next = json.array_step().map_err(|error| Refusal::json(json, &error))?;
    }
    if count == columns.len() {
        Ok(())
    } else {
        Err(Refusal::invalid(place, format!("has {count} cells where {} are expected", columns.len())))
    }
}

pub(super) const NOT_A_CELL: &str = "must be a number, a text, a boolean or null";

/// Most names of a record that are compared for a "did you mean".
const COMPARED_NAMES: usize = 256;

/// The next key of a record.
enum MemberName {
    End,
    Other,
    Column(usize),
}

/// Finds the column of a key; a key without a column is kept for a "did you mean".
fn find_column(
    key: Result<Option<&str>, JiterError>,
    columns: &Names,
    expected: usize,
    unknown: &mut Vec<String>,
) -> Result<MemberName, JiterError> {
    let Some(key) = key? else { return Ok(MemberName::End) };
    let found = columns.find(key, expected);
    if found.is_none() && unknown.len() < COMPARED_NAMES {
        unknown.push(key.to_owned());
    }
    Ok(found.map_or(MemberName::Other, MemberName::Column))
}

/// The next value as a cell; none for a list or an object, which is skipped. The position of an error is left to the
/// caller: to find its line takes as long as reading the body so far.
pub(super) fn read_cell<'a>(json: &'a mut Jiter<'_>, peek: Peek) -> Result<Option<Cell<'a>>, JiterError> {
    match peek {
        Peek::Null => json.known_null().map(|()| Some(Cell::Missing)),
        Peek::True | Peek::False => json.known_bool(peek).map(|value| Some(Cell::Boolean(value))),
        Peek::String => json.known_str().map(|text| Some(Cell::Text(text))),
        Peek::Array | Peek::Object => json.known_skip(peek).map(|()| None),
        _ => json.known_float(peek).map(|number| Some(Cell::Number(number))),
    }
}
