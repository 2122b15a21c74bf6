//! Verifies dictionaries.

use std::ops::Range;

use crate::index::check::{CheckError, ensure};
use crate::index::dictionary::{ByteReader, Dictionary, EntryRows};

impl Dictionary {
    /// Checks the whole file and calls `visit` with each text and the number of its rows.
    ///
    /// All rows must lie in `rows` and ascend; no mark exceeds `mark_max`.
    pub(crate) fn verify(
        &self,
        rows: Range<u32>,
        mark_max: u8,
        mut visit: impl FnMut(&str, u32) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        let mut postings_at = self.postings().start;
        self.blocks.verify(&self.archive, |text, rest| {
            let mut reader = ByteReader(rest);
            let found = self.take_rows(&mut reader, false)?;
            *rest = reader.0;
            verify_rows(&found, &rows, mark_max, &mut postings_at)?;
            visit(text, found.count())
        })?;
        ensure(postings_at == self.postings().end, "the shards do not follow the postings")
    }
}

/// Checks the rows of a text. The cursor already checked that their form fits their number.
fn verify_rows(
    found: &EntryRows<'_>,
    rows: &Range<u32>,
    mark_max: u8,
    postings_at: &mut usize,
) -> Result<(), CheckError> {
    match found {
        EntryRows::Inline(inline) => {
            let (mut are_in_range, mut have_valid_marks) = (true, true);
            // Stored gaps are at least one, so the rows ascend.
            inline.each(|row, mark| {
                are_in_range &= rows.contains(&row);
                have_valid_marks &= mark <= mark_max;
            })?;
            ensure(are_in_range, "a text has a row beyond its entity's rows")?;
            ensure(have_valid_marks, "a row's mark exceeds the maximum")
        }
        EntryRows::Postings(list) => {
            let bytes = list.byte_range();
            ensure(bytes.start == *postings_at, "the postings are not contiguous")?;
            *postings_at = bytes.end;
            list.verify(rows, |_| ())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::index::fst_shards::FstShardsWriter;
    use crate::index::postings::PostingsBuilder;
    use crate::schema::layout::schema_hash;
    use crate::storage::error::ReadError;
    use crate::storage::file_writer::FileWriter;
    use crate::storage::header::{FileKind, Header};
    use crate::storage::leb128;

    const ROWS: u32 = 2_000;

    /// The parts of a dictionary file.
    #[derive(Clone)]
    struct Draft {
        blocks: Vec<Vec<u8>>,
        postings: Vec<u8>,
        /// Added to the place of the last block.
        shift: u64,
        separators: Vec<(&'static str, u64)>,
        texts: u64,
        mark_max: u8,
    }

    /// An entry of a block, with rows whose mark is 0.
    fn entry(shared: u8, suffix: &[u8], rows: &[u32]) -> Vec<u8> {
        let mut entry = vec![shared, suffix.len() as u8];
        entry.extend_from_slice(suffix);
        leb128::push(rows.len() as u64, &mut entry);
        let (mut numbers, mut next) = (Vec::new(), 0);
        for row in rows {
            leb128::push(u64::from(row - next) << 2, &mut numbers);
            next = row + 1;
        }
        if rows.len() > 1 {
            leb128::push(numbers.len() as u64, &mut entry);
        }
        entry.extend(numbers);
        entry
    }

    /// An entry of a block whose postings lie at `offset` and take `bytes` bytes.
    fn long_entry(text: u8, count: u64, offset: u64, bytes: u64, is_long: bool) -> Vec<u8> {
        let mut entry = vec![0, 1, text];
        for field in [count, offset << 1 | u64::from(is_long), bytes] {
            leb128::push(field, &mut entry);
        }
        entry
    }

    /// Postings of every row below `rows`, in the long form.
    fn postings(rows: u32) -> Vec<u8> {
        let (mut builder, mut list) = (PostingsBuilder::default(), Vec::new());
        (0..rows).for_each(|row| builder.push(0, &[row as u16]));
        assert!(builder.finish(&mut list));
        list
    }

    /// Two blocks whose texts have one row, two rows and 1,500 rows.
    fn sound_draft() -> Draft {
        let list = postings(1_500);
        let many = long_entry(b'c', 1_500, 0, list.len() as u64, true);
        Draft {
            blocks: vec![
                [entry(0, b"a", &[3]), entry(1, b"b", &[0, 1_999])].concat(),
                [entry(0, b"b", &[7]), many].concat(),
            ],
            postings: list,
            shift: 0,
            separators: vec![("b", 0)],
            texts: 4,
            mark_max: 3,
        }
    }

    /// Writes the file, opens it and verifies it.
    fn verify(draft: &Draft) -> Result<(), &'static str> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("words");
        let (kind, rows) = (FileKind::Words, u64::from(ROWS));
        let header = Header {
            kind,
            entity: Some(Entity::Field),
            published: rows,
            rows,
            schema_hash: schema_hash(),
        };
        let mut file = FileWriter::create(&path).unwrap();
        file.write_all(&header.encode()).unwrap();
        let (mut last, from) = (0, file.position_bytes());
        for block in &draft.blocks {
            last = file.position_bytes() - from;
            file.write_all(&[block.len() as u8]).unwrap();
            file.write_all(block).unwrap();
        }
        let postings_from = file.position_bytes();
        file.write_all(&draft.postings).unwrap();
        let mut shards = FstShardsWriter::new(directory.path()).unwrap();
        for (text, block) in &draft.separators {
            shards.push(text.as_bytes(), *block).unwrap();
        }
        let shards = shards.finish(&mut file).unwrap();
        let last = last + draft.shift;
        for field in [draft.texts, last, postings_from, shards.table_from, shards.shards] {
            file.write_all(&field.to_le_bytes()).unwrap();
        }
        file.finish().unwrap();
        let dictionary = Dictionary::open(archive(&path, kind)).unwrap();
        match dictionary.verify(0..ROWS, draft.mark_max, |_, _| Ok(())) {
            Ok(()) => Ok(()),
            Err(CheckError::Violation(broken)) => Err(broken),
            Err(CheckError::Read(ReadError::Corrupt { .. })) => Err("is unreadable"),
            Err(CheckError::Read(error)) => panic!("{error}"),
        }
    }

    fn check(change: impl FnOnce(&mut Draft), expected: &'static str) {
        let mut draft = sound_draft();
        change(&mut draft);
        assert_eq!(verify(&draft), Err(expected));
    }

    #[test]
    fn verification_accepts_a_sound_file() {
        assert_eq!(verify(&sound_draft()), Ok(()));
        let nothing = Draft {
            blocks: Vec::new(),
            postings: Vec::new(),
            separators: Vec::new(),
            texts: 0,
            ..sound_draft()
        };
        assert_eq!(verify(&nothing), Ok(()));
        let junk = Draft { postings: vec![0; 4], ..nothing };
        assert_eq!(verify(&junk), Err("the shards do not follow the postings"));
    }

    #[test]
    fn verification_refuses_broken_blocks() {
        check(|draft| draft.shift = 1, "another block is the last");
        check(|draft| draft.blocks[1].clear(), "is unreadable");
        let ascend = "the texts do not ascend";
        check(|draft| draft.blocks[0].extend(entry(2, b"", &[0])), ascend);
        check(|draft| draft.blocks[0].extend(entry(1, b"a", &[0])), ascend);
        check(|draft| draft.blocks[0].extend(entry(0, b"b", &[0])), ascend);
        check(|draft| draft.blocks[0].extend(entry(0, b"a\xff", &[0])), "a text is not UTF-8");
        check(|draft| draft.texts = 5, "the text count differs from the texts");
        check(|draft| draft.postings.push(0), "the shards do not follow the postings");
    }

    #[test]
    fn verification_refuses_shards_that_do_not_fit_the_blocks() {
        let other = "the shards list a block that does not exist";
        check(|draft| draft.separators = vec![("b", 0), ("c", 0)], other);
        let missing = "no shard entry leads to a block";
        check(|draft| draft.separators.clear(), missing);
        check(|draft| draft.separators = vec![("b", 1)], missing);
        check(|draft| draft.separators = vec![("b", 0), ("c", 9)], other);
        for begin in ["ac", "ba"] {
            check(|draft| draft.separators = vec![(begin, 0)], missing);
        }
    }

    #[test]
    fn verification_refuses_rows_out_of_range_and_invalid_marks() {
        let beyond = "a text has a row beyond its entity's rows";
        check(|draft| draft.blocks[0].extend(entry(0, b"ac", &[ROWS])), beyond);
        check(|draft| draft.blocks[0].extend(entry(0, b"ac", &[0, ROWS])), beyond);
        // The first row of the first text, and the last of the second.
        for at in [4, 11] {
            let mut draft = sound_draft();
            draft.blocks[0][at] |= 1;
            assert_eq!(verify(&draft), Ok(()), "byte {at}");
            draft.mark_max = 0;
            assert_eq!(verify(&draft), Err("a row's mark exceeds the maximum"));
        }
    }

    #[test]
    fn verification_refuses_postings_that_are_not_contiguous_or_out_of_range() {
        let list = postings(1_500);
        let length = list.len() as u64;
        let again = |draft: &mut Draft| {
            draft.blocks[1].extend(long_entry(b'd', 1_500, 0, length, true));
            draft.texts += 1;
        };
        check(again, "the postings are not contiguous");
        let apart = |draft: &mut Draft| {
            draft.postings.extend([&[0; 4], &list[..]].concat());
            draft.blocks[1].extend(long_entry(b'd', 1_500, length + 4, length, true));
            draft.texts += 1;
        };
        check(apart, "the postings are not contiguous");
        let beyond = |draft: &mut Draft| {
            let list = postings(ROWS + 1);
            draft.postings.extend(&list);
            let count = u64::from(ROWS) + 1;
            let entry = long_entry(b'd', count, length, list.len() as u64, true);
            draft.blocks[1].extend(entry);
            draft.texts += 1;
        };
        check(beyond, "a list has a row beyond its entity's rows");
    }

    #[test]
    fn verification_refuses_entries_that_do_not_decode() {
        let check = |entry: Vec<u8>| {
            check(|draft| draft.blocks[0].extend(entry), "is unreadable");
        };
        // A shared length beyond the previous text; a suffix beyond the block; no text; no row.
        check(entry(3, b"c", &[0]));
        check(vec![0, 9, b'b']);
        check(entry(0, b"", &[0]));
        check(entry(0, b"ac", &[]));
        // A size that is smaller or greater than the rows take.
        check(vec![0, 2, b'a', b'c', 2, 1, 0, 0]);
        check(vec![0, 2, b'a', b'c', 2, 3, 0, 0, 0]);
        // A number cut short, a number of 10 bytes, and a row beyond 32 bits.
        check(vec![0x80]);
        check(vec![0, 2, b'a', b'c', 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]);
        check(vec![0, 2, b'a', b'c', 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        // A row count that differs from the list's; a list beyond the postings.
        let length = postings(1_500).len() as u64;
        check(long_entry(b'b', 1_501, 0, length, true));
        check(long_entry(b'b', 1_500, 8, length, true));
        check(long_entry(b'b', 1_500, u64::MAX >> 2, length, true));
    }
}
