//! The list of the objects that a published snapshot is linked from, as a JSON file of the tree.

use std::collections::BTreeSet;

use pinakes_format::storage::integrity::levels_bytes;
use pinakes_format::storage::publication::is_hash;
use serde::{Deserialize, Serialize};

use crate::object::directory::OBJECT_VERSION;
use crate::terminal::escape::escape_text;

/// Number of hex digits in an object's name.
const NAME_DIGITS: usize = 32;

/// The objects, and the hash of the file with their hash-tree levels.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectList {
    /// Version of the object format.
    pub object_version: u64,
    /// BLAKE3 hash of the file of all levels, which follow each other in the order of the objects.
    pub hashes_blake3: String,
    /// The objects, ascending by name.
    pub objects: Vec<ListedObject>,
}

/// An object of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedObject {
    /// Name in a directory of objects, 32 hex digits.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// BLAKE3 hash, 64 hex digits.
    pub blake3: String,
}

impl ObjectList {
    /// Formats the list as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).expect("strings and numbers serialize");
        text.push(b'\n');
        text
    }

    /// Parses and checks a list. The caller bounds the length of `text`.
    ///
    /// # Errors
    ///
    /// The fault, and the expected content.
    pub fn parse(text: &[u8]) -> Result<ObjectList, String> {
        #[derive(Deserialize)]
        struct Version {
            object_version: u64,
        }
        let Version { object_version } = serde_json::from_slice(text).map_err(parse_error)?;
        if object_version != OBJECT_VERSION {
            return Err(format!(
                "the objects have version {object_version}, this program links version {OBJECT_VERSION}; \
                 pull the snapshot itself, without `--objects`"
            ));
        }
        let list: ObjectList = serde_json::from_slice(text).map_err(parse_error)?;
        list.check()?;
        Ok(list)
    }

    fn check(&self) -> Result<(), String> {
        if !is_hash(&self.hashes_blake3) {
            return Err("`hashes_blake3` is not a hash; expected 64 lower-case hex digits".into());
        }
        let mut seen = BTreeSet::new();
        for object in &self.objects {
            let ListedObject { name, size_bytes, blake3 } = object;
            let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            if name.len() != NAME_DIGITS || !name.bytes().all(is_hex) {
                let name = escape_text(name);
                return Err(format!("`{name}` is not an object's name; expected 32 hex digits"));
            }
            if !is_hash(blake3) {
                return Err(format!("`{name}` has no hash; expected 64 lower-case hex digits"));
            }
            if !seen.insert(name) {
                return Err(format!("`{name}` is listed twice"));
            }
            if *size_bytes == 0 {
                return Err(format!("`{name}` has size 0; an object is never empty"));
            }
        }
        if self.objects.is_empty() {
            return Err("lists no object".into());
        }
        self.hashes_bytes().map(|_| ()).ok_or_else(|| "the listed sizes are too large".into())
    }

    /// Computes the size of the file of all levels; `None` if the sizes of the objects add up to 2^60 or more.
    pub fn hashes_bytes(&self) -> Option<u64> {
        let sizes = || self.objects.iter().map(|object| object.size_bytes);
        sizes().try_fold(0u64, |sum, size| sum.checked_add(size).filter(|sum| *sum < 1 << 60))?;
        Some(sizes().map(levels_bytes).sum())
    }
}

fn parse_error(error: serde_json::Error) -> String {
    format!("not a list of objects: {}", escape_text(&error.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list() -> ObjectList {
        let object = |name: &str| ListedObject {
            name: name.repeat(16),
            size_bytes: 10_000,
            blake3: "0f".repeat(32),
        };
        ObjectList {
            object_version: OBJECT_VERSION,
            hashes_blake3: "ab".repeat(32),
            objects: vec![object("1a"), object("1b")],
        }
    }

    #[test]
    fn a_list_round_trips_and_each_fault_is_named() {
        assert_eq!(ObjectList::parse(&list().to_json()).unwrap(), list());
        assert_eq!(list().hashes_bytes(), Some(2 * 3 * 32));
        let check = |change: &dyn Fn(&mut ObjectList), expected: &str| {
            let mut changed = list();
            change(&mut changed);
            assert_eq!(ObjectList::parse(&changed.to_json()).unwrap_err(), expected);
        };
        let name = "1a".repeat(16);
        check(
            &|list| list.object_version += 1,
            &format!(
                "the objects have version {}, this program links version {OBJECT_VERSION}; pull the \
                 snapshot itself, without `--objects`",
                OBJECT_VERSION + 1
            ),
        );
        for path in ["../../etc/passwd", "/x", "a//b", ".", "a\0b", &"x".repeat(4_097)] {
            let escaped = escape_text(path);
            check(
                &|list| list.objects[0].name = path.into(),
                &format!("`{escaped}` is not an object's name; expected 32 hex digits"),
            );
        }
        check(
            &|list| list.objects[1] = list.objects[0].clone(),
            &format!("`{name}` is listed twice"),
        );
        check(
            &|list| list.objects[0].blake3 = "zz".into(),
            &format!("`{name}` has no hash; expected 64 lower-case hex digits"),
        );
        check(
            &|list| list.objects[0].size_bytes = 0,
            &format!("`{name}` has size 0; an object is never empty"),
        );
        for size in [u64::MAX, 1 << 60] {
            check(&|list| list.objects[0].size_bytes = size, "the listed sizes are too large");
        }
        check(&|list| list.objects.clear(), "lists no object");
    }
}
