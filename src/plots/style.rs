//! The look that all charts share: size, colours that follow the reader's scheme, and the head of a document.

use super::markup::escaped;
use std::fmt::Write;

pub(super) const WIDTH: f64 = 760.0;
pub(super) const HEIGHT: f64 = 440.0;
pub(super) const LEFT: f64 = 100.0;
pub(super) const RIGHT: f64 = 736.0;
pub(super) const TOP: f64 = 84.0;
pub(super) const BOTTOM: f64 = 380.0;

/// Colours and shapes before they repeat.
pub(super) const STYLES: usize = 6;

/// The variables follow the colour scheme of the reader; colours are distinct for colour-blind readers.
const STYLE: &str = "<style>\
svg{--paper:#fff;--ink:#1c2430;--muted:#51606f;--faint:#d5dce3;--c0:#0072b2;--c1:#b45f06;--c2:#00795c;--c3:#a3407c;--c4:#5a5fc7;--c5:#555b61}\
@media(prefers-color-scheme:dark){svg{--paper:#1a2027;--ink:#e8edf2;--muted:#a4b1be;--faint:#323c47;--c0:#56b4e9;--c1:#f0a04b;--c2:#35c79a;--c3:#e58cc3;--c4:#a5a8ff;--c5:#b4bac0}}\
text{font:14px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--ink)}.title{font-size:18px;font-weight:600}.muted{fill:var(--muted)}\
.paper{fill:var(--paper)}.grid{stroke:var(--faint)}.axis{stroke:var(--muted);fill:none}\
.c0{fill:var(--c0);stroke:var(--c0)}.c1{fill:var(--c1);stroke:var(--c1)}.c2{fill:var(--c2);stroke:var(--c2)}\
.c3{fill:var(--c3);stroke:var(--c3)}.c4{fill:var(--c4);stroke:var(--c4)}.c5{fill:var(--c5);stroke:var(--c5)}\
.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 5}.bar{fill:none;stroke-width:1.5}.dots{fill-opacity:.7;stroke:none}.faint{stroke-opacity:.35;stroke-width:1}\
</style>\n";

/// A whole document: its head, and what `write` adds.
pub(super) fn document(title: &str, description: &str, write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut svg = head(title, description);
    let _ = write(&mut svg); // writing to a string cannot fail
    svg.push_str("</svg>\n");
    svg
}

/// Title and description for readers who do not see it, the style, the paper and the title.
fn head(title: &str, description: &str) -> String {
    let (title, description) = (escaped(title), escaped(description));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{title}</title>\n<desc id=\"desc\">{description}</desc>\n{STYLE}\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" class=\"paper\"/>\n<text class=\"title\" x=\"20\" y=\"32\">{title}</text>\n"
    )
}

/// What stands beside a name in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Mark,
    Line,
    Dashes,
}

/// Widest text of a legend, in pixels.
const LEGEND_WIDTH: f64 = WIDTH - 40.0;

/// The names of the series under the title, each with its sign; in two rows if they need them, and cut if that is not
/// enough.
pub(super) fn legend(names: &[(&str, Sign)]) -> String {
    let width = |name: &str| 44.0 + 7.4 * name.chars().count() as f64;
    let rows_of = |most: usize| {
        let mut rows: Vec<Vec<(usize, String, Sign, f64)>> = vec![Vec::new()];
        let mut left = 0.0;
        for (index, (name, sign)) in names.iter().enumerate() {
            let name = shortened(name, most);
            if left > 0.0 && left + width(&name) - 26.0 > LEGEND_WIDTH {
                rows.push(Vec::new());
                left = 0.0;
            }
            let wide = width(&name);
            if let Some(row) = rows.last_mut() {
                row.push((index, name, *sign, left));
            }
            left += wide;
        }
        rows
    };
    let cuts = [90, 50, 40, 32, 26, 20, 16, 12];
    let rows = cuts.into_iter().map(rows_of).find(|rows| rows.len() <= 2).unwrap_or_else(|| rows_of(8));
    let baselines: &[f64] = if rows.len() == 1 { &[62.0] } else { &[54.0, 74.0] };
    let mut svg = String::new();
    for (row, baseline) in rows.into_iter().zip(baselines) {
        for (index, name, sign, left) in row {
            let (x, y) = (left + 20.0, baseline - 5.0);
            let drawn = match sign {
                Sign::Mark => format!("<path class=\"c{}\" d=\"{}\"/>", index % STYLES, mark(index, x + 6.0, y)),
                Sign::Line => format!("<path class=\"c{} line\" d=\"M{} {y}h16\"/>", index % STYLES, x - 3.0),
                Sign::Dashes => format!("<path class=\"c{} line dashed\" d=\"M{} {y}h16\"/>", index % STYLES, x - 3.0),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(svg, "{drawn}<text x=\"{}\" y=\"{baseline}\">{}</text>", x + 18.0, escaped(&name));
        }
    }
    svg
}

/// A mark of about nine pixels around a place: circle, square, diamond, triangle, and the same in a row again.
pub(super) fn mark(index: usize, x: f64, y: f64) -> String {
    match index % 4 {
        0 => format!("M{:.1} {y:.1}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", x - 4.5),
        1 => format!("M{:.1} {:.1}h8v8h-8z", x - 4.0, y - 4.0),
        2 => format!("M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", y - 5.5),
        _ => format!("M{x:.1} {:.1}l5.5 9.5h-11z", y - 5.5),
    }
}

/// A text cut to a number of characters, with a sign that it was cut.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_legend_has_two_rows_and_names_are_cut_before_they_leave_the_picture() {
        let short = legend(&[("one", Sign::Mark), ("two", Sign::Dashes)]);
        assert!(short.contains("y=\"62\"") && !short.contains("y=\"74\"") && short.contains("dashed"));
        let names: Vec<String> = (0..6).map(|index| format!("{index}: a name of more than thirty letters")).collect();
        let names: Vec<(&str, Sign)> = names.iter().map(|name| (name.as_str(), Sign::Line)).collect();
        let long = legend(&names);
        assert!(long.contains("y=\"54\"") && long.contains("y=\"74\"") && long.contains('…'), "{long}");
        assert_eq!(long.matches("<text").count(), 6, "every series has its entry");
    }
}
