//! Answers for the legacy variant of topics and domains: records, lists and groups.
//!
//! # Where the rules are silent
//!
//! - **Keys** without a legacy name keep their current name; the names of a domain's fields are under
//!   `fields`.
//! - **Members** have the position of the current member that they replace.
//! - **Groups** are not paged; their total is the number of groups. A reference without an id is in no
//!   group. Of several spellings of a name the group shows the smallest.
//! - **Links** on a page past the end lead to the last page.

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

/// The routes with a legacy variant.
pub const LEGACY_ROUTES: [&str; 2] = ["topics", "domains"];
/// Maximum number of groups in an answer.
const GROUPS_MAX: usize = 200;

/// The legacy lists of a library.
#[derive(Debug)]
pub struct Legacy<'l> {
    library: &'l Library,
    /// The values of each record in default order, by route and key.
    atoms: BTreeMap<&'static str, BTreeMap<&'static str, Column>>,
}

/// The values of a key, per record in default order.
type Column = Vec<Vec<Atom>>;

/// One page of a legacy list, or its groups.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyAnswer {
    /// The body of the reply: an array of records or groups.
    pub body: Value,
    /// The number of records or groups on all pages.
    pub total: usize,
    /// The linked pages: relation, number of the page.
    pub links: Vec<(&'static str, u64)>,
}

/// The parameters of a legacy list.
#[derive(Debug)]
struct Parameters {
    page: u64,
    per_page: u64,
    is_ascending: bool,
    filter: Option<String>,
    group_by: Option<String>,
}

impl<'l> Legacy<'l> {
    /// Computes the values of every legacy key for every record.
    pub fn new(library: &'l Library) -> Legacy<'l> {
        let mut legacy = Legacy { library, atoms: BTreeMap::new() };
        for route in LEGACY_ROUTES {
            for key in legacy.keys(route) {
                let of_key = legacy.values(route, &key);
                let of_key = of_key.iter().map(|values| atoms(&key, values)).collect();
                legacy.atoms.entry(route).or_default().insert(key.name, of_key);
            }
        }
        legacy
    }

    /// The records of a route in default order: legacy id, single record, list item.
    pub fn records(&self, route: &str) -> Vec<(String, Value, Value)> {
        let entries = self.library.entities.get(route).into_iter().flatten();
        entries
            .map(|entry| (legacy_id(&entry.id), shown(entry, true), shown(entry, false)))
            .collect()
    }

    /// The filter keys of a route.
    pub fn keys(&self, route: &str) -> Vec<Key> {
        let mut legacy: Vec<Key> = Vec::new();
        for key in keys::keys(route).into_iter().filter(|key| key.is_filter) {
            let name = match key.name {
                "outputs_count" => "outputs",
                "cited_by_count" => "citations",
                name => name,
            };
            legacy.push(Key { name, ..key });
        }
        let named: &[(&str, &str)] = match route {
            "topics" => {
                &[("domain", "domain.name"), ("field", "field.name"), ("subfield", "subfield.name")]
            }
            _ => &[("fields", "fields.name")],
        };
        let template = Key {
            name: "",
            kind: Kind::Text,
            is_filter: true,
            is_sort: false,
            is_dialect_sort: false,
            path: "",
        };
        legacy.extend(named.iter().map(|(name, path)| Key { name, path, ..template }));
        legacy
    }

    /// The values of `group_by` that a route accepts.
    pub fn groupings(&self, route: &str) -> &'static [&'static str] {
        if route == "topics" { &["domain", "field", "subfield"] } else { &["fields"] }
    }

    /// The values of a key, per record in default order.
    pub fn values(&self, route: &str, key: &Key) -> Vec<Vec<&'l Value>> {
        self.library.entities[route].iter().map(|entry| values(key, entry)).collect()
    }

    /// Answers a list's raw query.
    ///
    /// # Errors
    ///
    /// If the server must reply 400.
    pub fn answer(&self, route: &str, raw_query: &str) -> Result<LegacyAnswer, Refused> {
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
        Ok(LegacyAnswer { body: page.map(|entry| shown(entry, false)).collect(), total, links })
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
            let asked = with_current_ids(key.kind, expression.asked)?;
            let follow = |level: Option<&str>, id: &str| follow(self.library, level, id);
            Ok((atoms, Question::new(key, &asked, follow)?))
        };
        expressions.into_iter().map(question).collect()
    }

    fn groups(&self, route: &str, grouping: &str, entries: &[&Entry]) -> LegacyAnswer {
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
        LegacyAnswer { body, total, links: Vec::new() }
    }
}

/// The numbers and names of the nodes in a taxonomy member of a record.
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

/// Converts a current id into a legacy id: `HX_T1` into `OA:T1`, `17` into `OA:17`.
fn legacy_id(id: &str) -> String {
    format!("OA:{}", id.strip_prefix("HX_").unwrap_or(id))
}

/// Converts a record into its legacy shape, as a single record or as a list item.
fn shown(entry: &Entry, is_single: bool) -> Value {
    let mut members: Vec<(&str, Value)> = Vec::new();
    for (name, value) in entry.single.as_object().into_iter().flatten() {
        let is_topic = entry.id.starts_with("HX_T");
        match name.as_str() {
            "id" => members.push(("id", legacy_id(&entry.id).into())),
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
        Value::String(id) => legacy_id(id).into(),
        number => legacy_id(&number.to_string()).into(),
    };
    object([("id", id), ("name", reference["name"].clone())])
}

/// Converts the legacy ids in a condition into current ids.
fn with_current_ids(kind: Kind, asked: Asked) -> Result<Asked, Refused> {
    let all = |words: Vec<Word>| -> Result<Vec<Word>, Refused> {
        words.into_iter().map(|word| with_current_id(kind, word)).collect()
    };
    Ok(match asked {
        Asked::Any(words) => Asked::Any(all(words)?),
        Asked::NoneOf(words) => Asked::NoneOf(all(words)?),
        compared => compared,
    })
}

fn with_current_id(kind: Kind, word: Word) -> Result<Word, Refused> {
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
        // The spellings of the other lists.
        _ if begin.is_none() => rest.to_owned(),
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
