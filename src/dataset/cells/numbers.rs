//! Numbers as people write them: `1048.52`, `$1,048.52`, `1.048,52 €`, `12.5%`, `(310)`, `1 048`.

use serde::Serialize;

/// What separates the whole part of a number from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    /// `1,048.52`.
    #[default]
    Point,
    /// `1.048,52`.
    Comma,
}

/// What a number is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataset) enum Unit {
    /// Digits alone.
    Bare,
    /// A percent sign: the number is a hundredth of what is written.
    Percent,
    /// A currency, by its index in the list of signs.
    Currency(u8),
}

impl Unit {
    /// The sign as it is written.
    pub(in crate::dataset) fn sign(self) -> &'static str {
        match self {
            Self::Bare => "no sign",
            Self::Percent => "%",
            Self::Currency(index) => CURRENCIES[index as usize % CURRENCIES.len()],
        }
    }
}

/// How the digits of a number look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataset) enum Form {
    /// A quantity.
    Quantity,
    /// Digits that begin with a zero, such as `007`: more likely a code.
    LeadingZero,
    /// An integer of 2^53 and above, which a double does not hold exactly.
    TooLong,
}

/// A number that was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::dataset) struct Number {
    /// May be infinite.
    pub(in crate::dataset) value: f64,
    pub(in crate::dataset) unit: Unit,
    pub(in crate::dataset) form: Form,
}

const CURRENCIES: [&str; 20] = [
    "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "R$", "US$", "USD", "EUR", "GBP", "CHF", "JPY", "CAD", "AUD", "INR", "CNY",
    "SEK",
];

/// Longest text that can be a number; longer ones are texts.
const LONGEST: usize = 64;

/// Reads a number; none if the cell is something else. NaN and infinities by name are numbers that are not finite.
pub(super) fn read(cell: &str, decimal: DecimalMark) -> Option<Number> {
    let bytes = cell.as_bytes();
    let first = bytes.first()?;
    if bytes.len() > LONGEST {
        return None;
    }
    let is_plain = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    if bytes.iter().all(is_plain) {
        if decimal == DecimalMark::Comma && bytes.contains(&b'.') {
            return dressed(cell, decimal); // a point separates thousands
        }
        let value = cell.parse().ok()?;
        return Some(Number { value, unit: Unit::Bare, form: form_of(bytes, value) });
    }
    if first.is_ascii_alphabetic() || matches!(first, b'-' | b'+') && bytes.get(1).is_some_and(u8::is_ascii_alphabetic)
    {
        // The standard library reads `NaN`, `inf` and `infinity`.
        if let Ok(value) = cell.parse() {
            return Some(Number { value, unit: Unit::Bare, form: Form::Quantity });
        }
    }
    dressed(cell, decimal)
}

fn form_of(bytes: &[u8], value: f64) -> Form {
    const IMPRECISE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if !digits.iter().all(u8::is_ascii_digit) {
        Form::Quantity
    } else if digits.len() > 1 && digits[0] == b'0' {
        Form::LeadingZero
    } else if value.abs() >= IMPRECISE {
        Form::TooLong
    } else {
        Form::Quantity
    }
}

/// A number with a currency sign, a percent sign, parentheses or groups of digits.
fn dressed(cell: &str, decimal: DecimalMark) -> Option<Number> {
    let (negative, rest) = strip_sign(cell);
    let (unit, rest) = strip_unit(rest);
    // The sign may also stand behind the currency: `$-5`.
    let (negative_inside, rest) = if negative { (false, rest) } else { strip_sign(rest) };
    let plain = ungrouped(rest, decimal)?;
    let size: f64 = plain.parse().ok()?;
    let size = if unit == Unit::Percent { size / 100.0 } else { size };
    let value = if negative || negative_inside { -size } else { size };
    let form = if unit == Unit::Bare && rest == cell { form_of(cell.as_bytes(), value) } else { Form::Quantity };
    Some(Number { value, unit, form })
}

/// A leading sign, or the parentheses of an accountant.
fn strip_sign(text: &str) -> (bool, &str) {
    if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return (true, inner.trim());
    }
    for sign in ["-", "\u{2212}"] {
        if let Some(rest) = text.strip_prefix(sign) {
            return (true, rest.trim_start());
        }
    }
    (false, text.strip_prefix('+').unwrap_or(text))
}

/// At most one sign, before or behind the digits.
fn strip_unit(text: &str) -> (Unit, &str) {
    if let Some(rest) = text.strip_suffix('%') {
        return (Unit::Percent, rest.trim_end());
    }
    // The longest sign first: `US$` before `$`.
    let mut found: Option<(u8, &str)> = None;
    for (index, sign) in CURRENCIES.iter().enumerate() {
        let rest = text.strip_prefix(sign).or_else(|| text.strip_suffix(sign));
        if let Some(rest) = rest
            && found.is_none_or(|(_, shortest)| rest.len() < shortest.len())
        {
            found = Some((index as u8, rest));
        }
    }
    found.map_or((Unit::Bare, text), |(index, rest)| (Unit::Currency(index), rest.trim()))
}

/// The digits without the marks between groups of three, with a point before the fraction.
fn ungrouped(text: &str, decimal: DecimalMark) -> Option<String> {
    let mark = match decimal {
        DecimalMark::Point => '.',
        DecimalMark::Comma => ',',
    };
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    let (whole, fraction) = number.split_once(mark).map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    if fraction.is_some_and(|digits| !digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let mut plain = whole_digits(whole, decimal)?;
    if plain.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(fraction);
    }
    plain.push_str(exponent.unwrap_or_default());
    Some(plain)
}

/// One to three digits, then groups of exactly three behind one and the same separator.
fn whole_digits(whole: &str, decimal: DecimalMark) -> Option<String> {
    let separator = whole.chars().find(|c| !c.is_ascii_digit());
    let Some(separator) = separator else { return Some(whole.to_owned()) };
    let allowed = match decimal {
        DecimalMark::Point => separator == ',',
        DecimalMark::Comma => separator == '.',
    };
    if !allowed && !matches!(separator, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}') {
        return None;
    }
    let mut groups = whole.split(separator);
    let first = groups.next()?;
    let is_group = |group: &str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let sound =
        (1..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_digit()) && groups.all(is_group);
    sound.then(|| whole.chars().filter(|c| *c != separator).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(cell: &str, decimal: DecimalMark) -> Option<f64> {
        read(cell, decimal).map(|number| number.value)
    }

    #[test]
    fn numbers_as_people_write_them() {
        for (cell, expected) in [
            ("1048.52", 1048.52),
            ("$1,048.52", 1048.52),
            ("1,048", 1048.0),
            ("12,345,678.9", 12_345_678.9),
            ("-$5.50", -5.5),
            ("$-5.50", -5.5),
            ("(310.25)", -310.25),
            ("($1,310)", -1310.0),
            ("12.5%", 0.125),
            ("-3 %", -0.03),
            ("€ 99", 99.0),
            ("99 EUR", 99.0),
            ("US$7", 7.0),
            ("R$ 7.5", 7.5),
            ("1 048.5", 1048.5),
            ("1\u{a0}048", 1048.0),
            ("1'048.5", 1048.5),
            ("\u{2212}4", -4.0),
            ("1e3", 1000.0),
            ("+7", 7.0),
            (".5", 0.5),
            ("5.", 5.0),
        ] {
            assert_eq!(value(cell, DecimalMark::Point), Some(expected), "{cell}");
        }
        for (cell, expected) in [("1.048,52", 1048.52), ("0,5", 0.5), ("1.048", 1048.0), ("7", 7.0), ("12,5 %", 0.125)]
        {
            assert_eq!(value(cell, DecimalMark::Comma), Some(expected), "{cell}");
        }
    }

    #[test]
    fn what_is_not_a_number() {
        for cell in [
            "",
            "$",
            "%",
            "1,5",
            "1,04",
            "1,0485",
            "12,34,567",
            "1,048 000",
            "1 2",
            "1.2.3",
            "10:30",
            "5 kg",
            "1-2",
            "a1",
            "()",
            "--5",
            "$5%",
            "1,,000",
            ",5",
            "e5",
            "1e",
            "0x10",
        ] {
            assert_eq!(value(cell, DecimalMark::Point), None, "{cell}");
        }
        for cell in ["1.5", "1.04", "1,048.52", "1.2.3"] {
            assert_eq!(value(cell, DecimalMark::Comma), None, "{cell}");
        }
        assert_eq!(value(&"1".repeat(65), DecimalMark::Point), None);
    }

    #[test]
    fn codes_and_long_integers_are_told_from_quantities() {
        let form = |cell| read(cell, DecimalMark::Point).unwrap().form;
        assert_eq!(["007", "01234", "00"].map(form), [Form::LeadingZero; 3]);
        assert_eq!(["9007199254740992", "-90071992547409930"].map(form), [Form::TooLong; 2]);
        let quantities = ["0", "0.5", "00.5", "9007199254740991", "1e300", "9007199254740992.0", "-7"];
        assert_eq!(quantities.map(form), [Form::Quantity; 7]);
    }

    #[test]
    fn units_are_kept() {
        let sign = |cell| read(cell, DecimalMark::Point).unwrap().unit.sign();
        assert_eq!(["5", "5%", "$5", "5 €", "US$5", "CHF 5"].map(sign), ["no sign", "%", "$", "€", "US$", "CHF"]);
    }

    #[test]
    fn names_of_what_is_not_finite() {
        for cell in ["NaN", "inf", "-Infinity", "1e999"] {
            assert!(!value(cell, DecimalMark::Point).unwrap().is_finite(), "{cell}");
        }
    }
}
