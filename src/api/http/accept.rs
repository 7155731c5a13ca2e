//! `Accept` headers: the format of a response, and other weighted lists. [RFC 9110, section 12]

use super::error::ApiError;
use super::error_code::ErrorCode;
use crate::serving::Format;
use axum::http::{HeaderMap, HeaderName, header};
use std::borrow::Cow;

/// The format with the highest weight, the first of equals. A range such as `text/*` that covers the format of the
/// request means that one.
pub(crate) fn accepted_format(headers: &HeaderMap, input: Format) -> Result<Format, ApiError> {
    let Some(accept) = field_lines(headers, &header::ACCEPT) else { return Ok(input) };
    if accept == "*/*" {
        return Ok(input); // what most clients send
    }
    choose(&accept, input).ok_or_else(|| {
        let known = Format::ALL.map(Format::media_type).join(", ");
        let detail = format!("accept '{accept}' names no supported format; use {known}");
        ApiError::new(ErrorCode::NotAcceptable, detail)
    })
}

/// Whether a client names HTML among what it takes, as browsers do for pages.
pub(crate) fn names_html(headers: &HeaderMap) -> bool {
    let accept = field_lines(headers, &header::ACCEPT).unwrap_or_default();
    accept
        .split(',')
        .map(Weighted::read)
        .any(|range| range.weight > 0.0 && range.name.eq_ignore_ascii_case("text/html"))
}

/// A header that is a list, joined if it comes in several lines.
pub(crate) fn field_lines<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<Cow<'h, str>> {
    let mut lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let first = lines.next()?;
    Some(lines.fold(first.into(), |list, line| Cow::Owned(format!("{list},{line}"))))
}

/// A member of a weighted list: a media range or a content coding, and its weight.
pub(crate) struct Weighted<'a> {
    pub(crate) name: &'a str,
    pub(crate) weight: f64,
}

impl<'a> Weighted<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight =
            parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        // A weight that is not a number is ignored.
        let weight = weight.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(1.0);
        Self { name, weight }
    }

    /// How specific the match of a format is; none if it does not match.
    fn specificity(&self, format: Format) -> Option<u8> {
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
    let ranges: Vec<Weighted> = accept.split(',').map(Weighted::read).filter(|range| !range.name.is_empty()).collect();
    if ranges.is_empty() {
        return Some(input);
    }
    let mut best: Option<(f64, usize, Format)> = None;
    for format in [input].into_iter().chain(Format::ALL) {
        // The most specific range that matches a format gives its weight.
        let matching = ranges.iter().enumerate().filter_map(|(at, range)| Some((range.specificity(format)?, at)));
        let Some((_, at)) = matching.max_by_key(|(specificity, at)| (*specificity, std::cmp::Reverse(*at))) else {
            continue;
        };
        let weight = ranges[at].weight;
        let better = best.is_none_or(|(most, first, _)| weight > most || (weight == most && at < first));
        if weight > 0.0 && better {
            best = Some((weight, at, format));
        }
    }
    best.map(|(_, _, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_with_the_highest_weight_is_chosen() {
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
