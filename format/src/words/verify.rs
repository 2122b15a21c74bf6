//! Demanding of words what they promise.

use fst::Streamer;

use super::WordsFile;
use crate::{
    fold::WORD_BYTES_MAX,
    verify::{Fault, demand},
};

/// The word that came last, and how many came.
#[derive(Default)]
pub(crate) struct LastWord {
    word: Vec<u8>,
    words: u64,
}

impl LastWord {
    /// How many words came.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// Demands of the next word and its place what they promise.
    fn follow(&mut self, word: &[u8], place: u64) -> Result<(), Fault> {
        demand(!word.is_empty() && word.len() <= WORD_BYTES_MAX, "a word is empty or too long")?;
        demand(std::str::from_utf8(word).is_ok(), "a word is no text")?;
        // The first comes after the empty word that came before all.
        demand(self.word.as_slice() < word, "its words do not ascend")?;
        demand(self.words == place, "its words are not counted one by one")?;
        self.word.clear();
        self.word.extend_from_slice(word);
        self.words += 1;
        Ok(())
    }
}

impl WordsFile {
    /// Demands that a shard, which comes after those before it, is what it promises.
    pub(crate) fn verify(&self, shard: usize, last: &mut LastWord) -> Result<(), Fault> {
        let map = self.shard(shard)?;
        demand(map.as_fst().verify().is_ok(), "its checksum is another")?;
        demand(!map.is_empty(), "it has no word")?;
        let before = last.words;
        let mut words = map.stream();
        while let Some((word, place)) = words.next() {
            last.follow(word, place)?;
        }
        demand(last.words - before == map.len() as u64, "it counts other words than it has")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        entity::Entity,
        file::{Header, Kind},
    };

    /// What verification says of shards of these words and places, and how many words it counts.
    fn verify(shards: &[&[(&[u8], u64)]]) -> Result<u64, &'static str> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("words");
        let header =
            Header { kind: Kind::Words, entity: Some(Entity::Field), published: 1, rows: 1 };
        let (mut bytes, mut places) = (header.encode().to_vec(), Vec::new());
        for shard in shards {
            places.push(bytes.len() as u64);
            let shard = fst::Map::from_iter(shard.iter().copied()).unwrap();
            bytes.extend_from_slice(shard.as_fst().as_bytes());
        }
        places.extend([bytes.len() as u64, shards.len() as u64]);
        bytes.extend(places.iter().flat_map(|place| place.to_le_bytes()));
        std::fs::write(&path, bytes).unwrap();
        let file = WordsFile::open(crate::verify::archive(&path, Kind::Words)).unwrap();
        let mut last = LastWord::default();
        match (0..file.shards()).try_for_each(|shard| file.verify(shard, &mut last)) {
            Ok(()) => Ok(last.words()),
            Err(Fault::Broken(broken)) => Err(broken),
            Err(Fault::Content(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn words_are_held_to_what_they_promise() {
        assert_eq!(verify(&[]), Ok(0));
        assert_eq!(verify(&[&[(b"a", 0), (b"b", 1)], &["東".as_bytes()].map(|w| (w, 2))]), Ok(3));
        assert_eq!(verify(&[&[(b"a", 0)], &[]]), Err("it has no word"));
        let one_by_one = Err("its words are not counted one by one");
        assert_eq!(verify(&[&[(b"a", 1)]]), one_by_one);
        assert_eq!(verify(&[&[(b"a", 0), (b"b", 2)]]), one_by_one);
        assert_eq!(verify(&[&[(b"a", 0)], &[(b"b", 0)]]), one_by_one);
        let ascending = Err("its words do not ascend");
        assert_eq!(verify(&[&[(b"a", 0), (b"b", 1)], &[(b"b", 2)]]), ascending);
        assert_eq!(verify(&[&[(b"b", 0)], &[(b"a", 1)]]), ascending);
        let length = Err("a word is empty or too long");
        assert_eq!(verify(&[&[(&[b'a'; WORD_BYTES_MAX], 0)]]), Ok(1));
        assert_eq!(verify(&[&[(&[b'a'; WORD_BYTES_MAX + 1], 0)]]), length);
        assert_eq!(verify(&[&[(b"", 0)]]), length);
        assert_eq!(verify(&[&[(b"\xff", 0)]]), Err("a word is no text"));
    }
}
