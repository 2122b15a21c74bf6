//! Parts of every page: the frame, headers, ETags, and names with emphasis.

use std::{fmt::Write, ops::Range, sync::LazyLock};

use askama::Template;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use pinakes_format::entity::Entity;
use pinakes_format::formats::rich::{Rich, Style};
use pinakes_format::storage::ReadError;

use crate::define::served::ServedSnapshot;
use crate::define::{Answer, Call, Cost, OtherPages, Planned};
use crate::pages::labels::plural;
use crate::pages::tables;
use crate::reply::{Etags, HTML, Reply};

/// Content security policy: a page loads only files of this server, and runs no script of its own text.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The parts of a page around its content.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Title in the browser's tab.
    pub title: String,
    /// The text that search engines show below the title; empty for none.
    pub description: String,
    /// The path that the page has without parameters that change nothing of its content.
    pub canonical: Option<String>,
    /// Text in the search box.
    pub searched: String,
    /// Whether the text is refused, for a reason that the element `wrong` of the page has.
    pub is_search_wrong: bool,
    /// The entity whose list or record the page shows.
    pub entity: Option<Entity>,
    pub others: OtherPages,
}

impl Frame {
    /// The frame of a page with a title.
    pub fn new(title: &str, others: OtherPages) -> Frame {
        Frame {
            title: title.to_owned(),
            description: String::new(),
            canonical: None,
            searched: String::new(),
            is_search_wrong: false,
            entity: None,
            others,
        }
    }

    /// The lists in the order of navigation: heading, path, and whether the page belongs to the list.
    pub fn lists(&self) -> Vec<(String, String, bool)> {
        let list = |shown: &tables::Shown| {
            let facts = shown.entity.facts();
            (plural(facts), format!("/browse/{}", facts.route), self.entity == Some(shown.entity))
        };
        tables::navigated().map(list).collect()
    }

    /// The entities that completion finds, with the paths of their lists, for the script.
    pub fn completed(&self) -> String {
        Frame::completed_among(tables::all())
    }

    /// The same of the page's list alone; empty if its names are not completed.
    pub fn completed_here(&self) -> String {
        Frame::completed_among(tables::all().filter(|shown| Some(shown.entity) == self.entity))
    }

    fn completed_among<'t>(shown: impl Iterator<Item = &'t tables::Shown>) -> String {
        let completed = shown.filter(|shown| shown.entity.facts().autocomplete_order.is_some());
        let pairs: Vec<String> = completed
            .map(|shown| shown.entity.facts())
            .map(|facts| format!("{}={}", facts.singular, facts.route))
            .collect();
        pairs.join(" ")
    }
}

/// Headers of every page.
pub fn page_headers() -> Vec<(HeaderName, HeaderValue)> {
    vec![
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ]
}

/// The ETags of pages: they change with the snapshot, with the program, and with the links to other pages.
fn etags(served: &ServedSnapshot, others: OtherPages) -> Etags {
    static VERSION: LazyLock<String> = LazyLock::new(template_digits);
    let digits = format!("{}{}{}", *VERSION, u8::from(others.docs), u8::from(others.graphiql));
    served.reply_headers().etags_of_version(&digits)
}

/// The reply 304 to a client that has the current page.
pub fn not_modified(call: &Call<'_>) -> Option<Reply> {
    let etags = etags(call.served, call.settings.other_pages());
    let coding = etags.matching_coding(call.headers)?;
    Some(Reply::not_modified_tagged(&etags, coding))
}

/// Work of a page, unless the client has the current page.
pub fn unless_current(
    call: &Call<'_>,
    run: impl Fn(&Call<'_>) -> Answer + Send + Sync + 'static,
) -> Planned {
    not_modified(call).map_or_else(|| Planned::work(Cost::Large, run), Planned::Reply)
}

/// The reply with a page that the snapshot alone determines.
pub fn reply(page: &impl Template, call: &Call<'_>) -> Answer {
    let etags = etags(call.served, call.settings.other_pages());
    Ok(Reply::tagged(HTML, render(page)?, etags).with_headers(page_headers()))
}

/// The reply with a page that clients do not keep.
pub fn uncached(page: &impl Template) -> Reply {
    with_status(StatusCode::OK, page, page_headers())
}

/// The reply with a page, a status and headers.
pub fn with_status(
    status: StatusCode,
    page: &impl Template,
    headers: Vec<(HeaderName, HeaderValue)>,
) -> Reply {
    match render(page) {
        Ok(body) => Reply::text(status, HTML, body).with_headers(headers),
        Err(_) => Reply::internal(),
    }
}

/// The HTML of a page.
fn render(page: &impl Template) -> Result<Bytes, ReadError> {
    // Writing to memory does not fail.
    let mut text =
        page.render().map_err(|_| ReadError::Internal("a page could not be rendered"))?;
    text.shrink_to_fit();
    Ok(text.into())
}

/// The HTML of a name or a text whose markup is read.
pub fn emphasized(text: &str) -> String {
    styled(&Rich::of(text), &[])
}

/// The HTML of a text with styles, with marked ranges of its plain text. A mark ends before a tag and begins again
/// after it.
pub fn styled(rich: &Rich, marks: &[Range<usize>]) -> String {
    let (text, mut html, mut at) = (rich.text(), String::new(), 0);
    for (style, part) in &rich.0 {
        let part = at..at + part.len();
        at = part.end;
        let part = marked(&text, part, marks);
        let _ = match style {
            Style::Plain | Style::Formula => html.write_str(&part),
            Style::Italic => write!(html, "<i>{part}</i>"),
            Style::Sub => write!(html, "<sub>{part}</sub>"),
            Style::Super => write!(html, "<sup>{part}</sup>"),
        };
    }
    html
}

/// The HTML of a part of a text, without emphasis, with marked ranges.
pub fn marked(text: &str, part: Range<usize>, marks: &[Range<usize>]) -> String {
    let (mut html, mut end) = (String::with_capacity(part.len()), part.start);
    for mark in marks {
        let (from, to) = (mark.start.max(end), mark.end.min(part.end));
        if from < to {
            escape(&text[end..from], &mut html);
            html.push_str("<mark>");
            escape(&text[from..to], &mut html);
            html.push_str("</mark>");
            end = to;
        }
    }
    escape(&text[end..part.end], &mut html);
    html
}

/// A text as HTML or XML.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    escape(text, &mut html);
    html
}

fn escape(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

/// The HTML of a message: text between backticks is code.
pub fn with_code(message: &str) -> String {
    let mut html = String::new();
    let parts: Vec<&str> = message.split('`').collect();
    // A backtick without its partner is a character.
    let pairs = (parts.len() - 1) / 2;
    for (at, part) in parts.iter().enumerate() {
        let is_code = at % 2 == 1 && at < 2 * pairs;
        match is_code {
            true => html.push_str(&format!("<code>{}</code>", escaped(part))),
            false if at > 2 * pairs => html.push_str(&format!("`{}", escaped(part))),
            false => html.push_str(&escaped(part)),
        }
    }
    html
}

/// The sources of pages; a change of one changes the pages of the same snapshot.
const TEMPLATES: [&str; 14] = [
    include_str!("../../templates/browse/base.html"),
    include_str!("../../templates/browse/error.html"),
    include_str!("../../templates/browse/home.html"),
    include_str!("../../templates/browse/list.html"),
    include_str!("../../templates/browse/node.html"),
    include_str!("../../templates/browse/note.html"),
    include_str!("../../templates/browse/nothing.html"),
    include_str!("../../templates/browse/filters.html"),
    include_str!("../../templates/browse/group.html"),
    include_str!("../../templates/browse/record.html"),
    include_str!("../../templates/browse/row.html"),
    include_str!("../../templates/browse/search.html"),
    include_str!("../../templates/browse/taxonomy.html"),
    env!("CARGO_PKG_VERSION"),
];
/// Hex digits of the hash of all templates.
const TEMPLATE_DIGITS: usize = 12;

/// Digits that stand for the templates of this program.
fn template_digits() -> String {
    let mut hasher = blake3::Hasher::new();
    for template in TEMPLATES {
        hasher.update(template.as_bytes());
    }
    hasher.finalize().to_hex()[..TEMPLATE_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emphasis_is_kept_and_all_else_escaped() {
        let check = |name: &str, expected: &str| assert_eq!(emphasized(name), expected);
        check("Notes on <i>E. coli</i>", "Notes on <i>E. coli</i>");
        check("H<SUB>2</SUB>O &amp; <b><i>x</i></b>", "H<sub>2</sub>O &amp; <i>x</i>");
        check("&lt;p&gt;A <jats:sup>3</jats:sup>He&lt;/p&gt;", "A <sup>3</sup>He");
        check("<i>open", "<i>open</i>");
        check("<i><b>x</i></b>", "<i>x</i>");
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("<i onclick=\"x\">y", "<i>y</i>");
        check("a < b > c '\"<", "a &lt; b &gt; c &#39;&quot;&lt;");
        check("<i>é</i>", "<i>é</i>");
        check("", "");
    }

    #[test]
    fn code_stands_between_two_backticks() {
        for (message, expected) in [
            ("did you mean `year`?", "did you mean <code>year</code>?"),
            ("`a` or `<b>`", "<code>a</code> or <code>&lt;b&gt;</code>"),
            ("a ` alone", "a ` alone"),
            ("`a` and `", "<code>a</code> and `"),
            ("none", "none"),
        ] {
            assert_eq!(with_code(message), expected);
        }
    }

    #[test]
    fn marks_end_before_tags_and_begin_again() {
        let check = |name: &str, mark: Range<usize>, expected: &str| {
            assert_eq!(styled(&Rich::of(name), &[mark]), expected);
        };
        check("a b & c", 2..5, "a <mark>b &amp;</mark> c");
        check("H<sub>2</sub>O", 0..3, "<mark>H</mark><sub><mark>2</mark></sub><mark>O</mark>");
        check("<i>open", 1..4, "<i>o<mark>pen</mark></i>");
        assert_eq!(marked("one two three", 4..13, &[0..3, 4..7]), "<mark>two</mark> three");
    }
}
