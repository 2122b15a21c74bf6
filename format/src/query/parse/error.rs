//! Errors in the parameters of a query, with texts that say what would be right.

use rapidfuzz::distance::osa;

use crate::entity::IdFormat;
use crate::record::LEGACY;
use crate::schema::{Bound, Key, Keys, Kind};

/// Up to 20 known names, an error lists all.
const NAMES_MAX: usize = 20;
/// Of more known names, an error lists the 12 most similar.
const SIMILAR_NAMES_MAX: usize = 12;
/// Bytes of an unknown name that are compared with known names.
const COMPARED_BYTES_MAX: usize = 64;
/// Names of OpenAlex, and names that programs try, with the names of the same keys here.
const OTHER_NAMES: [(&str, &str); 33] = [
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
    ("affiliation", "authors.affiliations.id"),
    ("affiliation", "affiliations.id"),
    ("author", "authors.id"),
    ("cited_by", "referenced_by"),
    ("country", "authors.countries.code"),
    ("country", "country.code"),
    ("country", "last_known_institutions.country.code"),
    ("funder", "funders.id"),
    ("institution", "authors.affiliations.id"),
    ("institution", "last_known_institutions.id"),
    ("journal", "primary_venue.source.id"),
    ("publisher", "primary_venue.source.host_organization"),
    ("source", "primary_venue.source.id"),
    ("topic", "topics.id"),
    ("venue", "primary_venue.source.id"),
];

/// An error in one expression of a filter, one sort key or one group key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The wrong part of the parameter, as the client wrote it.
    pub text: String,
    /// Says why the text is wrong, and what would be right.
    pub reason: String,
}

impl ParamError {
    /// Creates an error about `text`.
    pub fn new(text: &str, reason: impl Into<String>) -> ParamError {
        ParamError { text: text.to_owned(), reason: reason.into() }
    }
}

/// Finds the known name that a client most likely meant; `None` if no name is similar enough.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    similar_name(name, &by_distance(name, names))
}

/// The first name, if at most a third of its letters differ.
fn similar_name<'n>(name: &str, by_distance: &[(usize, &'n str)]) -> Option<&'n str> {
    let (distance, known) = *by_distance.first()?;
    let length = known.len().max(name.len().min(COMPARED_BYTES_MAX));
    (distance <= length / 3).then_some(known)
}

/// Sorts known names by their edit distance from `name`.
fn by_distance<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<(usize, &'n str)> {
    let end = (0..=name.len().min(COMPARED_BYTES_MAX)).rev().find(|at| name.is_char_boundary(*at));
    let name = name[..end.unwrap_or(0)].to_lowercase();
    // One comparator serves all known names: a request has up to 10 wrong names to compare.
    let letters = osa::BatchComparator::new(name.chars());
    let mut found: Vec<(usize, &str)> =
        names.map(|known| (distance(known, &name, &letters), known)).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found
}

/// The edit distance; 1 if `name` is the first or last segment of a known path.
fn distance(known: &str, name: &str, letters: &osa::BatchComparator<char>) -> usize {
    let is_segment = |pair: Option<(&str, &str)>| pair.is_some_and(|(a, b)| a == name || b == name);
    match is_segment(known.split_once('.')) || is_segment(known.rsplit_once('.')) {
        true => 1,
        false => letters.distance(known.chars()),
    }
}

pub(in crate::query) fn unknown_filter_key(keys: &Keys, name: &str) -> ParamError {
    let route = keys.route;
    if keys.filters().next().is_none() {
        return ParamError::new(name, format!("/{route} takes no filter"));
    }
    let what = match keys.sort(name) {
        Some(_) => format!("sorts /{route} and does not filter it"),
        None => format!("is no filter key of /{route}"),
    };
    ParamError::new(name, format!("{what}; {}", suggest(name, keys.filters())))
}

pub(in crate::query) fn unknown_sort_key(keys: &Keys, name: &str) -> ParamError {
    let route = keys.route;
    if keys.sorts().next().is_none() {
        return ParamError::new(name, format!("/{route} takes no sort"));
    }
    if let Some(key) = name.strip_prefix('-').filter(|key| keys.sort(key).is_some()) {
        return ParamError::new(name, format!("is no sort key; write `{key}:desc`"));
    }
    for direction in ["asc", "desc"] {
        let key = name.strip_suffix(direction).and_then(|rest| rest.strip_suffix(' '));
        if let Some(key) = key.filter(|key| keys.sort(key).is_some()) {
            return ParamError::new(name, format!("is no sort key; write `{key}:{direction}`"));
        }
    }
    if name.is_empty() {
        let reason = "lacks its key; write `key:asc` or `key:desc`, with one comma between two";
        return ParamError::new(name, reason);
    }
    let what = match keys.filter(name) {
        Some(_) => format!("filters /{route} and does not sort it"),
        None => format!("is no sort key of /{route}"),
    };
    ParamError::new(name, format!("{what}; {}", suggest(name, keys.sorts())))
}

pub(in crate::query) fn unknown_member(route: &str, name: &str, members: &[String]) -> ParamError {
    let known = suggest(name, members.iter().map(String::as_str));
    ParamError::new(name, format!("is no member of the records of /{route}; {known}"))
}

/// Suggests the name that was meant, or lists known names.
pub(super) fn suggest<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let renamed = OTHER_NAMES.iter().filter(|(other, _)| *other == name).map(|(_, here)| *here);
    // A client of one interface may use the name that a member has in the other.
    let renamed_to = std::iter::once(name).chain(renamed).find_map(|renamed| {
        let members = LEGACY.iter().flat_map(|entity| entity.members);
        let pairs = members.filter(|(legacy, current)| *legacy == renamed || *current == renamed);
        std::iter::once(renamed)
            .chain(pairs.flat_map(|(legacy, current)| [*legacy, *current]))
            .find_map(|meant| names.clone().find(|known| *known == meant))
    });
    if let Some(meant) = renamed_to {
        return format!("did you mean `{meant}`?");
    }
    let near = by_distance(name, names.clone());
    if let Some(meant) = similar_name(name, &near) {
        return format!("did you mean `{meant}`?");
    }
    suggest_others(name, names)
}

/// Lists known names, or the most similar ones of many.
pub(super) fn suggest_others<'n>(
    name: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> String {
    let near = by_distance(name, names.clone());
    let quoted = |name: &str| format!("`{name}`");
    let count = names.clone().count();
    if count <= NAMES_MAX {
        return format!("there are {}", names.map(quoted).collect::<Vec<_>>().join(", "));
    }
    let near: Vec<String> =
        near.into_iter().take(SIMILAR_NAMES_MAX).map(|(_, name)| quoted(name)).collect();
    format!("there are {count}, among them {}", near.join(", "))
}

/// How a value is written in its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum ValueForm {
    Bare,
    /// In quotes, where ranges and `null` are plain text.
    Quoted,
    /// After `>`, `>=`, `<` or `<=`.
    Compared,
}

/// Says what a value of a key must be.
pub(in crate::query) fn expected_value(key: &Key, form: ValueForm) -> String {
    let value = single_value(key);
    let more = match key.kind {
        Kind::Boolean if form == ValueForm::Bare => {
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
    match form {
        ValueForm::Bare => format!("must be {value}{more}"),
        ValueForm::Quoted if more.is_empty() => format!("must be {value}"),
        ValueForm::Quoted => {
            format!("must be {value}; in quotes there are no ranges and no `null`")
        }
        ValueForm::Compared => format!("must be {value}, since it is compared"),
    }
}

/// Names the values of a key, with an example.
fn single_value(key: &Key) -> String {
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
        Kind::Search => "a search, such as `deep learning`",
        Kind::Boolean => "`true` or `false`",
        Kind::Integer => "an integer of at most 64 bits",
        Kind::Number => "a number such as `0.5` or `1e3`",
        Kind::Day(_) => "a date such as `2024`, `2024-05` or `2024-05-31`",
        Kind::Moment(_) => {
            "a date such as `2024`, `2024-05` or `2024-05-31`, or a time such as \
             `2024-05-31T13:45:00.5`"
        }
    }
    .to_owned()
}

/// Says why a key takes no comparison.
pub(in crate::query) fn not_comparable(key: &Key) -> String {
    let instead = match key.kind {
        Kind::Identifier(_) | Kind::Code | Kind::Text => {
            "a text that begins with `<` or `>` belongs in quotes".to_owned()
        }
        _ => format!("it {}", expected_value(key, ValueForm::Bare)),
    };
    match key.kind {
        Kind::Day(_) | Kind::Moment(_) => {
            format!("has a comparison before it, which `{}` is already; {instead}", key.name)
        }
        _ => format!("has a comparison before it, which only numbers and dates take; {instead}"),
    }
}
