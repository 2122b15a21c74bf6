//! The keys of an object, where each key may occur once.

use std::{borrow::Cow, hash::BuildHasher};

use hashbrown::HashTable;

/// Keys for which the table of a large object has room from the start.
const KEYS_EXPECTED: usize = 400;

/// The keys of one object, where each key may occur once. `WORDS` as in [`KeyIndex`].
#[derive(Default)]
pub(crate) struct Keys<'de, const WORDS: usize> {
    keys: Vec<Cow<'de, str>>,
    index: KeyIndex<WORDS>,
}

impl<'de, const WORDS: usize> Keys<'de, WORDS> {
    pub(crate) fn with_capacity(keys: usize) -> Keys<'de, WORDS> {
        Keys { keys: Vec::with_capacity(keys), index: KeyIndex::default() }
    }

    /// Adds a key; fails with serde's `duplicate_field` where the object has the key already.
    pub(crate) fn insert<E: serde::de::Error>(&mut self, key: Cow<'de, str>) -> Result<(), E> {
        if self.index.insert(&self.keys, &key) {
            return Err(E::duplicate_field("key"));
        }
        self.keys.push(key);
        Ok(())
    }

    /// The keys in the order of insertion.
    pub(crate) fn as_slice(&self) -> &[Cow<'de, str>] {
        &self.keys
    }
}

/// `WORDS` for an object of tens of keys.
pub(crate) const FEW: usize = 4;
/// `WORDS` for an object of hundreds of keys, such as an abstract, which has one key per word.
pub(crate) const MANY: usize = 128;

/// Finds duplicate keys of one object.
///
/// A filter of `WORDS` × 64 bits proves that most keys are new. A key whose bit is already set is
/// compared with every earlier key. From [`KeyIndex::FILTERED_MAX`] keys on, a hash table replaces
/// the filter: until then fewer than one key in 20 is compared in vain. Example with 256 bits: `id` sets
/// bit 12, `name` sets bit 40, and a second `id` finds bit 12 set, so the index compares it with `id` and
/// `name`.
pub(crate) struct KeyIndex<const WORDS: usize> {
    filter: [u64; WORDS],
    table: HashTable<u32>,
    /// Seeded at random, so that nobody can construct keys that share one bucket.
    hasher: Option<foldhash::fast::RandomState>,
}

impl<const WORDS: usize> Default for KeyIndex<WORDS> {
    fn default() -> Self {
        KeyIndex { filter: [0; WORDS], table: HashTable::new(), hasher: None }
    }
}

impl<const WORDS: usize> KeyIndex<WORDS> {
    const FILTERED_MAX: usize = 16 + 2 * WORDS;

    /// Adds a key and returns whether `keys` held it already. The caller appends a new key to `keys`.
    #[inline]
    pub(crate) fn insert(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        if keys.len() >= Self::FILTERED_MAX {
            return self.insert_in_table(keys, key);
        }
        let bit = bit_of(key);
        let word = &mut self.filter[bit / 64 % WORDS];
        let mask = 1 << (bit % 64);
        let may_be_known = *word & mask != 0;
        *word |= mask;
        may_be_known && keys.iter().any(|known| known == key)
    }

    fn insert_in_table(&mut self, keys: &[Cow<'_, str>], key: &str) -> bool {
        let hasher = self.hasher.get_or_insert_default();
        let table = &mut self.table;
        let hash_of = |at: &u32| hasher.hash_one(keys[*at as usize].as_ref());
        if table.is_empty() {
            table.reserve(KEYS_EXPECTED, hash_of);
            for at in 0..keys.len() as u32 {
                table.insert_unique(hash_of(&at), at, hash_of);
            }
        }
        let hash = hasher.hash_one(key);
        if table.find(hash, |at| keys[*at as usize] == key).is_some() {
            return true;
        }
        // The cast is exact: a line has fewer than 2^32 bytes, so fewer keys.
        table.insert_unique(hash, keys.len() as u32, hash_of);
        false
    }
}

/// Hashes a key's length, first four and last four bytes to a number below 8,192.
#[inline]
fn bit_of(key: &str) -> usize {
    let bytes = key.as_bytes();
    let ends = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes.iter().fold(0, |ends, byte| ends << 8 | u64::from(*byte)),
    };
    // Fibonacci hashing: the upper bits of a product with the golden ratio depend on all below.
    ((ends ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51) as usize
}
