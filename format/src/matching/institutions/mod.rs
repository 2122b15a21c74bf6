//! Decides which institutions an affiliation names.
//!
//! ```text
//! affiliation   "Dept. of Chemistry, Univ. of Chicago, Chicago, IL; Argonne National Laboratory"
//! rows          that share the rarest words, by the words of names
//! names         whole, in order; abbreviated; or all words within one segment: "univ … chicago", "argonne national laboratory"
//! place         city and country of the record: stated, or contradicted by another city or country
//! decision      the longest name of each place in the text; a parent gives way to its child
//! ```
//!
//! - `affiliation` reads the text, with the words of `vocabulary`.
//! - `candidates` finds rows, `names` reads the names of a row, and `places` looks a name up in the text.
//! - `cores` compares names of hospitals and universities without their place.

mod affiliation;
mod candidates;
mod cores;
mod names;
mod places;
mod vocabulary;

use std::collections::HashSet;
use std::ops::Range;

use crate::autocomplete::Identifier;
use crate::entity::Entity;
use crate::matching::institutions::affiliation::Affiliation;
use crate::matching::institutions::candidates::{
    named_as_departments, rows, rows_of_whole_segments,
};
use crate::matching::institutions::names::best_name;
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question, identified};
use crate::query::{Deadline, QueryError};
use crate::snapshot::Snapshot;

/// Bits that a name tells from which on its place need not be stated.
const BITS_ALONE: f32 = 9.0;
/// Bits that one word of such a name tells: words of departments tell less.
const BITS_RARE: f32 = 8.0;
/// How well a name agrees at least.
const QUALITY_SURE: f32 = 0.6;
/// How well a name agrees whose words are in its order.
const QUALITY_ORDER: f32 = 0.75;
/// Bits that a name of one word tells at least, with its city.
const BITS_ACRONYM: f32 = 9.0;
/// Bits that a name tells at least, before another city.
const BITS_ELSEWHERE: f32 = 12.0;
/// Bits that a name tells at least, with its place.
const BITS_PLACED: f32 = 6.0;

/// How a text names a record.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Name,
    Acronym,
    /// A school of the record, perhaps in another city: `Harvard Medical School, Boston`.
    School,
}

/// A name found in the text.
struct Found {
    row: u32,
    span: Range<usize>,
    /// Bits that the words tell, times how well they agree.
    bits: f32,
    quality: f32,
    /// The most bits that one word tells.
    rarest: f32,
    form: Form,
    has_city: bool,
    /// Whether the name may be sure without its place.
    is_whole: bool,
    /// Whether another city follows the name.
    is_elsewhere: bool,
    /// Whether the country agrees; `None` if the text names none.
    has_country: Option<bool>,
    parents: Vec<u32>,
}

impl Found {
    fn rank(&self) -> f32 {
        let country = match self.has_country {
            Some(true) => 2.0,
            Some(false) => -10.0,
            None => 0.0,
        };
        let city = if self.has_city { 4.0 } else { 0.0 };
        let order = if self.quality > QUALITY_ORDER { 4.0 } else { 0.0 };
        self.bits + country + city + order
    }

    fn is_sure(&self) -> bool {
        let is_placed = self.has_city || self.has_country == Some(true);
        self.has_country != Some(false)
            && self.quality >= QUALITY_SURE
            && (!self.is_elsewhere || self.bits >= BITS_ELSEWHERE)
            && match self.form {
                Form::Acronym => self.has_city && self.bits >= BITS_ACRONYM,
                _ if is_placed => self.bits >= BITS_PLACED,
                // "University of Miami" is not Miami University.
                _ => {
                    self.is_whole
                        && self.quality >= QUALITY_ORDER
                        && self.bits >= BITS_ALONE
                        && self.rarest >= BITS_RARE
                }
            }
    }
}

/// Finds the institutions that an affiliation names.
pub(super) fn find(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    let text = question.text().unwrap_or_default();
    let affiliation = Affiliation::new(text, question.get("country"));
    let whole = Identifier::parse(text.trim());
    for identifier in affiliation.identifiers.iter().chain(&whole) {
        if let Some(found) = identified(snapshot, Entity::Institution, identifier)? {
            return Ok(found);
        }
    }
    let (rows, bits) = rows(snapshot, &affiliation, deadline)?;
    let mut found = Vec::new();
    let mut cities = HashSet::new();
    let mut read = |rows: Vec<u32>, found: &mut Vec<Found>| {
        for row in rows {
            deadline.check()?;
            let named = best_name(snapshot, row, &affiliation, &bits, &mut cities);
            found.extend(snapshot.or_noted(named)?);
        }
        Ok::<(), QueryError>(())
    };
    read(rows, &mut found)?;
    if found.is_empty() {
        read(named_as_departments(snapshot, &affiliation, deadline)?, &mut found)?;
    }
    let whole = rows_of_whole_segments(snapshot, &affiliation, deadline)?;
    for of in &mut found {
        of.is_whole = whole.as_ref().is_none_or(|rows| rows.contains(&of.row));
        of.is_elsewhere = !of.has_city
            && of.form != Form::School
            && affiliation.has_city_behind(of.span.end - 1, &cities);
    }
    Ok(decide(found))
}

/// Orders the names found, and decides which are sure.
fn decide(mut found: Vec<Found>) -> Vec<Candidate> {
    found.sort_by(|a, b| b.rank().total_cmp(&a.rank()).then(a.row.cmp(&b.row)));
    // The best name of each place in the text.
    let mut chosen: Vec<usize> = Vec::new();
    let mut is_rivalled = vec![false; found.len()];
    for at in 0..found.len() {
        let span = &found[at].span;
        let overlaps = |other: &&usize| {
            found[**other].span.start < span.end && span.start < found[**other].span.end
        };
        match chosen.iter().find(overlaps) {
            Some(other) => {
                let is_equal = found[*other].rank() - found[at].rank() < 1.0;
                is_rivalled[*other] |= is_equal && found[at].span == found[*other].span;
            }
            None => chosen.push(at),
        }
    }
    let is_parent = |at: usize| {
        chosen
            .iter()
            .any(|other| found[*other].parents.contains(&found[at].row) && found[*other].is_sure())
    };
    let is_sure = |at: usize| {
        chosen.contains(&at) && found[at].is_sure() && !is_rivalled[at] && !is_parent(at)
    };
    let mut order: Vec<(bool, usize)> = (0..found.len()).map(|at| (!is_sure(at), at)).collect();
    // The sure ones first; among them, too, the name that tells most.
    order.sort_unstable();
    order.truncate(CANDIDATES_MAX);
    let candidates = order.into_iter().map(|(is_unsure, at)| {
        let Found { row, bits, quality, has_city, has_country, .. } = found[at];
        let why = [
            Some(Evidence { what: "name", agrees: true }),
            has_city.then_some(Evidence { what: "city", agrees: true }),
            has_country.map(|agrees| Evidence { what: "country", agrees }),
        ];
        let told = (bits / 20.0).clamp(0.0, 1.0);
        let place = if has_city { 0.2 } else { 0.0 }
            + match has_country {
                Some(true) => 0.1,
                Some(false) => -0.3,
                None => 0.0,
            };
        let score = 0.3 * quality + 0.4 * told + place;
        let score = if is_unsure { score.min(0.79) } else { 0.8 + 0.2 * score };
        Candidate {
            row,
            score: score.clamp(0.0, 1.0),
            is_match: !is_unsure,
            why: why.into_iter().flatten().collect(),
        }
    });
    candidates.collect()
}
