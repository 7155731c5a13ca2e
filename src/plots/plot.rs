//! A plot as picture, table and JSON: the same numbers three times.

use super::{BarChart, MatrixChart, Size, XyChart};
use serde_json::{Value, json};

/// One of the charts.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    /// Lines and points.
    Xy(XyChart),
    /// Named bars.
    Bars(BarChart),
    /// Coloured cells.
    Matrix(MatrixChart),
}

impl Plot {
    /// Above the chart.
    pub fn title(&self) -> &str {
        match self {
            Self::Xy(chart) => &chart.title,
            Self::Bars(chart) => &chart.title,
            Self::Matrix(chart) => &chart.title,
        }
    }

    /// What it shows, in a sentence.
    pub fn description(&self) -> &str {
        match self {
            Self::Xy(chart) => &chart.description,
            Self::Bars(chart) => &chart.description,
            Self::Matrix(chart) => &chart.description,
        }
    }

    /// One SVG document.
    pub fn to_svg(&self, size: Size) -> String {
        match self {
            Self::Xy(chart) => chart.to_svg(size),
            Self::Bars(chart) => chart.to_svg(size),
            Self::Matrix(chart) => chart.to_svg(size),
        }
    }

    /// The names of the columns, and the rows, of the data.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<Value>>) {
        match self {
            Self::Xy(chart) => {
                let columns = ["series", &chart.x.label, &chart.y.label, "low", "high"];
                let rows = chart.traces.iter().flat_map(|trace| {
                    trace.spots.iter().map(|spot| {
                        let (low, high) = spot.interval.unzip();
                        vec![json!(trace.name), json!(spot.x), json!(spot.y), json!(low), json!(high)]
                    })
                });
                (columns.map(str::to_owned).into(), rows.collect())
            }
            Self::Bars(chart) => {
                let row = |bar: &super::Bar| vec![json!(bar.name), json!(bar.value), json!(bar.error)];
                let columns = ["name", &chart.label, "standard_error"].map(str::to_owned).into();
                (columns, chart.bars.iter().map(row).collect())
            }
            Self::Matrix(chart) => {
                let columns = [chart.row_label.clone()].into_iter().chain(chart.names.iter().cloned()).collect();
                let row = |(name, cells): (&String, &Vec<f64>)| {
                    [json!(name)].into_iter().chain(cells.iter().map(|cell| json!(cell))).collect()
                };
                (columns, chart.names.iter().zip(&chart.cells).map(row).collect())
            }
        }
    }

    /// The data with a line of names, as RFC 4180 has it.
    pub fn to_csv(&self) -> String {
        let (columns, rows) = self.table();
        let mut csv = line(columns.iter().map(|name| quoted(name)));
        for row in rows {
            csv.push_str(&line(row.iter().map(cell)));
        }
        csv
    }

    /// Title, description and data.
    pub fn to_json(&self) -> Value {
        let (columns, rows) = self.table();
        json!({"title": self.title(), "description": self.description(), "columns": columns, "rows": rows})
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Bar, Drawing, Scale, Spot, Trace};
    use super::*;

    #[test]
    fn all_forms_have_the_same_numbers() {
        let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear };
        let spots = vec![Spot { x: 1.0, y: 2.5, interval: Some((2.0, 3.0)) }, Spot::plain(2.0, 4.0)];
        let plot = Plot::Xy(XyChart {
            title: "t".into(),
            description: "d".into(),
            x: axis("rows"),
            y: axis("error, in units"),
            traces: vec![Trace { name: "a".into(), drawing: Drawing::Line, spots }],
        });
        assert_eq!(plot.to_csv(), "series,rows,\"error, in units\",low,high\na,1.0,2.5,2.0,3.0\na,2.0,4.0,,\n");
        assert_eq!(plot.to_json()["rows"], json!([["a", 1.0, 2.5, 2.0, 3.0], ["a", 2.0, 4.0, null, null]]));
        let bars = vec![Bar { name: "say \"x\"".into(), value: 1.0, error: 0.5 }];
        let chart = BarChart { title: "t".into(), description: "d".into(), label: "l".into(), bars };
        assert_eq!(Plot::Bars(chart).to_csv(), "name,l,standard_error\n\"say \"\"x\"\"\",1.0,0.5\n");
    }
}
