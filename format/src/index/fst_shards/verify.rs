//! Verifies shards.

use fst::Streamer;

use crate::index::check::{CheckError, ensure};
use crate::index::fst_shards::FstShards;
use crate::storage::Archive;

impl FstShards {
    /// Checks every FST and the order of all texts, and calls `visit` with each text and its number.
    pub(crate) fn verify(
        &self,
        archive: &Archive,
        mut visit: impl FnMut(&[u8], u64) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        let mut last: Option<Vec<u8>> = None;
        for (shard, first) in self.firsts.iter().enumerate() {
            let map = self.shard(archive, shard)?;
            ensure(map.as_fst().verify().is_ok(), "the checksum of a shard does not match")?;
            let mut texts = map.stream();
            let mut is_first = true;
            while let Some((text, number)) = texts.next() {
                let is_in_table = !std::mem::take(&mut is_first) || text == first.as_slice();
                ensure(is_in_table, "a shard does not begin with the text in its table")?;
                let ascends = last.as_ref().is_none_or(|last| last.as_slice() < text);
                ensure(ascends, "the texts of shards do not ascend")?;
                visit(text, number)?;
                last = Some(text.to_vec());
            }
            ensure(!is_first, "a shard is empty")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::index::check;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, HEADER_BYTES, Header};

    /// Verifies shards with these texts, a table with these first texts, and a change of the bytes.
    fn verify_changed(
        shards: &[&[&str]],
        firsts: &[&str],
        change: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u64, &'static str> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shards");
        let header = Header {
            kind: FileKind::Words,
            entity: Some(Entity::Field),
            published: 1,
            rows: 1,
            schema_hash: schema_hash(),
        };
        let (mut bytes, mut begins, mut numbers) = (header.encode().to_vec(), Vec::new(), 0..);
        for texts in shards {
            begins.push(bytes.len());
            let map = fst::Map::from_iter(texts.iter().copied().zip(&mut numbers)).unwrap();
            bytes.extend_from_slice(map.as_fst().as_bytes());
        }
        begins.push(bytes.len());
        change(&mut bytes);
        let mut table = Vec::new();
        for (begin, first) in begins.into_iter().zip(firsts.iter().chain([&""])) {
            table.extend([begin as u64, bytes.len() as u64].map(u64::to_le_bytes));
            bytes.extend_from_slice(first.as_bytes());
        }
        let table_from = bytes.len();
        bytes.extend(table.as_flattened());
        std::fs::write(&path, bytes).unwrap();
        let archive = check::archive(&path, FileKind::Words);
        let found = FstShards::open(&archive, table_from, shards.len()).unwrap();
        let mut texts = 0;
        let outcome = found.verify(&archive, |_, number| {
            texts += 1;
            ensure(number + 1 == texts, "a number does not match")
        });
        match outcome {
            Ok(()) => Ok(texts),
            Err(CheckError::Violation(broken)) => Err(broken),
            Err(CheckError::Read(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn verification_refuses_broken_shards() {
        let verify = |shards: &[&[&str]], firsts: &[&str]| verify_changed(shards, firsts, |_| ());
        assert_eq!(verify(&[], &[]), Ok(0));
        assert_eq!(verify(&[&["a", "b"], &["c"]], &["a", "c"]), Ok(3));
        let other_first = Err("a shard does not begin with the text in its table");
        assert_eq!(verify(&[&["a", "b"], &["c"]], &["a", "bb"]), other_first);
        assert_eq!(verify(&[&["a", "b"], &["c"]], &["b", "c"]), other_first);
        let ascend = Err("the texts of shards do not ascend");
        assert_eq!(verify(&[&["a", "b"], &["b"]], &["a", "b"]), ascend);
        assert_eq!(verify(&[&["b"], &["a"]], &["b", "a"]), ascend);
        assert_eq!(verify(&[&["a"], &[]], &["a", "b"]), Err("a shard is empty"));
        for at in [16, 20] {
            let change = |bytes: &mut Vec<u8>| bytes[HEADER_BYTES + at] ^= 1;
            let found = verify_changed(&[&["graph", "graphs"]], &["graph"], change);
            assert_eq!(found, Err("the checksum of a shard does not match"), "byte {at}");
        }
    }
}
