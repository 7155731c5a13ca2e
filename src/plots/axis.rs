//! One axis: from values to positions, and where its ticks are.

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart. Values must be above 0.
    Logarithmic,
}

/// What an axis shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// With its unit.
    pub label: String,
    /// How values are spread.
    pub scale: Scale,
}

/// The part of an axis that is drawn.
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    /// Room for `values`, with a margin on both sides. Values that are not finite are left out.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(|value| placed(scale, value)).filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let width = high - low;
        let margin = if width > 0.0 { 0.06 * width } else { (0.1 * low.abs()).max(0.1) };
        Self { scale, low: low - margin, high: high + margin }
    }

    /// The place of a value between 0, the low end, and 1, the high end.
    pub(super) fn share(&self, value: f64) -> f64 {
        (placed(self.scale, value) - self.low) / (self.high - self.low)
    }

    /// Round values within the range, about `wanted` of them.
    pub(super) fn round_ticks(&self, wanted: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.even_ticks(wanted),
            Scale::Logarithmic => self.decade_ticks(wanted),
        }
    }

    /// Multiples of a round step.
    fn even_ticks(&self, wanted: usize) -> Vec<f64> {
        let raw = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= raw);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|index| index as f64 * step).collect()
    }

    /// Powers of ten; with 2 and 5 times these where they are few, and every few of them where they are many.
    fn decade_ticks(&self, wanted: usize) -> Vec<f64> {
        let decades = self.high - self.low;
        let factors: &[f64] = if 2.0 * decades < wanted as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let apart = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
        let powers = (self.low.floor() as i32..=self.high.ceil() as i32).filter(|power| power.rem_euclid(apart) == 0);
        let ticks = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        ticks.filter(|tick| (0.0..=1.0).contains(&self.share(*tick))).collect()
    }
}

fn placed(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Logarithmic => value.log10(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_stay_inside() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let range = Range::around(scale, [20.0, 50.0, 200.0, f64::NAN].into_iter());
            let shares = [20.0, 50.0, 200.0].map(|value| range.share(value));
            assert!(0.0 < shares[0] && shares[0] < shares[1] && shares[1] < shares[2] && shares[2] < 1.0, "{shares:?}");
        }
        let range = Range::around(Scale::Logarithmic, [10.0, 1_000.0].into_iter());
        assert!((range.share(100.0) - 0.5).abs() < 1e-12, "a ratio is a distance");
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        let range = Range::around(Scale::Linear, [0.113, 0.287].into_iter());
        let ticks = range.round_ticks(5);
        assert!((3..=7).contains(&ticks.len()), "{ticks:?}");
        assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&range.share(*tick))));
        assert!(ticks.iter().all(|tick| ((tick / 0.05).round() - tick / 0.05).abs() < 1e-9), "{ticks:?}");
    }

    #[test]
    fn ticks_of_ratios_are_powers_of_ten() {
        let ticks = |low: f64, high: f64| Range::around(Scale::Logarithmic, [low, high].into_iter()).round_ticks(6);
        assert_eq!(ticks(0.002, 0.3), [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]);
        // The range is widened by 6% of its decades, from 5.4e-7 to 112.
        assert_eq!(ticks(1.5e-6, 40.0), [1e-6, 1e-4, 1e-2, 1.0, 100.0], "every second power");
        assert!(ticks(1.5e-4, 40.0).iter().all(|tick| (tick.log10().round() - tick.log10()).abs() < 1e-12));
    }

    #[test]
    fn a_single_value_or_none_still_has_a_range() {
        for values in [vec![], vec![3.0], vec![0.0], vec![f64::INFINITY]] {
            let range = Range::around(Scale::Linear, values.into_iter());
            assert!(range.share(1.0).is_finite() && !range.round_ticks(5).is_empty());
        }
    }
}
