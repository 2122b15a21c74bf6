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
use crate::matching::countries::{NAME_WORDS_MAX, country_of};
use crate::matching::words::{Word, abbreviates, likeness};
use crate::matching::{CANDIDATES_MAX, Candidate, Evidence, Question};
use crate::query::{Deadline, QueryError};
use crate::record::Institution;
use crate::record::gather::{Gather, Gathered, PathTree, find_path};
use crate::record::schema_of;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;
use crate::text::fold::fold;

/// Rows of a word from which on the rows of other words are looked up among them.
const FEW_ROWS: u32 = 1_000;
/// Rows of a window whose frequent words are looked up.
const WINDOW_ROWS: usize = 100;
/// Records of a window that are read.
const WINDOW_READ: usize = 8;
/// Bits that a name tells from which on its place need not be stated.
const BITS_ALONE: f32 = 14.0;
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

/// Words for one thing in several languages, and their abbreviations: the first of each group stands for all.
const SAME: [&[&str]; 9] = [
    &[
        "university", "univ", "universitat", "universitaet", "universite", "universidad",
        "universidade", "universita", "universiteit", "univerzita", "uniwersytet", "universitet",
        "universiti", "universitas", "univerzitet", "sveuciliste", "universitatea", "uni",
    ],
    &["institute", "institut", "instituto", "istituto", "inst", "instytut", "institutet"],
    &["hospital", "hospitals", "hopital", "hospitalier", "hosp", "ospedale"],
    &["center", "centre", "centro", "zentrum", "centrum", "ctr", "cntr"],
    &["national", "nacional", "nationale", "nazionale", "natl"],
    &["academy", "academia", "academie", "akademie", "acad"],
    &["sciences", "science", "sci", "ciencias", "scienze", "wissenschaften"],
    &["medical", "med", "medicine", "medica", "medicale", "medizinische"],
    &["technology", "tech", "technol", "tecnologia", "technologie", "technological"],
];

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
            let words: Vec<&str> = folded.split(' ').filter(|word| !word.is_empty()).collect();
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
            for word in words {
                folded_text.push_str(word);
                folded_text.push(' ');
                let shared = Word::new(common(word));
                if !shared.is_stop && tokens.len() < 300 {
                    tokens.push(Token { word: shared, folded: word.to_owned(), segment });
                }
            }
            // Names do not go on behind a semicolon.
            segment += if part.ends_with([';', '|', '\n']) { 2 } else { 1 };
        }
        if let Some(country) = country {
            let folded = fold(country);
            let code = country.trim().to_ascii_uppercase();
            let code = NAMED_CODES.iter().find(|known| **known == code).copied();
            countries = code.or_else(|| country_of(&folded)).into_iter().collect();
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

    /// Whether the text has a folded name, as whole words.
    fn has_words(&self, folded: &str) -> bool {
        !folded.is_empty() && self.folded.contains(&format!(" {folded} "))
    }
}

/// Codes of countries, as the part `country` gives them.
static NAMED_CODES: LazyLock<Vec<&'static str>> = LazyLock::new(crate::matching::countries::codes);

/// What of a record's names and place is read.
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
        self.bits + country + if self.has_city { 4.0 } else { 0.0 }
    }

    fn is_sure(&self) -> bool {
        let is_placed = self.has_city || self.has_country == Some(true);
        self.has_country != Some(false)
            && match self.is_acronym {
                true => self.has_city && self.bits >= BITS_ACRONYM,
                false => self.bits >= if is_placed { BITS_PLACED } else { BITS_ALONE },
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
        for (_, rows) in identifier.find_rows(snapshot, &[Entity::Institution])? {
            let evidence = Evidence { what: "identifier", agrees: true };
            let candidate = |row| Candidate {
                row,
                score: 1.0,
                is_match: rows.len() == 1,
                why: vec![evidence],
            };
            return Ok(rows.iter().copied().map(candidate).take(CANDIDATES_MAX).collect());
        }
    }
    let (rows, bits) = rows(snapshot, &affiliation)?;
    let mut found = Vec::new();
    for row in rows {
        deadline.check()?;
        found.extend(best_name(snapshot, row, &affiliation, &bits)?);
    }
    Ok(decide(found))
}

/// The rows of a word of the text.
enum WordRows<'s> {
    None,
    /// Ascending.
    Few(Vec<u32>),
    Many(EntryRows<'s>),
}

impl WordRows<'_> {
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
        // A word that stands for many is looked up as its English form.
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
    let mut sums: HashMap<u32, f32> = HashMap::new();
    for (first, last) in (0..segments).flat_map(|at| [(at, at), (at, at + 1)]) {
        let from = tokens.partition_point(|token| token.segment < first);
        let to = tokens.partition_point(|token| token.segment <= last);
        // Of neighbours both must have words, or the window is known.
        let is_one = first == last;
        if from == to || !is_one && (tokens[from].segment != first || tokens[to - 1].segment != last)
        {
            continue;
        }
        sums.clear();
        let mut seen = Vec::new();
        let window = (from..to).filter(|at| {
            let is_new = !seen.contains(&places[*at]);
            seen.push(places[*at]);
            is_new
        });
        let window: Vec<usize> = window.collect();
        for at in &window {
            if let WordRows::Few(rows) = &words[places[*at]] {
                rows.iter().for_each(|row| *sums.entry(*row).or_default() += bits[*at]);
            }
        }
        let mut best: Vec<(u32, f32)> = sums.drain().collect();
        best_first(&mut best, WINDOW_ROWS);
        for at in &window {
            let word = &words[places[*at]];
            if matches!(word, WordRows::Many(_)) {
                for (row, sum) in &mut best {
                    *sum += if word.has(*row)? { bits[*at] } else { 0.0 };
                }
            }
        }
        best.retain(|(row, sum)| {
            *sum >= BITS_PLACED && !snapshot.suppressed().has(Entity::Institution, *row)
        });
        best_first(&mut best, WINDOW_READ);
        found.extend(best.into_iter().map(|(row, _)| row));
    }
    found.sort_unstable();
    found.dedup();
    Ok((found, bits))
}

/// Keeps the rows with the greatest sums, the best first.
fn best_first(rows: &mut Vec<(u32, f32)>, count: usize) {
    rows.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    rows.truncate(count);
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
    for name in &names.names {
        let outside = name.split_once(" (").map(|(outside, _)| outside);
        for name in [Some(*name), outside].into_iter().flatten() {
            let words = words_of_name(name);
            let is_acronym = words.len() == 1 && name.chars().all(|c| !c.is_lowercase());
            let is_known = || affiliation.capitals.contains(&words[0].text) && name.len() > 2;
            if is_acronym && !is_known() {
                continue;
            }
            // A name that is its city says nothing.
            let is_city = words.len() == 1 && names.city.is_some_and(|city| fold(city) == fold(name));
            if !is_city {
                offer(place_of(&words, affiliation, bits), is_acronym || words.len() == 1);
            }
        }
    }
    for acronym in &names.acronyms {
        let words = words_of_name(acronym);
        let is_long = acronym.len() > 2 && country_of(&fold(acronym)).is_none();
        if words.len() == 1 && is_long && affiliation.capitals.contains(&words[0].text) {
            offer(place_of(&words, affiliation, bits), true);
        }
    }
    let Some((span, bits, quality, is_acronym)) = best else { return Ok(None) };
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
    Ok(Some(Found { row, span, bits, quality, is_acronym, has_city, has_country, parents }))
}

/// The words of a name that say something.
fn words_of_name(name: &str) -> Vec<Word> {
    let folded = fold(name);
    let words = folded.split(' ').filter(|word| !word.is_empty());
    words.map(|word| Word::new(common(word))).filter(|word| !word.is_stop).collect()
}

/// Where the text has a name: the tokens, the bits that they tell, and how well they agree.
fn place_of(
    name: &[Word],
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<(Range<usize>, f32, f32)> {
    let tokens = &affiliation.tokens;
    let first = name.first()?;
    let mut best: Option<(Range<usize>, f32, f32)> = None;
    // In order, one word after the other.
    let is_near = |at: &usize| {
        let word = &tokens[*at].word;
        word.text == first.text || agreement(word, first) > 0.0
    };
    for start in (0..tokens.len()).filter(is_near) {
        let Some(run) = tokens.get(start..start + name.len()) else { break };
        let agreements = run.iter().zip(name).map(|(token, of)| agreement(&token.word, of));
        let both = |a: f32, b: f32| if a > 0.0 && b > 0.0 { a.min(b) } else { 0.0 };
        let mut quality = agreements.fold(1.0, both);
        let segment = run[0].segment;
        let is_cut = run.array_windows::<2>().any(|[a, b]| b.segment > a.segment + 1);
        quality *= if is_cut { 0.0 } else { 1.0 };
        if run.iter().any(|token| token.segment != segment) {
            // A name across commas begins a segment, or takes the whole of the next one.
            let begins = start == 0 || tokens[start - 1].segment != segment;
            quality *= if begins { 0.95 } else { 0.6 };
        }
        let told: f32 = bits[start..start + name.len()].iter().sum();
        if quality > 0.0 && best.as_ref().is_none_or(|(_, known, _)| told * quality > *known) {
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
        for word in name {
            let places = affiliation.places.get(&word.text).into_iter().flatten();
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
            if density < 0.75 {
                continue;
            }
            best = Some((from..to, told * quality, quality));
        }
    }
    best
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
fn decide(mut found: Vec<Found>) -> Vec<Candidate> {
    found.sort_by(|a, b| b.rank().total_cmp(&a.rank()).then(a.row.cmp(&b.row)));
    // The best name of each place in the text.
    let mut chosen: Vec<usize> = Vec::new();
    let mut is_rivalled = vec![false; found.len()];
    for at in 0..found.len() {
        let span = &found[at].span;
        let overlaps =
            |other: &&usize| found[**other].span.start < span.end && span.start < found[**other].span.end;
        match chosen.iter().find(overlaps) {
            Some(other) => {
                let is_equal = found[*other].rank() - found[at].rank() < 1.0;
                is_rivalled[*other] |= is_equal && found[at].span == found[*other].span;
            }
            None => chosen.push(at),
        }
    }
    let is_parent = |at: usize| {
        chosen.iter().any(|other| {
            found[*other].parents.contains(&found[at].row) && found[*other].is_sure()
        })
    };
    let is_sure =
        |at: usize| chosen.contains(&at) && found[at].is_sure() && !is_rivalled[at] && !is_parent(at);
    let mut order: Vec<(bool, usize)> = (0..found.len()).map(|at| (!is_sure(at), at)).collect();
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
