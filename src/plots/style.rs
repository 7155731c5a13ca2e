//! The look that all charts share: colours that follow the reader's scheme, the head of a document, and the legend.

use super::canvas::Canvas;
use super::markup::escaped;
use std::fmt::Write;

/// Colours and shapes before they repeat.
pub(super) const STYLES: usize = 6;

/// The variables follow the colour scheme of the reader; colours are distinct for colour-blind readers.
const STYLE: &str = "<style>\
svg{--paper:#fff;--ink:#1c2430;--muted:#51606f;--faint:#d5dce3;--c0:#0072b2;--c1:#b45f06;--c2:#00795c;--c3:#a3407c;--c4:#5a5fc7;--c5:#555b61}\
@media(prefers-color-scheme:dark){svg{--paper:#1a2027;--ink:#e8edf2;--muted:#a4b1be;--faint:#323c47;--c0:#56b4e9;--c1:#f0a04b;--c2:#35c79a;--c3:#e58cc3;--c4:#a5a8ff;--c5:#b4bac0}}\
text{font:14px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--ink)}.title{font-size:18px;font-weight:600}.small{font-size:16px}.muted{fill:var(--muted)}\
.paper{fill:var(--paper)}.grid{stroke:var(--faint)}.axis{stroke:var(--muted);fill:none}\
.c0{fill:var(--c0);stroke:var(--c0)}.c1{fill:var(--c1);stroke:var(--c1)}.c2{fill:var(--c2);stroke:var(--c2)}\
.c3{fill:var(--c3);stroke:var(--c3)}.c4{fill:var(--c4);stroke:var(--c4)}.c5{fill:var(--c5);stroke:var(--c5)}\
.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 5}.bar{fill:none;stroke-width:1.5}.dots{fill-opacity:.7;stroke:none}.faint{stroke-opacity:.35;stroke-width:1}\
</style>\n";

/// A whole document: its head, and what `write` adds.
pub(super) fn document(
    canvas: &Canvas,
    title: &str,
    description: &str,
    write: impl FnOnce(&mut String) -> std::fmt::Result,
) -> String {
    let mut svg = head(canvas, title, description);
    let _ = write(&mut svg); // writing to a string cannot fail
    svg.push_str("</svg>\n");
    svg
}

/// Title and description for readers who do not see it, the style, the paper and the title.
fn head(canvas: &Canvas, title: &str, description: &str) -> String {
    let lines = broken(title, canvas.title_letters, canvas.title_lines);
    let (title, description) = (escaped(title), escaped(description));
    let Canvas { width, height, margin, title_class, .. } = canvas;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{title}</title>\n<desc id=\"desc\">{description}</desc>\n{STYLE}\
         <rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let below = canvas.title + 20.0 * index as f64;
        let line = escaped(line);
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "<text class=\"{title_class}\" x=\"{margin}\" y=\"{below}\">{line}</text>");
    }
    svg
}

/// A text in lines of so many letters, broken at spaces where there are some; what does not fit is cut.
fn broken(text: &str, letters: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.to_owned();
    while lines.len() + 1 < most && rest.chars().count() > letters {
        let Some(at) = rest.char_indices().take(letters + 1).filter(|(_, letter)| *letter == ' ').last() else { break };
        lines.push(rest[..at.0].to_owned());
        rest = rest[at.0 + 1..].to_owned();
    }
    lines.push(shortened(&rest, letters));
    lines
}

/// What stands beside a name in the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Mark,
    Line,
    Dashes,
}

/// The names of the series under the title, each with its sign; in as many rows as there is room for, and cut if they are
/// not enough.
pub(super) fn legend(canvas: &Canvas, names: &[(&str, Sign)]) -> String {
    let width = |name: &str| 44.0 + 7.4 * name.chars().count() as f64;
    let widest = canvas.width - 2.0 * canvas.margin + 26.0;
    let rows_of = |most: usize| {
        let mut rows: Vec<Vec<(usize, String, Sign, f64)>> = vec![Vec::new()];
        let mut left = 0.0;
        for (index, (name, sign)) in names.iter().enumerate() {
            let name = shortened(name, most);
            if left > 0.0 && left + width(&name) > widest {
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
    let fits = |rows: &Vec<Vec<(usize, String, Sign, f64)>>| {
        let is_inside = |(_, name, _, left): &(usize, String, Sign, f64)| left + width(name) <= widest;
        rows.len() <= canvas.legend.len() && rows.iter().flatten().all(is_inside)
    };
    let rows = cuts.into_iter().map(rows_of).find(fits).unwrap_or_else(|| rows_of(8));
    let baselines = if rows.len() == 1 { &canvas.single_legend[..] } else { canvas.legend };
    let mut svg = String::new();
    for (row, baseline) in rows.into_iter().zip(baselines) {
        for (index, name, sign, left) in row {
            let (x, y) = (left + canvas.margin, baseline - 5.0);
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

/// A text cut in its middle to a number of characters, with a sign that it was cut: names that begin alike often end
/// differently.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let ending = kept * 2 / 5;
    text.chars().take(kept - ending).chain(['…']).chain(text.chars().skip(count - ending)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Size;
    use super::*;

    #[test]
    fn a_long_legend_has_more_rows_and_names_are_cut_before_they_leave_the_picture() {
        let canvas = Canvas::of(Size::Wide);
        let short = legend(canvas, &[("one", Sign::Mark), ("two", Sign::Dashes)]);
        assert!(short.contains("y=\"62\"") && !short.contains("y=\"74\"") && short.contains("dashed"));
        let names: Vec<String> = (0..6).map(|index| format!("{index}: a name of more than thirty letters")).collect();
        let names: Vec<(&str, Sign)> = names.iter().map(|name| (name.as_str(), Sign::Line)).collect();
        let long = legend(canvas, &names);
        assert!(long.contains("y=\"54\"") && long.contains("y=\"74\"") && long.contains('…'), "{long}");
        assert_eq!(long.matches("<text").count(), 6, "every series has its entry");
        let narrow = legend(Canvas::of(Size::Narrow), &names[..3]);
        assert_eq!(narrow.matches("<text").count(), 3, "{narrow}");
        assert!(narrow.contains("y=\"102\""), "{narrow}");
        let alone = legend(Canvas::of(Size::Narrow), &[(&"too long for a row ".repeat(4), Sign::Mark)]);
        assert!(alone.contains('…'), "{alone}");
    }

    #[test]
    fn a_cut_name_keeps_both_ends() {
        assert_eq!(shortened("a_long_name_of_a_column_01", 12), "a_long_…n_01");
        assert_eq!((shortened("short", 5).as_str(), shortened("é-é-é", 3).as_str()), ("short", "é-…"));
        assert_eq!(broken("one two three", 7, 2), ["one two", "three"]);
        assert_eq!(broken("one two three four", 7, 2), ["one two", "thre…ur"]);
        assert_eq!(broken("one_two_three", 7, 2), ["one_…ee"]);
    }
}
