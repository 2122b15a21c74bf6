//! Verifying a snapshot whole.

use std::{fs::File, io};

use blake3::Hash;

use crate::autocomplete::NamePart;
use crate::entity::{Entity, NO_ID};
use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure};
use crate::index::dictionary::BLOCK_ROWS_MAX;
use crate::index::term_lists::Term;
use crate::json::render::{Page, Shape};
use crate::record;
use crate::record::ArchivedRecord;
use crate::schema::keys::{Terms, keys_of};
use crate::snapshot::open::{check_hash, open_regular, refuse};
use crate::snapshot::{Cause, Found, OpenError, Snapshot, archive_path};
use crate::storage::error::ReadError;
use crate::storage::header::Kind;
use crate::text::fold::{WORD_BYTES_MAX, shared_bytes};

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
        for entry in &self.manifest().files {
            let refuse = |cause| refuse(self.path(), &entry.path, cause);
            let file = open_regular(&self.path().join(&entry.path)).map_err(refuse)?;
            let found = hash_file(file).map_err(|error| refuse(error.into()))?;
            check_hash(entry, found).map_err(refuse)?;
        }
        for entity in Entity::all() {
            let in_file =
                |(kind, cause)| refuse(self.path(), &archive_path(kind, Some(entity)), cause);
            self.verify_records(entity).map_err(in_file)?;
            let mut sets = [0, 1].map(|_| Bitset::new(self.rows(entity)));
            self.verify_lists(entity, &mut sets).map_err(|cause| in_file((Kind::Lists, cause)))?;
            let [seen, _] = &mut sets;
            self.verify_orders(entity, seen).map_err(|cause| in_file((Kind::Orders, cause)))?;
            self.verify_names(entity, seen).map_err(in_file)?;
        }
        self.demand_unfaulted()
    }

    fn verify_records(&self, entity: Entity) -> Result<(), (Kind, Cause)> {
        let in_ids = |error: ReadError| (Kind::Ids, error.into());
        let in_records = |error: ReadError| (Kind::Records, error.into());
        let mut page = Page::new(self, Shape::Single);
        for row in 0..self.count(entity) {
            let id = self.row_id(entity, row).map_err(in_ids)?;
            if self.find(entity, id).map_err(in_ids)? != Found::Row(row) {
                return Err((
                    Kind::Ids,
                    ReadError::corrupt("ids", "the id of a row leads to another row").into(),
                ));
            }
            page.out.clear();
            self.render(entity, row, &mut page).map_err(in_records)?;
            let (archived, _) = self.blob(entity, row).map_err(in_records)?;
            let own = crate::entity::with_record!(entity, R => {
                record::access::<R>(archived).map(ArchivedRecord::id)
            });
            if own != Some(id) {
                return Err((
                    Kind::Records,
                    ReadError::corrupt("records", "the record has another id than its row").into(),
                ));
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

    fn verify_lists(&self, entity: Entity, sets: &mut [Bitset; 2]) -> Result<(), Cause> {
        let Some(file) = &self.store(entity).lists else { return Ok(()) };
        let keys = keys_of(entity);
        let published = self.count(entity);
        for (number, lists) in keys.lists.iter().enumerate() {
            let is_of_strays = keys.unresolved_names == Some(number);
            let rows = if is_of_strays { published..self.rows(entity) } else { 0..published };
            let is_shown = |term| Ok(self.is_shown(lists.terms, term)? && !is_of_strays);
            file.verify(number, &rows, is_shown, sets)
                .and_then(|()| verify_presence(lists.terms, is_of_strays, sets))
                .map_err(|fault| in_part(&lists.path, fault))?;
        }
        Ok(())
    }

    /// Whether a term is one of a value that is there; a row may have no id. Refuses what is no term.
    fn is_shown(&self, terms: Terms, term: Term) -> Result<bool, CheckError> {
        const NO_ROW: &str = "a term is no row";
        let row = term as u32;
        match terms {
            Terms::Rows(entity) => {
                ensure(row < self.rows(entity), NO_ROW)?;
                Ok(row < self.count(entity) || self.row_id(entity, row)? != NO_ID)
            }
            Terms::AnyRows => {
                let entity = u8::try_from(term >> 32).ok().and_then(Entity::from_index);
                ensure(entity.is_some_and(|entity| row < self.rows(entity)), NO_ROW)?;
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn verify_orders(&self, entity: Entity, seen: &mut Bitset) -> Result<(), Cause> {
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

    fn verify_names(&self, entity: Entity, seen: &mut Bitset) -> Result<(), (Kind, Cause)> {
        let store = self.store(entity);
        let published = self.count(entity);
        let Some(words) = &store.words else { return Ok(()) };
        let mut heavy = Heavy::default();
        words
            .verify(0..published, NamePart::Other as u8, |word, rows| {
                ensure(word.len() <= WORD_BYTES_MAX, "a word is too long")?;
                heavy.word(word, rows);
                Ok(())
            })
            .map_err(|fault| (Kind::Words, in_part("words of names", fault)))?;
        if let Some(alternatives) = &store.alternatives {
            alternatives
                .verify(0..published, 0, |_, _| Ok(()))
                .map_err(|fault| (Kind::Alternatives, in_part("alternative names", fault)))?;
        }
        let Some(prefixes) = &store.prefixes else { return Ok(()) };
        prefixes
            .verify(words, published, seen)
            .and_then(|()| {
                let (answers, _) = prefixes.counts();
                ensure(answers as u64 == heavy.finish(), "a frequent prefix has no summary")
            })
            .map_err(|fault| (Kind::Prefixes, in_part("prefix statistics", fault)))
    }
}

/// Counts the prefixes that more postings have than a block holds.
#[derive(Default)]
struct Heavy {
    last: String,
    /// The postings of each prefix of the last word, shortest first, with where it ends.
    postings: Vec<(usize, u64)>,
    count: u64,
}

impl Heavy {
    fn word(&mut self, word: &str, rows: u32) {
        let shared = shared_bytes(&self.last, word);
        self.close(shared);
        let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
        self.postings.extend(ends.filter(|end| *end > shared).map(|end| (end, 0)));
        self.postings.iter_mut().for_each(|(_, postings)| *postings += u64::from(rows));
        self.last.clear();
        self.last.push_str(word);
    }

    /// Counts the prefixes that end beyond a place.
    fn close(&mut self, place: usize) {
        let closed = self.postings.partition_point(|(end, _)| *end <= place);
        let is_heavy = |(_, postings): &(usize, u64)| *postings > BLOCK_ROWS_MAX as u64;
        self.count += self.postings.drain(closed..).filter(is_heavy).count() as u64;
    }

    fn finish(mut self) -> u64 {
        self.close(0);
        self.count
    }
}

/// Demands that the rows of presence, which come second, are those that have a term; of strays'
/// names none are.
fn verify_presence(
    terms: Terms,
    is_of_strays: bool,
    [shown, present]: &[Bitset; 2],
) -> Result<(), CheckError> {
    ensure(shown.is_subset(present), "a row has a term and is not among those that have any")?;
    // A text may fold to nothing, and presence alone has no terms.
    let has_all = is_of_strays || !matches!(terms, Terms::Texts | Terms::Presence);
    let broken = "a row is among those that have a term and has none";
    ensure(!has_all || present.is_subset(shown), broken)
}

/// A fault in the lists or the order of a path, or in what is said of names.
fn in_part(path: &str, fault: CheckError) -> Cause {
    match fault {
        CheckError::Violation(broken) => Cause::Promise { of: path.to_owned(), broken },
        CheckError::Read(ReadError::Corrupt { what, .. }) => {
            Cause::Promise { of: path.to_owned(), broken: what }
        }
        CheckError::Read(error) => error.into(),
    }
}

fn hash_file(file: File) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn prefixes_of_many_postings_are_counted() {
        let check = |words: &[(&str, u32)], expected: u64| {
            let mut heavy = Heavy::default();
            words.iter().for_each(|(word, rows)| heavy.word(word, *rows));
            assert_eq!(heavy.finish(), expected, "{words:?}");
            let mut postings = BTreeMap::<&str, u64>::new();
            for (word, rows) in words {
                for (at, c) in word.char_indices() {
                    *postings.entry(&word[..at + c.len_utf8()]).or_default() += u64::from(*rows);
                }
            }
            let heavy = postings.into_values().filter(|postings| *postings > BLOCK_ROWS_MAX as u64);
            assert_eq!(heavy.count() as u64, expected, "{words:?}");
        };
        check(&[], 0);
        check(&[("a", 256)], 0);
        check(&[("a", 257)], 1);
        check(&[("abc", 257)], 3);
        // Of words together, of which one may be the beginning of another.
        check(&[("ab", 128), ("abc", 129)], 2);
        check(&[("ab", 128), ("ac", 129), ("b", 256)], 1);
        check(&[("ab", 257), ("ac", 1), ("b", 2_000)], 3);
        check(&[("abc", 257), ("b", 1), ("bcd", 256)], 4);
        // 東 and 杰 begin with the same two bytes, which are no character.
        check(&[("杰", 250), ("東京", 250), ("東大", 7)], 1);
        check(&[("a", u32::MAX), ("ab", u32::MAX)], 2);
    }
}
