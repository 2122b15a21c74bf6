//! The text of a reference in a style that follows APA's.
//!
//! ```text
//! van Berg, A., & 李, 学. (2020). On DNA. Annals of Things, 3(4), 12–19. https://doi.org/10.1000/ab
//!                                        └── italic ──┘
//! ```

use crate::formats::kinds;
use crate::formats::names::{Name, one_line};
use crate::formats::reference::Reference;
use crate::formats::rich::Rich;

/// Authors that are all named; of more, the first 19 and the last are.
const AUTHORS_MAX: usize = 20;

/// Formats a reference.
pub fn formatted(reference: &Reference) -> Rich {
    let Parts { before, italic, after } = Parts::new(reference);
    Rich::of(&format!("{before}<i>{italic}</i>{after}"))
}

/// A reference before, in and after the italics, with the tags of its title.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    before: String,
    /// The name of the journal or the title of the book.
    italic: String,
    after: String,
}

impl Parts {
    fn new(reference: &Reference) -> Parts {
        let kind = reference.kind();
        let title = reference.title().map_or("[No title]".to_owned(), |title| title.tagged());
        let year = reference.year.map_or("n.d.".to_owned(), |year| year.to_string());
        let authors = authors(reference);
        // The title of a work without authors comes first.
        let (first, second) = match authors.is_empty() {
            true => (ended(&title), String::new()),
            false => (ended(&authors), ended(&title)),
        };
        let before = format!("{first} ({year}).");
        let container = reference.container();
        let (volume, issue) = (reference.volume(), reference.issue());
        let pages = reference.pages("–");
        let mut formatted = match container {
            Some(container) if *kind == kinds::ARTICLE => Parts {
                before: spaced(&[&before, &second, ""]),
                italic: [Some(&*container), volume]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(", "),
                after: [
                    issue.map_or(String::new(), |issue| format!("({})", one_line(issue))),
                    pages.map_or(String::new(), |pages| format!(", {pages}")),
                    ".".to_owned(),
                ]
                .concat(),
            },
            Some(container) if kind.bibtex.1 == "booktitle" => Parts {
                before: spaced(&[&before, &second, "In "]),
                italic: container,
                after: pages.map_or(".".to_owned(), |pages| format!(" (pp. {pages}).")),
            },
            container => {
                // A work that stands by itself has its title in italics, unless the title came first.
                let is_second = !second.is_empty();
                Parts {
                    before: if is_second { spaced(&[&before, ""]) } else { before },
                    italic: second,
                    after: container.map_or(String::new(), |name| format!(" {}", ended(&name))),
                }
            }
        };
        if let Some(address) = reference.address() {
            formatted.after.push(' ');
            formatted.after.push_str(&one_line(address));
        }
        formatted
    }
}

/// The texts that are not empty with spaces between; an empty last text ends with a space.
fn spaced(texts: &[&str]) -> String {
    let (last, first) = texts.split_last().unwrap_or((&"", &[]));
    let first: Vec<&str> = first.iter().copied().filter(|text| !text.is_empty()).collect();
    format!("{} {last}", first.join(" "))
}

/// A text with a full stop, unless the text ends with a mark.
fn ended(text: &str) -> String {
    let is_ended = text.ends_with(['.', '?', '!', '…']);
    if is_ended { text.to_owned() } else { format!("{text}.") }
}

fn authors(reference: &Reference) -> String {
    let names: Vec<String> = reference.names().map(|name| author(&name)).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= AUTHORS_MAX => {
            format!("{}, & {last}", first.join(", "))
        }
        [first @ .., last] => format!("{}, … {last}", first[..AUTHORS_MAX - 1].join(", ")),
    }
}

/// The last name and the initials.
fn author(name: &Name<'_>) -> String {
    let Name::Person { given, suffix, .. } = name else { return name.family() };
    let words = given.split(|letter: char| letter.is_whitespace() || letter == '.');
    let initials = words.filter(|word| !word.is_empty()).map(|word| {
        let parts = word.split(['-', '‐']).filter_map(|part| part.chars().next());
        parts.map(|letter| format!("{}.", letter.to_uppercase())).collect::<Vec<_>>().join("-")
    });
    let initials = initials.collect::<Vec<_>>().join(" ");
    let parts = [name.family(), initials, (*suffix).to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(members: Value, expected: [&str; 3]) {
        let reference = Reference::read(members.to_string().as_bytes()).unwrap();
        let Parts { before, italic, after } = Parts::new(&reference);
        assert_eq!([before.as_str(), italic.as_str(), after.as_str()], expected);
    }

    #[test]
    fn each_kind_has_its_part_in_italics() {
        let of = |kind: &str, source: &str| {
            json!({
                "title": "On DNA", "year": 2020, "type": kind, "doi": "https://doi.org/10.1/x",
                "authors": [{ "name": "Ada B. van Berg" }, { "name": "Jean-Paul O. J.R. Li" }],
                "primary_venue": { "source": { "name": source } },
                "biblio": { "volume": "3", "issue": "4", "first_page": "12", "last_page": "19" },
            })
        };
        let by = "van Berg, A. B., & Li, J.-P. O. J. R. (2020).";
        check(
            of("article", "Annals"),
            [&format!("{by} On DNA. "), "Annals, 3", "(4), 12–19. https://doi.org/10.1/x"],
        );
        check(
            of("book-chapter", "Things"),
            [&format!("{by} On DNA. In "), "Things", " (pp. 12–19). https://doi.org/10.1/x"],
        );
        check(
            of("dataset", "Data Archive"),
            [&format!("{by} "), "On DNA.", " Data Archive. https://doi.org/10.1/x"],
        );
    }

    #[test]
    fn missing_members_leave_no_signs() {
        check(json!({}), ["[No title]. (n.d.).", "", ""]);
        check(json!({ "title": "Why?", "year": 1999 }), ["Why? (1999).", "", ""]);
        let authors = json!([{ "name": "Things Group" }, { "name": "学, 李" }]);
        check(
            json!({ "authors": authors, "title": "x" }),
            ["Things Group, & 学, 李. (n.d.). ", "x.", ""],
        );
        let source = json!({ "source": { "name": "Annals", "type": "journal" } });
        check(json!({ "title": "x", "primary_venue": source }), ["x. (n.d.). ", "Annals", "."]);
    }
}
