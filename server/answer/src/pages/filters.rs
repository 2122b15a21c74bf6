//! The form of filters: the keys that people use first, each with a field of its kind, and all others behind them.
//!
//! ```text
//! with.year.from=2020&with.year.to=       a range of years
//! with.authors.id=Albert Einstein         a name, which becomes the id of the record that completion finds first
//! with.type=article                       one of the values that the listed records have
//! with.is_oa=true                         a box to check
//! key=biblio.volume&value=3               any other key
//! ```

use std::mem;
use std::num::NonZeroU32;

use pinakes_format::autocomplete::Completion;
use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_format::schema::{Key, Kind, keys_of};
use pinakes_format::snapshot::Snapshot;

use crate::pages::address::{Address, FILTER, quoted};
use crate::pages::groups::{KeyGroups, id_text};
use crate::pages::html::with_code;
use crate::pages::labels::label;
use crate::pages::tables;

/// Prefix of the names of fields.
const FIELD: &str = "with.";
/// Ends of the names of the two fields of years.
const FROM: &str = ".from";
const TO: &str = ".to";
/// Fields of the form that takes any key: the key, and what follows the colon.
const KEY: &str = "key";
const VALUE: &str = "value";
/// Names that a page offers in place of the one it chose.
const OTHERS_MAX: usize = 4;

/// How people fill in the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Two years, of which one may stay empty.
    Years,
    /// A name, which is completed.
    Name(Entity),
    /// One of the values that the listed records have.
    Choice,
    /// Yes, or nothing.
    Flag,
}

/// The kind of the field of a key; `None` of a key that has none.
pub fn field_kind(key: &Key) -> Option<FieldKind> {
    match key.kind {
        Kind::Id(entity) if entity.facts().letter.is_some() => Some(FieldKind::Name(entity)),
        Kind::Id(_) | Kind::Code => Some(FieldKind::Choice),
        Kind::Boolean => Some(FieldKind::Flag),
        Kind::Integer => Some(FieldKind::Years),
        _ => None,
    }
}

/// The keys of an entity's form, with the kinds of their fields.
fn fields_of(entity: Entity) -> impl Iterator<Item = (&'static str, FieldKind)> {
    let kind = move |name: &&'static str| field_kind(keys_of(entity).filter(name)?.0);
    tables::of(entity).filters.iter().filter_map(move |name| Some((*name, kind(name)?)))
}

/// The keys whose groups are the choices of an entity's form.
fn choices(entity: Entity) -> impl Iterator<Item = &'static str> {
    fields_of(entity).filter(|(_, kind)| *kind == FieldKind::Choice).map(|(key, _)| key)
}

/// The keys whose groups the pages of an entity count: those that a page shows, and those with choices of the form.
pub fn counted(entity: Entity) -> impl Iterator<Item = &'static str> {
    let shown = tables::of(entity).groups;
    shown.iter().copied().chain(choices(entity).filter(|key| !shown.contains(key)))
}

/// The fields that a reader filled in.
#[derive(Debug, Default)]
pub struct FilledForm {
    /// Expressions of a filter.
    pub expressions: Vec<String>,
    /// Names that become expressions once their records are found.
    pub names: Vec<TypedName>,
    from: String,
    to: String,
    key: String,
    value: String,
}

/// A name that a reader typed for the records of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedName {
    key: &'static str,
    entity: Entity,
    text: String,
}

impl FilledForm {
    /// Takes a parameter if it is a field of an entity's form; a field that stays empty counts as absent.
    pub fn take(&mut self, entity: Entity, name: &str, text: &str) -> bool {
        let text = text.trim();
        match name {
            KEY => self.key = text.to_owned(),
            VALUE => self.value = text.to_owned(),
            _ => {
                let Some(field) = name.strip_prefix(FIELD) else { return false };
                // A range of years has two fields, and one expression.
                let bounds = [(FROM, &mut self.from), (TO, &mut self.to)];
                for (end, bound) in bounds {
                    let is_years =
                        |key: &str| fields_of(entity).any(|of| of == (key, FieldKind::Years));
                    if field.strip_suffix(end).is_some_and(is_years) {
                        *bound = text.to_owned();
                        return true;
                    }
                }
                let known = fields_of(entity).find(|(key, _)| *key == field);
                let Some((key, kind)) = known.filter(|(_, kind)| *kind != FieldKind::Years) else {
                    return false;
                };
                match kind {
                    // The form sends all its fields, also the empty ones.
                    _ if text.is_empty() => {}
                    // A name is looked up later: parsing reads no snapshot.
                    FieldKind::Name(entity) if !is_id(entity, text) => {
                        self.names.push(TypedName { key, entity, text: text.to_owned() });
                    }
                    _ => self.expressions.push(format!("{key}:{}", one_value(text))),
                }
            }
        }
        true
    }

    /// The expressions of all fields, once every parameter was taken.
    pub fn finish(&mut self, entity: Entity) {
        let years = fields_of(entity).find(|(_, kind)| *kind == FieldKind::Years);
        if let Some((key, range)) = years.and_then(|(key, _)| Some((key, self.years()?))) {
            self.expressions.push(format!("{key}:{range}"));
        }
        self.expressions.extend(self.of_any_key());
    }

    /// The expression of the fields that take any key.
    fn of_any_key(&self) -> Option<String> {
        let is_filled = !self.key.is_empty() && !self.value.is_empty();
        is_filled.then(|| format!("{}:{}", self.key, one_value(&self.value)))
    }

    /// The range of years; `None` if both fields are empty. A text that is no year stands as it is, and is refused.
    fn years(&self) -> Option<String> {
        let beside = |text: &str, step: i64| match text.parse::<i64>() {
            Ok(year) => year.saturating_add(step).to_string(),
            Err(_) => text.to_owned(),
        };
        match (self.from.as_str(), self.to.as_str()) {
            ("", "") => None,
            (from, "") => Some(format!(">{}", beside(from, -1))),
            ("", to) => Some(format!("<{}", beside(to, 1))),
            (from, to) if from == to => Some(from.to_owned()),
            (from, to) => Some(format!("{from}-{to}")),
        }
    }
}

/// A part of a list's address that the list leaves out: a parameter, or an expression of the filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongPart {
    /// The name of the parameter.
    pub name: String,
    pub text: String,
    pub reason: String,
}

impl WrongPart {
    /// The words for the field of the form that sent the part; `None` of another part.
    pub fn label(&self) -> Option<String> {
        let field = self.name.strip_prefix(FIELD)?;
        let end = [(FROM, "from"), (TO, "to")];
        let bound = end.iter().find_map(|(end, word)| Some((field.strip_suffix(end)?, word)));
        Some(match bound {
            Some((key, word)) => format!("{}, {word}", label(key)),
            None => label(field),
        })
    }

    /// HTML of the reason.
    pub fn reason(&self) -> String {
        let is_bound = [FROM, TO].iter().any(|end| self.name.ends_with(end));
        match is_bound && self.text.parse::<i64>().is_err() {
            true => "is no year".to_owned(),
            false => with_code(&self.reason),
        }
    }
}

/// The parts of the parameters of a list, each of which may be wrong: the expressions of a filter by themselves, and the
/// fields that take any key as one of these.
pub fn parts(pairs: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let (mut parts, mut form) = (Vec::new(), FilledForm::default());
    for (name, text) in pairs {
        match name.as_str() {
            KEY => form.key = text,
            VALUE => form.value = text,
            // A comma in quotes belongs to a value, so that such a filter is one part.
            FILTER if !text.contains('"') => {
                parts.extend(text.split(',').map(|part| (FILTER.to_owned(), part.to_owned())));
            }
            _ => parts.push((name, text)),
        }
    }
    parts.extend(form.of_any_key().map(|expression| (FILTER.to_owned(), expression)));
    parts
}

/// A value as a reader means it: a comma in it ends no expression, unless the reader wrote quotes.
fn one_value(text: &str) -> String {
    if text.contains(',') && !text.contains('"') { quoted(text) } else { text.to_owned() }
}

fn is_id(entity: Entity, text: &str) -> bool {
    text.starts_with("HX_") || entity.parse_id(text).is_some()
}

/// The record that a typed name led to.
#[derive(Debug)]
pub struct FoundName {
    /// The name as typed.
    pub text: String,
    /// The word for a record of the entity.
    pub kind: &'static str,
    /// The name of the record that the list is filtered by; `None` if no record has such a name.
    pub name: Option<String>,
    /// Whether the list is filtered by the words of the name instead, which references without a record have too.
    pub is_by_words: bool,
    /// Names of other records, and the lists filtered by these.
    pub others: Vec<(String, String)>,
}

/// Finds the records of typed names, and adds them to the filter.
///
/// Cost: that of one completion for each name.
pub fn add_names(
    query: &mut Query,
    names: &[TypedName],
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<Vec<FoundName>, QueryError> {
    let mut notes = Vec::new();
    for TypedName { key, entity, text } in names {
        // A link to another record replaces the record that is chosen, so links begin with the query without it.
        let before = Address::new(&Query { page: NonZeroU32::MIN, ..query.clone() });
        let found = Completion::new(vec![*entity], text).execute(snapshot, deadline)?;
        let (mut name, mut others) = (None, Vec::new());
        for candidate in found.best.iter().take(1 + OTHERS_MAX) {
            let id = snapshot.or_noted(snapshot.row_id(*entity, candidate.row))?;
            let id = id_text(*entity, id);
            let named = snapshot.or_noted(snapshot.name(*entity, candidate.row))?;
            let named = named.unwrap_or(&id).to_owned();
            let expression = format!("{key}:{id}");
            if name.is_some() {
                others.push((named, before.with(expression).page_url()));
            } else if query.add_filter(&expression).is_ok() {
                name = Some(named);
            }
        }
        // No record has such a name: the words are searched in the names instead.
        let words =
            key.strip_suffix(".id").map(|path| format!("{path}.name.search:{}", quoted(text)));
        let is_by_words =
            name.is_none() && words.is_some_and(|words| query.add_filter(&words).is_ok());
        let (text, kind) = (text.clone(), entity.facts().label);
        notes.push(FoundName { text, kind, name, is_by_words, others });
    }
    Ok(notes)
}

/// A field of the form.
pub struct Field {
    /// The name of the parameter.
    pub name: String,
    pub label: String,
    pub content: FieldContent,
}

/// The content of a field of the form.
pub enum FieldContent {
    Years {
        from: String,
        to: String,
    },
    /// The list whose names complete the field, and the text that is refused.
    Name {
        list: &'static str,
        typed: String,
    },
    /// Values, names, counts, and whether each is chosen.
    Choice(Vec<(String, String, String, bool)>),
    Flag {
        is_checked: bool,
    },
}

/// The form of a list.
pub struct FilterForm {
    pub fields: Vec<Field>,
    /// Keys by group: heading of the group, and names and labels of keys.
    pub keys: Vec<(String, Vec<(&'static str, String)>)>,
    /// The expressions of the filter that no field shows.
    pub hidden: String,
    /// Key and value of the fields that take any key, if the list refuses them.
    pub refused: Option<(String, String)>,
    /// Whether the records have versions, and whether the list has one of each work.
    pub has_versions: bool,
    pub is_one_of_versions: bool,
    wrong: Vec<WrongPart>,
}

impl FilterForm {
    /// The form of a query's list, filled in with the query's filter and with what the list refuses. `groups` has the
    /// values of choices.
    pub fn new(
        query: &Query,
        address: &Address,
        groups: &[KeyGroups],
        wrong: &[WrongPart],
    ) -> FilterForm {
        let mut hidden = address.filters.clone();
        let typed =
            |name: &str| wrong.iter().find(|part| part.name == name).map(|part| part.text.clone());
        let fields = fields_of(query.entity).filter_map(|(key, kind)| {
            let name = format!("{FIELD}{key}");
            let mut content = content(key, kind, &mut hidden, groups)?;
            match &mut content {
                FieldContent::Years { from, to } => {
                    for (end, bound) in [(FROM, from), (TO, to)] {
                        *bound = typed(&format!("{name}{end}")).unwrap_or(mem::take(bound));
                    }
                }
                FieldContent::Name { typed: refused, .. } => {
                    *refused = typed(&name).unwrap_or_default();
                }
                FieldContent::Choice(_) | FieldContent::Flag { .. } => {}
            }
            Some(Field { name, label: label(key), content })
        });
        let fields = fields.collect();
        let refused = typed(FILTER).and_then(|expression| {
            let (key, value) = expression.split_once(':')?;
            keys_of(query.entity).filter(key)?;
            Some((key.to_owned(), value.to_owned()))
        });
        let (keys, hidden) = (grouped_keys(query.entity), hidden.join(","));
        FilterForm {
            fields,
            keys,
            hidden,
            refused,
            has_versions: query.keys.has_citations(),
            is_one_of_versions: query.one_of_versions,
            wrong: wrong.to_vec(),
        }
    }

    /// The attributes of a field that say whether the list refuses what it sent.
    pub fn marks(&self, name: &str, end: &str) -> &'static str {
        let is_wrong = |part: &WrongPart| part.name.strip_prefix(name) == Some(end);
        marks(self.wrong.iter().any(is_wrong))
    }
}

/// The attributes of a field with a wrong text, which the element `wrong` of the page explains.
pub fn marks(is_wrong: bool) -> &'static str {
    if is_wrong { " aria-invalid=\"true\" aria-describedby=\"wrong\"" } else { "" }
}

/// The content of a field. An expression that it shows is taken from the others, which the form sends again as they are.
fn content(
    key: &str,
    kind: FieldKind,
    hidden: &mut Vec<String>,
    groups: &[KeyGroups],
) -> Option<FieldContent> {
    let values: Vec<&str> = hidden
        .iter()
        .filter_map(|expression| expression.strip_prefix(key)?.strip_prefix(':'))
        .collect();
    // Two expressions on one key are not what one field says.
    let value = match values.as_slice() {
        [value] => Some((*value).to_owned()),
        _ => None,
    };
    let mut take = |is_shown: bool| {
        if is_shown {
            hidden.retain(|expression| {
                expression.strip_prefix(key).is_none_or(|rest| !rest.starts_with(':'))
            });
        }
        is_shown
    };
    Some(match kind {
        FieldKind::Name(entity) => {
            FieldContent::Name { list: entity.facts().route, typed: String::new() }
        }
        FieldKind::Years => {
            let range = value.as_deref().and_then(years);
            take(range.is_some());
            let (from, to) = range.unwrap_or_default();
            FieldContent::Years { from, to }
        }
        FieldKind::Flag => {
            FieldContent::Flag { is_checked: take(value.as_deref() == Some("true")) }
        }
        FieldKind::Choice => {
            let group = groups.iter().find(|group| group.key == key)?;
            let mut options: Vec<(String, String, String, bool)> = group
                .bars
                .iter()
                .filter_map(|bar| {
                    Some((bar.value.clone()?, bar.name.clone(), bar.count.clone(), false))
                })
                .collect();
            let chosen = options.iter_mut().find(|option| Some(&option.0) == value.as_ref());
            if let Some(chosen) = chosen {
                chosen.3 = take(true);
            }
            FieldContent::Choice(options)
        }
    })
}

/// The bounds that fields of years show for a range.
fn years(value: &str) -> Option<(String, String)> {
    let year = |text: &str, step: i64| {
        let year = text.trim().parse::<i64>().ok()?.checked_add(step)?;
        Some(year.to_string())
    };
    if let Some(after) = value.strip_prefix('>') {
        return Some((year(after, 1)?, String::new()));
    }
    if let Some(before) = value.strip_prefix('<') {
        return Some((String::new(), year(before, -1)?));
    }
    let (from, to) = value.split_once('-').unwrap_or((value, value));
    Some((year(from, 0)?, year(to, 0)?))
}

/// All keys that filter, grouped by the first part of their names.
fn grouped_keys(entity: Entity) -> Vec<(String, Vec<(&'static str, String)>)> {
    let mut groups: Vec<(String, Vec<(&'static str, String)>)> = Vec::new();
    for key in keys_of(entity).filters() {
        let heading = key.split_once('.').map_or("Record".to_owned(), |(first, rest)| match rest {
            "search" => "Words".to_owned(),
            _ => label(first),
        });
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, keys)) => keys.push((key, label(key))),
            None => groups.push((heading, vec![(key, label(key))])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(pairs: &[(&str, &str)]) -> (Vec<String>, Vec<TypedName>) {
        let mut form = FilledForm::default();
        for (name, text) in pairs {
            assert!(form.take(Entity::Output, name, text), "{name}");
        }
        form.finish(Entity::Output);
        (form.expressions, form.names)
    }

    #[test]
    fn fields_become_expressions_and_empty_ones_nothing() {
        let years = |from: &str, to: &str| {
            filled(&[("with.year.from", from), ("with.year.to", to)]).0.pop().unwrap_or_default()
        };
        for (from, to, expected) in [
            ("2020", "2023", "year:2020-2023"),
            ("2020", "2020", "year:2020"),
            ("2020", "", "year:>2019"),
            ("", "2020", "year:<2021"),
            ("", "", ""),
            ("x", "", "year:>x"),
        ] {
            assert_eq!(years(from, to), expected);
        }
        let sent = [("with.type", "article"), ("with.is_oa", "true"), ("with.language.code", " ")];
        assert_eq!(filled(&sent).0, ["type:article", "is_oa:true"]);
        assert_eq!(filled(&[("key", "keywords"), ("value", "a, b")]).0, ["keywords:\"a, b\""]);
        let (expressions, names) =
            filled(&[("with.authors.id", "Ada"), ("with.topics.id", "HX_T1")]);
        assert_eq!(expressions, ["topics.id:HX_T1"]);
        let ada = TypedName { key: "authors.id", entity: Entity::Author, text: "Ada".to_owned() };
        assert_eq!(names, [ada]);
        let mut form = FilledForm::default();
        for name in ["with.year", "with.nothing", "with.type.from", "filter", "with."] {
            assert!(!form.take(Entity::Output, name, "1"), "{name}");
        }
    }

    #[test]
    fn a_range_fills_in_the_fields_that_would_send_it() {
        for (value, from, to) in [
            ("2020-2023", "2020", "2023"),
            ("2020", "2020", "2020"),
            (">2019", "2020", ""),
            ("<2021", "", "2020"),
        ] {
            assert_eq!(years(value), Some((from.to_owned(), to.to_owned())), "{value}");
        }
        for value in ["!2020", "2020|2021", "null", ">x", "-5"] {
            assert_eq!(years(value), None, "{value}");
        }
    }
}
