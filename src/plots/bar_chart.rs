//! Named bars from a common line, with error bars; the longest names are cut in the picture, not in the data.

use super::axis::{Range, Scale};
use super::markup::{escaped, number, pixels};
use super::style::{BOTTOM, HEIGHT, RIGHT, TOP, document, shortened};
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
    /// From the top.
    pub bars: Vec<Bar>,
}

/// Where names end and bars begin.
const FOOT: f64 = 220.0;

/// Most bars that are drawn; the data has all.
const MOST: usize = 18;

impl BarChart {
    /// The chart as one SVG document, without scripts or references to anything outside of it.
    pub fn to_svg(&self) -> String {
        document(&self.title, &self.description, |svg| self.write(svg))
    }

    fn write(&self, svg: &mut String) -> std::fmt::Result {
        let bars = &self.bars[..self.bars.len().min(MOST)];
        let ends = bars.iter().flat_map(|bar| [bar.value - bar.error, bar.value + bar.error]);
        let range = Range::around(Scale::Linear, ends.chain([0.0]));
        let at = |value: f64| FOOT + range.share(value) * (RIGHT - FOOT);
        let step = (BOTTOM - TOP + 24.0) / bars.len().max(1) as f64;
        for tick in range.round_ticks(6).into_iter().filter(|tick| (0.0..=1.0).contains(&range.share(*tick))) {
            let place = pixels(at(tick));
            writeln!(svg, "<path class=\"grid\" d=\"M{place} {}V{BOTTOM}\"/>", TOP - 28.0)?;
            let below = BOTTOM + 20.0;
            writeln!(
                svg,
                "<text class=\"muted\" x=\"{place}\" y=\"{below}\" text-anchor=\"middle\">{}</text>",
                number(tick)
            )?;
        }
        for (index, bar) in bars.iter().enumerate() {
            let top = TOP - 24.0 + step * index as f64;
            let thick = (0.7 * step).min(34.0);
            let middle = top + step / 2.0;
            let (from, to) = (at(bar.value.min(0.0)), at(bar.value.max(0.0)));
            let tip = escaped(&format!("{}: {}", bar.name, number(bar.value)));
            writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dominant-baseline=\"middle\">{}</text>\n\
                 <rect class=\"c0 dots\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{tip}</title></rect>",
                FOOT - 10.0,
                pixels(middle),
                escaped(&shortened(&bar.name, 26)),
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
        writeln!(svg, "<path class=\"axis\" d=\"M{} {}V{BOTTOM}\"/>", pixels(at(0.0)), TOP - 28.0)?;
        let middle = f64::midpoint(FOOT, RIGHT);
        writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 12.0,
            escaped(&self.label)
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
        let svg = chart.to_svg();
        assert_eq!((svg.matches("<rect class").count(), svg.matches("class=\"c5 bar\"").count()), (2, 1));
        assert!(svg.contains("a &lt;long&gt; name that is lon…") && !svg.contains("NaN"), "{svg}");
        assert!(BarChart { bars: vec![], ..chart }.to_svg().ends_with("</svg>\n"));
    }
}
