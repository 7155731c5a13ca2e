//! The JSON request of MLflow's scoring server: a data frame (split, or as records) or a tensor (by row, or by column).
//! In data frames NaN means a missing cell, as in pandas; in tensors it is an error.

use super::cell_grid::Grid;
use super::column_lists::read_column_lists;
use super::json_rows::{NOT_A_CELL, read_cell, read_record, read_records, read_row, too_many_rows};
use super::members::{Once, read_small, skip};
use super::names::Names;
use crate::model::FittedModel;
use crate::request::problem::pointer;
use crate::request::suggest;
use crate::serving::request_rows::{Layout, RequestRows};
use crate::serving::{OutputPlace, OutputRequest, Refusal};
use jiter::{Jiter, JiterError, Peek};
use serde_json::Value;

/// A scoring request, decoded.
#[derive(Debug)]
pub struct ScoringRequest {
    /// The rows, encoded for the model.
    pub block: RequestRows,
    /// The pointer to the list of rows.
    pub place: &'static str,
    /// The outputs that `params` ask for.
    pub outputs: OutputRequest,
}

/// The members that may hold the rows, and the pointer to each list; a request has exactly one of them.
const TABLES: [(&str, &str); 4] = [
    ("dataframe_split", "/dataframe_split/data"),
    ("dataframe_records", "/dataframe_records"),
    ("instances", "/instances"),
    ("inputs", "/inputs"),
];

impl ScoringRequest {
    /// Reads a body of at most `limit` rows.
    pub fn read(body: &[u8], model: &FittedModel, limit: usize) -> Result<Self, Refusal> {
        let mut json = Jiter::new(body).with_allow_inf_nan(); // bare NaN parses, so that a refusal can name its column
        if json.peek().map_err(|error| Refusal::json(&json, &error))? != Peek::Object {
            return Err(Refusal::not_an_object(&mut json));
        }
        let (mut block, mut rows_at) = (None, "");
        let mut outputs = OutputRequest::default();
        let mut once = Once::of(["params"]);
        let mut key = owned(json.known_object()).map_err(|error| Refusal::json(&json, &error))?;
        while let Some(name) = key {
            let place = pointer("", &name);
            if let Some((_, list)) = TABLES.iter().find(|(known, _)| *known == name) {
                if block.is_some() {
                    return Err(Refusal::invalid(place, ONE_TABLE));
                }
                rows_at = list;
            }
            once.note("", &name)?;
            match name.as_str() {
                "dataframe_split" => block = Some(read_split(&mut json, model, limit)?),
                "dataframe_records" => {
                    block = Some(read_records(&mut json, RequestRows::of_frame(model), model, &place, limit)?);
                }
                "instances" => block = Some(read_instances(&mut json, model, &place, limit)?),
                "inputs" => block = Some(read_inputs(&mut json, model, limit, body.len())?),
                "params" => outputs = read_params(&read_small(&mut json, &place)?)?,
                _ => {
                    let nearest = suggest::nearest(&name, TABLES.iter().map(|(known, _)| *known));
                    return Err(Refusal::invalid(place, format!("unknown field{nearest}")));
                }
            }
            key = owned(json.next_key()).map_err(|error| Refusal::json(&json, &error))?;
        }
        json.finish().map_err(|error| Refusal::json(&json, &error))?;
        let block = block.ok_or_else(|| Refusal::invalid("", ONE_TABLE))?;
        Ok(Self { block, place: rows_at, outputs })
    }
}

const ONE_TABLE: &str = "send exactly one of dataframe_split, dataframe_records, instances and inputs";

/// `{"columns": […], "data": [[…]], "index": […]}`, as pandas writes it.
fn read_split(json: &mut Jiter, model: &FittedModel, limit: usize) -> Result<RequestRows, Refusal> {
    const PLACE: &str = "/dataframe_split";
    if json.peek().map_err(|error| Refusal::json(json, &error))? != Peek::Object {
        return Err(Refusal::unlike(json, PLACE, "must be an object"));
    }
    let (mut columns, mut data) = (None, None);
    let mut once = Once::of(["columns", "data"]);
    let mut key = owned(json.known_object()).map_err(|error| Refusal::json(json, &error))?;
    while let Some(name) = key {
        once.note(PLACE, &name)?;
        match name.as_str() {
            "columns" => columns = Some(read_small(json, "/dataframe_split/columns")?),
            "data" => data = Some(Grid::read(json, "/dataframe_split/data", model, limit)?),
            "index" => skip(json)?,
            _ => {
                let nearest = suggest::nearest(&name, ["columns", "data", "index"].into_iter());
                return Err(Refusal::invalid(pointer(PLACE, &name), format!("unknown field{nearest}")));
            }
        }
        key = owned(json.next_key()).map_err(|error| Refusal::json(json, &error))?;
    }
    let place = "/dataframe_split/columns";
    let found = |names: Value| {
        let names = column_names(&names).ok_or_else(|| Refusal::invalid(place, "must be a list of texts"))?;
        Layout::named(model, &names, place)
    };
    let layout = columns.map(found).transpose()?;
    data.ok_or_else(|| Refusal::invalid(PLACE, "has no 'data'"))?.into_block(
        RequestRows::of_frame(model),
        model,
        layout,
    )
}

/// The column names of a frame. Unnamed columns of pandas are numbers; CSV writes them as text.
fn column_names(names: &Value) -> Option<Vec<String>> {
    let name = |name: &Value| match name {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    names.as_array()?.iter().map(name).collect()
}

/// Reads a list of rows; each is a list, a record, or, if the model has one column, a cell.
fn read_instances(json: &mut Jiter, model: &FittedModel, place: &str, limit: usize) -> Result<RequestRows, Refusal> {
    let (mut block, names) = (RequestRows::of(model), Names::of(model));
    if json.peek().map_err(|error| Refusal::json(json, &error))? != Peek::Array {
        return Err(Refusal::unlike(json, place, "must be a list"));
    }
    let mut next = json.known_array().map_err(|error| Refusal::json(json, &error))?;
    while let Some(peek) = next {
        if block.len() == limit {
            return Err(too_many_rows(json, peek, place, limit));
        }
        let row = format!("{place}/{}", block.len());
        match peek {
            Peek::Array => read_row(json, model, &mut block, &row)?,
            Peek::Object => read_record(json, peek, (model, &names), &mut block, &row)?,
            _ => read_single(json, peek, model, &mut block, &row)?,
        }
        next = json.array_step().map_err(|error| Refusal::json(json, &error))?;
    }
    if block.is_empty() { Err(Refusal::invalid(place, "is empty")) } else { Ok(block) }
}

fn read_single(
    json: &mut Jiter,
    peek: Peek,
    model: &FittedModel,
    block: &mut RequestRows,
    place: &str,
) -> Result<(), Refusal> {
    let [column] = model.inputs.encoding.columns.as_slice() else {
        return Err(Refusal::unlike(json, place, "must be a list of cells or an object"));
    };
    block.begin_row();
    match read_cell(json, peek) {
        Ok(Some(cell)) => block.set(model, 0, cell).map_err(|error| error.at(place, column)),
        Ok(None) => Err(Refusal::invalid(place, NOT_A_CELL)),
        Err(error) => Err(Refusal::json(json, &error)),
    }
}

/// Reads `inputs`: a list of rows as in `instances`, or an object with a list per column. The body has `bytes` bytes.
fn read_inputs(json: &mut Jiter, model: &FittedModel, limit: usize, bytes: usize) -> Result<RequestRows, Refusal> {
    const PLACE: &str = "/inputs";
    if json.peek().map_err(|error| Refusal::json(json, &error))? != Peek::Object {
        return read_instances(json, model, PLACE, limit);
    }
    read_column_lists(json, model, PLACE, limit, bytes)
}

/// Reads the outputs that `params` ask for.
fn read_params(params: &Value) -> Result<OutputRequest, Refusal> {
    const KNOWN: [&str; 4] = ["outputs", "top_k", "delta", "strict"];
    let params = match params {
        Value::Object(params) => params,
        Value::Null => return Ok(OutputRequest::default()),
        _ => return Err(Refusal::invalid("/params", "must be an object")),
    };
    if let Some(name) = params.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        let nearest = suggest::nearest(name, KNOWN.into_iter());
        return Err(Refusal::invalid(pointer("/params", name), format!("unknown parameter{nearest}")));
    }
    let wrong = |name: &str, detail: &str| Refusal::invalid(pointer("/params", name), detail);
    let names = params.get("outputs").map(|names| serde_json::from_value::<Vec<String>>(names.clone()));
    let names = names.transpose().ok().filter(|names| names.as_ref().is_none_or(|names| !names.is_empty()));
    let names = names.ok_or_else(|| wrong("outputs", "must be a list of outputs, such as [\"value\"]"))?;
    let top_k = params.get("top_k").map(|top_k| top_k.as_u64().ok_or_else(|| wrong("top_k", "must be a whole number")));
    let delta = params.get("delta").map(|delta| delta.as_f64().ok_or_else(|| wrong("delta", "must be a number")));
    let strict =
        params.get("strict").map(|strict| strict.as_bool().ok_or_else(|| wrong("strict", "must be true or false")));
    Ok(OutputRequest {
        names,
        top_k: top_k.transpose()?,
        delta: delta.transpose()?,
        strict: strict.transpose()?.unwrap_or(false),
        place: OutputPlace::Params,
    })
}

fn owned(key: Result<Option<&str>, JiterError>) -> Result<Option<String>, JiterError> {
    key.map(|key| key.map(str::to_owned))
}
