//! Calls the search of `pinakes_format`; no other file of this benchmark does.

use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::index::full_text::FullText;
use pinakes_format::query::{Deadline, Query};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::text::analyzer::{Stemmer, each_compound, is_stop_word};

use crate::Result;

/// A snapshot with a full-text index, queried in this process.
pub struct Engine {
    snapshot: Snapshot,
    english: Stemmer,
}

/// The result of a search.
pub struct Found {
    pub count: u64,
    /// Best first.
    pub rows: Vec<u32>,
}

/// Bytes of an index.
#[derive(Clone, Copy)]
pub struct IndexBytes {
    pub postings: u64,
    pub positions: u64,
    /// With short posting lists, if the engine stores them there.
    pub dictionary: u64,
    /// Lengths of records, if the engine stores them apart.
    pub lengths: u64,
}

impl IndexBytes {
    pub fn total(&self) -> u64 {
        self.postings + self.positions + self.dictionary + self.lengths
    }
}

impl Engine {
    pub fn open(snapshot: &Path) -> Result<Engine> {
        let snapshot = Snapshot::open(snapshot)?;
        Ok(Engine { snapshot, english: Stemmer::of_language(Some("en")) })
    }

    /// Parses a search of outputs, counts the matches and finds the best, as for a request; renders nothing.
    pub fn search(&self, search: &str, filter: &str, best: u32) -> Result<Found> {
        let mut query = Query::new(Entity::Output);
        let refused = |refusals| format!("{search}: {refusals:?}");
        query.add_search(search).map_err(refused)?;
        if !filter.is_empty() {
            query.add_filter(filter).map_err(refused)?;
        }
        query.per_page = best;
        let page = query.execute(&self.snapshot, Deadline::NEVER)?;
        Ok(Found { count: page.count, rows: page.rows })
    }

    /// The number in the id of the output in a row.
    pub fn id(&self, row: u32) -> Result<u64> {
        Ok(self.snapshot.row_id(Entity::Output, row)?)
    }

    fn index(&self) -> Result<&FullText> {
        Ok(self.snapshot.full_text(Entity::Output)?.ok_or("the snapshot has no full-text index")?)
    }

    /// The number of outputs with a word, by its English stem; `None` for very frequent words.
    pub fn records_with(&self, word: &str) -> Result<Option<u32>> {
        if is_stop_word(word) {
            return Ok(None);
        }
        let term = self.index()?.term(&self.stem(word))?;
        Ok(Some(term.map_or(0, |term| term.count())))
    }

    /// The English stem of a word.
    pub fn stem(&self, word: &str) -> String {
        self.english.term(word).into_owned()
    }

    /// Appends the English stems of a text's words.
    pub fn stems(&self, text: &str, into: &mut Vec<String>) {
        each_compound(text, |compound| {
            into.extend(compound.parts().map(|part| self.english.term(part).into_owned()));
        });
    }

    /// The number of distinct terms.
    pub fn terms(&self) -> Result<u64> {
        Ok(self.index()?.terms())
    }

    pub fn bytes(&self) -> Result<IndexBytes> {
        let index = self.index()?;
        let (postings, positions) = index.region_bytes();
        let dictionary = index.archive().len() as u64 - postings - positions;
        Ok(IndexBytes { postings, positions, dictionary, lengths: 0 })
    }
}
