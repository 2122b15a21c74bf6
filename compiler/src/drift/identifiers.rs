//! Identifiers of other systems, such as DOIs, and the records that have them.

use pinakes_format::entity::Entity;
use pinakes_format::index::term_lists::text_term;
use pinakes_format::record::{Gathered, PathTree};
use pinakes_format::schema::{Index, Scheme, keys_of};
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;

/// The identifiers by which records of an entity are found.
pub(super) struct Identifiers {
    entity: Entity,
    /// Paths of the members, the number of the posting lists of each, and the scheme.
    keys: Vec<(&'static str, usize, Scheme)>,
    tree: PathTree,
}

/// An identifier that a record has: the index of its path, and the text as identifiers are compared.
pub(super) type Identifier = (usize, String);

impl Identifiers {
    pub(super) fn of(entity: Entity) -> Identifiers {
        let all = keys_of(entity);
        let keys = entity.facts().searched_ids.iter().filter_map(|path| match all.filter(path) {
            Some((_, Index::Lists(lists))) => Some((*path, lists, Scheme::of_key(path))),
            _ => None,
        });
        let keys: Vec<_> = keys.collect();
        let is_meant = |end: &usize| {
            all.ends[*end].lists.is_some_and(|lists| keys.iter().any(|key| key.1 == lists))
        };
        let tree = all.tree.pruned(&is_meant);
        Identifiers { entity, keys, tree }
    }

    /// The paths of the members.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|(path, ..)| *path)
    }

    /// The identifiers of the record in a row.
    pub(super) fn read(&self, snapshot: &Snapshot, row: u32) -> Result<Vec<Identifier>, ReadError> {
        let ends = &keys_of(self.entity).ends;
        let mut found = Vec::new();
        RecordLookup::gather(snapshot, self.entity, row, &self.tree, &mut |end, value| {
            let at = self.keys.iter().position(|key| ends[end].lists == Some(key.1));
            if let (Some(at), Gathered::Text(text)) = (at, value) {
                found.push((at, self.keys[at].2.normal(text)));
            }
        })?;
        Ok(found)
    }

    /// The row of the first record that has an identifier.
    pub(super) fn owner(
        &self,
        snapshot: &Snapshot,
        (at, text): &Identifier,
    ) -> Result<Option<u32>, ReadError> {
        let lists = snapshot.term_lists(self.entity)?;
        let Some(rows) = lists.find(self.keys[*at].1, text_term(text))? else { return Ok(None) };
        let mut first = None;
        rows.each(|row| {
            first = Some(row);
            false
        })?;
        Ok(first)
    }
}
