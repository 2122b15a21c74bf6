//! Decides which output a citation means.
//!
//! ```text
//! citation   "Ajzen I. The theory of planned behavior. Orga Beha and Huma Deci Proc. 1991;50:179."
//! rows       by the rarest words of the citation, added up by inverse document frequency: at most 20 are read
//! title      the words of a record's title, aligned with the words of the citation: 1.0 of the title is found
//! evidence   author, year, venue, volume, page: what the citation states, and what it contradicts
//! decision   sure if the evidence suffices for a title of such frequent words, and no other record has as much
//! ```

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::entity::Entity;
use crate::index::full_text::{FullText, IDF_STEPS, NO_ROW, Term, idf};
use crate::matching::citation::Citation;
use crate::matching::words::{Word, abbreviates, likeness, words_of};
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question};
use crate::query::{Deadline, QueryError};
use crate::record::Output;
use crate::record::gather::{Gather, Gathered, PathTree, find_path};
use crate::record::schema_of;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;

/// Records that are read.
const READ_MAX: usize = 20;
/// Postings of the rarest words that are read whole; the lists of other words are looked into at the rows found.
const POSTINGS_MAX: u64 = 4_000;
/// Rows found by the rarest words for which the lists of other words are looked into.
const ROWS_MAX: usize = 200;
/// Words of a citation that are looked up, the rarest first.
const RARE_WORDS_MAX: usize = 24;
/// Authors of a record whose names are read.
const AUTHORS_MAX: usize = 40;
/// Words of a title that are compared.
const TITLE_WORDS_MAX: usize = 60;

/// The members of an output that the decision reads.
const MEMBERS: [&str; 10] = [
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

static TREE: LazyLock<PathTree> = LazyLock::new(|| {
    let schema = schema_of(Entity::Output);
    let mut tree = PathTree::default();
    for (end, path) in MEMBERS.iter().enumerate() {
        let Some(found) = find_path(&schema, path) else { panic!("no member `{path}`") };
        tree.add(&found.path, end);
    }
    tree
});

/// Words that make a work another one: a correction, a reply, a part of a series.
const MARKERS: [&str; 33] = [
    "abstract",
    "addendum",
    "author",
    "authors",
    "comment",
    "commentary",
    "comments",
    "correction",
    "corrections",
    "corrigenda",
    "corrigendum",
    "discussion",
    "editorial",
    "errata",
    "erratum",
    "letter",
    "preface",
    "protocol",
    "publisher",
    "rejoinder",
    "replies",
    "reply",
    "response",
    "responses",
    "retracted",
    "retraction",
    "review",
    "supplement",
    "supplementary",
    "update",
    "withdrawal",
    "withdrawn",
    "withdrawing",
];

/// Words before the number of a part.
const PARTS: [&str; 7] = ["chapter", "part", "pt", "phase", "stage", "study", "volume"];

/// How a citation agrees with one member of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stated {
    Same,
    /// A near value: another author, a year off by one.
    Near,
    Nothing,
    Other,
}

impl Stated {
    fn points(self, of: [f32; 4]) -> f32 {
        of[self as usize]
    }

    fn evidence(self, what: &'static str) -> Option<Evidence> {
        (self != Stated::Nothing)
            .then_some(Evidence { what, agrees: matches!(self, Stated::Same | Stated::Near) })
    }
}

/// The points of each statement: the same, near, nothing, something else.
const AUTHOR_POINTS: [f32; 4] = [2.0, 0.8, 0.0, -2.5];
const YEAR_POINTS: [f32; 4] = [1.2, 0.3, 0.0, -1.6];
const VENUE_POINTS: [f32; 4] = [1.0, 0.5, 0.0, -0.6];
const VOLUME_POINTS: [f32; 4] = [0.7, 0.0, 0.0, -0.3];
const PAGE_POINTS: [f32; 4] = [1.2, 0.3, 0.0, -0.3];

/// The texts of a record.
#[derive(Default)]
struct Texts<'s> {
    titles: Vec<&'s str>,
    year: Option<i64>,
    authors: Vec<&'s str>,
    venues: Vec<&'s str>,
    volume: Option<&'s str>,
    issue: Option<&'s str>,
    first_page: Option<&'s str>,
    last_page: Option<&'s str>,
}

impl<'s> Texts<'s> {
    fn read(snapshot: &'s Snapshot, row: u32) -> Result<Texts<'s>, ReadError> {
        let mut texts = Texts::default();
        let (mut authors, mut venues) = (Vec::new(), Vec::new());
        let Some(mut from) = snapshot.reader(Entity::Output, row)? else { return Ok(texts) };
        Output::gather(&mut from, &TREE, &mut |end, value| match (end, value) {
            (TITLE | NAME, Gathered::Text(title)) if !texts.titles.contains(&title) => {
                texts.titles.push(title);
            }
            (YEAR, Gathered::Integer(year)) => texts.year = Some(year),
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
            _ => {}
        })?;
        for row in authors {
            texts.authors.extend(snapshot.row_name(Entity::Author, row)?);
        }
        for row in venues {
            texts.venues.extend(snapshot.row_name(Entity::Source, row)?);
        }
        Ok(texts)
    }
}

/// A citation whose words are looked up.
struct Cited<'q, 's> {
    citation: &'q Citation,
    /// By word: the terms, and the bits that the word tells.
    terms: Vec<Vec<Term<'s>>>,
    bits: Vec<f32>,
    places: HashMap<&'q str, Vec<usize>>,
    /// The binary logarithm of the records.
    records_bits: f32,
}

/// A title of a record in a citation.
struct Titled {
    aligned: Aligned,
    title: Vec<Word>,
    /// Whether the subtitle is left out.
    is_main: bool,
}

/// The statements of a citation about author, year, venue, volume and page of a record.
struct Members {
    author: Stated,
    year: Stated,
    venue: Stated,
    volume: Stated,
    page: Stated,
}

impl Members {
    fn points(&self) -> f32 {
        self.author.points(AUTHOR_POINTS)
            + self.year.points(YEAR_POINTS)
            + self.venue.points(VENUE_POINTS)
            + self.volume.points(VOLUME_POINTS)
            + self.page.points(PAGE_POINTS)
    }

    /// Whether the statements and the share of the title decide, without an identifier. `unexplained` counts content words that
    /// neither explains.
    fn suffice(&self, share: f32, strength: f32, unexplained: usize, has_no_title: bool) -> bool {
        let Members { author, year, venue, volume, page } = *self;
        let points = self.points();
        let is_whole = share >= 0.93;
        let needed = 2.6 - 0.1 * strength
            + if year == Stated::Other { 1.0 } else { 0.0 }
            + if !is_whole && page == Stated::Other { 1.0 } else { 0.0 };
        let needed = needed.clamp(1.0, 4.0);
        let is_title_alone = share >= 0.95 && unexplained == 0 && strength >= TITLE_STRENGTH;
        let has_place = [venue, volume, page].contains(&Stated::Same);
        let is_place = [year, venue, volume, page].iter().all(|stated| *stated == Stated::Same);
        let is_by_author = is_whole && author == Stated::Same && year == Stated::Same;
        let is_elsewhere = volume == Stated::Other && page == Stated::Other
            || !is_whole && venue == Stated::Other && !has_place;
        let has_title =
            share >= 0.75 && (points >= needed || is_by_author || is_title_alone && points >= 0.0);
        let has_half = share >= 0.5
            && points >= needed
            && author == Stated::Same
            && page == Stated::Same
            && year != Stated::Other;
        let is_author_alone = has_no_title && author == Stated::Same;
        !is_elsewhere && (has_title || has_half || is_place && (is_author_alone || share >= 0.9))
    }
}

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
/// The score of the least candidate.
const SCORE_MIN: f32 = 0.15;
/// Weight of the title without its subtitle; the whole title has 1.
const MAIN_TITLE_SHARE: f32 = 0.9;
/// The strength from which on a title suffices without an author.
const TITLE_STRENGTH: f32 = 0.0;

/// Finds the outputs that a citation may mean.
pub(super) fn find(
    snapshot: &Snapshot,
    question: &Question,
    deadline: Deadline<'_>,
) -> Result<Vec<Candidate>, QueryError> {
    let citation = Citation::new(question);
    let Some(index) = snapshot.full_text(Entity::Output) else {
        return Ok(Vec::new());
    };
    let mut identified = Vec::new();
    for identifier in &citation.identifiers {
        for (_, rows) in identifier.find_rows(snapshot, &[Entity::Output])? {
            identified.extend(rows);
        }
    }
    identified.truncate(READ_MAX);
    let cited = Cited::new(&citation, index, snapshot)?;
    let mut rows = cited.rows(snapshot, deadline)?;
    rows.retain(|row| !identified.contains(row));
    let mut judged = Vec::with_capacity(rows.len());
    for (at, row) in identified.iter().chain(&rows).enumerate() {
        deadline.check()?;
        let texts = Texts::read(snapshot, *row)?;
        judged.extend(cited.judge(*row, &texts, at < identified.len()));
    }
    judged
        .sort_by(|a, b| b.rank().total_cmp(&a.rank()).then(a.candidate.row.cmp(&b.candidate.row)));
    decide(&mut judged);
    judged.retain(|judged| judged.candidate.score >= SCORE_MIN);
    judged.truncate(CANDIDATES_MAX);
    Ok(judged.into_iter().map(|judged| judged.candidate).collect())
}

/// Makes the best record sure, if its evidence suffices and leads.
fn decide(judged: &mut [Judged]) {
    if let Some((best, others)) = judged.split_first_mut() {
        let rival = others.iter().find(|other| other.suffices);
        let leads = rival.is_none_or(|rival| {
            best.is_identified && !rival.is_identified || best.rank() - rival.rank() >= LEAD
        });
        best.candidate.is_match = best.suffices && leads;
    }
}

impl<'q, 's> Cited<'q, 's> {
    fn new(
        citation: &'q Citation,
        index: &'s FullText,
        snapshot: &Snapshot,
    ) -> Result<Cited<'q, 's>, ReadError> {
        let records = u64::from(snapshot.count(Entity::Output)).max(1);
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        let (mut terms, mut bits) = (Vec::new(), Vec::new());
        for (at, word) in citation.words.iter().enumerate() {
            let known = places.entry(&word.text).or_default();
            known.push(at);
            let mut of_word: Vec<Term<'s>> = Vec::new();
            let mut with_word = 0;
            if known.len() == 1 && !word.is_stop {
                for form in index.form(&word.text)? {
                    of_word.extend(index.term(&form.stem)?);
                }
                with_word = of_word.iter().map(|term| u64::from(term.count())).max().unwrap_or(0);
            }
            terms.push(of_word);
            bits.push(match with_word {
                0 => 0.0,
                with_word => idf(records, with_word.min(records)) as f32 / IDF_STEPS as f32,
            });
        }
        Ok(Cited { citation, terms, bits, places, records_bits: (records as f32).log2() })
    }

    /// The rows with most of the rare words, the best first.
    fn rows(&self, snapshot: &Snapshot, deadline: Deadline<'_>) -> Result<Vec<u32>, QueryError> {
        let mut terms: Vec<(f32, Term<'s>)> = Vec::new();
        for (of_word, bits) in self.terms.iter().zip(&self.bits) {
            terms.extend(of_word.iter().map(|term| (*bits, *term)));
        }
        terms.sort_by_key(|(_, term)| term.count());
        terms.truncate(RARE_WORDS_MAX);
        let mut found: HashMap<u32, f32> = HashMap::new();
        let mut left = POSTINGS_MAX;
        let mut others = terms.as_slice();
        while let Some(((bits, term), rest)) = others.split_first()
            && u64::from(term.count()) <= left
        {
            left -= u64::from(term.count());
            let mut postings = term.postings()?;
            postings.each_below(NO_ROW, |row, _| *found.entry(row).or_default() += bits)?;
            others = rest;
        }
        if found.is_empty() {
            self.rows_of_frequent(others, &mut found, deadline)?;
        }
        let mut rows: Vec<(u32, f32)> = found.into_iter().collect();
        rows.retain(|(row, _)| !snapshot.suppressed().has(Entity::Output, *row));
        best_first(&mut rows, ROWS_MAX);
        // Ascending, since postings are read in the order of rows.
        rows.sort_unstable_by_key(|(row, _)| *row);
        for (bits, term) in others {
            deadline.check()?;
            let mut postings = term.postings()?;
            for (row, sum) in &mut rows {
                postings.seek(*row)?;
                if postings.row() == *row {
                    *sum += bits;
                }
            }
        }
        best_first(&mut rows, READ_MAX);
        Ok(rows.into_iter().map(|(row, _)| row).collect())
    }

    /// The rows that have the two rarest of frequent words, within a bounded number of steps.
    fn rows_of_frequent(
        &self,
        terms: &[(f32, Term<'s>)],
        found: &mut HashMap<u32, f32>,
        deadline: Deadline<'_>,
    ) -> Result<(), QueryError> {
        let [(bits, rare), rest @ ..] = terms else { return Ok(()) };
        let mut rare = rare.postings()?;
        let Some((other_bits, other)) = rest.first() else {
            // The first rows are the most cited.
            while rare.row() != NO_ROW && found.len() < READ_MAX {
                found.insert(rare.row(), *bits);
                rare.advance()?;
            }
            return Ok(());
        };
        let mut other = other.postings()?;
        for step in 0..4 * POSTINGS_MAX {
            if rare.row() == NO_ROW || other.row() == NO_ROW {
                break;
            }
            if step % 1_024 == 0 {
                deadline.check()?;
            }
            if rare.row() == other.row() {
                found.insert(rare.row(), bits + other_bits);
                rare.advance()?;
            } else if rare.row() < other.row() {
                rare.seek(other.row())?;
            } else {
                other.seek(rare.row())?;
            }
        }
        Ok(())
    }

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
        let is_other_work = self.is_other_work(&title, &aligned, &is_explained);
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

    /// The title of a record, with or without its subtitle, of which the citation has most.
    fn best_title(&self, texts: &Texts<'_>) -> Option<Titled> {
        let main = texts.titles.iter().filter_map(|title| main_title(title));
        let titles = texts.titles.iter().map(|title| (*title, false));
        let titles = titles.chain(main.map(|title| (title, true)));
        let titles = titles.map(|(title, is_main)| {
            let mut title = words_of(title);
            title.truncate(TITLE_WORDS_MAX);
            let mut aligned = self.align(&title);
            if is_main {
                aligned.share *= MAIN_TITLE_SHARE;
            }
            Titled { aligned, title, is_main }
        });
        titles.max_by(|a, b| a.aligned.share.total_cmp(&b.aligned.share))
    }

    /// Reads the statements about the other members. Also counts the content words behind the title that no member explains.
    fn members(
        &self,
        texts: &Texts<'_>,
        aligned: &Aligned,
        is_explained: &mut [bool],
    ) -> (Members, usize) {
        let text = &self.citation.words;
        let within = |at: usize| aligned.window.contains(&at);
        let author = self.author(texts, &within, is_explained);
        let year = self.year(texts, &within, is_explained);
        let volume = self.number(texts.volume, &within, is_explained);
        self.number(texts.issue, &within, is_explained);
        let page = self.number(texts.first_page, &within, is_explained);
        self.number(texts.last_page, &within, is_explained);
        let has_venue = self.venue(texts, &within, is_explained);
        let around = Around::new(text, &aligned.window, is_explained);
        let author = match author {
            Stated::Other if around.before == 0 && !self.citation.has_author => Stated::Nothing,
            author => author,
        };
        let venue = match (texts.venues.is_empty(), has_venue) {
            (_, true) => Stated::Same,
            (false, false) if around.after > 0 => Stated::Other,
            _ => Stated::Nothing,
        };
        let numbers = text.iter().enumerate().filter(|(at, word)| word.is_number && !within(*at));
        let has_numbers = numbers.count() > 2;
        let absent = |stated| match stated {
            Stated::Other if !has_numbers => Stated::Nothing,
            stated => stated,
        };
        let members = Members { author, year, venue, volume: absent(volume), page: absent(page) };
        (members, around.after)
    }

    /// How much of the title the citation has, less for words that continue the title.
    fn share_of_title(&self, aligned: &Aligned, continued: usize) -> f32 {
        let share = aligned.share * aligned.weight / (aligned.weight + 0.5 * continued as f32);
        match &self.citation.title {
            // The client knows the title: each of its words counts.
            Some(given) => {
                let lacking = given.clone().filter(|at| !aligned.places.contains(at));
                let lacking: f32 = lacking.map(|at| self.citation.words[at].weight()).sum();
                share * aligned.weight / (aligned.weight + lacking)
            }
            None => share,
        }
    }

    /// Aligns the words of a title with words of the citation.
    fn align(&self, title: &[Word]) -> Aligned {
        let text = &self.citation.words;
        let weight: f32 = title.iter().map(Word::weight).sum();
        let mut aligned = Aligned { weight, found: vec![false; title.len()], ..Aligned::default() };
        // Likeness of each word of the title with words of the text, by place.
        let mut exact = 0.0;
        let mut hits: Vec<Vec<Hit>> = Vec::with_capacity(title.len());
        for word in title {
            let places = self.places.get(word.text.as_str());
            let places = places.into_iter().flatten();
            let of_word: Vec<Hit> =
                places.map(|at| Hit { at: *at, value: 1.0, title: 1, text: 1 }).collect();
            exact += if of_word.is_empty() { 0.0 } else { word.weight() };
            hits.push(of_word);
        }
        if title.is_empty() || exact < 0.3 * weight {
            return aligned;
        }
        for at in 0..title.len() {
            if !hits[at].is_empty() || title[at].is_number {
                continue;
            }
            let word = &title[at];
            let joined = title.get(at + 1).map(|next| word.text.clone() + &next.text);
            for (place, other) in text.iter().enumerate() {
                let value = likeness(word, other);
                if value > 0.0 {
                    hits[at].push(Hit { at: place, value, title: 1, text: 1 });
                }
                if joined.as_deref() == Some(&other.text) {
                    hits[at].push(Hit { at: place, value: 0.95, title: 2, text: 1 });
                }
                if let Some(next) = text.get(place + 1)
                    && word.text.len() == other.text.len() + next.text.len()
                    && word.text.starts_with(&other.text)
                    && word.text.ends_with(&next.text)
                {
                    hits[at].push(Hit { at: place, value: 0.95, title: 1, text: 2 });
                }
            }
        }
        aligned.fill(title, text, &hits, &self.bits, &self.places);
        aligned
    }

    fn author(
        &self,
        texts: &Texts<'_>,
        within: &dyn Fn(usize) -> bool,
        is_explained: &mut [bool],
    ) -> Stated {
        let text = &self.citation.words;
        let mut stated = if texts.authors.is_empty() { Stated::Nothing } else { Stated::Other };
        for (number, name) in texts.authors.iter().enumerate() {
            let (last, all) = last_name(name);
            let mut is_found = false;
            let last_words = &all[last.clone()];
            for (at, word) in text.iter().enumerate().filter(|(at, _)| !within(*at)) {
                let is_last = last_words.iter().any(|of| {
                    of.text == word.text || of.text.len() > 4 && likeness(of, word) > 0.0
                });
                is_found |= is_last && word.text.len() > 1;
                let is_other = all.iter().any(|of| of.text == word.text);
                is_explained[at] |= is_last || is_other;
            }
            if is_found {
                stated = match (number, stated) {
                    (0, _) => Stated::Same,
                    (_, Stated::Same) => Stated::Same,
                    _ => Stated::Near,
                };
            }
        }
        stated
    }

    fn year(
        &self,
        texts: &Texts<'_>,
        within: &dyn Fn(usize) -> bool,
        is_explained: &mut [bool],
    ) -> Stated {
        let Some(year) = texts.year else { return Stated::Nothing };
        let mut stated = Stated::Nothing;
        let pages = [texts.first_page, texts.last_page, texts.volume];
        for (at, word) in self.citation.words.iter().enumerate() {
            let Some(cited) = year_of(&word.text).filter(|_| !within(at)) else { continue };
            let found = match (cited - year).abs() {
                0 => Stated::Same,
                1 => Stated::Near,
                _ if pages.contains(&Some(word.text.as_str())) => continue,
                _ => Stated::Other,
            };
            is_explained[at] |= found != Stated::Other;
            stated = match (stated, found) {
                (Stated::Same, _) | (_, Stated::Same) => Stated::Same,
                (Stated::Near, _) | (_, Stated::Near) => Stated::Near,
                _ => Stated::Other,
            };
        }
        stated
    }

    /// Whether the citation has a number such as a page outside of the title.
    fn number(
        &self,
        number: Option<&str>,
        within: &dyn Fn(usize) -> bool,
        is_explained: &mut [bool],
    ) -> Stated {
        let Some(number) = number.filter(|number| !number.is_empty() && *number != "-") else {
            return Stated::Nothing;
        };
        let words = words_of(number);
        let Some(first) = words.first() else { return Stated::Nothing };
        let places = self.places.get(first.text.as_str()).into_iter().flatten();
        let mut stated = Stated::Other;
        for at in places.filter(|at| !within(**at)) {
            is_explained[*at] = true;
            stated = Stated::Same;
        }
        stated
    }

    /// Whether the citation names a venue of the record, whole or abbreviated.
    fn venue(
        &self,
        texts: &Texts<'_>,
        within: &dyn Fn(usize) -> bool,
        is_explained: &mut [bool],
    ) -> bool {
        let text = &self.citation.words;
        texts.venues.iter().any(|venue| {
            let venue: Vec<Word> =
                words_of(venue).into_iter().filter(|word| !word.is_stop).collect();
            let found = find_abbreviated(&venue, text, within);
            found.iter().for_each(|at| is_explained[*at] = true);
            !found.is_empty()
        })
    }

    /// Whether the citation means another work with a similar title: a correction, a reply, another part.
    fn is_other_work(&self, title: &[Word], aligned: &Aligned, is_explained: &[bool]) -> bool {
        let text = &self.citation.words;
        let is_missing = |word: &Word| !self.places.contains_key(word.text.as_str());
        let numerals = title.iter().enumerate().filter(|(at, word)| {
            !aligned.found[*at] && (word.is_number || is_roman(&word.text) && is_missing(word))
        });
        let marked = title.iter().enumerate().filter(|(at, word)| {
            let tells = is_marker(&word.text) || is_negation(&word.text);
            !aligned.found[*at] && tells && is_missing(word)
        });
        if numerals.count() + marked.count() > 0 {
            return true;
        }
        let Range { start, end } = aligned.window;
        let inside = (start..end).filter(|at| !is_explained[*at]).any(|at| {
            let word = &text[at].text;
            text[at].is_number || is_roman(word) || is_marker(word) || is_negation(word)
        });
        let before = text[..start].iter().zip(is_explained).rev().take(3);
        let mut before = before.filter(|(_, is_explained)| !**is_explained);
        let after = text.get(end..).unwrap_or_default();
        let part = match after {
            [first, ..] if is_roman(&first.text) && first.text.len() > 1 => !is_explained[end],
            [first, next, ..] if PARTS.contains(&first.text.as_str()) => {
                !is_explained[end] && (next.is_number || is_roman(&next.text))
            }
            _ => false,
        };
        let mut behind = after.iter().zip(&is_explained[end.min(text.len())..]).take(2);
        inside
            || part
            || before.any(|(word, _)| is_marker(&word.text))
            || behind.any(|(word, is_explained)| !is_explained && is_marker(&word.text))
    }
}

/// A word of a title, or two, that a word of the text is like.
struct Hit {
    at: usize,
    value: f32,
    title: usize,
    text: usize,
}

/// A title in a citation.
#[derive(Default)]
struct Aligned {
    /// The weight of all words of the title.
    weight: f32,
    /// How much of the title the citation has, from 0 to 1.
    share: f32,
    /// The bits that the words found tell.
    bits: f32,
    /// The words of the citation from the first to the last of the title.
    window: Range<usize>,
    /// The words of the citation that are words of the title.
    places: Vec<usize>,
    /// By word of the title.
    found: Vec<bool>,
}

impl Aligned {
    /// Finds the best local alignment, as Smith and Waterman do.
    fn fill(
        &mut self,
        title: &[Word],
        text: &[Word],
        hits: &[Vec<Hit>],
        bits: &[f32],
        places: &HashMap<&str, Vec<usize>>,
    ) {
        let width = text.len() + 1;
        // By end in the title and in the text: the score, and the words of both that the last step takes.
        let mut cells = vec![(0.0_f32, 0_u8, 0_u8); (title.len() + 1) * width];
        let mut best = (0.0, 0, 0);
        for i in 0..=title.len() {
            for j in 0..width {
                let mut cell = cells[i * width + j];
                if i > 0 {
                    let score = cells[(i - 1) * width + j].0 - 0.35 * title[i - 1].weight();
                    if score > cell.0 {
                        cell = (score, 1, 0);
                    }
                }
                if j > 0 {
                    let score = cells[i * width + j - 1].0 - 0.35 * text[j - 1].weight();
                    if score > cell.0 {
                        cell = (score, 0, 1);
                    }
                }
                cells[i * width + j] = cell;
                if cell.0 > best.0 {
                    best = (cell.0, i, j);
                }
            }
            for hit in hits.get(i).into_iter().flatten() {
                let (to_i, to_j) = (i + hit.title, hit.at + hit.text);
                if to_i > title.len() || to_j >= width {
                    continue;
                }
                let weight: f32 = title[i..to_i].iter().map(Word::weight).sum();
                let score = cells[i * width + hit.at].0 + weight * hit.value;
                let to = &mut cells[to_i * width + to_j];
                if score > to.0 {
                    *to = (score, hit.title as u8, hit.text as u8);
                }
            }
        }
        let (_, mut i, mut j) = best;
        let end = j;
        let mut matched = 0.0;
        while let (_, di @ 1.., dj) | (_, di, dj @ 1..) = cells[i * width + j] {
            let (di, dj) = (usize::from(di), usize::from(dj));
            (i, j) = (i - di, j - dj);
            if di > 0 && dj > 0 {
                let hit = hits[i].iter().find(|hit| hit.at == j && hit.title == di);
                let value = hit.map_or(0.0, |hit| hit.value);
                self.found[i..i + di].fill(true);
                matched += value * title[i..i + di].iter().map(Word::weight).sum::<f32>();
                self.places.extend(j..j + dj);
                for word in &text[j..j + dj] {
                    let first = places.get(word.text.as_str()).and_then(|all| all.first());
                    self.bits += value * first.map_or(0.0, |first| bits[*first]);
                }
            }
        }
        self.window = j..end;
        let inserted = self.window.clone().filter(|at| !self.places.contains(at));
        let inserted: f32 = inserted.map(|at| text[at].weight()).sum();
        self.share = matched / (self.weight + 0.5 * inserted);
    }
}

/// The content words beside a title that the record does not explain.
struct Around {
    before: usize,
    after: usize,
}

impl Around {
    fn new(text: &[Word], window: &Range<usize>, is_explained: &[bool]) -> Around {
        let run = |places: &mut dyn Iterator<Item = usize>| {
            let mut count = 0;
            for at in places {
                let word = &text[at];
                if is_explained[at] && (word.is_content() || word.is_number) {
                    break;
                }
                count += usize::from(!is_explained[at] && word.is_content() && !is_imprint(word));
            }
            count
        };
        let before = run(&mut (0..window.start).rev());
        let after = run(&mut (window.end..text.len()).take_while(|at| !text[*at].is_number));
        Around { before, after }
    }
}

/// Words of citations that belong to no record.
fn is_imprint(word: &Word) -> bool {
    let words = [
        "available",
        "doi",
        "edition",
        "editor",
        "editors",
        "eds",
        "epub",
        "from",
        "http",
        "https",
        "isbn",
        "issn",
        "issue",
        "online",
        "pages",
        "pmid",
        "press",
        "print",
        "retrieved",
        "suppl",
        "vol",
        "volume",
        "www",
    ];
    words.binary_search(&word.text.as_str()).is_ok()
}

fn is_marker(word: &str) -> bool {
    MARKERS.binary_search(&word).is_ok()
}

fn is_negation(word: &str) -> bool {
    ["no", "non", "not", "without"].contains(&word)
}

/// The title before its subtitle, if it has three words or more.
fn main_title(title: &str) -> Option<&str> {
    let (main, _) = title.split_once(": ").or_else(|| title.split_once("? "))?;
    (main.split_whitespace().count() >= 3).then_some(main)
}

/// Whether a word is a Roman number up to 39.
fn is_roman(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 6
        && word.bytes().all(|byte| b"ivx".contains(&byte))
        && !word.contains("iiii")
        && word != "x"
}

/// The year that a word is, perhaps with a letter behind: `2004a`.
fn year_of(word: &str) -> Option<i64> {
    let (year, letter) = word.split_at_checked(4)?;
    let is_letter = letter.len() <= 1 && letter.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_year = year.bytes().all(|byte| byte.is_ascii_digit()) && is_letter;
    year.parse().ok().filter(|year| is_year && (1500..=2100).contains(year))
}

/// The words of a name, and which of them are the last name.
fn last_name(name: &str) -> (Range<usize>, Vec<Word>) {
    if let Some((last, first)) = name.split_once(',') {
        let (last, first) = (words_of(last), words_of(first));
        let range = 0..last.len();
        return (range, [last, first].concat());
    }
    let mut all = Vec::new();
    let mut range = 0..0;
    for part in name.split_whitespace() {
        let from = all.len();
        all.extend(words_of(part));
        let is_suffix = all[from..]
            .iter()
            .all(|word| ["jr", "sr", "ii", "iii", "iv", "md", "phd"].contains(&word.text.as_str()));
        if !is_suffix || from == 0 {
            range = from..all.len();
        }
    }
    (range, all)
}

/// Finds a name in a text, each word whole or abbreviated; returns the places of its words, none if the text lacks it.
fn find_abbreviated(name: &[Word], text: &[Word], within: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let mut best = Vec::new();
    let Some(first) = name.first() else { return best };
    let is_like = |word: &Word, of: &Word| {
        word.text == of.text
            || word.text.len() < of.text.len() && abbreviates(&word.text, &of.text)
            || likeness(word, of) > 0.0
    };
    let is_open = |at: &usize| !within(*at) && !text[*at].is_number;
    for start in (0..text.len()).filter(is_open) {
        if !is_like(&text[start], first) {
            continue;
        }
        let mut found = vec![start];
        let mut at = start + 1;
        for of in &name[1..] {
            // A stop word, or a word that the name lacks, may stand between.
            let next = (at..text.len().min(at + 3)).take_while(is_open);
            if let Some(next) = next.into_iter().find(|at| is_like(&text[*at], of)) {
                found.push(next);
                at = next + 1;
            }
        }
        if found.len() > best.len() {
            best = found;
        }
    }
    let letters: usize = best.iter().map(|at| text[*at].text.len()).sum();
    let is_enough = best.len() * 10 >= name.len().min(8) * 6 && letters >= 3;
    if is_enough {
        return best;
    }
    let initials: String = name.iter().filter_map(|word| word.text.chars().next()).collect();
    let is_acronym = |at: &usize| initials.len() > 2 && text[*at].text == initials;
    (0..text.len()).filter(is_open).find(is_acronym).into_iter().collect()
}

/// Keeps the rows with the greatest sums, the best first.
pub(super) fn best_first(rows: &mut Vec<(u32, f32)>, count: usize) {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if count < rows.len() {
        rows.select_nth_unstable_by(count, order);
        rows.truncate(count);
    }
    rows.sort_unstable_by(order);
}
