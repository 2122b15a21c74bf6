//! The key of `group_by`.

use crate::entity::Entity;
use crate::schema::keys::{Index, Keys};

/// The groups of a query: one for each record of an entity that the listed records refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// The entity whose records are the groups.
    pub entity: Entity,
    /// The number of the posting lists that have a term for each row of `entity`.
    pub(super) lists: usize,
}

impl Grouping {
    /// Looks up the grouping of a key; `None` if the key cannot group.
    pub(super) fn by_key(keys: &Keys, name: &str) -> Option<Grouping> {
        match keys.filter(name)? {
            (_, Index::NamesScanned { entity, rows }) => Some(Grouping { entity, lists: rows }),
            _ => None,
        }
    }

    /// The names of all keys that can group.
    pub(super) fn key_names(keys: &Keys) -> impl Iterator<Item = &'static str> + Clone {
        keys.filters().filter(|name| Grouping::by_key(keys, name).is_some())
    }
}
