//! Versions of a work, such as a preprint and its article: outputs with the same title and first author.
//!
//! ```text
//! "Attention is all you need"  Ashish Vaswani   arXiv            ┐
//! "Attention Is All You Need"  A. Vaswani       (proceedings)    ┘ versions of one work
//! "Annual report of the board" Jane Doe         Board reports    ┐
//! "Annual report of the board" Jane Doe         Board reports    ┘ a series of one source and type
//! "Editorial"                  Jane Doe                            too short to tell anything
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::entity::{Entity, NO_ID};
use crate::index::doc_set::{DocSet, DocSetBuilder};
use crate::index::encoding::folded_term;
use crate::index::term_lists::Term;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::record::{Gathered, PathTree, tree_of};
use crate::schema::{Index, keys_of};
use crate::snapshot::{RecordLookup, Snapshot};
use crate::storage::{ReadError, inflate, text_in};
use crate::text::fold::{fold, is_unspaced};

/// Outputs of one title that an index look-up reads. A title that more outputs have, such as a heading of letters, tells nothing.
pub(in crate::query) const NAMESAKES_MAX: u32 = 200;
/// The parameter of lists with one version of each work, and its value.
const VERSIONS: (&str, &str) = ("versions", "one");
/// Records of a list that are compared with each other.
const COMPARED_MAX: u64 = 50_000;
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
/// The title alone, which is read of many records.
static TITLE_TREE: LazyLock<PathTree> =
    LazyLock::new(|| tree_of(Entity::Output, &MEMBERS[..=TITLE]));

/// The matching rows without those of which a version precedes them: of each work the first in row order, which is the most cited.
///
/// ```text
/// rows 3, 8, 9    "Attention is all you need", Vaswani: article, preprint; "Editorial"
/// found 3, 9
/// ```
///
/// Cost: the title of each record, and the members of a [`VersionKey`] of each that shares its title.
///
/// # Errors
///
/// If more than [`COMPARED_MAX`] records match.
pub(in crate::query) fn one_of_each(
    matches: &Intersection<'_>,
    entity: Entity,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<DocSet, QueryError> {
    let count = matches.count(deadline)?;
    if count > COMPARED_MAX {
        let reason = format!(
            "compares the versions of at most {COMPARED_MAX} records, and {count} match; narrow the list"
        );
        return Err(QueryError::refused(VERSIONS.0, VERSIONS.1, reason));
    }
    let mut found = DocSetBuilder::new(matches.chunks());
    let key = keys_of(entity).keys.iter().find_map(|key| match key.filter {
        Some(Index::Versions { titles }) => Some(titles),
        _ => None,
    });
    let mut first_of = FirstVersions { snapshot, entity, titles: key, known: HashMap::new() };
    for chunk in 0..matches.chunks() {
        let mut lows = Vec::new();
        matches.chunk(chunk)?.each(|low| {
            lows.push(low);
            true
        });
        let mut first = Vec::new();
        for low in lows {
            deadline.check()?;
            // On a mirror, the records of all rows are fetched together.
            let is_first = first_of.is_first(chunk << 16 | u32::from(low));
            if snapshot.or_noted(is_first)? {
                first.push(low);
            }
        }
        found.push_rows(chunk, &first);
    }
    Ok(found.finish())
}

/// The versions that were found so far.
struct FirstVersions<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    /// The posting lists of titles; `None` of an entity without versions.
    titles: Option<usize>,
    /// By title, those that several records have.
    known: HashMap<Term, Vec<VersionKey>>,
}

impl FirstVersions<'_> {
    /// Whether no version of the record in a row came before.
    fn is_first(&mut self, row: u32) -> Result<bool, ReadError> {
        let Some(titles) = self.titles else { return Ok(true) };
        let Some(term) = VersionKey::term(self.snapshot, row)? else { return Ok(true) };
        let namesakes = self.snapshot.term_lists(self.entity)?.find(titles, term)?;
        let namesakes = namesakes.map_or(0, |list| list.count());
        if !(2..=NAMESAKES_MAX).contains(&namesakes) {
            return Ok(true);
        }
        let Some(key) = VersionKey::read(self.snapshot, row)? else { return Ok(true) };
        let known = self.known.entry(term).or_default();
        let is_first = !known.iter().any(|earlier| earlier.is_version_of(&key));
        if is_first {
            known.push(key);
        }
        Ok(is_first)
    }
}

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
        lookup.gather(Entity::Output, row, &TITLE_TREE, &mut |end, value| {
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
