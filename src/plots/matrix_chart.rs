//! A table of numbers as coloured cells, such as a confusion matrix.

use super::canvas::{Canvas, Size};
use super::markup::{escaped, number, pixels};
use super::style::{document, shortened};
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
    /// Of rows and columns. The picture has as many of them as there is room for, and says so; the data has all.
    pub names: Vec<String>,
    /// Row by row.
    pub cells: Vec<Vec<f64>>,
}

impl MatrixChart {
    /// The chart as one SVG document, without scripts or references to anything outside of it.
    pub fn to_svg(&self, size: Size) -> String {
        let canvas = Canvas::of(size);
        document(canvas, &self.title, &self.description, |svg| self.write(svg, canvas))
    }

    fn write(&self, svg: &mut String, canvas: &Canvas) -> std::fmt::Result {
        let foot = canvas.cells;
        let count = self.names.len().min(canvas.most_cells);
        let top = canvas.title + 40.0;
        let size = (canvas.bottom - top - 10.0) / count.max(1) as f64;
        let wide = (1.6 * size).min((canvas.right - foot) / count.max(1) as f64);
        // Names that do not fit under their columns are numbered: cut ones could look alike.
        let room = (wide / 8.5) as usize;
        let is_numbered = self.names.iter().take(count).any(|name| name.chars().count() > room.max(2));
        for (row, name) in self.names.iter().take(count).enumerate() {
            let middle = top + size * (row as f64 + 0.5);
            let total: f64 = self.cells[row].iter().sum();
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dominant-baseline=\"middle\">{}</text>",
                foot - 10.0,
                pixels(middle),
                escaped(&if is_numbered {
                    format!("{} ({})", shortened(name, canvas.cell_letters - 4), row + 1)
                } else {
                    shortened(name, canvas.cell_letters)
                })
            )?;
            for (column, cell) in self.cells[row].iter().take(count).enumerate() {
                let left = foot + wide * column as f64;
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
            let middle = foot + wide * (column as f64 + 0.5);
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                pixels(middle),
                pixels(top + size * count as f64 + 22.0),
                if is_numbered { format!("({})", column + 1) } else { escaped(name) }
            )?;
        }
        let all = self.names.len();
        let shown = if all > count { format!("; the first {count} of {all} labels") } else { String::new() };
        let (across, down) = (escaped(&self.column_label), escaped(&self.row_label));
        let lines = [format!("{across} across, {down} down"), format!("colour is the share of the row{shown}")];
        for (index, line) in lines.iter().enumerate() {
            let (x, y) = (canvas.width / 2.0, canvas.height - 28.0 + 18.0 * index as f64);
            writeln!(svg, "<text class=\"muted\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{line}</text>")?;
        }
        Ok(())
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
        .to_svg(Size::Wide);
        assert_eq!(svg.matches("<rect class=\"c0\"").count(), 4);
        assert!(svg.contains("true a&amp;b, predicted c: 8") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn names_that_do_not_fit_under_their_columns_are_numbered() {
        let names: Vec<String> = (0..8).map(|index| format!("a label like the others, {index}")).collect();
        let chart = MatrixChart {
            title: "t".into(),
            description: "d".into(),
            row_label: "true".into(),
            column_label: "predicted".into(),
            names,
            cells: vec![vec![1.0; 8]; 8],
        };
        let svg = chart.to_svg(Size::Wide);
        assert!(svg.contains(">a label …rs, 7 (8)</text>") && svg.contains(">(8)</text>"), "{svg}");
        let narrow = chart.to_svg(Size::Narrow);
        assert!(narrow.contains("the first 7 of 8 labels") && !narrow.contains("(8)"), "{narrow}");
    }
}
