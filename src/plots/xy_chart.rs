//! Points and lines over two axes of numbers.

use super::axis::{Axis, Range, Scale};
use super::canvas::{Canvas, Size};
use super::markup::{escaped, number, pixels};
use super::style::{STYLES, Sign, document, legend, mark, shortened};
use std::fmt::Write;

/// How a trace is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// A line with marks.
    Line,
    /// A line without marks.
    Curve,
    /// A dashed line without marks: what the others are compared with.
    Reference,
    /// Marks alone.
    Marks,
}

/// A value, with the ends of its interval if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// Low and high end of an interval around y.
    pub interval: Option<(f64, f64)>,
}

impl Spot {
    /// A value without an interval.
    pub fn plain(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }

    /// A value with as much to each side; 0 is no interval.
    pub fn with_error(x: f64, y: f64, error: f64) -> Self {
        Self { x, y, interval: (error > 0.0).then_some((y - error, y + error)) }
    }
}

/// One line or cloud of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// As in the legend.
    pub name: String,
    /// How it is drawn.
    pub drawing: Drawing,
    /// Lines follow this order.
    pub spots: Vec<Spot>,
}

/// A chart of traces over common axes.
#[derive(Debug, Clone, PartialEq)]
pub struct XyChart {
    /// Above the chart.
    pub title: String,
    /// What it shows, in a sentence, for readers who do not see it.
    pub description: String,
    /// Horizontal, with its unit.
    pub x: Axis,
    /// Vertical, with its unit.
    pub y: Axis,
    /// In the order of the legend. The picture has the first [`XyChart::MOST_DRAWN`] of them.
    pub traces: Vec<Trace>,
}

/// Most marks of a line; more would be a blot. More marks than these alone are small, and their intervals faint.
const MOST_MARKS: usize = 60;

/// Lines with intervals are moved apart sideways by this many pixels, so that their intervals do not cover each other.
const APART: f64 = 3.0;

/// Most whole numbers that are the ticks of their axis themselves, and how far apart their labels must be.
const MOST_OWN_TICKS: usize = 12;
const LABEL_WIDTH: f64 = 44.0;

impl XyChart {
    /// Most traces of a picture: as many as there are colours. The data has all.
    pub const MOST_DRAWN: usize = STYLES;

    /// The chart as one SVG document, without scripts or references to anything outside of it.
    pub fn to_svg(&self, size: Size) -> String {
        let canvas = Canvas::of(size);
        let traces = &self.traces[..self.traces.len().min(Self::MOST_DRAWN)];
        let spots = || traces.iter().flat_map(|trace| &trace.spots);
        let ends = |spot: &Spot| {
            let (low, high) = spot.interval.unwrap_or((spot.y, spot.y));
            [low, spot.y, high]
        };
        let shown = |scale: Scale, value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let x_values: Vec<f64> = spots().map(|spot| spot.x).filter(|x| shown(self.x.scale, x)).collect();
        let y_values: Vec<f64> = spots().flat_map(ends).filter(|y| shown(self.y.scale, y)).collect();
        let place = Place {
            canvas,
            x: Range::around(self.x.scale, x_values.iter().copied()),
            y: Range::around(self.y.scale, y_values.iter().copied()),
        };
        let sign = |trace: &Trace| match trace.drawing {
            Drawing::Line | Drawing::Marks => Sign::Mark,
            Drawing::Curve => Sign::Line,
            Drawing::Reference => Sign::Dashes,
        };
        let names: Vec<(&str, Sign)> = traces.iter().map(|trace| (trace.name.as_str(), sign(trace))).collect();
        let legend = legend(canvas, &names);
        let has_bars =
            |trace: &&Trace| trace.drawing == Drawing::Line && trace.spots.iter().any(|spot| spot.interval.is_some());
        let (barred, mut seen) = (traces.iter().filter(has_bars).count() as f64, 0.0);
        document(canvas, &self.title, &self.description, |svg| {
            svg.push_str(&legend);
            self.write_axes(svg, &place, &x_values, &y_values)?;
            for (index, trace) in traces.iter().enumerate() {
                let aside = if has_bars(&trace) { APART * (seen - (barred - 1.0) / 2.0) } else { 0.0 };
                seen += f64::from(u8::from(has_bars(&trace)));
                write_trace(svg, (index, aside), trace, &place)?;
            }
            Ok(())
        })
    }

    fn write_axes(&self, svg: &mut String, place: &Place, x_values: &[f64], y_values: &[f64]) -> std::fmt::Result {
        let Canvas { left, right, top, bottom, .. } = place.canvas;
        for tick in ticks(self.y.scale, &place.y, y_values, 6) {
            let at = pixels(place.down(tick));
            writeln!(svg, "<path class=\"grid\" d=\"M{left} {at}H{right}\"/>")?;
            writeln!(
                svg,
                "<text class=\"muted\" x=\"{}\" y=\"{at}\" text-anchor=\"end\" dominant-baseline=\"middle\">{}</text>",
                left - 8.0,
                number(tick)
            )?;
        }
        let mut last = f64::NEG_INFINITY;
        let wanted = place.canvas.ticks;
        for tick in own_ticks(x_values).unwrap_or_else(|| ticks(self.x.scale, &place.x, x_values, wanted)) {
            let across = place.across(tick);
            let at = pixels(across);
            writeln!(svg, "<path class=\"axis\" d=\"M{at} {bottom}v5\"/>")?;
            if across - last < LABEL_WIDTH {
                continue;
            }
            last = across;
            writeln!(
                svg,
                "<text class=\"muted\" x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 22.0,
                number(tick)
            )?;
        }
        writeln!(svg, "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>")?;
        writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            place.canvas.middle,
            place.canvas.height - 12.0,
            escaped(&shortened(&self.x.label, place.canvas.across_letters)),
            f64::midpoint(*top, *bottom),
            escaped(&shortened(&self.y.label, place.canvas.up_letters))
        )
    }
}

/// Where values are on a canvas.
struct Place {
    canvas: &'static Canvas,
    x: Range,
    y: Range,
}

impl Place {
    fn across(&self, value: f64) -> f64 {
        self.canvas.left + self.x.share(value) * (self.canvas.right - self.canvas.left)
    }

    fn down(&self, value: f64) -> f64 {
        self.canvas.bottom - self.y.share(value) * (self.canvas.bottom - self.canvas.top)
    }
}

fn write_trace(svg: &mut String, (index, aside): (usize, f64), trace: &Trace, chart: &Place) -> std::fmt::Result {
    let Canvas { top, bottom, .. } = *chart.canvas;
    let place = |across: f64, up: f64| (chart.across(across) + aside, chart.down(up));
    let is_shown = |spot: &&Spot| {
        let (across, down) = place(spot.x, spot.y);
        across.is_finite() && down.is_finite()
    };
    let shown: Vec<&Spot> = trace.spots.iter().filter(is_shown).collect();
    writeln!(svg, "<g class=\"c{}\">", index % STYLES)?;
    if trace.drawing != Drawing::Marks {
        let corners: Vec<String> = shown
            .iter()
            .map(|spot| place(spot.x, spot.y))
            .map(|(across, down)| format!("{},{}", pixels(across), pixels(down)))
            .collect();
        let dashed = if trace.drawing == Drawing::Reference { " dashed" } else { "" };
        writeln!(svg, "<polyline class=\"line{dashed}\" points=\"{}\"/>", corners.join(" "))?;
    }
    let is_crowded = shown.len() > MOST_MARKS;
    let is_value = trace.drawing != Drawing::Reference;
    for (spot, (low, high)) in shown.iter().filter(|_| is_value).filter_map(|spot| Some((spot, spot.interval?))) {
        let (across, _) = place(spot.x, spot.y);
        let (low, high) = (pixels(chart.down(low).min(bottom)), pixels(chart.down(high).max(top)));
        let (left, right, at) = (pixels(across - 4.0), pixels(across + 4.0), pixels(across));
        if is_crowded {
            writeln!(svg, "<path class=\"bar faint\" d=\"M{at} {low}V{high}\"/>")?;
        } else {
            writeln!(svg, "<path class=\"bar\" d=\"M{at} {low}V{high}M{left} {low}H{right}M{left} {high}H{right}\"/>")?;
        }
    }
    let has_marks = match trace.drawing {
        Drawing::Line => !is_crowded,
        Drawing::Marks => true,
        Drawing::Curve | Drawing::Reference => false,
    };
    for spot in shown.iter().filter(|_| has_marks) {
        let (across, down) = place(spot.x, spot.y);
        if is_crowded {
            writeln!(svg, "<circle class=\"dots\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>", pixels(across), pixels(down))?;
            continue;
        }
        let ends = spot.interval.map(|(low, high)| format!(" ({} to {})", number(low), number(high)));
        let tip = format!("{}: {}{} at {}", trace.name, number(spot.y), ends.unwrap_or_default(), number(spot.x));
        let tip = escaped(&tip);
        writeln!(svg, "<path class=\"dots\" d=\"{}\"><title>{tip}</title></path>", mark(index, across, down))?;
    }
    writeln!(svg, "</g>")
}

/// The values themselves, where they are a few whole numbers such as counts.
fn own_ticks(values: &[f64]) -> Option<Vec<f64>> {
    let mut distinct = values.to_vec();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    let whole = distinct.iter().all(|value| (0.0..1e5).contains(value) && value.fract() == 0.0);
    (whole && (1..=MOST_OWN_TICKS).contains(&distinct.len())).then_some(distinct)
}

/// Round values on an axis: powers of ten, with round values between them if there are few, where ratios are distances.
fn ticks(scale: Scale, range: &Range, values: &[f64], wanted: usize) -> Vec<f64> {
    let within = |tick: &f64| (0.0..=1.0).contains(&range.share(*tick));
    match scale {
        Scale::Linear => range.round_ticks(wanted).into_iter().filter(within).collect(),
        Scale::Logarithmic => {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min).log10().floor() as i32;
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max).log10().ceil() as i32;
            let wanted = i32::try_from(wanted.max(1)).unwrap_or(i32::MAX);
            let every = (high - low).max(1).saturating_add(wanted - 1) / wanted;
            let with = |steps: &[f64]| -> Vec<f64> {
                let powers = (low..=high).filter(|power| (power - low) % every == 0).map(|power| 10_f64.powi(power));
                powers.flat_map(|power| steps.iter().map(move |step| step * power)).filter(within).collect()
            };
            let enough = |ticks: &Vec<f64>| ticks.len() >= 3;
            let all = || with(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
            // Values that differ by a few percent have no round ratios between them.
            let even = || Range::around(Scale::Linear, values.iter().copied()).round_ticks(4);
            Some(with(&[1.0]))
                .filter(enough)
                .or_else(|| Some(with(&[1.0, 2.0, 5.0])).filter(enough))
                .or_else(|| Some(all()).filter(enough))
                .unwrap_or_else(|| even().into_iter().filter(|tick| *tick > 0.0 && within(tick)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, traces: Vec<Trace>) -> XyChart {
        let axis = |label: &str| Axis { label: label.into(), scale };
        XyChart { title: "A <b>".into(), description: "d".into(), x: axis("x"), y: axis("y"), traces }
    }

    #[test]
    fn marks_intervals_and_references_are_drawn_and_values_escaped() {
        let spots = vec![Spot { x: 1.0, y: 2.0, interval: Some((1.0, 3.0)) }, Spot::plain(2.0, 4.0)];
        let line = Trace { name: "one & two".into(), drawing: Drawing::Line, spots: spots.clone() };
        let diagonal = Trace { name: "equal".into(), drawing: Drawing::Reference, spots };
        let svg = chart(Scale::Linear, vec![line, diagonal]).to_svg(Size::Wide);
        assert_eq!((svg.matches("<title>").count(), svg.matches("class=\"bar\"").count()), (2, 1), "{svg}");
        assert!(svg.contains("<title>one &amp; two: 2 (1 to 3) at 1</title>"), "{svg}");
        assert!(svg.contains("one &amp; two") && svg.contains("A &lt;b&gt;") && svg.contains("dashed"));
    }

    #[test]
    fn powers_of_ten_are_ticks_where_ratios_are_distances_and_zeros_are_left_out() {
        let spots = vec![Spot::plain(1e-4, 0.0), Spot::plain(1e-4, 1.0), Spot::plain(1.0, 1e6)];
        let svg = chart(Scale::Logarithmic, vec![Trace { name: "t".into(), drawing: Drawing::Line, spots }])
            .to_svg(Size::Wide);
        assert!(
            svg.contains(">0.001</text>")
                && svg.contains(">10⁶</text>")
                && !svg.contains("NaN")
                && !svg.contains("inf"),
            "{svg}"
        );
        let spots = vec![Spot::plain(1.0, 0.97), Spot::plain(10.0, 0.99)];
        let close = chart(Scale::Logarithmic, vec![Trace { name: "t".into(), drawing: Drawing::Line, spots }])
            .to_svg(Size::Wide);
        assert!(close.contains(">0.98</text>"), "close values have ticks too: {close}");
        let empty = chart(Scale::Linear, vec![]).to_svg(Size::Wide);
        assert!(empty.ends_with("</svg>\n") && !empty.contains("NaN"));
    }

    #[test]
    fn counts_are_their_own_ticks_and_intervals_stand_side_by_side() {
        let line = |name: &str, up: f64| {
            let spots = [20.0, 50.0, 52.0, 1000.0].map(|x| Spot::with_error(x, up, 0.5)).to_vec();
            Trace { name: name.into(), drawing: Drawing::Line, spots }
        };
        let svg = chart(Scale::Logarithmic, vec![line("one", 1.0), line("two", 1.5)]).to_svg(Size::Wide);
        for (tick, count) in [("20", 1), ("50", 1), ("52", 0), ("1000", 1), ("100", 0)] {
            assert_eq!(svg.matches(&format!("text-anchor=\"middle\">{tick}</text>")).count(), count, "{tick}: {svg}");
        }
        let bars: Vec<f64> = svg
            .split("class=\"bar\" d=\"M")
            .skip(1)
            .map(|path| path.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(bars.len(), 8);
        assert!((bars[4] - bars[0] - APART).abs() < 0.11, "{bars:?}");
    }

    #[test]
    fn an_interval_that_reaches_below_zero_ends_at_the_axis_of_ratios() {
        let spots = vec![Spot::with_error(10.0, 1.0, 2.0), Spot::with_error(100.0, 3.0, 0.5)];
        let svg = chart(Scale::Logarithmic, vec![Trace { name: "t".into(), drawing: Drawing::Line, spots }])
            .to_svg(Size::Wide);
        assert!(svg.contains(" 380V") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let spots = vec![Spot::with_error(20.0, f64::INFINITY, f64::NAN)];
        let none =
            chart(Scale::Linear, vec![Trace { name: "t".into(), drawing: Drawing::Line, spots }]).to_svg(Size::Wide);
        assert!(none.ends_with("</svg>\n") && !none.contains("NaN") && !none.contains("inf"), "{none}");
    }
}
