//! Decides which institutions an affiliation names.
//!
//! ```text
//! affiliation   "Dept. of Chemistry, Univ. of Chicago, Chicago, IL; Argonne National Laboratory"
//! rows          that share the rarest words, by the words of names
//! names         whole, in order; abbreviated; or all words within one segment: "univ … chicago", "argonne national laboratory"
//! place         city and country of the record: stated, or contradicted by another country
//! decision      the longest name of each place in the text; a parent gives way to its child
//! ```

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use crate::autocomplete::Identifier;
use crate::entity::Entity;
use crate::index::dictionary::EntryRows;
use crate::matching::countries::{NAME_WORDS_MAX, country_code, country_of};
use crate::matching::outputs::best_first;
use crate::matching::words::{Word, abbreviates, likeness};
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question, identified};
use crate::query::{Deadline, QueryError};
use crate::record::Institution;
use crate::record::gather::{Gather, Gathered, PathTree, find_path};
use crate::record::schema_of;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::fold::fold;

/// Words of an affiliation that are read.
const TOKENS_MAX: usize = 300;
/// Words of a segment from which on parts of it are windows too, and the words of a part.
const LONG_SEGMENT: usize = 6;
const PART_WORDS: usize = 4;
/// Rows of a word from which on the rows of other words are looked up among them.
const FEW_ROWS: u32 = 1_000;
/// Greatest number of rows of a word that is read beside another word.
const MANY_ROWS: usize = 5_000;
/// Rows of a window's rarest words that are read.
const WINDOW_ROWS: usize = 600;
/// Rows of a window that are looked up in the lists of its other words.
const WINDOW_LOOKED_UP: usize = 600;
/// Rows of a window whose own names are compared with the words of the text.
const WINDOW_NAMES: usize = 100;
/// Penalty in bits for a word of the own name that the text lacks.
const BITS_LACKING: f32 = 2.0;
/// Records of a window that are read.
const WINDOW_READ: usize = 12;
/// Bits that a name tells from which on its place need not be stated.
const BITS_ALONE: f32 = 9.0;
/// Bits that one word of such a name tells: words of departments tell less.
const BITS_RARE: f32 = 8.0;
/// How well a part of a name agrees.
const QUALITY_PARTIAL: f32 = 0.65;
/// Bonus in bits for the own name over alternative names.
const BITS_OWN: f32 = 1.2;
/// Bits that a name of one word tells at least, with its city.
const BITS_ACRONYM: f32 = 9.0;
/// Bits that a name tells at least, with its place.
const BITS_PLACED: f32 = 6.0;

const MEMBERS: [&str; 7] = [
    "name",
    "display_name_acronyms",
    "display_name_alternatives",
    "geo.city",
    "country.code",
    "associated_institutions.id",
    "associated_institutions.relationship",
];
const NAME: usize = 0;
const ACRONYM: usize = 1;
const ALTERNATIVE: usize = 2;
const CITY: usize = 3;
const COUNTRY: usize = 4;
const RELATED: usize = 5;
const RELATIONSHIP: usize = 6;

static TREE: LazyLock<PathTree> = LazyLock::new(|| {
    let schema = schema_of(Entity::Institution);
    let mut tree = PathTree::default();
    for (end, path) in MEMBERS.iter().enumerate() {
        let Some(found) = find_path(&schema, path) else { panic!("no member `{path}`") };
        tree.add(&found.path, end);
    }
    tree
});

/// Words for one thing in several languages, and their abbreviations. The first word of a group replaces the others.
const SAME: [&[&str]; 12] = [
    &[
        "university",
        "univ",
        "universitat",
        "universitaet",
        "universite",
        "universidad",
        "universidade",
        "universita",
        "universiteit",
        "univerzita",
        "uniwersytet",
        "universitet",
        "universiti",
        "universitas",
        "univerzitet",
        "sveuciliste",
        "universitatea",
        "uni",
    ],
    &["institute", "institut", "instituto", "istituto", "inst", "instytut", "institutet"],
    &["hospital", "hospitals", "hopital", "hospitalier", "hosp", "ospedale"],
    &["center", "centre", "centro", "zentrum", "centrum", "ctr", "cntr"],
    &["national", "nacional", "nationale", "nazionale", "natl"],
    &["academy", "academia", "academie", "akademie", "acad"],
    &["sciences", "science", "sci", "ciencias", "scienze", "wissenschaften"],
    &["medical", "med", "medicine", "medica", "medicale", "medizinische"],
    &["technology", "tech", "technol", "tecnologia", "technologie", "technological"],
    &["technical", "technische", "tecnica", "technicka", "techniczny", "techniczna", "technique"],
    &["general", "generale", "allgemeines"],
    &["regional", "regionale"],
];

/// Words between the words of names. The stop words of all languages would include `para` and `mit`.
const BETWEEN: [&str; 38] = [
    "a", "al", "am", "and", "at", "d", "da", "das", "de", "del", "della", "der", "des", "di",
    "die", "do", "dos", "du", "e", "el", "en", "et", "for", "fur", "im", "in", "l", "la", "le",
    "les", "los", "of", "the", "und", "van", "von", "y", "zu",
];

/// Words of the faculties of a university, which are no institutions of their own.
const FACULTY: [&str; 18] = [
    "business",
    "college",
    "dental",
    "dentistry",
    "division",
    "engineering",
    "faculty",
    "graduate",
    "health",
    "law",
    "medical",
    "nursing",
    "pharmacy",
    "public",
    "school",
    "sciences",
    "social",
    "veterinary",
];

/// First words of segments that name a part of an institution.
const DEPARTMENTS: [&str; 7] =
    ["department", "departments", "dept", "division", "section", "service", "unit"];

/// Compounds of two words.
const COMPOUNDS: [(&str, [&str; 2]); 8] = [
    ("universitatsklinikum", ["university", "hospital"]),
    ("universitaetsklinikum", ["university", "hospital"]),
    ("universitatsklinik", ["university", "hospital"]),
    ("universitatskliniken", ["university", "hospital"]),
    ("uniklinik", ["university", "hospital"]),
    ("uniklinikum", ["university", "hospital"]),
    ("universitatsspital", ["university", "hospital"]),
    ("universitetssjukhuset", ["university", "hospital"]),
];

/// The folded words of a text, compounds as two words.
fn split(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let compound = COMPOUNDS.iter().find(|(compound, _)| *compound == word);
        let parts = compound.map(|(_, parts)| *parts);
        let whole = parts.is_none().then_some(word);
        whole.into_iter().chain(parts.into_iter().flatten())
    })
}

/// The word that stands for a word and its likes.
fn common(word: &str) -> &str {
    static WORDS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let groups = SAME.iter();
        groups.flat_map(|group| group.iter().map(|word| (*word, group[0]))).collect()
    });
    WORDS.get(word).copied().unwrap_or(word)
}

/// A word of the affiliation that says something.
struct Token {
    word: Word,
    /// As it stands in the text.
    folded: String,
    segment: usize,
    /// Whether a word such as `of` stands before.
    is_after_between: bool,
}

/// An affiliation, read once for all candidates.
struct Affiliation {
    tokens: Vec<Token>,
    places: HashMap<String, Vec<usize>>,
    /// Folded words in capitals, where not all words are.
    capitals: HashSet<String>,
    countries: Vec<&'static str>,
    /// The folded text, with spaces around each word.
    folded: String,
    identifiers: Vec<Identifier>,
}

impl Affiliation {
    fn new(text: &str, country: Option<&str>) -> Affiliation {
        let text = text.replace("#R#", ";").replace("#TAB#", " ").replace("#N#", ";");
        let mut tokens = Vec::new();
        let mut countries = Vec::new();
        let mut folded_text = String::from(" ");
        let is_separator = |c: char| ";,|/()[]:\n\t".contains(c);
        let mut segment = 0;
        for part in text.split_inclusive(is_separator) {
            let folded = fold(part);
            let words: Vec<&str> = split(&folded).collect();
            // A country stands at the end of a segment, perhaps before a postal code.
            let end = words.iter().rposition(|word| !word.bytes().any(|b| b.is_ascii_digit()));
            let words_before = &words[..end.map_or(0, |end| end + 1)];
            let found = (1..=NAME_WORDS_MAX.min(words_before.len())).rev().find_map(|count| {
                let name = &words_before[words_before.len() - count..];
                // Codes of states are whole segments.
                let is_code = count == 1 && name[0].len() == 2;
                let is_known = !is_code || words_before.len() == 1 || name[0] == "uk";
                country_of(&name.join(" ")).filter(|_| is_known)
            });
            countries.extend(found);
            // The state has the name of the country.
            countries.extend(found.filter(|code| *code == "GE").map(|_| "US"));
            let mut is_after_between = true;
            for word in words {
                folded_text.push_str(word);
                folded_text.push(' ');
                let is_between = BETWEEN.binary_search(&word).is_ok();
                if !is_between && tokens.len() < TOKENS_MAX {
                    let (shared, folded) = (Word::new(common(word)), word.to_owned());
                    tokens.push(Token { word: shared, folded, segment, is_after_between });
                }
                is_after_between = is_between;
            }
            // Names do not go on behind a semicolon.
            segment += if part.ends_with([';', '|', '\n']) { 2 } else { 1 };
        }
        if let Some(country) = country {
            countries = country_code(country).into_iter().collect();
        }
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let capitals = text.chars().filter(|c| c.is_uppercase()).count();
        let mut of_capitals = HashSet::new();
        let mut identifiers = Vec::new();
        for chunk in text.split(|c: char| c.is_whitespace() || ",;()".contains(c)) {
            let is_capital = chunk.chars().all(|c| !c.is_lowercase());
            if capitals * 2 < letters && is_capital && chunk.len() > 1 {
                of_capitals.insert(fold(chunk));
            }
            let is_named = chunk.contains("ror.org/") || chunk.contains("openalex.org/");
            identifiers.extend(Identifier::parse(chunk).filter(|_| is_named));
        }
        if capitals * 2 >= letters && tokens.len() <= 2 {
            // A text that is an acronym alone.
            of_capitals.extend(tokens.iter().map(|token| token.folded.clone()));
        }
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, token) in tokens.iter().enumerate() {
            places.entry(token.word.text.clone()).or_default().push(at);
        }
        Affiliation {
            tokens,
            places,
            capitals: of_capitals,
            countries,
            folded: folded_text,
            identifiers,
        }
    }

    /// How many telling words of a folded name the text lacks, and how many there are.
    fn lacks(&self, folded: &str) -> (usize, usize) {
        let telling = split(folded).filter(|word| BETWEEN.binary_search(word).is_err());
        telling.fold((0, 0), |(lacking, all), word| {
            (lacking + usize::from(!self.places.contains_key(common(word))), all + 1)
        })
    }

    /// Whether a token is its segment, or is followed by a number such as that of a unit.
    fn stands_alone(&self, at: usize) -> bool {
        let segment = self.tokens[at].segment;
        let begins = at == 0 || self.tokens[at - 1].segment != segment;
        let next = self.tokens.get(at + 1).filter(|next| next.segment == segment);
        begins && next.is_none_or(|next| next.folded.bytes().any(|byte| byte.is_ascii_digit()))
    }

    /// Whether the text has a folded name, as whole words.
    fn has_words(&self, folded: &str) -> bool {
        !folded.is_empty() && self.folded.contains(&format!(" {folded} "))
    }
}

/// Names and place of a record.
#[derive(Default)]
struct Names<'s> {
    names: Vec<&'s str>,
    acronyms: Vec<&'s str>,
    city: Option<&'s str>,
    country: Option<u32>,
    related: Vec<(u32, Option<u32>)>,
}

impl<'s> Names<'s> {
    fn read(snapshot: &'s Snapshot, row: u32) -> Result<Names<'s>, ReadError> {
        let mut names = Names::default();
        let Some(mut from) = snapshot.reader(Entity::Institution, row)? else { return Ok(names) };
        Institution::gather(&mut from, &TREE, &mut |end, value| match (end, value) {
            (NAME | ALTERNATIVE, Gathered::Text(name)) => names.names.push(name),
            (ACRONYM, Gathered::Text(name)) => names.acronyms.push(name),
            (CITY, Gathered::Text(city)) => names.city = Some(city),
            (COUNTRY, Gathered::Code(code)) => names.country = Some(code),
            (RELATED, Gathered::Reference(_, row)) => names.related.push((row, None)),
            (RELATIONSHIP, Gathered::Code(code)) => {
                names.related.last_mut().into_iter().for_each(|last| last.1 = Some(code));
            }
            _ => {}
        })?;
        Ok(names)
    }
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
    is_acronym: bool,
    has_city: bool,
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
        let order = if self.quality > 0.75 { 4.0 } else { 0.0 };
        self.bits + country + city + order
    }

    fn is_sure(&self) -> bool {
        let is_placed = self.has_city || self.has_country == Some(true);
        self.has_country != Some(false)
            && match self.is_acronym {
                true => self.has_city && self.bits >= BITS_ACRONYM,
                false if is_placed => self.bits >= BITS_PLACED,
                false => self.bits >= BITS_ALONE && self.rarest >= BITS_RARE,
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
    let (rows, bits) = rows(snapshot, &affiliation)?;
    let mut found = Vec::new();
    for row in rows {
        deadline.check()?;
        found.extend(best_name(snapshot, row, &affiliation, &bits)?);
    }
    Ok(decide(found, &affiliation.tokens))
}

/// The rows of a word of the text.
enum WordRows<'s> {
    None,
    /// Ascending.
    Few(Vec<u32>),
    Many(EntryRows<'s>),
}

impl WordRows<'_> {
    fn count(&self) -> usize {
        match self {
            WordRows::None => 0,
            WordRows::Few(rows) => rows.len(),
            WordRows::Many(rows) => rows.count() as usize,
        }
    }

    fn each(&self, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        match self {
            WordRows::None => Ok(()),
            WordRows::Few(rows) => {
                rows.iter().copied().for_each(visit);
                Ok(())
            }
            WordRows::Many(rows) => rows.each(&mut visit),
        }
    }

    fn has(&self, row: u32) -> Result<bool, ReadError> {
        match self {
            WordRows::None => Ok(false),
            WordRows::Few(rows) => Ok(rows.binary_search(&row).is_ok()),
            WordRows::Many(EntryRows::Postings(list)) => {
                Ok(list.view(row >> 16)?.contains(row as u16))
            }
            WordRows::Many(EntryRows::Inline(_)) => Ok(false),
        }
    }
}

/// The rows whose names share most with a segment, or with two neighbours, and the bits of each word of the text.
fn rows(
    snapshot: &Snapshot,
    affiliation: &Affiliation,
) -> Result<(Vec<u32>, Vec<f32>), QueryError> {
    let dictionary = snapshot.words(Entity::Institution)?;
    let all = f64::from(snapshot.count(Entity::Institution).max(1));
    let tokens = &affiliation.tokens;
    let mut bits = vec![0.0; tokens.len()];
    let mut words: Vec<WordRows<'_>> = Vec::with_capacity(tokens.len());
    // By token: the place of its word in `words`.
    let mut places = Vec::with_capacity(tokens.len());
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(first) = known.get(token.word.text.as_str()) {
            bits[at] = bits[*first];
            places.push(places[*first]);
            continue;
        }
        // Looks a replaced word up as its English form.
        let cursor = dictionary.seek(token.word.text.as_bytes())?;
        let entry = cursor.current().filter(|(text, _)| *text == token.word.text.as_bytes());
        let rows = match entry {
            None => WordRows::None,
            Some((_, rows)) => {
                let count = rows.count().max(1);
                bits[at] = (all / f64::from(count)).log2().max(0.1) as f32;
                match &rows {
                    EntryRows::Postings(list) if list.count() > FEW_ROWS => WordRows::Many(rows),
                    _ => {
                        let mut few = Vec::with_capacity(count as usize);
                        rows.each(|row| few.push(row))?;
                        WordRows::Few(few)
                    }
                }
            }
        };
        known.insert(&token.word.text, at);
        places.push(words.len());
        words.push(rows);
    }
    let segments = tokens.last().map_or(0, |last| last.segment + 1);
    let mut found: Vec<u32> = Vec::new();
    let mut read: Vec<(u32, f32)> = Vec::new();
    // By row: the words of the own name that the text lacks. Windows share rows.
    let mut lacking: HashMap<u32, usize> = HashMap::new();
    for (from, to) in windows(tokens, segments) {
        let mut window: Vec<usize> = Vec::with_capacity(to - from);
        for at in from..to {
            if window.iter().all(|known| places[*known] != places[at]) && bits[at] > 0.0 {
                window.push(at);
            }
        }
        window.sort_by(|a, b| bits[*b].total_cmp(&bits[*a]));
        // The rows of the rarest words are read, and looked up in the lists of the others.
        read.clear();
        let mut others = window.as_slice();
        while let Some((at, rest)) = others.split_first() {
            let count = words[places[*at]].count();
            if !read.is_empty() && read.len() + count > WINDOW_ROWS || count > MANY_ROWS {
                break;
            }
            words[places[*at]].each(|row| read.push((row, bits[*at])))?;
            others = rest;
        }
        read.sort_unstable_by_key(|(row, _)| *row);
        let mut best: Vec<(u32, f32)> = Vec::with_capacity(read.len());
        for (row, bits) in &read {
            match best.last_mut() {
                Some((last, sum)) if last == row => *sum += bits,
                _ => best.push((*row, *bits)),
            }
        }
        best_first(&mut best, WINDOW_LOOKED_UP);
        for at in others {
            for (row, sum) in &mut best {
                *sum += if words[places[*at]].has(*row)? { bits[*at] } else { 0.0 };
            }
        }
        best.retain(|(row, sum)| {
            *sum >= BITS_PLACED && !snapshot.suppressed().has(Entity::Institution, *row)
        });
        if best.len() > WINDOW_READ {
            best_first(&mut best, WINDOW_NAMES);
            for (row, sum) in &mut best {
                let words = match lacking.get(row) {
                    Some(words) => *words,
                    None => {
                        let name =
                            snapshot.row_name(Entity::Institution, *row)?.unwrap_or_default();
                        let words = affiliation.lacks(&fold(name)).0;
                        lacking.insert(*row, words);
                        words
                    }
                };
                *sum -= BITS_LACKING * words as f32;
            }
        }
        best_first(&mut best, WINDOW_READ);
        found.extend(best.into_iter().map(|(row, _)| row));
    }
    found.sort_unstable();
    found.dedup();
    Ok((found, bits))
}

/// The tokens of each segment, of each two neighbours, and of the parts of a long segment.
fn windows(tokens: &[Token], segments: usize) -> Vec<(usize, usize)> {
    let mut windows = Vec::new();
    let place_of = |segment: usize| tokens.partition_point(|token| token.segment < segment);
    for segment in 0..segments {
        let (from, to, next) = (place_of(segment), place_of(segment + 1), place_of(segment + 2));
        if from == to {
            continue;
        }
        // A department is no institution, unless the segment goes on with its name.
        let is_department = DEPARTMENTS.contains(&tokens[from].word.text.as_str());
        if is_department && to - from < LONG_SEGMENT {
            continue;
        }
        windows.push((from, to));
        if to < next {
            windows.push((from, next));
        }
        if to - from >= LONG_SEGMENT {
            windows.extend((from..=to - PART_WORDS).map(|at| (at, at + PART_WORDS)));
        }
    }
    windows
}

/// The name of a record that the text has, the one that tells most.
fn best_name(
    snapshot: &Snapshot,
    row: u32,
    affiliation: &Affiliation,
    bits: &[f32],
) -> Result<Option<Found>, ReadError> {
    let names = Names::read(snapshot, row)?;
    let mut best: Option<(Range<usize>, f32, f32, bool)> = None;
    let mut offer = |place: Option<(Range<usize>, f32, f32)>, is_acronym: bool| {
        if let Some((span, bits, quality)) = place
            && best.as_ref().is_none_or(|(_, known, ..)| bits > *known)
        {
            best = Some((span, bits, quality, is_acronym));
        }
    };
    // The own name comes first, and tells a little more than an equal other name.
    for name in &names.names {
        let outside = name.split_once(" (").map(|(outside, _)| outside);
        for name in [Some(*name), outside].into_iter().flatten() {
            let folded = fold(name);
            let (lacking, all) = affiliation.lacks(&folded);
            if lacking * 2 > all {
                continue;
            }
            let mut words = words_of_name(&folded);
            let is_acronym = words.len() == 1 && name.chars().all(|c| !c.is_lowercase());
            let is_known = || affiliation.capitals.contains(&words[0].word.text) && name.len() > 2;
            if is_acronym && !is_known() {
                continue;
            }
            // A name that is its city says nothing.
            let is_own = names.names.first() == Some(&name);
            let is_city = words.len() == 1 && names.city.is_some_and(|city| fold(city) == folded);
            if !is_city {
                let mut place = place_of(&words, affiliation, bits);
                let ends_with_city = words.len() > 2
                    && names.city.is_some_and(|city| {
                        words.last().is_some_and(|last| last.word.text == fold(city))
                    });
                if place.is_none() && ends_with_city {
                    words.pop();
                    place = place_of(&words, affiliation, bits);
                }
                let place = place.map(|(span, told, quality)| {
                    (span, if is_own { told + BITS_OWN } else { told }, quality)
                });
                offer(place, is_acronym || words.len() == 1);
            }
        }
    }
    for acronym in &names.acronyms {
        let words = words_of_name(&fold(acronym));
        let is_long = acronym.len() > 2 && country_of(&fold(acronym)).is_none();
        if words.len() == 1 && is_long && affiliation.capitals.contains(&words[0].word.text) {
            let place = place_of(&words, affiliation, bits);
            offer(place.filter(|(span, ..)| affiliation.stands_alone(span.start)), true);
        }
    }
    if best.is_none() && names.city.is_some_and(|city| affiliation.has_words(&fold(city))) {
        let partial = names
            .names
            .iter()
            .find_map(|name| partial_place_of(&words_of_name(&fold(name)), affiliation, bits));
        best = partial.map(|(span, told)| (span, told * QUALITY_PARTIAL, QUALITY_PARTIAL, false));
    }
    let Some((span, told, quality, is_acronym)) = best else { return Ok(None) };
    let rarest = bits[span.clone()].iter().copied().fold(0.0, f32::max);
    let has_city = names.city.is_some_and(|city| affiliation.has_words(&fold(city)));
    let country = names.country.map(|code| snapshot.code(code)).transpose()?;
    let has_country = match (country, affiliation.countries.is_empty()) {
        (Some(code), false) => {
            Some(affiliation.countries.iter().any(|known| known.eq_ignore_ascii_case(code)))
        }
        _ => None,
    };
    let mut parents = Vec::new();
    for (row, relationship) in &names.related {
        let is_parent = match relationship {
            Some(code) => snapshot.code(*code)? == "parent",
            None => false,
        };
        parents.extend(is_parent.then_some(*row));
    }
    Ok(Some(Found {
        row,
        span,
        bits: told,
        quality,
        rarest,
        is_acronym,
        has_city,
        has_country,
        parents,
    }))
}

/// A word of a name.
struct NameWord {
    word: Word,
    /// Whether a word such as `of` stands before.
    is_after_between: bool,
}

/// The words of a folded name that say something.
fn words_of_name(folded: &str) -> Vec<NameWord> {
    let mut words = Vec::new();
    let mut is_after_between = true;
    for word in split(folded) {
        let is_between = BETWEEN.binary_search(&word).is_ok();
        if !is_between {
            words.push(NameWord { word: Word::new(common(word)), is_after_between });
        }
        is_after_between = is_between;
    }
    words
}

/// Where the text has a name: the tokens, the bits that they tell, and how well they agree.
fn place_of(
    name: &[NameWord],
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<(Range<usize>, f32, f32)> {
    let tokens = &affiliation.tokens;
    let first = &name.first()?.word;
    let mut best: Option<(Range<usize>, f32, f32)> = None;
    // In order, one word after the other. A name of one word has no mistakes.
    let is_near = |at: &usize| {
        let word = &tokens[*at].word;
        word.text == first.text || name.len() > 1 && agreement(word, first) > 0.0
    };
    for start in (0..tokens.len()).filter(is_near) {
        let Some(run) = tokens.get(start..start + name.len()) else { break };
        let mut quality = 1.0_f32;
        let mut is_other_order = false;
        for (at, (token, of)) in run.iter().zip(name).enumerate() {
            let found = agreement(&token.word, &of.word);
            quality = if found > 0.0 { quality.min(found) } else { 0.0 };
            if quality == 0.0 {
                break;
            }
            // "Massey University Auckland" has no University of Auckland.
            let is_within = at > 0 && token.segment == run[at - 1].segment;
            is_other_order |=
                is_within && of.is_after_between && !token.is_after_between && at == 1;
        }
        let segment = run[0].segment;
        let is_cut = run.array_windows::<2>().any(|[a, b]| b.segment > a.segment + 1);
        if quality == 0.0 || is_cut {
            continue;
        }
        let begins = start == 0 || tokens[start - 1].segment != segment;
        if run.iter().any(|token| token.segment != segment) {
            quality *= if begins { 0.95 } else { 0.6 };
        }
        if is_other_order {
            quality *= if begins || run[0].is_after_between { 0.9 } else { 0.5 };
        }
        let told: f32 = bits[start..start + name.len()].iter().sum();
        if best.as_ref().is_none_or(|(_, known, _)| told * quality > *known) {
            best = Some((start..start + name.len(), told * quality, quality));
        }
    }
    if best.is_some() || name.len() < 2 {
        return best;
    }
    // In any order, within one segment.
    let mut at = Vec::with_capacity(name.len());
    let segment_of = |place: &usize| tokens[*place].segment;
    let places = affiliation.places.get(&first.text)?;
    for segment in places.iter().map(segment_of) {
        at.clear();
        for of in name {
            let places = affiliation.places.get(&of.word.text).into_iter().flatten();
            let free = |place: &&usize| segment_of(place) == segment && !at.contains(*place);
            match places.copied().find(|place| free(&place)) {
                Some(place) => at.push(place),
                None => break,
            }
        }
        if at.len() == name.len() {
            let told: f32 = at.iter().map(|at| bits[*at]).sum();
            let from = at.iter().copied().min()?;
            let to = at.iter().copied().max()? + 1;
            // Words between the words of the name make it another name.
            let density = name.len() as f32 / (to - from) as f32;
            let quality = 0.7 * density;
            if density < 1.0 {
                continue;
            }
            best = Some((from..to, told * quality, quality));
        }
    }
    best
}

/// A segment that is a part of a longer name: `university jena` of `friedrich schiller university jena`.
fn partial_place_of(
    name: &[NameWord],
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<(Range<usize>, f32)> {
    let tokens = &affiliation.tokens;
    let mut from = 0;
    while from < tokens.len() {
        let segment = tokens[from].segment;
        let to = tokens.partition_point(|token| token.segment <= segment);
        let has = |at: usize| name.iter().any(|of| of.word.text == tokens[at].word.text);
        let told: f32 = bits[from..to].iter().sum();
        let has_university = || (from..to).any(|at| tokens[at].word.text == SAME[0][0]);
        if to - from >= 2 && told >= BITS_PLACED && has_university() && (from..to).all(has) {
            return Some((from..to, told));
        }
        from = to;
    }
    None
}

/// How well a word of the text agrees with a word of a name.
fn agreement(word: &Word, of: &Word) -> f32 {
    if word.text == of.text {
        return 1.0;
    }
    let is_short = word.text.len() > 2 && word.text.len() < of.text.len();
    if is_short && of.text.starts_with(&word.text) && abbreviates(&word.text, &of.text) {
        return 0.85;
    }
    if of.text.len() > 4 { 0.95 * likeness(word, of) } else { 0.0 }
}

/// Orders the names found, and decides which are sure.
fn decide(mut found: Vec<Found>, tokens: &[Token]) -> Vec<Candidate> {
    // A faculty gives way to its university, if the text and the snapshot have it.
    let is_faculty = |of: &Found, university: &Found| {
        let (a, b) = (&of.span, &university.span);
        let is_within = a.start == b.start && b.end < a.end;
        let word = |at: usize| tokens[at].word.text.as_str();
        let mut others = (b.end..a.end).map(word);
        let is_named = others.clone().any(|word| ["college", "faculty", "school"].contains(&word));
        is_within
            && is_named
            && university.quality >= 0.95
            && b.clone().map(word).any(|word| word == SAME[0][0])
            && others.all(|word| FACULTY.binary_search(&word).is_ok())
    };
    let faculties: Vec<bool> = found
        .iter()
        .map(|of| found.iter().any(|other| other.is_sure() && is_faculty(of, other)))
        .collect();
    let mut faculties = faculties.into_iter();
    found.retain(|_| !faculties.next().unwrap_or(false));
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
    // The sure ones in the order of the text.
    order.sort_by_key(|(is_unsure, at)| {
        (*is_unsure, if *is_unsure { *at } else { found[*at].span.start }, *at)
    });
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
