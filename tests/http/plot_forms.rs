//! One plot in all its forms: JSON, CSV, the picture and the table on the page of the model have the same numbers.

use crate::harness::Service;
use serde_json::Value;

/// Asserts that the forms of a plot agree and gives its rows.
pub(crate) async fn same_in_every_form(service: &Service, model: &str, plot: &str) -> Vec<Vec<Value>> {
    let path = format!("/api/v1/models/{model}/plots/{plot}");
    let json = service.get(&format!("{path}.json")).await.ok(200);
    assert!(json["title"].is_string() && json["description"].is_string(), "{json}");
    let rows: Vec<Vec<Value>> = serde_json::from_value(json["rows"].clone()).unwrap();
    let csv = service.get(&format!("{path}.csv")).await.text();
    let mut lines = csv.lines().map(cells);
    let head: Vec<Value> = lines.next().unwrap().into_iter().map(Value::from).collect();
    assert_eq!(Value::from(head), json["columns"], "{path}");
    let read: Vec<Vec<Value>> = lines.zip(&rows).map(|(line, row)| typed(line, row)).collect();
    assert_eq!(read, rows, "{path}.csv");
    assert_eq!(csv.lines().count(), rows.len() + 1, "{path}.csv");

    for (size, most_bars) in [("wide", 18), ("narrow", 12)] {
        let path = format!("{path}.svg?size={size}");
        let svg = service.get(&path).await;
        assert_eq!(svg.header("content-type"), "image/svg+xml");
        let svg = svg.text();
        assert!(svg.contains("<title id=\"title\">") && svg.contains("<desc id=\"desc\">"), "{svg}");
        assert!(svg.contains("prefers-color-scheme:dark") && !svg.contains("NaN"), "{svg}");
        match json["columns"][0].as_str() {
            Some("series") => drawn_to_scale(&svg, &rows, &path),
            Some("name") => bars_as_long(&svg, &rows[..rows.len().min(most_bars)], &path),
            _ => cells_as_written(&svg, &rows, &path),
        }
    }
    let unasked = service.get(&format!("{path}.svg")).await.bytes;
    assert_eq!(unasked, service.get(&format!("{path}.svg?size=wide")).await.bytes);
    shown_on_the_page(&service.get(&format!("/models/{model}")).await.text(), plot, &rows);
    rows
}

/// The cells of a line of CSV.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match (character, quoted) {
            ('"', _) => quoted = !quoted,
            (',', false) => cells.push(String::new()),
            (other, _) => cells.last_mut().unwrap().push(other),
        }
    }
    cells
}

/// The cells of CSV as values of the kinds that JSON has at their places.
fn typed(line: Vec<String>, kinds: &[Value]) -> Vec<Value> {
    assert_eq!(line.len(), kinds.len(), "{line:?}");
    let value = |(cell, kind): (String, &Value)| match kind {
        Value::String(_) => Value::String(cell),
        _ if cell.is_empty() => Value::Null,
        _ => serde_json::from_str(&cell).unwrap(),
    };
    line.into_iter().zip(kinds).map(value).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// What stands between two marks, after each first one.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).map(move |rest| rest.split(end).next().unwrap())
}

fn attribute(element: &str, name: &str) -> f64 {
    between(element, &format!(" {name}=\""), "\"").next().unwrap().parse().unwrap()
}

/// Where the values of a trace are drawn: the corners of its line, or the middles of its marks.
fn places(trace: &str) -> Vec<(f64, f64)> {
    let pair = |x: &str, y: &str| (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap());
    if let Some(corners) = between(trace, "points=\"", "\"").next() {
        return corners.split(' ').map(|corner| corner.split_once(',').unwrap()).map(|(x, y)| pair(x, y)).collect();
    }
    let small: Vec<_> =
        between(trace, "<circle", "/>").map(|mark| (attribute(mark, "cx"), attribute(mark, "cy"))).collect();
    let large = between(trace, "class=\"dots\" d=\"M", "z").map(|mark| {
        let end = mark.find(['a', 'h', 'l']).unwrap();
        let (x, y) = mark[..end].split_once(' ').unwrap();
        let ((x, y), shape) = (pair(x, y), &mark[end..=end]);
        match shape {
            "a" => (x + 4.5, y),
            "h" => (x + 4.0, y + 4.0),
            _ => (x, y + 5.5),
        }
    });
    if small.is_empty() { large.collect() } else { small }
}

/// Lines and marks are where one scale of each axis, of differences or of ratios, puts the numbers.
fn drawn_to_scale(svg: &str, rows: &[Vec<Value>], path: &str) {
    let mut traces: Vec<(&Value, Vec<(f64, f64)>)> = Vec::new();
    for row in rows {
        if traces.last().is_none_or(|(name, _)| *name != &row[0]) {
            traces.push((&row[0], Vec::new()));
        }
        traces.last_mut().unwrap().1.push((number(&row[1]), number(&row[2])));
    }
    traces.truncate(6); // a picture has no more colours
    let drawn: Vec<Vec<(f64, f64)>> = between(svg, "<g class=\"c", "</g>").map(places).collect();
    assert_eq!(drawn.len(), traces.len(), "{path}: {svg}");
    let (mut across, mut up) = (Vec::new(), Vec::new());
    for ((name, values), places) in traces.iter().zip(drawn) {
        // Only axes of ratios leave numbers out: those that are not above 0.
        let above = values.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).copied();
        let values = if places.len() == values.len() { values.clone() } else { above.collect() };
        assert_eq!(places.len(), values.len(), "{path}, {name}");
        across.extend(values.iter().zip(&places).map(|(value, place)| (value.0, place.0)));
        up.extend(values.iter().zip(&places).map(|(value, place)| (value.1, -place.1)));
    }
    for points in [across, up] {
        let ratios = points.iter().map(|(value, place)| (value.log10(), *place)).collect::<Vec<_>>();
        assert!(is_straight(&points) || is_straight(&ratios), "{path}: {points:?}");
    }
}

/// Whether places grow in proportion to values, up to the tenth of a pixel to which they are rounded.
fn is_straight(points: &[(f64, f64)]) -> bool {
    let by_value = |left: &&(f64, f64), right: &&(f64, f64)| left.0.total_cmp(&right.0);
    let Some((low, high)) = points.iter().min_by(by_value).zip(points.iter().max_by(by_value)) else { return true };
    let slope = if high.0 > low.0 { (high.1 - low.1) / (high.0 - low.0) } else { 0.0 };
    slope >= 0.0 && points.iter().all(|(value, place)| (low.1 + slope * (value - low.0) - place).abs() < 0.21)
}

/// Bars are as long as their numbers are large.
fn bars_as_long(svg: &str, rows: &[Vec<Value>], path: &str) {
    let lengths: Vec<f64> = between(svg, "<rect class=\"c0 dots\"", ">").map(|bar| attribute(bar, "width")).collect();
    assert_eq!(lengths.len(), rows.len(), "{path}");
    let values: Vec<f64> = rows.iter().map(|row| number(&row[1]).abs()).collect();
    let (longest, largest) =
        (lengths.iter().fold(0.0, |a: f64, b| a.max(*b)), values.iter().fold(0.0, |a: f64, b| a.max(*b)));
    for (length, value) in lengths.iter().zip(&values) {
        assert!((length - (longest * value / largest).max(1.0)).abs() < 0.11, "{path}: {length} for {value}");
    }
}

/// Every cell shows its number.
fn cells_as_written(svg: &str, rows: &[Vec<Value>], path: &str) {
    let shown: Vec<f64> = between(svg, "</title></rect><text", "</text>")
        .map(|text| text.split_once('>').unwrap().1.parse().unwrap())
        .collect();
    let counted: Vec<f64> = rows.iter().flat_map(|row| row[1..].iter().map(number)).collect();
    assert_eq!(shown, counted, "{path}");
}

/// The table that a screen reader reads has the first hundred rows, with four digits.
fn shown_on_the_page(page: &str, plot: &str, rows: &[Vec<Value>]) {
    let figure = between(page, "<figure>", "</figure>").find(|figure| figure.contains(&format!("/plots/{plot}.svg\"")));
    let body = figure.and_then(|figure| between(figure, "<tbody>", "</tbody>").next());
    let body = body.unwrap_or_else(|| panic!("no table of {plot} on the page"));
    let shown: Vec<Vec<&str>> =
        between(body, "<tr>", "</tr>").map(|row| between(row, "<td>", "</td>").collect()).collect();
    assert_eq!(shown.len(), rows.len().min(100), "{plot}");
    // Columns without a value in any row are not on the page.
    let known: Vec<usize> =
        (0..rows[0].len()).filter(|column| rows.iter().any(|row| !row[*column].is_null())).collect();
    for (cells, row) in shown.iter().zip(rows) {
        let row: Vec<&Value> = known.iter().map(|column| &row[*column]).collect();
        assert_eq!(cells.len(), row.len(), "{plot}: {cells:?}");
        for (cell, value) in cells.iter().zip(row) {
            match value.as_f64() {
                None => assert!(*cell == "–" || value.is_string(), "{plot}: {cell} for {value}"),
                Some(value) => {
                    assert!((read(cell) - value).abs() <= 5e-3 * value.abs(), "{plot}: {cell} for {value}");
                }
            }
        }
    }
}

/// A number as people read it: with separated thousands, or a power of ten.
fn read(cell: &str) -> f64 {
    let plain = cell.replace(',', "").replace('−', "-");
    let Some((mantissa, power)) = plain.split_once(" × 10") else { return plain.parse().unwrap() };
    let digit = |raised: char| match raised {
        '⁻' => '-',
        raised => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().zip('0'..='9').find(|(known, _)| *known == raised).unwrap().1,
    };
    mantissa.parse::<f64>().unwrap() * 10_f64.powi(power.chars().map(digit).collect::<String>().parse().unwrap())
}
