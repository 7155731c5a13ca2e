//! The documentation, from the pages under docs/, as HTML.

/// The pages.
mod library;

/// Markdown as HTML.
mod markdown;

use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::page::{Frame, Section, html};
use crate::api::http::extract::QueryFields;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use library::{DocsFile, LIBRARY, Shelf, pages};
use markdown::to_html;

struct Hit {
    page: &'static str,
    title: &'static str,
    /// The heading above the line that was found, and its address.
    place: Option<(String, String)>,
    excerpt: String,
}

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    frame: Frame,
    shelves: &'static [Shelf],
    current: String,
    search: String,
    hits: Option<Vec<Hit>>,
    /// Made from pages in the program, so that it is trusted.
    body: Option<String>,
}

/// `GET /docs`, and `GET /docs?q=…` to search.
pub(in crate::api::console) async fn index(
    State(backend): State<Backend>,
    api: ApiClient,
    query: QueryFields,
) -> Result<Response, ApiRefusal> {
    let search = query.text("q").unwrap_or_default().to_owned();
    let hits = (!search.is_empty()).then(|| find(&search));
    page(&backend, &api, "Documentation", "", search, hits, None).await
}

/// `GET /docs/{page}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Path(name): Path<String>,
) -> Result<Response, ApiRefusal> {
    let name = name.trim_end_matches(".md");
    let Some(found) = pages().find(|page| page.address == name) else {
        let detail = format!("There is no page '{name}' in the documentation. /docs lists all pages.");
        return Err(ApiRefusal {
            status: StatusCode::NOT_FOUND,
            title: "No such page".into(),
            detail,
            problems: vec![],
        });
    };
    let body = to_html(found.file, found.text);
    page(&backend, &api, found.title, found.address, String::new(), None, Some(body)).await
}

async fn page(
    backend: &Backend,
    api: &ApiClient,
    title: &str,
    current: &str,
    search: String,
    hits: Option<Vec<Hit>>,
    body: Option<String>,
) -> Result<Response, ApiRefusal> {
    let frame = Frame::load(api, backend, title, Section::Docs).await?;
    let status = StatusCode::OK;
    Ok(html(status, &DocsPage { frame, shelves: &LIBRARY, current: current.to_owned(), search, hits, body }))
}

/// Longest excerpt of a page, in letters.
const LONGEST_EXCERPT: usize = 200;

/// The pages that have all words: first those with a word in their title or a heading, then by how often they have them. Each
/// with the first line that has most of the words, outside of examples if there is one.
fn find(search: &str) -> Vec<Hit> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let mut hits: Vec<((bool, usize), Hit)> = pages().filter_map(|page| hit(page, &words)).collect();
    hits.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    hits.into_iter().map(|(_, hit)| hit).collect()
}

fn hit(page: &'static DocsFile, words: &[String]) -> Option<((bool, usize), Hit)> {
    let lower = page.text.to_lowercase();
    if !words.iter().all(|word| lower.contains(word)) {
        return None;
    }
    let in_line = |line: &str| words.iter().filter(|word| line.to_lowercase().contains(word.as_str())).count();
    let mut in_block = false;
    let prose = |line: &str| {
        in_block ^= line.trim_start().starts_with("```"); // comments of a shell are no headings
        !in_block
    };
    let is_prose: Vec<bool> = page.text.lines().map(prose).collect();
    let rank = |(index, line): (usize, &str)| 2 * in_line(line) + usize::from(is_prose[index]);
    let best = page.text.lines().enumerate().map(rank).max().unwrap_or(0);
    let place = page.text.lines().enumerate().position(|line| rank(line) == best).unwrap_or(0);
    let headings = || page.text.lines().enumerate().filter(|(index, line)| is_prose[*index] && line.starts_with('#'));
    let above = headings().take_while(|(index, _)| *index <= place).last().map(|(_, line)| line);
    let is_titled = in_line(page.title) > 0 || headings().any(|(_, line)| in_line(line) > 0);
    let heading = above.map(|line| line.trim_start_matches('#').trim().replace('`', ""));
    let line = page.text.lines().nth(place).unwrap_or_default();
    let plain = line.trim_matches(['#', '|', ' ', '-']).replace(['*', '`'], "").replace(" | ", " · ");
    let excerpt = match plain.char_indices().nth(LONGEST_EXCERPT) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    };
    let count = words.iter().map(|word| lower.matches(word.as_str()).count()).sum();
    let place = heading.map(|heading| (markdown::slug(&heading), heading));
    Some(((is_titled, count), Hit { page: page.address, title: page.title, place, excerpt }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_finds_pages_with_all_words_and_the_heading() {
        let hits = find("conformal interval");
        assert!(hits.iter().any(|hit| hit.page == "guarantees"));
        let found = find("open inference protocol");
        let guide = found.iter().find(|hit| hit.page == "guide").unwrap();
        assert_eq!(guide.place, Some(("clients-you-already-have".into(), "Clients you already have".into())));
        assert!(find("zyzzyva").is_empty());
        let aliases = find("aliases");
        assert_eq!((aliases[0].page, aliases[0].excerpt.as_str()), ("guide", "Aliases"));
        assert!(aliases.iter().all(|hit| !hit.excerpt.contains(['*', '`'])), "no marks of Markdown");
    }
}
