//! Names that say the same without their place or in other words for a hospital: `freiburg university hospital` is the
//! `university medical center freiburg`, and `university of newcastle`, in Australia, the `university of newcastle australia`.

use crate::matching::countries::country_of;
use crate::matching::institutions::affiliation::Affiliation;
use crate::matching::institutions::places::Place;
use crate::matching::institutions::vocabulary::{
    DEPARTMENTS, HOSPITAL_LIKE, OF_HOSPITALS, UNIVERSITY, common, is_between, is_hospital, split,
};

/// How well such a name agrees.
const QUALITY: f32 = 0.8;
/// Words of a name that may be its country.
const COUNTRY_WORDS_MAX: usize = 2;

/// The kind of an organisation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hospital,
    University,
}

/// A name without its place and without the words for what it is.
#[derive(PartialEq, Eq)]
struct Core {
    kind: Kind,
    /// The other words, sorted.
    words: Vec<String>,
    /// Whether the city was a part of the name.
    has_city: bool,
}

impl Core {
    /// The core of the words of a name; `None` of other organisations than hospitals and universities.
    fn new<'w>(words: impl Iterator<Item = &'w str> + Clone, city: &[&str]) -> Option<Core> {
        let has = |wanted: &str| words.clone().any(|word| word == wanted);
        let kind = match is_hospital(words.clone()) {
            true => Kind::Hospital,
            false if has(UNIVERSITY) => Kind::University,
            false => return None,
        };
        let says_kind = |word: &str| match kind {
            Kind::Hospital => HOSPITAL_LIKE.contains(&word) || OF_HOSPITALS.contains(&word),
            Kind::University => word == UNIVERSITY,
        };
        let has_city = !city.is_empty() && city.iter().all(|word| has(word));
        let others = words.filter(|word| !(says_kind(word) || has_city && city.contains(word)));
        let mut words: Vec<String> = others.map(str::to_owned).collect();
        words.sort_unstable();
        words.dedup();
        Some(Core { kind, words, has_city })
    }
}

/// The words of a folded name that say something, without its country at the end.
fn words_of<'n>(folded: &'n str, country: Option<&str>) -> Vec<&'n str> {
    let mut words: Vec<&str> = split(folded).filter(|word| !is_between(word)).collect();
    let is_country = |count: &usize| {
        let name = &words[words.len() - count..];
        country.is_some() && country_of(&name.join(" ")) == country
    };
    let ends = (1..=COUNTRY_WORDS_MAX.min(words.len().saturating_sub(1))).rev().find(is_country);
    words.truncate(words.len() - ends.unwrap_or(0));
    words.into_iter().map(common).collect()
}

/// A segment of the text that has the core of a name of a record in a city and a country. The text has the city, too, if the
/// name has it, or is of a hospital: many cities have a general hospital.
pub(super) fn segment_of_core(
    folded: &str,
    city: &str,
    country: Option<&str>,
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<Place> {
    let city_words: Vec<&str> = split(city).filter(|word| !is_between(word)).map(common).collect();
    let name = words_of(folded, country);
    // Most names have a word that the text lacks, and that tells more than being a hospital.
    let has = |word: &&str| {
        affiliation.places.contains_key(*word)
            || HOSPITAL_LIKE.contains(word)
            || OF_HOSPITALS.contains(word)
    };
    if !name.iter().all(|word| has(word) || city_words.contains(word)) {
        return None;
    }
    let of_name = Core::new(name.iter().copied(), &city_words)?;
    if (of_name.has_city || of_name.kind == Kind::Hospital) && !affiliation.has_words(city) {
        return None;
    }
    let tokens = &affiliation.tokens;
    let mut from = 0;
    while from < tokens.len() {
        let segment = tokens[from].segment;
        let to = tokens.partition_point(|token| token.segment <= segment);
        let words = tokens[from..to].iter().map(|token| token.word.text.as_str());
        let is_department = DEPARTMENTS.contains(&tokens[from].folded.as_str());
        let of_text = Core::new(words, &city_words).filter(|_| !is_department);
        // A core without words is told by its city.
        let is_same = of_text.is_some_and(|of_text| {
            let tells = !of_name.words.is_empty() || of_name.has_city && of_text.has_city;
            tells && (of_text.kind, &of_text.words) == (of_name.kind, &of_name.words)
        });
        if is_same {
            let told: f32 = bits[from..to].iter().sum();
            return Some(Place { span: from..to, bits: told * QUALITY, quality: QUALITY });
        }
        from = to;
    }
    None
}
