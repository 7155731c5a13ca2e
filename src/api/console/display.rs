//! Numbers, sizes and times as people read them.

use serde_json::Value;
use std::time::{Duration, SystemTime};

/// A number with four significant digits; thousands are separated, very large and very small ones are powers of ten.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return "not finite".into();
    }
    if !(1e-4..1e7).contains(&size) {
        let exponent = size.log10().floor() as i32;
        let mantissa = trimmed(format!("{:.2}", value / 10_f64.powi(exponent)));
        return format!("{} × 10{}", mantissa.replace('-', "−"), superscript(exponent));
    }
    let digits = 3 - size.log10().floor() as i32;
    let rounded = format!("{:.*}", digits.clamp(0, 8) as usize, value);
    let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    let whole = separated(whole);
    if fraction.is_empty() { whole } else { trimmed(format!("{whole}.{fraction}")) }
}

/// With four digits: an average of rows has many that nobody would type.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A JSON number, or a dash where there is none.
pub(super) fn maybe_number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".to_owned(), number)
}

/// A whole number with separated thousands.
pub(super) fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// A share of 1 as a percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// A number of bytes in the largest unit that fits.
pub(super) fn bytes(value: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < units.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let rounded = if scaled >= 100.0 || unit == 0 { format!("{scaled:.0}") } else { trimmed(format!("{scaled:.1}")) };
    format!("{rounded} {}", units[unit])
}

/// A number of seconds as people say it.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than 1 s".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 129_600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86400.0),
    }
}

/// A detail of an error as a sentence by itself.
pub(super) fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    let stop = if text.is_empty() || text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    first.chain(rest).collect::<String>() + stop
}

/// How long ago a moment in RFC 3339 was.
pub(super) fn ago(moment: &str) -> String {
    let elapsed = humantime::parse_rfc3339(moment).ok().map(|then| SystemTime::now().duration_since(then));
    match elapsed {
        Some(Ok(elapsed)) if elapsed < Duration::from_secs(5) => "just now".into(),
        Some(Ok(elapsed)) => format!("{} ago", duration(elapsed.as_secs_f64())),
        Some(Err(_)) => "just now".into(), // by a clock that has moved
        None => moment.to_owned(),
    }
}

/// A moment in RFC 3339 without its fraction of a second.
pub(super) fn moment(text: &str) -> String {
    text.split(['T', '.', 'Z']).take(2).collect::<Vec<_>>().join(" ") + " UTC"
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn separated(whole: &str) -> String {
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("−", digits));
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len() - index;
        if index > 0 && left % 3 == 0 && digits.len() > 4 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn superscript(exponent: i32) -> String {
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + u32::from(digit) - u32::from('0')).unwrap_or(digit),
    };
    exponent.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_sentences() {
        assert_eq!(sentence("there is no model 'none'"), "There is no model 'none'.");
        assert_eq!(sentence("'x' is not a number; use 1.5!"), "'x' is not a number; use 1.5!");
        assert_eq!((sentence(""), sentence("é")), (String::new(), "É.".to_owned()));
    }

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (9.0733, "9.073"),
            (425.9156, "425.9"),
            (1024.0, "1024"),
            (12_345.6, "12,346"),
            (-0.5, "−0.5"),
            (-0.025, "−0.025"),
            (4.641_588e-6, "4.64 × 10⁻⁶"),
            (1.5e12, "1.5 × 10¹²"),
            (-9.93e-5, "−9.93 × 10⁻⁵"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!([0.0, 1536.0, 23_778.0, 5e9].map(bytes), ["0 B", "1.5 KiB", "23.2 KiB", "4.7 GiB"]);
        assert_eq!([0.2, 42.0, 600.0, 7200.0].map(duration), ["less than 1 s", "42 s", "10 min", "2.0 h"]);
        assert_eq!(moment("2026-11-18T06:56:33.219Z"), "2026-11-18 06:56:33 UTC");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(percent(0.95), "95%");
        assert_eq!([rounded(127.270_62), rounded(0.0), rounded(-1.620_09)], [127.3, 0.0, -1.62]);
    }
}
