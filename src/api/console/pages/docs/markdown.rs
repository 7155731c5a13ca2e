//! Markdown of our own pages as HTML: headings that can be linked to, links that stay within the console.

use super::library::target;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// The text of the page at `file` as HTML. Raw HTML is left out if it is a comment or a picture and shown as text
/// otherwise; pictures, which are files of the repository, are left out too. Links to files that are not served are text.
pub(super) fn to_html(file: &str, text: &str) -> String {
    let mut events = Vec::new();
    let mut ids = Ids::default();
    // The places of headings that are open, and of links that lead nowhere.
    let (mut heading, mut dead_links, mut in_picture) = (None, 0, false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Image { .. }) => in_picture = true,
            Event::End(TagEnd::Image) => in_picture = false,
            _ if in_picture => {}
            Event::Html(html) | Event::InlineHtml(html) if is_left_out(&html) => {}
            Event::Html(html) | Event::InlineHtml(html) => events.push(Event::Text(html)),
            Event::Start(Tag::Heading { .. }) => {
                heading = Some(events.len());
                events.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(place) = heading.take() {
                    let words: String = events[place..].iter().map(words).collect();
                    if let Event::Start(Tag::Heading { id, .. }) = &mut events[place] {
                        *id = Some(CowStr::from(ids.of(&words)));
                    }
                }
                events.push(event);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => match address(file, &dest_url) {
                Some(dest_url) => {
                    events.push(Event::Start(Tag::Link { link_type, dest_url: dest_url.into(), title, id }));
                }
                None => dead_links += 1,
            },
            Event::End(TagEnd::Link) if dead_links > 0 => dead_links -= 1,
            other => events.push(other),
        }
    }
    let mut page = String::new();
    pulldown_cmark::html::push_html(&mut page, events.into_iter());
    page
}

/// Comments, and pictures for other places where the page is read.
fn is_left_out(html: &str) -> bool {
    let html = html.trim();
    ["<!--", "<picture", "</picture", "<source", "<img"].iter().any(|start| html.starts_with(start)) || html.is_empty()
}

/// Where a link leads from here; none if it is a file of the repository that is not served.
fn address(file: &str, link: &str) -> Option<String> {
    if link.starts_with('#') || link.contains("://") {
        return Some(link.to_owned());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let page = target(file, path)?;
    Some(anchor.map_or_else(|| format!("/docs/{page}"), |anchor| format!("/docs/{page}#{anchor}")))
}

fn words<'a>(event: &'a Event) -> &'a str {
    match event {
        Event::Text(text) | Event::Code(text) => text,
        _ => "",
    }
}

/// The ids of headings as GitHub makes them, so that the same links work there and here.
#[derive(Default)]
struct Ids {
    given: Vec<String>,
}

impl Ids {
    fn of(&mut self, heading: &str) -> String {
        let slug = slug(heading);
        let same = self.given.iter().filter(|given| **given == slug).count();
        self.given.push(slug.clone());
        if same == 0 { slug } else { format!("{slug}-{same}") }
    }
}

/// The id of a heading that comes once.
pub(super) fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::library::pages;
    use super::*;
    use std::path::Path;

    #[test]
    fn pages_become_html_without_raw_html() {
        let text =
            "# Title\n\n<script>x</script>\n\n<!-- not run: no -->\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![chart](x.svg)";
        let page = to_html("docs/x.md", text);
        assert!(page.contains("<h1 id=\"title\">Title</h1>") && page.contains("<table>"), "{page}");
        assert!(!page.contains("<script>") && !page.contains("not run") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn links_stay_within_the_console() {
        let page = to_html(
            "docs/api.md",
            "[a](guide.md#labels) [b](../README.md) [c](../src/main.rs) [d](https://x.y) [e](#f)",
        );
        for link in ["\"/docs/guide#labels\"", "\"/docs/readme\"", "\"https://x.y\"", "\"#f\""] {
            assert!(page.contains(link), "{link} in {page}");
        }
        assert_eq!(page.matches("<a ").count(), 4, "a file that is not served is text: {page}");
        assert_eq!(target("docs/decisions/README.md", "plots.md"), Some("decisions"));
    }

    #[test]
    fn every_decision_is_on_the_page_of_decisions() {
        let page = pages().find(|page| page.address == "decisions").unwrap();
        for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions")).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            assert!(page.text.contains(text.trim()), "{}", text.lines().next().unwrap());
        }
    }

    /// Every link of every page leads to a page and a heading of it, or to a file of the repository.
    #[test]
    fn every_link_leads_somewhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let html: Vec<(&str, String)> = pages().map(|page| (page.address, to_html(page.file, page.text))).collect();
        let has_heading = |page: &str, anchor: &str| {
            html.iter().any(|(address, html)| *address == page && html.contains(&format!(" id=\"{anchor}\"")))
        };
        let mut dead = Vec::new();
        for page in pages() {
            for event in Parser::new_ext(page.text, Options::ENABLE_TABLES) {
                let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
                if dest_url.contains("://") {
                    continue;
                }
                let (path, anchor) = dest_url.split_once('#').unwrap_or((&dest_url, ""));
                let leads_to = if path.is_empty() { Some(page.address) } else { target(page.file, path) };
                let folder = Path::new(page.file).parent().unwrap_or(Path::new(""));
                let is_there = leads_to.is_some() || root.join(folder).join(path).exists();
                let is_heading = anchor.is_empty() || leads_to.is_none_or(|page| has_heading(page, anchor));
                if !is_there || !is_heading {
                    dead.push(format!("{}: {dest_url}", page.file));
                }
            }
        }
        assert!(dead.is_empty(), "{dead:#?}");
    }
}
