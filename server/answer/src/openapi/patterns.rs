//! Regular expressions of JSON Schema for identifiers and lists of names.
//!
//! A pattern matches exactly the texts that the parsers accept. The grammars of `filter` and `sort` have none: their
//! descriptions give them in words, since generators of clients do not read patterns.

use pinakes_format::entity::{Entity, IdFormat};

/// The number of an identifier, without leading zeros, at most 19 digits.
const NUMBER: &str = "(?:0|[1-9][0-9]{0,18})";

/// The identifiers of an entity's records in paths.
pub fn id(spelling: &IdFormat, entity: Entity) -> String {
    let letter = entity.facts().letter.map(char::from);
    let letter = letter.map(String::from).unwrap_or_default();
    format!("^{}{letter}{NUMBER}$", spelling.prefix(entity))
}

/// Names separated by commas; `most` of them, if there is a maximum. That they must differ is not part of
/// the pattern: a lookahead for it takes test generators minutes.
pub fn names(names: &[&str], most: Option<usize>) -> String {
    let name = format!(" *(?:{}) *", one_of(names.iter()));
    let more = most.map_or("*".to_owned(), |most| format!("{{0,{}}}", most - 1));
    format!("^{name}(?:,{name}){more}$")
}

/// Text without control characters that is not all white space.
pub fn words() -> String {
    r"^[^\x00-\x1F\x7F]*[^\s\u0085\x00-\x1F\x7F][^\x00-\x1F\x7F]*$".to_owned()
}

/// Text that is not all white space, as Unicode defines white space.
pub fn filled() -> String {
    r"[^\t-\r \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]".to_owned()
}

/// Text without control characters.
pub fn printable() -> String {
    r"^[^\x00-\x1F\x7F]+$".to_owned()
}

fn one_of<'n>(names: impl Iterator<Item = &'n &'n str>) -> String {
    names.map(|name| name.replace('.', r"\.")).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fancy_regex::Regex;

    use super::*;

    #[test]
    fn the_id_pattern_matches_the_ids_that_the_parser_accepts() {
        let check = |spelling: &IdFormat, entity: Entity, text: &str| {
            let is_id = spelling.parse(entity, text).is_some();
            let pattern = Regex::new(&id(spelling, entity)).unwrap();
            assert_eq!(pattern.is_match(text).unwrap(), is_id, "{entity} {text}");
        };
        for facts in &pinakes_format::entity::CATALOG {
            for text in
                ["HX_W1", "HX_A0", "HX_T01", "1", "0", "01", "", "x", "OA:T1", "OA:1", "HX_W"]
            {
                check(&IdFormat::CURRENT, facts.entity, text);
                check(&IdFormat::LEGACY, facts.entity, text);
            }
        }
    }

    #[test]
    fn the_words_pattern_refuses_white_space_alone() {
        let pattern = Regex::new(&words()).unwrap();
        for (text, expected) in [
            ("a", true),
            (" é ", true),
            ("", false),
            (" \u{3000}", false),
            ("\u{85}", false),
            ("a\u{0}", false),
        ] {
            assert_eq!(pattern.is_match(text).unwrap(), expected, "{text:?}");
            let is_accepted = crate::complete::query::check(text).is_ok();
            assert_eq!(is_accepted, expected, "{text:?}");
        }
    }

    #[test]
    fn the_filled_pattern_refuses_what_is_blank() {
        let pattern = Regex::new(&filled()).unwrap();
        for letter in '\0'..='\u{FFFF}' {
            let text = format!(" {letter}\n");
            assert_eq!(pattern.is_match(&text).unwrap(), !text.trim().is_empty(), "{text:?}");
        }
    }
}
