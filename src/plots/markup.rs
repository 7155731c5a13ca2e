//! Text that is safe inside SVG, and numbers that are short.

/// Text for the inside of an element or of an attribute. Characters that XML does not allow are left out.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            character if character.is_control() => {}
            character => safe.push(character),
        }
    }
    safe
}

/// A coordinate with a tenth of a pixel.
pub(super) fn pixels(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// A number as a tick or a tool tip shows it: up to four significant digits, and powers of ten where it is tiny or huge.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value < 0.0 {
        return format!("−{}", number(-value));
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.log10().floor();
    if !(-3.0..5.0).contains(&magnitude) {
        let scientific = format!("{value:.2e}");
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let power = format!("10{}", superscript(exponent));
        return match mantissa.trim_end_matches('0').trim_end_matches('.') {
            "1" => power,
            mantissa => format!("{mantissa}×{power}"),
        };
    }
    let digits = (3.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A whole number as an exponent.
fn superscript(exponent: &str) -> String {
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        other => other,
    };
    exponent.chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escaped("<script>\"&'\u{7}\u{ffff}\n</script>"), "&lt;script&gt;&quot;&amp;&#39; &lt;/script&gt;");
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 20.0, 0.1, 0.123_456, 12_345.6, 1.5e-7, -0.5, -5e5].iter().map(|value| number(*value)).collect();
        assert_eq!(shown, ["0", "20", "0.1", "0.1235", "12346", "1.5×10⁻⁷", "−0.5", "−5×10⁵"]);
        assert_eq!((pixels(3.0), pixels(3.16)), ("3".to_owned(), "3.2".to_owned()));
    }
}
