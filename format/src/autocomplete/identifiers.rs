//! Recognizes texts that are complete identifiers, and finds the records that have the identifier.

use crate::entity::{Entity, parse_digits};
use crate::index::term_lists::text_term;
use crate::query::strip_id_prefix;
use crate::schema::keys::{Index, Scheme, keys_of};
use crate::snapshot::{LookupResult, Snapshot};
use crate::storage::error::ReadError;

/// Prefixes of an ISSN written as a URL or URN.
const ISSN_PREFIXES: [&str; 5] = [
    "https://portal.issn.org/resource/issn/",
    "http://portal.issn.org/resource/issn/",
    "https://issn.org/resource/issn/",
    "http://issn.org/resource/issn/",
    "urn:issn:",
];

/// A complete identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identifier {
    /// `HX_` and a letter and a number.
    Record(Entity, u64),
    /// An identifier of another system, in the form that the index keeps.
    External(System, String),
}

/// A system of external identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Doi,
    Orcid,
    Ror,
    Issn,
}

impl System {
    /// The system of the identifiers that are the values of a filter key.
    fn from_key(key: &str) -> Option<System> {
        match key.rsplit('.').next()? {
            "doi" => Some(System::Doi),
            "orcid" => Some(System::Orcid),
            "ror" => Some(System::Ror),
            "issn" | "issn_l" => Some(System::Issn),
            _ => None,
        }
    }
}

impl Identifier {
    /// Finds the ascending rows of the records that have the identifier, by entity.
    pub(super) fn find_rows(
        &self,
        snapshot: &Snapshot,
        entities: &[Entity],
    ) -> Result<Vec<(Entity, Vec<u32>)>, ReadError> {
        let mut found = Vec::new();
        for entity in entities.iter().copied() {
            let rows = match self {
                Identifier::Record(of, id) if *of == entity => rows_by_id(snapshot, entity, *id)?,
                Identifier::Record(..) => Vec::new(),
                Identifier::External(system, normal) => {
                    rows_by_external_id(snapshot, entity, *system, normal)?
                }
            };
            if !rows.is_empty() {
                found.push((entity, rows));
            }
        }
        Ok(found)
    }

    /// Parses a text as a complete identifier.
    pub(super) fn parse(text: &str) -> Option<Identifier> {
        if let Some(rest) = strip_id_prefix(text) {
            let letter = rest.bytes().next()?.to_ascii_uppercase();
            let facts = crate::entity::CATALOG.iter().find(|facts| facts.letter == Some(letter))?;
            return Some(Identifier::Record(facts.entity, parse_digits(&rest[1..])?));
        }
        let doi = Scheme::Doi.normal(text);
        if is_doi(&doi) {
            return Some(Identifier::External(System::Doi, doi));
        }
        let orcid = Scheme::Orcid.normal(text);
        if is_digit_groups(&orcid, 4) {
            return Some(Identifier::External(System::Orcid, orcid));
        }
        let ror = Scheme::Ror.normal(text);
        if is_ror(&ror) {
            return Some(Identifier::External(System::Ror, ror));
        }
        let lower = text.to_ascii_lowercase();
        let issn =
            ISSN_PREFIXES.iter().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
        is_digit_groups(issn, 2).then(|| Identifier::External(System::Issn, issn.to_owned()))
    }
}

/// Finds the record with an id, or the record that the id was merged into.
fn rows_by_id(snapshot: &Snapshot, entity: Entity, id: u64) -> Result<Vec<u32>, ReadError> {
    let found = match snapshot.find(entity, id)? {
        LookupResult::Merged(into) => snapshot.find(entity, into)?,
        found => found,
    };
    Ok(if let LookupResult::Row(row) = found { vec![row] } else { Vec::new() })
}

fn rows_by_external_id(
    snapshot: &Snapshot,
    entity: Entity,
    system: System,
    normal: &str,
) -> Result<Vec<u32>, ReadError> {
    let mut rows = Vec::new();
    let keys = entity.facts().searched_ids.iter();
    for key in keys.filter(|key| System::from_key(key) == Some(system)) {
        let lists = match keys_of(entity).filter(key) {
            Some((_, Index::Lists(lists))) => lists,
            _ => continue,
        };
        if let Some(list) = snapshot.term_lists(entity)?.find(lists, text_term(normal))? {
            list.each(|row| {
                rows.push(row);
                true
            })?;
        }
    }
    rows.sort_unstable();
    rows.dedup();
    rows.retain(|row| !snapshot.suppressed().has(entity, *row));
    Ok(rows)
}

/// `10.`, digits and dots, `/`, and a suffix without white space.
fn is_doi(text: &str) -> bool {
    let Some((prefix, suffix)) = text.strip_prefix("10.").and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let is_prefix = prefix.starts_with(|c: char| c.is_ascii_digit())
        && prefix.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_prefix && !suffix.is_empty() && !suffix.contains(char::is_whitespace)
}

/// Groups of four digits with `-` between them; the last digit may be an `x`.
fn is_digit_groups(text: &str, groups: usize) -> bool {
    text.len() == groups * 5 - 1
        && text.bytes().enumerate().all(|(at, byte)| match at % 5 {
            4 => byte == b'-',
            _ => byte.is_ascii_digit() || byte == b'x' && at == text.len() - 1,
        })
}

/// `0`, six letters or digits, and two digits.
fn is_ror(text: &str) -> bool {
    text.len() == 9
        && text.starts_with('0')
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
        && text.bytes().skip(7).all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_identifiers_are_recognized() {
        let check = |text: &str, expected: Option<Identifier>| {
            assert_eq!(Identifier::parse(text), expected, "{text}");
        };
        let external = |system, normal: &str| Some(Identifier::External(system, normal.to_owned()));
        check("HX_W12", Some(Identifier::Record(Entity::Output, 12)));
        check("hx_a5", Some(Identifier::Record(Entity::Author, 5)));
        check("HX_A05", None);
        check("HX_", None);
        check("HX_Z1", None);
        check("hx_é", None);
        for text in ["10.1000/ABC.1", "https://doi.org/10.1000/abc.1", "doi:10.1000/abc.1"] {
            check(text, external(System::Doi, "10.1000/abc.1"));
        }
        for text in ["10.", "10.1000", "10.1000/", "10.x/y", "10.1000/a b", "2024/5"] {
            check(text, None);
        }
        for text in ["0000-0002-1825-009X", "https://orcid.org/0000-0002-1825-009x"] {
            check(text, external(System::Orcid, "0000-0002-1825-009x"));
        }
        check("0000-0002-1825-00X9", None);
        check("0000-0002-1825", None);
        for text in ["05DXPS055", "https://ror.org/05dxps055"] {
            check(text, external(System::Ror, "05dxps055"));
        }
        check("05dxps05x", None);
        check("https://ror.org/", None);
        for text in ["0028-0836", "https://portal.issn.org/resource/ISSN/0028-0836"] {
            check(text, external(System::Issn, "0028-0836"));
        }
        check("2049-363X", external(System::Issn, "2049-363x"));
        check("1990-2000", external(System::Issn, "1990-2000"));
        check("12345678", None);
        check("東京大学", None);
    }
}
