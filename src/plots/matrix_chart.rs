//! A table of numbers as coloured cells, such as a confusion matrix.

use super::markup::{escaped, number, pixels};
use super::style::{BOTTOM, HEIGHT, TOP, document, shortened};
use std::fmt::Write;

/// Rows and columns of one set of names.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixChart {
    /// Above the chart.
    pub title: String,
    /// What it shows, in a sentence, for readers who do not see it.
    pub description: String,
    /// What rows are.
    pub row_label: String,
    /// What columns are.
    pub column_label: String,
    /// Of rows and columns.
    pub names: Vec<String>,
    /// Row by row.
    pub cells: Vec<Vec<f64>>,
}

/// Most rows that are drawn; the data has all.
const MOST: usize = 12;

/// Where names end and cells begin.
const FOOT: f64 = 190.0;

impl MatrixChart {
    /// The chart as one SVG document, without scripts or references to anything outside of it.
    pub fn to_svg(&self) -> String {
        document(&self.title, &self.description, |svg| self.write(svg))
    }

    fn write(&self, svg: &mut String) -> std::fmt::Result {
        let count = self.names.len().min(MOST);
        let size = (BOTTOM - TOP - 10.0) / count.max(1) as f64;
        let wide = (1.6 * size).min(540.0 / count.max(1) as f64);
        let top = TOP + 10.0;
        // Names that do not fit under their columns are numbered: cut ones could look alike.
        let room = (wide / 8.5) as usize;
        let is_numbered = self.names.iter().take(count).any(|name| name.chars().count() > room.max(2));
        for (row, name) in self.names.iter().take(count).enumerate() {
            let middle = top + size * (row as f64 + 0.5);
            let total: f64 = self.cells[row].iter().sum();
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dominant-baseline=\"middle\">{}</text>",
                FOOT - 10.0,
                pixels(middle),
                escaped(&if is_numbered {
                    format!("{} ({})", shortened(name, 15), row + 1)
                } else {
                    shortened(name, 18)
                })
            )?;
            for (column, cell) in self.cells[row].iter().take(count).enumerate() {
                let left = FOOT + wide * column as f64;
                let share = if total > 0.0 { cell / total } else { 0.0 };
                let tip = format!(
                    "{} {name}, {} {}: {}",
                    self.row_label,
                    self.column_label,
                    self.names[column],
                    number(*cell)
                );
                writeln!(
                    svg,
                    "<rect class=\"c0\" stroke-opacity=\"0.4\" fill-opacity=\"{:.2}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\
                     <title>{}</title></rect><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" dominant-baseline=\"middle\">{}</text>",
                    0.55 * share,
                    pixels(left + 1.0),
                    pixels(middle - size / 2.0 + 1.0),
                    pixels(wide - 2.0),
                    pixels(size - 2.0),
                    escaped(&tip),
                    pixels(left + wide / 2.0),
                    pixels(middle),
                    number(*cell)
                )?;
            }
        }
        for (column, name) in self.names.iter().take(count).enumerate() {
            let middle = FOOT + wide * (column as f64 + 0.5);
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                pixels(middle),
                pixels(top + size * count as f64 + 22.0),
                if is_numbered { format!("({})", column + 1) } else { escaped(name) }
            )?;
        }
        writeln!(
            svg,
            "<text class=\"muted\" x=\"{FOOT}\" y=\"{}\">{} across, {} down; colour is the share of the row</text>",
            HEIGHT - 12.0,
            escaped(&self.column_label),
            escaped(&self.row_label)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_shows_its_number_and_has_a_tip() {
        let svg = MatrixChart {
            title: "t".into(),
            description: "d".into(),
            row_label: "true".into(),
            column_label: "predicted".into(),
            names: vec!["a&b".into(), "c".into()],
            cells: vec![vec![21.0, 8.0], vec![0.0, 0.0]],
        }
        .to_svg();
        assert_eq!(svg.matches("<rect class=\"c0\"").count(), 4);
        assert!(svg.contains("true a&amp;b, predicted c: 8") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn names_that_do_not_fit_under_their_columns_are_numbered() {
        let names: Vec<String> = (0..8).map(|index| format!("a label like the others, {index}")).collect();
        let svg = MatrixChart {
            title: "t".into(),
            description: "d".into(),
            row_label: "true".into(),
            column_label: "predicted".into(),
            names,
            cells: vec![vec![1.0; 8]; 8],
        }
        .to_svg();
        assert!(svg.contains(">a label like t… (8)</text>") && svg.contains(">(8)</text>"), "{svg}");
    }
}
