//! The protobuf wire format, as far as ONNX needs it: numbers, texts, bytes, and messages in messages.

/// A message being written, field after field.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Writes an integer as a varint. ONNX has signed fields, but no value here is negative.
    pub(super) fn integer(mut self, field: u32, value: u64) -> Self {
        self.key(field, 0);
        self.varint(value);
        self
    }

    /// Writes a string.
    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes().iter().copied().map(|byte| [byte]))
    }

    /// Writes bytes in chunks of equal size: the little-endian numbers of a tensor.
    pub(super) fn bytes<const N: usize>(mut self, field: u32, chunks: impl ExactSizeIterator<Item = [u8; N]>) -> Self {
        self.key(field, 2);
        self.varint((N * chunks.len()) as u64);
        self.0.reserve(N * chunks.len());
        chunks.for_each(|chunk| self.0.extend(chunk));
        self
    }

    /// Writes a nested message.
    pub(super) fn message(mut self, field: u32, message: &Self) -> Self {
        self.key(field, 2);
        self.varint(message.0.len() as u64);
        self.0.extend_from_slice(&message.0);
        self
    }

    /// The encoded message.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Field number and wire type: 0 is a varint, 2 is counted bytes.
    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// Seven bits a byte, the lowest first; the high bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own documentation.
    #[test]
    fn fields_are_written_as_the_format_says() {
        assert_eq!(Message::default().integer(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let testing = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(Message::default().text(2, "testing").into_bytes(), testing);
        let inner = Message::default().integer(1, 150);
        assert_eq!(Message::default().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let numbers = [1_u16, 2].map(u16::to_le_bytes);
        assert_eq!(Message::default().bytes(20, numbers.into_iter()).into_bytes(), [0xa2, 0x01, 4, 1, 0, 2, 0]);
    }
}
