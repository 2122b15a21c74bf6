//! Versions of a work, such as a preprint and its article: records with the same title and first author.
//!
//! ```text
//! "Attention is all you need"  Ashish Vaswani   arXiv            ┐
//! "Attention Is All You Need"  A. Vaswani       (proceedings)    ┘ versions of one work
//! "Annual report of the board" Jane Doe         Board reports    ┐
//! "Annual report of the board" Jane Doe         Board reports    ┘ of one source and type: a series, not versions
//! "Editorial"                  Jane Doe                            too short to tell anything
//! ```

use std::sync::LazyLock;

use crate::entity::{Entity, NO_ID};
use crate::index::encoding::folded_term;
use crate::index::term_lists::Term;
use crate::record::gather::{Gathered, PathTree};
use crate::record::tree_of;
use crate::snapshot::RecordLookup;
use crate::storage::error::ReadError;
use crate::storage::long_text::{inflate, text_in};
use crate::text::fold::fold;

/// Words of a title that tell a work from others.
const TITLE_WORDS_MIN: usize = 3;

const MEMBERS: [&str; 6] = [
    "title",
    "authors.name",
    "authors.raw_author_name",
    "primary_venue.source.id",
    "type",
    "authors.author_position",
];
const TITLE: usize = 0;
const AUTHOR: usize = 1;
const PRINTED_AUTHOR: usize = 2;
const SOURCE: usize = 3;
const TYPE: usize = 4;
const POSITION: usize = 5;

static TREE: LazyLock<PathTree> = LazyLock::new(|| tree_of(Entity::Output, &MEMBERS));

/// What the versions of a work have in common, and the source that they do not.
#[derive(Clone, Debug)]
pub(in crate::query) struct Work {
    /// Folded.
    title: String,
    /// The words of the first author's name, folded.
    author: Vec<String>,
    source: Option<u32>,
    /// The type, as records name it.
    kind: Option<String>,
}

impl Work {
    /// Reads an output; `None` of one whose title or author tells nothing.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn read(lookup: &impl RecordLookup, row: u32) -> Result<Option<Work>, ReadError> {
        let (mut title, mut author, mut printed) = (None, None, None);
        let (mut source, mut kind, mut authors) = (None, None, 0);
        lookup.gather(Entity::Output, row, &TREE, &mut |end, value| match (end, value) {
            (TITLE, Gathered::Text(text)) => title = Some(fold(text)),
            // The position of an author comes before the name, and the name before the printed name.
            (POSITION, Gathered::Code(_)) => authors += 1,
            (AUTHOR | PRINTED_AUTHOR, _) if authors > 1 || printed.is_some() => {}
            (AUTHOR, Gathered::NameOf(_, row) | Gathered::Reference(_, row))
                if author.is_none() =>
            {
                author = Some(row);
            }
            (PRINTED_AUTHOR, Gathered::LongText(offset, length)) => {
                printed = Some((offset, length));
            }
            (SOURCE, Gathered::Reference(_, row)) => source = Some(row),
            (TYPE, Gathered::Code(code)) => kind = Some(code),
            _ => {}
        })?;
        let named = author.map(|row| lookup.row_name(Entity::Author, row)).transpose()?.flatten();
        let author = match (named, author) {
            (Some(name), _) => Some(fold(name)),
            // A reference with an id and without a name is to a suppressed author, whose printed name is left out.
            (None, Some(row)) if lookup.row_id(Entity::Author, row)? != NO_ID => None,
            (None, _) => printed_name(lookup, row, printed)?,
        };
        let kind = kind.map(|code| lookup.code_text(code).map(str::to_owned)).transpose()?;
        let (Some(title), Some(author)) = (title, author) else { return Ok(None) };
        let author: Vec<String> = author.split_whitespace().map(str::to_owned).collect();
        let is_telling = title.split_whitespace().count() >= TITLE_WORDS_MIN && !author.is_empty();
        Ok(is_telling.then_some(Work { title, author, source, kind }))
    }

    /// The term of the title in the index of titles.
    pub fn term(&self) -> Option<Term> {
        folded_term(&self.title)
    }

    /// Whether both may be one work in two versions.
    pub fn is_version_of(&self, other: &Work) -> bool {
        let is_series =
            self.source.is_some() && self.source == other.source && self.kind == other.kind;
        self.title == other.title && !is_series && is_one_person(&self.author, &other.author)
    }
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
}
