//! Bars without axes, as small as a line of text: the shape of a column in a table.

use super::markup::{escaped, pixels};
use std::fmt::Write;

const WIDTH: f64 = 96.0;
const HEIGHT: f64 = 24.0;

/// An SVG element for a page, which gives the bars their colour by the class `bars`. The title is for readers who do not
/// see it.
pub fn mini_bars(counts: &[u64], title: &str) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let each = WIDTH / counts.len().max(1) as f64;
    let mut svg = format!(
        "<svg class=\"bars\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\"><title>{}</title>",
        escaped(title)
    );
    for (index, count) in counts.iter().enumerate() {
        let height = *count as f64 / most * HEIGHT;
        let (left, top) = (pixels(index as f64 * each), pixels(HEIGHT - height));
        let (width, height) = (pixels((each - 1.0).max(0.5)), pixels(height));
        // Writing to a string cannot fail.
        let _ = write!(svg, "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>");
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_follow_the_counts() {
        let svg = mini_bars(&[1, 2, 0], "of <x>");
        assert!(svg.contains("of &lt;x&gt;") && svg.matches("<rect").count() == 3);
        assert!(
            svg.contains("height=\"24\"") && svg.contains("height=\"12\"") && svg.contains("height=\"0\""),
            "{svg}"
        );
        assert!(mini_bars(&[], "none").ends_with("</svg>"));
    }
}
