//! The statements of a citation about the members of an output besides its title.

use std::ops::Range;

use crate::matching::Evidence;
use crate::matching::outputs::candidates::Cited;
use crate::matching::outputs::texts::Texts;
use crate::matching::outputs::titles::{Aligned, Around};
use crate::matching::words::{Word, abbreviates, likeness, words_of};

/// The strength from which on a title suffices without an author.
const TITLE_STRENGTH: f32 = 0.0;

/// How a citation agrees with one member of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stated {
    Same,
    /// A near value: another author, a year off by one.
    Near,
    Nothing,
    Other,
    /// Another value, in a place that tells that it is meant.
    Contradicted,
}

impl Stated {
    fn points(self, of: [f32; 4]) -> f32 {
        of[(self as usize).min(Stated::Other as usize)]
    }

    pub(super) fn evidence(self, what: &'static str) -> Option<Evidence> {
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

/// The statements of a citation about author, year, venue, volume and page of a record.
pub(super) struct Members {
    pub(super) author: Stated,
    pub(super) year: Stated,
    pub(super) venue: Stated,
    pub(super) volume: Stated,
    pub(super) page: Stated,
}

impl Members {
    pub(super) fn points(&self) -> f32 {
        self.author.points(AUTHOR_POINTS)
            + self.year.points(YEAR_POINTS)
            + self.venue.points(VENUE_POINTS)
            + self.volume.points(VOLUME_POINTS)
            + self.page.points(PAGE_POINTS)
    }

    /// Whether the statements and the share of the title decide, without an identifier. `unexplained` counts content words that
    /// neither explains.
    pub(super) fn suffice(
        &self,
        share: f32,
        strength: f32,
        unexplained: usize,
        has_no_title: bool,
    ) -> bool {
        let Members { author, year, venue, volume, page } = *self;
        let points = self.points();
        let is_whole = share >= 0.93;
        let needed =
            2.6 - 0.1 * strength + if !is_whole && page == Stated::Other { 1.0 } else { 0.0 };
        let needed = needed.clamp(1.0, 4.0);
        let is_title_alone = share >= 0.95 && unexplained == 0 && strength >= TITLE_STRENGTH;
        let has_place = [venue, volume, page].contains(&Stated::Same);
        let is_place = [year, venue, volume, page].iter().all(|stated| *stated == Stated::Same);
        let is_by_author = is_whole && author == Stated::Same && year == Stated::Same;
        let is_elsewhere = year == Stated::Other
            || volume == Stated::Contradicted
            || volume == Stated::Other && page == Stated::Other
            || !is_whole && venue == Stated::Other && !has_place;
        let has_title =
            share >= 0.75 && (points >= needed || is_by_author || is_title_alone && points >= 0.0);
        let has_half =
            share >= 0.5 && points >= needed && author == Stated::Same && page == Stated::Same;
        let is_author_alone = has_no_title && author == Stated::Same;
        !is_elsewhere && (has_title || has_half || is_place && (is_author_alone || share >= 0.9))
    }
}

impl Cited<'_, '_> {
    /// Reads the statements about the other members. Also counts the content words behind the title that no member explains.
    pub(super) fn members(
        &self,
        texts: &Texts<'_>,
        aligned: &Aligned,
        is_explained: &mut [bool],
    ) -> (Members, usize) {
        let text = &self.citation.words;
        let within = |at: usize| aligned.window.contains(&at);
        // Each step marks the words that the step explains. Content words that stay unmarked belong to another title or
        // venue.
        let author = self.author(texts, &within, is_explained);
        let year = self.year(texts, &within, is_explained);
        let volume = self.number(texts.volume, &within, is_explained);
        // Issue and last page decide nothing, but explain their numbers.
        self.number(texts.issue, &within, is_explained);
        let page = self.number(texts.first_page, &within, is_explained);
        self.number(texts.last_page, &within, is_explained);
        let has_venue = self.venue(texts, &within, is_explained);
        let around = Around::new(text, &aligned.window, is_explained);
        // A citation that begins with the title names no author, and so contradicts no author.
        let author = match author {
            Stated::Other if around.before == 0 && !self.citation.has_author => Stated::Nothing,
            author => author,
        };
        // Words behind the title name another venue only in a whole citation, or if the client gives a venue.
        let venue = match (texts.venues.is_empty(), has_venue) {
            (_, true) => Stated::Same,
            (false, false) if around.after > 0 && self.citation.may_have_venue => Stated::Other,
            _ => Stated::Nothing,
        };
        // A citation with two numbers or fewer, such as year and volume, leaves numbers out: an absent number
        // contradicts nothing.
        let numbers = text.iter().enumerate().filter(|(at, word)| word.is_number && !within(*at));
        let has_numbers = numbers.count() > 2;
        let absent = |stated| match stated {
            Stated::Other if !has_numbers => Stated::Nothing,
            stated => stated,
        };
        // A volume contradicts the record's in the place of a volume alone.
        let volume = match (volume, &self.citation.volume, texts.volume) {
            (Stated::Other, Some(stated), Some(volume)) if is_other_number(stated, volume) => {
                Stated::Contradicted
            }
            (volume, ..) => absent(volume),
        };
        let members = Members { author, year, venue, volume, page: absent(page) };
        (members, around.after)
    }

    fn author(
        &self,
        texts: &Texts<'_>,
        within: &dyn Fn(usize) -> bool,
        is_explained: &mut [bool],
    ) -> Stated {
        let text = &self.citation.words;
        // A record without authors contradicts no citation.
        let mut stated = if texts.authors.is_empty() { Stated::Nothing } else { Stated::Other };
        for (number, name) in texts.authors.iter().enumerate() {
            let (last, all) = last_name(name);
            let mut is_found = false;
            let last_words = &all[last.clone()];
            for (at, word) in text.iter().enumerate().filter(|(at, _)| !within(*at)) {
                // A mistyped name has at least five letters: shorter names, such as `Li` and `Lu`, differ by a letter.
                let is_last = last_words.iter().any(|of| {
                    of.text == word.text || of.text.len() > 4 && likeness(of, word) > 0.0
                });
                // One letter is an initial, which many names share.
                is_found |= is_last && word.text.len() > 1;
                // First names and initials are explained, but do not tell the author.
                let is_other = all.iter().any(|of| of.text == word.text);
                is_explained[at] |= is_last || is_other;
            }
            if is_found {
                // Citations name the first author; another author alone is weaker evidence.
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
}

/// Whether two volumes are different numbers.
fn is_other_number(a: &str, b: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    matches!((number(a), number(b)), (Some(a), Some(b)) if a != b)
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
