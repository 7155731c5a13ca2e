//! A table made on the spot: what a bicycle rental lends in an hour, by weather and clock.

use std::fmt::Write;

/// Rows of the table.
pub(super) const ROWS: usize = 1200;

/// The column to predict.
pub(super) const TARGET: &str = "rentals";

/// A typical row, and the same in the night.
pub(super) const MORNING: &str = r#"{"hour":8,"temperature":18,"wind":10,"weather":"clear","holiday":false}"#;
pub(super) const NIGHT: &str = r#"{"hour":2,"temperature":18,"wind":10,"weather":"clear","holiday":false}"#;

/// CSV with numbers, text, truth values and a few missing cells. The same seed is the same table.
pub(super) fn made_table(seed: u64) -> String {
    let mut numbers = Draws(seed);
    let mut table = String::from("hour,temperature,wind,weather,holiday,rentals\n");
    for row in 0..ROWS {
        let hour = (numbers.next() * 24.0).floor();
        let temperature = 12.0 + 9.0 * numbers.normal();
        let wind = (4.0 + 8.0 * numbers.next() + 6.0 * numbers.next()).max(0.0);
        let weather = ["clear", "clear", "cloudy", "rain"][(numbers.next() * 4.0) as usize % 4];
        let holiday = numbers.next() < 0.3;
        let rentals = rentals(hour, temperature, wind, weather, holiday) + 5.0 * numbers.normal();
        // A thermometer that fails now and then.
        let measured = if row % 60 == 17 { String::new() } else { format!("{temperature:.1}") };
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{hour},{measured},{wind:.1},{weather},{holiday},{:.1}", rentals.max(0.0));
    }
    table
}

/// Two rush hours on working days, one long afternoon on holidays; people like it warm, dry and calm.
fn rentals(hour: f64, temperature: f64, wind: f64, weather: &str, holiday: bool) -> f64 {
    let bump = |centre: f64, width: f64| (-((hour - centre) / width).powi(2) / 2.0).exp();
    let clock = if holiday { 90.0 * bump(14.5, 4.5) } else { 80.0 * bump(8.0, 3.0) + 100.0 * bump(17.5, 3.5) };
    let warmth = 0.35 + 0.65 / (1.0 + (-(temperature - 10.0) / 6.0).exp());
    let sky = match weather {
        "clear" => 1.0,
        "cloudy" => 0.85,
        _ => 0.55,
    };
    (8.0 + clock) * warmth * sky * (1.0 - 0.012 * wind)
}

/// SplitMix64, so that the table needs no dependency and is the same everywhere. [Steele, Lea & Flood 2014]
struct Draws(u64);

impl Draws {
    /// From 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// By Box and Muller.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.next(), self.next());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_is_the_same_table() {
        let table = made_table(1);
        assert_eq!(table, made_table(1));
        assert_ne!(table, made_table(2));
        assert_eq!(table.lines().count(), ROWS + 1);
        assert!(table.lines().skip(1).all(|line| line.split(',').count() == 6));
    }
}
