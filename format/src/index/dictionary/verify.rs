//! Demanding of a dictionary what it promises.

use std::ops::Range;

use crate::index::check::{CheckError, ensure};
use crate::index::dictionary::{Dictionary, DictionaryCursor, EntryRows};
use crate::storage::header::HEADER_BYTES;

impl Dictionary {
    /// Demands texts that ascend, each with rows of these that ascend and with marks up to one, and
    /// shows `visit` each text with how many rows it has.
    pub(crate) fn verify(
        &self,
        rows: Range<u32>,
        mark_max: u8,
        mut visit: impl FnMut(&str, u32) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        // Before any look-up in them: their maps are read on trust.
        self.verify_shards()?;
        let (mut at, mut texts) = (HEADER_BYTES, 0);
        let mut last = Vec::new();
        let mut postings_at = self.postings_from;
        for block in 0..self.blocks {
            let bytes = self.block(block)?;
            let place = self.archive.u64_at(self.places_from + block * 8)?;
            ensure(place == at as u64, "its blocks do not lie one after another")?;
            ensure(!bytes.is_empty(), "a block is empty")?;
            at += bytes.len();
            let mut here = DictionaryCursor {
                dictionary: self,
                next_block: block,
                rest: &[],
                text: Vec::new(),
                rows: EntryRows::NONE,
            };
            let mut is_first = true;
            while is_first || !here.rest.is_empty() {
                here.advance()?;
                let Some((text, found)) = here.current() else { break };
                ensure(last.as_slice() < text, "its texts do not ascend")?;
                let name = std::str::from_utf8(text)
                    .map_err(|_| CheckError::Violation("a text is no text"))?;
                verify_rows(&found, &rows, mark_max, &mut postings_at)?;
                visit(name, found.count())?;
                if is_first && block > 0 {
                    let shared = last.iter().zip(text).take_while(|(a, b)| a == b).count();
                    let announced = self.shards.get(&self.archive, &text[..=shared])?;
                    ensure(announced == Some(block as u64), "its shards do not tell of a block")?;
                }
                last.clear();
                last.extend_from_slice(text);
                is_first = false;
                texts += 1;
            }
        }
        ensure(at == self.postings_from, "its postings do not follow its blocks")?;
        ensure(postings_at == self.places_from, "its places do not follow its postings")?;
        ensure(texts == self.texts, "it counts other texts than it has")
    }
}

impl Dictionary {
    fn verify_shards(&self) -> Result<(), CheckError> {
        let mut announced = 0;
        self.shards.verify(&self.archive, |_, block| {
            announced += 1;
            ensure(block == announced, "its shards tell of other blocks than it has")
        })?;
        ensure(
            announced == self.blocks.saturating_sub(1) as u64,
            "its shards do not tell of every block",
        )
    }
}

/// Demands rows of these. That few stand in the block and many as postings, reading them has seen to.
fn verify_rows(
    found: &EntryRows<'_>,
    rows: &Range<u32>,
    mark_max: u8,
    postings_at: &mut usize,
) -> Result<(), CheckError> {
    match found {
        EntryRows::Inline(few) => {
            let (mut are_of_these, mut are_marked) = (true, true);
            // Gaps are at least one, so that rows ascend by themselves.
            few.each(|row, mark| {
                are_of_these &= rows.contains(&row);
                are_marked &= mark <= mark_max;
            })?;
            ensure(are_of_these, "a text has a row that its entity has not")?;
            ensure(are_marked, "a row has a mark that its text cannot have")
        }
        EntryRows::Postings(list) => {
            let place = list.byte_range();
            ensure(place.start == *postings_at, "its postings do not lie one after another")?;
            *postings_at = place.end;
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
    use crate::index::dictionary::write::number;
    use crate::index::fst_shards::FstShardsWriter;
    use crate::index::postings::PostingsBuilder;
    use crate::schema::layout::schema_hash;
    use crate::storage::error::ReadError;
    use crate::storage::header::{FileWriter, Header, Kind};

    const ROWS: u32 = 2_000;

    /// What a dictionary is made of.
    #[derive(Clone)]
    struct Made {
        blocks: Vec<Vec<u8>>,
        postings: Vec<u8>,
        /// Added to the place of the first block.
        shift: u64,
        begins: Vec<(&'static str, u64)>,
        texts: u64,
        mark_max: u8,
    }

    /// A text in a block, with rows that have no mark.
    fn entry(shared: u8, suffix: &[u8], rows: &[u32]) -> Vec<u8> {
        let mut entry = vec![shared, suffix.len() as u8];
        entry.extend_from_slice(suffix);
        number(rows.len() as u64, &mut entry);
        let (mut numbers, mut next) = (Vec::new(), 0);
        for row in rows {
            number(u64::from(row - next) << 2, &mut numbers);
            next = row + 1;
        }
        if rows.len() > 1 {
            number(numbers.len() as u64, &mut entry);
        }
        entry.extend(numbers);
        entry
    }

    /// A text whose rows are postings of so many bytes at a place among the others.
    fn long_entry(text: u8, count: u64, place: u64, bytes: u64, is_long: bool) -> Vec<u8> {
        let mut entry = vec![0, 1, text];
        for field in [count, place << 1 | u64::from(is_long), bytes] {
            number(field, &mut entry);
        }
        entry
    }

    /// Postings of every row below one, in their long form.
    fn postings(rows: u32) -> Vec<u8> {
        let (mut builder, mut list) = (PostingsBuilder::default(), Vec::new());
        (0..rows).for_each(|row| builder.push(0, &[row as u16]));
        assert!(builder.finish(&mut list));
        list
    }

    /// Two blocks, a text of one row, of two and of many.
    fn sound() -> Made {
        let list = postings(1_500);
        let many = long_entry(b'c', 1_500, 0, list.len() as u64, true);
        Made {
            blocks: vec![
                [entry(0, b"a", &[3]), entry(1, b"b", &[0, 1_999])].concat(),
                [entry(0, b"b", &[7]), many].concat(),
            ],
            postings: list,
            shift: 0,
            begins: vec![("b", 1)],
            texts: 4,
            mark_max: 3,
        }
    }

    /// What verification says of it.
    fn verify(made: &Made) -> Result<(), &'static str> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("words");
        let (kind, rows) = (Kind::Words, u64::from(ROWS));
        let header = Header {
            kind,
            entity: Some(Entity::Field),
            published: rows,
            rows,
            schema_hash: schema_hash(),
        };
        let mut file = FileWriter::create(&path).unwrap();
        file.write_all(&header.encode()).unwrap();
        let mut places = Vec::new();
        for block in &made.blocks {
            places.push(file.position_bytes());
            file.write_all(block).unwrap();
        }
        places.push(file.position_bytes());
        places[0] += made.shift;
        file.write_all(&made.postings).unwrap();
        let places_from = file.position_bytes();
        places.iter().for_each(|place| file.write_all(&place.to_le_bytes()).unwrap());
        let mut shards = FstShardsWriter::new(directory.path()).unwrap();
        for (text, block) in &made.begins {
            shards.push(text.as_bytes(), *block).unwrap();
        }
        let shards = shards.finish(&mut file).unwrap();
        let blocks = made.blocks.len() as u64;
        for field in [made.texts, blocks, places_from, shards.table_from, shards.shards] {
            file.write_all(&field.to_le_bytes()).unwrap();
        }
        file.finish().unwrap();
        let dictionary = Dictionary::open(archive(&path, kind)).unwrap();
        match dictionary.verify(0..ROWS, made.mark_max, |_, _| Ok(())) {
            Ok(()) => Ok(()),
            Err(CheckError::Violation(broken)) => Err(broken),
            Err(CheckError::Read(ReadError::Corrupt { .. })) => Err("makes no sense"),
            Err(CheckError::Read(error)) => panic!("{error}"),
        }
    }

    fn check(change: impl FnOnce(&mut Made), expected: &'static str) {
        let mut made = sound();
        change(&mut made);
        assert_eq!(verify(&made), Err(expected));
    }

    #[test]
    fn what_is_sound_is_accepted() {
        assert_eq!(verify(&sound()), Ok(()));
        let nothing = Made {
            blocks: Vec::new(),
            postings: Vec::new(),
            begins: Vec::new(),
            texts: 0,
            ..sound()
        };
        assert_eq!(verify(&nothing), Ok(()));
        let junk = Made { postings: vec![0; 4], ..nothing.clone() };
        assert_eq!(verify(&junk), Err("its places do not follow its postings"));
        let shifted = Made { shift: 4, ..junk };
        assert_eq!(verify(&shifted), Err("its postings do not follow its blocks"));
    }

    #[test]
    fn blocks_are_held_to_what_they_promise() {
        check(|made| made.shift = 1, "its blocks do not lie one after another");
        check(|made| made.blocks[1].clear(), "a block is empty");
        let ascend = "its texts do not ascend";
        check(|made| made.blocks[0].extend(entry(2, b"", &[0])), ascend);
        check(|made| made.blocks[0].extend(entry(1, b"a", &[0])), ascend);
        check(|made| made.blocks[0].extend(entry(0, b"b", &[0])), ascend);
        check(|made| made.blocks[0].extend(entry(0, b"a\xff", &[0])), "a text is no text");
        check(|made| made.texts = 5, "it counts other texts than it has");
        check(|made| made.postings.push(0), "its places do not follow its postings");
    }

    #[test]
    fn the_shards_are_held_to_the_blocks() {
        let other = "its shards tell of other blocks than it has";
        check(|made| made.begins = vec![("b", 0)], other);
        check(|made| made.begins = vec![("b", 1), ("c", 1)], other);
        let not_every = "its shards do not tell of every block";
        check(|made| made.begins.clear(), not_every);
        check(|made| made.begins = vec![("b", 1), ("c", 2)], not_every);
        for begin in ["ac", "ba"] {
            let missing = "its shards do not tell of a block";
            check(|made| made.begins = vec![(begin, 1)], missing);
        }
    }

    #[test]
    fn rows_are_held_to_what_they_promise() {
        let beyond = "a text has a row that its entity has not";
        check(|made| made.blocks[0].extend(entry(0, b"ac", &[ROWS])), beyond);
        check(|made| made.blocks[0].extend(entry(0, b"ac", &[0, ROWS])), beyond);
        // The first row of the first text, and the last of the second.
        for at in [4, 11] {
            let mut made = sound();
            made.blocks[0][at] |= 1;
            assert_eq!(verify(&made), Ok(()), "byte {at}");
            made.mark_max = 0;
            assert_eq!(verify(&made), Err("a row has a mark that its text cannot have"));
        }
    }

    #[test]
    fn postings_are_held_to_what_they_promise() {
        let list = postings(1_500);
        let length = list.len() as u64;
        let again = |made: &mut Made| {
            made.blocks[1].extend(long_entry(b'd', 1_500, 0, length, true));
            made.texts += 1;
        };
        check(again, "its postings do not lie one after another");
        let apart = |made: &mut Made| {
            made.postings.extend([&[0; 4], &list[..]].concat());
            made.blocks[1].extend(long_entry(b'd', 1_500, length + 4, length, true));
            made.texts += 1;
        };
        check(apart, "its postings do not lie one after another");
        let beyond = |made: &mut Made| {
            let list = postings(ROWS + 1);
            made.postings.extend(&list);
            let count = u64::from(ROWS) + 1;
            let entry = long_entry(b'd', count, length, list.len() as u64, true);
            made.blocks[1].extend(entry);
            made.texts += 1;
        };
        check(beyond, "a list has a row that its entity has not");
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let check = |entry: Vec<u8>| {
            check(|made| made.blocks[0].extend(entry), "makes no sense");
        };
        // More shared than there is; more than follows; no byte; no row.
        check(entry(3, b"c", &[0]));
        check(vec![0, 9, b'b']);
        check(entry(0, b"", &[0]));
        check(entry(0, b"ac", &[]));
        // Fewer bytes than the rows take, or more.
        check(vec![0, 2, b'a', b'c', 2, 1, 0, 0]);
        check(vec![0, 2, b'a', b'c', 2, 3, 0, 0, 0]);
        // A number without an end, and one too long; a row that is none.
        check(vec![0x80]);
        check(vec![0, 2, b'a', b'c', 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]);
        check(vec![0, 2, b'a', b'c', 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        // Another number of rows than the list has; a list beyond the postings.
        let length = postings(1_500).len() as u64;
        check(long_entry(b'b', 1_501, 0, length, true));
        check(long_entry(b'b', 1_500, 8, length, true));
        check(long_entry(b'b', 1_500, u64::MAX >> 2, length, true));
    }
}
