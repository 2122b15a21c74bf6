//! Verifies a whole snapshot: every byte against its hash, and every rule of the format.

use std::{fs::File, io};

use blake3::Hash;

use crate::entity::{Entity, NO_ID, with_record};
use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure, hash_of_link};
use crate::index::crossings::FrequentTerms;
use crate::index::dictionary::BLOCK_ROWS_MAX;
use crate::index::prefix_stats::NamePart;
use crate::index::term_lists::Term;
use crate::json::render::{JsonWriter, Shape};
use crate::record;
use crate::record::Record;
use crate::schema::{TermLists, Terms, keys_of};
use crate::snapshot::error::{Cause, OpenError};
use crate::snapshot::files::{archive_path, open_regular};
use crate::snapshot::open::check_hash;
use crate::snapshot::{LookupResult, Snapshot};
use crate::storage::{FileKind, ReadError};
use crate::text::fold::{WORD_BYTES_MAX, shared_bytes};

/// Bytes that are fetched in one step.
const FETCHED_BYTES: usize = 4 << 20;

impl Snapshot {
    /// Reads every byte of every file; checks every record, term list, order and dictionary against
    /// the rules of the format.
    ///
    /// Does not compare the indexes with the records. Memory: four bits for each row of an entity.
    ///
    /// # Errors
    ///
    /// Names the first broken rule.
    pub fn verify(&self) -> Result<(), OpenError> {
        self.verify_files()?;
        for entity in Entity::all() {
            let in_file = |(kind, cause): (FileKind, Cause)| {
                OpenError::new(self.path(), &archive_path(kind, Some(entity)), cause)
            };
            self.verify_records(entity).map_err(in_file)?;
            // The checks of an entity share two sets, because sets of all rows are large. Each check clears the set
            // that it uses.
            let mut sets = [0, 1].map(|_| Bitset::new(self.rows(entity)));
            self.verify_lists(entity, &mut sets)
                .map_err(|cause| in_file((FileKind::TermLists, cause)))?;
            let [seen, _] = &mut sets;
            self.verify_orders(entity, seen).map_err(|cause| in_file((FileKind::Orders, cause)))?;
            self.verify_names(entity, seen).map_err(in_file)?;
            if let Some(citations) = &self.files_of(entity).citations {
                let verified =
                    citations.get().map_err(CheckError::from).and_then(|of| of.verify(seen));
                verified.map_err(|error| {
                    in_file((FileKind::Citations, in_part("citation graph", error)))
                })?;
            }
            self.verify_targets(entity).map_err(|cause| in_file((FileKind::Targets, cause)))?;
            self.verify_crossings(entity).map_err(|cause| in_file((FileKind::Crossings, cause)))?;
            if let Some(index) = &self.files_of(entity).full_text {
                let records = 0..self.count(entity);
                let verified =
                    index.get().map_err(CheckError::from).and_then(|of| of.verify(records));
                verified.map_err(|error| {
                    in_file((FileKind::FullText, in_part("full-text index", error)))
                })?;
            }
        }
        // A read of a mapped file that failed gave zeros, which may have passed the checks.
        self.check_readable()
    }

    /// Checks every byte, also those that no other check reads: each file by its hash, or chunk by chunk where chunks are
    /// fetched.
    fn verify_files(&self) -> Result<(), OpenError> {
        if self.is_fetched() {
            for archive in self.archives() {
                for from in (0..archive.len()).step_by(FETCHED_BYTES) {
                    let read = archive.bytes(from, archive.len().min(from + FETCHED_BYTES));
                    let in_file =
                        |error: ReadError| OpenError::new(self.path(), archive.file(), error);
                    read.map_err(in_file)?;
                }
            }
            return Ok(());
        }
        for entry in &self.manifest().files {
            let in_file = |cause| OpenError::new(self.path(), &entry.path, cause);
            let file = open_regular(&self.path().join(&entry.path)).map_err(in_file)?;
            let found = hash_file(file).map_err(|error| in_file(error.into()))?;
            check_hash(entry, found).map_err(in_file)?;
        }
        Ok(())
    }

    fn verify_records(&self, entity: Entity) -> Result<(), (FileKind, Cause)> {
        let in_ids = |error: ReadError| (FileKind::Ids, error.into());
        let in_records = |error: ReadError| (FileKind::Records, error.into());
        let mut writer = JsonWriter::new(self, Shape::Single);
        for row in 0..self.count(entity) {
            let id = self.row_id(entity, row).map_err(in_ids)?;
            if self.find(entity, id).map_err(in_ids)? != LookupResult::Row(row) {
                return Err((
                    FileKind::Ids,
                    ReadError::corrupt("ids", "the id of a row leads to another row").into(),
                ));
            }
            // Rendering reads every member, and every name and code that the record refers to.
            writer.out.clear();
            self.render(entity, row, &mut writer).map_err(in_records)?;
            if std::str::from_utf8(&writer.out).is_err() {
                let broken = "a record prints text that is not UTF-8";
                return Err(in_records(ReadError::corrupt("records", broken)));
            }
            // The record states its id, which must be that of its row.
            let packed = self.stored(entity, row).map_err(in_records)?.packed;
            let own = with_record!(entity, R => {
                record::read::<R>(packed).map(|record| record.id()).map_err(in_records)?
            });
            if own != id {
                return Err((
                    FileKind::Records,
                    ReadError::corrupt("records", "the record has another id than its row").into(),
                ));
            }
        }
        let files = self.files_of(entity);
        if let Some(names) = &files.names {
            let in_names = |error: ReadError| (FileKind::Names, error.into());
            for row in 0..names.rows() {
                names.text(row).map_err(in_names)?;
                let (id, _) = names.get(row).map_err(in_names)?;
                if files.ids.id(row).map_err(in_ids)? != id {
                    let broken = "a row has another id than in `ids`";
                    return Err(in_names(ReadError::corrupt("names", broken)));
                }
            }
        }
        files.ids.verify().map_err(in_ids)?;
        files.redirects.verify().map_err(|error| (FileKind::Redirects, error.into()))
    }

    fn verify_lists(&self, entity: Entity, sets: &mut [Bitset; 2]) -> Result<(), Cause> {
        let Some(file) = &self.files_of(entity).term_lists else { return Ok(()) };
        let file = file.get()?;
        let keys = keys_of(entity);
        let published = self.count(entity);
        for (number, lists) in keys.lists.iter().enumerate() {
            let is_unresolved = keys.is_unresolved(number);
            let rows = if is_unresolved { published..self.rows(entity) } else { 0..published };
            let is_present = |term| Ok(self.is_present(lists.terms, term)? && !is_unresolved);
            file.verify(number, &rows, is_present, sets)
                .and_then(|()| verify_presence(lists.terms, is_unresolved, sets))
                .map_err(|error| in_part(&lists.path, error))?;
        }
        Ok(())
    }

    /// Checks the target rows of each path, and that they are those of the path's posting lists.
    fn verify_targets(&self, entity: Entity) -> Result<(), Cause> {
        let Some(file) = &self.files_of(entity).targets else { return Ok(()) };
        let file = file.get()?;
        let keys = keys_of(entity);
        for (path, number) in keys.targets.iter().enumerate() {
            let TermLists { path: of, terms } = &keys.lists[*number];
            let verified = || {
                let Terms::Rows(target) = *terms else {
                    return Err(CheckError::Violation("the terms are no rows"));
                };
                let listed = self.sum_of_links(entity, *number, target)?;
                let mut sum = 0u64;
                file.verify(path, self.rows(target), |record, row| {
                    sum = sum.wrapping_add(hash_of_link(record, row));
                    Ok(())
                })?;
                ensure(sum == listed, "the rows of records are not those of the posting lists")
            };
            verified().map_err(|error| in_part(of, error))?;
        }
        Ok(())
    }

    /// Sums the hashes of the links from records to rows that posting lists hold. Rows without an id
    /// do not count, and rows that share an id count as the first of them.
    fn sum_of_links(
        &self,
        entity: Entity,
        lists: usize,
        target: Entity,
    ) -> Result<u64, CheckError> {
        let file = self.term_lists(entity)?;
        let (mut sum, mut records) = (0u64, Vec::new());
        let terms = file.terms(lists)?;
        let first_row = |at| self.first_row_of_id(target, file.term_at(lists, at)? as u32);
        let mut at = 0;
        while at < terms {
            let first = first_row(at)?;
            let mut end = at + 1;
            while end < terms && first.is_some() && first_row(end)? == first {
                end += 1;
            }
            if let Some(row) = first {
                records.clear();
                for at in at..end {
                    file.postings(lists, at)?.each(|record| {
                        records.push(record);
                        true
                    })?;
                }
                // A record that refers to several rows of one id has one link to the id.
                records.sort_unstable();
                records.dedup();
                let hashes = records.iter().map(|record| hash_of_link(*record, row));
                sum = hashes.fold(sum, u64::wrapping_add);
            }
            at = end;
        }
        Ok(sum)
    }

    /// Whether the rows of a term count as rows with a value. They do not where the term is an
    /// unresolved reference without an id. Refuses a number that is no term.
    fn is_present(&self, terms: Terms, term: Term) -> Result<bool, CheckError> {
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
        if self.files_of(entity).orders.is_none() {
            return Ok(());
        }
        for (number, order) in keys_of(entity).orders.iter().enumerate() {
            self.order(entity, number)?
                .verify(self.ids(entity), seen)
                .map_err(|error| in_part(&order.path, error))?;
        }
        Ok(())
    }

    /// Checks the counts of frequent terms against their postings and the orders.
    fn verify_crossings(&self, entity: Entity) -> Result<(), Cause> {
        let Some(file) = self.crossings(entity)? else { return Ok(()) };
        let keys = keys_of(entity);
        let rows = self.count(entity) as usize;
        let frequent = FrequentTerms::find(self.term_lists(entity)?, keys, rows)?;
        file.verify_pairs(&frequent).map_err(|error| in_part("pairs of terms", error))?;
        for (number, counted) in keys.counted.iter().enumerate() {
            let verified = self
                .counted_order(entity, number)
                .map_err(CheckError::from)
                .and_then(|order| order.verify(&frequent, self.ids(entity)));
            verified.map_err(|error| in_part(&keys.orders[counted.order].path, error))?;
        }
        Ok(())
    }

    fn verify_names(&self, entity: Entity, seen: &mut Bitset) -> Result<(), (FileKind, Cause)> {
        let files = self.files_of(entity);
        let published = self.count(entity);
        let Some(words) = &files.words else { return Ok(()) };
        let words = words.get().map_err(|error| (FileKind::Words, error.into()))?;
        // Summaries must be complete: the words tell which prefixes are frequent.
        let mut frequent = FrequentPrefixes::default();
        words
            .verify(0..published, NamePart::Other as u8, |word, rows| {
                ensure(word.len() <= WORD_BYTES_MAX, "a word is too long")?;
                frequent.add_word(word, rows);
                Ok(())
            })
            .map_err(|error| (FileKind::Words, in_part("words of names", error)))?;
        if let Some(alternatives) = &files.alternatives {
            let alternatives = alternatives.get().map_err(CheckError::from);
            alternatives
                .and_then(|of| of.verify(0..published, 0, |_, _| Ok(())))
                .map_err(|error| (FileKind::Alternatives, in_part("alternative names", error)))?;
        }
        let Some(prefixes) = &files.prefix_stats else { return Ok(()) };
        let prefixes = prefixes.get().map_err(|error| (FileKind::PrefixStats, error.into()))?;
        prefixes
            .verify(words, published, seen)
            .and_then(|()| {
                let (summaries, _) = prefixes.counts();
                let is_complete = summaries as u64 == frequent.finish();
                ensure(is_complete, "a frequent prefix has no summary")
            })
            .map_err(|error| (FileKind::PrefixStats, in_part("prefix statistics", error)))
    }
}

/// Counts the frequent prefixes of ascending words: those with more postings than a block holds,
/// 256.
///
/// Keeps one sum for each prefix of the last word:
///
/// ```text
/// word    rows    sums afterwards            counted
/// ab       128    a 128, ab 128              0
/// abc      129    a 257, ab 257, abc 129     0
/// b        300    b 300                      2: `a` and `ab` end here, `abc` is not frequent
/// (end)                                      3
/// ```
///
/// Cost: one pass over the words; memory for one word.
#[derive(Default)]
struct FrequentPrefixes {
    last: String,
    /// For each prefix of the last word, the shortest first: its length in bytes and its postings.
    sums: Vec<(usize, u64)>,
    count: u64,
}

impl FrequentPrefixes {
    fn add_word(&mut self, word: &str, rows: u32) {
        let shared = shared_bytes(&self.last, word);
        self.close(shared);
        let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
        self.sums.extend(ends.filter(|end| *end > shared).map(|end| (end, 0)));
        self.sums.iter_mut().for_each(|(_, postings)| *postings += u64::from(rows));
        self.last.clear();
        self.last.push_str(word);
    }

    /// Removes the prefixes longer than `shared` bytes, and counts the frequent ones among them.
    fn close(&mut self, shared: usize) {
        let closed = self.sums.partition_point(|(end, _)| *end <= shared);
        let is_frequent = |(_, postings): &(usize, u64)| *postings > BLOCK_ROWS_MAX as u64;
        self.count += self.sums.drain(closed..).filter(is_frequent).count() as u64;
    }

    fn finish(mut self) -> u64 {
        self.close(0);
        self.count
    }
}

/// Checks a list's presence rows against the rows that have a term. The list of unresolved names
/// has presence rows without terms.
fn verify_presence(
    terms: Terms,
    is_unresolved: bool,
    [with_term, present]: &[Bitset; 2],
) -> Result<(), CheckError> {
    ensure(with_term.is_subset(present), "a row has a term and is not marked present")?;
    // A text may fold to nothing, and a presence list has no terms.
    let has_all =
        is_unresolved || !matches!(terms, Terms::Texts | Terms::Prefixes | Terms::Presence);
    ensure(!has_all || present.is_subset(with_term), "a row is marked present and has no term")
}

/// Names the list, order or dictionary that an error is in.
fn in_part(of: &str, error: CheckError) -> Cause {
    match error {
        CheckError::Violation(broken)
        | CheckError::Read(ReadError::Corrupt { what: broken, .. }) => {
            Cause::Promise { of: of.to_owned(), broken }
        }
        CheckError::Read(error) => error.into(),
    }
}

pub(super) fn hash_file(file: File) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn frequent_prefixes_are_counted() {
        let check = |words: &[(&str, u32)], expected: u64| {
            let mut frequent = FrequentPrefixes::default();
            words.iter().for_each(|(word, rows)| frequent.add_word(word, *rows));
            assert_eq!(frequent.finish(), expected, "{words:?}");
            let mut postings = BTreeMap::<&str, u64>::new();
            for (word, rows) in words {
                for (at, c) in word.char_indices() {
                    *postings.entry(&word[..at + c.len_utf8()]).or_default() += u64::from(*rows);
                }
            }
            let counted =
                postings.into_values().filter(|postings| *postings > BLOCK_ROWS_MAX as u64);
            assert_eq!(counted.count() as u64, expected, "{words:?}");
        };
        check(&[], 0);
        check(&[("a", 256)], 0);
        check(&[("a", 257)], 1);
        check(&[("abc", 257)], 3);
        // Words that share a prefix; one may be the beginning of another.
        check(&[("ab", 128), ("abc", 129)], 2);
        check(&[("ab", 128), ("ac", 129), ("b", 256)], 1);
        check(&[("ab", 257), ("ac", 1), ("b", 2_000)], 3);
        check(&[("abc", 257), ("b", 1), ("bcd", 256)], 4);
        // 東 and 杰 begin with the same two bytes, which form no character.
        check(&[("杰", 250), ("東京", 250), ("東大", 7)], 1);
        check(&[("a", u32::MAX), ("ab", u32::MAX)], 2);
    }
}
