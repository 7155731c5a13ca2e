//! An inference request: JSON, followed by the bytes of binary tensors.

use super::nesting::Nesting;
use super::tensor::{Datatype, Elements, Tensor};
use crate::serving::{Once, Refusal, RefusalCode, read_small, skip};
use jiter::{Jiter, JiterError, Peek};
use serde_json::{Map, Value};

/// A decoded request. Unknown members are ignored, as the protocol requires.
#[derive(Debug, Default)]
pub(crate) struct InferRequest {
    /// Repeated in the response.
    pub(crate) id: Option<String>,
    pub(crate) inputs: Vec<Tensor>,
    /// None means the default outputs of the model.
    pub(crate) outputs: Option<Vec<RequestedOutput>>,
    /// Whether outputs are binary unless they say otherwise.
    pub(crate) binary_output: bool,
    /// δ of intervals and label sets.
    pub(crate) delta: Option<f64>,
    /// Whether rows that deserve a warning are refused.
    pub(crate) strict: bool,
    /// Microseconds until the deadline.
    pub(crate) timeout_us: Option<u64>,
}

/// An output that a request names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestedOutput {
    pub(crate) name: String,
    pub(crate) binary: bool,
    /// The number of likeliest classes to return instead of the tensor.
    pub(crate) classes: Option<usize>,
}

impl InferRequest {
    /// Reads a body whose first `json_length` bytes are JSON; the rest belongs to binary tensors.
    pub(crate) fn read(body: &[u8], json_length: Option<usize>, max_inputs: usize) -> Result<Self, Refusal> {
        let json_length = json_length.unwrap_or(body.len());
        let Some((text, binary)) = body.split_at_checked(json_length) else {
            let detail = "inference-header-content-length is larger than the body";
            return Err(Refusal::malformed(RefusalCode::MalformedRequest, detail));
        };
        let mut json = Jiter::new(text).with_allow_inf_nan();
        if json.peek().map_err(|error| wrong(&json, &error))? != Peek::Object {
            return Err(Refusal::not_an_object(&mut json));
        }
        let mut request = Self::default();
        let mut binary = Binary { rest: binary };
        let mut parameters = Map::new();
        let mut requested = None;
        let mut once = Once::of(["id", "parameters", "outputs", "inputs"]);
        let mut key = owned(json.known_object()).map_err(|error| wrong(&json, &error))?;
        while let Some(name) = key {
            once.note("", &name)?;
            match name.as_str() {
                "id" => request.id = read_id(read_small(&mut json, "/id")?)?,
                "parameters" => parameters = object(read_small(&mut json, "/parameters")?, "/parameters")?,
                "outputs" => requested = Some(read_small(&mut json, "/outputs")?).filter(|list| !list.is_null()),
                "inputs" => request.inputs = read_inputs(&mut json, &mut binary, max_inputs)?,
                _ => skip(&mut json)?,
            }
            key = owned(json.next_key()).map_err(|error| wrong(&json, &error))?;
        }
        json.finish().map_err(|error| wrong(&json, &error))?;
        if request.inputs.is_empty() {
            return Err(Refusal::invalid("/inputs", "must be a list of tensors"));
        }
        if !binary.rest.is_empty() {
            let detail = format!("{} bytes after the last binary tensor belong to no input", binary.rest.len());
            return Err(Refusal::malformed(RefusalCode::MalformedRequest, detail));
        }
        let parameters = Parameters { members: &parameters, place: "/parameters" };
        request.binary_output = parameters.flag("binary_data_output")?.unwrap_or(false);
        request.delta = parameters.read("delta", Value::as_f64, "must be a number")?;
        request.strict = parameters.flag("strict")?.unwrap_or(false);
        request.timeout_us = parameters.count("timeout")?.filter(|timeout| *timeout > 0);
        let requested = requested.map(|list| read_outputs(&list, request.binary_output)).transpose()?;
        request.outputs = requested.filter(|outputs| !outputs.is_empty());
        Ok(request)
    }
}

fn read_id(id: Value) -> Result<Option<String>, Refusal> {
    match id {
        Value::String(id) => Ok(Some(id)),
        Value::Null => Ok(None),
        _ => Err(Refusal::invalid("/id", "must be a string")),
    }
}

/// Parameters of the request or of an output. Unknown ones are ignored.
struct Parameters<'a> {
    members: &'a Map<String, Value>,
    place: &'a str,
}

impl Parameters<'_> {
    fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        self.read(name, Value::as_bool, "must be true or false")
    }

    fn count(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.read(name, Value::as_u64, "must be a whole number from 0")
    }

    fn read<T>(&self, name: &str, read: fn(&Value) -> Option<T>, expected: &str) -> Result<Option<T>, Refusal> {
        let wrong = || Refusal::invalid(format!("{}/{name}", self.place), expected);
        let given = self.members.get(name).filter(|value| !value.is_null());
        given.map(|value| read(value).ok_or_else(wrong)).transpose()
    }
}

/// The bytes after the JSON, consumed in the order of the inputs.
struct Binary<'a> {
    rest: &'a [u8],
}

impl<'a> Binary<'a> {
    fn take(&mut self, size: usize, place: &str) -> Result<&'a [u8], Refusal> {
        let Some((taken, rest)) = self.rest.split_at_checked(size) else {
            let detail = format!("{place}: binary_data_size is {size}, but only {} bytes are left", self.rest.len());
            return Err(Refusal::malformed(RefusalCode::MalformedRequest, detail));
        };
        self.rest = rest;
        Ok(taken)
    }
}

fn read_inputs(json: &mut Jiter, binary: &mut Binary, max_inputs: usize) -> Result<Vec<Tensor>, Refusal> {
    let mut inputs = Vec::new();
    if json.peek().map_err(|error| wrong(json, &error))? != Peek::Array {
        return Err(Refusal::unlike(json, "/inputs", "must be a list of tensors"));
    }
    let mut next = json.known_array().map_err(|error| wrong(json, &error))?;
    while let Some(peek) = next {
        if inputs.len() == max_inputs {
            return Err(Refusal::invalid(
                "/inputs",
                format!("has more than {max_inputs} tensors, the limit for this model"),
            ));
        }
        let place = format!("/inputs/{}", inputs.len());
        if peek != Peek::Object {
            return Err(Refusal::unlike(json, place, "must be an object"));
        }
        inputs.push(read_input(json, binary, &place)?);
        next = json.array_step().map_err(|error| wrong(json, &error))?;
    }
    Ok(inputs)
}

fn read_input(json: &mut Jiter, binary: &mut Binary, place: &str) -> Result<Tensor, Refusal> {
    let (mut name, mut shape, mut datatype) = (None, None, None);
    let (mut size, mut data) = (None, None);
    let mut once = Once::of(["name", "shape", "datatype", "parameters", "data"]);
    let mut key = owned(json.known_object()).map_err(|error| wrong(json, &error))?;
    while let Some(member) = key {
        once.note(place, &member)?;
        match member.as_str() {
            "name" => name = read_small(json, place)?.as_str().map(str::to_owned),
            "shape" => shape = Some(read_small(json, place)?),
            "datatype" => datatype = read_small(json, place)?.as_str().and_then(Datatype::find),
            "parameters" => {
                let place = format!("{place}/parameters");
                size = object(read_small(json, &place)?, &place)?.remove("binary_data_size");
            }
            "data" => data = Some(read_data(json, place)?),
            _ => skip(json)?,
        }
        key = owned(json.next_key()).map_err(|error| wrong(json, &error))?;
    }
    let missing = |member: &str, detail: &str| Refusal::invalid(format!("{place}/{member}"), detail);
    let name = name.ok_or_else(|| missing("name", "must be a string"))?;
    let datatype = datatype.ok_or_else(|| missing("datatype", "must be a tensor type, such as FP64 or BYTES"))?;
    let shape: Option<Vec<usize>> = shape.and_then(|shape| serde_json::from_value(shape).ok());
    let shape = shape.ok_or_else(|| missing("shape", "must be a list of whole numbers"))?;
    let elements = match (size, data) {
        (Some(_), Some(_)) => return Err(missing("data", "must not be given together with binary_data_size")),
        (None, None) => return Err(missing("data", "is missing; give it, or binary_data_size")),
        (None, Some((_, nesting))) if nesting.is_ragged() => {
            return Err(missing("data", "is ragged: its lists differ in length or depth"));
        }
        (None, Some((elements, nesting))) => {
            if let Some(found) = nesting.differs_from(&shape) {
                return Err(missing("shape", &format!("{shape:?} differs from the nesting of data, {found:?}")));
            }
            fit_type(elements, datatype, place)?
        }
        (Some(size), None) => {
            let size = size.as_u64().and_then(|size| usize::try_from(size).ok());
            let size = size.ok_or_else(|| missing("parameters/binary_data_size", "must be a whole number"))?;
            Elements::from_bytes(datatype, binary.take(size, place)?, place)?
        }
    };
    let expected = shape.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
    if expected != Some(elements.len()) {
        let detail = format!("{shape:?} does not match the {} elements given", elements.len());
        return Err(missing("shape", &detail));
    }
    Ok(Tensor { name, shape, elements })
}

/// The elements of `data`, flat or nested, in row-major order. NaN and Infinity are read here and refused later, with
/// their row and column.
fn read_data(json: &mut Jiter, place: &str) -> Result<(Elements, Nesting), Refusal> {
    let mut data = Data::default();
    let peek = json.peek().map_err(|error| wrong(json, &error))?;
    data.read(json, peek, place, 0)?;
    let elements = match (data.numbers.is_empty(), data.booleans.is_empty(), data.texts.is_empty()) {
        (_, true, true) => Elements::Numbers(data.numbers),
        (true, false, true) => Elements::Booleans(data.booleans),
        (true, true, false) => Elements::Texts(data.texts),
        _ => return Err(Refusal::invalid(format!("{place}/data"), "mixes numbers, booleans and strings")),
    };
    Ok((elements, data.nesting))
}

#[derive(Default)]
struct Data {
    numbers: Vec<f64>,
    booleans: Vec<bool>,
    texts: Vec<String>,
    nesting: Nesting,
}

impl Data {
    /// The number of elements so far.
    fn count(&self) -> usize {
        self.numbers.len() + self.booleans.len() + self.texts.len()
    }

    fn read(&mut self, json: &mut Jiter, peek: Peek, place: &str, depth: usize) -> Result<(), Refusal> {
        const MAX_DEPTH: usize = 8;
        match peek {
            Peek::Array if depth < MAX_DEPTH => {
                self.nesting.open(depth);
                let mut length = 0;
                let mut next = json.known_array().map_err(|error| wrong(json, &error))?;
                while let Some(peek) = next {
                    self.read(json, peek, place, depth + 1)?;
                    length += 1;
                    next = json.array_step().map_err(|error| wrong(json, &error))?;
                }
                self.nesting.close(depth, length);
                return Ok(());
            }
            _ if depth == 0 => return Err(Refusal::unlike(json, format!("{place}/data"), "must be a list")),
            Peek::True | Peek::False => {
                self.booleans.push(json.known_bool(peek).map_err(|error| wrong(json, &error))?);
            }
            Peek::String => {
                let text = json.known_str().map(str::to_owned);
                self.texts.push(text.map_err(|error| wrong(json, &error))?);
            }
            Peek::Null | Peek::Object | Peek::Array => {
                let missing = if peek == Peek::Null {
                    "; for a missing cell, send an empty string in a BYTES tensor"
                } else {
                    ""
                };
                let detail = format!("element {} is not a number, boolean or string{missing}", self.count());
                return Err(Refusal::invalid(format!("{place}/data"), detail));
            }
            _ => self.numbers.push(json.known_float(peek).map_err(|error| wrong(json, &error))?),
        }
        self.nesting.element(depth);
        Ok(())
    }
}

/// JSON elements as elements of the datatype of the tensor.
fn fit_type(elements: Elements, datatype: Datatype, place: &str) -> Result<Elements, Refusal> {
    let place = || format!("{place}/data");
    match (elements, datatype) {
        (Elements::Numbers(mut numbers), datatype) => {
            for (index, number) in numbers.iter_mut().enumerate() {
                let detail = || format!("element {index} is {number}, which is not a value of {}", datatype.name());
                *number = datatype.convert(*number).ok_or_else(|| Refusal::invalid(place(), detail()))?;
            }
            Ok(match datatype {
                Datatype::Bool => Elements::Booleans(numbers.iter().map(|number| *number == 1.0).collect()),
                _ => Elements::Numbers(numbers),
            })
        }
        (elements @ Elements::Texts(_), Datatype::Bytes) | (elements @ Elements::Booleans(_), Datatype::Bool) => {
            Ok(elements)
        }
        (Elements::Texts(_) | Elements::Booleans(_), _) => {
            Err(Refusal::invalid(place(), format!("its elements are not of the datatype {}", datatype.name())))
        }
    }
}

fn read_outputs(list: &Value, binary_by_default: bool) -> Result<Vec<RequestedOutput>, Refusal> {
    let list = list.as_array().ok_or_else(|| Refusal::invalid("/outputs", "must be a list"))?;
    let output = |(index, output): (usize, &Value)| {
        let name = output["name"].as_str();
        let name = name.ok_or_else(|| Refusal::invalid(format!("/outputs/{index}/name"), "must be a string"))?;
        let (place, none) = (format!("/outputs/{index}/parameters"), Map::new());
        let members = match &output["parameters"] {
            Value::Object(members) => members,
            Value::Null => &none,
            _ => return Err(Refusal::invalid(place, "must be an object")),
        };
        let parameters = Parameters { members, place: &place };
        let count = |count: &Value| count.as_u64().filter(|count| *count > 0).and_then(|count| count.try_into().ok());
        Ok(RequestedOutput {
            name: name.to_owned(),
            binary: parameters.flag("binary_data")?.unwrap_or(binary_by_default),
            classes: parameters.read("classification", count, "must be a whole number from 1")?,
        })
    };
    list.iter().enumerate().map(output).collect()
}

fn object(value: Value, place: &str) -> Result<Map<String, Value>, Refusal> {
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        _ => Err(Refusal::invalid(place, "must be an object")),
    }
}

fn owned(key: Result<Option<&str>, JiterError>) -> Result<Option<String>, JiterError> {
    key.map(|key| key.map(str::to_owned))
}

fn wrong(json: &Jiter, error: &JiterError) -> Refusal {
    Refusal::json(json, error)
}
