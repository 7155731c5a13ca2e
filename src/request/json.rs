//! JSON values without repeated members. Accepting them would silently ignore one of the values.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Reads one value, and nothing after it. An error of the data category is a repeated member.
pub(crate) fn read(text: &[u8]) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Unique.deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// Builds a value and refuses repeated members.
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("'{name}' is given twice")));
            }
            object.insert(name, members.next_value_seed(Self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn values_without_repeated_members_are_read_as_serde_reads_them() {
        for text in [
            "null",
            " [1, -2, 1.5e300, 18446744073709551615, 0.1, -0.0, true, \"\\u00fc\\n\", {}, []] ",
            r#"{"b": {"a": 1}, "a": [{"a": 2}, {"a": 3}], "": null}"#,
        ] {
            assert_eq!(read(text.as_bytes()).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
        }
        for wrong in ["", "{", "[1,]", "1 2", "NaN", "\"\u{1}\"", "{\"a\" 1}"] {
            assert!(!read(wrong.as_bytes()).unwrap_err().is_data(), "{wrong}");
        }
        assert!(!read(b"\"\xff\"").unwrap_err().is_data());
        assert!(read("[".repeat(1000).as_bytes()).is_err());
    }

    #[test]
    fn a_repeated_member_is_refused_at_any_depth() {
        for text in [r#"{"a": 1, "b": 2, "a": 1}"#, r#"[[{"x": {"a": {}, "\u0061": {}}}]]"#] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.is_data() && error.to_string().starts_with("'a' is given twice at line 1"), "{error}");
        }
    }
}
