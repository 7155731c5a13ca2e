//! `Accept`: the format that an answer is written in, and what else a client accepts more or less. [RFC 9110,
//! section 12]

use super::error::ApiError;
use crate::serving::Format;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use std::borrow::Cow;

/// The format that is accepted most, the first of equals; where several are meant by one range, that of the request.
pub(crate) fn accepted_format(headers: &HeaderMap, input: Format) -> Result<Format, ApiError> {
    let Some(accept) = field_lines(headers, &header::ACCEPT) else { return Ok(input) };
    if accept == "*/*" {
        return Ok(input); // what most clients send
    }
    choose(&accept, input).ok_or_else(|| {
        let known = Format::ALL.map(Format::media_type).join(", ");
        let detail = format!("'{accept}' is not written here; ask for {known}");
        ApiError::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail)
    })
}

/// A header that may come in several lines, which are one list.
pub(crate) fn field_lines<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<Cow<'h, str>> {
    let mut lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let first = lines.next()?;
    Some(lines.fold(first.into(), |list, line| Cow::Owned(format!("{list},{line}"))))
}

/// What is accepted, a media type or a coding, and how much.
pub(crate) struct Range<'a> {
    pub(crate) name: &'a str,
    pub(crate) quality: f64,
}

impl<'a> Range<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let quality =
            parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        // What is no number says nothing.
        let quality = quality.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(1.0);
        Self { name, quality }
    }

    /// How exactly it means a format; none where it does not.
    fn precision(&self, format: Format) -> Option<u8> {
        if Format::named(self.name) == Some(format) {
            return Some(2);
        }
        match self.name.split_once('/') {
            Some(("*", "*")) => Some(0),
            Some((kind, "*")) => {
                let (known, _) = format.media_type().split_once('/')?;
                known.eq_ignore_ascii_case(kind).then_some(1)
            }
            _ => None,
        }
    }
}

fn choose(accept: &str, input: Format) -> Option<Format> {
    let ranges: Vec<Range> = accept.split(',').map(Range::read).filter(|range| !range.name.is_empty()).collect();
    if ranges.is_empty() {
        return Some(input);
    }
    let mut best: Option<(f64, usize, Format)> = None;
    for format in [input].into_iter().chain(Format::ALL) {
        // The most exact range that means a format tells how much it is accepted.
        let meant = ranges.iter().enumerate().filter_map(|(at, range)| Some((range.precision(format)?, at)));
        let Some((_, at)) = meant.max_by_key(|(precision, at)| (*precision, std::cmp::Reverse(*at))) else { continue };
        let quality = ranges[at].quality;
        let better = best.is_none_or(|(most, first, _)| quality > most || (quality == most && at < first));
        if quality > 0.0 && better {
            best = Some((quality, at, format));
        }
    }
    best.map(|(_, _, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_that_is_accepted_most_is_chosen() {
        use Format::{Arrow, Csv, Json, Ndjson};
        for (accept, input, chosen) in [
            ("", Csv, Some(Csv)),
            ("*/*", Arrow, Some(Arrow)),
            ("text/csv", Json, Some(Csv)),
            ("text/csv, application/json", Json, Some(Csv)),
            ("application/json;q=0, text/csv", Json, Some(Csv)),
            ("application/json; q=0.5, text/csv;q=0.9", Json, Some(Csv)),
            ("text/html, application/xml;q=0.9, */*;q=0.8", Ndjson, Some(Ndjson)),
            ("text/*", Json, Some(Csv)),
            ("application/*", Csv, Some(Json)),
            ("application/*", Arrow, Some(Arrow)),
            ("application/json;q=0, */*", Json, Some(Ndjson)),
            ("*/*;q=0.1, application/JSONL;Q=0.2", Csv, Some(Ndjson)),
            ("application/json;q=much", Csv, Some(Json)),
            ("text/html", Csv, None),
            ("*/*;q=0", Csv, None),
        ] {
            assert_eq!(choose(accept, input), chosen, "{accept}");
        }
    }
}
