//! Members of a JSON object: known ones may occur once, small ones are parsed into a value, unknown ones are skipped.

use crate::request::json;
use crate::request::problem::pointer;
use crate::serving::{Refusal, RefusalCode};
use jiter::Jiter;
use serde_json::Value;

/// Refuses duplicates among the known members of an object.
pub struct Once<const N: usize> {
    known: [&'static str; N],
    seen: [bool; N],
}

impl<const N: usize> Once<N> {
    /// Before the first member.
    pub fn of(known: [&'static str; N]) -> Self {
        Self { known, seen: [false; N] }
    }

    /// Notes a member of the object at `place`; refuses a known one that was noted before.
    pub fn note(&mut self, place: &str, name: &str) -> Result<(), Refusal> {
        match self.known.iter().position(|known| *known == name) {
            Some(at) if std::mem::replace(&mut self.seen[at], true) => Err(Refusal::twice(&pointer(place, name))),
            _ => Ok(()),
        }
    }
}

/// Parses the member at `place`, which is small: not a list of rows.
pub fn read_small(json: &mut Jiter, place: &str) -> Result<Value, Refusal> {
    let start = json.current_index();
    json.next_skip().map_err(|error| Refusal::json(json, &error))?;
    let text = json.slice_to_current(start);
    json::read(text).map_err(|error| {
        // serde_json counts from the start of the member, the client from the start of the body.
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        let lines = text.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let index = start + lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        let position = json.error_position(index);
        let (line, column) = (position.line, position.column);
        if error.is_data() {
            let detail = format!("{place}: {words} at line {line} column {column}");
            return Refusal::malformed(RefusalCode::MalformedRequest, detail);
        }
        Refusal::malformed(
            RefusalCode::MalformedJson,
            format!("{place}: not JSON: {words} at line {line} column {column}"),
        )
    })
}

/// Skips a member; it must still be UTF-8, or the body is not JSON.
pub fn skip(json: &mut Jiter) -> Result<(), Refusal> {
    let start = json.current_index();
    json.next_skip().map_err(|error| Refusal::json(json, &error))?;
    std::str::from_utf8(json.slice_to_current(start)).map(|_| ()).map_err(|error| {
        let position = json.error_position(start + error.valid_up_to());
        let detail = format!("not JSON: invalid UTF-8 at line {} column {}", position.line, position.column);
        Refusal::malformed(RefusalCode::MalformedJson, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &[u8], read: impl Fn(&mut Jiter) -> Result<(), Refusal>) -> String {
        let mut json = Jiter::new(text).with_allow_inf_nan();
        assert_eq!(json.next_object().unwrap(), Some("a"));
        match read(&mut json) {
            Err(Refusal::Malformed { code, detail }) => format!("{code:?}: {detail}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn positions_are_those_of_the_whole_text() {
        let small = |json: &mut Jiter| read_small(json, "/a").map(|_| ());
        assert_eq!(refusal(b"{\n \"a\":NaN}", small), "MalformedJson: /a: not JSON: expected value at line 2 column 6");
        let twice = refusal(b"{\"a\": [1,\n {\"b\": 1, \"b\": 2}]}", small);
        assert_eq!(twice, "MalformedRequest: /a: 'b' is given twice at line 2 column 13");
        assert_eq!(
            refusal(b"{\n\"a\": [\"\xff\"]}", skip),
            "MalformedJson: not JSON: invalid UTF-8 at line 2 column 8"
        );
    }

    #[test]
    fn known_members_come_once() {
        let mut once = Once::of(["a", "b"]);
        for name in ["a", "c", "b", "c"] {
            once.note("/x", name).unwrap();
        }
        assert_eq!(once.note("/x", "b"), Err(Refusal::twice("/x/b")));
    }
}
