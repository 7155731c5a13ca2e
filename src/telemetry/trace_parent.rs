//! Which trace a request belongs to: the W3C header `traceparent`. [Trace Context, section 3.2]

use std::fmt;
use std::str::FromStr;

/// A trace, and the span in it that asks. As text it is the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

impl TraceParent {
    /// From ids; none if one is zero, which stands for no id.
    #[cfg(feature = "otlp")]
    pub(super) fn new(trace: u128, span: u64, flags: u8) -> Option<Self> {
        (trace != 0 && span != 0).then_some(Self { trace, span, flags })
    }

    /// The id of the trace, as log lines have it.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    #[cfg(feature = "otlp")]
    pub(super) fn ids(self) -> (u128, u64, u8) {
        (self.trace, self.span, self.flags)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// The header is no `traceparent`: the trace begins here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTraceParent;

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    /// Later versions may have more fields after those that are known.
    fn from_str(text: &str) -> Result<Self, NoTraceParent> {
        let mut fields = text.splitn(5, '-');
        let mut field = |digits: usize| fields.next().and_then(|field| hexadecimal(field, digits)).ok_or(NoTraceParent);
        let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        let is_known = version != 0xff && (version != 0 || fields.next().is_none());
        if !is_known || trace == 0 || span == 0 {
            return Err(NoTraceParent);
        }
        Ok(Self { trace, span: span as u64, flags: flags as u8 })
    }
}

/// Lower case, and exactly so many digits.
fn hexadecimal(field: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_number = field.len() == digits && field.bytes().all(is_digit);
    if is_number { u128::from_str_radix(field, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_and_written() {
        let parent: TraceParent = TEXT.parse().unwrap();
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.to_string(), TEXT);
        let later = format!("cc{}-what-comes-later", &TEXT[2..]);
        assert_eq!(later.parse(), Ok(parent));
    }

    #[test]
    fn what_is_no_header_is_none() {
        for wrong in [
            "",
            "00-zz-zz-01",
            &TEXT[..54],
            &TEXT.to_uppercase(),
            &format!("{TEXT}-more"),
            &format!("ff{}", &TEXT[2..]),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-é",
        ] {
            assert_eq!(wrong.parse::<TraceParent>(), Err(NoTraceParent), "{wrong}");
        }
    }
}
