//! A graph being written: nodes over named tensors. Field numbers are those of `onnx.proto`.

use super::protobuf::Message;

/// Element types, with their numbers in `TensorProto.DataType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Float = 1,
    Whole = 7,
    Text = 8,
    Double = 11,
}

/// Nodes in the order they run, constants, inputs and outputs.
pub(super) struct Graph(Message);

impl Graph {
    pub(super) fn new(name: &str) -> Self {
        Self(Message::default().text(2, name))
    }

    /// Declares an input with any number of rows.
    pub(super) fn input(&mut self, name: &str, element: Element, columns: usize) {
        self.append(11, &tensor_of_rows(name, element, Some(columns)));
    }

    /// Declares an output with any number of rows; without `columns`, each row is one cell.
    pub(super) fn output(&mut self, name: &str, element: Element, columns: Option<usize>) {
        self.append(12, &tensor_of_rows(name, element, columns));
    }

    /// Declares an input of a loop body; the runtime infers its shape.
    pub(super) fn argument(&mut self, name: &str, element: Element) {
        self.append(11, &tensor_of_any_shape(name, element));
    }

    /// Declares an output of a loop body; the runtime infers its shape.
    pub(super) fn result(&mut self, name: &str, element: Element) {
        self.append(12, &tensor_of_any_shape(name, element));
    }

    /// Adds a `Scan`: `body` runs once for each index of the first axis of `sequences`, takes the state (`start` at first)
    /// and the slices of the sequences, and returns the next state. The last state is `output`.
    pub(super) fn scan(&mut self, start: &str, sequences: &[&str], output: &str, body: Self) {
        const GRAPH: u64 = 5; // AttributeProto.AttributeType
        let inputs: Vec<&str> = std::iter::once(start).chain(sequences.iter().copied()).collect();
        let body = Message::default().text(1, "body").message(6, &body.0).integer(20, GRAPH);
        self.append_node("Scan", &inputs, output, &[("num_scan_inputs", sequences.len() as u64)], &[body]);
    }

    /// Adds the node `output = operator(inputs)` with integer attributes.
    pub(super) fn node(&mut self, operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, u64)]) {
        self.append_node(operator, inputs, output, attributes, &[]);
    }

    fn append_node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, u64)],
        more: &[Message],
    ) {
        const INT: u64 = 2; // AttributeProto.AttributeType
        let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
        let node = node.text(2, output).text(3, output).text(4, operator);
        let node = attributes.iter().fold(node, |node, (name, value)| {
            node.message(5, &Message::default().text(1, name).integer(3, *value).integer(20, INT))
        });
        let node = more.iter().fold(node, |node, attribute| node.message(5, attribute));
        self.append(1, &node);
    }

    /// Adds a constant matrix, row by row.
    pub(super) fn numbers(
        &mut self,
        name: &str,
        element: Element,
        shape: &[usize],
        values: impl ExactSizeIterator<Item = f64>,
    ) {
        let tensor = tensor(name, element, shape);
        let tensor = match element {
            Element::Float => tensor.bytes(9, values.map(|value| (value as f32).to_le_bytes())),
            Element::Double => tensor.bytes(9, values.map(f64::to_le_bytes)),
            Element::Whole => tensor.bytes(9, values.map(|value| (value as i64).to_le_bytes())),
            Element::Text => unreachable!("numbers are not texts"),
        };
        self.append(5, &tensor);
    }

    /// Adds a constant scalar (f64).
    pub(super) fn number(&mut self, name: &str, value: f64) {
        self.numbers(name, Element::Double, &[], std::iter::once(value));
    }

    /// Adds a constant list of strings.
    pub(super) fn texts(&mut self, name: &str, texts: &[String]) {
        let empty = tensor(name, Element::Text, &[texts.len()]);
        let tensor = texts.iter().fold(empty, |tensor, text| tensor.text(6, text));
        self.append(5, &tensor);
    }

    /// Converts a tensor to another element type.
    pub(super) fn cast(&mut self, input: &str, to: Element, output: &str) {
        self.node("Cast", &[input], output, &[("to", to as u64)]);
    }

    pub(super) fn into_message(self) -> Message {
        self.0
    }

    fn append(&mut self, field: u32, part: &Message) {
        self.0 = std::mem::take(&mut self.0).message(field, part);
    }
}

fn tensor(name: &str, element: Element, shape: &[usize]) -> Message {
    let tensor = shape.iter().fold(Message::default(), |tensor, &size| tensor.integer(1, size as u64));
    tensor.integer(2, element as u64).text(8, name)
}

/// `ValueInfoProto` without a shape.
fn tensor_of_any_shape(name: &str, element: Element) -> Message {
    let tensor_type = Message::default().integer(1, element as u64);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor_type))
}

/// `ValueInfoProto` whose first dimension is the symbol `rows`, the same in every input and output.
fn tensor_of_rows(name: &str, element: Element, columns: Option<usize>) -> Message {
    let shape = Message::default().message(1, &Message::default().text(2, "rows"));
    let shape = columns
        .into_iter()
        .fold(shape, |shape, columns| shape.message(1, &Message::default().integer(1, columns as u64)));
    let tensor_type = Message::default().integer(1, element as u64).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor_type))
}
