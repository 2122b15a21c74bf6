//! Verifying a snapshot whole.

use std::{fs::File, io};

use blake3::Hash;

use super::{
    Cause, Found, OpenError, Snapshot, archive_path,
    open::{check_hash, open_regular, refuse},
};
use crate::{
    entity::{Entity, NO_ID},
    file::Kind,
    keys::{Terms, keys_of},
    lists::Term,
    record::{self, ArchivedRecord},
    render::{Page, RenderError, Shape},
    verify::{Fault, RowSet, demand},
    words::LastWord,
};

impl Snapshot {
    /// Reads every byte of every file, and every record, list, order and word, against every promise
    /// made of them.
    ///
    /// What lists, orders and words say is not held to the records. Keeps two bits for each row of an
    /// entity.
    ///
    /// # Errors
    ///
    /// The first promise broken.
    pub fn verify(&self) -> Result<(), OpenError> {
        for entry in &self.manifest.files {
            let refuse = |cause| refuse(&self.path, &entry.path, cause);
            let file = open_regular(&self.path.join(&entry.path)).map_err(refuse)?;
            let found = hash_file(file).map_err(|error| refuse(error.into()))?;
            check_hash(entry, found).map_err(refuse)?;
        }
        for entity in Entity::all() {
            let in_file =
                |(kind, cause)| refuse(&self.path, &archive_path(kind, Some(entity)), cause);
            self.verify_records(entity).map_err(in_file)?;
            let mut sets = [0, 1].map(|_| RowSet::new(self.rows(entity)));
            self.verify_lists(entity, &mut sets).map_err(|cause| in_file((Kind::Lists, cause)))?;
            let [seen, _] = &mut sets;
            self.verify_orders(entity, seen).map_err(|cause| in_file((Kind::Orders, cause)))?;
            self.verify_words(entity).map_err(|cause| in_file((Kind::Words, cause)))?;
        }
        Ok(())
    }

    fn verify_records(&self, entity: Entity) -> Result<(), (Kind, Cause)> {
        let in_ids = |error: RenderError| (Kind::Ids, error.into());
        let in_records = |error: RenderError| (Kind::Records, error.into());
        let mut page = Page::new(self, Shape::Single);
        for row in 0..self.count(entity) {
            let id = self.row_id(entity, row).map_err(in_ids)?;
            if self.find(entity, id).map_err(in_ids)? != Found::Row(row) {
                return Err((Kind::Ids, RenderError::Record.into()));
            }
            page.out.clear();
            self.render(entity, row, &mut page).map_err(in_records)?;
            let (archived, _) = self.blob(entity, row).map_err(in_records)?;
            let own = crate::with_record!(entity, R => {
                record::access::<R>(archived).map(ArchivedRecord::id)
            });
            if own != Some(id) {
                return Err((Kind::Records, RenderError::Record.into()));
            }
        }
        let store = self.store(entity);
        if let Some(names) = &store.names {
            for row in 0..names.count() {
                names.text(row).map_err(|error| (Kind::Names, error.into()))?;
            }
        }
        Ok(())
    }

    fn verify_lists(&self, entity: Entity, sets: &mut [RowSet; 2]) -> Result<(), Cause> {
        let Some(file) = &self.store(entity).lists else { return Ok(()) };
        let keys = keys_of(entity);
        let published = self.count(entity);
        for (number, lists) in keys.lists.iter().enumerate() {
            let is_of_strays = keys.stray_names == Some(number);
            let rows = if is_of_strays { published..self.rows(entity) } else { 0..published };
            let is_without_presence = is_of_strays || lists.terms == Terms::Words;
            let mut places = 0..Term::MAX;
            let is_shown = |term| {
                let is_in_turn = lists.terms != Terms::Words || places.next() == Some(term);
                demand(is_in_turn, "its terms are not the places of words")?;
                Ok(self.is_shown(lists.terms, term)? && !is_without_presence)
            };
            file.verify(number, &rows, is_shown, sets)
                .and_then(|()| verify_presence(lists.terms, is_without_presence, sets))
                .map_err(|fault| in_part(&lists.path, fault))?;
        }
        Ok(())
    }

    /// Whether a term is one of a value that is there; a row may have no id. Refuses what is no term.
    fn is_shown(&self, terms: Terms, term: Term) -> Result<bool, Fault> {
        const NO_ROW: &str = "a term is no row";
        let row = term as u32;
        match terms {
            Terms::Rows(entity) => {
                demand(row < self.rows(entity), NO_ROW)?;
                Ok(row < self.count(entity) || self.row_id(entity, row)? != NO_ID)
            }
            Terms::AnyRows => {
                let entity = u8::try_from(term >> 32).ok().and_then(Entity::from_index);
                demand(entity.is_some_and(|entity| row < self.rows(entity)), NO_ROW)?;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn verify_orders(&self, entity: Entity, seen: &mut RowSet) -> Result<(), Cause> {
        if self.store(entity).orders.is_none() {
            return Ok(());
        }
        for (number, order) in keys_of(entity).orders.iter().enumerate() {
            self.order(entity, number)?
                .verify(self.ids(entity), seen)
                .map_err(|fault| in_part(&order.path, fault))?;
        }
        Ok(())
    }

    fn verify_words(&self, entity: Entity) -> Result<(), Cause> {
        let store = self.store(entity);
        let (Some(words), Some(lists)) = (&store.words, keys_of(entity).words) else {
            return Ok(());
        };
        let mut last = LastWord::default();
        for shard in 0..words.shards() {
            words
                .verify(shard, &mut last)
                .map_err(|fault| in_part(&format!("shard {shard}"), fault))?;
        }
        let (expected, found) = (self.lists(entity)?.terms(lists)? as u64, last.words());
        if expected == found {
            Ok(())
        } else {
            Err(Cause::Contradiction { what: "words", expected, found })
        }
    }
}

/// Demands that the rows of presence, which come second, are those that have a term; of strays'
/// names and of words none are.
fn verify_presence(
    terms: Terms,
    is_without_presence: bool,
    [shown, present]: &[RowSet; 2],
) -> Result<(), Fault> {
    demand(shown.is_within(present), "a row has a term and is not among those that have any")?;
    // A text may fold to nothing, and presence alone has no terms.
    let has_all = is_without_presence || !matches!(terms, Terms::Texts | Terms::Presence);
    let broken = "a row is among those that have a term and has none";
    demand(!has_all || present.is_within(shown), broken)
}

/// A fault in the lists or the order of a path, or in a shard of words.
fn in_part(path: &str, fault: Fault) -> Cause {
    match fault {
        Fault::Broken(broken) => Cause::Promise { of: path.to_owned(), broken },
        Fault::Content(RenderError::Record) => {
            Cause::Promise { of: path.to_owned(), broken: "its bytes make no sense" }
        }
        Fault::Content(error) => error.into(),
    }
}

fn hash_file(file: File) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}
