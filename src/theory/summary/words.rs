//! Figures as a reader who is no specialist expects them.

/// Three significant digits; whole numbers from a thousand on with commas, very small and very large ones as powers of ten.
pub(super) fn figure(value: f64) -> String {
    let rounded = significant(value, 3);
    let size = rounded.abs();
    if rounded == 0.0 || !rounded.is_finite() {
        rounded.to_string()
    } else if !(1e-4..1e9).contains(&size) {
        format!("{rounded:e}")
    } else if size >= 1_000.0 {
        format!("{}{}", if rounded < 0.0 { "-" } else { "" }, count(size as usize))
    } else {
        rounded.to_string()
    }
}

/// A whole number with commas between the thousands.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent: two digits, or the smallest share that is worth telling.
pub(super) fn share(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 0.1 {
        "less than 0.1%".to_owned()
    } else if (99.5..100.0).contains(&percent) {
        "more than 99%".to_owned() // 100% would be too much
    } else if (9.95..1_000.0).contains(&percent.abs()) {
        format!("{percent:.0}%")
    } else if percent >= 1_000.0 {
        format!("{}%", count(percent as usize))
    } else {
        format!("{percent:.1}%")
    }
}

/// The nearest number with so many significant decimal digits.
pub(super) fn significant(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let said = [5.5249, 0.012_345, 37_812.0, 1_234_567.0, 3.2e-9, 0.0, -2_345.6, 999.9].map(figure);
        assert_eq!(said, ["5.52", "0.0123", "37,800", "1,230,000", "3.2e-9", "0", "-2,350", "1,000"]);
        assert_eq!([0, 999, 1_024, 1_048_576].map(count), ["0", "999", "1,024", "1,048,576"]);
        let said = [0.000_2, 0.003, 0.021, 0.234, 0.996, 1.0, 1.5, 25.0].map(share);
        assert_eq!(said, ["less than 0.1%", "0.3%", "2.1%", "23%", "more than 99%", "100%", "150%", "2,500%"]);
    }
}
