//! The names and the place of a record, and the one of its names that a text has.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::entity::Entity;
use crate::matching::countries::country_of;
use crate::matching::institutions::affiliation::Affiliation;
use crate::matching::institutions::cores::segment_of_core;
use crate::matching::institutions::places::{
    NameWord, Place, part_of, place_of, school_of, words_of_name,
};
use crate::matching::institutions::vocabulary::common_words;
use crate::matching::institutions::{Form, Found, QUALITY_ORDER, QUALITY_SURE};
use crate::record::{Gather, Gathered, Institution, PathTree, tree_of};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::fold::fold;

/// How well a part of a name agrees.
const QUALITY_PARTIAL: f32 = 0.65;
/// The same in another city, too little to be sure: `université paris xii` of `université paris xii val de marne`, in Créteil.
const QUALITY_PARTIAL_ELSEWHERE: f32 = 0.5;
/// How well the school of a university agrees.
const QUALITY_SCHOOL: f32 = 0.8;
/// Bonus in bits for the own name over alternative names.
const BITS_OWN: f32 = 1.2;
/// Letters of an acronym that are too few to tell anything.
const FEW_LETTERS: usize = 2;
/// Territories whose affiliations name the first country in place of the others.
const TERRITORIES: [(&str, [&str; 3]); 1] = [("CN", ["HK", "MO", "TW"])];

/// Words of a name up to which it may be that of a city.
const CITY_WORDS_MAX: usize = 2;
/// Words before the river or the region of a city.
const BY_RIVERS: [&str; 5] = ["am", "an", "im", "sur", "upon"];

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

static TREE: LazyLock<PathTree> = LazyLock::new(|| tree_of(Entity::Institution, &MEMBERS));

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

/// The best of the names found so far.
#[derive(Default)]
struct Best {
    place: Option<Place>,
    form: Form,
}

impl Best {
    fn offer(&mut self, place: Option<Place>, form: Form) {
        let Some(place) = place else { return };
        // A name that agrees well beats words that tell more and agree less.
        let rank = |place: &Place| (place.quality >= QUALITY_SURE, place.bits);
        if self.place.as_ref().is_none_or(|known| rank(&place) > rank(known)) {
            *self = Best { place: Some(place), form };
        }
    }
}

/// A record whose names are looked up in a text.
struct Record<'s, 'a> {
    names: Names<'s>,
    /// The folded city, each word as [`common_words`] has it; empty without one.
    city: String,
    has_city: bool,
    /// The code of the country.
    country: Option<&'s str>,
    /// Whether the country agrees; `None` if the text or the record names none.
    has_country: Option<bool>,
    affiliation: &'a Affiliation,
    /// The bits of each word of the text.
    bits: &'a [f32],
}

impl Record<'_, '_> {
    /// The name that tells most: a whole name, an acronym, or a part of a name.
    fn best(&self) -> Best {
        let mut best = Best::default();
        let folded: Vec<String> = self.names.names.iter().map(|name| fold(name)).collect();
        for (at, (name, folded)) in self.names.names.iter().zip(&folded).enumerate() {
            // The own name comes first, and tells a little more than an equal other name.
            self.offer(name, folded, at == 0, &mut best);
            if let Some((outside, _)) = name.split_once(" (") {
                self.offer(outside, &fold(outside), at == 0, &mut best);
            }
        }
        for acronym in &self.names.acronyms {
            let folded = fold(acronym);
            let is_long = acronym.len() > FEW_LETTERS && country_of(&folded).is_none();
            if is_long && self.affiliation.capitals.contains(&folded) {
                let place = place_of(&words_of_name(&folded), self.affiliation, self.bits);
                let is_alone = |place: &Place| self.affiliation.stands_alone(place.span.start);
                best.offer(place.filter(is_alone), Form::Acronym);
            }
        }
        let is_placed = self.has_city || self.has_country == Some(true);
        if is_placed && best.place.as_ref().is_none_or(|place| place.quality < QUALITY_ORDER) {
            let mut places = folded.iter().filter_map(|name| {
                segment_of_core(name, &self.city, self.country, self.affiliation, self.bits)
            });
            best.offer(places.next(), Form::Name);
        }
        if best.place.is_none() {
            let (place, form) = self.part().unzip();
            best.offer(place, form.unwrap_or_default());
        }
        best
    }

    /// Offers the place of a name, if the text has half of its words.
    fn offer(&self, name: &str, folded: &str, is_own: bool, best: &mut Best) {
        let affiliation = self.affiliation;
        let (lacking, all) = affiliation.lacks(folded);
        // A name that is its city says nothing, unless it says what it is: `grand teton national park`.
        if lacking * 2 > all || all <= CITY_WORDS_MAX && common_words(folded) == self.city {
            return;
        }
        let mut words = words_of_name(folded);
        let is_single = words.len() == 1;
        if is_single && name.chars().all(|c| !c.is_lowercase()) {
            let is_known = affiliation.capitals.contains(&words[0].word.text);
            if !is_known || name.len() <= FEW_LETTERS {
                return;
            }
        }
        let mut place = place_of(&words, affiliation, self.bits);
        let ends_with_city = words.last().is_some_and(|last| last.word.text == self.city);
        if place.is_none() && words.len() > 2 && ends_with_city && self.has_city {
            words.pop();
            place = place_of(&words, affiliation, self.bits);
        }
        if let Some(place) = &mut place {
            let is_across = affiliation.is_across(&place.span);
            if is_own {
                place.bits += BITS_OWN;
            } else if is_across && !self.has_city {
                // "University of Education, Lahore" was a name of another university, in Okara: its city tells nothing.
                let tokens = &affiliation.tokens;
                let first = tokens[place.span.start].segment;
                let is_behind = |at: &usize| tokens[*at].segment != first;
                let behind: f32 =
                    place.span.clone().filter(is_behind).map(|at| self.bits[at]).sum();
                place.bits -= behind * place.quality;
            }
        }
        best.offer(place, if is_single { Form::Acronym } else { Form::Name });
    }

    /// The words of a name before its city, if the text has the city: `washington university` of `washington university in st louis`.
    fn without_city<'w>(&self, words: &'w [NameWord]) -> &'w [NameWord] {
        let count = self.city.split(' ').count();
        let own = words.len().saturating_sub(count);
        let city = words[own..].iter().map(|of| of.word.text.as_str());
        if self.has_city && city.eq(self.city.split(' ')) { &words[..own] } else { words }
    }

    /// The place of a part of a name, or of a school in place of its university.
    fn part(&self) -> Option<(Place, Form)> {
        let partial = if self.has_city { QUALITY_PARTIAL } else { QUALITY_PARTIAL_ELSEWHERE };
        self.names.names.iter().find_map(|name| {
            let words = words_of_name(&fold(name));
            let place = |(span, told), quality| Place { span, bits: told * quality, quality };
            let part = part_of(&words, self.affiliation, self.bits);
            part.map(|part| (place(part, partial), Form::Name)).or_else(|| {
                let words = self.without_city(&words);
                let school = school_of(words, self.affiliation, self.bits);
                school.map(|school| (place(school, QUALITY_SCHOOL), Form::School))
            })
        })
    }
}

/// The name of a record that the text has, the one that tells most. Adds the city of the record to `cities`.
pub(super) fn best_name(
    snapshot: &Snapshot,
    row: u32,
    affiliation: &Affiliation,
    bits: &[f32],
    cities: &mut HashSet<String>,
) -> Result<Option<Found>, ReadError> {
    let names = Names::read(snapshot, row)?;
    let mut city = names.city.map(|city| common_words(&fold(city))).unwrap_or_default();
    // "Freiburg" is Freiburg im Breisgau.
    let river = city.split(' ').position(|word| BY_RIVERS.contains(&word)).filter(|at| *at > 0);
    if let Some(at) = river.filter(|_| !affiliation.has_words(&city)) {
        city = city.split(' ').take(at).collect::<Vec<_>>().join(" ");
    }
    let has_city = affiliation.has_words(&city);
    let country = names.country.map(|code| snapshot.code(code)).transpose()?;
    let countries = &affiliation.countries;
    // A text without a country, or a record without one, tells nothing.
    let has_country = country.filter(|_| !countries.is_empty()).map(|code| {
        // `University of Hong Kong, China` agrees with a record whose country is `HK`.
        let mut territories = TERRITORIES.iter().filter(|(_, parts)| parts.contains(&code));
        let whole = territories.next().map(|(whole, _)| *whole);
        countries.iter().any(|known| *known == code || Some(*known) == whole)
    });
    let record = Record { names, city, has_city, country, has_country, affiliation, bits };
    let Best { place, form } = record.best();
    let Record { names, city, .. } = record;
    // Also a record without a name in the text shows that the text has a city. `find` looks for cities behind the names
    // that it finds.
    if has_city {
        cities.insert(city);
    }
    let Some(Place { span, bits: told, quality }) = place else { return Ok(None) };
    // Many frequent words together tell as many bits as one rare word; `Found::is_sure` asks for a rare word too.
    let rarest = bits[span.clone()].iter().copied().fold(0.0, f32::max);
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
        form,
        has_city,
        // `find` decides this when the cities of all records are known.
        is_whole: true,
        is_elsewhere: false,
        has_country,
        parents,
    }))
}
