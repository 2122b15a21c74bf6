//! The list of the objects that a published snapshot is linked from.

use std::collections::BTreeSet;

use pinakes_format::storage::integrity::levels_bytes;
use pinakes_format::storage::publication::is_hash;
use serde::{Deserialize, Serialize};

use crate::object::directory::OBJECT_VERSION;
use crate::terminal::escape::shown_text;

/// Hex digits of an object's name.
const NAME_DIGITS: usize = 32;

/// Objects, and the levels of their hash trees.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectList {
    /// The version of the objects' bytes.
    pub object_version: u64,
    /// BLAKE3 of the file of all levels, in the order of the objects.
    pub hashes_blake3: String,
    /// The objects, ascending by name.
    pub objects: Vec<ListedObject>,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedObject {
    /// The name it has in a directory of objects, 32 hex digits.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its BLAKE3 hash, 64 hex digits.
    pub blake3: String,
}

impl ObjectList {
    /// The list's text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).expect("a list has texts and numbers alone");
        text.push(b'\n');
        text
    }

    /// Reads a list; the caller bounds the text.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and what was expected.
    pub fn read(text: &[u8]) -> Result<ObjectList, String> {
        #[derive(Deserialize)]
        struct Version {
            object_version: u64,
        }
        let Version { object_version } = serde_json::from_slice(text).map_err(no_list)?;
        if object_version != OBJECT_VERSION {
            return Err(format!(
                "objects of version {object_version}, this program links {OBJECT_VERSION}; pull the \
                 snapshot itself, without `--objects`"
            ));
        }
        let list: ObjectList = serde_json::from_slice(text).map_err(no_list)?;
        list.check()?;
        Ok(list)
    }

    fn check(&self) -> Result<(), String> {
        if !is_hash(&self.hashes_blake3) {
            return Err("`hashes_blake3` is no hash; expected 64 lower-case hex digits".into());
        }
        let mut seen = BTreeSet::new();
        for object in &self.objects {
            let ListedObject { name, size_bytes, blake3 } = object;
            let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            if name.len() != NAME_DIGITS || !name.bytes().all(is_hex) {
                let name = shown_text(name);
                return Err(format!("`{name}` is no object's name; expected 32 hex digits"));
            }
            if !is_hash(blake3) {
                return Err(format!("`{name}` has no hash; expected 64 lower-case hex digits"));
            }
            if !seen.insert(name) {
                return Err(format!("`{name}` is listed twice"));
            }
            if *size_bytes == 0 {
                return Err(format!("`{name}` is empty, which no object is"));
            }
        }
        if self.objects.is_empty() {
            return Err("lists no object".into());
        }
        self.hashes_bytes().map(|_| ()).ok_or_else(|| "lists more bytes than there can be".into())
    }

    /// Bytes of the file of all levels; `None` where they or the objects are more than there can be.
    pub fn hashes_bytes(&self) -> Option<u64> {
        let sizes = || self.objects.iter().map(|object| object.size_bytes);
        sizes().try_fold(0u64, |sum, size| sum.checked_add(size).filter(|sum| *sum < 1 << 60))?;
        Some(sizes().map(levels_bytes).sum())
    }
}

fn no_list(error: serde_json::Error) -> String {
    format!("no list of objects: {}", shown_text(&error.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list() -> ObjectList {
        let object = |name: &str| ListedObject {
            name: name.repeat(16),
            size_bytes: 100_000,
            blake3: "0f".repeat(32),
        };
        ObjectList {
            object_version: OBJECT_VERSION,
            hashes_blake3: "ab".repeat(32),
            objects: vec![object("1a"), object("1b")],
        }
    }

    #[test]
    fn a_list_comes_back_and_what_is_wrong_with_one_is_said() {
        assert_eq!(ObjectList::read(&list().text()).unwrap(), list());
        assert_eq!(list().hashes_bytes(), Some(2 * 2 * 32));
        let check = |change: &dyn Fn(&mut ObjectList), expected: &str| {
            let mut changed = list();
            change(&mut changed);
            assert_eq!(ObjectList::read(&changed.text()).unwrap_err(), expected);
        };
        let name = "1a".repeat(16);
        check(
            &|list| list.object_version += 1,
            &format!(
                "objects of version {}, this program links {OBJECT_VERSION}; pull the snapshot itself, \
                 without `--objects`",
                OBJECT_VERSION + 1
            ),
        );
        for path in ["../../etc/passwd", "/x", "a//b", ".", "a\0b", &"x".repeat(4_097)] {
            let shown = shown_text(path);
            check(
                &|list| list.objects[0].name = path.into(),
                &format!("`{shown}` is no object's name; expected 32 hex digits"),
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
            &format!("`{name}` is empty, which no object is"),
        );
        for size in [u64::MAX, 1 << 60] {
            check(&|list| list.objects[0].size_bytes = size, "lists more bytes than there can be");
        }
        check(&|list| list.objects.clear(), "lists no object");
    }
}
