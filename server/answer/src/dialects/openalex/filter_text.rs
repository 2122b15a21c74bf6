//! Reads the text of a filter in OpenAlex's words, and spells its values as the filters of the interface have them.
//!
//! ```text
//! type:types/article|types/book, title   the expression and the rest of its value
//! type:article|book                      the values, respelled
//! ```

use std::borrow::Cow;

use pinakes_format::autocomplete::Identifier;
use pinakes_format::entity::Entity;
use pinakes_format::query::split_filter;
use pinakes_format::schema::{Kind, parse_record_id};

use crate::dialects::openalex::names::{CONTINENTS, Reads};
use crate::dialects::openalex::values::ADDRESS;

/// Stands for a plus sign that is not encoded: it joins codes and ids, and is a space in texts.
pub const PLUS: &str = "\u{1f}";

/// The collections of OpenAlex that codes belong to.
const COLLECTIONS: [&str; 13] = [
    "types",
    "work-types",
    "source-types",
    "institution-types",
    "countries",
    "continents",
    "languages",
    "licenses",
    "oa-statuses",
    "keywords",
    "indexes",
    "sdg",
    "sdgs",
];

/// Whether a part of a filter begins with a key.
fn has_key(part: &str) -> bool {
    let is_of_keys = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b' ');
    part.split_once(':')
        .is_some_and(|(key, _)| !key.trim_matches(' ').contains(' ') && key.bytes().all(is_of_keys))
}

/// The expressions of a filter. A part without a key continues the value before it, because clients search whole titles
/// with their commas.
pub fn expressions(text: &str) -> Vec<String> {
    let mut expressions: Vec<String> = Vec::new();
    for part in split_filter(text).filter(|part| !part.is_empty()) {
        match expressions.last_mut() {
            Some(last) if !has_key(&part.replace(PLUS, " ")) => {
                last.push_str(", ");
                last.push_str(part);
            }
            _ => expressions.push(part.to_owned()),
        }
    }
    expressions
}

/// The parts of a value that must all hold, `fr+gb` of the codes or ids of a list. A code may have spaces: `book series`.
pub fn conjuncts(kind: Option<Kind>, joined: &str) -> Vec<String> {
    let is_join: fn(char) -> bool = match kind {
        _ if joined.is_empty() || joined.contains(['"', '|']) => |_| false,
        Some(Kind::Id(_) | Kind::AnyId) => |c| matches!(c, '+' | ' ') || PLUS.contains(c),
        Some(Kind::Code) => |c| c == '+' || PLUS.contains(c),
        _ => |_| false,
    };
    let parts = joined.split(is_join).map(|part| part.replace(PLUS, " "));
    let parts: Vec<String> = parts.filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() { vec![String::new()] } else { parts }
}

/// A value in the spelling of the interface's filters.
pub fn translated(kind: Option<Kind>, reads: Reads, value: &str) -> String {
    let is_search = kind == Some(Kind::Search);
    let is_text = is_search || matches!(kind, Some(Kind::Words | Kind::Text));
    let is_code = matches!(kind, Some(Kind::Code | Kind::Integer));
    let (sign, values) = match value.strip_prefix('!') {
        Some(values) => ("!", values),
        None => ("", value),
    };
    let alternatives: Vec<String> = split_alternatives(values)
        .map(|value| match value {
            "null" => value.to_owned(),
            // A search has phrases in quotes; other quotes are those of the value. An operator stays one, and
            // is refused.
            value if is_search || is_text && !value.starts_with(['"', '<', '>', '!']) => {
                format!("\"{}\"", value.replace('"', "\"\""))
            }
            value => {
                let value = if is_code { code_of(value) } else { value };
                let value = read(reads, value);
                let is_quoted = value.len() > 1 && value.starts_with('"') && value.ends_with('"');
                match value.contains([',', '|']) && !is_quoted {
                    true => format!("\"{value}\""),
                    false => value.into_owned(),
                }
            }
        })
        .collect();
    format!("{sign}{}", alternatives.join("|"))
}

/// A value of OpenAlex as the key reads it.
fn read(reads: Reads, value: &str) -> Cow<'_, str> {
    match reads {
        Reads::Continent => {
            let name = value.to_ascii_lowercase().replace(['_', ' '], "-");
            let number = value.rsplit('/').next().unwrap_or_default();
            let known =
                CONTINENTS.iter().find(|(_, wikidata, _)| wikidata.eq_ignore_ascii_case(number));
            known.map_or(name, |(own, ..)| (*own).to_owned()).into()
        }
        Reads::Concept => value.strip_prefix(['C', 'c']).unwrap_or(value).into(),
        _ => value.into(),
    }
}

/// The expression of a version that the best open location has, or has at least.
pub fn open_version(value: &str) -> Option<&'static str> {
    Some(match value.to_ascii_lowercase().as_str() {
        "any" => "best_oa_venue.is_oa:true",
        "acceptedorpublished" => "best_oa_venue.version:acceptedVersion|publishedVersion",
        "published" | "publishedversion" => "best_oa_venue.version:publishedVersion",
        "acceptedversion" => "best_oa_venue.version:acceptedVersion",
        "submittedversion" => "best_oa_venue.version:submittedVersion",
        "null" => "best_oa_venue.version:null",
        _ => return None,
    })
}

/// Whether one of the values of a key of ids is an identifier in another system.
pub fn has_other_identifier(entity: Entity, value: &str) -> bool {
    let values = value.strip_prefix('!').unwrap_or(value);
    entity.facts().letter.is_some()
        && values.split('|').map(str::trim).any(|value| {
            parse_record_id(value).is_none()
                && matches!(Identifier::parse(value), Some(Identifier::External(..)))
        })
}

/// Splits alternatives at the bars outside of quotes.
fn split_alternatives(values: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let parts = values.split(move |c| {
        is_quoted ^= c == '"';
        c == '|' && !is_quoted
    });
    parts.map(|part| part.trim_matches(' '))
}

/// A code without the address or the collection that OpenAlex gives it: `FR` of `countries/FR`.
pub fn code_of(value: &str) -> &str {
    let goal = value.strip_prefix("https://metadata.un.org/");
    let bare = goal.or_else(|| value.strip_prefix(ADDRESS)).unwrap_or(value);
    match bare.split_once('/') {
        Some((collection, code)) if COLLECTIONS.contains(&collection) => code,
        _ => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plus_signs_join_codes_and_ids() {
        let check = |kind: Kind, joined: &str, expected: &[&str]| {
            assert_eq!(conjuncts(Some(kind), joined), expected, "{joined}");
        };
        check(Kind::Code, &format!("fr{PLUS}gb"), &["fr", "gb"]);
        check(Kind::Code, "fr+gb", &["fr", "gb"]);
        check(Kind::Code, "book series", &["book series"]);
        check(Kind::Code, "!ebook platform", &["!ebook platform"]);
        check(Kind::AnyId, "I1 I2", &["I1", "I2"]);
        check(Kind::AnyId, "", &[""]);
        check(Kind::Code, &format!("fr|gb{PLUS}de"), &["fr|gb de"]);
        check(Kind::Text, &format!("a{PLUS}b"), &["a b"]);
    }

    #[test]
    fn values_are_spelled_as_filters_have_them() {
        let check = |kind: Kind, value: &str, expected: &str| {
            assert_eq!(translated(Some(kind), Reads::Same, value), expected, "{value}");
        };
        check(Kind::Text, "A, b", "\"A, b\"");
        check(Kind::Text, "\"A, b\"", "\"A, b\"");
        check(Kind::Text, "\"A, b\"|\"C|d\"", "\"A, b\"|\"C|d\"");
        check(Kind::Code, "https://openalex.org/indexes/doaj", "doaj");
        check(Kind::Code, "types/article|null", "article|null");
    }
}
