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

/// The pages that have all words, those with most of them first, each with the first line that has most of the words.
fn find(search: &str) -> Vec<Hit> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let mut hits: Vec<(usize, Hit)> = pages().filter_map(|page| hit(page, &words)).collect();
    hits.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    hits.into_iter().map(|(_, hit)| hit).collect()
}

fn hit(page: &'static DocsFile, words: &[String]) -> Option<(usize, Hit)> {
    let lower = page.text.to_lowercase();
    if !words.iter().all(|word| lower.contains(word)) {
        return None;
    }
    let in_line = |line: &str| words.iter().filter(|word| line.to_lowercase().contains(word.as_str())).count();
    let best = page.text.lines().map(in_line).max().unwrap_or(0);
    let place = page.text.lines().position(|line| in_line(line) == best).unwrap_or(0);
    let mut in_block = false;
    let is_heading = |line: &&str| {
        in_block ^= line.trim_start().starts_with("```"); // comments of a shell are no headings
        !in_block && line.starts_with('#')
    };
    let above = page.text.lines().take(place + 1).filter(is_heading).last();
    let heading = above.map(|line| line.trim_start_matches('#').trim().replace('`', ""));
    let line = page.text.lines().nth(place).unwrap_or_default();
    let plain = line.trim_matches(['#', '|', ' ', '-']).replace("**", "").replace('`', "").replace(" | ", " · ");
    let excerpt = plain.chars().take(200).collect();
    let count = words.iter().map(|word| lower.matches(word.as_str()).count()).sum();
    let place = heading.map(|heading| (markdown::slug(&heading), heading));
    Some((count, Hit { page: page.address, title: page.title, place, excerpt }))
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
    }
}
