//! Ranks suggestions for a typed name: which records match, how many, and in which order.
//!
//! Every query looks at every record; only the folded names are computed once.
//!
//! # Where the rules are silent
//!
//! - **Two errors.** An unsupported entity type takes precedence over a missing query. A missing or blank
//!   query takes precedence over all other errors in the parameters. A `query` given twice is missing if
//!   both are blank.
//! - **White space** around an id is ignored. A query of white space alone is missing, also with tabs and
//!   line ends.
//! - **Control characters** are rejected as in lists: U+0000 to U+001F and U+007F.
//! - **Ids** are the identifiers in a record, compared as filters compare them. Numbers of the taxonomy
//!   without their list are text. An ISSN's URL is `http(s)://portal.issn.org/resource/ISSN/…`; an HX id has the URLs of OpenAlex.
//! - **Records found by an id** are ranked by the tier of their names, like all others. An output without a
//!   name is also found by its id; its `name` is null.
//! - **Ids of candidates** are strings, also in the three upper levels of the taxonomy.

mod asked;
mod suggested;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::atoms::{bare, gather};
use super::fold::{finds, fold, words};
use super::follow;
use super::ids::{Spelled, spelled};
use super::keys::Kind;
use super::order::number;
use crate::values::orcid_url;
use crate::{Entry, Library};
use suggested::{ROUTES, SUGGESTED, Suggested};

pub use asked::Unanswered;

/// Maximum number of candidates in a reply.
const RESULTS_MAX: usize = 10;

/// The suggestions for one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestions {
    /// The number of matching candidates.
    pub count: usize,
    /// The first ten candidates, as the reply shows them.
    pub results: Vec<Value>,
    /// Whether the candidates match by id; otherwise they match by words.
    pub is_by_id: bool,
}

impl Suggestions {
    /// The body of the reply.
    pub fn body(&self) -> Value {
        json!({ "meta": { "count": self.count }, "results": self.results })
    }
}

/// The candidates of a library.
#[derive(Debug)]
pub struct Autocomplete<'l> {
    library: &'l Library,
    /// The different words of all names.
    words: Vec<String>,
    /// Candidates per entity, in the order of [`SUGGESTED`].
    candidates: Vec<Vec<Candidate>>,
}

/// One record that can be suggested.
#[derive(Debug)]
struct Candidate {
    number: u64,
    route: &'static str,
    route_id: String,
    cited_by_count: Option<u64>,
    /// The folded name; `None` for a record without a name.
    name: Option<String>,
    /// The folded alternative names.
    alternatives: Vec<String>,
    /// The words of all names, by their numbers in [`Autocomplete::words`].
    words: Vec<usize>,
    /// Identifiers in the form that filters compare.
    ids: Vec<(Kind, String)>,
    shown: Value,
}

impl<'l> Autocomplete<'l> {
    /// Folds every name of every record.
    pub fn new(library: &'l Library) -> Autocomplete<'l> {
        let mut numbers = BTreeMap::new();
        let candidates = SUGGESTED.iter().map(|suggested| {
            let entries = library.entities[suggested.route].iter();
            entries.map(|entry| Candidate::new(suggested, entry, &mut numbers)).collect()
        });
        let candidates = candidates.collect();
        let mut words = vec![String::new(); numbers.len()];
        numbers.into_iter().for_each(|(word, number)| words[number] = word);
        Autocomplete { library, words, candidates }
    }

    /// The entity types with a route of their own; `None` in [`Self::answer`] means all ten.
    pub fn routes() -> [&'static str; 7] {
        ROUTES
    }

    /// The name and the alternative names of each record as shown; empty for an unknown route.
    pub fn names(&self, route: &str) -> Vec<Vec<&'l str>> {
        self.gathered(route, |suggested| {
            ["name"].into_iter().chain(suggested.alternatives.iter().copied()).collect()
        })
    }

    /// The ids of each record as shown; empty for an unknown route.
    pub fn ids(&self, route: &str) -> Vec<Vec<&'l str>> {
        self.gathered(route, |suggested| {
            ["id"].into_iter().chain(suggested.ids.iter().map(|(_, path)| *path)).collect()
        })
    }

    /// Sorts rows of a list, which ascend in its default order, by how well their names match a text.
    pub(super) fn sort_rows(&self, route: &str, text: &str, rows: &mut [usize]) {
        let Some(place) = SUGGESTED.iter().position(|suggested| suggested.route == route) else {
            return;
        };
        let folded = fold(text);
        rows.sort_by_cached_key(|row| {
            let candidate = &self.candidates[place][*row];
            let cited = Reverse(candidate.cited_by_count);
            (candidate.tier(&folded), cited, candidate.number)
        });
    }

    fn gathered(
        &self,
        route: &str,
        paths: impl Fn(&Suggested) -> Vec<&'static str>,
    ) -> Vec<Vec<&'l str>> {
        let Some(suggested) = SUGGESTED.iter().find(|suggested| suggested.route == route) else {
            return Vec::new();
        };
        let texts = |entry: &'l Entry| {
            let mut found = Vec::new();
            for path in paths(suggested) {
                gather(&entry.single, path, &mut found);
                gather(&entry.unshown, path, &mut found);
            }
            found.into_iter().filter_map(Value::as_str).collect()
        };
        self.library.entities[route].iter().map(texts).collect()
    }

    /// Answers a raw query (the text after the `?`) for one entity type or for all.
    ///
    /// # Errors
    ///
    /// If the server must reply 400.
    pub fn answer(
        &self,
        entity_type: Option<&str>,
        raw_query: &str,
    ) -> Result<Suggestions, Unanswered> {
        if entity_type.is_some_and(|entity_type| !ROUTES.contains(&entity_type)) {
            return Err(Unanswered::Invalid("no entity type that is suggested"));
        }
        let query = asked::parse(raw_query)?;
        let of_route: Vec<(usize, &Candidate)> = SUGGESTED
            .iter()
            .enumerate()
            .filter(|(_, suggested)| entity_type.is_none_or(|route| route == suggested.route))
            .flat_map(|(place, _)| self.candidates[place].iter().map(move |of| (place, of)))
            .collect();
        let typed = Typed::new(&query, self.library);
        let holders = matching(&of_route, |candidate| candidate.holds(&typed));
        let found_by = |asked| self.words.iter().map(|word| finds(asked, word)).collect();
        let found: Vec<Vec<bool>> = typed.folded.split(' ').map(found_by).collect();
        let is_by_id = !holders.is_empty();
        let mut found = match is_by_id {
            true => holders,
            false if typed.folded.is_empty() => Vec::new(),
            false => matching(&of_route, |candidate| candidate.has_words(&found)),
        };
        found.sort_by_cached_key(|(place, candidate)| {
            // `None` is below every count, and thus last in the reversed order.
            let cited = Reverse(candidate.cited_by_count);
            (candidate.tier(&typed.folded), cited, *place, candidate.number)
        });
        let shown = found.iter().take(RESULTS_MAX).map(|(_, candidate)| candidate.shown.clone());
        Ok(Suggestions { count: found.len(), results: shown.collect(), is_by_id })
    }
}

fn matching<'c>(
    of: &[(usize, &'c Candidate)],
    is_met: impl Fn(&Candidate) -> bool,
) -> Vec<(usize, &'c Candidate)> {
    of.iter().filter(|(_, candidate)| is_met(candidate)).copied().collect()
}

impl Candidate {
    fn new(
        suggested: &Suggested,
        entry: &Entry,
        numbers: &mut BTreeMap<String, usize>,
    ) -> Candidate {
        let gathered = |path: &str| {
            let mut found = Vec::new();
            gather(&entry.single, path, &mut found);
            gather(&entry.unshown, path, &mut found);
            let texts = found.into_iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect::<Vec<String>>()
        };
        let of_kind = |(kind, path): &(Kind, &str)| {
            let ids: Vec<_> = gathered(path).iter().map(|id| (*kind, bare(*kind, id))).collect();
            ids
        };
        let external_id = suggested.external_id.iter().find_map(|path| {
            let id = Value::from(gathered(path).into_iter().next()?);
            Some(if *path == "orcid.id" { orcid_url(&id) } else { id })
        });
        let record = &entry.single;
        let outputs_count = match suggested.route {
            "outputs" => Value::Null,
            _ => record["outputs_count"].clone(),
        };
        let names = [&["name"], suggested.alternatives].concat();
        let names: Vec<String> = names.into_iter().flat_map(gathered).collect();
        let alternatives = suggested.alternatives.iter().flat_map(|path| gathered(path));
        let number_of = |word| {
            let next = numbers.len();
            *numbers.entry(word).or_insert(next)
        };
        Candidate {
            number: number(&entry.id),
            route: suggested.route,
            route_id: entry.id.clone(),
            cited_by_count: record["cited_by_count"].as_u64(),
            name: record["name"].as_str().map(fold),
            alternatives: alternatives.map(|name| fold(&name)).collect(),
            words: words(names.iter().map(String::as_str)).into_iter().map(number_of).collect(),
            ids: suggested.ids.iter().flat_map(of_kind).collect(),
            shown: json!({
                "id": entry.id,
                "name": record["name"],
                "cited_by_count": record["cited_by_count"],
                "entity_type": suggested.entity_type,
                "external_id": external_id,
                "outputs_count": outputs_count,
            }),
        }
    }

    /// Whether the typed text is the record's id, an id merged into it, or another of its identifiers.
    fn holds(&self, typed: &Typed) -> bool {
        let is_own = typed.record.as_ref().is_some_and(|(level, id)| {
            *id == self.route_id && level.unwrap_or("HX_") == self.level().unwrap_or("HX_")
        });
        is_own || self.ids.iter().any(|(kind, own)| !own.is_empty() && typed.is(*kind, own))
    }

    /// The route of a node of the taxonomy with a number for an id.
    fn level(&self) -> Option<&'static str> {
        if self.route_id.starts_with("HX_") { None } else { Some(self.route) }
    }

    /// Whether each typed word begins a word of the names, or is inside one in scripts without spaces. `found` tells
    /// of each typed word which words it finds.
    fn has_words(&self, found: &[Vec<bool>]) -> bool {
        found.iter().all(|found| self.words.iter().any(|word| found[*word]))
    }

    /// How well the names match the typed text, from 1 (best) to 4.
    fn tier(&self, folded: &str) -> u32 {
        let name = self.name.as_deref().unwrap_or_default();
        match () {
            () if folded.is_empty() => 4,
            () if name == folded => 1,
            () if name.starts_with(folded) => 2,
            () if self.alternatives.iter().any(|name| name.starts_with(folded)) => 3,
            () => 4,
        }
    }
}

/// The typed text in every form that is compared.
struct Typed {
    folded: String,
    /// The text as the id of a record, with merges followed, and the level of a number.
    record: Option<(Option<&'static str>, String)>,
    /// The text as an id of each other kind.
    ids: Vec<(Kind, String)>,
}

impl Typed {
    fn new(query: &str, library: &Library) -> Typed {
        let id = query.trim();
        let mut ids: Vec<(Kind, String)> = [Kind::Doi, Kind::Orcid, Kind::Ror, Kind::Issn]
            .map(|kind| (kind, bare(kind, id)))
            .into();
        // A number alone is text.
        let pmid = bare(Kind::Pmid, id);
        if pmid != id {
            ids.push((Kind::Pmid, pmid));
        }
        let record = match spelled(id) {
            Spelled::Lettered(id) => Some((None, follow(library, None, &id))),
            Spelled::Numbered(level, id) => Some((Some(level), follow(library, Some(level), &id))),
            Spelled::Prefixed | Spelled::Other => None,
        };
        Typed { folded: fold(query), record, ids }
    }

    fn is(&self, kind: Kind, own: &str) -> bool {
        self.ids.iter().any(|(of, id)| *of == kind && id == own)
    }
}

#[cfg(test)]
mod tests;
