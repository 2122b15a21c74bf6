//! Recognizes texts that are complete identifiers, and finds the records that have the identifier.

use crate::entity::Entity;
use crate::index::term_lists::text_term;
use crate::schema::{Index, Scheme, keys_of, parse_record_id, spellings_of_doi};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// A complete identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// The id of a record, in any of its spellings.
    Record(Entity, u64),
    /// An identifier of another system, in its normal form.
    External(Scheme, String),
}

impl Identifier {
    /// The identifiers that this one of a text may mean, the likeliest first: a DOI has another end, too.
    pub fn spellings(&self) -> Vec<Identifier> {
        match self {
            Identifier::External(Scheme::Doi, doi) => spellings_of_doi(doi)
                .into_iter()
                .map(|doi| Identifier::External(Scheme::Doi, doi))
                .collect(),
            other => vec![other.clone()],
        }
    }

    /// Finds the ascending rows of the records that have the identifier, by entity.
    pub fn find_rows(
        &self,
        snapshot: &Snapshot,
        entities: &[Entity],
    ) -> Result<Vec<(Entity, Vec<u32>)>, ReadError> {
        let mut found = Vec::new();
        for entity in entities.iter().copied() {
            let rows = match self {
                Identifier::Record(of, id) if *of == entity => rows_by_id(snapshot, entity, *id),
                Identifier::Record(..) => Ok(Vec::new()),
                Identifier::External(scheme, normal) => {
                    rows_by_external_id(snapshot, entity, *scheme, normal)
                }
            };
            let rows = snapshot.or_noted(rows)?;
            if !rows.is_empty() {
                found.push((entity, rows));
            }
        }
        Ok(found)
    }

    /// Parses a text as a complete identifier.
    pub fn parse(text: &str) -> Option<Identifier> {
        if let Some((entity, id)) = parse_record_id(text) {
            return Some(Identifier::Record(entity, id));
        }
        Scheme::NAMED
            .into_iter()
            .find_map(|scheme| Some(Identifier::External(scheme, scheme.parse(text)?)))
    }
}

/// Finds the record with an id, or the record that the id was merged into.
fn rows_by_id(snapshot: &Snapshot, entity: Entity, id: u64) -> Result<Vec<u32>, ReadError> {
    Ok(snapshot.find_merged(entity, id)?.1.into_iter().collect())
}

fn rows_by_external_id(
    snapshot: &Snapshot,
    entity: Entity,
    scheme: Scheme,
    normal: &str,
) -> Result<Vec<u32>, ReadError> {
    let mut rows = Vec::new();
    let keys = entity.facts().searched_ids.iter();
    for key in keys.filter(|key| Scheme::of_key(key) == scheme) {
        let lists = match keys_of(entity).filter(key) {
            Some((_, Index::Lists(lists))) => lists,
            _ => continue,
        };
        if let Some(list) = snapshot.term_lists(entity)?.find(lists, text_term(normal))? {
            rows.extend(list.to_vec()?);
        }
    }
    rows.sort_unstable();
    rows.dedup();
    rows.retain(|row| !snapshot.suppressed().has(entity, *row));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_identifiers_are_recognized() {
        let check = |text: &str, expected: Option<Identifier>| {
            assert_eq!(Identifier::parse(text), expected, "{text}");
        };
        let external = |scheme, normal: &str| Some(Identifier::External(scheme, normal.to_owned()));
        check("HX_W12", Some(Identifier::Record(Entity::Output, 12)));
        check("hx_a5", Some(Identifier::Record(Entity::Author, 5)));
        check("https://openalex.org/A5", Some(Identifier::Record(Entity::Author, 5)));
        check("HX_A05", None);
        check("HX_", None);
        check("HX_Z1", None);
        check("hx_é", None);
        check("doi.org/10.1000/ABC.1", external(Scheme::Doi, "10.1000/abc.1"));
        check("0000-0002-1825-009X", external(Scheme::Orcid, "0000-0002-1825-009x"));
        check("https://ror.org/05dxps055", external(Scheme::Ror, "05dxps055"));
        check("12345678", external(Scheme::Issn, "1234-5678"));
        check("1990-2000", external(Scheme::Issn, "1990-2000"));
        check("pmid:11565961", external(Scheme::Pmid, "11565961"));
        check("11565961", external(Scheme::Issn, "1156-5961"));
        check("2024/5", None);
        check("東京大学", None);
    }
}
