//! Answers queries of lists: which records match, how many, and in which order.
//!
//! Every query looks at every record. [`Lists`] computes the values of a filter key and the ranks by a sort key
//! once, when a query has the key.
//!
//! # Where the rules are silent
//!
//! - **Operators.** An unquoted value that begins with `>`, `<` or, after `|`, with `!` is rejected, also for
//!   text keys.
//! - **Quotes.** A quoted value is parsed by the type of its key, but is never `null` or a range. An empty
//!   quoted value matches nothing.
//! - **Control characters** in any value are rejected.
//! - **Codes** are ordered like text.
//! - **`search=`** is one text; commas, bars and quotes in it have no meaning. On outputs it is a full-text search.
//!   The id of a record of the list finds this record.
//! - **Merged ids** whose chain ends at no record are compared unchanged.

mod atoms;
mod autocomplete;
mod days;
pub(crate) mod fold;
mod grammar;
mod ids;
mod keys;
mod legacy;
mod order;
mod parameters;
mod question;
mod sums;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::Value;

use crate::{Entry, Library, Search};
use atoms::{Atom, atoms, gather};
use grammar::{Asked, Expression, Word};
use ids::{Spelled, spelled};
use parameters::Parameters;
use question::Question;

pub use autocomplete::{Autocomplete, Suggestions, Unanswered};
pub use fold::fold;
use fold::words;
pub use keys::{Key, Kind};
pub use legacy::{LEGACY_ROUTES, Legacy, LegacyAnswer};
pub use sums::{Group, Numbers};
pub use table::{Cells, select, value_paths};

/// The route of the institution types, the only list without keys.
pub const INSTITUTION_TYPES_ROUTE: &str = "references/institution-types";

/// The route of the list with full-text searches.
const OUTPUTS_ROUTE: &str = "outputs";

/// The reason why the server must reject a query with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub &'static str);

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of matching records on all pages.
    pub count: usize,
    /// The ids on the page in order, as routes accept them.
    pub ids: Vec<String>,
}

/// The values of a key by row, and a question about them.
type KeyQuestion<'s> = (&'s [Vec<Atom>], Question);

/// The lists of a library.
#[derive(Debug)]
pub struct Lists<'l> {
    library: &'l Library,
    /// The records whose ids have a letter.
    by_id: BTreeMap<&'l str, &'l Entry>,
    /// The words of the names of each record that others refer to, once a query asks for them.
    names: OnceLock<BTreeMap<String, Vec<String>>>,
    lists: BTreeMap<&'static str, List<'l>>,
    /// The texts of outputs, once a search asks for them.
    search: OnceLock<Search>,
    /// The names of all records, once a search asks for them.
    autocomplete: OnceLock<Autocomplete<'l>>,
}

/// One list with its records in default order. `atoms` and `ranks` have one element per key, in the order of
/// `keys`, and in each of them one element per record.
#[derive(Debug)]
struct List<'l> {
    keys: Vec<Key>,
    entries: &'l [Entry],
    ids: Vec<String>,
    atoms: Vec<OnceLock<Vec<Vec<Atom>>>>,
    ranks: Vec<OnceLock<Vec<Option<order::Ranks>>>>,
}

impl<'l> Lists<'l> {
    /// Lists the records and their keys.
    pub fn new(library: &'l Library) -> Lists<'l> {
        let by_id = records_by_id(library);
        let list = |(route, entries): (&&'static str, &'l Vec<Entry>)| {
            let ids = entries.iter().map(|entry| entry.id.clone()).collect();
            (*route, List::new(keys::keys(route), entries, ids))
        };
        let mut lists: BTreeMap<&str, List<'_>> = library.entities.iter().map(list).collect();
        let ids = library.institution_types.iter().map(|of| of["id"].to_string()).collect();
        lists.insert(INSTITUTION_TYPES_ROUTE, List::new(Vec::new(), &[], ids));
        Lists {
            library,
            by_id,
            names: OnceLock::new(),
            lists,
            search: OnceLock::new(),
            autocomplete: OnceLock::new(),
        }
    }

    /// The routes of all lists.
    pub fn routes(&self) -> impl Iterator<Item = &'static str> {
        self.lists.keys().copied()
    }

    /// The keys of a list; empty for an unknown route.
    pub fn keys(&self, route: &str) -> &[Key] {
        self.lists.get(route).map_or(&[], |list| &list.keys)
    }

    /// The values of a key as records show them, per record in default order; empty for an unknown route.
    pub fn values(&self, route: &str, key: &Key) -> Vec<Vec<&'l Value>> {
        let entries = self.library.entities.get(route).into_iter().flatten();
        entries.map(|entry| gathered(key, entry, &self.by_id)).collect()
    }

    /// The searchable texts of outputs.
    pub fn searches(&self) -> &Search {
        self.search.get_or_init(|| Search::new(&self.library.entities[OUTPUTS_ROUTE]))
    }

    /// Answers the raw query of a list: the text after the `?`.
    ///
    /// # Errors
    ///
    /// If the server must reply 400.
    pub fn answer(&self, route: &str, raw_query: &str) -> Result<Answer, Refused> {
        self.answer_in(false, route, raw_query)
    }

    /// As [`Lists::answer`], with the sorts of OpenAlex's dialect.
    ///
    /// # Errors
    ///
    /// If the server must reply 400.
    pub fn answer_in_dialect(&self, route: &str, raw_query: &str) -> Result<Answer, Refused> {
        self.answer_in(true, route, raw_query)
    }

    fn answer_in(&self, is_dialect: bool, route: &str, raw_query: &str) -> Result<Answer, Refused> {
        let list = self.lists.get(route).ok_or(Refused("no such list"))?;
        let parameters = parameters::parse(raw_query)?;
        let rows = self.rows_in_order(route, list, &parameters, is_dialect)?;
        let first = (parameters.page - 1) * parameters.per_page;
        let on_page = rows.iter().skip(first as usize).take(parameters.per_page as usize);
        Ok(Answer { count: rows.len(), ids: on_page.map(|row| list.ids[*row].clone()).collect() })
    }

    /// The ids of all matching records in the order of the list, whatever its page, sample and format.
    ///
    /// # Errors
    ///
    /// If the server must reply 400.
    pub fn all(&self, route: &str, raw_query: &str) -> Result<Vec<String>, Refused> {
        let list = self.lists.get(route).ok_or(Refused("no such list"))?;
        let rows = self.rows_in_order(route, list, &parameters::parse(raw_query)?, false)?;
        Ok(rows.into_iter().map(|row| list.ids[row].clone()).collect())
    }

    /// The matching records in the order of the list.
    fn rows_in_order(
        &self,
        route: &str,
        list: &List<'l>,
        parameters: &Parameters,
        is_dialect: bool,
    ) -> Result<Vec<usize>, Refused> {
        let sort = match &parameters.sort {
            Some(sort) => order::parse(sort, &list.keys, is_dialect)?,
            None => Vec::new(),
        };
        let (mut rows, by_relevance) = self.matching(route, list, parameters)?;
        if sort.is_empty() {
            if let Some(text) = parameters.search.as_ref().filter(|_| route != OUTPUTS_ROUTE) {
                let names = self.autocomplete.get_or_init(|| Autocomplete::new(self.library));
                names.sort_rows(route, text, &mut rows);
            }
            return Ok(by_relevance.unwrap_or(rows));
        }
        rows.sort_by_cached_key(|row| order::number(&list.ids[*row]));
        for (at, is_descending) in sort.iter().rev() {
            let ranks = self.ranks(list, *at);
            rows.sort_by(|a, b| order::compare(ranks[*a], ranks[*b], *is_descending));
        }
        Ok(rows)
    }

    /// The matching records in default order, and of a full-text search by relevance, too.
    fn matching(
        &self,
        route: &str,
        list: &List<'l>,
        parameters: &Parameters,
    ) -> Result<(Vec<usize>, Option<Vec<usize>>), Refused> {
        let questions = self.questions(route, list, parameters)?;
        let holds = |row: usize, (atoms, question): &KeyQuestion<'_>| question.holds(&atoms[row]);
        let is_answer = |row: &usize| {
            questions.iter().all(|any_of| any_of.iter().any(|question| holds(*row, question)))
        };
        let mut rows: BTreeSet<usize> = (0..list.ids.len()).filter(is_answer).collect();
        let mut by_relevance = None;
        if route == OUTPUTS_ROUTE {
            let searches = parameters.exact.iter().map(|text| (text, true));
            for (text, is_exact) in
                searches.chain(parameters.search.iter().map(|text| (text, false)))
            {
                if !is_exact && is_id_of_output(text) {
                    continue;
                }
                let found = self
                    .searches()
                    .find(text, is_exact, &Search::fields(&[]), |row| rows.contains(&row))?;
                let found: Vec<usize> = found.rows.into_iter().map(|(row, _)| row).collect();
                rows = found.iter().copied().collect();
                by_relevance = Some(found);
            }
        }
        Ok((rows.into_iter().collect(), by_relevance))
    }

    /// Parses filter and search into questions, each with the values of its key by row. A record matches if it matches
    /// one question of each list. A search finds words of names, and the record whose id its text is.
    fn questions<'s>(
        &'s self,
        route: &str,
        list: &'s List<'l>,
        asked: &Parameters,
    ) -> Result<Vec<Vec<KeyQuestion<'s>>>, Refused> {
        let expressions = match &asked.filter {
            Some(filter) => grammar::parse(filter)?,
            None => Vec::new(),
        };
        if route != OUTPUTS_ROUTE && asked.exact.is_some() {
            return Err(Refused("no full-text search"));
        }
        let question = |expression: &Expression| {
            let is_asked = |key: &Key| key.is_filter && key.name == expression.key;
            let at = list.keys.iter().position(is_asked);
            let at = at.ok_or(Refused("no filter key of this list"))?;
            let follow = |level: Option<&str>, id: &str| follow(self.library, level, id);
            let question = Question::new(&list.keys[at], &expression.asked, follow)?;
            Ok((self.atoms(list, at), question))
        };
        let mut questions: Vec<Vec<_>> = expressions
            .iter()
            .map(|expression| question(expression).map(|question| vec![question]))
            .collect::<Result<_, Refused>>()?;
        let by_name_or_id =
            |text: &&String| route != OUTPUTS_ROUTE || is_id_of_output(text.as_str());
        if let Some(search) = asked.search.as_ref().filter(by_name_or_id) {
            let of_key = |key: &str, text: &str| {
                let words = vec![Word { text: text.to_owned(), is_quoted: true }];
                question(&Expression { key: key.to_owned(), asked: Asked::Any(words) })
            };
            let mut any_of = match route {
                OUTPUTS_ROUTE => Vec::new(),
                _ => vec![of_key("name.search", search)?],
            };
            if spelled(search.trim()) != Spelled::Other {
                any_of.extend(of_key("id", search.trim()));
            }
            questions.push(any_of);
        }
        Ok(questions)
    }

    /// The values of a key, by row.
    fn atoms<'s>(&'s self, list: &'s List<'l>, at: usize) -> &'s [Vec<Atom>] {
        let key = &list.keys[at];
        let of_entry = |entry: &'l Entry| match key.kind {
            Kind::ReferenceSearch => {
                let names = self.names.get_or_init(|| names_by_id(self.library));
                reference_words(key, entry, names)
            }
            _ => atoms(key, &gathered(key, entry, &self.by_id)),
        };
        list.atoms[at].get_or_init(|| list.entries.iter().map(of_entry).collect())
    }

    /// The ranks by a sort key, by row.
    fn ranks<'s>(&'s self, list: &'s List<'l>, at: usize) -> &'s [Option<order::Ranks>] {
        let key = &list.keys[at];
        let values = |entry: &'l Entry| -> Vec<order::SortValue> {
            let values = gathered(key, entry, &self.by_id);
            values.iter().filter_map(|value| order::sort_value(key, value)).collect()
        };
        list.ranks[at]
            .get_or_init(|| order::ranks(&list.entries.iter().map(values).collect::<Vec<_>>()))
    }
}

impl<'l> List<'l> {
    fn new(keys: Vec<Key>, entries: &'l [Entry], ids: Vec<String>) -> List<'l> {
        let (atoms, ranks) = (vec![OnceLock::new(); keys.len()], vec![OnceLock::new(); keys.len()]);
        List { keys, entries, ids, atoms, ranks }
    }
}

/// Whether a search of outputs is the id of an output: a bare id with fewer than five digits is a word.
fn is_id_of_output(text: &str) -> bool {
    let text = text.trim();
    let is_output = matches!(spelled(text), Spelled::Lettered(id) if id.starts_with("HX_W"));
    let is_bare = text.chars().all(char::is_alphanumeric);
    is_output && (!is_bare || text.len() > 5)
}

/// Replaces a merged id by the id of the record at the end of its chain; returns other ids unchanged.
fn follow(library: &Library, level: Option<&str>, id: &str) -> String {
    let is_it = |entity: &str, from: &str| from == id && level.is_none_or(|level| level == entity);
    let mut redirects = library.redirects.iter();
    let found = redirects.find(|redirect| is_it(redirect.entity, &redirect.from));
    found.and_then(|redirect| redirect.to.clone()).unwrap_or_else(|| id.to_owned())
}

/// The records whose ids have a letter.
fn records_by_id(library: &Library) -> BTreeMap<&str, &Entry> {
    let all = library.entities.values().flatten();
    all.filter(|entry| entry.id.starts_with("HX_"))
        .map(|entry| (entry.id.as_str(), entry))
        .collect()
}

/// The words of the names of each record that others refer to.
fn names_by_id(library: &Library) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    for route in ["authors", "institutions", "sources"] {
        let keys = keys::keys(route);
        let Some(key) = keys.iter().find(|key| key.name == "name.search") else { continue };
        for entry in library.entities.get(route).into_iter().flatten() {
            let values = gathered(key, entry, &BTreeMap::new());
            let texts = values.iter().filter_map(|value| value.as_str());
            names.insert(entry.id.clone(), words(texts).into_iter().collect());
        }
    }
    names
}

/// The words of each reference of a record: of the names of the record referred to, or of the name in the
/// reference.
fn reference_words(key: &Key, entry: &Entry, names: &BTreeMap<String, Vec<String>>) -> Vec<Atom> {
    let path = key.path.strip_suffix(".name").unwrap_or(key.path);
    let mut references = Vec::new();
    gather(&entry.single, path, &mut references);
    gather(&entry.unshown, path, &mut references);
    let of_one = |reference: &&Value| {
        let of_record = reference["id"].as_str().and_then(|id| names.get(id));
        let own = || words(reference["name"].as_str()).into_iter().collect();
        Atom::Words(of_record.cloned().unwrap_or_else(own))
    };
    references.iter().map(of_one).collect()
}

/// The values of a key in a record.
fn gathered<'r>(
    key: &Key,
    entry: &'r Entry,
    records: &BTreeMap<&str, &'r Entry>,
) -> Vec<&'r Value> {
    let mut found = Vec::new();
    if key.path == keys::DERIVED {
        gather(&entry.derived[key.name], "", &mut found);
        return found;
    }
    for path in key.path.split(' ') {
        // The records on the way, and at the end the values.
        let mut entries = vec![entry];
        let mut steps = path.split('>').peekable();
        while let Some(step) = steps.next() {
            let mut values = Vec::new();
            for entry in &entries {
                gather(&entry.single, step, &mut values);
                gather(&entry.unshown, step, &mut values);
                gather(&entry.derived[step], "", &mut values);
            }
            if steps.peek().is_none() {
                found.append(&mut values);
            } else {
                let ids = values.into_iter().filter_map(Value::as_str);
                entries = ids.filter_map(|id| records.get(id).copied()).collect();
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
