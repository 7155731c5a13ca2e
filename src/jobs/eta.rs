//! The estimate of the time left in a stage, which follows a changed pace without jumping.

/// The time left at one moment of a stage, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Eta {
    /// Since the start of the stage.
    at: f64,
    left: f64,
}

impl Eta {
    /// The part of a stage, and the seconds of it, that must be over before its end is estimated.
    const LEAST: (f64, f64) = (0.05, 0.5);

    /// Two thirds of a new pace are taken over in a tenth of the time so far, or in this many seconds if that is longer;
    /// towards the end, in a quarter of the time that is left.
    const SETTLING: f64 = 5.0;

    /// The estimate when `fraction` of a stage is done `elapsed` seconds after its start. The mean pace so far gives the
    /// time left; the estimate before, less the time that has passed, is moved towards it.
    pub(super) fn next(previous: Option<Self>, elapsed: f64, fraction: f64) -> Option<Self> {
        if fraction >= 1.0 {
            return Some(Self { at: elapsed, left: 0.0 });
        }
        if previous.is_none() && (fraction < Self::LEAST.0 || elapsed < Self::LEAST.1) {
            return None;
        }
        let measured = elapsed * (1.0 - fraction) / fraction.max(Self::LEAST.0);
        let left = previous.map_or(measured, |previous| {
            let passed = (elapsed - previous.at).max(0.0);
            let expected = (previous.left - passed).max(0.0);
            let settling = (elapsed / 10.0).max(Self::SETTLING).min(measured / 4.0 + 0.2);
            expected + (1.0 - (-passed / settling).exp()) * (measured - expected)
        });
        Some(Self { at: elapsed, left })
    }

    /// In seconds.
    pub(super) fn left(self) -> f64 {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimates of a stage that is looked at every tenth of a second, with their times.
    fn watch(seconds: f64, fraction: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let (mut eta, mut seen) = (None, Vec::new());
        for step in 0..=(seconds * 10.0) as usize {
            let elapsed = step as f64 / 10.0;
            eta = Eta::next(eta, elapsed, fraction(elapsed).min(1.0));
            seen.extend(eta.map(|eta| (elapsed, eta.left())));
        }
        seen
    }

    /// The largest change from one estimate to the next, beyond the time that passed.
    fn largest_jump(seen: &[(f64, f64)]) -> f64 {
        let jump = |pair: &[(f64, f64)]| (pair[1].1 - (pair[0].1 - (pair[1].0 - pair[0].0))).abs();
        seen.windows(2).map(jump).fold(0.0, f64::max)
    }

    #[test]
    fn a_steady_pace_is_counted_down_exactly() {
        for (elapsed, left) in watch(100.0, |t| t / 100.0) {
            assert!((left - (100.0 - elapsed)).abs() < 1e-9, "{elapsed} {left}");
        }
    }

    #[test]
    fn nothing_is_estimated_before_there_is_something_to_go_by() {
        assert_eq!(Eta::next(None, 0.0, 0.0), None);
        assert_eq!(Eta::next(None, 100.0, 0.04), None);
        assert_eq!(Eta::next(None, 0.4, 0.9), None);
        assert_eq!(Eta::next(None, 1.0, 0.5).unwrap().left(), 1.0);
        assert_eq!(Eta::next(None, 0.1, 1.0).unwrap().left(), 0.0);
    }

    /// Blocks of unequal work: the mean pace wavers by a fifth every second.
    #[test]
    fn an_uneven_pace_does_not_make_it_jump() {
        let uneven = |t: f64| t / 100.0 * (1.0 + 0.2 * (std::f64::consts::TAU * t).sin() * (1.0 - t / 100.0));
        let seen = watch(100.0, uneven);
        let raw: Vec<(f64, f64)> =
            seen.iter().map(|(t, _)| (*t, t * (1.0 - uneven(*t)) / uneven(*t))).filter(|(t, _)| *t > 5.0).collect();
        let smooth: Vec<(f64, f64)> = seen.into_iter().filter(|(t, _)| *t > 5.0).collect();
        assert!(largest_jump(&raw) > 10.0, "{}", largest_jump(&raw));
        assert!(largest_jump(&smooth) < 1.0, "{}", largest_jump(&smooth));
    }

    /// Half of the work at one pace, the rest at half of it: 150 seconds in all.
    #[test]
    fn a_changed_pace_is_learned_and_the_end_is_zero() {
        let seen = watch(150.0, |t| if t <= 50.0 { t / 100.0 } else { 0.5 + (t - 50.0) / 200.0 });
        assert!(largest_jump(&seen) < 0.5, "{}", largest_jump(&seen));
        let at = |time: f64| seen.iter().find(|(t, _)| *t >= time).unwrap().1;
        assert!((at(49.9) - 50.0).abs() < 1.0, "{}", at(49.9));
        assert!((at(140.0) - 10.0).abs() < 4.0, "{}", at(140.0));
        assert_eq!(at(150.0), 0.0);
    }

    #[test]
    fn estimates_are_never_negative_nor_infinite() {
        for fraction in [0.05, 0.3, 0.999_999, 1.0] {
            for (earlier, later) in [(0.5, 0.5), (0.5, 1e9), (1e9, 1e9 + 1e-9), (2.0, 1.0)] {
                let left = Eta::next(Eta::next(None, earlier, 0.5), later, fraction).unwrap().left();
                assert!(left >= 0.0 && left.is_finite(), "{fraction} {earlier} {later}: {left}");
            }
        }
    }
}
