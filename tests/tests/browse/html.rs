//! Reads parts of a page, and checks the rules that every page keeps.

use pinakes_tests::client::{Connection, Response};

use crate::browse::FORBIDDEN;

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Requests a page, checks what every page keeps, and returns its HTML.
#[track_caller]
pub fn page(connection: &mut Connection, path: &str, status: u16) -> String {
    let response = connection.get(path);
    assert_eq!(response.status, status, "{path}: {}", response.text());
    check(&response, path);
    response.text().to_owned()
}

#[track_caller]
pub fn check(response: &Response, path: &str) {
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    assert_eq!(response.header("content-security-policy"), Some(POLICY), "{path}");
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
    let html = response.text();
    for forbidden in FORBIDDEN {
        assert!(!html.contains(forbidden), "{path}: {forbidden} in {html}");
    }
    // One script, which is a file, and no other file than the server's own. JSON-LD is no script.
    let data = html.matches("<script type=\"application/ld+json\">").count();
    assert_eq!(html.matches("<script").count(), 1 + data, "{path}");
    for tag in ["<script src=\"", "<link rel=\"stylesheet\" href=\""] {
        let from = html.split(tag).nth(1).unwrap_or_else(|| panic!("{path}: no {tag}"));
        assert!(from.starts_with("/browse/"), "{path}: {from}");
    }
    for needed in
        ["<html lang=\"en\">", "<main id=\"content\"", "href=\"#content\"", "<h1>", "<title>"]
    {
        assert!(html.contains(needed), "{path}: no {needed}");
    }
    assert_eq!(html.matches("<h1>").count(), 1, "{path}");
    for link in links(html) {
        let is_own = link.starts_with('/') && !link.starts_with("//") || link.starts_with('#');
        let is_outside = link.starts_with("https://") || link.starts_with("http://");
        assert!(is_own || is_outside, "{path}: {link}");
        if is_outside {
            let tag = format!("href=\"{}\" rel=\"noopener noreferrer nofollow\"", escaped(&link));
            assert!(html.contains(&tag), "{path}: {link}");
        }
    }
}

/// The targets of all links.
pub fn links(html: &str) -> Vec<String> {
    let parts = html.split("<a ").skip(1);
    let hrefs = parts.filter_map(|part| part.split_once("href=\"")?.1.split_once('"'));
    hrefs.map(|(href, _)| unescaped(href)).collect()
}

/// The text between two marks of a page.
#[track_caller]
pub fn between<'h>(html: &'h str, from: &str, to: &str) -> &'h str {
    let (_, rest) = html.split_once(from).unwrap_or_else(|| panic!("no {from} in {html}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

/// The text that a browser shows for a piece of HTML without tags.
pub fn unescaped(html: &str) -> String {
    let mut text = html.to_owned();
    for (entity, character) in [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    text
}

/// A text as the templates escape it.
pub fn escaped(text: &str) -> String {
    let mut html = text.replace('&', "&#38;");
    for (character, entity) in [('"', "&#34;"), ('\'', "&#39;"), ('<', "&#60;"), ('>', "&#62;")] {
        html = html.replace(character, entity);
    }
    html
}

/// The number after which a list says how many records it found.
#[track_caller]
pub fn count(html: &str) -> u64 {
    let shown = between(html, "<p class=\"count\" role=\"status\"><strong>", "</strong>");
    shown.replace('\u{202f}', "").parse().unwrap()
}

/// The paths of the records on a page of a list.
pub fn rows(html: &str) -> Vec<String> {
    html.split("<article class=\"row\">").skip(1).map(|row| links(row)[0].clone()).collect()
}

/// The links that remove one filter each.
pub fn chips(html: &str) -> Vec<String> {
    match html.split_once("<ul class=\"chips\"") {
        None => Vec::new(),
        Some((_, rest)) => links(rest.split_once("</ul>").unwrap().0),
    }
}
