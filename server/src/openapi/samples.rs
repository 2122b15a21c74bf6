//! What examples are made of: the first record of each list, so that they are true of the snapshot that
//! is served.

use pinakes_format::entity::{Entity, IdFormat, NO_ID};
use pinakes_format::schema::keys::Keys;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::fold::fold;

/// What is known of a list's first record; nothing where the list is empty.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its number.
    id: Option<u64>,
    /// The first word of its name, folded.
    pub word: Option<String>,
    /// The key that orders the list.
    pub order: Option<String>,
}

impl Sample {
    /// The first record of a list with these keys.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged.
    pub fn of(snapshot: &Snapshot, entity: Entity, keys: &Keys) -> Result<Sample, ReadError> {
        let Some(row) = snapshot.first_shown(entity) else { return Ok(Sample::default()) };
        let id = Some(snapshot.row_id(entity, row)?).filter(|id| *id != NO_ID);
        let folded = snapshot.name(entity, row)?.map(fold).unwrap_or_default();
        let word = folded.split(' ').next().filter(|word| !word.is_empty()).map(str::to_owned);
        let is_ordered = |order: usize| keys.orders[order].is_row_order;
        let ordered = keys.keys.iter().find(|key| key.sort.is_some_and(is_ordered));
        Ok(Sample { id, word, order: ordered.map(|key| key.name.to_owned()) })
    }

    /// Its identifier, as a variant of the interface writes it.
    pub fn id(&self, spelling: &IdFormat, entity: Entity) -> Option<String> {
        let mut id = Vec::new();
        spelling.write(entity, self.id?, &mut id);
        String::from_utf8(id).ok()
    }
}
