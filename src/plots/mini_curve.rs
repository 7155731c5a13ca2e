//! Two curves without axes under a slider: what one row would have, and the mean of many.

use super::markup::{escaped, pixels};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 72.0;
/// Room for the line at either end.
const EDGE: f64 = 3.0;

/// An SVG element for a page, which gives the lines their colours by the classes `own`, `mean` and `at`. It is as wide as
/// its place: a slider of the same width has the same ends. The title is for readers who do not see it.
pub fn mini_curve(own: &[(f64, f64)], mean: &[(f64, f64)], at: f64, title: &str) -> String {
    let all = || own.iter().chain(mean).filter(|(x, y)| x.is_finite() && y.is_finite());
    let ends = |value: fn(&(f64, f64)) -> f64| {
        let found = all().map(value);
        found.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((left, right), (low, high)) = (ends(|point| point.0), ends(|point| point.1));
    let share = |value: f64, (low, high): (f64, f64)| if high > low { (value - low) / (high - low) } else { 0.5 };
    let across = |x: f64| pixels(share(x, (left, right)).clamp(0.0, 1.0) * WIDTH);
    let down = |y: f64| pixels(HEIGHT - EDGE - share(y, (low, high)) * (HEIGHT - 2.0 * EDGE));
    let line = |points: &[(f64, f64)]| {
        let shown = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        shown.map(|(x, y)| format!("{},{}", across(*x), down(*y))).collect::<Vec<_>>().join(" ")
    };
    let at = across(at);
    format!(
        "<svg class=\"curve\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\"><title>{}</title>\
         <path class=\"frame\" d=\"M0 {HEIGHT}H{WIDTH}\"/><polyline class=\"mean\" points=\"{}\"/>\
         <polyline class=\"own\" points=\"{}\"/><line class=\"at\" x1=\"{at}\" x2=\"{at}\" y1=\"0\" y2=\"{HEIGHT}\"/></svg>",
        escaped(title),
        line(mean),
        line(own)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_share_their_scale_and_values_outside_stay_inside() {
        let svg = mini_curve(&[(0.0, 1.0), (10.0, 3.0)], &[(0.0, 2.0), (10.0, 2.0)], 20.0, "of <x>");
        assert!(svg.contains("of &lt;x&gt;") && svg.contains("class=\"own\" points=\"0,69 480,3\""), "{svg}");
        assert!(svg.contains("class=\"mean\" points=\"0,36 480,36\"") && svg.contains("x1=\"480\""), "{svg}");
        let flat = mini_curve(&[(1.0, f64::NAN)], &[], 0.0, "t");
        assert!(!flat.contains("NaN") && !flat.contains("inf"), "{flat}");
    }
}
