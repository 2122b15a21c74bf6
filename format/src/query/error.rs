//! Why a part of a question was refused, in words that say what would be right.

use rapidfuzz::distance::osa;

use crate::entity::IdFormat;
use crate::record::legacy::LEGACY;
use crate::schema::keys::{Bound, Key, Keys, Kind};

use crate::query::Grouping;

/// So many names are all listed in a reason.
const NAMES_MAX: usize = 20;
/// Of more, those that look most like the one given.
const NAMES_NEAR: usize = 12;
/// Bytes of a name that are compared with those there are.
const NAME_BYTES_MAX: usize = 64;
/// Names that OpenAlex has for what has another name here.
const ELSEWHERE: [(&str, &str); 19] = [
    ("publication_year", "year"),
    ("publication_date", "date"),
    ("from_publication_date", "from_date"),
    ("to_publication_date", "to_date"),
    ("display_name", "name"),
    ("works_count", "outputs_count"),
    ("referenced_works_count", "cites"),
    ("locations_count", "venues_count"),
    ("author.id", "authors.id"),
    ("authorships.author.id", "authors.id"),
    ("author.orcid", "authors.orcid"),
    ("authorships.author.orcid", "authors.orcid"),
    ("institutions.id", "authors.affiliations.id"),
    ("authorships.institutions.id", "authors.affiliations.id"),
    ("primary_location.source.id", "primary_venue.source.id"),
    ("host_venue.id", "primary_venue.source.id"),
    ("grants.funder", "funders.id"),
    ("country_code", "country.code"),
    ("default.search", "name.search"),
];

/// What is wrong with one part of a filter or a sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The part, as it was given.
    pub part: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

impl Refusal {
    /// A refusal of `part`.
    pub fn new(part: &str, reason: impl Into<String>) -> Refusal {
        Refusal { part: part.to_owned(), reason: reason.into() }
    }
}

/// The name among those there are that was meant, most likely.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    meant(name, &by_distance(name, names))
}

/// The nearest name, where it is near enough.
fn meant<'n>(name: &str, by_distance: &[(usize, &'n str)]) -> Option<&'n str> {
    let (distance, known) = *by_distance.first()?;
    let length = known.len().max(name.len().min(NAME_BYTES_MAX));
    (distance <= length / 3).then_some(known)
}

/// The names there are, those first that look most like the one given.
fn by_distance<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<(usize, &'n str)> {
    let end = (0..=name.len().min(NAME_BYTES_MAX)).rev().find(|at| name.is_char_boundary(*at));
    let name = name[..end.unwrap_or(0)].to_lowercase();
    // Read once: the names it is compared with are many, and so may wrong ones be in one request.
    let letters = osa::BatchComparator::new(name.chars());
    let mut found: Vec<(usize, &str)> =
        names.map(|known| (distance(known, &name, &letters), known)).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found
}

/// How far a name is from one there is: a first or last part alone is near to its path.
fn distance(known: &str, name: &str, letters: &osa::BatchComparator<char>) -> usize {
    let is_end = |end: Option<(&str, &str)>| end.is_some_and(|(a, b)| a == name || b == name);
    match is_end(known.split_once('.')) || is_end(known.rsplit_once('.')) {
        true => 1,
        false => letters.distance(known.chars()),
    }
}

/// What is wrong with a key that does not filter.
pub(super) fn filter_key(keys: &Keys, name: &str) -> Refusal {
    let route = keys.route;
    if keys.filters().next().is_none() {
        return Refusal::new(name, format!("/{route} takes no filter"));
    }
    let what = match keys.sort(name) {
        Some(_) => format!("sorts /{route} and does not filter it"),
        None => format!("is no filter key of /{route}"),
    };
    Refusal::new(name, format!("{what}; {}", instead(name, keys.filters())))
}

/// What is wrong with a key that does not sort.
pub(super) fn sort_key(keys: &Keys, name: &str) -> Refusal {
    let route = keys.route;
    if keys.sorts().next().is_none() {
        return Refusal::new(name, format!("/{route} takes no sort"));
    }
    if let Some(key) = name.strip_prefix('-').filter(|key| keys.sort(key).is_some()) {
        return Refusal::new(name, format!("is no sort key; write `{key}:desc`"));
    }
    for direction in ["asc", "desc"] {
        let key = name.strip_suffix(direction).and_then(|rest| rest.strip_suffix(' '));
        if let Some(key) = key.filter(|key| keys.sort(key).is_some()) {
            return Refusal::new(name, format!("is no sort key; write `{key}:{direction}`"));
        }
    }
    if name.is_empty() {
        let reason = "lacks its key; write `key:asc` or `key:desc`, with one comma between two";
        return Refusal::new(name, reason);
    }
    let what = match keys.filter(name) {
        Some(_) => format!("filters /{route} and does not sort it"),
        None => format!("is no sort key of /{route}"),
    };
    Refusal::new(name, format!("{what}; {}", instead(name, keys.sorts())))
}

/// What is wrong with a key that makes no groups.
pub(super) fn group_key(keys: &Keys, name: &str) -> Refusal {
    let known = instead(name, Grouping::names(keys));
    Refusal::new(name, format!("is nothing /{} is grouped by; {known}", keys.route))
}

fn instead<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let renamed = ELSEWHERE.iter().find(|(there, _)| *there == name);
    let renamed = renamed.map_or(name, |(_, here)| *here);
    // What has one name here may have another in the older variant, and the other way round.
    let members = LEGACY.iter().flat_map(|older| older.members);
    let pairs = members.filter(|(older, now)| *older == renamed || *now == renamed);
    let renamed_to = std::iter::once(renamed)
        .chain(pairs.flat_map(|(older, now)| [*older, *now]))
        .find_map(|meant| names.clone().find(|known| *known == meant));
    if let Some(meant) = renamed_to {
        return format!("did you mean `{meant}`?");
    }
    let near = by_distance(name, names.clone());
    if let Some(meant) = meant(name, &near) {
        return format!("did you mean `{meant}`?");
    }
    let quoted = |name: &str| format!("`{name}`");
    let count = names.clone().count();
    if count <= NAMES_MAX {
        return format!("there are {}", names.map(quoted).collect::<Vec<_>>().join(", "));
    }
    let near: Vec<String> =
        near.into_iter().take(NAMES_NEAR).map(|(_, name)| quoted(name)).collect();
    format!("there are {count}, among them {}", near.join(", "))
}

/// How a value stands in its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    /// By itself.
    Bare,
    /// In quotes, where nothing has a meaning of its own.
    Quoted,
    /// After a comparison.
    Compared,
}

/// What a value of a key must be.
pub(super) fn expected(key: &Key, stance: Stance) -> String {
    let value = one(key);
    let more = match key.kind {
        Kind::Boolean if stance == Stance::Bare => {
            return "must be `true`, `false` or `null`".to_owned();
        }
        Kind::Integer => {
            ", a range such as `1-5`, `1-` or `-5`, a comparison such as `>5`, or `null`".to_owned()
        }
        Kind::Number => {
            let name = key.name;
            format!(
                ", a comparison such as `>0.5`, two for a range as in `{name}:>=1,{name}:<2`, or \
                 `null`"
            )
        }
        Kind::Day(Bound::Exact) | Kind::Moment(Bound::Exact) => {
            ", a range of years such as `2020-2024`, a comparison such as `>2023`, or `null`"
                .to_owned()
        }
        _ => String::new(),
    };
    match stance {
        Stance::Bare => format!("must be {value}{more}"),
        Stance::Quoted if more.is_empty() => format!("must be {value}"),
        Stance::Quoted => format!("must be {value}; in quotes there are no ranges and no `null`"),
        Stance::Compared => format!("must be {value}, since it is compared"),
    }
}

/// What a single value of a key is.
fn one(key: &Key) -> String {
    match key.kind {
        Kind::Id(entity) => match entity.facts().letter {
            Some(letter) => return format!("an identifier such as `HX_{}1`", char::from(letter)),
            None => "an identifier, here a number such as `3`",
        },
        Kind::LegacyId(entity) => {
            let mut id = Vec::new();
            IdFormat::LEGACY.write(entity, 1, &mut id);
            let id = String::from_utf8_lossy(&id);
            return format!("an identifier such as `{id}`, or its number");
        }
        Kind::AnyId => "an identifier such as `HX_F1`",
        Kind::Identifier(_) | Kind::Code | Kind::Text => "a text",
        Kind::Words => "words of a name, such as `smith john`",
        Kind::Boolean => "`true` or `false`",
        Kind::Integer => "an integer of at most 64 bits",
        Kind::Number => "a number such as `0.5` or `1e3`",
        Kind::Day(_) | Kind::Moment(_) => "a date such as `2024`, `2024-05` or `2024-05-31`",
    }
    .to_owned()
}

/// Why a value of a key is not compared.
pub(super) fn not_compared(key: &Key) -> String {
    let instead = match key.kind {
        Kind::Identifier(_) | Kind::Code | Kind::Text => {
            "a text that begins with `<` or `>` belongs in quotes".to_owned()
        }
        _ => format!("it {}", expected(key, Stance::Bare)),
    };
    match key.kind {
        Kind::Day(_) | Kind::Moment(_) => {
            format!("has a comparison before it, which `{}` is already; {instead}", key.name)
        }
        _ => format!("has a comparison before it, which only numbers and dates take; {instead}"),
    }
}
