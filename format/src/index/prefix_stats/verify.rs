//! Demanding of prefixes what they promise.

use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure};
use crate::index::dictionary::{BLOCK_ROWS_MAX, Dictionary};
use crate::index::prefix_stats::{BEST_MAX, PrefixStats, SUMMARY_BYTES};
use crate::storage::header::HEADER_BYTES;

impl PrefixStats {
    /// Demands that answers and sets are what the words of so many rows say. `seen` is of all rows.
    pub(crate) fn verify(
        &self,
        words: &Dictionary,
        rows: u32,
        seen: &mut Bitset,
    ) -> Result<(), CheckError> {
        seen.clear();
        let mut answers = 0;
        self.summary_shards.verify(&self.archive, |prefix, number| {
            ensure(number == answers, "the summaries are not in the order of their prefixes")?;
            answers += 1;
            demand_text(prefix)?;
            let answer = self.summary_at(number as usize)?;
            let is_as_read = self.summary_bytes(number as usize)? == answer.encode();
            ensure(is_as_read, "a summary is not in its canonical form")?;
            let (postings, count) = add_rows(words, prefix, seen)?;
            ensure(postings > BLOCK_ROWS_MAX as u64, "a rare prefix has a summary")?;
            ensure(answer.count == count, "a summary's count differs from the matching records")?;
            let best = &answer.best;
            ensure(
                best.len() == BEST_MAX.min(count as usize),
                "a summary does not have the best ten",
            )?;
            let mut known = Vec::new();
            for (_, row) in best {
                let is_new = !known.contains(row);
                let matches = is_new && *row < rows && !seen.insert(*row);
                ensure(matches, "a summary has a row that does not match, or a row twice")?;
                known.push(*row);
            }
            take_rows(words, prefix, seen)
        })?;
        ensure(answers == self.summaries as u64, "a summary has no prefix")?;
        let mut at = HEADER_BYTES + self.summaries * SUMMARY_BYTES;
        let mut sets = 0;
        self.set_shards.verify(&self.archive, |prefix, number| {
            ensure(number == sets, "the row sets are not in the order of their prefixes")?;
            sets += 1;
            demand_text(prefix)?;
            let set = self.set_at(number as usize)?;
            ensure(set.byte_range().start == at, "the row sets are not contiguous")?;
            at = set.byte_range().end;
            let (_, count) = add_rows(words, prefix, seen)?;
            let mut are_all = set.count() == count;
            set.verify(&(0..rows), |row| are_all &= !seen.insert(row))?;
            ensure(are_all, "a row set differs from the rows whose words have its prefix")?;
            take_rows(words, prefix, seen)
        })?;
        ensure(sets == self.sets as u64, "a row set has no prefix")?;
        let end = self.archive.u64_at(self.places_from + self.sets * 8)?;
        let follow = at == self.places_from && end == at as u64;
        ensure(follow, "the row set offsets do not follow the row sets")
    }
}

/// Demands that a prefix is whole characters, one at least.
fn demand_text(prefix: &[u8]) -> Result<(), CheckError> {
    ensure(
        !prefix.is_empty() && std::str::from_utf8(prefix).is_ok(),
        "a prefix is empty or not UTF-8",
    )
}

/// Adds the rows of the words that begin so: how many postings they have, and how many rows were
/// added.
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

/// Takes the same rows out again, which costs what they are and not what all rows are.
fn take_rows(words: &Dictionary, prefix: &[u8], seen: &mut Bitset) -> Result<(), CheckError> {
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
    use crate::storage::header::{Header, Kind};

    const ROWS: u32 = 3_000;

    fn header(kind: Kind) -> Header {
        Header {
            kind,
            entity: Some(Entity::Field),
            published: ROWS.into(),
            rows: ROWS.into(),
            schema_hash: schema_hash(),
        }
    }

    /// One word of 1,500 rows, one of some of them, and two of a character of three bytes, of which
    /// another begins with the same two.
    fn write_words(path: &Path) {
        let mut writer = DictionaryWriter::create(path, header(Kind::Words)).unwrap();
        let words = [("grape", 0..100), ("graph", 0..1_500), ("杰", 0..1), ("東", 0..1_200)];
        let mut rows = RowsBuilder::default();
        for (word, of_word) in words {
            of_word.for_each(|row| rows.push(row, 3));
            writer.push(word.as_bytes(), &mut rows).unwrap();
        }
        writer.finish().unwrap();
    }

    fn answer(count: u32) -> PrefixSummary {
        PrefixSummary { count, best: (0..10).map(|row| (Tier::Words, row)).collect() }
    }

    fn set(rows: u32) -> PostingsBuilder {
        let mut list = PostingsBuilder::default();
        (0..rows).for_each(|row| list.push(0, &[row as u16]));
        list
    }

    /// What verification says of what is written.
    fn verify(write: impl FnOnce(&mut PrefixStatsWriter)) -> Result<(), &'static str> {
        let directory = tempfile::tempdir().unwrap();
        let [of_words, of_prefixes] = ["words", "prefixes"].map(|file| directory.path().join(file));
        write_words(&of_words);
        let words = Dictionary::open(archive(&of_words, Kind::Words)).unwrap();
        let mut writer = PrefixStatsWriter::create(&of_prefixes, header(Kind::Prefixes)).unwrap();
        write(&mut writer);
        writer.finish().unwrap();
        let prefixes = PrefixStats::open(archive(&of_prefixes, Kind::Prefixes)).unwrap();
        match prefixes.verify(&words, ROWS, &mut Bitset::new(ROWS)) {
            Ok(()) => Ok(()),
            Err(CheckError::Violation(broken)) => Err(broken),
            Err(CheckError::Read(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn answers_are_held_to_the_words() {
        let of = |prefix: &'static [u8], answer: PrefixSummary| {
            verify(move |writer| writer.push_summary(prefix, &answer).unwrap())
        };
        assert_eq!(verify(|_| ()), Ok(()));
        assert_eq!(of(b"gra", answer(1_500)), Ok(()));
        assert_eq!(of("東".as_bytes(), answer(1_200)), Ok(()));
        assert_eq!(of(&"東".as_bytes()[..2], answer(1_200)), Err("a prefix is empty or not UTF-8"));
        assert_eq!(of(b"", answer(1_500)), Err("a prefix is empty or not UTF-8"));
        let few = "a rare prefix has a summary";
        assert_eq!(of(b"grape", answer(100)), Err(few));
        // Postings, of which some are of one row.
        let other_count = Err("a summary's count differs from the matching records");
        assert_eq!(of(b"gra", answer(1_600)), other_count);
        let cut = PrefixSummary { best: answer(0).best[..9].to_vec(), count: 1_500 };
        assert_eq!(of(b"gra", cut), Err("a summary does not have the best ten"));
        let other_row = Err("a summary has a row that does not match, or a row twice");
        for row in [0, 1_500, ROWS, u32::MAX] {
            let mut other = answer(1_500);
            other.best[9].1 = row;
            assert_eq!(of(b"gra", other), other_row, "{row}");
        }
    }

    #[test]
    fn the_bytes_of_answers_are_held_to_their_form() {
        let written = |number: u64, bytes: &[u8]| {
            verify(|writer| {
                writer.summary_shards.push(b"gra", number).unwrap();
                writer.summaries = (bytes.len() / SUMMARY_BYTES) as u64;
                writer.file.write_all(bytes).unwrap();
            })
        };
        let bytes = answer(1_500).encode();
        assert_eq!(written(0, &bytes), Ok(()));
        assert_eq!(written(0, &bytes.repeat(2)), Err("a summary has no prefix"));
        let order = Err("the summaries are not in the order of their prefixes");
        assert_eq!(written(1, &bytes.repeat(2)), order);
        // Ends of tiers that fall; more rows than there are; a row beyond the last.
        for (at, byte) in [(4, 5), (7, 11), (7, 9)] {
            let mut other = bytes;
            other[at] = byte;
            let found = written(0, &other);
            assert_eq!(found, Err("a summary is not in its canonical form"), "byte {at}");
        }
    }

    #[test]
    fn sets_are_held_to_the_words() {
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
    fn sets_are_held_to_their_places() {
        let gap = |writer: &mut PrefixStatsWriter| writer.file.write_all(&[0; 4]).unwrap();
        let found = verify(|writer| {
            gap(writer);
            writer.push_set(b"g", &mut set(1_500)).unwrap();
        });
        assert_eq!(found, Err("the row sets are not contiguous"));
        assert_eq!(verify(gap), Err("the row set offsets do not follow the row sets"));
        let found = verify(|writer| {
            writer.push_set(b"g", &mut set(1_500)).unwrap();
            writer.places.write_all(&writer.file.position_bytes().to_le_bytes()).unwrap();
            writer.sets += 1;
        });
        assert_eq!(found, Err("a row set has no prefix"));
        let found = verify(|writer| {
            writer.sets = 1;
            writer.places.write_all(&writer.file.position_bytes().to_le_bytes()).unwrap();
            writer.push_set(b"g", &mut set(1_500)).unwrap();
        });
        assert_eq!(found, Err("the row sets are not in the order of their prefixes"));
    }

    #[test]
    fn a_change_of_any_byte_behind_the_answers_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [of_words, of_prefixes] = ["words", "prefixes"].map(|file| directory.path().join(file));
        write_words(&of_words);
        let words = Dictionary::open(archive(&of_words, Kind::Words)).unwrap();
        let mut writer = PrefixStatsWriter::create(&of_prefixes, header(Kind::Prefixes)).unwrap();
        for (prefix, count) in [("g", 1_500), ("gr", 1_500), ("東", 1_200)] {
            writer.push_summary(prefix.as_bytes(), &answer(count)).unwrap();
        }
        writer.push_set(b"grap", &mut set(1_500)).unwrap();
        writer.push_set(b"grape", &mut set(100)).unwrap();
        writer.finish().unwrap();
        let bytes = std::fs::read(&of_prefixes).unwrap();
        for at in HEADER_BYTES + 3 * SUMMARY_BYTES..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&of_prefixes, damaged).unwrap();
            if let Ok(damaged) = PrefixStats::open(archive(&of_prefixes, Kind::Prefixes)) {
                let verified = damaged.verify(&words, ROWS, &mut Bitset::new(ROWS));
                assert!(verified.is_err(), "byte {at} of {}", bytes.len());
            }
        }
    }
}
