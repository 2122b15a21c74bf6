//! The members of an output that the decision reads.

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::record::{Gather, Gathered, Output, PathTree, tree_of};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// Authors of a record whose names are read.
const AUTHORS_MAX: usize = 40;

/// The members of an output that the decision reads.
const MEMBERS: [&str; 11] = [
    "title",
    "name",
    "year",
    "authors.name",
    "primary_venue.source.name",
    "additional_venues.source.name",
    "biblio.volume",
    "biblio.issue",
    "biblio.first_page",
    "biblio.last_page",
    "type",
];
const TITLE: usize = 0;
const NAME: usize = 1;
const YEAR: usize = 2;
const AUTHOR: usize = 3;
const VENUE: usize = 4;
const OTHER_VENUE: usize = 5;
const VOLUME: usize = 6;
const ISSUE: usize = 7;
const FIRST_PAGE: usize = 8;
const LAST_PAGE: usize = 9;
const TYPE: usize = 10;

static TREE: LazyLock<PathTree> = LazyLock::new(|| tree_of(Entity::Output, &MEMBERS));

/// The texts of a record.
#[derive(Default)]
pub(super) struct Texts<'s> {
    pub(super) titles: Vec<&'s str>,
    pub(super) year: Option<i64>,
    pub(super) authors: Vec<&'s str>,
    pub(super) venues: Vec<&'s str>,
    pub(super) volume: Option<&'s str>,
    pub(super) issue: Option<&'s str>,
    pub(super) first_page: Option<&'s str>,
    pub(super) last_page: Option<&'s str>,
    /// The type, as records name it.
    pub(super) kind: Option<&'s str>,
}

impl<'s> Texts<'s> {
    pub(super) fn read(snapshot: &'s Snapshot, row: u32) -> Result<Texts<'s>, ReadError> {
        let mut texts = Texts::default();
        let (mut authors, mut venues, mut kind) = (Vec::new(), Vec::new(), None);
        let Some(mut from) = snapshot.reader(Entity::Output, row)? else { return Ok(texts) };
        Output::gather(&mut from, &TREE, &mut |end, value| match (end, value) {
            // `name` repeats `title` in most records, and each title is aligned with the citation.
            (TITLE | NAME, Gathered::Text(title)) if !texts.titles.contains(&title) => {
                texts.titles.push(title);
            }
            (YEAR, Gathered::Integer(year)) => texts.year = Some(year),
            // Some records have thousands of authors, and citations name the first ones.
            (AUTHOR, Gathered::NameOf(_, row) | Gathered::Reference(_, row))
                if authors.len() < AUTHORS_MAX =>
            {
                authors.push(row)
            }
            (VENUE | OTHER_VENUE, Gathered::NameOf(_, row) | Gathered::Reference(_, row)) => {
                venues.push(row);
            }
            (VOLUME, Gathered::Text(text)) => texts.volume = Some(text),
            (ISSUE, Gathered::Text(text)) => texts.issue = Some(text),
            (FIRST_PAGE, Gathered::Text(text)) => texts.first_page = Some(text),
            (LAST_PAGE, Gathered::Text(text)) => texts.last_page = Some(text),
            (TYPE, Gathered::Code(code)) => kind = Some(code),
            _ => {}
        })?;
        texts.kind = kind.map(|code| snapshot.code(code)).transpose()?;
        // On a mirror, the attempt goes on without an absent name, and notes what all names lack.
        for row in authors {
            texts.authors.extend(snapshot.or_noted(snapshot.row_name(Entity::Author, row))?);
        }
        for row in venues {
            texts.venues.extend(snapshot.or_noted(snapshot.row_name(Entity::Source, row))?);
        }
        Ok(texts)
    }
}
