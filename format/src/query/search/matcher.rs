//! Finds the rows that match a search, ascending.
//!
//! A [`Matcher`] moves to its first matching row at or after a row. The matcher of all words moves each word to the same row:
//!
//! ```text
//! deep       3  9  17  40          seek(4): deep 9 → learning 12 → deep 17 → learning 17: row 17
//! learning   3  12 17  41
//! ```
//!
//! Cost: of all words, a seek in each list for each row of the rarest; of any word, all rows. Positions are read only for
//! phrases, fields and forms, and only in records that have the words.

use crate::index::full_text::NO_ROW;
use crate::query::rows::deadline::{PacedDeadline, QueryError};
use crate::query::search::group::{Group, POSTING_NANOSECONDS, SearchWord, seek_all};
use crate::query::search::most::Most;
use crate::query::search::phrase::Phrase;

/// A node of a resolved search.
pub(super) enum Matcher<'s> {
    Group(Box<Group<'s>>),
    Phrase(Box<Phrase<'s>>),
    /// All of these, without any of the negated. Without nodes, all rows below a number.
    And {
        nodes: Vec<Matcher<'s>>,
        negated: Vec<PlacedMatcher<'s>>,
        rows: u32,
        pace: PacedDeadline<'s>,
    },
    /// Any of these.
    Or(Vec<PlacedMatcher<'s>>),
    /// Records in which words have at least a weight.
    Most(Most<'s>),
}

/// A node that keeps its place where the rows asked for do not reach it.
///
/// ```text
/// -(-graph), of which graph has the rows 5 to 8      seek(4): 4    seek(5): graph moves to 9, and the node to 9
///                                                    seek(6): 9, although graph is behind 6
/// ```
pub(super) struct PlacedMatcher<'s> {
    /// The row of the last seek. 0 may be a node that has not moved.
    row: u32,
    node: Matcher<'s>,
}

impl<'s> PlacedMatcher<'s> {
    pub fn all(nodes: Vec<Matcher<'s>>) -> Vec<PlacedMatcher<'s>> {
        nodes.into_iter().map(|node| PlacedMatcher { row: 0, node }).collect()
    }

    fn seek(&mut self, row: u32) -> Result<u32, QueryError> {
        if self.row < row || self.row == 0 {
            self.row = self.node.seek(row)?;
        }
        Ok(self.row)
    }
}

/// The place of a required word in a matcher.
#[derive(Clone, Copy)]
pub(super) struct WordPlace {
    /// The number of the node, or of the word among those of which records have most.
    pub node: usize,
    /// The number of the word in its phrase; 0 of a word alone.
    pub word: usize,
}

impl<'s> Matcher<'s> {
    pub fn or(nodes: Vec<Matcher<'s>>) -> Matcher<'s> {
        Matcher::Or(PlacedMatcher::all(nodes))
    }

    /// The groups of all required words, if the search consists of such words alone.
    pub fn groups(&mut self) -> Option<Vec<&mut Group<'s>>> {
        match self {
            Matcher::And { nodes, negated, .. } if negated.is_empty() && !nodes.is_empty() => nodes
                .iter_mut()
                .map(|node| match node {
                    Matcher::Group(group) => Some(&mut **group),
                    _ => None,
                })
                .collect(),
            _ => None,
        }
    }

    /// The place of a required word that may also score a word of the search.
    pub fn place_of(&self, word: &SearchWord) -> Option<WordPlace> {
        let nodes = match self {
            Matcher::And { nodes, .. } => nodes.as_slice(),
            Matcher::Most(most) => {
                let node = most.groups().position(|group| group.is_of(word))?;
                return Some(WordPlace { node, word: 0 });
            }
            only => std::slice::from_ref(only),
        };
        nodes.iter().enumerate().find_map(|(node, matcher)| match matcher {
            Matcher::Group(group) => group.is_of(word).then_some(WordPlace { node, word: 0 }),
            Matcher::Phrase(phrase) => phrase.place_of(word).map(|word| WordPlace { node, word }),
            _ => None,
        })
    }

    /// The word at such a place.
    #[inline]
    pub fn at_place(&mut self, WordPlace { node, word }: WordPlace) -> Option<&mut Group<'s>> {
        let matcher = match self {
            Matcher::And { nodes, .. } => nodes.get_mut(node)?,
            Matcher::Most(most) => return most.at_place(node),
            only => only,
        };
        match matcher {
            Matcher::Group(group) => Some(group),
            Matcher::Phrase(phrase) => phrase.at_place(word),
            _ => None,
        }
    }

    /// An upper bound of the matching rows, to begin with the rarest words.
    pub fn count_max(&self) -> u64 {
        match self {
            Matcher::Group(group) => group.count_max(),
            Matcher::Phrase(phrase) => phrase.count_max(),
            Matcher::And { nodes, rows, .. } => {
                nodes.iter().map(Matcher::count_max).min().unwrap_or(u64::from(*rows))
            }
            Matcher::Or(nodes) => nodes.iter().map(|of| of.node.count_max()).sum(),
            Matcher::Most(most) => most.groups().map(Group::count_max).sum(),
        }
    }

    /// About how many nanoseconds it takes to find all matching rows and to score them: as little as on a fast machine.
    pub fn nanoseconds(&self) -> u64 {
        match self {
            Matcher::Group(group) => group.nanoseconds(),
            Matcher::Phrase(phrase) => phrase.nanoseconds(),
            Matcher::Most(most) => most.nanoseconds(),
            Matcher::Or(nodes) => nodes.iter().map(|of| of.node.nanoseconds()).sum(),
            Matcher::And { nodes, negated, .. } => {
                // Each row of the rarest node is looked up in the others.
                let rows = self.count_max();
                let all = nodes.iter().chain(negated.iter().map(|of| &of.node));
                all.map(|node| node.nanoseconds().min(rows * POSTING_NANOSECONDS)).sum()
            }
        }
    }

    /// Moves to the first matching row at or after `row`; [`NO_ROW`] if there is none. Each `row` comes after the row that the seek
    /// before returned.
    pub fn seek(&mut self, row: u32) -> Result<u32, QueryError> {
        match self {
            Matcher::Group(group) => group.seek(row),
            Matcher::Phrase(phrase) => phrase.seek(row),
            Matcher::Most(most) => most.seek(row),
            Matcher::Or(nodes) => {
                let mut least = NO_ROW;
                for node in nodes {
                    least = least.min(node.seek(row)?);
                }
                Ok(least)
            }
            Matcher::And { nodes, negated, rows, pace } => {
                let mut row = row;
                'rows: loop {
                    // Negated clauses may exclude millions of rows one after another.
                    pace.step()?;
                    row = match nodes.is_empty() {
                        // Without required clauses, all rows but the excluded ones match.
                        true if row < *rows => row,
                        true => NO_ROW,
                        false => seek_all(nodes, row, pace, Matcher::seek)?,
                    };
                    if row == NO_ROW {
                        return Ok(NO_ROW);
                    }
                    for other in &mut *negated {
                        if other.seek(row)? == row {
                            row += 1;
                            continue 'rows;
                        }
                    }
                    return Ok(row);
                }
            }
        }
    }
}
