//! Decides which output a citation means.
//!
//! ```text
//! citation   "Ajzen I. The theory of planned behavior. Orga Beha and Huma Deci Proc. 1991;50:179."
//! candidates by the rarest words of the citation, added up by inverse document frequency: at most 20 are read
//! titles     the words of a record's title, aligned with the words of the citation: 1.0 of the title is found
//! members    author, year, venue, volume, page: what the citation states, and what it contradicts
//! decision   sure if the evidence suffices for a title of such frequent words, and no other record has as much
//! ```

mod candidates;
mod members;
mod texts;
mod titles;

use crate::entity::Entity;
use crate::matching::citation::Citation;
use crate::matching::outputs::candidates::{Cited, READ_MAX};
use crate::matching::outputs::members::Stated;
use crate::matching::outputs::texts::Texts;
use crate::matching::outputs::titles::Titled;
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question};
use crate::query::{Deadline, QueryError, TrueTerms};
use crate::snapshot::Snapshot;

pub(super) use crate::matching::outputs::candidates::best_first;

/// A record, judged.
struct Judged {
    candidate: Candidate,
    /// How much of the title the citation has.
    title: f32,
    points: f32,
    /// Whether the evidence suffices, if no other record has as much.
    suffices: bool,
    is_identified: bool,
}

impl Judged {
    fn rank(&self) -> f32 {
        10.0 * self.title + self.points + if self.suffices { 10.0 } else { 0.0 }
    }
}

/// The points by which a sure record precedes all others.
const LEAD: f32 = 0.65;
/// How much of the title the citation has at least, unless it has the page.
const SHARE_MIN: f32 = 0.25;
/// The score of a sure candidate is at least this, whatever the citation leaves out.
const SURE_MIN: f32 = 0.7;
/// The score of the least candidate.
const SCORE_MIN: f32 = 0.15;

/// Finds the outputs that a citation may mean.
pub(super) fn find(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    let citation = Citation::new(question);
    let Some(index) = snapshot.full_text(Entity::Output)? else {
        return Ok(Vec::new());
    };
    let mut identified = Vec::new();
    for identifier in &citation.identifiers {
        let found = identifier.find_rows(snapshot, &[Entity::Output]);
        for (_, rows) in snapshot.or_noted(found)? {
            identified.extend(rows);
        }
    }
    // Many records may share an identifier, and each record is read.
    identified.truncate(READ_MAX);
    let cited = Cited::new(&citation, TrueTerms::new(snapshot, index, deadline), snapshot)?;
    let mut rows = cited.rows(snapshot, deadline)?;
    // An identified record is judged once, as identified.
    rows.retain(|row| !identified.contains(row));
    let mut judged = Vec::with_capacity(rows.len());
    // The identified records come first: their place tells `judge` that they are identified.
    for (at, row) in identified.iter().chain(&rows).enumerate() {
        deadline.check()?;
        let texts = snapshot.or_noted(Texts::read(snapshot, *row))?;
        judged.extend(cited.judge(*row, &texts, at < identified.len()));
    }
    judged
        .sort_by(|a, b| b.rank().total_cmp(&a.rank()).then(a.candidate.row.cmp(&b.candidate.row)));
    // Before candidates are removed: also a record with a low score may rival the best one.
    decide(&mut judged);
    judged.retain(|judged| judged.candidate.score >= SCORE_MIN);
    judged.truncate(CANDIDATES_MAX);
    let mut candidates: Vec<Candidate> =
        judged.into_iter().map(|judged| judged.candidate).collect();
    // The best record by all evidence stays the first; clients take the others by their scores.
    if let Some((best, others)) = candidates.split_first_mut() {
        others.sort_by(|a, b| b.score.total_cmp(&a.score));
        others.iter_mut().for_each(|other| other.score = other.score.min(best.score));
    }
    Ok(candidates)
}

/// Makes the best record sure, if its evidence suffices and leads.
fn decide(judged: &mut [Judged]) {
    if let Some((best, others)) = judged.split_first_mut() {
        let rival = others.iter().find(|other| other.suffices);
        let leads = rival.is_none_or(|rival| {
            best.is_identified && !rival.is_identified || best.rank() - rival.rank() >= LEAD
        });
        best.candidate.is_match = best.suffices && leads;
        if best.candidate.is_match {
            best.candidate.score = best.candidate.score.max(SURE_MIN);
        }
    }
}

impl Cited<'_, '_> {
    /// Compares a record with the citation; `None` if they have nothing in common.
    fn judge(&self, row: u32, texts: &Texts<'_>, is_identified: bool) -> Option<Judged> {
        let Titled { aligned, title, is_main } = self.best_title(texts)?;
        let has_page = || {
            let page = texts.first_page.map(str::to_lowercase);
            page.is_some_and(|page| self.places.contains_key(page.as_str()))
        };
        if aligned.share < SHARE_MIN && !is_identified && !has_page() {
            return None;
        }
        // The words that the record explains.
        let mut is_explained = vec![false; self.citation.words.len()];
        aligned.places.iter().for_each(|at| is_explained[*at] = true);
        let (members, after) = self.members(texts, &aligned, &mut is_explained);
        let points = members.points();
        // Words behind the title, before a venue that is known, continue another title.
        let continued = if members.venue == Stated::Same || is_main { after } else { 0 };
        let share = self.share_of_title(&aligned, continued);
        let is_other_work = self.is_other_work(&title, &aligned, &is_explained)
            || self.is_other_type(texts, members.venue == Stated::Same);
        let unexplained = self.citation.words.iter().zip(&is_explained);
        let unexplained = unexplained.filter(|(word, is)| !**is && word.is_content()).count();
        let suffices = match is_identified {
            true => unexplained < 4 || share >= 0.4 || points >= 2.0,
            // Half of the bits count, since the words of a title depend on each other.
            false if !is_other_work => {
                let strength = 0.5 * aligned.bits - self.records_bits;
                members.suffice(share, strength, unexplained, aligned.window.is_empty())
            }
            false => false,
        };
        let has_title = match share {
            share if share >= 0.75 && !is_other_work => Stated::Same,
            share if share >= 0.4 && !is_other_work => Stated::Near,
            _ => Stated::Other,
        };
        let why = [
            is_identified.then_some(Evidence { what: "identifier", agrees: true }),
            has_title.evidence("title"),
            members.author.evidence("author"),
            members.year.evidence("year"),
            members.venue.evidence("venue"),
            members.volume.evidence("volume"),
            members.page.evidence("first_page"),
        ];
        let evidence = ((points + 1.0) / 6.0).clamp(0.0, 1.0);
        let other = if is_other_work { 0.7 } else { 1.0 };
        let score = (0.65 * share + 0.35 * evidence) * other;
        let score = if is_identified && suffices { score.max(0.95) } else { score };
        Some(Judged {
            candidate: Candidate {
                row,
                score: score.clamp(0.0, 1.0),
                is_match: false,
                why: why.into_iter().flatten().collect(),
            },
            title: share * other,
            points,
            suffices,
            is_identified,
        })
    }
}
