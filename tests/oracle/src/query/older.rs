//! The older variant of topics and domains, from the records of today: their members, and the answers of
//! its lists.
//!
//! # Where the rules are silent
//!
//! - **Keys** that the older names do not replace are there as they are; the names of a domain's fields
//!   are under `fields`.
//! - **Members** stand where those stand today whose places they took.
//! - **Groups** are not paged, their total is how many there are, and what has no id is in none. Of several
//!   spellings of a name the least is shown.
//! - **Links** from beyond the end lead back to the last page.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::atoms::{Atom, atoms, gather};
use super::grammar::{self, Asked, Word};
use super::keys::{self, Key, Kind};
use super::parameters::decoded;
use super::question::Question;
use super::{Refused, follow, order};
use crate::values::{list, object};
use crate::{Entry, Library};

/// The routes it serves.
pub const OLDER_ROUTES: [&str; 2] = ["topics", "domains"];
/// The most groups of an answer.
const GROUPS_MAX: usize = 200;

/// The lists of the older variant, ready to be asked.
#[derive(Debug)]
pub struct Older<'l> {
    library: &'l Library,
    /// By route and key, the values of each record in default order.
    atoms: BTreeMap<&'static str, BTreeMap<&'static str, Column>>,
}

/// The values of a key, by record in default order.
type Column = Vec<Vec<Atom>>;

/// An answer of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct OlderAnswer {
    /// The array.
    pub body: Value,
    /// How many there are on all pages.
    pub total: usize,
    /// The pages that are linked, by relation.
    pub links: Vec<(&'static str, u64)>,
}

/// The parameters as they were given.
#[derive(Debug)]
struct Parameters {
    page: u64,
    per_page: u64,
    is_ascending: bool,
    filter: Option<String>,
    group_by: Option<String>,
}

impl<'l> Older<'l> {
    /// The older variant of a library.
    pub fn of(library: &'l Library) -> Older<'l> {
        let mut older = Older { library, atoms: BTreeMap::new() };
        for route in OLDER_ROUTES {
            for key in older.keys(route) {
                let of_key = older.values(route, &key);
                let of_key = of_key.iter().map(|values| atoms(&key, values)).collect();
                older.atoms.entry(route).or_default().insert(key.name, of_key);
            }
        }
        older
    }

    /// The records of a route in default order: the older id, the single record and the list item.
    pub fn records(&self, route: &str) -> Vec<(String, Value, Value)> {
        let entries = self.library.entities.get(route).into_iter().flatten();
        entries
            .map(|entry| (older_id(&entry.id), shown(entry, true), shown(entry, false)))
            .collect()
    }

    /// The filter keys of a route.
    pub fn keys(&self, route: &str) -> Vec<Key> {
        let mut older: Vec<Key> = Vec::new();
        for key in keys::keys(route).into_iter().filter(|key| key.is_filter) {
            let name = match key.name {
                "outputs_count" => "outputs",
                "cited_by_count" => "citations",
                name => name,
            };
            older.push(Key { name, ..key });
        }
        let named: &[(&str, &str)] = match route {
            "topics" => {
                &[("domain", "domain.name"), ("field", "field.name"), ("subfield", "subfield.name")]
            }
            _ => &[("fields", "fields.name")],
        };
        let template =
            Key { name: "", kind: Kind::Text, is_filter: true, is_sort: false, path: "" };
        older.extend(named.iter().map(|(name, path)| Key { name, path, ..template }));
        older
    }

    /// What records are grouped by.
    pub fn groupings(&self, route: &str) -> &'static [&'static str] {
        if route == "topics" { &["domain", "field", "subfield"] } else { &["fields"] }
    }

    /// The values of a key, by record in default order.
    pub fn values(&self, route: &str, key: &Key) -> Vec<Vec<&'l Value>> {
        self.library.entities[route].iter().map(|entry| values(key, entry)).collect()
    }

    /// Answers a list's raw query.
    ///
    /// # Errors
    ///
    /// Where the answer is a 400.
    pub fn answer(&self, route: &str, raw_query: &str) -> Result<OlderAnswer, Refused> {
        let asked = parameters(raw_query)?;
        let grouping = match asked.group_by.as_deref() {
            Some(name) => {
                let known = self.groupings(route).iter().find(|known| **known == name);
                Some(*known.ok_or(Refused("no group"))?)
            }
            None => None,
        };
        let questions = self.questions(route, asked.filter.as_deref())?;
        let is_answer = |(row, _): &(usize, &Entry)| {
            questions.iter().all(|(atoms, question)| question.holds(&atoms[*row]))
        };
        let entries = self.library.entities[route].iter().enumerate().filter(is_answer);
        let mut entries: Vec<&Entry> = entries.map(|(_, entry)| entry).collect();
        if let Some(grouping) = grouping {
            return Ok(self.groups(route, grouping, &entries));
        }
        if asked.is_ascending {
            entries.sort_by_key(|entry| {
                let outputs = entry.single["outputs_count"].as_u64();
                (outputs.is_none(), outputs, order::number(&entry.id))
            });
        }
        let total = entries.len();
        let first = (asked.page - 1) * asked.per_page;
        let page = entries.into_iter().skip(first as usize).take(asked.per_page as usize);
        let last = (total as u64).div_ceil(asked.per_page).max(1);
        let mut links = Vec::new();
        if asked.page < last {
            links.push(("next", asked.page + 1));
        }
        if asked.page > 1 {
            links.push(("prev", last.min(asked.page - 1)));
        }
        Ok(OlderAnswer { body: page.map(|entry| shown(entry, false)).collect(), total, links })
    }

    fn questions(
        &self,
        route: &str,
        filter: Option<&str>,
    ) -> Result<Vec<(&Column, Question)>, Refused> {
        let keys = self.keys(route);
        let expressions = filter.map_or(Ok(Vec::new()), grammar::parse)?;
        let question = |expression: grammar::Expression| {
            let key = keys.iter().find(|key| key.name == expression.key);
            let key = key.ok_or(Refused("no filter key of this list"))?;
            let atoms = &self.atoms[route][key.name];
            let asked = of_today(key.kind, expression.asked)?;
            let follow = |level: Option<&str>, id: &str| follow(self.library, level, id);
            Ok((atoms, Question::new(key, &asked, follow)?))
        };
        expressions.into_iter().map(question).collect()
    }

    fn groups(&self, route: &str, grouping: &str, entries: &[&Entry]) -> OlderAnswer {
        let mut names: BTreeMap<u64, BTreeSet<Option<&str>>> = BTreeMap::new();
        for entry in &self.library.entities[route] {
            for (id, name) in references(entry, grouping) {
                names.entry(id).or_default().insert(name);
            }
        }
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for entry in entries {
            let different: BTreeSet<u64> =
                references(entry, grouping).into_iter().map(|(id, _)| id).collect();
            different.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
        }
        let mut groups: Vec<(Reverse<u64>, u64)> =
            counts.into_iter().map(|(id, count)| (Reverse(count), id)).collect();
        groups.sort();
        let total = groups.len();
        let group = |(Reverse(count), id): &(Reverse<u64>, u64)| {
            let name = names[id].first().copied().flatten();
            object([
                ("key", format!("OA:{id}").into()),
                ("key_display_name", name.into()),
                ("count", (*count).into()),
            ])
        };
        let body = groups.iter().take(GROUPS_MAX).map(group).collect();
        OlderAnswer { body, total, links: Vec::new() }
    }
}

/// The numbers and names of the records of a taxonomy member.
fn references<'e>(entry: &'e Entry, member: &str) -> Vec<(u64, Option<&'e str>)> {
    let given = &entry.single[member];
    let references = given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice);
    let numbered = references.iter().filter_map(|reference| {
        let id = &reference["id"];
        let number = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
        Some((number, reference["name"].as_str()))
    });
    numbered.collect()
}

fn values<'e>(key: &Key, entry: &'e Entry) -> Vec<&'e Value> {
    let mut found = Vec::new();
    key.path.split(' ').for_each(|path| gather(&entry.single, path, &mut found));
    found
}

/// An id as routes take it today, as it was.
fn older_id(id: &str) -> String {
    format!("OA:{}", id.strip_prefix("HX_").unwrap_or(id))
}

/// A record as it was, alone or in lists.
fn shown(entry: &Entry, is_single: bool) -> Value {
    let mut members: Vec<(&str, Value)> = Vec::new();
    for (name, value) in entry.single.as_object().into_iter().flatten() {
        let is_topic = entry.id.starts_with("HX_T");
        match name.as_str() {
            "id" => members.push(("id", older_id(&entry.id).into())),
            "outputs_count" => members.push(("outputs", value.clone())),
            "cited_by_count" => members.push(("citations", value.clone())),
            "keywords" if !is_single => {}
            "ids" if !is_topic => members.push(("urls", value.clone())),
            "ids" if is_single => members.push(("wikipedia", value["wikipedia"].clone())),
            "ids" => {}
            "domain" | "field" | "subfield" if is_single => {
                members.push((name, of_reference(value)));
            }
            "siblings" | "fields" if is_single => members.push((name, list(value, of_reference))),
            "domain" | "field" | "subfield" if value.is_null() => members.push((name, Value::Null)),
            "domain" | "field" | "subfield" => {
                members.push((name, list(&vec![value.clone()].into(), |of| of["name"].clone())));
            }
            "siblings" | "fields" => {
                members.push((name, list(value, |of| of["name"].clone())));
            }
            name => members.push((name, value.clone())),
        }
    }
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn of_reference(reference: &Value) -> Value {
    let id = match &reference["id"] {
        Value::Null if reference.is_null() => return Value::Null,
        Value::Null => Value::Null,
        Value::String(id) => older_id(id).into(),
        number => older_id(&number.to_string()).into(),
    };
    object([("id", id), ("name", reference["name"].clone())])
}

/// What is asked, with identifiers as they are written today.
fn of_today(kind: Kind, asked: Asked) -> Result<Asked, Refused> {
    let all = |words: Vec<Word>| -> Result<Vec<Word>, Refused> {
        words.into_iter().map(|word| word_of_today(kind, word)).collect()
    };
    Ok(match asked {
        Asked::Any(words) => Asked::Any(all(words)?),
        Asked::NoneOf(words) => Asked::NoneOf(all(words)?),
        compared => compared,
    })
}

fn word_of_today(kind: Kind, word: Word) -> Result<Word, Refused> {
    if !matches!(kind, Kind::Hx | Kind::Level(_)) || word.text == "null" && !word.is_quoted {
        return Ok(word);
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let begin = word.text.get(..3).filter(|begin| begin.eq_ignore_ascii_case("OA:"));
    let rest = if begin.is_some() { &word.text[3..] } else { word.text.as_str() };
    let text = match kind {
        Kind::Hx if begin.is_some() => format!("HX_{rest}"),
        Kind::Hx if is_number(rest) => format!("HX_T{rest}"),
        Kind::Level(_) if is_number(rest) => rest.to_owned(),
        _ => return Err(Refused("an identifier without its prefix")),
    };
    Ok(Word { text, is_quoted: word.is_quoted })
}

fn parameters(raw: &str) -> Result<Parameters, Refused> {
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        let name = match name.as_str() {
            "mailto" | "api_key" => continue,
            "per-page" => "per_page".to_owned(),
            "page" | "per_page" | "filter" | "sort" | "group_by" => name,
            _ => return Err(Refused("no parameter of a list")),
        };
        if value.is_empty() {
            return Err(Refused("an empty parameter"));
        }
        if given.insert(name, value).is_some() {
            return Err(Refused("a parameter twice"));
        }
    }
    let page = given.get("page").map_or("1", String::as_str);
    let page = page.bytes().all(|byte| byte.is_ascii_digit()).then(|| page.parse().ok()).flatten();
    let page = page.filter(|page| (1..=2_147_483_647).contains(page));
    let sizes: Vec<String> = (1..=200).map(|size: u32| size.to_string()).collect();
    let per_page = given.get("per_page").map_or("25", String::as_str);
    let per_page = sizes.iter().position(|size| size == per_page);
    let is_ascending = match given.get("sort").map(String::as_str) {
        Some("1") => true,
        Some("-1") | None => false,
        Some(_) => return Err(Refused("no direction of sorting")),
    };
    Ok(Parameters {
        page: page.ok_or(Refused("no number of a page"))?,
        per_page: per_page.ok_or(Refused("no size of a page"))? as u64 + 1,
        is_ascending,
        filter: given.get("filter").cloned(),
        group_by: given.get("group_by").cloned(),
    })
}
