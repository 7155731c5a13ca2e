//! A graph being written: nodes over named tensors. Field numbers are those of `onnx.proto`.

use super::protobuf::Message;

/// What a tensor holds, by its number in `TensorProto.DataType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// f32.
    Float = 1,
    /// i64.
    Whole = 7,
    /// UTF-8.
    Text = 8,
    /// f64.
    Double = 11,
}

/// Nodes in the order they run, constants, inputs and outputs.
pub(super) struct Graph(Message);

impl Graph {
    pub(super) fn new(name: &str) -> Self {
        Self(Message::default().text(2, name))
    }

    /// An input of any number of rows.
    pub(super) fn input(&mut self, name: &str, element: Element, columns: usize) {
        self.append(11, &tensor_of_rows(name, element, Some(columns)));
    }

    /// An output of any number of rows; one cell a row without `columns`.
    pub(super) fn output(&mut self, name: &str, element: Element, columns: Option<usize>) {
        self.append(12, &tensor_of_rows(name, element, columns));
    }

    /// An input of a body, of any shape.
    pub(super) fn argument(&mut self, name: &str, element: Element) {
        self.append(11, &tensor_of_any_shape(name, element));
    }

    /// An output of a body, of any shape.
    pub(super) fn result(&mut self, name: &str, element: Element) {
        self.append(12, &tensor_of_any_shape(name, element));
    }

    /// `output` is what `body` makes of `start`, step by step over the first axis of `sequences`. The arguments of the
    /// body are what the step before gave, and the parts of the sequences.
    pub(super) fn scan(&mut self, start: &str, sequences: &[&str], output: &str, body: Self) {
        const GRAPH: u64 = 5; // AttributeProto.AttributeType
        let inputs: Vec<&str> = std::iter::once(start).chain(sequences.iter().copied()).collect();
        let body = Message::default().text(1, "body").message(6, &body.0).integer(20, GRAPH);
        self.append_node("Scan", &inputs, output, &[("num_scan_inputs", sequences.len() as u64)], &[body]);
    }

    /// `output = operator(inputs)`, with whole numbers as attributes.
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

    /// A constant of numbers, row by row.
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

    /// A constant of one f64.
    pub(super) fn number(&mut self, name: &str, value: f64) {
        self.numbers(name, Element::Double, &[], std::iter::once(value));
    }

    /// A list of texts as a constant.
    pub(super) fn texts(&mut self, name: &str, texts: &[String]) {
        let empty = tensor(name, Element::Text, &[texts.len()]);
        let tensor = texts.iter().fold(empty, |tensor, text| tensor.text(6, text));
        self.append(5, &tensor);
    }

    /// Turns a tensor into one of another element.
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

/// `ValueInfoProto` that leaves the shape to the runtime.
fn tensor_of_any_shape(name: &str, element: Element) -> Message {
    let tensor_type = Message::default().integer(1, element as u64);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor_type))
}

/// `ValueInfoProto`: `rows` is a name, not a number, and the same in all of them.
fn tensor_of_rows(name: &str, element: Element, columns: Option<usize>) -> Message {
    let shape = Message::default().message(1, &Message::default().text(2, "rows"));
    let shape = columns
        .into_iter()
        .fold(shape, |shape, columns| shape.message(1, &Message::default().integer(1, columns as u64)));
    let tensor_type = Message::default().integer(1, element as u64).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor_type))
}
