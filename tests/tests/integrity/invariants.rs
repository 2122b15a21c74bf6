//! Index files with valid hashes that break an invariant: verification names file and invariant.

use std::{fs, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::index::dictionary::{DictionaryWriter, RowsBuilder};
use pinakes_format::index::prefix_stats::{PrefixStatsWriter, PrefixSummary, Tier};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::header::{FileKind, HEADER_BYTES, Header};
use pinakes_format::storage::manifest::MANIFEST;

use crate::integrity::Copy;
use crate::integrity::forged::forge;
use crate::integrity::{sample_files, tiny_files};

/// Replaces a file, keeps all hashes consistent, and returns the error of the verification.
fn verify_with(copy: &Copy<'_>, name: &str, bytes: &[u8]) -> String {
    forge(copy, name, bytes);
    let refused = copy.open().and_then(|snapshot| snapshot.verify());
    copy.restore(name);
    copy.restore(MANIFEST);
    refused.unwrap_err().to_string()
}

/// A file and the offset of one key's entry in the directory at the file's end.
struct KeyEntry<'b> {
    bytes: &'b mut [u8],
    directory: usize,
}

impl KeyEntry<'_> {
    fn number(&self, at: usize) -> usize {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap()) as usize
    }

    fn field(&self, number: usize) -> usize {
        self.number(self.directory + number * 8)
    }

    /// First ranks of the values of an order.
    fn starts(&mut self) -> &mut [u8] {
        let from = self.field(3);
        &mut self.bytes[from..]
    }

    /// Rows of an order by rank.
    fn rows(&mut self) -> &mut [u8] {
        let from = self.field(4);
        &mut self.bytes[from..]
    }

    /// Codes of an order, one byte each.
    fn codes(&mut self) -> &mut [u8] {
        let from = self.field(5);
        &mut self.bytes[from..]
    }

    /// Last row of the presence list.
    fn last_present(&mut self) -> &mut [u8] {
        let terms = self.field(0);
        &mut self.bytes[terms - 4..terms]
    }

    /// Terms, four bytes each.
    fn terms(&mut self) -> &mut [u8] {
        let (from, count) = (self.field(0), self.field(1));
        &mut self.bytes[from..from + count * 4]
    }

    /// Offsets of the postings.
    fn offsets(&mut self) -> &mut [u8] {
        let from = self.field(0) + self.field(1) * 4;
        &mut self.bytes[from..]
    }
}

#[test]
fn verification_names_a_broken_invariant_despite_valid_hashes() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    let check = |kind, path: &str, change: fn(KeyEntry<'_>), expected: &str| {
        let name = archive_path(kind, Some(Entity::Output));
        let keys = keys_of(Entity::Output);
        let behind = if kind == FileKind::TermLists {
            let at = keys.lists.iter().position(|lists| lists.path == path);
            (keys.lists.len() - at.unwrap()) * 24
        } else {
            let at = keys.orders.iter().position(|order| order.path == path);
            (keys.orders.len() - at.unwrap()) * 88
        };
        let mut bytes = files[&name].clone();
        let directory = bytes.len() - behind;
        change(KeyEntry { bytes: &mut bytes, directory });
        let message = verify_with(&copy, &name, &bytes);
        assert!(message.contains(&format!("`{name}`: `{path}`: {expected}; ")), "{message}");
    };

    // Two works, both with a citation count; the second has neither title nor year.
    let order = |path, change, expected| check(FileKind::Orders, path, change, expected);
    order("title", |mut o| o.rows().copy_within(..4, 4), "a row has two ranks, another none");
    order("year", |mut o| o.rows()[..8].rotate_left(4), "the codes do not ascend by one");
    order("year", |mut o| o.codes()[1] = 0, "rows without a value do not come last");
    order("cited_by_count", |mut o| o.codes()[1] = 0, "a value has no row");
    let elsewhere = "the first rank of a value is not where it begins";
    order("cited_by_count", |mut o| o.starts()[4] = 0, elsewhere);
    order("title", |o| o.bytes[o.directory + 16] += 1, "rows without a value do not come last");

    // The first work has two authors and a funder; the second shares one author.
    let lists = |path, change, expected| check(FileKind::TermLists, path, change, expected);
    let beyond = "a list has a row beyond its entity's rows";
    lists("authors.id", |mut l| l.last_present()[0] = 2, beyond);
    lists("funders.id", |mut l| l.last_present()[3] = 0xff, beyond);
    lists("authors.id", |mut l| l.terms()[..8].rotate_left(4), "the terms do not ascend");
    lists("authors.id", |mut l| l.terms()[4..8].fill(0xff), "a term is no row");
    lists("authors.id", |mut l| l.offsets().copy_within(..5, 5), "a term has no row");
    lists("authors.id", |mut l| l.offsets()[0] += 4, "the postings are not contiguous");
    let absent = "a row has a term and is not marked present";
    lists("funders.id", |mut l| l.last_present()[0] = 1, absent);
    copy.open().unwrap().verify().unwrap();
}

#[test]
fn verification_names_broken_word_indexes_despite_valid_hashes() {
    let files = tiny_files();
    let copy = Copy::new(&files);
    let published = copy.open().unwrap().count(Entity::Output).into();
    let directory = tempfile::tempdir().unwrap();
    let check = |kind, write: &dyn Fn(&Path, Header), expected: &str| {
        let name = archive_path(kind, Some(Entity::Output));
        let place = directory.path().join(kind.file_name());
        write(
            &place,
            Header {
                kind,
                entity: Some(Entity::Output),
                published,
                rows: published,
                schema_hash: schema_hash(),
            },
        );
        let message = verify_with(&copy, &name, &fs::read(&place).unwrap());
        for made in fs::read_dir(directory.path()).unwrap() {
            fs::remove_file(made.unwrap().path()).unwrap();
        }
        assert!(message.contains(&format!("`{name}`")) && message.contains(expected), "{message}");
    };
    let words = |words: &'static [(&str, u32)]| {
        move |place: &Path, header: Header| {
            let mut writer = DictionaryWriter::create(place, header).unwrap();
            for (word, row) in words {
                let mut rows = RowsBuilder::default();
                rows.push(*row, 0);
                writer.push(word.as_bytes(), &mut rows).unwrap();
            }
            writer.finish().unwrap();
        }
    };
    check(FileKind::Words, &words(&[("on", 2)]), "a text has a row beyond its entity's rows");
    let long: &'static str = "a".repeat(257).leak();
    let long: &'static [(&str, u32)] = vec![(long, 0)].leak();
    check(FileKind::Words, &words(long), "a word is too long");
    let answered = |place: &Path, header: Header| {
        let mut writer = PrefixStatsWriter::create(place, header).unwrap();
        let answer = PrefixSummary { count: 1, best: vec![(Tier::Begins, 0)] };
        writer.push_summary(b"on", &answer).unwrap();
        writer.finish().unwrap();
    };
    check(FileKind::PrefixStats, &answered, "a rare prefix has a summary");
    copy.open().unwrap().verify().unwrap();
}

#[test]
fn verification_finds_a_changed_byte_anywhere_in_crossings() {
    // A frequent term has at least 64 rows, which the tiny dump has not.
    let files = sample_files();
    let copy = Copy::new(&files);
    let name = archive_path(FileKind::Crossings, Some(Entity::Output));
    let bytes = &files[&name];
    assert!(bytes.len() > 2_000, "{} bytes", bytes.len());
    for at in (HEADER_BYTES..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let message = verify_with(&copy, &name, &changed);
        assert!(message.contains(&format!("`{name}`")), "byte {at}: {message}");
    }
}
