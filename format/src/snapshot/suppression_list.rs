//! A suppression list: the ids of records that must not be shown. Both programs read it.
//!
//! ```text
//! # Removed at the author's request.
//! HX_A5023888391
//! https://openalex.org/W2741809807    # as the dump writes it
//! fields/17                           # a node of the taxonomy, by its list
//! ```
//!
//! A line holds one id. A `#` starts a comment; blank lines, order and repetition have no meaning.
//! Any other line is an error with its number: an operator must learn that a takedown has no effect.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use crate::entity::Entity;
use crate::schema::parse_record_id;

/// The largest list that is read.
pub const LIST_BYTES_MAX: u64 = 16 << 20;
/// The largest number of ids in a list, repetitions included.
pub const IDS_MAX: usize = 100_000;
/// The largest number of characters that an error message quotes of a line.
const SHOWN_CHARS: usize = 60;
/// A byte order mark.
const MARK: &str = "\u{feff}";

/// The ids of records to suppress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionList {
    /// Ascending, without repetitions.
    ids: Vec<(Entity, u64)>,
    /// The first hex digits of a hash of `ids`.
    digits: Arc<str>,
}

impl Default for SuppressionList {
    fn default() -> SuppressionList {
        SuppressionList::from_ids(Vec::new())
    }
}

/// Why a suppression list was refused.
#[derive(Debug, thiserror::Error)]
pub enum SuppressionListError {
    /// The system refused to read the file.
    #[error("suppression list `{}`: {error}", path.display())]
    Io {
        /// The list's path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The path is a directory, a pipe or a device.
    #[error("suppression list `{}` is no regular file", path.display())]
    NotAFile {
        /// The list's path.
        path: PathBuf,
    },
    /// The file is larger than [`LIST_BYTES_MAX`].
    #[error(
        "suppression list `{}` has more than {LIST_BYTES_MAX} bytes; a list holds one id a line",
        path.display()
    )]
    TooLarge {
        /// The list's path.
        path: PathBuf,
    },
    /// A line holds no id.
    #[error("suppression list `{}`, line {line}: {reason}", path.display())]
    Line {
        /// The list's path.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The line's fault, and the expected forms.
        reason: String,
    },
}

impl SuppressionList {
    /// Reads a list from a file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read or is too large, and at the first line that holds no id.
    pub fn read(path: &Path) -> Result<SuppressionList, SuppressionListError> {
        let refused = |error| SuppressionListError::Io { path: path.to_path_buf(), error };
        // Checked before the opening, because an opened pipe waits for its writer.
        if !fs::metadata(path).map_err(refused)?.is_file() {
            return Err(SuppressionListError::NotAFile { path: path.to_path_buf() });
        }
        let mut text = Vec::new();
        let file = File::open(path).map_err(refused)?;
        file.take(LIST_BYTES_MAX + 1).read_to_end(&mut text).map_err(refused)?;
        if text.len() as u64 > LIST_BYTES_MAX {
            return Err(SuppressionListError::TooLarge { path: path.to_path_buf() });
        }
        SuppressionList::parse(&text).map_err(|(line, reason)| SuppressionListError::Line {
            path: path.to_path_buf(),
            line,
            reason,
        })
    }

    /// Parses the text of a list.
    ///
    /// # Errors
    ///
    /// The number, from 1, of the first line that holds no id, and the reason.
    pub fn parse(text: &[u8]) -> Result<SuppressionList, (usize, String)> {
        let mut ids = Vec::new();
        for (line, bytes) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Err((line, "is no UTF-8 text; expected one id".to_owned()));
            };
            let text = if line == 1 { text.strip_prefix(MARK).unwrap_or(text) } else { text };
            let text = text.split('#').next().unwrap_or_default().trim_ascii();
            if text.is_empty() {
                continue;
            }
            if ids.len() == IDS_MAX {
                return Err((line, format!("a list holds {IDS_MAX} ids at most")));
            }
            ids.push(parse_record_id(text).ok_or_else(|| (line, refusal(text)))?);
        }
        Ok(SuppressionList::from_ids(ids))
    }

    fn from_ids(mut ids: Vec<(Entity, u64)>) -> SuppressionList {
        ids.sort_unstable();
        ids.dedup();
        let mut hasher = blake3::Hasher::new();
        for (entity, id) in &ids {
            hasher.update(&[*entity as u8]);
            hasher.update(&id.to_le_bytes());
        }
        let digits = Arc::from(&hasher.finalize().to_hex()[..crate::storage::manifest::ID_DIGITS]);
        SuppressionList { ids, digits }
    }

    /// The ids that the list has and `other` lacks.
    pub fn without(&self, other: &SuppressionList) -> impl Iterator<Item = (Entity, u64)> {
        self.ids.iter().copied().filter(|id| other.ids.binary_search(id).is_err())
    }

    /// The list as text, one id a line, ascending.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        for (entity, id) in &self.ids {
            if entity.facts().letter.is_none() {
                text.extend_from_slice(entity.facts().plural.as_bytes());
                text.push(b'/');
            }
            entity.write_id(*id, &mut text);
            text.push(b'\n');
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The number of different ids.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the list holds no id.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The ids of an entity, ascending.
    pub fn ids(&self, entity: Entity) -> impl Iterator<Item = u64> + Clone {
        let from = self.ids.partition_point(|(of, _)| *of < entity);
        self.ids[from..].iter().take_while(move |(of, _)| *of == entity).map(|(_, id)| *id)
    }

    /// Hex digits that identify the set of ids, whatever the comments and the order of the lines.
    pub fn digits(&self) -> &Arc<str> {
        &self.digits
    }
}

/// The reason to refuse a line.
fn refusal(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        let _ = write!(shown, "…");
    }
    format!(
        "`{shown}` is no id; write one a line, as `HX_W12`, `W12`, `https://openalex.org/W12` or \
         `fields/17`, and what else there is to say after a `#`"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn comments_order_and_form_do_not_change_a_list() {
        let check = |text: &[u8], expected: &[(Entity, u64)]| {
            let list = SuppressionList::parse(text).unwrap();
            assert_eq!(list.ids, expected, "{}", String::from_utf8_lossy(text));
            assert_eq!(list.digits(), SuppressionList::from_ids(expected.to_vec()).digits());
            for entity in Entity::all() {
                let of: Vec<u64> =
                    expected.iter().filter(|(of, _)| *of == entity).map(|(_, id)| *id).collect();
                assert_eq!(list.ids(entity).collect::<Vec<_>>(), of, "{entity}");
            }
        };
        check(b"", &[]);
        check(b"\n# nothing yet\r\n   \r\n", &[]);
        let both: &[(Entity, u64)] = &[(Entity::Output, 2), (Entity::Author, 1)];
        check(b"HX_A1\nHX_W2", both);
        check(b"\xef\xbb\xbfHX_A1\r\n\tHX_W2 # why\r\n\r\nA1\r\n", both);
        check(b"https://openalex.org/W2#x\nhttps://openalex.org/authors/A1\n", both);
        assert_ne!(
            SuppressionList::parse(b"HX_A1").unwrap().digits(),
            SuppressionList::default().digits()
        );
    }

    #[test]
    fn an_error_names_the_line_that_holds_no_id() {
        let check = |text: &[u8], line: usize, expected: &str| {
            let (found, reason) = SuppressionList::parse(text).unwrap_err();
            assert_eq!((found, reason.as_str()), (line, expected));
        };
        let no_id = |shown: &str| {
            format!(
                "`{shown}` is no id; write one a line, as `HX_W12`, `W12`, \
                 `https://openalex.org/W12` or `fields/17`, and what else there is to say after a `#`"
            )
        };
        check(b"HX_A1\n# fine\nHX_A1;HX_A2\n", 3, &no_id("HX_A1;HX_A2"));
        check(b"\x1b[31m\n", 1, &no_id("\\u{1b}[31m"));
        check("é".repeat(61).as_bytes(), 1, &no_id(&format!("{}…", "é".repeat(60))));
        check("HX_A1\n\u{feff}HX_A2".as_bytes(), 2, &no_id("\\u{feff}HX_A2"));
        check(b"HX_A1\n\xff", 2, "is no UTF-8 text; expected one id");
        let many: String = (0..=IDS_MAX).map(|id| format!("W{id}\n")).collect();
        check(many.as_bytes(), IDS_MAX + 1, "a list holds 100000 ids at most");
    }

    #[test]
    fn only_a_regular_file_of_bounded_size_is_a_list() {
        let directory = tempfile::tempdir().unwrap();
        let check = |path: &Path, expected: &str| {
            let found = SuppressionList::read(path).unwrap_err().to_string();
            assert_eq!(found.replace(&*directory.path().to_string_lossy(), ""), expected);
        };
        let path = directory.path().join("list");
        check(&path, "suppression list `/list`: No such file or directory (os error 2)");
        check(directory.path(), "suppression list `` is no regular file");
        File::create(&path).unwrap().set_len(LIST_BYTES_MAX + 1).unwrap();
        check(
            &path,
            "suppression list `/list` has more than 16777216 bytes; a list holds one id a line",
        );
        fs::write(&path, "HX_A1\nx\n").unwrap();
        let refused = SuppressionList::read(&path).unwrap_err().to_string();
        assert!(refused.contains("`, line 2: `x` is no id; write one a line"), "{refused}");
        fs::write(&path, "HX_A1\n").unwrap();
        assert_eq!(SuppressionList::read(&path).unwrap().len(), 1);
    }

    #[test]
    fn a_written_list_is_read_again() {
        let list = SuppressionList::parse(b"fields/17\nW2\nhttps://openalex.org/A1\nW1").unwrap();
        assert_eq!(list.text(), "HX_W1\nHX_W2\nHX_A1\nfields/17\n");
        assert_eq!(SuppressionList::parse(list.text().as_bytes()).unwrap(), list);
        let other = SuppressionList::parse(b"W1\nW3").unwrap();
        let missing: Vec<_> = list.without(&other).collect();
        assert_eq!(missing, [(Entity::Output, 2), (Entity::Author, 1), (Entity::Field, 17)]);
    }
}
