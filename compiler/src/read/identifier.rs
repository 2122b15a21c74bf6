//! Parsing of identifiers in every notation that dumps use.

use pinakes_format::entity::{Entity, parse_digits};

use crate::read::lenient::{Diagnostics, MaybeId};

/// Why the id of a record is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadId {
    /// There is no id.
    Missing,
    /// The id is of another entity.
    WrongType,
    /// The text is no id.
    Malformed,
}

impl BadId {
    pub fn code(self) -> &'static str {
        match self {
            BadId::Missing => "no_id",
            BadId::WrongType => "wrong_type",
            BadId::Malformed => "bad_id",
        }
    }
}

/// The prefix of ids in the interface of Pinakes, except for ids that are bare numbers.
const PREFIX: &str = "HX_";

/// Strips `HX_`, in any case; `None` where the text has no such prefix.
pub fn strip_prefix(text: &str) -> Option<&str> {
    let (prefix, bare) = text.split_at_checked(PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PREFIX).then_some(bare)
}

/// Parses an id such as `https://openalex.org/W1`, `W1`, `w1`, `HX_W1` or `hx_w1`.
///
/// Ids of the taxonomy have no letter: they are plain digits, or a URL such as
/// `https://openalex.org/fields/17`, whose folder names the entity.
pub fn parse(entity: Entity, text: &str) -> Result<u64, BadId> {
    if let Some(id) = parse_openalex(entity, text) {
        return Ok(id);
    }
    let name = last_part(text);
    let name = strip_prefix(name).unwrap_or(name);
    let Some(first) = name.bytes().next() else { return Err(BadId::Missing) };
    let digits = match entity.facts().letter {
        Some(letter) if first.to_ascii_uppercase() == letter => &name[1..],
        Some(_) if first.is_ascii_alphabetic() && parse_digits(&name[1..]).is_some() => {
            return Err(BadId::WrongType);
        }
        // A number alone does not name an entity.
        Some(_) if name.bytes().all(|byte| byte.is_ascii_digit()) => return Err(BadId::Missing),
        Some(_) => return Err(BadId::Malformed),
        // The folder before a number of the taxonomy names the entity.
        None => match text.rsplit('/').nth(1).and_then(Entity::from_dump_name) {
            Some(other) if other != entity => return Err(BadId::WrongType),
            _ => name,
        },
    };
    parse_digits(digits).ok_or(BadId::Malformed)
}

/// Parses the notation that nearly every id of a dump has; `None` for any other text.
fn parse_openalex(entity: Entity, text: &str) -> Option<u64> {
    let name = text.strip_prefix("https://openalex.org/")?;
    let facts = entity.facts();
    let digits = match facts.letter {
        Some(letter) => name.strip_prefix(char::from(letter))?,
        None => facts
            .dump_names
            .iter()
            .find_map(|folder| name.strip_prefix(folder))?
            .strip_prefix('/')?,
    };
    parse_digits(digits)
}

/// The text after the last `/`.
pub fn last_part(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

/// Parses an id whose letter names the entity.
pub fn parse_any(text: &str) -> Option<(Entity, u64)> {
    Entity::all()
        .filter(|entity| entity.facts().letter.is_some())
        .find_map(|entity| parse(entity, text).ok().map(|id| (entity, id)))
}

/// The number of an id that refers to a record of `entity`. An id that does not parse is
/// `bad_reference`.
pub fn parse_reference(entity: Entity, id: &MaybeId<'_>, diagnostics: &Diagnostics) -> Option<u64> {
    let number = parse(entity, id.0.as_str()?).ok();
    if number.is_none() {
        diagnostics.warn("bad_reference");
    }
    number
}

/// Like [`parse_reference`], for an id whose letter names its entity.
pub fn parse_any_reference(id: &MaybeId<'_>, diagnostics: &Diagnostics) -> Option<(Entity, u64)> {
    let parsed = parse_any(id.0.as_str()?);
    if parsed.is_none() {
        diagnostics.warn("bad_reference");
    }
    parsed
}

/// The URL of a record at OpenAlex.
pub fn openalex_url(entity: Entity, id: u64) -> String {
    let letter = entity.facts().letter.map(char::from).unwrap_or_default();
    format!("https://openalex.org/{letter}{id}")
}

/// The ORCID iD of a URL or bare iD, in upper case; `None` where the URL ends before the iD.
pub fn bare_orcid(text: &str) -> Option<String> {
    let text = text.trim();
    let is_url = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
    let bare = if is_url || text.starts_with("orcid.org/") { last_part(text) } else { text };
    Some(bare.trim().to_ascii_uppercase()).filter(|bare| !bare.is_empty())
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
    fn an_orcid_is_stripped_of_its_url() {
        for text in [
            "https://orcid.org/0000-0002-1825-009x",
            "orcid.org/0000-0002-1825-009X",
            "0000-0002-1825-009X",
        ] {
            assert_eq!(bare_orcid(text).as_deref(), Some("0000-0002-1825-009X"));
        }
        assert_eq!(bare_orcid("https://orcid.org/"), None);
    }
}
