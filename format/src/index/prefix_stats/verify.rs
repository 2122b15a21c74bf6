//! Verifies prefix statistics.

use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure};
use crate::index::dictionary::{BLOCK_ROWS_MAX, Dictionary};
use crate::index::prefix_stats::{BEST_MAX, PrefixStats, SUMMARY_BYTES};
use crate::storage::HEADER_BYTES;

impl PrefixStats {
    /// Checks summaries and row sets against the words. `rows` is the number of records; `seen` has
    /// space for all rows.
    pub(crate) fn verify(
        &self,
        words: &Dictionary,
        rows: u32,
        seen: &mut Bitset,
    ) -> Result<(), CheckError> {
        seen.clear();
        let mut summaries = 0;
        self.summary_shards.verify(&self.archive, |prefix, number| {
            ensure(number == summaries, "the summaries are not in the order of their prefixes")?;
            summaries += 1;
            ensure_text(prefix)?;
            let summary = self.summary_at(number as usize)?;
            let is_canonical = self.summary_bytes(number as usize)? == summary.encode();
            ensure(is_canonical, "a summary is not in its canonical form")?;
            let (postings, count) = add_rows(words, prefix, seen)?;
            // A prefix of few postings is answered from the postings themselves.
            ensure(postings > BLOCK_ROWS_MAX as u64, "a rare prefix has a summary")?;
            ensure(summary.count == count, "a summary's count differs from the matching records")?;
            let best = &summary.best;
            ensure(
                best.len() == BEST_MAX.min(count as usize),
                "a summary does not have the best ten",
            )?;
            let mut known = Vec::new();
            for (_, row) in best {
                // The rows of the prefix are in `seen`, so `insert` returns false for each of them.
                let is_new = !known.contains(row);
                let matches = is_new && *row < rows && !seen.insert(*row);
                ensure(matches, "a summary has a row that does not match, or a row twice")?;
                known.push(*row);
            }
            // Clearing the whole set for each prefix would cost all rows each time.
            remove_rows(words, prefix, seen)
        })?;
        ensure(summaries == self.summaries as u64, "a summary has no prefix")?;
        let mut at = HEADER_BYTES + self.summaries * SUMMARY_BYTES;
        let mut sets = 0;
        self.set_shards.verify(&self.archive, |prefix, number| {
            ensure(number == sets, "the row sets are not in the order of their prefixes")?;
            sets += 1;
            ensure_text(prefix)?;
            let set = self.set_at(number as usize)?;
            ensure(set.byte_range().start == at, "the row sets are not contiguous")?;
            at = set.byte_range().end;
            let (_, count) = add_rows(words, prefix, seen)?;
            let mut is_complete = set.count() == count;
            set.verify(&(0..rows), |row| is_complete &= !seen.insert(row))?;
            ensure(is_complete, "a row set differs from the rows whose words have its prefix")?;
            remove_rows(words, prefix, seen)
        })?;
        ensure(sets == self.sets as u64, "a row set has no prefix")?;
        let end = self.archive.u64_at(self.offsets_from + self.sets * 8)?;
        let is_contiguous = at == self.offsets_from && end == at as u64;
        ensure(is_contiguous, "the row set offsets do not follow the row sets")
    }
}

/// Checks that a prefix consists of whole characters and is not empty.
fn ensure_text(prefix: &[u8]) -> Result<(), CheckError> {
    ensure(
        !prefix.is_empty() && std::str::from_utf8(prefix).is_ok(),
        "a prefix is empty or not UTF-8",
    )
}

/// Adds the rows of the words that start with `prefix`. Returns the number of their postings, and the
/// number of rows that were new.
fn add_rows(
    words: &Dictionary,
    prefix: &[u8],
    seen: &mut Bitset,
) -> Result<(u64, u32), CheckError> {
    let (mut postings, mut count) = (0, 0);
    let mut texts = words.seek(prefix)?;
    while let Some((_, rows)) = texts.current_with_prefix(prefix) {
        postings += u64::from(rows.count());
        rows.each(|row| count += u32::from(seen.insert(row)))?;
        texts.advance()?;
    }
    Ok((postings, count))
}

/// Removes the rows that [`add_rows`] added. This costs less than clearing the whole set.
fn remove_rows(words: &Dictionary, prefix: &[u8], seen: &mut Bitset) -> Result<(), CheckError> {
    let mut texts = words.seek(prefix)?;
    while let Some((_, rows)) = texts.current_with_prefix(prefix) {
        rows.each(|row| seen.remove(row))?;
        texts.advance()?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{io::Write, path::Path};

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::index::dictionary::{DictionaryWriter, RowsBuilder};
    use crate::index::postings::PostingsBuilder;
    use crate::index::prefix_stats::{PrefixStatsWriter, PrefixSummary, Tier};
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, Header};

    const ROWS: u32 = 3_000;

    fn header(kind: FileKind) -> Header {
        Header {
            kind,
            entity: Some(Entity::Field),
            published: ROWS.into(),
            rows: ROWS.into(),
            schema_hash: schema_hash(),
        }
    }

    /// A word of 1,500 rows, a word of 100 of these rows, and two words of one character each whose
    /// UTF-8 forms share the first two bytes.
    fn write_words(path: &Path) {
        let mut writer = DictionaryWriter::create(path, header(FileKind::Words)).unwrap();
        let words = [("grape", 0..100), ("graph", 0..1_500), ("杰", 0..1), ("東", 0..1_200)];
        let mut rows = RowsBuilder::default();
        for (word, of_word) in words {
            of_word.for_each(|row| rows.push(row, 3));
            writer.push(word.as_bytes(), &mut rows).unwrap();
        }
        writer.finish().unwrap();
    }

    fn summary(count: u32) -> PrefixSummary {
        PrefixSummary { count, best: (0..10).map(|row| (Tier::Words, row)).collect() }
    }

    fn set(rows: u32) -> PostingsBuilder {
        let mut list = PostingsBuilder::default();
        (0..rows).for_each(|row| list.push(0, &[row as u16]));
        list
    }

    /// Verifies what `write` writes.
    fn verify(write: impl FnOnce(&mut PrefixStatsWriter)) -> Result<(), &'static str> {
        let directory = tempfile::tempdir().unwrap();
        let [words_path, prefixes_path] =
            ["words", "prefix_stats"].map(|file| directory.path().join(file));
        write_words(&words_path);
        let words = Dictionary::open(archive(&words_path, FileKind::Words)).unwrap();
        let mut writer =
            PrefixStatsWriter::create(&prefixes_path, header(FileKind::PrefixStats)).unwrap();
        write(&mut writer);
        writer.finish().unwrap();
        let prefixes = PrefixStats::open(archive(&prefixes_path, FileKind::PrefixStats)).unwrap();
        match prefixes.verify(&words, ROWS, &mut Bitset::new(ROWS)) {
            Ok(()) => Ok(()),
            Err(CheckError::Violation(broken)) => Err(broken),
            Err(CheckError::Read(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn verification_refuses_summaries_that_differ_from_the_words() {
        let of = |prefix: &'static [u8], summary: PrefixSummary| {
            verify(move |writer| writer.push_summary(prefix, &summary).unwrap())
        };
        assert_eq!(verify(|_| ()), Ok(()));
        assert_eq!(of(b"gra", summary(1_500)), Ok(()));
        assert_eq!(of("東".as_bytes(), summary(1_200)), Ok(()));
        assert_eq!(
            of(&"東".as_bytes()[..2], summary(1_200)),
            Err("a prefix is empty or not UTF-8")
        );
        assert_eq!(of(b"", summary(1_500)), Err("a prefix is empty or not UTF-8"));
        let few = "a rare prefix has a summary";
        assert_eq!(of(b"grape", summary(100)), Err(few));
        // The two words have 1,600 postings of 1,500 rows.
        let other_count = Err("a summary's count differs from the matching records");
        assert_eq!(of(b"gra", summary(1_600)), other_count);
        let cut = PrefixSummary { best: summary(0).best[..9].to_vec(), count: 1_500 };
        assert_eq!(of(b"gra", cut), Err("a summary does not have the best ten"));
        let other_row = Err("a summary has a row that does not match, or a row twice");
        for row in [0, 1_500, ROWS, u32::MAX] {
            let mut other = summary(1_500);
            other.best[9].1 = row;
            assert_eq!(of(b"gra", other), other_row, "{row}");
        }
    }

    #[test]
    fn verification_refuses_summaries_that_are_not_canonical() {
        let written = |number: u64, bytes: &[u8]| {
            verify(|writer| {
                writer.summary_shards.push(b"gra", number).unwrap();
                writer.summaries = (bytes.len() / SUMMARY_BYTES) as u64;
                writer.file.write_all(bytes).unwrap();
            })
        };
        let bytes = summary(1_500).encode();
        assert_eq!(written(0, &bytes), Ok(()));
        assert_eq!(written(0, &bytes.repeat(2)), Err("a summary has no prefix"));
        let order = Err("the summaries are not in the order of their prefixes");
        assert_eq!(written(1, &bytes.repeat(2)), order);
        // Tier counts that fall; more rows than ten; a row after the last best row.
        for (at, byte) in [(4, 5), (7, 11), (7, 9)] {
            let mut other = bytes;
            other[at] = byte;
            let found = written(0, &other);
            assert_eq!(found, Err("a summary is not in its canonical form"), "byte {at}");
        }
    }

    #[test]
    fn verification_refuses_row_sets_that_differ_from_the_words() {
        let of = |prefix: &'static [u8], rows: u32| {
            verify(move |writer| writer.push_set(prefix, &mut set(rows)).unwrap())
        };
        assert_eq!(of(b"g", 1_500), Ok(()));
        assert_eq!(of(b"grape", 100), Ok(()));
        assert_eq!(of(&"東".as_bytes()[..1], 1_200), Err("a prefix is empty or not UTF-8"));
        let other_rows = Err("a row set differs from the rows whose words have its prefix");
        assert_eq!(of(b"g", 1_499), other_rows);
        assert_eq!(of(b"g", 1_501), other_rows);
        let other_row = verify(|writer| {
            let mut list = set(99);
            list.push(0, &[200]);
            writer.push_set(b"grape", &mut list).unwrap();
        });
        assert_eq!(other_row, other_rows);
        let beyond = Err("a list has a row beyond its entity's rows");
        assert_eq!(of(b"g", ROWS + 1), beyond);
    }

    #[test]
    fn verification_refuses_row_sets_that_are_not_contiguous() {
        let gap = |writer: &mut PrefixStatsWriter| writer.file.write_all(&[0; 4]).unwrap();
        let found = verify(|writer| {
            gap(writer);
            writer.push_set(b"g", &mut set(1_500)).unwrap();
        });
        assert_eq!(found, Err("the row sets are not contiguous"));
        assert_eq!(verify(gap), Err("the row set offsets do not follow the row sets"));
        let found = verify(|writer| {
            writer.push_set(b"g", &mut set(1_500)).unwrap();
            writer.set_offsets.write_all(&writer.file.position_bytes().to_le_bytes()).unwrap();
            writer.sets += 1;
        });
        assert_eq!(found, Err("a row set has no prefix"));
        let found = verify(|writer| {
            writer.sets = 1;
            writer.set_offsets.write_all(&writer.file.position_bytes().to_le_bytes()).unwrap();
            writer.push_set(b"g", &mut set(1_500)).unwrap();
        });
        assert_eq!(found, Err("the row sets are not in the order of their prefixes"));
    }

    #[test]
    fn verification_refuses_a_change_of_any_byte_after_the_summaries() {
        let directory = tempfile::tempdir().unwrap();
        let [words_path, prefixes_path] =
            ["words", "prefix_stats"].map(|file| directory.path().join(file));
        write_words(&words_path);
        let words = Dictionary::open(archive(&words_path, FileKind::Words)).unwrap();
        let mut writer =
            PrefixStatsWriter::create(&prefixes_path, header(FileKind::PrefixStats)).unwrap();
        for (prefix, count) in [("g", 1_500), ("gr", 1_500), ("東", 1_200)] {
            writer.push_summary(prefix.as_bytes(), &summary(count)).unwrap();
        }
        writer.push_set(b"grap", &mut set(1_500)).unwrap();
        writer.push_set(b"grape", &mut set(100)).unwrap();
        writer.finish().unwrap();
        let bytes = std::fs::read(&prefixes_path).unwrap();
        for at in HEADER_BYTES + 3 * SUMMARY_BYTES..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&prefixes_path, damaged).unwrap();
            if let Ok(damaged) = PrefixStats::open(archive(&prefixes_path, FileKind::PrefixStats)) {
                let verified = damaged.verify(&words, ROWS, &mut Bitset::new(ROWS));
                assert!(verified.is_err(), "byte {at} of {}", bytes.len());
            }
        }
    }
}
