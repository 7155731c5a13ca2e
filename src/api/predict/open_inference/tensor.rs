//! Tensors of the Open Inference Protocol: their datatypes and their bytes.

use crate::serving::{Refusal, RefusalCode};
use serde_json::{Value, json};

/// The datatype of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Datatype {
    Bool,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    Fp16,
    Bf16,
    Fp32,
    Fp64,
    Bytes,
}

impl Datatype {
    const ALL: [(&'static str, Self); 14] = [
        ("BOOL", Self::Bool),
        ("UINT8", Self::Uint8),
        ("UINT16", Self::Uint16),
        ("UINT32", Self::Uint32),
        ("UINT64", Self::Uint64),
        ("INT8", Self::Int8),
        ("INT16", Self::Int16),
        ("INT32", Self::Int32),
        ("INT64", Self::Int64),
        ("FP16", Self::Fp16),
        ("BF16", Self::Bf16),
        ("FP32", Self::Fp32),
        ("FP64", Self::Fp64),
        ("BYTES", Self::Bytes),
    ];

    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, datatype)| *datatype)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, datatype)| *datatype == self).map_or("", |(name, _)| name)
    }

    /// The bytes of an element; none if elements differ in length.
    fn size(self) -> Option<usize> {
        match self {
            Self::Bool | Self::Uint8 | Self::Int8 => Some(1),
            Self::Uint16 | Self::Int16 | Self::Fp16 | Self::Bf16 => Some(2),
            Self::Uint32 | Self::Int32 | Self::Fp32 => Some(4),
            Self::Uint64 | Self::Int64 | Self::Fp64 => Some(8),
            Self::Bytes => None,
        }
    }

    /// A JSON number as a value of this datatype: floats are rounded as their bytes would be. None if it is out of range
    /// or not whole. NaN is refused later, with its row and column.
    pub(crate) fn convert(self, number: f64) -> Option<f64> {
        let whole = |least: f64, most: f64| number.fract() == 0.0 && (least..=most).contains(&number);
        let held = match self {
            Self::Bool => number == 0.0 || number == 1.0,
            Self::Uint8 => whole(0.0, u8::MAX.into()),
            Self::Uint16 => whole(0.0, u16::MAX.into()),
            Self::Uint32 => whole(0.0, u32::MAX.into()),
            Self::Int8 => whole(i8::MIN.into(), i8::MAX.into()),
            Self::Int16 => whole(i16::MIN.into(), i16::MAX.into()),
            Self::Int32 => whole(i32::MIN.into(), i32::MAX.into()),
            // As a double, the largest of these is rounded up to a power of two.
            Self::Uint64 => whole(0.0, u64::MAX as f64),
            Self::Int64 => whole(i64::MIN as f64, i64::MAX as f64),
            Self::Fp16 => return rounded(number, 11, -14, 15),
            Self::Bf16 => return rounded(number, 8, -126, 127),
            Self::Fp32 => return rounded(number, 24, -126, 127),
            Self::Fp64 => true,
            Self::Bytes => false,
        };
        held.then_some(number)
    }

    /// An element as a number.
    fn number(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::Int8, [a]) => f64::from(i8::from_le_bytes([*a])),
            (_, [a]) => f64::from(*a),
            (Self::Int16, [a, b]) => f64::from(i16::from_le_bytes([*a, *b])),
            (Self::Fp16, [a, b]) => half(u16::from_le_bytes([*a, *b])),
            (Self::Bf16, [a, b]) => f64::from(f32::from_bits(u32::from(u16::from_le_bytes([*a, *b])) << 16)),
            (_, [a, b]) => f64::from(u16::from_le_bytes([*a, *b])),
            (Self::Int32, [a, b, c, d]) => f64::from(i32::from_le_bytes([*a, *b, *c, *d])),
            (Self::Uint32, [a, b, c, d]) => f64::from(u32::from_le_bytes([*a, *b, *c, *d])),
            (_, [a, b, c, d]) => f64::from(f32::from_le_bytes([*a, *b, *c, *d])),
            (_, wide) => {
                let bytes = std::array::from_fn(|i| wide.get(i).copied().unwrap_or_default());
                match self {
                    Self::Int64 => i64::from_le_bytes(bytes) as f64,
                    Self::Uint64 => u64::from_le_bytes(bytes) as f64,
                    _ => f64::from_le_bytes(bytes),
                }
            }
        }
    }
}

/// The nearest float of a format with so many binary digits and such exponents; none beyond the largest.
fn rounded(number: f64, digits: i32, least_exponent: i32, most_exponent: i32) -> Option<f64> {
    if !number.is_finite() || number == 0.0 {
        return Some(number);
    }
    let exponent = (number.to_bits() >> 52 & 0x7ff) as i32 - 1023; // for subnormals far below any range
    let quantum = 2_f64.powi(exponent.max(least_exponent) - (digits - 1));
    let nearest = (number / quantum).round_ties_even() * quantum;
    (nearest.abs() < 2_f64.powi(most_exponent + 1)).then_some(nearest)
}

/// An IEEE half-precision float.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    }
}

/// The elements of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Elements {
    Numbers(Vec<f64>),
    Booleans(Vec<bool>),
    Texts(Vec<String>),
}

impl Elements {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Booleans(booleans) => booleans.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// From the bytes of the binary extension: little-endian elements; each string after its length.
    pub(crate) fn from_bytes(datatype: Datatype, bytes: &[u8], place: &str) -> Result<Self, Refusal> {
        let wrong = |detail: &str| Err(Refusal::malformed(RefusalCode::MalformedRequest, format!("{place}: {detail}")));
        match datatype.size() {
            Some(size) if !bytes.len().is_multiple_of(size) => {
                wrong("binary_data_size is not a multiple of the size of an element")
            }
            Some(_) if datatype == Datatype::Bool => Ok(Self::Booleans(bytes.iter().map(|byte| *byte != 0).collect())),
            Some(_) if datatype == Datatype::Fp64 => {
                let numbers = bytes.as_chunks().0.iter(); // the most frequent datatype, at the speed of a copy
                Ok(Self::Numbers(numbers.map(|bytes| f64::from_le_bytes(*bytes)).collect()))
            }
            Some(size) => Ok(Self::Numbers(bytes.chunks_exact(size).map(|bytes| datatype.number(bytes)).collect())),
            None => {
                let mut texts = Vec::new();
                let mut rest = bytes;
                while let Some((length, tail)) = rest.split_first_chunk::<4>() {
                    let length = u32::from_le_bytes(*length) as usize;
                    let Some((text, tail)) = tail.split_at_checked(length) else {
                        return wrong("the length of a string exceeds the bytes that are left");
                    };
                    let Ok(text) = std::str::from_utf8(text) else { return wrong("a string is not valid UTF-8") };
                    texts.push(text.to_owned());
                    rest = tail;
                }
                if rest.is_empty() { Ok(Self::Texts(texts)) } else { wrong("the length of the last string is cut off") }
            }
        }
    }

    /// To the bytes of the binary extension.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Numbers(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Self::Booleans(booleans) => booleans.iter().map(|value| u8::from(*value)).collect(),
            Self::Texts(texts) => {
                let mut bytes = Vec::new();
                for text in texts {
                    bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }
                bytes
            }
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Numbers(numbers) => json!(numbers),
            Self::Booleans(booleans) => json!(booleans),
            Self::Texts(texts) => json!(texts),
        }
    }

    /// The datatype in which they are sent.
    pub(crate) fn datatype(&self) -> Datatype {
        match self {
            Self::Numbers(_) => Datatype::Fp64,
            Self::Booleans(_) => Datatype::Bool,
            Self::Texts(_) => Datatype::Bytes,
        }
    }
}

/// A named tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Elements,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_type_is_read_from_its_bytes() {
        let read = |datatype, bytes: &[u8]| match Elements::from_bytes(datatype, bytes, "/x").unwrap() {
            Elements::Numbers(numbers) => numbers,
            other => panic!("{other:?}"),
        };
        assert_eq!(read(Datatype::Int8, &[0xff, 2]), [-1.0, 2.0]);
        assert_eq!(read(Datatype::Uint8, &[0xff]), [255.0]);
        assert_eq!(read(Datatype::Int16, &(-300_i16).to_le_bytes()), [-300.0]);
        assert_eq!(read(Datatype::Uint16, &65_535_u16.to_le_bytes()), [65_535.0]);
        assert_eq!(read(Datatype::Int32, &(-70_000_i32).to_le_bytes()), [-70_000.0]);
        assert_eq!(read(Datatype::Uint32, &4_000_000_000_u32.to_le_bytes()), [4e9]);
        assert_eq!(read(Datatype::Int64, &(-5_i64).to_le_bytes()), [-5.0]);
        assert_eq!(read(Datatype::Uint64, &(1_u64 << 40).to_le_bytes()), [1_099_511_627_776.0]);
        assert_eq!(read(Datatype::Fp32, &1.5_f32.to_le_bytes()), [1.5]);
        assert_eq!(read(Datatype::Fp64, &(-0.1_f64).to_le_bytes()), [-0.1]);
        assert_eq!(read(Datatype::Bf16, &[0x80, 0x3f]), [1.0]);
        // One, the smallest normal, the smallest subnormal, and −2 in half precision.
        assert_eq!(
            read(Datatype::Fp16, &[0x00, 0x3c, 0x00, 0x04, 0x01, 0x00, 0x00, 0xc0]),
            [1.0, 2_f64.powi(-14), 2_f64.powi(-24), -2.0]
        );
        assert_eq!(read(Datatype::Fp16, &[0x00, 0x7c]), [f64::INFINITY]);
        assert!(read(Datatype::Fp16, &[0x01, 0x7c])[0].is_nan());
    }

    #[test]
    fn whole_number_types_hold_whole_numbers_of_their_size() {
        for (datatype, least, most) in [
            (Datatype::Uint8, 0.0, 255.0),
            (Datatype::Int8, -128.0, 127.0),
            (Datatype::Uint16, 0.0, 65_535.0),
            (Datatype::Int16, -32_768.0, 32_767.0),
            (Datatype::Uint32, 0.0, 4_294_967_295.0),
            (Datatype::Int32, -2_147_483_648.0, 2_147_483_647.0),
        ] {
            for right in [least, most, -0.0] {
                assert_eq!(datatype.convert(right), Some(right));
            }
            for wrong in [least - 1.0, most + 1.0, 1.5, f64::NAN, f64::INFINITY] {
                assert_eq!(datatype.convert(wrong), None, "{} {wrong}", datatype.name());
            }
        }
        for (datatype, largest) in [(Datatype::Int64, i64::MAX as f64), (Datatype::Uint64, u64::MAX as f64)] {
            assert_eq!(datatype.convert(largest), Some(largest));
            assert_eq!(datatype.convert(largest.next_up()), None);
        }
        assert_eq!(Datatype::Uint64.convert(-1.0), None);
    }

    /// Against the conversions of the language, and for half precision against every one of its numbers.
    #[test]
    fn floats_are_rounded_as_their_bytes_are() {
        for number in [0.1, -1e-40, 1e-45, 7e-46, 3.402_823_4e38, 16_777_217.0, 16_777_219.0, -5e-324, 0.0] {
            assert_eq!(Datatype::Fp32.convert(number), Some(f64::from(number as f32)), "{number}");
        }
        assert_eq!([1e39, -1e300].map(|number| Datatype::Fp32.convert(number)), [None, None]);
        for bits in 0..0x7bff_u16 {
            let (lower, upper) = (half(bits), half(bits + 1));
            let middle = f64::midpoint(lower, upper); // exact
            let even = if bits % 2 == 0 { lower } else { upper };
            let held = [lower, middle.next_down(), middle, middle.next_up(), -upper].map(|x| Datatype::Fp16.convert(x));
            assert_eq!(held, [lower, lower, even, upper, -upper].map(Some), "{bits}");
        }
        assert_eq!([65_519.9, 65_520.0].map(|number| Datatype::Fp16.convert(number)), [Some(65_504.0), None]);
        assert_eq!(Datatype::Bf16.convert(1.005), Some(1.007_812_5));
        assert_eq!(Datatype::Bf16.convert(3.4e38), None);
        assert!(Datatype::Fp32.convert(f64::NAN).unwrap().is_nan() && Datatype::Fp64.convert(1e300).is_some());
    }

    #[test]
    fn texts_carry_their_lengths() {
        let texts = Elements::Texts(vec!["ab".into(), String::new(), "ü".into()]);
        let bytes = texts.to_bytes();
        assert_eq!(bytes, [2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 2, 0, 0, 0, 0xc3, 0xbc]);
        assert_eq!(Elements::from_bytes(Datatype::Bytes, &bytes, "/x").unwrap(), texts);
        for wrong in [&bytes[..3], &bytes[..5], &[0xff, 0xff, 0xff, 0xff, 1][..], &[1, 0, 0, 0, 0xff][..]] {
            assert!(Elements::from_bytes(Datatype::Bytes, wrong, "/x").is_err(), "{wrong:?}");
        }
        assert!(Elements::from_bytes(Datatype::Fp32, &[0; 6], "/x").is_err());
    }
}
