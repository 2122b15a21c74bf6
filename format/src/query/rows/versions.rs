//! Versions of a work, such as a preprint and its article: outputs with the same title and first author.
//!
//! ```text
//! "Attention is all you need"  Ashish Vaswani   arXiv            ┐
//! "Attention Is All You Need"  A. Vaswani       (proceedings)    ┘ versions of one work
//! "Annual report of the board" Jane Doe         Board reports    ┐
//! "Annual report of the board" Jane Doe         Board reports    ┘ a series of one source and type
//! "Editorial"                  Jane Doe                            too short to tell anything
//! ```

use std::sync::LazyLock;

use crate::entity::{Entity, NO_ID};
use crate::index::encoding::folded_term;
use crate::index::term_lists::Term;
use crate::record::{Gathered, PathTree, tree_of};
use crate::snapshot::RecordLookup;
use crate::storage::{ReadError, inflate, text_in};
use crate::text::fold::{fold, is_unspaced};

/// Outputs of one title that an index look-up reads. A title that more outputs have, such as a heading of letters, tells nothing.
pub(in crate::query) const NAMESAKES_MAX: u32 = 200;
/// Words of a title that tell a work from others.
const TITLE_WORDS_MIN: usize = 3;
/// The same of a title in a script without spaces: its characters.
const TITLE_CHARACTERS_MIN: usize = 8;

const MEMBERS: [&str; 5] =
    ["title", "authors.name", "authors.raw_author_name", "primary_venue.source.id", "type"];
const TITLE: usize = 0;
const AUTHOR: usize = 1;
const PRINTED_AUTHOR: usize = 2;
const SOURCE: usize = 3;
const TYPE: usize = 4;

static TREE: LazyLock<PathTree> = LazyLock::new(|| tree_of(Entity::Output, &MEMBERS));

/// The members of an output by which its versions are known.
#[derive(Clone, Debug)]
pub(in crate::query) struct VersionKey {
    /// Folded.
    title: String,
    /// The words of the first author's name, folded.
    author: Vec<String>,
    /// The id of the source.
    source: Option<u64>,
    /// The type, as records name it.
    kind: Option<String>,
}

impl VersionKey {
    /// Reads the members of an output; `None` if its title or its first author tells nothing.
    ///
    /// Cost: a walk over the record, and the decompression of its long texts if the first author has no record.
    pub fn read(lookup: &impl RecordLookup, row: u32) -> Result<Option<VersionKey>, ReadError> {
        let (mut title, mut author, mut printed) = (None, None, None);
        let (mut source, mut kind, mut authors) = (None, None, 0u32);
        lookup.gather(Entity::Output, row, &TREE, &mut |end, value| match (end, value) {
            (TITLE, Gathered::Text(text)) => title = Some(fold(text)),
            // Each author is a reference, which comes before the printed name.
            (AUTHOR, Gathered::NameOf(_, row) | Gathered::Reference(_, row)) => {
                authors = authors.saturating_add(1);
                author = author.or(Some(row));
            }
            (PRINTED_AUTHOR, Gathered::LongText(offset, length)) if authors == 1 => {
                printed = Some((offset, length));
            }
            (SOURCE, Gathered::Reference(_, row)) => source = Some(row),
            (TYPE, Gathered::Code(code)) => kind = Some(code),
            _ => {}
        })?;
        let (Some(title), Some(author)) = (title.filter(|title| tells_a_work(title)), author)
        else {
            return Ok(None);
        };
        let author = match lookup.row_name(Entity::Author, author)? {
            Some(name) => Some(fold(name)),
            // A reference with an id and without a name may be to a suppressed author, whose printed name is not read.
            None if lookup.row_id(Entity::Author, author)? != NO_ID => None,
            None => printed_name(lookup, row, printed)?,
        };
        let author: Vec<String> =
            author.iter().flat_map(|name| name.split(' ')).map(str::to_owned).collect();
        if author.iter().all(String::is_empty) {
            return Ok(None);
        }
        let source = source.map(|row| lookup.row_id(Entity::Source, row)).transpose()?;
        let kind = kind.map(|code| lookup.code_text(code).map(str::to_owned)).transpose()?;
        let source = source.filter(|id| *id != NO_ID);
        Ok(Some(VersionKey { title, author, source, kind }))
    }

    /// The term of an output's title in the index of titles; `None` if the title tells nothing.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn term(lookup: &impl RecordLookup, row: u32) -> Result<Option<Term>, ReadError> {
        let mut title = None;
        lookup.gather(Entity::Output, row, &TREE, &mut |end, value| {
            if let (TITLE, Gathered::Text(text)) = (end, value) {
                title = Some(fold(text));
            }
        })?;
        Ok(title.filter(|title| tells_a_work(title)).as_deref().and_then(folded_term))
    }

    /// Whether both outputs may be one work in two versions.
    pub fn is_version_of(&self, other: &VersionKey) -> bool {
        let is_series =
            self.source.is_some() && self.source == other.source && self.kind == other.kind;
        self.title == other.title && !is_series && is_one_person(&self.author, &other.author)
    }
}

/// Whether a folded title is long enough to tell a work from others.
fn tells_a_work(title: &str) -> bool {
    title.split(' ').count() >= TITLE_WORDS_MIN
        || title.chars().filter(|c| is_unspaced(*c)).count() >= TITLE_CHARACTERS_MIN
}

/// The name of an author without a record, as the output prints it; folded.
fn printed_name(
    lookup: &impl RecordLookup,
    row: u32,
    place: Option<(u32, u32)>,
) -> Result<Option<String>, ReadError> {
    let Some((offset, length)) = place else { return Ok(None) };
    let mut name = None;
    lookup.record_bytes(Entity::Output, row, &mut |record| {
        let pool = inflate(record.long_texts)?;
        name = Some(fold(text_in(&pool, offset, length)?));
        Ok(())
    })?;
    Ok(name)
}

/// Whether two names may be of one person: the same last word and first letter, or the same words in any order.
fn is_one_person(one: &[String], other: &[String]) -> bool {
    let initial = |name: &[String]| name.first().and_then(|word| word.chars().next());
    if one.last() == other.last() && initial(one) == initial(other) {
        return true;
    }
    let sorted = |name: &[String]| {
        let mut words = name.to_vec();
        words.sort_unstable();
        words
    };
    sorted(one) == sorted(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_person_have_the_same_last_word_and_first_letter_or_the_same_words() {
        let check = |one: &str, other: &str, expected: bool| {
            let words = |name: &str| -> Vec<String> {
                fold(name).split_whitespace().map(str::to_owned).collect()
            };
            assert_eq!(is_one_person(&words(one), &words(other)), expected, "{one} {other}");
        };
        check("Ashish Vaswani", "A. Vaswani", true);
        check("Vaswani, Ashish", "Ashish Vaswani", true);
        check("José García", "Jose Garcia", true);
        check("Ada Lovelace", "Byron Lovelace", false);
        check("Ada Lovelace", "Ada Byron", false);
    }

    #[test]
    fn short_titles_tell_nothing() {
        for (title, expected) in [
            ("Editorial", false),
            ("Letter to", false),
            ("Letter to the editor", true),
            ("編集後記", false),
            ("深層学習による画像認識", true),
        ] {
            assert_eq!(tells_a_work(&fold(title)), expected, "{title}");
        }
    }
}
