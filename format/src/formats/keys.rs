//! Keys of the entries of one BibTeX file, all different.
//!
//! ```text
//! list of up to 10,000 records    berg2020on berg2020ona berg2020onb    a letter where two are equal
//! longer list                     berg2020on_7 berg2020on_19            the number of each record's id
//! ```
//!
//! A short list keeps a hash of 8 bytes and a count for each key. Two keys with one hash cost a letter that is not
//! needed. A longer list keeps nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::formats::names::{ascii_word, first_ascii_word, letters};
use crate::formats::reference::Reference;

/// Records of a list up to which letters tell equal keys apart.
const LETTERED_RECORDS_MAX: u64 = 10_000;

/// The keys of one file.
#[derive(Debug)]
pub struct Keys {
    /// By the hash of each key, how many letters were tried after it; `None` for a long list.
    given: Option<HashMap<u64, u32>>,
}

impl Keys {
    /// Most bytes that the keys take: a table of 16,384 places.
    pub const BYTES_MAX: usize = 17 * 16_384;

    /// Keys of a list of so many records.
    pub fn new(records: u64) -> Keys {
        let is_short = records <= LETTERED_RECORDS_MAX;
        Keys { given: is_short.then(|| HashMap::with_capacity(records as usize)) }
    }

    /// The key of the next record.
    pub fn next(&mut self, reference: &Reference) -> String {
        let key = key(reference);
        let Some(given) = &mut self.given else {
            let id = reference.id.as_deref().unwrap_or_default();
            let number = id.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            return format!("{key}_{number}");
        };
        let mut tried = given.get(&hash(&key)).copied().unwrap_or_default();
        let mut distinct = key.clone();
        while given.contains_key(&hash(&distinct)) {
            distinct = format!("{key}{}", letters(tried));
            tried += 1;
        }
        given.insert(hash(&key), tried);
        given.entry(hash(&distinct)).or_default();
        distinct
    }
}

/// A hash that is the same in every process, because equal requests get equal replies.
fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The last name of the first author, the year, and the first word of the title, in ASCII: `berg2020on`.
fn key(reference: &Reference) -> String {
    let family = reference.names().next().map(|name| ascii_word(name.family_without_particles()));
    let year = reference.year.map(|year| year.to_string());
    let word = reference.title().map(|title| first_ascii_word(&title.text()));
    let key: String = [family, year, word].into_iter().flatten().collect();
    if key.is_empty() { "anonymous".to_owned() } else { key }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn keys(records: u64, titles: &[&str]) -> Vec<String> {
        let mut keys = Keys::new(records);
        let reference = |title: &&str| {
            let json = serde_json::json!({ "id": "HX_W7", "title": title });
            Reference::read(json.to_string().as_bytes()).unwrap()
        };
        titles.iter().map(|title| keys.next(&reference(title))).collect()
    }

    #[test]
    fn equal_keys_get_letters() {
        assert_eq!(keys(3, &["on"; 3]), ["on", "ona", "onb"]);
        assert_eq!(keys(29, &["on"; 29])[27..], ["onaa", "onab"]);
        assert_eq!(keys(2, &["", "学"]), ["anonymous", "anonymousa"]);
    }

    #[test]
    fn a_letter_makes_no_key_that_another_record_has() {
        assert_eq!(keys(4, &["on", "on", "ona", "on"]), ["on", "ona", "onaa", "onb"]);
        assert_eq!(keys(4, &["ona", "on", "on", "on"]), ["ona", "on", "onb", "onc"]);
    }

    #[test]
    fn keys_of_long_lists_end_with_the_number_of_the_record() {
        assert_eq!(keys(10_001, &["on", "on"]), ["on_7", "on_7"]);
        assert!(Keys::new(10_001).given.is_none());
        let short = Keys::new(10_000).given.unwrap();
        // The table of hashbrown is filled to seven eighths, and has a byte for each place.
        assert!(short.capacity() * 8 / 7 <= 16_384);
    }
}
