//! The documentation, from the pages under docs/, as HTML.

use crate::api::console::api_client::{ApiClient, Refusal};
use crate::api::console::backend::Backend;
use crate::api::console::page::{Frame, Section, html};
use crate::api::http::extract::QueryFields;
use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use pulldown_cmark::{Event, Options, Parser, Tag};

/// (address, title, text) of every page.
const PAGES: [(&str, &str, &str); 11] = [
    ("guarantees", "Guarantees", include_str!("../../../../docs/guarantees.md")),
    ("statements", "How statements are written", include_str!("../../../../docs/statements.md")),
    ("formats", "File formats", include_str!("../../../../docs/formats.md")),
    ("accuracy", "Accuracy", include_str!("../../../../docs/accuracy.md")),
    ("sampling", "Sampling of features", include_str!("../../../../docs/sampling.md")),
    ("comparison", "Comparisons", include_str!("../../../../docs/comparison.md")),
    ("reproduction", "The papers, repeated", include_str!("../../../../docs/reproduction.md")),
    ("operations", "Operations", include_str!("../../../../docs/operations.md")),
    ("security", "Security", include_str!("../../../../docs/security.md")),
    ("artifact-format", "The file of a model", include_str!("../../../../docs/artifact-format.md")),
    ("derivations", "Derivations", include_str!("../../../../docs/derivations.md")),
];

struct Hit {
    page: &'static str,
    title: &'static str,
    excerpt: String,
}

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    frame: Frame,
    pages: Vec<(&'static str, &'static str)>,
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
) -> Result<Response, Refusal> {
    let search = query.text("q").unwrap_or_default().to_owned();
    let hits = (!search.is_empty()).then(|| find(&search));
    page(&backend, &api, "Documentation", "", search, hits, None).await
}

/// `GET /docs/{page}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let name = name.trim_end_matches(".md");
    let Some((page_name, title, text)) = PAGES.iter().find(|(page, ..)| *page == name) else {
        let detail = format!("There is no page '{name}' in the documentation. /docs lists all pages.");
        return Err(Refusal { status: StatusCode::NOT_FOUND, title: "No such page".into(), detail, problems: vec![] });
    };
    page(&backend, &api, title, page_name, String::new(), None, Some(to_html(text))).await
}

async fn page(
    backend: &Backend,
    api: &ApiClient,
    title: &str,
    current: &str,
    search: String,
    hits: Option<Vec<Hit>>,
    body: Option<String>,
) -> Result<Response, Refusal> {
    let frame = Frame::load(api, backend, title, Section::Docs).await?;
    let pages = PAGES.iter().map(|(page, title, _)| (*page, *title)).collect();
    let status = StatusCode::OK;
    Ok(html(status, &DocsPage { frame, pages, current: current.to_owned(), search, hits, body }))
}

/// The text as HTML. Raw HTML is shown as text; pictures, which are files of the repository, by their description.
fn to_html(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Image { .. }) | Event::End(pulldown_cmark::TagEnd::Image) => None,
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        other => Some(other),
    });
    let mut page = String::new();
    pulldown_cmark::html::push_html(&mut page, events);
    page
}

/// The pages that have all words, with the first line that has one of them.
fn find(search: &str) -> Vec<Hit> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let hit = |(page, title, text): &(&'static str, &'static str, &'static str)| {
        let lower = text.to_lowercase();
        let line = text.lines().find(|line| words.iter().any(|word| line.to_lowercase().contains(word)))?;
        let excerpt = line.trim_matches(['#', '|', ' ', '-']).chars().take(200).collect();
        words.iter().all(|word| lower.contains(word)).then_some(Hit { page, title, excerpt })
    };
    PAGES.iter().filter_map(hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_html_without_raw_html() {
        let page = to_html("# Title\n\n<script>x</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![chart](x.svg)");
        assert!(page.contains("<h1>Title</h1>") && page.contains("<table>") && !page.contains("<script>"), "{page}");
        assert!(!page.contains("<img"));
    }

    #[test]
    fn search_finds_pages_with_all_words() {
        assert!(find("conformal interval").iter().any(|hit| hit.page == "guarantees"));
        assert!(find("zyzzyva").is_empty());
    }
}
