//! JSON read value by value from a stream, in a buffer of fixed size: a table never becomes a tree.

use crate::dataset::DatasetError;
use std::io::{self, Read};

const BUFFER: usize = 1 << 16;

/// Longest string or number.
const LONGEST_VALUE: usize = 16 << 20;

/// Why the text cannot be read.
#[derive(Debug)]
pub(super) enum JsonFault {
    Io(io::Error),
    Text(String),
}

impl JsonFault {
    /// The error at a line or row.
    pub(super) fn at(self, line: u64, column: Option<&str>) -> DatasetError {
        match self {
            Self::Io(error) => error.into(),
            Self::Text(detail) => DatasetError::at(line, column, detail),
        }
    }
}

impl From<io::Error> for JsonFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn fault<T>(detail: impl Into<String>) -> Result<T, JsonFault> {
    Err(JsonFault::Text(detail.into()))
}

/// A JSON text and the position in it.
pub(super) struct JsonText<R> {
    source: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the text before the buffer.
    passed: u64,
    /// The current line, from one.
    pub(super) line: u64,
}

impl<R: Read> JsonText<R> {
    pub(super) fn new(source: R) -> Self {
        Self::with_buffer(source, BUFFER)
    }

    pub(super) fn with_buffer(source: R, bytes: usize) -> Self {
        Self { source, buffer: vec![0; bytes].into(), start: 0, end: 0, passed: 0, line: 1 }
    }

    /// Bytes before the current position.
    pub(super) fn offset(&self) -> u64 {
        self.passed + self.start as u64
    }

    /// Skips the mark that some programs write before UTF-8 text.
    pub(super) fn skip_byte_order_mark(&mut self) -> Result<(), JsonFault> {
        if self.rest()?.first() == Some(&0xef) {
            for expected in crate::dataset::BYTE_ORDER_MARK {
                if self.next()? != Some(*expected) {
                    return fault("not JSON");
                }
            }
        }
        Ok(())
    }

    /// The bytes in the buffer; none at the end of the text.
    fn rest(&mut self) -> Result<&[u8], JsonFault> {
        if self.start == self.end {
            self.passed += self.end as u64;
            (self.start, self.end) = (0, 0);
            self.end = loop {
                match self.source.read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    outcome => break outcome?,
                }
            };
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn next(&mut self) -> Result<Option<u8>, JsonFault> {
        let byte = self.rest()?.first().copied();
        self.start += usize::from(byte.is_some());
        Ok(byte)
    }

    /// The next byte that is no white space, which stays; none at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, JsonFault> {
        loop {
            match self.rest()?.first() {
                Some(b'\n') => {
                    self.line += 1;
                    self.start += 1;
                }
                Some(b' ' | b'\t' | b'\r') => self.start += 1,
                other => return Ok(other.copied()),
            }
        }
    }

    /// Takes the next byte that is no white space if it is `byte`.
    pub(super) fn take(&mut self, byte: u8) -> Result<bool, JsonFault> {
        let found = self.peek()? == Some(byte);
        self.start += usize::from(found);
        Ok(found)
    }

    /// Takes `byte`, which must come next.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.take(byte)? {
            return Ok(());
        }
        let expected = byte as char;
        match self.peek()? {
            Some(found) => {
                fault(format!("not JSON: expected '{expected}', found '{}'", (found as char).escape_default()))
            }
            None => fault(format!("not JSON: expected '{expected}', found the end of the text")),
        }
    }

    /// After a value in a list or object: true if another follows, false at `end`.
    pub(super) fn another(&mut self, end: u8) -> Result<bool, JsonFault> {
        if self.take(end)? {
            return Ok(false);
        }
        self.expect(b',')?;
        Ok(true)
    }

    /// Appends the text of a number, string, true or false to `cell`; nothing for null. Lists and objects are refused.
    pub(super) fn cell(&mut self, cell: &mut Vec<u8>) -> Result<(), JsonFault> {
        match self.peek()? {
            Some(b'"') => self.string(cell),
            Some(b'{') => fault("holds an object; send a number, a string, true, false or null"),
            Some(b'[') => fault("holds a list; send one column for each of its values"),
            Some(byte) if byte == b'-' || byte.is_ascii_digit() => self.number(cell),
            Some(byte) if byte.is_ascii_alphabetic() => self.word(cell),
            Some(byte) => fault(format!("not JSON: expected a value, found '{}'", (byte as char).escape_default())),
            None => fault("not JSON: the text ends where a value is expected"),
        }
    }

    /// Appends the bytes of the next string, which may not be valid UTF-8.
    pub(super) fn string(&mut self, text: &mut Vec<u8>) -> Result<(), JsonFault> {
        self.expect(b'"')?;
        let from = text.len();
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return fault("not JSON: a string is not closed");
            }
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
            text.extend_from_slice(&rest[..plain]);
            let stop = rest.get(plain).copied();
            self.start += plain + usize::from(stop.is_some());
            if text.len() - from > LONGEST_VALUE {
                return fault(format!("a string is longer than {} MiB", LONGEST_VALUE >> 20));
            }
            match stop {
                None => {}
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.escape(text)?,
                Some(_) => return fault("not JSON: a control character in a string; write it as an escape"),
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), JsonFault> {
        let plain = match self.next()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let mut unit = self.code_unit()?;
                if (0xd800..0xdc00).contains(&unit) && self.next()? == Some(b'\\') && self.next()? == Some(b'u') {
                    let low = self.code_unit()?;
                    if (0xdc00..0xe000).contains(&low) {
                        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    }
                }
                let Some(letter) = char::from_u32(unit) else {
                    return fault("not JSON: half of a surrogate pair in a string");
                };
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return fault("not JSON: an unknown escape in a string"),
        };
        text.push(plain);
        Ok(())
    }

    fn code_unit(&mut self) -> Result<u32, JsonFault> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.next()?.and_then(|byte| (byte as char).to_digit(16));
            let Some(digit) = digit else { return fault("not JSON: \\u needs four hexadecimal digits") };
            unit = unit * 16 + digit;
        }
        Ok(unit)
    }

    fn number(&mut self, cell: &mut Vec<u8>) -> Result<(), JsonFault> {
        let from = cell.len();
        self.collect(cell, |byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'))?;
        if is_number(&cell[from..]) {
            return Ok(());
        }
        fault(format!("not JSON: '{}' is not a number", String::from_utf8_lossy(&cell[from..])))
    }

    fn word(&mut self, cell: &mut Vec<u8>) -> Result<(), JsonFault> {
        let from = cell.len();
        self.collect(cell, |byte| byte.is_ascii_alphanumeric())?;
        match &cell[from..] {
            b"true" | b"false" => Ok(()),
            b"null" => {
                cell.truncate(from);
                Ok(())
            }
            other => fault(format!(
                "not JSON: '{}' is not a value; write null if the value is missing",
                String::from_utf8_lossy(&other[..other.len().min(40)])
            )),
        }
    }

    fn collect(&mut self, cell: &mut Vec<u8>, belongs: impl Fn(u8) -> bool) -> Result<(), JsonFault> {
        loop {
            let rest = self.rest()?;
            let count = rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
            cell.extend_from_slice(&rest[..count]);
            let more = count == rest.len() && count > 0;
            self.start += count;
            if !more {
                return Ok(());
            }
            if cell.len() > 2 * LONGEST_VALUE {
                return fault("not JSON: a number is too long");
            }
        }
    }
}

/// Whether a text is a number as JSON writes them.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What serde_json makes of the same value.
    fn oracle(text: &str) -> Option<String> {
        match serde_json::from_str(text).ok()? {
            serde_json::Value::String(string) => Some(string),
            serde_json::Value::Null => Some(String::new()),
            serde_json::Value::Bool(value) => Some(value.to_string()),
            serde_json::Value::Number(_) => Some(text.trim().to_owned()),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
        }
    }

    /// In a buffer so small that every value is cut.
    fn read(text: &str, buffer: usize) -> Option<String> {
        let mut json = JsonText::with_buffer(text.as_bytes(), buffer);
        let mut cell = Vec::new();
        json.cell(&mut cell).ok()?;
        json.peek().ok()?.is_none().then(|| String::from_utf8(cell).unwrap())
    }

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        for text in [
            "1",
            "-0.5e+10",
            "01",
            "1.",
            "-",
            "+1",
            "1e",
            "1e5x",
            " true ",
            "null",
            "nul",
            "NaN",
            "\"a\"",
            "\"a",
            "\"\\n\\u00e9\\\"\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\u0041\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"tab\there\"",
            "\"é😀\"",
            "[1]",
            "{}",
            "",
            "1 2",
            ".5",
            "0",
            "-0",
            "1E400",
            "12345678901234567890",
        ] {
            // serde_json refuses numbers that are too large; here the cell is refused later, with its column.
            let expected = if text == "1E400" { Some(text.to_owned()) } else { oracle(text) };
            for buffer in [1, 2, 3, 64] {
                assert_eq!(read(text, buffer), expected, "{text:?} in {buffer} bytes");
            }
        }
    }
}
