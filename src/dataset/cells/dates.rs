//! Dates and times: ISO 8601 and the common forms. An instant is kept as seconds since 1970-01-01, in UTC if the cell
//! names its offset and as written if it does not.

use serde::Serialize;
use std::f64::consts::TAU;

const DAY: f64 = 86_400.0;

/// What comes first in a date such as 03/04/2026.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// 4 March.
    #[default]
    MonthFirst,
    /// 3 April.
    DayFirst,
}

/// What a cell says if it is a date.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::dataset) struct Instant {
    /// Seconds since 1970 if the month comes first, or if the order is clear; none if that is no date.
    pub(in crate::dataset) month_first: Option<f64>,
    /// The same if the day comes first.
    pub(in crate::dataset) day_first: Option<f64>,
    pub(in crate::dataset) has_time: bool,
}

impl Instant {
    pub(in crate::dataset) fn seconds(self, order: DateOrder) -> Option<f64> {
        match order {
            DateOrder::MonthFirst => self.month_first,
            DateOrder::DayFirst => self.day_first,
        }
    }
}

/// Reads a date, with or without a time of day.
pub(super) fn read(cell: &str) -> Option<Instant> {
    if !(6..=40).contains(&cell.len()) || !cell.is_ascii() || !cell.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (date, rest) = split_time(cell);
    let time = if rest.is_empty() { Some(0.0) } else { read_time(rest) }?;
    let (month_first, day_first) = read_date(date.trim_end_matches(','))?;
    let at = |day: i64| day as f64 * DAY + time;
    Some(Instant { month_first: month_first.map(at), day_first: day_first.map(at), has_time: !rest.is_empty() })
}

/// Eight digits, such as 20260331, which are a number unless the column is said to hold dates.
pub(in crate::dataset) fn read_compact(cell: &str) -> Option<Instant> {
    let digits = cell.len() == 8 && cell.bytes().all(|byte| byte.is_ascii_digit());
    let day = digits.then(|| day_number(number(&cell[..4])?, number(&cell[4..6])?, number(&cell[6..])?)).flatten()?;
    let seconds = Some(day as f64 * DAY);
    Some(Instant { month_first: seconds, day_first: seconds, has_time: false })
}

/// The date, and the time behind a `T` or the last date word; the time has a colon.
fn split_time(cell: &str) -> (&str, &str) {
    let Some(colon) = cell.find(':') else { return (cell, "") };
    let start = cell[..colon].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    (cell[..start].trim_end_matches(['T', 't', ' ', ',']), &cell[start..])
}

/// Days since 1970 of a date, if the month comes first and if the day does.
fn read_date(date: &str) -> Option<(Option<i64>, Option<i64>)> {
    let parts: Vec<&str> = date.split(['-', '/', '.', ' ', ',']).filter(|part| !part.is_empty()).collect();
    let [first, second, third] = parts.as_slice() else { return None };
    let same = |day: Option<i64>| day.map(|day| (Some(day), Some(day)));
    if let Some(month) = month_named(second) {
        return match number(first)? {
            day if first.len() <= 2 => same(day_number(year(third)?, month, day)),
            year => same(day_number(year, month, number(third)?)), // 2026-Mar-31
        };
    }
    if let Some(month) = month_named(first) {
        return same(day_number(year(third)?, month, number(second)?));
    }
    if first.len() == 4 {
        return same(day_number(number(first)?, number(second)?, number(third)?));
    }
    if first.len() > 2 || second.len() > 2 || !(third.len() == 4 || third.len() == 2) {
        return None;
    }
    let (one, two, year) = (number(first)?, number(second)?, year(third)?);
    let found = (day_number(year, one, two), day_number(year, two, one));
    (found.0.is_some() || found.1.is_some()).then_some(found)
}

fn number(text: &str) -> Option<i64> {
    (text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Two digits are 1969 to 2068, as in POSIX.
fn year(text: &str) -> Option<i64> {
    match (number(text)?, text.len()) {
        (year, 4) => Some(year),
        (year @ 0..=68, 2) => Some(2000 + year),
        (year, 2) => Some(1900 + year),
        _ => None,
    }
}

fn month_named(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let name = text.to_ascii_lowercase();
    let is = |month: &str| {
        month == name || name.len() == 3 && month.starts_with(&name) || name == "sept" && month == "september"
    };
    (1..).zip(MONTHS).find(|(_, month)| is(month)).map(|(number, _)| number)
}

/// Seconds of the day: `10:30`, `10:30:15.25`, `3:30 PM`, then perhaps `Z` or an offset such as `+02:00`.
fn read_time(text: &str) -> Option<f64> {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (text[..at].trim_end(), read_offset(&text[at..])?),
        None => (text, 0.0),
    };
    let lower = clock.to_ascii_lowercase();
    let (clock, noon) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(clock), _) => (clock.trim_end(), Some(0)),
        (_, Some(clock)) => (clock.trim_end(), Some(12)),
        (None, None) => (lower.as_str(), None),
    };
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let second: f64 = match parts.next() {
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => text.parse().ok()?,
        Some(_) => return None,
        None => 0.0,
    };
    let hour = match noon {
        Some(shift) if (1..=12).contains(&hour) => hour % 12 + shift,
        Some(_) => return None,
        None => hour,
    };
    let sound = hour < 24 && minute < 60 && second < 61.0 && parts.next().is_none();
    sound.then_some((hour * 3600 + minute * 60) as f64 + second - offset)
}

/// Seconds that a place is ahead of UTC.
fn read_offset(text: &str) -> Option<f64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1.0,
        b'-' => -1.0,
        _ => return (text.len() == 1).then_some(0.0),
    };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match digits.len() {
        2 => (number(&digits)?, 0),
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as f64)
}

/// Days since 1970-01-01 in the Gregorian calendar, after Hinnant's days_from_civil; none if there is no such day.
fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    let from_march = (month + 9) % 12;
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

/// An instant in ISO 8601, without the time if it is midnight.
pub fn format_instant(seconds: f64) -> String {
    let day = (seconds / DAY).floor();
    let (year, month, date) = civil(day as i64);
    let rest = (seconds - day * DAY).round() as i64;
    let time =
        if rest == 0 { String::new() } else { format!("T{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60) };
    format!("{year:04}-{month:02}-{date:02}{time}")
}

/// The inputs that a date becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateParts {
    /// Elapsed days, year, month and day of the week.
    Date,
    /// The hour of the day as well.
    DateAndTime,
}

impl DateParts {
    /// The name of each input, to be put behind that of its column.
    pub fn names(self) -> &'static [&'static str] {
        const NAMES: [&str; 8] =
            ["days", "year", "month_sin", "month_cos", "weekday_sin", "weekday_cos", "hour_sin", "hour_cos"];
        match self {
            Self::Date => &NAMES[..6],
            Self::DateAndTime => &NAMES,
        }
    }

    /// Writes the inputs of an instant. What repeats is a pair on the unit circle, so that December is beside January.
    pub fn write(self, seconds: f64, inputs: &mut [f64]) {
        let day = (seconds / DAY).floor();
        let (year, month, _) = civil(day as i64);
        let weekday = (day as i64 + 3).rem_euclid(7); // 1970-01-01 was a Thursday; Monday is 0
        let hour = (seconds - day * DAY) / 3600.0;
        let circle = |share: f64| (TAU * share).sin_cos();
        let (month, weekday, hour) =
            (circle((month - 1) as f64 / 12.0), circle(weekday as f64 / 7.0), circle(hour / 24.0));
        let all = [seconds / DAY, year as f64, month.0, month.1, weekday.0, weekday.1, hour.0, hour.1];
        inputs.iter_mut().zip(all).for_each(|(input, part)| *input = part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(cell: &str, order: DateOrder) -> Option<f64> {
        read(cell).and_then(|instant| instant.seconds(order))
    }

    /// 2026-03-31 00:00 UTC by `date -u -d 2026-03-31 +%s`.
    const END_OF_MARCH: f64 = 1_774_915_200.0;

    #[test]
    fn common_forms_of_one_day() {
        for cell in [
            "2026-03-31",
            "2026/03/31",
            "2026.3.31",
            "31.03.2026",
            "31/3/2026",
            "31-Mar-2026",
            "31 March 2026",
            "Mar 31, 2026",
            "March 31 2026",
            "03/31/2026",
            "31/03/26",
            "2026-Mar-31",
            "2026-03-31T00:00Z",
            "2026-03-31 00:00:00",
        ] {
            let instant = read(cell).unwrap_or_else(|| panic!("{cell}"));
            assert_eq!(instant.month_first.or(instant.day_first), Some(END_OF_MARCH), "{cell}");
        }
        assert_eq!(read_compact("20260331").unwrap().day_first, Some(END_OF_MARCH));
    }

    #[test]
    fn times_and_offsets() {
        let half_past_three = END_OF_MARCH + 15.5 * 3600.0;
        for cell in [
            "2026-03-31T15:30",
            "2026-03-31 15:30:00.0",
            "3/31/2026 3:30 PM",
            "2026-03-31T17:30:00+02:00",
            "2026-03-31T10:30-0500",
            "31 Mar 2026, 15:30",
        ] {
            assert_eq!(seconds(cell, DateOrder::MonthFirst), Some(half_past_three), "{cell}");
            assert!(read(cell).unwrap().has_time);
        }
        assert_eq!(seconds("1969-12-31T23:59:59Z", DateOrder::MonthFirst), Some(-1.0));
        assert_eq!(seconds("2026-03-31 12:05 am", DateOrder::MonthFirst), Some(END_OF_MARCH + 300.0));
    }

    #[test]
    fn the_order_of_day_and_month_is_left_open_where_it_is() {
        let (march, april) = (seconds("04/03/2026", DateOrder::DayFirst), seconds("04/03/2026", DateOrder::MonthFirst));
        assert_eq!((april.unwrap() - march.unwrap()) / DAY, 30.0);
        let clear = read("13/03/2026").unwrap();
        assert!(clear.month_first.is_none() && clear.day_first.is_some());
    }

    #[test]
    fn what_is_not_a_date() {
        for cell in [
            "",
            "2026",
            "20260331",
            "2026-02-30",
            "31/31/2026",
            "10:30",
            "1.5",
            "1.2.3",
            "a-b-c",
            "2026-13-01",
            "2026-03-31T25:00",
            "192.168.1.1",
            "555-1234",
            "2026-03-31T10:30+99:00",
            "12 monkeys 1995",
            "1,048.52",
        ] {
            assert_eq!(read(cell), None, "{cell}");
        }
    }

    /// Every day of eight centuries against a count by one.
    #[test]
    fn days_are_counted_as_the_calendar_does() {
        let (mut day, mut weekday) = (day_number(1600, 1, 1).unwrap(), 5); // a Saturday
        for year in 1600..2400 {
            for month in 1..=12 {
                for date in 1..=31 {
                    let Some(found) = day_number(year, month, date) else { continue };
                    assert_eq!((found, civil(found), (day + 3).rem_euclid(7)), (day, (year, month, date), weekday));
                    day += 1;
                    weekday = (weekday + 1) % 7;
                }
            }
        }
        assert_eq!(day - day_number(1600, 1, 1).unwrap(), 2 * 146_097);
    }

    #[test]
    fn parts_are_on_circles() {
        let mut parts = [0.0; 8];
        DateParts::DateAndTime.write(END_OF_MARCH + 6.0 * 3600.0, &mut parts); // a Tuesday at six
        assert_eq!(parts[..2], [END_OF_MARCH / DAY + 0.25, 2026.0]);
        for (part, expected) in parts[2..].iter().zip([
            (TAU / 6.0).sin(),
            (TAU / 6.0).cos(),
            (TAU / 7.0).sin(),
            (TAU / 7.0).cos(),
            1.0,
            0.0,
        ]) {
            assert!((part - expected).abs() < 1e-12, "{parts:?}");
        }
        assert_eq!([END_OF_MARCH, END_OF_MARCH + 60.0].map(format_instant), ["2026-03-31", "2026-03-31T00:01:00"]);
    }
}
