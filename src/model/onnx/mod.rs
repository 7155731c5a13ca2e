//! A fitted model as an ONNX file: filling in, scaling, ψ, weights and link, for any runtime that reads ONNX.
//!
//! The file takes encoded inputs (rows×d, f64): one column for a number or a truth value, one for each level of
//! a text column, NaN where a cell is missing. `metadata_props` names them in order. Angles and waves are in
//! the precision the model is served in, everything else in f64: exact kernels too.

/// The wire format.
mod protobuf;

/// Nodes over named tensors.
mod graph;

/// ψ as nodes.
mod map;

/// The kernel at given points as nodes.
mod points;

/// From features to what predictions say, as nodes.
mod head;

use super::{FittedModel, MissingRule};
use crate::features::Precision;
use graph::{Element, Graph};
use protobuf::Message;
use serde_json::json;

/// Of the file format: read by every release of onnxruntime since 1.12.
const IR_VERSION: u64 = 8;
/// Of the operators.
const OPSET_VERSION: u64 = 17;
/// What a protobuf message can hold.
const LARGEST_BYTES: usize = i32::MAX as usize;

/// Why a model has no ONNX file.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// An exact kernel that takes a function which ONNX does not have.
    #[error(
        "exact values of a matern kernel of nu {nu} take a Bessel function, which ONNX does not have; train exact_krr \
         with nu 0.5, 1.5 or 2.5, or a learner on random features"
    )]
    Smoothness {
        /// ν.
        nu: f64,
    },
    /// Beyond what the format can hold.
    #[error(
        "written out, the model has {bytes} bytes, and an ONNX file holds at most {LARGEST_BYTES}; \
         train it with fewer features"
    )]
    TooLarge {
        /// At least.
        bytes: usize,
    },
}

/// The ONNX file of version `version` of the model `name`.
pub fn to_onnx(model: &FittedModel, name: &str, version: u32) -> Result<Vec<u8>, OnnxError> {
    check_size(number_bytes(model))?;
    let mut graph = Graph::new(name);
    graph.input("inputs", Element::Double, model.inputs.input_dim());
    let inputs = write_inputs(&mut graph, model);
    let features = if model.is_exact() {
        points::write(&mut graph, &model.map, inputs)?
    } else {
        map::write(&mut graph, &model.map, model.precision, inputs)
    };
    head::write(&mut graph, model, features);
    let message = Message::default()
        .integer(1, IR_VERSION)
        .text(2, "bochner")
        .text(3, env!("CARGO_PKG_VERSION"))
        .integer(5, u64::from(version))
        .message(8, &Message::default().text(1, "").integer(2, OPSET_VERSION))
        .message(7, &graph.into_message());
    let message = metadata(model, name, version)
        .iter()
        .fold(message, |message, (key, value)| message.message(14, &Message::default().text(1, key).text(2, value)));
    let bytes = message.into_bytes();
    check_size(bytes.len())?;
    Ok(bytes)
}

/// Filling in and scaling. Where missing cells are refused they stay NaN, and so does the prediction.
fn write_inputs(graph: &mut Graph, model: &FittedModel) -> &'static str {
    let scaling = &model.inputs.scaling;
    let d = model.inputs.input_dim();
    let mut constant = |name, values: &[f64]| graph.numbers(name, Element::Double, &[d], values.iter().copied());
    constant("offset", &scaling.offset);
    constant("factor", &scaling.factor);
    let filled = match model.missing {
        MissingRule::Refuse => "inputs",
        MissingRule::Mean => {
            constant("fill", &scaling.fill);
            graph.node("IsNaN", &["inputs"], "missing", &[]);
            graph.node("Where", &["missing", "fill", "inputs"], "filled", &[]);
            "filled"
        }
    };
    graph.node("Sub", &[filled, "offset"], "centred", &[]);
    graph.node("Mul", &["centred", "factor"], "scaled", &[]);
    "scaled"
}

/// What a reader of the file cannot see in the graph. Values are JSON.
fn metadata(model: &FittedModel, name: &str, version: u32) -> [(&'static str, String); 9] {
    let encoding = &model.inputs.encoding;
    [
        ("model", json!(name).to_string()),
        ("version", version.to_string()),
        ("dataset", json!(model.dataset).to_string()),
        ("inputs", json!(encoding.input_names()).to_string()),
        ("columns", json!(encoding.columns).to_string()),
        ("targets", json!(model.head.targets()).to_string()),
        ("labels", json!(model.head.labels().map(|labels| &labels.labels)).to_string()),
        ("missing", json!(model.missing).to_string()),
        ("spec", model.spec.clone()),
    ]
}

/// Bytes of the numbers alone.
fn number_bytes(model: &FittedModel) -> usize {
    let width = match model.precision {
        Precision::Mixed if !model.map.kernel.is_heavy_tailed() && !model.is_exact() => 4,
        Precision::Mixed | Precision::Double => 8,
    };
    width * model.map.draw_count() * model.map.input_dim() + 8 * model.weights.len()
}

fn check_size(bytes: usize) -> Result<(), OnnxError> {
    if bytes > LARGEST_BYTES { Err(OnnxError::TooLarge { bytes }) } else { Ok(()) }
}
