//! A fitted model as an ONNX file: imputation, scaling, ψ, weights and link, for any runtime that reads ONNX.
//!
//! The file takes encoded inputs (rows×d, f64): one column for a number or a truth value, one for each level of
//! a text column or 64 signs if it has many, six or eight for a date, NaN where a cell is missing. Reading texts is outside
//! of the file. `metadata_props` names them in order. Phases and cosines are computed in
//! the precision the model is served in, everything else in f64, exact kernels included.

/// The protobuf wire format.
mod protobuf;

/// A graph of nodes over named tensors.
mod graph;

/// The nodes that compute ψ.
mod map;

/// The nodes that compute an exact kernel at given points.
mod points;

/// The nodes that turn features into values, labels and probabilities.
mod head;

use super::{FittedModel, MissingRule};
use crate::features::Precision;
use graph::{Element, Graph};
use ndarray::Array2;
use protobuf::Message;
use serde_json::{Value, json};

/// Version of the ONNX file format; onnxruntime reads it since 1.12.
const IR_VERSION: u64 = 8;
/// Version of the operator set.
const OPSET_VERSION: u64 = 17;
/// The largest protobuf message, 2 GiB.
const LARGEST_BYTES: usize = i32::MAX as usize;

/// Why a model cannot be exported as ONNX.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// The exact kernel needs a function that ONNX does not have.
    #[error(
        "exact values of a matern kernel of nu {nu} take a Bessel function, which ONNX does not have; train exact_krr \
         with nu 0.5, 1.5 or 2.5, or a learner on random features"
    )]
    Smoothness {
        /// ν.
        nu: f64,
    },
    /// The model is larger than a protobuf message can be.
    #[error(
        "written out, the model has {bytes} bytes, and an ONNX file holds at most {LARGEST_BYTES}; \
         train it with fewer features"
    )]
    TooLarge {
        /// A lower estimate of its size.
        bytes: usize,
    },
}

/// What a program that runs the file has to do itself.
const OUTSIDE: &str = "Reading texts is not part of this graph: signs of currency and percent, separators of thousands, decimal \
    commas, words for missing values, dates and levels. Send numbers as in 'inputs': NaN for a missing cell, 1 and 0 for a \
    level or a truth value, for a column in 'signs' its 64 inputs (bit i of the number of the level, counted from the lowest, \
    gives input i: 0.125 if it is set and -0.125 otherwise; a level without a number or not listed takes that of 'others', \
    and 0 in all inputs if that is null), and for a date the days since 1970-01-01, the year, and sine and cosine of 2\u{3c0}(month-1)/12, \
    2\u{3c0}weekday/7 from Monday and 2\u{3c0}hour/24.";

/// The ONNX file of version `version` of the model `name`.
pub fn to_onnx(model: &FittedModel, name: &str, version: u32) -> Result<Vec<u8>, OnnxError> {
    check_size(number_bytes(model))?;
    let mut graph = Graph::new(name);
    graph.input("inputs", Element::Double, model.inputs.input_dim());
    let inputs = write_inputs(&mut graph, model);
    let features = match &model.inputs.metric_root {
        Some(root) if model.is_exact() => {
            let inputs = write_metric(&mut graph, root, inputs);
            points::write(&mut graph, &model.map, inputs)?
        }
        None if model.is_exact() => points::write(&mut graph, &model.map, inputs)?,
        Some(root) => map::write(&mut graph, &model.map.folded(root), model.precision, inputs),
        None => map::write(&mut graph, &model.map, model.precision, inputs),
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

/// Imputes and scales. Where missing cells are refused they stay NaN, and so does the prediction.
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

/// Multiplies by the root of the metric, where there are no frequencies that could hold it.
fn write_metric(graph: &mut Graph, root: &Array2<f64>, inputs: &str) -> &'static str {
    let (d, _) = root.dim();
    graph.numbers("metric_root", Element::Double, &[d, d], root.iter().copied());
    graph.node("MatMul", &[inputs, "metric_root"], "in_metric", &[]);
    "in_metric"
}

/// Metadata that the graph does not show; values are JSON.
fn metadata(model: &FittedModel, name: &str, version: u32) -> [(&'static str, String); 11] {
    let encoding = &model.inputs.encoding;
    [
        ("model", json!(name).to_string()),
        ("version", version.to_string()),
        ("dataset", json!(model.dataset).to_string()),
        ("inputs", json!(encoding.input_names()).to_string()),
        ("columns", json!(encoding.columns).to_string()),
        ("signs", signs(model).to_string()),
        ("outside", json!(OUTSIDE).to_string()),
        ("targets", json!(model.head.targets()).to_string()),
        ("labels", json!(model.head.labels().map(|labels| &labels.labels)).to_string()),
        ("missing", json!(model.missing).to_string()),
        ("spec", model.spec.clone()),
    ]
}

/// The signs of levels by column, as hexadecimal numbers in the order of the levels.
fn signs(model: &FittedModel) -> Value {
    let hexadecimal = |signs: Option<u64>| signs.map(|signs| format!("{signs:016x}"));
    let mut by_column = serde_json::Map::new();
    for column in &model.inputs.encoding.columns {
        if let Some(signs) = &column.signs {
            let of_levels: Vec<_> = signs.of_levels.iter().map(|level| hexadecimal(*level)).collect();
            let others = hexadecimal(signs.of_others);
            by_column.insert(column.name.clone(), json!({"levels": of_levels, "others": others}));
        }
    }
    by_column.into()
}

/// Bytes of the numbers, without names and structure.
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
