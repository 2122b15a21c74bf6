//! Lists, orders and words that have the right hashes and break a promise: verification names it.

use std::fs;

use pinakes_format::{
    entity::Entity,
    file::{Header, Kind},
    keys::keys_of,
    manifest::MANIFEST,
    snapshot::archive_path,
    words::WordsWriter,
};

use crate::{Copy, reseal, tiny_files};

/// Replaces a file by another of that hash; what verification says.
fn verify_with(copy: &Copy<'_>, name: &str, bytes: &[u8]) -> String {
    copy.write(name, bytes);
    reseal(copy, |manifest| {
        let entry = manifest.files.iter_mut().find(|entry| entry.path == name).unwrap();
        entry.blake3 = blake3::hash(bytes).to_hex().to_string();
        entry.size_bytes = bytes.len() as u64;
    });
    let refused = copy.open().and_then(|snapshot| snapshot.verify());
    copy.restore(name);
    copy.restore(MANIFEST);
    refused.unwrap_err().to_string()
}

/// A file, and where the fields of one of its lists or orders lie in the directory that ends it.
struct Part<'b> {
    bytes: &'b mut [u8],
    directory: usize,
}

impl Part<'_> {
    fn number(&self, at: usize) -> usize {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap()) as usize
    }

    fn field(&self, number: usize) -> usize {
        self.number(self.directory + number * 8)
    }

    /// Of an order, its rows by rank.
    fn rows(&mut self) -> &mut [u8] {
        let from = self.field(3);
        &mut self.bytes[from..]
    }

    /// Of an order, its codes of a byte each.
    fn codes(&mut self) -> &mut [u8] {
        let from = self.field(4);
        &mut self.bytes[from..]
    }

    /// Of lists, the row that ends their presence.
    fn last_present(&mut self) -> &mut [u8] {
        let terms = self.field(0);
        &mut self.bytes[terms - 4..terms]
    }

    /// Of lists, their terms of four bytes each.
    fn terms(&mut self) -> &mut [u8] {
        let (from, count) = (self.field(0), self.field(1));
        &mut self.bytes[from..from + count * 4]
    }

    /// Of the same lists, their places.
    fn places(&mut self) -> &mut [u8] {
        let from = self.field(0) + self.field(1) * 4;
        &mut self.bytes[from..]
    }
}

#[test]
fn a_promise_broken_is_named_though_all_hashes_agree() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    let check = |kind, path: &str, change: fn(Part<'_>), expected: &str| {
        let name = archive_path(kind, Some(Entity::Output));
        let keys = keys_of(Entity::Output);
        let behind = if kind == Kind::Lists {
            let at = keys.lists.iter().position(|lists| lists.path == path);
            (keys.lists.len() - at.unwrap()) * 24
        } else {
            let at = keys.orders.iter().position(|order| order.path == path);
            (keys.orders.len() - at.unwrap()) * 80
        };
        let mut bytes = files[&name].clone();
        let directory = bytes.len() - behind;
        change(Part { bytes: &mut bytes, directory });
        let message = verify_with(&copy, &name, &bytes);
        assert!(message.contains(&format!("`{name}`: `{path}`: {expected}; ")), "{message}");
    };

    // Two works. The second has no title and no year, and both a count.
    let order = |path, change, expected| check(Kind::Orders, path, change, expected);
    order("title", |mut o| o.rows().copy_within(..4, 4), "a row has two ranks, another none");
    order("year", |mut o| o.rows()[..8].rotate_left(4), "its codes do not ascend one by one");
    order("year", |mut o| o.codes()[1] = 0, "rows without a value do not come last");
    order("cited_by_count", |mut o| o.codes()[1] = 0, "it has values without rows");
    order("title", |o| o.bytes[o.directory + 16] += 1, "rows without a value do not come last");

    // The first has two authors, one of them the second's as well, and a funder.
    let lists = |path, change, expected| check(Kind::Lists, path, change, expected);
    let beyond = "a list has a row that its entity has not";
    lists("authors.id", |mut l| l.last_present()[0] = 2, beyond);
    lists("funders.id", |mut l| l.last_present()[3] = 0xff, beyond);
    lists("authors.id", |mut l| l.terms()[..8].rotate_left(4), "its terms do not ascend");
    lists("authors.id", |mut l| l.terms()[4..8].fill(0xff), "a term is no row");
    lists("authors.id", |mut l| l.places().copy_within(..8, 8), "a term has no row");
    lists("authors.id", |mut l| l.places()[0] += 4, "postings do not lie one after another");
    let absent = "a row has a term and is not among those that have any";
    lists("funders.id", |mut l| l.last_present()[0] = 1, absent);
    let of_words = "its terms are not the places of words";
    lists("words of names", |mut l| l.terms()[3] += 7, of_words);
    lists("words of names", |mut l| l.terms()[7] += 7, of_words);
    copy.open().unwrap().verify().unwrap();
}

#[test]
fn words_that_are_not_those_of_the_lists_are_named_though_all_hashes_agree() {
    let files = tiny_files();
    let copy = Copy::of(&files);
    let name = archive_path(Kind::Words, Some(Entity::Output));
    let published = copy.open().unwrap().count(Entity::Output).into();
    // The words of "On testing".
    let own = ["on", "testing"].map(str::as_bytes);
    let file_of = |words: &[&[u8]], count| {
        let header = Header {
            kind: Kind::Words,
            entity: Some(Entity::Output),
            published: count,
            rows: count,
        };
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("words");
        let mut writer = WordsWriter::create(&place, header).unwrap();
        for word in words {
            writer.push(word).unwrap();
        }
        writer.finish().unwrap();
        fs::read(&place).unwrap()
    };
    assert_eq!(file_of(&own, published), files[&name]);
    let check = |bytes: &[u8], expected: &str| {
        let message = verify_with(&copy, &name, bytes);
        assert!(message.contains(&format!("`{name}`: {expected}; ")), "{message}");
    };
    check(&file_of(&own, published + 1), "3 records, expected 2");
    check(&file_of(&own[..1], published), "1 words, expected 2");
    check(&file_of(&[], published), "0 words, expected 2");
    check(&file_of(&[b"on", b"testing", b"tests"], published), "3 words, expected 2");
    let length = "`shard 0`: a word is empty or too long";
    check(&file_of(&[b"on", &[b't'; 257]], published), length);
    check(&file_of(&[b"", b"testing"], published), length);
    check(&file_of(&[b"on", b"\xfftesting"], published), "`shard 0`: a word is no text");
    let end = files[&name].len() - 24;
    for at in 64..end {
        let mut bytes = files[&name].clone();
        bytes[at] ^= 1 << (at % 8);
        let message = verify_with(&copy, &name, &bytes);
        assert!(message.contains(&format!("`{name}`: `shard 0`: its ")), "byte {at}: {message}");
    }
    copy.open().unwrap().verify().unwrap();
}
