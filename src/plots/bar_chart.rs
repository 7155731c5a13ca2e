//! Named bars from a common line, with error bars; the longest names are cut in the picture, not in the data.

use super::axis::{Range, Scale};
use super::canvas::{Canvas, Size};
use super::markup::{escaped, number, pixels};
use super::style::{document, shortened};
use std::fmt::Write;

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Of what.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Half the length of its error bar; 0 draws none.
    pub error: f64,
}

/// A chart of bars that run to the right, the first on top.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart {
    /// Above the chart.
    pub title: String,
    /// What it shows, in a sentence, for readers who do not see it.
    pub description: String,
    /// Of the values, with their unit.
    pub label: String,
    /// From the top. The picture has as many of them as there is room for, and says so; the data has all.
    pub bars: Vec<Bar>,
}

impl BarChart {
    /// The chart as one SVG document, without scripts or references to anything outside of it.
    pub fn to_svg(&self, size: Size) -> String {
        let canvas = Canvas::of(size);
        document(canvas, &self.title, &self.description, |svg| self.write(svg, canvas))
    }

    fn write(&self, svg: &mut String, canvas: &Canvas) -> std::fmt::Result {
        let Canvas { right, top: head, bottom, bars: foot, .. } = *canvas;
        let bars = &self.bars[..self.bars.len().min(canvas.most_bars)];
        let ends = bars.iter().flat_map(|bar| [bar.value - bar.error, bar.value + bar.error]);
        let range = Range::around(Scale::Linear, ends.chain([0.0]));
        let at = |value: f64| foot + range.share(value) * (right - foot);
        let step = (bottom - head + 24.0) / bars.len().max(1) as f64;
        for tick in range.round_ticks(6).into_iter().filter(|tick| (0.0..=1.0).contains(&range.share(*tick))) {
            let place = pixels(at(tick));
            writeln!(svg, "<path class=\"grid\" d=\"M{place} {}V{bottom}\"/>", head - 28.0)?;
            let below = bottom + 20.0;
            writeln!(
                svg,
                "<text class=\"muted\" x=\"{place}\" y=\"{below}\" text-anchor=\"middle\">{}</text>",
                number(tick)
            )?;
        }
        for (index, bar) in bars.iter().enumerate() {
            let top = head - 24.0 + step * index as f64;
            let thick = (0.7 * step).min(34.0);
            let middle = top + step / 2.0;
            let (from, to) = (at(bar.value.min(0.0)), at(bar.value.max(0.0)));
            let tip = escaped(&format!("{}: {}", bar.name, number(bar.value)));
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dominant-baseline=\"middle\">{}</text>\n\
                 <rect class=\"c0 dots\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{tip}</title></rect>",
                foot - 10.0,
                pixels(middle),
                escaped(&shortened(&bar.name, canvas.bar_letters)),
                pixels(from),
                pixels(middle - thick / 2.0),
                pixels((to - from).max(1.0)),
                pixels(thick)
            )?;
            if bar.error > 0.0 {
                let (low, high, at_y) =
                    (pixels(at(bar.value - bar.error)), pixels(at(bar.value + bar.error)), pixels(middle));
                writeln!(
                    svg,
                    "<path class=\"c5 bar\" d=\"M{low} {at_y}H{high}M{low} {0}v8M{high} {0}v8\"/>",
                    pixels(middle - 4.0)
                )?;
            }
        }
        writeln!(svg, "<path class=\"axis\" d=\"M{} {}V{bottom}\"/>", pixels(at(0.0)), head - 28.0)?;
        let shown = match self.bars.len() {
            all if all > bars.len() => format!(" (the first {} of {all})", bars.len()),
            _ => String::new(),
        };
        let letters = canvas.across_letters.saturating_sub(shown.chars().count());
        writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}{shown}</text>",
            canvas.middle,
            canvas.height - 12.0,
            escaped(&shortened(&self.label, letters))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_its_name_and_negative_ones_run_the_other_way() {
        let bar = |name: &str, value, error| Bar { name: name.into(), value, error };
        let bars = vec![bar("a <long> name that is longer than there is room for", 2.0, 0.5), bar("b", -1.0, 0.0)];
        let chart = BarChart { title: "t".into(), description: "d".into(), label: "l".into(), bars };
        let svg = chart.to_svg(Size::Wide);
        assert_eq!((svg.matches("<rect class").count(), svg.matches("class=\"c5 bar\"").count()), (2, 1));
        assert!(svg.contains("a &lt;long&gt; name…room for") && !svg.contains("NaN"), "{svg}");
        let many: Vec<Bar> = (0..30).map(|index| bar("many", f64::from(index), 0.0)).collect();
        let many = BarChart { bars: many, ..chart.clone() };
        assert!(many.to_svg(Size::Wide).contains(">l (the first 18 of 30)</text>"));
        assert!(many.to_svg(Size::Narrow).contains(">l (the first 12 of 30)</text>"));
        assert!(BarChart { bars: vec![], ..chart }.to_svg(Size::Wide).ends_with("</svg>\n"));
    }
}
