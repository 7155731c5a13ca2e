//! The native JSON request, read cell by cell: rows of numbers never become a `serde_json::Value`.

use super::cell_grid::Grid;
use super::column_lists::read_column_lists;
use super::json_rows::read_records;
use super::members::read_small;
use super::row_scan::RowScan;
use crate::model::FittedModel;
use crate::request::problem::pointer;
use crate::request::suggest;
use crate::serving::request_rows::{Layout, RequestRows};
use crate::serving::{OutputRequest, Refusal};
use jiter::{Jiter, JiterError, Peek};

/// A prediction request, decoded.
#[derive(Debug)]
pub struct JsonRequest {
    /// The rows, encoded for the model.
    pub block: RequestRows,
    /// The pointer to the list of rows: `/rows` or `/records`.
    pub place: &'static str,
    /// The outputs that the body asks for.
    pub outputs: OutputRequest,
}

/// The members of a request.
#[derive(Clone, Copy, PartialEq)]
enum Member {
    Rows,
    Columns,
    Records,
    Outputs,
    TopK,
    Delta,
    Strict,
}

impl Member {
    /// In the order of the variants.
    const ALL: [(&'static str, Self); 7] = [
        ("rows", Self::Rows),
        ("columns", Self::Columns),
        ("records", Self::Records),
        ("outputs", Self::Outputs),
        ("top_k", Self::TopK),
        ("delta", Self::Delta),
        ("strict", Self::Strict),
    ];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    fn find(name: &str) -> Result<Self, Refusal> {
        let known = Self::ALL.iter().find(|(known, _)| *known == name);
        known.map(|(_, member)| *member).ok_or_else(|| {
            let nearest = suggest::nearest(name, Self::ALL.iter().map(|(known, _)| *known));
            Refusal::invalid(pointer("", name), format!("unknown field{nearest}"))
        })
    }
}

/// The members read so far.
#[derive(Default)]
struct Members {
    rows: Option<Grid>,
    columns: Option<Vec<String>>,
    records: Option<RequestRows>,
    outputs: OutputRequest,
    /// By `Member as usize`.
    seen: [bool; Member::ALL.len()],
}

/// Reads a body of at most `limit` rows; `scan` may have read some of them while the body arrived.
pub fn read_request(body: &[u8], scan: RowScan, model: &FittedModel, limit: usize) -> Result<JsonRequest, Refusal> {
    match scan.finish(body) {
        // Most requests are rows and nothing else.
        Some((grid, end)) if &body[end..] == b"}" => Members::of_rows(grid).finish(model),
        None if BodyShape::of(body) == BodyShape::Records => {
            let mut json = reader(body);
            let block = read_records(&mut json, RequestRows::of(model), model, "", limit)?;
            whole_table(&mut json, block, "")
        }
        None if BodyShape::of(body) == BodyShape::Columns => {
            let mut json = reader(body);
            json.peek().map_err(|error| Refusal::json(&json, &error))?;
            let block = read_column_lists(&mut json, model, "", limit, body.len())?;
            whole_table(&mut json, block, "/rows")
        }
        // After scanned rows the reader does not know its position in the body. To report an error at the right
        // place, the body is read again from the start.
        scanned => {
            read_members(body, model, limit, true, scanned).or_else(|_| read_members(body, model, limit, false, None))
        }
    }
}

/// What a body is, by its beginning.
#[derive(Clone, Copy, PartialEq)]
enum BodyShape {
    /// An object with members that this service names.
    Request,
    /// A list of records, as in an upload.
    Records,
    /// An object with a list for each column, as in an upload.
    Columns,
}

impl BodyShape {
    fn of(body: &[u8]) -> Self {
        let mut json = reader(body);
        match json.peek() {
            Ok(Peek::Array) => match json.known_array() {
                Ok(Some(Peek::Object)) => Self::Records,
                _ => Self::Request,
            },
            Ok(Peek::Object) => {
                let is_member = json.known_object().map(|name| name.is_none_or(|name| Member::find(name).is_ok()));
                let is_list = matches!(is_member, Ok(false)) && matches!(json.peek(), Ok(Peek::Array));
                let first = if is_list { json.known_array() } else { Ok(None) };
                // A misspelled `rows` or `records` holds lists or objects.
                let of_cells = matches!(first, Ok(Some(peek)) if !matches!(peek, Peek::Array | Peek::Object));
                if of_cells { Self::Columns } else { Self::Request }
            }
            _ => Self::Request,
        }
    }
}

/// A body that is a table and nothing else; the reader is at its end.
fn whole_table(json: &mut Jiter, block: RequestRows, place: &'static str) -> Result<JsonRequest, Refusal> {
    json.finish().map_err(|error| Refusal::json(json, &error))?;
    Ok(JsonRequest { block, place, outputs: OutputRequest::default() })
}

/// Reads all members, or those after the rows that were already `scanned`. Rows found later are scanned if `scan`, and
/// read by jiter otherwise.
fn read_members(
    body: &[u8],
    model: &FittedModel,
    limit: usize,
    scan: bool,
    scanned: Option<(Grid, usize)>,
) -> Result<JsonRequest, Refusal> {
    let mut rest = &body[scanned.as_ref().map_or(0, |(_, end)| *end)..];
    let mut json = reader(rest);
    let (mut members, mut member) = match scanned {
        Some((grid, _)) => (Members::of_rows(grid), step(&mut json, Jiter::next_key)?),
        None if json.peek().map_err(|error| Refusal::json(&json, &error))? != Peek::Object => {
            return Err(Refusal::not_an_object(&mut json));
        }
        None => (Members::default(), step(&mut json, Jiter::known_object)?),
    };
    while let Some(known) = member {
        if std::mem::replace(&mut members.seen[known as usize], true) {
            return Err(Refusal::twice(&pointer("", known.name())));
        }
        if matches!(known, Member::Rows | Member::Records) && (members.rows.is_some() || members.records.is_some()) {
            return Err(Refusal::invalid("", EITHER));
        }
        let here = &rest[json.current_index()..];
        let scanned = if scan && known == Member::Rows { RowScan::of_list(here, model, limit) } else { None };
        if let Some((grid, end)) = scanned {
            members.rows = Some(grid);
            rest = &here[end..];
            json = reader(rest);
        } else {
            members.read(known, &mut json, model, limit)?;
        }
        member = step(&mut json, Jiter::next_key)?;
    }
    json.finish().map_err(|error| Refusal::json(&json, &error))?;
    members.finish(model)
}

/// A reader that accepts bare NaN and infinities, so that the refusal can name their row and column.
fn reader(text: &[u8]) -> Jiter<'_> {
    Jiter::new(text).with_allow_inf_nan()
}

/// The next member of the request's object.
fn step<'j>(
    json: &mut Jiter<'j>,
    next: impl for<'a> Fn(&'a mut Jiter<'j>) -> Result<Option<&'a str>, JiterError>,
) -> Result<Option<Member>, Refusal> {
    match next(json) {
        Ok(name) => name.map(Member::find).transpose(),
        Err(error) => Err(Refusal::json(json, &error)),
    }
}

impl Members {
    fn of_rows(grid: Grid) -> Self {
        let mut members = Self { rows: Some(grid), ..Self::default() };
        members.seen[Member::Rows as usize] = true;
        members
    }

    fn read(&mut self, member: Member, json: &mut Jiter, model: &FittedModel, limit: usize) -> Result<(), Refusal> {
        match member {
            Member::Rows => self.rows = Some(Grid::read(json, "/rows", model, limit)?),
            Member::Records => {
                self.records = Some(read_records(json, RequestRows::of(model), model, "/records", limit)?);
            }
            Member::Columns => {
                let names: Option<Vec<String>> = serde_json::from_value(read_small(json, "/columns")?).ok();
                self.columns = Some(names.ok_or_else(|| Refusal::invalid("/columns", "must be a list of texts"))?);
            }
            Member::Outputs => {
                let names: Option<Vec<String>> = serde_json::from_value(read_small(json, "/outputs")?).ok();
                let wrong = || Refusal::invalid("/outputs", "must be a list of outputs, such as [\"value\"]");
                self.outputs.names = Some(names.filter(|names| !names.is_empty()).ok_or_else(wrong)?);
            }
            Member::TopK => {
                let wrong = || Refusal::invalid("/top_k", "must be a whole number");
                self.outputs.top_k = Some(read_small(json, "/top_k")?.as_u64().ok_or_else(wrong)?);
            }
            Member::Delta => {
                let wrong = || Refusal::invalid("/delta", "must be a number between 0 and 1");
                self.outputs.delta = Some(read_small(json, "/delta")?.as_f64().ok_or_else(wrong)?);
            }
            Member::Strict => {
                let wrong = || Refusal::invalid("/strict", "must be true or false");
                self.outputs.strict = read_small(json, "/strict")?.as_bool().ok_or_else(wrong)?;
            }
        }
        Ok(())
    }

    fn finish(self, model: &FittedModel) -> Result<JsonRequest, Refusal> {
        let outputs = self.outputs;
        match (self.rows, self.records, self.columns) {
            (Some(grid), None, columns) => {
                let layout = columns.map(|names| Layout::named(model, &names, "/columns")).transpose()?;
                let block = grid.into_block(RequestRows::of(model), model, layout)?;
                Ok(JsonRequest { block, place: "/rows", outputs })
            }
            (None, Some(block), None) => Ok(JsonRequest { block, place: "/records", outputs }),
            (None, Some(_), Some(_)) => {
                Err(Refusal::invalid("/columns", "goes with rows; records name their own columns"))
            }
            _ => Err(Refusal::invalid("", EITHER)),
        }
    }
}

const EITHER: &str = "send either 'rows' or 'records'";

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways give the same rows, and the same refusals with the same positions.
    #[test]
    fn the_scan_agrees_with_jiter() {
        let model = crate::model::decode(include_bytes!("../../../tests/fixtures/artifacts/ridge.bochner")).unwrap();
        let row = |number: &str| format!("[{number} , 7,1]"); // a number, a level nobody knows, and true
        let (first, second) = (row("-0.125e1"), row("12345678.9012345678"));
        let names: Vec<&str> = model.inputs.encoding.columns.iter().map(|column| column.name.as_str()).collect();
        let names = serde_json::to_string(&names).unwrap();
        let rows = format!("\n [ {first}\t,\r\n{second} ] ");
        let bodies = [
            (true, format!("{{\"rows\":{rows}}}")),
            (true, format!(" {{ \"rows\" : {rows} , \"columns\": {names}, \"outputs\": [\"value\"] }} ")),
            (true, format!("{{\"delta\": 0.1, \"rows\":{rows}}}")),
            (true, format!("{{\"rows\": [{first},{second}]}}")),
            (false, format!("{{\"rows\":[{first},{second}]]}}")),
            (false, format!("{{\"rows\":[{first}],\"rows\":[{first}]}}")),
            (false, format!("{{\"rows\":[{first}],[{second}]}}")),
            (false, format!("{{\"rows\":[{first}]}}\u{c}")),
            (false, "{\"rows\":[[1,2]]}".to_owned()),
            (false, format!("{{\"rows\":{rows}}} x")),
            (false, format!("{{\"rows\":{rows}, \"rows\":{rows}}}")),
            (false, format!("{{\"rows\":{rows}, \"colums\": 1}}")),
            (false, format!("{{\"rows\":{rows}, \"delta\": }}")),
            (false, format!("{{\"rows\":[{first}, {second}, {first}, {second}]}}")), // four are too many
            (false, format!("{{\"rows\":[{first}, [1, 2]]}}")),
            (false, format!("{{\"rows\":[{first}, {}]}}", row("01"))),
            (false, format!("{{\"rows\":[{first}, {}]}}", row("1e999"))),
            (false, format!("{{\"rows\":[{first}, {}]}}", row("\"a\""))),
            (false, format!("{{\"rows\":[{first}, {second}")),
            (false, "{\"rows\":[]}".to_owned()),
            (false, "{\"rows\":[[]]}".to_owned()),
        ];
        for (good, body) in bodies {
            let scanned = read_request(body.as_bytes(), RowScan::of_request(&model, 3), &model, 3);
            let by_jiter = read_members(body.as_bytes(), &model, 3, false, None);
            assert_eq!((scanned.is_ok(), by_jiter.is_ok()), (good, good), "{body}: {scanned:?} {by_jiter:?}");
            assert_eq!(format!("{scanned:?}"), format!("{by_jiter:?}"), "{body}");
        }
    }
}
