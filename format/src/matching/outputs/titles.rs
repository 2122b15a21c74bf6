//! The title of an output in a citation: its share, its place, and signs of another work.

use std::collections::HashMap;
use std::ops::Range;

use crate::matching::outputs::candidates::Cited;
use crate::matching::outputs::texts::Texts;
use crate::matching::words::{Word, likeness, words_of};

/// Words of a title that are compared.
const TITLE_WORDS_MAX: usize = 60;

/// Weight of the title without its subtitle; the whole title has 1.
const MAIN_TITLE_SHARE: f32 = 0.9;
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

/// A title of a record in a citation.
pub(super) struct Titled {
    pub(super) aligned: Aligned,
    pub(super) title: Vec<Word>,
    /// Whether the subtitle is left out.
    pub(super) is_main: bool,
}

impl Cited<'_, '_> {
    /// The title of a record, with or without its subtitle, of which the citation has most.
    pub(super) fn best_title(&self, texts: &Texts<'_>) -> Option<Titled> {
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

    /// How much of the title the citation has, less for words that continue the title.
    pub(super) fn share_of_title(&self, aligned: &Aligned, continued: usize) -> f32 {
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

    /// Whether the citation means another work with a similar title: a correction, a reply, another part.
    pub(super) fn is_other_work(
        &self,
        title: &[Word],
        aligned: &Aligned,
        is_explained: &[bool],
    ) -> bool {
        let text = &self.citation.words;
        let is_missing = |word: &Word| !self.places.contains_key(word.text.as_str());
        let numerals = title.iter().enumerate().filter(|(at, word)| {
            !aligned.found[*at] && (word.is_number || is_roman(&word.text) && is_missing(word))
        });
        let marked = title.iter().enumerate().filter(|(at, word)| {
            let tells = is_marker(&word.text) || is_negation(&word.text);
            !aligned.found[*at] && tells && is_missing(word)
        });
        // "Data from: On DNA" is not "On DNA".
        let begins_otherwise = title
            .iter()
            .zip(&aligned.found)
            .find(|(word, _)| word.is_content())
            .is_some_and(|(word, is_found)| !is_found && is_missing(word));
        if begins_otherwise || numerals.count() + marked.count() > 0 {
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

/// The types of records that are cited as what they are, each with words of which a citation then has one.
const CITED_TYPES: [(&str, &[&str]); 4] = [
    (
        "dataset",
        &[
            "data",
            "dataset",
            "datasets",
            "database",
            "dryad",
            "figshare",
            "zenodo",
            "dataverse",
            "pangaea",
            "osf",
        ],
    ),
    ("peer-review", &["review", "referee"]),
    ("software", &["software", "code", "package", "program", "zenodo", "github", "version"]),
    ("supplementary-materials", &["supplement", "supplementary", "figshare", "additional"]),
];

impl Cited<'_, '_> {
    /// Whether the record is of a type that the citation does not speak of, so that it means the article of the same title.
    pub(super) fn is_other_type(&self, texts: &Texts<'_>, has_venue: bool) -> bool {
        let named = CITED_TYPES.iter().find(|(kind, _)| texts.kind == Some(kind));
        !has_venue
            && named
                .is_some_and(|(_, words)| words.iter().all(|word| !self.places.contains_key(word)))
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
pub(super) struct Aligned {
    /// The weight of all words of the title.
    pub(super) weight: f32,
    /// How much of the title the citation has, from 0 to 1.
    pub(super) share: f32,
    /// The bits that the words found tell.
    pub(super) bits: f32,
    /// The words of the citation from the first to the last of the title.
    pub(super) window: Range<usize>,
    /// The words of the citation that are words of the title.
    pub(super) places: Vec<usize>,
    /// By word of the title.
    pub(super) found: Vec<bool>,
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
                // A word that only one side has costs a third of its weight: citations leave words out, and add some.
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
            // A hit takes one or two words of each side, so it sets a cell that is still ahead.
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
        // From the best end back to the cell where the score began: these steps are the alignment.
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
        // Other words between those of the title make the share smaller: scattered words are no title.
        let inserted = self.window.clone().filter(|at| !self.places.contains(at));
        let inserted: f32 = inserted.map(|at| text[at].weight()).sum();
        self.share = matched / (self.weight + 0.5 * inserted);
    }
}

/// The content words beside a title that the record does not explain.
pub(super) struct Around {
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Around {
    pub(super) fn new(text: &[Word], window: &Range<usize>, is_explained: &[bool]) -> Around {
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
