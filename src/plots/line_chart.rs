//! Lines with error bars, one for each series: marks differ in shape as well as in colour.

use super::axis::{Axis, Range};
use super::markup::{escaped, number, pixels};
use std::fmt::Write;

/// A value with its error bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Half the length of the error bar; 0 draws none.
    pub error: f64,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// As in the legend.
    pub name: String,
    /// In the order of x.
    pub points: Vec<Point>,
}

/// A chart of lines over a common x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// Above the chart.
    pub title: String,
    /// What the chart shows, in a sentence, for readers who do not see it.
    pub description: String,
    /// Horizontal. Its ticks are the values of the points.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// In the order of the legend.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 376.0;
/// Vertical distance of legend entries.
const LINE: f64 = 24.0;
/// Colours and shapes before they repeat.
const STYLES: usize = 8;
/// Series are moved apart sideways by this much, so that their error bars do not cover each other.
const APART: f64 = 3.0;

/// Colours of the light scheme, distinct for colour-blind readers; programs that do not know CSS variables use these.
const COLOURS: [&str; STYLES] =
    ["#0072b2", "#b45f06", "#00795c", "#a3407c", "#5a5fc7", "#7a6a00", "#c0392b", "#555b61"];

/// The variables follow the colour scheme of the reader.
const STYLE: &str = "<style>\
svg{--paper:#fff;--ink:#1f2328;--faint:#d8dee4;--c0:#0072b2;--c1:#b45f06;--c2:#00795c;--c3:#a3407c;--c4:#5a5fc7;--c5:#7a6a00;--c6:#c0392b;--c7:#555b61}\
@media(prefers-color-scheme:dark){svg{--paper:#14171a;--ink:#e6e8ea;--faint:#3a4046;--c0:#56b4e9;--c1:#f0a04b;--c2:#35c79a;--c3:#e58cc3;--c4:#a5a8ff;--c5:#e0cf4f;--c6:#ff7f73;--c7:#b4bac0}}\
text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--ink)}.title{font-size:16px;font-weight:600}\
.paper{fill:var(--paper)}.grid{stroke:var(--faint)}.axis{stroke:var(--ink)}\
.c0{fill:var(--c0);stroke:var(--c0)}.c1{fill:var(--c1);stroke:var(--c1)}.c2{fill:var(--c2);stroke:var(--c2)}.c3{fill:var(--c3);stroke:var(--c3)}\
.c4{fill:var(--c4);stroke:var(--c4)}.c5{fill:var(--c5);stroke:var(--c5)}.c6{fill:var(--c6);stroke:var(--c6)}.c7{fill:var(--c7);stroke:var(--c7)}\
.line{fill:none;stroke-width:2}.bar{stroke-width:1.5}\
</style>\n";

impl LineChart {
    /// The chart as one SVG document, without scripts or references to anything outside of it.
    pub fn to_svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Range::around(self.x.scale, points().map(|point| point.x));
        let ends = points().flat_map(|point| [point.y - point.error, point.y + point.error]);
        let y = Range::around(self.y.scale, ends);
        let mut svg = String::new();
        let _ = self.write(&mut svg, &x, &y); // writing to a string cannot fail
        svg
    }

    fn write(&self, svg: &mut String, x: &Range, y: &Range) -> std::fmt::Result {
        writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>",
            escaped(&self.title),
            escaped(&self.description)
        )?;
        svg.push_str(STYLE);
        writeln!(svg, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" class=\"paper\" fill=\"#fff\"/>")?;
        writeln!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"28\">{}</text>", escaped(&self.title))?;
        self.write_axes(svg, x, y)?;
        for (index, series) in self.series.iter().enumerate() {
            self.write_series(svg, (index, series), x, y)?;
        }
        svg.push_str("</svg>\n");
        Ok(())
    }

    fn write_axes(&self, svg: &mut String, x: &Range, y: &Range) -> std::fmt::Result {
        for tick in y.round_ticks(6) {
            let at = pixels(vertical(y, tick));
            writeln!(
                svg,
                "<line class=\"grid\" stroke=\"#d8dee4\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at}\" y2=\"{at}\"/>"
            )?;
            let (end, text) = (pixels(LEFT - 8.0), number(tick));
            writeln!(
                svg,
                "<text x=\"{end}\" y=\"{at}\" text-anchor=\"end\" dominant-baseline=\"middle\">{text}</text>"
            )?;
        }
        let mut last = f64::NEG_INFINITY;
        for tick in self.values_of_x() {
            let place = horizontal(x, tick);
            let at = pixels(place);
            writeln!(
                svg,
                "<line class=\"axis\" stroke=\"#1f2328\" x1=\"{at}\" x2=\"{at}\" y1=\"{BOTTOM}\" y2=\"{}\"/>",
                BOTTOM + 5.0
            )?;
            if place - last >= 34.0 {
                let text = number(tick);
                writeln!(svg, "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", BOTTOM + 20.0)?;
                last = place;
            }
        }
        writeln!(svg, "<path class=\"axis\" stroke=\"#1f2328\" fill=\"none\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>")?;
        let (middle_x, middle_y) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
        let below = BOTTOM + 46.0;
        writeln!(
            svg,
            "<text x=\"{middle_x}\" y=\"{below}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {middle_y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.x.label),
            escaped(&self.y.label)
        )
    }

    fn write_series(
        &self,
        svg: &mut String,
        (index, series): (usize, &Series),
        x: &Range,
        y: &Range,
    ) -> std::fmt::Result {
        let aside = APART * (index as f64 - (self.series.len() as f64 - 1.0) / 2.0);
        let shown: Vec<&Point> = series
            .points
            .iter()
            .filter(|point| [x.share(point.x), y.share(point.y), point.error].iter().all(|v| v.is_finite()))
            .collect();
        let at = |point: &Point, value: f64| (horizontal(x, point.x) + aside, vertical(y, value));
        let (style, colour) = (index % STYLES, COLOURS[index % STYLES]);
        writeln!(svg, "<g class=\"c{style}\" stroke=\"{colour}\" fill=\"{colour}\">")?;
        let corners: Vec<String> = shown
            .iter()
            .map(|point| at(point, point.y))
            .map(|(across, down)| format!("{},{}", pixels(across), pixels(down)))
            .collect();
        writeln!(svg, "<polyline class=\"line\" points=\"{}\"/>", corners.join(" "))?;
        for point in shown {
            let (across, down) = at(point, point.y);
            let (_, low) = at(point, point.y - point.error);
            let low = if low.is_finite() { low } else { BOTTOM }; // an end at or below 0 has no place among ratios
            let (_, high) = at(point, point.y + point.error);
            if point.error > 0.0 {
                let (left, right) = (pixels(across - 4.0), pixels(across + 4.0));
                let (across, low, high) = (pixels(across), pixels(low), pixels(high));
                writeln!(
                    svg,
                    "<path class=\"bar\" d=\"M{across} {low}V{high}M{left} {low}H{right}M{left} {high}H{right}\"/>"
                )?;
            }
            let tip = format!("{}, {}: {} ± {}", series.name, number(point.x), number(point.y), number(point.error));
            writeln!(svg, "<path d=\"{}\"><title>{}</title></path>", mark(index, across, down), escaped(&tip))?;
        }
        let (left, down) = (RIGHT + 22.0, TOP + 12.0 + LINE * index as f64);
        writeln!(
            svg,
            "<path class=\"line\" d=\"M{left} {down}h24\"/><path d=\"{}\"/>\n</g>\n<text x=\"{}\" y=\"{down}\" \
             dominant-baseline=\"middle\">{}</text>",
            mark(index, left + 12.0, down),
            left + 32.0,
            escaped(&series.name)
        )
    }

    /// Every x that has a point, ascending.
    fn values_of_x(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }
}

fn horizontal(range: &Range, value: f64) -> f64 {
    LEFT + range.share(value) * (RIGHT - LEFT)
}

fn vertical(range: &Range, value: f64) -> f64 {
    BOTTOM - range.share(value) * (BOTTOM - TOP)
}

/// A mark of about nine pixels around a place: circle, square, diamond, triangle, and the same in a row again.
fn mark(index: usize, x: f64, y: f64) -> String {
    let (x, y) = (|offset: f64| pixels(x + offset), |offset: f64| pixels(y + offset));
    match index % 4 {
        0 => format!("M{} {}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", x(-4.5), y(0.0)),
        1 => format!("M{} {}h8v8h-8z", x(-4.0), y(-4.0)),
        2 => format!("M{} {}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", x(0.0), y(-5.5)),
        _ => format!("M{} {}l5.5 9.5h-11z", x(0.0), y(-5.5)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scale;
    use super::*;

    fn chart(series: Vec<Series>) -> LineChart {
        let axis = |label: &str, scale| Axis { label: label.into(), scale };
        LineChart {
            title: "Error <by> features".into(),
            description: "Two lines.".into(),
            x: axis("features", Scale::Logarithmic),
            y: axis("error", Scale::Linear),
            series,
        }
    }

    fn series(name: &str, points: &[(f64, f64, f64)]) -> Series {
        Series { name: name.into(), points: points.iter().map(|&(x, y, error)| Point { x, y, error }).collect() }
    }

    #[test]
    fn every_point_has_a_mark_and_a_bar_and_every_series_a_legend() {
        let plain = series("plain & simple", &[(20.0, 0.5, 0.02), (50.0, 0.4, 0.01), (100.0, 0.35, 0.0)]);
        let svg = chart(vec![plain, series("elss1", &[(20.0, 0.45, 0.02), (50.0, 0.38, 0.01)])]).to_svg();
        assert_eq!(svg.matches("<title>").count(), 5, "a tool tip for each point");
        assert_eq!(svg.matches("class=\"bar\"").count(), 4, "no bar of length 0");
        assert!(svg.contains("plain &amp; simple</text>") && svg.contains(">elss1</text>"));
        assert!(
            svg.contains("<title id=\"title\">Error &lt;by&gt; features</title>") && svg.contains("<desc id=\"desc\">")
        );
        for tick in ["20", "50", "100"] {
            assert!(svg.contains(&format!("text-anchor=\"middle\">{tick}</text>")), "{tick}");
        }
    }

    /// What is larger lies higher, and everything lies inside the frame.
    #[test]
    fn larger_values_lie_higher() {
        let svg = chart(vec![series("one", &[(10.0, 1.0, 0.0), (100.0, 3.0, 0.0)])]).to_svg();
        let line = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let places: Vec<f64> = line.split([' ', ',']).map(|number| number.parse().unwrap()).collect();
        assert!(places[0] < places[2] && places[1] > places[3], "{places:?}");
        assert!(places[0] > LEFT && places[2] < RIGHT && places[1] < BOTTOM && places[3] > TOP);
    }

    #[test]
    fn an_error_bar_that_reaches_below_zero_ends_at_the_axis_of_ratios() {
        let mut chart = chart(vec![series("one", &[(10.0, 1.0, 2.0), (100.0, 3.0, 0.5)])]);
        chart.y.scale = Scale::Logarithmic;
        let svg = chart.to_svg();
        assert!(svg.contains(&format!(" {BOTTOM}V")) && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn no_points_and_infinite_ones_make_a_chart_all_the_same() {
        for points in [vec![], vec![series("x", &[(20.0, f64::INFINITY, f64::NAN)])]] {
            let svg = chart(points).to_svg();
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
