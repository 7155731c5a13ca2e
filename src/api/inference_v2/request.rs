//! An inference request: JSON, with the bytes of some tensors after it.

use super::tensor::{Datatype, Elements, Tensor};
use crate::serving::{Refusal, read_small};
use jiter::{Jiter, JiterError, Peek};
use serde_json::{Map, Value};

/// A request, decoded. Members that we do not know are passed over, as the protocol asks.
#[derive(Debug, Default)]
pub(super) struct InferRequest {
    /// Echoed.
    pub(super) id: Option<String>,
    pub(super) inputs: Vec<Tensor>,
    /// None asks for the model's own choice.
    pub(super) outputs: Option<Vec<RequestedOutput>>,
    /// Whether outputs are sent as bytes unless they say otherwise.
    pub(super) binary_output: bool,
    /// δ of intervals and label sets.
    pub(super) delta: Option<f64>,
    /// Microseconds until the request gives up.
    pub(super) timeout_us: Option<u64>,
}

/// An output that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequestedOutput {
    pub(super) name: String,
    pub(super) binary: bool,
    /// So many of the likeliest classes instead of the tensor.
    pub(super) classes: Option<usize>,
}

impl InferRequest {
    /// Reads a body whose JSON part is `json_length` bytes long; the rest belongs to binary tensors. More than
    /// `most_inputs` are refused.
    pub(super) fn read(body: &[u8], json_length: Option<usize>, most_inputs: usize) -> Result<Self, Refusal> {
        let json_length = json_length.unwrap_or(body.len());
        let Some((text, binary)) = body.split_at_checked(json_length) else {
            let detail = "inference-header-content-length is larger than the body";
            return Err(Refusal::malformed("malformed_request", detail));
        };
        let mut json = Jiter::new(text).with_allow_inf_nan();
        if json.peek().map_err(|error| wrong(&json, &error))? != Peek::Object {
            return Err(Refusal::not_an_object(&mut json));
        }
        let mut request = Self::default();
        let mut binary = Binary { rest: binary };
        let mut parameters = Map::new();
        let mut requested = None;
        let mut has_inputs = false;
        let mut key = owned(json.known_object()).map_err(|error| wrong(&json, &error))?;
        while let Some(name) = key {
            match name.as_str() {
                "id" => request.id = read_small(&mut json)?.as_str().map(str::to_owned),
                "parameters" => parameters = object(read_small(&mut json)?, "/parameters")?,
                "outputs" => requested = Some(read_small(&mut json)?),
                "inputs" => {
                    has_inputs = true;
                    request.inputs = read_inputs(&mut json, &mut binary, most_inputs)?;
                }
                _ => json.next_skip().map_err(|error| wrong(&json, &error))?,
            }
            key = owned(json.next_key()).map_err(|error| wrong(&json, &error))?;
        }
        json.finish().map_err(|error| wrong(&json, &error))?;
        if !has_inputs || request.inputs.is_empty() {
            return Err(Refusal::invalid("/inputs", "must be a list of tensors"));
        }
        if !binary.rest.is_empty() {
            let detail = format!("{} bytes follow that belong to no input", binary.rest.len());
            return Err(Refusal::malformed("malformed_request", detail));
        }
        request.binary_output = parameters.get("binary_data_output").and_then(Value::as_bool).unwrap_or(false);
        request.delta = parameters.get("delta").map(|delta| delta.as_f64().unwrap_or(f64::NAN));
        request.timeout_us = parameters.get("timeout").and_then(Value::as_u64).filter(|timeout| *timeout > 0);
        let requested = requested.map(|list| read_outputs(&list, request.binary_output)).transpose()?;
        request.outputs = requested.filter(|outputs| !outputs.is_empty());
        Ok(request)
    }
}

/// The bytes after the JSON, given out in the order of the inputs.
struct Binary<'a> {
    rest: &'a [u8],
}

impl<'a> Binary<'a> {
    fn take(&mut self, size: usize, place: &str) -> Result<&'a [u8], Refusal> {
        let Some((taken, rest)) = self.rest.split_at_checked(size) else {
            let detail = format!("{place}: binary_data_size is {size}, and {} bytes are left", self.rest.len());
            return Err(Refusal::malformed("malformed_request", detail));
        };
        self.rest = rest;
        Ok(taken)
    }
}

fn read_inputs(json: &mut Jiter, binary: &mut Binary, most: usize) -> Result<Vec<Tensor>, Refusal> {
    let mut inputs = Vec::new();
    if json.peek().map_err(|error| wrong(json, &error))? != Peek::Array {
        return Err(Refusal::invalid("/inputs", "must be a list of tensors"));
    }
    let mut next = json.known_array().map_err(|error| wrong(json, &error))?;
    while let Some(peek) = next {
        if inputs.len() == most {
            return Err(Refusal::invalid("/inputs", format!("has more than {most} tensors, which is the limit here")));
        }
        let place = format!("/inputs/{}", inputs.len());
        if peek != Peek::Object {
            return Err(Refusal::invalid(place, "must be an object"));
        }
        inputs.push(read_input(json, binary, &place)?);
        next = json.array_step().map_err(|error| wrong(json, &error))?;
    }
    Ok(inputs)
}

fn read_input(json: &mut Jiter, binary: &mut Binary, place: &str) -> Result<Tensor, Refusal> {
    let (mut name, mut shape, mut datatype) = (None, None, None);
    let (mut size, mut elements) = (None, None);
    let mut key = owned(json.known_object()).map_err(|error| wrong(json, &error))?;
    while let Some(member) = key {
        match member.as_str() {
            "name" => name = read_small(json)?.as_str().map(str::to_owned),
            "shape" => shape = Some(read_small(json)?),
            "datatype" => datatype = read_small(json)?.as_str().and_then(Datatype::find),
            "parameters" => {
                let parameters = object(read_small(json)?, &format!("{place}/parameters"))?;
                size = parameters.get("binary_data_size").cloned();
            }
            "data" => elements = Some(read_data(json, place)?),
            _ => json.next_skip().map_err(|error| wrong(json, &error))?,
        }
        key = owned(json.next_key()).map_err(|error| wrong(json, &error))?;
    }
    let missing = |member: &str, detail: &str| Refusal::invalid(format!("{place}/{member}"), detail);
    let name = name.ok_or_else(|| missing("name", "must be a text"))?;
    let datatype = datatype.ok_or_else(|| missing("datatype", "must be a tensor type, such as FP64 or BYTES"))?;
    let shape: Option<Vec<usize>> = shape.and_then(|shape| serde_json::from_value(shape).ok());
    let shape = shape.ok_or_else(|| missing("shape", "must be a list of whole numbers"))?;
    let elements = match (size, elements) {
        (Some(_), Some(_)) => return Err(missing("data", "goes without binary_data_size")),
        (None, None) => return Err(missing("data", "is not there, nor is binary_data_size")),
        (None, Some(elements)) => fit_type(elements, datatype, place)?,
        (Some(size), None) => {
            let size = size.as_u64().and_then(|size| usize::try_from(size).ok());
            let size = size.ok_or_else(|| missing("parameters/binary_data_size", "must be a whole number"))?;
            Elements::from_bytes(datatype, binary.take(size, place)?, place)?
        }
    };
    let expected = shape.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
    if expected != Some(elements.len()) {
        let detail = format!("{shape:?} does not hold the {} elements that are there", elements.len());
        return Err(missing("shape", &detail));
    }
    Ok(Tensor { name, shape, elements })
}

/// The elements of `data`, flat or nested, in row-major order. Bare NaN and Infinity are read, to be refused with
/// their row and column.
fn read_data(json: &mut Jiter, place: &str) -> Result<Elements, Refusal> {
    let mut data = Data { numbers: Vec::new(), booleans: Vec::new(), texts: Vec::new() };
    let peek = json.peek().map_err(|error| wrong(json, &error))?;
    data.read(json, peek, place, 0)?;
    match (data.numbers.is_empty(), data.booleans.is_empty(), data.texts.is_empty()) {
        (_, true, true) => Ok(Elements::Numbers(data.numbers)),
        (true, false, true) => Ok(Elements::Booleans(data.booleans)),
        (true, true, false) => Ok(Elements::Texts(data.texts)),
        _ => Err(Refusal::invalid(format!("{place}/data"), "mixes numbers, booleans and texts")),
    }
}

struct Data {
    numbers: Vec<f64>,
    booleans: Vec<bool>,
    texts: Vec<String>,
}

impl Data {
    fn read(&mut self, json: &mut Jiter, peek: Peek, place: &str, depth: usize) -> Result<(), Refusal> {
        const DEEPEST: usize = 8;
        match peek {
            Peek::Array if depth < DEEPEST => {
                let mut next = json.known_array().map_err(|error| wrong(json, &error))?;
                while let Some(peek) = next {
                    self.read(json, peek, place, depth + 1)?;
                    next = json.array_step().map_err(|error| wrong(json, &error))?;
                }
            }
            _ if depth == 0 => return Err(Refusal::invalid(format!("{place}/data"), "must be a list")),
            Peek::True | Peek::False => {
                self.booleans.push(json.known_bool(peek).map_err(|error| wrong(json, &error))?);
            }
            Peek::String => {
                let text = json.known_str().map(str::to_owned);
                self.texts.push(text.map_err(|error| wrong(json, &error))?);
            }
            Peek::Null | Peek::Object | Peek::Array => {
                let detail = "must hold numbers, booleans or texts";
                return Err(Refusal::invalid(format!("{place}/data"), detail));
            }
            _ => self.numbers.push(json.known_float(peek).map_err(|error| wrong(json, &error))?),
        }
        Ok(())
    }
}

/// JSON elements as what the tensor says it is.
fn fit_type(elements: Elements, datatype: Datatype, place: &str) -> Result<Elements, Refusal> {
    let fits = match (&elements, datatype) {
        (Elements::Numbers(numbers), Datatype::Bool) => numbers.iter().all(|number| *number == 0.0 || *number == 1.0),
        (Elements::Numbers(numbers), Datatype::Bytes) => numbers.is_empty(),
        (Elements::Numbers(_), _) | (Elements::Texts(_), Datatype::Bytes) | (Elements::Booleans(_), Datatype::Bool) => {
            true
        }
        (Elements::Texts(_) | Elements::Booleans(_), _) => false,
    };
    if !fits {
        return Err(Refusal::invalid(format!("{place}/data"), format!("does not hold {}", datatype.name())));
    }
    Ok(match (elements, datatype) {
        (Elements::Numbers(numbers), Datatype::Bool) => {
            Elements::Booleans(numbers.iter().map(|number| *number == 1.0).collect())
        }
        (elements, _) => elements,
    })
}

fn read_outputs(list: &Value, binary_by_default: bool) -> Result<Vec<RequestedOutput>, Refusal> {
    let list = list.as_array().ok_or_else(|| Refusal::invalid("/outputs", "must be a list"))?;
    let output = |(index, output): (usize, &Value)| {
        let name = output["name"].as_str();
        let name = name.ok_or_else(|| Refusal::invalid(format!("/outputs/{index}/name"), "must be a text"))?;
        let parameters = &output["parameters"];
        let classes = parameters.get("classification").map(|count| {
            let count = count.as_u64().filter(|count| *count > 0).and_then(|count| usize::try_from(count).ok());
            let place = format!("/outputs/{index}/parameters/classification");
            count.ok_or_else(|| Refusal::invalid(place, "must be a whole number from 1"))
        });
        Ok(RequestedOutput {
            name: name.to_owned(),
            binary: parameters["binary_data"].as_bool().unwrap_or(binary_by_default),
            classes: classes.transpose()?,
        })
    };
    list.iter().enumerate().map(output).collect()
}

fn object(value: Value, place: &str) -> Result<Map<String, Value>, Refusal> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Refusal::invalid(place, "must be an object")),
    }
}

fn owned(key: Result<Option<&str>, JiterError>) -> Result<Option<String>, JiterError> {
    key.map(|key| key.map(str::to_owned))
}

fn wrong(json: &Jiter, error: &JiterError) -> Refusal {
    Refusal::json(json, error)
}
