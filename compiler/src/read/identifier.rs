//! Identifiers as dumps write them.

use pinakes_format::entity::{Entity, parse_digits};

use crate::read::lenient::{IdText, warn};

/// Why a record's own identifier was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadId {
    /// None there.
    Missing,
    /// Another entity's.
    WrongType,
    /// No identifier at all.
    Malformed,
}

impl BadId {
    /// The code under which it is reported.
    pub fn code(self) -> &'static str {
        match self {
            BadId::Missing => "no_id",
            BadId::WrongType => "wrong_type",
            BadId::Malformed => "bad_id",
        }
    }
}

/// What identifiers of the interface begin with, where they are no bare numbers.
const PREFIX: &str = "HX_";

/// An identifier of the interface, in any case, without what it begins with; `None` where it is none.
pub fn strip_prefix(text: &str) -> Option<&str> {
    let (prefix, bare) = text.split_at_checked(PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PREFIX).then_some(bare)
}

/// Reads `https://openalex.org/W1`, `W1`, `w1`, `HX_W1`, `hx_w1`; in the taxonomy a URL or plain digits.
///
/// # Errors
///
/// What is wrong with it.
pub fn parse(entity: Entity, text: &str) -> Result<u64, BadId> {
    let name = last_part(text);
    let name = strip_prefix(name).unwrap_or(name);
    let Some(first) = name.bytes().next() else { return Err(BadId::Missing) };
    let digits = match entity.facts().letter {
        Some(letter) if first.to_ascii_uppercase() == letter => &name[1..],
        Some(_) if first.is_ascii_alphabetic() && parse_digits(&name[1..]).is_some() => {
            return Err(BadId::WrongType);
        }
        // A number alone says nothing of what it numbers.
        Some(_) if name.bytes().all(|byte| byte.is_ascii_digit()) => return Err(BadId::Missing),
        Some(_) => return Err(BadId::Malformed),
        // A number of the taxonomy says what it numbers by the folder before it.
        None => match text.rsplit('/').nth(1).and_then(Entity::from_dump_name) {
            Some(other) if other != entity => return Err(BadId::WrongType),
            _ => name,
        },
    };
    parse_digits(digits).ok_or(BadId::Malformed)
}

/// The last part of a URL's path, or the whole of what is none.
pub fn last_part(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

/// The entity an identifier's letter names, and its number.
pub fn parse_any(text: &str) -> Option<(Entity, u64)> {
    Entity::all()
        .filter(|entity| entity.facts().letter.is_some())
        .find_map(|entity| parse(entity, text).ok().map(|id| (entity, id)))
}

/// The number of an id that refers to a record of `entity`. An id that does not parse is
/// `bad_reference`.
pub fn parse_reference(entity: Entity, id: &IdText<'_>) -> Option<u64> {
    let number = parse(entity, id.0.as_str()?).ok();
    if number.is_none() {
        warn("bad_reference");
    }
    number
}

/// Like [`parse_reference`], for an id whose letter names its entity.
pub fn parse_any_reference(id: &IdText<'_>) -> Option<(Entity, u64)> {
    let parsed = parse_any(id.0.as_str()?);
    if parsed.is_none() {
        warn("bad_reference");
    }
    parsed
}

/// The record's address at OpenAlex.
pub fn openalex_url(entity: Entity, id: u64) -> String {
    let letter = entity.facts().letter.map(char::from).unwrap_or_default();
    format!("https://openalex.org/{letter}{id}")
}

/// An ORCID iD without the address around it; empty where there is nothing but an address.
pub fn bare_orcid(text: &str) -> String {
    let text = text.trim();
    let is_url = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
    let bare = if is_url || text.starts_with("orcid.org/") { last_part(text) } else { text };
    bare.trim().to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_id_is_one_id() {
        for text in ["https://openalex.org/W12", "http://x/W12", "W12", "w12", "HX_W12", "hx_w12"] {
            assert_eq!(parse(Entity::Output, text), Ok(12), "{text}");
        }
        assert_eq!(parse(Entity::Field, "https://openalex.org/fields/17"), Ok(17));
        assert_eq!(parse(Entity::Field, "17"), Ok(17));
        let subfield = "https://openalex.org/subfields/17";
        assert_eq!(parse(Entity::Field, subfield), Err(BadId::WrongType));
        for (text, expected) in [
            ("", BadId::Missing),
            ("A12", BadId::WrongType),
            (" W12 ", BadId::Malformed),
            ("W012", BadId::Malformed),
            ("W", BadId::Malformed),
            ("W99999999999999999999", BadId::Malformed),
            ("12", BadId::Missing),
        ] {
            assert_eq!(parse(Entity::Output, text), Err(expected), "{text}");
        }
    }

    #[test]
    fn an_orcid_is_bare_whatever_stands_around_it() {
        for text in [
            "https://orcid.org/0000-0002-1825-009x",
            "orcid.org/0000-0002-1825-009X",
            "0000-0002-1825-009X",
        ] {
            assert_eq!(bare_orcid(text), "0000-0002-1825-009X");
        }
    }
}
