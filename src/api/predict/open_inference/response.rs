//! Predictions as output tensors.

use super::request::RequestedOutput;
use super::tensor::{Datatype, Elements, Tensor};
use crate::model::{FittedModel, Head};
use crate::serving::{Answer, FAR_OUT, Output, ReadyModel, Refusal};
use serde_json::{Value, json};

/// The outputs when none is named: the values, or the labels and their probabilities.
pub(crate) fn default_outputs(model: &FittedModel) -> Vec<Output> {
    let all = Output::of(model);
    all.into_iter().filter(|output| matches!(output, Output::Value | Output::Label | Output::Probabilities)).collect()
}

/// One output as a tensor.
pub(crate) fn tensor(output: Output, answer: Answer) -> Result<Tensor, Refusal> {
    let rows = answer.predictions.values.nrows();
    let elements = match output {
        Output::Label => Elements::Texts(answer.labels()),
        Output::LabelSet => Elements::Texts(answer.label_sets()),
        Output::Warnings => Elements::Texts(answer.warning_lists()),
        Output::InRange => Elements::Booleans(answer.in_range()),
        Output::Value
        | Output::Spread
        | Output::Probabilities
        | Output::DecisionValues
        | Output::Interval
        | Output::ErrorBar
        | Output::CertifiedErrorBar
        | Output::Contributions => {
            let numbers = answer.numbers(output);
            if numbers.iter().any(|number| !number.is_finite()) {
                if answer.outputs.has_intervals() {
                    return Err(Refusal::invalid("/outputs", FAR_OUT));
                }
                let detail = "there are too few calibration rows for an interval at this delta; use a larger delta";
                return Err(Refusal::invalid("/parameters/delta", detail));
            }
            Elements::Numbers(numbers)
        }
    };
    let mut shape = vec![rows];
    shape.extend(inner_shape(output, answer.model));
    Ok(Tensor { name: output.name().to_owned(), shape, elements })
}

/// The datatype of an output.
pub(crate) fn datatype(output: Output) -> Datatype {
    match output {
        Output::Label | Output::LabelSet | Output::Warnings => Datatype::Bytes,
        Output::InRange => Datatype::Bool,
        Output::Value
        | Output::Spread
        | Output::Probabilities
        | Output::DecisionValues
        | Output::Interval
        | Output::ErrorBar
        | Output::CertifiedErrorBar
        | Output::Contributions => Datatype::Fp64,
    }
}

/// The shape of an output for one row.
pub(crate) fn inner_shape(output: Output, model: &FittedModel) -> Vec<usize> {
    let (outputs, classes) = match &model.head {
        Head::Numbers { targets } => (targets.len(), 0),
        Head::Labels(labels) => (labels.output_count(), labels.labels.len()),
    };
    let width = |width: usize| if width == 1 { vec![] } else { vec![width] };
    match output {
        Output::Label | Output::LabelSet | Output::InRange | Output::Warnings => vec![],
        Output::Probabilities => vec![classes],
        Output::Value | Output::Spread | Output::ErrorBar | Output::CertifiedErrorBar | Output::DecisionValues => {
            width(outputs)
        }
        Output::Interval => [width(outputs), vec![2]].concat(),
        Output::Contributions => [width(outputs), vec![model.inputs.encoding.columns.len()]].concat(),
    }
}

/// The classification extension: for each row the largest elements as `value:index:label`, or `value:index` if the
/// elements do not belong to labels. Tensors of strings are unchanged.
pub(crate) fn classified(tensor: Tensor, count: usize, labels: &[String]) -> Tensor {
    let Tensor { name, shape, elements } = tensor;
    let Elements::Numbers(numbers) = elements else { return Tensor { name, shape, elements } };
    let rows = shape.first().copied().unwrap_or_default();
    let width = numbers.len().checked_div(rows).unwrap_or_default().max(1);
    let count = count.min(width);
    let labels = if labels.len() == width { labels } else { &[] };
    let mut texts = Vec::with_capacity(rows * count);
    for row in numbers.chunks_exact(width) {
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&left, &right| row[right].total_cmp(&row[left]));
        texts.extend(order.into_iter().take(count).map(|index| match labels.get(index) {
            Some(label) => format!("{}:{index}:{label}", row[index]),
            None => format!("{}:{index}", row[index]),
        }));
    }
    Tensor { name, shape: vec![rows, count], elements: Elements::Texts(texts) }
}

/// The body of a response, and the length of its JSON if bytes follow.
pub(crate) fn body(model: &ReadyModel, id: Option<&String>, tensors: &[(Tensor, bool)]) -> (Vec<u8>, Option<usize>) {
    let mut bytes = Vec::new();
    let mut outputs = Vec::with_capacity(tensors.len());
    for (tensor, binary) in tensors {
        let mut output = json!({
            "name": tensor.name,
            "datatype": tensor.elements.datatype().name(),
            "shape": tensor.shape,
        });
        if *binary {
            let encoded = tensor.elements.to_bytes();
            output["parameters"] = json!({"binary_data_size": encoded.len()});
            bytes.extend(encoded);
        } else {
            output["data"] = tensor.elements.to_json();
        }
        outputs.push(output);
    }
    let entry = &model.entry;
    let mut answer = json!({"model_name": entry.name, "model_version": entry.version.to_string()});
    if let Some(id) = id {
        answer["id"] = json!(id);
    }
    answer["outputs"] = Value::Array(outputs);
    let mut text = answer.to_string().into_bytes();
    let has_binary = tensors.iter().any(|(_, binary)| *binary);
    let json_length = has_binary.then_some(text.len());
    text.extend(bytes);
    (text, json_length)
}

/// The output that a request names.
pub(crate) fn find_output(requested: &RequestedOutput, index: usize, model: &FittedModel) -> Result<Output, Refusal> {
    let known = Output::of(model);
    let found = known.iter().copied().find(|output| output.name() == requested.name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|output| output.name()).collect();
        let detail = format!("there is no output '{}'; this model has {}", requested.name, names.join(", "));
        Refusal::invalid(format!("/outputs/{index}/name"), detail)
    })?;
    if requested.classes.is_some() && datatype(found) != Datatype::Fp64 {
        let detail = format!("does not apply to '{}'; request it for the output probabilities", requested.name);
        return Err(Refusal::invalid(format!("/outputs/{index}/parameters/classification"), detail));
    }
    Ok(found)
}
