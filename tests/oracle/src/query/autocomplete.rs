//! What the server must suggest while a name is typed: which records, how many, in which order.
//!
//! Every record is looked at for every query; only its folded names are kept.
//!
//! # Where the rules are silent
//!
//! - **Two faults.** An unsupported entity type goes before a missing query, and a missing or blank query
//!   before all else that is wrong with the parameters; a `query` given twice is no missing one.
//! - **White space** around an id is no part of it. Alone it is a missing query, tabs and line ends too.
//! - **Control characters** are those that lists refuse: U+0000 to U+001F and U+007F.
//! - **What an id is.** Whatever a record holds as one, as filters compare it; numbers of the taxonomy are
//!   text. An ISSN's URL is `http(s)://portal.issn.org/resource/ISSN/…`; an HX id has none.
//! - **Records found by an id** stand in the tiers of what was typed, as all others; an output without a
//!   name is found so, too, and its `name` is null.
//! - **Ids of candidates** are strings, those of the taxonomy's three upper levels too.

mod asked;
mod suggested;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::atoms::{bare, gather};
use super::fold::{finds, fold, words};
use super::follow;
use super::keys::Kind;
use super::order::number;
use crate::values::orcid_url;
use crate::{Entry, Library};
use suggested::{ROUTES, SUGGESTED, Suggested};

pub use asked::Unanswered;

/// Most candidates that are shown.
const RESULTS_MAX: usize = 10;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestions {
    /// How many candidates match.
    pub count: usize,
    /// The first of them as they are shown.
    pub results: Vec<Value>,
    /// Whether they hold the id that the query is; else they have its words.
    pub is_by_id: bool,
}

impl Suggestions {
    /// The whole body.
    pub fn body(&self) -> Value {
        json!({ "meta": { "count": self.count }, "results": self.results })
    }
}

/// The records of a library, ready to be suggested.
#[derive(Debug)]
pub struct Autocomplete<'l> {
    library: &'l Library,
    /// By the entity's place in the order of equals.
    candidates: Vec<Vec<Candidate>>,
}

/// One record as it is found and shown.
#[derive(Debug)]
struct Candidate {
    number: u64,
    route_id: String,
    cited_by_count: Option<u64>,
    /// Folded; `None` of a record without.
    name: Option<String>,
    /// Folded.
    alternatives: Vec<String>,
    /// The words of all names.
    words: BTreeSet<String>,
    /// In the form in which filters compare them.
    ids: Vec<(Kind, String)>,
    shown: Value,
}

impl<'l> Autocomplete<'l> {
    /// Folds every name of every record.
    pub fn of(library: &'l Library) -> Autocomplete<'l> {
        let candidates = SUGGESTED.iter().map(|suggested| {
            let entries = library.entities[suggested.route].iter();
            entries.map(|entry| Candidate::new(suggested, entry)).collect()
        });
        Autocomplete { candidates: candidates.collect(), library }
    }

    /// The entity types that routes take; beside them, `None` is all ten.
    pub fn routes() -> [&'static str; 7] {
        ROUTES
    }

    /// The name and the alternative names of each record, as records show them; none for an unknown route.
    pub fn names(&self, route: &str) -> Vec<Vec<&'l str>> {
        self.gathered(route, |suggested| {
            ["name"].into_iter().chain(suggested.alternatives.iter().copied()).collect()
        })
    }

    /// The ids of each record, as records show them; none for an unknown route.
    pub fn ids(&self, route: &str) -> Vec<Vec<&'l str>> {
        self.gathered(route, |suggested| {
            ["id"].into_iter().chain(suggested.ids.iter().map(|(_, path)| *path)).collect()
        })
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
            paths(suggested).into_iter().for_each(|path| gather(&entry.single, path, &mut found));
            found.into_iter().filter_map(Value::as_str).collect()
        };
        self.library.entities[route].iter().map(texts).collect()
    }

    /// Answers a raw query, what stands after the `?`, to one entity type or to all.
    ///
    /// # Errors
    ///
    /// Where the answer is a 400.
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
        let is_by_id = !holders.is_empty();
        let mut found = match is_by_id {
            true => holders,
            false => matching(&of_route, |candidate| candidate.has_words(&typed.folded)),
        };
        found.sort_by_key(|(place, candidate)| {
            // `None` is below every count, and thus last when it is turned round.
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
    fn new(suggested: &Suggested, entry: &Entry) -> Candidate {
        let gathered = |path: &str| {
            let mut found = Vec::new();
            gather(&entry.single, path, &mut found);
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
        Candidate {
            number: number(&entry.id),
            route_id: entry.id.clone(),
            cited_by_count: record["cited_by_count"].as_u64(),
            name: record["name"].as_str().map(fold),
            alternatives: alternatives.map(|name| fold(&name)).collect(),
            words: words(names.iter().map(String::as_str)),
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

    /// Whether this is its own id, from wherever it was merged, or another that it holds.
    fn holds(&self, typed: &Typed) -> bool {
        let is_own = self.route_id.starts_with("HX_") && self.route_id == typed.hx_id;
        is_own || self.ids.iter().any(|(kind, own)| !own.is_empty() && typed.is(*kind, own))
    }

    /// Whether each of the words begins one of its own, or stands within where no spaces are written.
    fn has_words(&self, folded: &str) -> bool {
        let mut asked = folded.split(' ');
        !folded.is_empty() && asked.all(|asked| self.words.iter().any(|word| finds(asked, word)))
    }

    /// How near its names are to what was typed: 1 is the nearest.
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

/// What was typed, in every form in which it is compared.
struct Typed {
    folded: String,
    /// As an id of the service, at the end of its merges.
    hx_id: String,
    /// As an id of each other kind.
    ids: [(Kind, String); 4],
}

impl Typed {
    fn new(query: &str, library: &Library) -> Typed {
        let id = query.trim();
        let kinds = [Kind::Doi, Kind::Orcid, Kind::Ror, Kind::Plain];
        Typed {
            folded: fold(query),
            hx_id: follow(library, None, &id.to_ascii_uppercase()),
            ids: kinds.map(|kind| (kind, without_url(kind, id))),
        }
    }

    fn is(&self, kind: Kind, own: &str) -> bool {
        self.ids.iter().any(|(of, id)| *of == kind && id == own)
    }
}

/// An id in the form in which those of its kind are compared. Of the plain ones only ISSNs are looked for,
/// and they have a URL, too.
fn without_url(kind: Kind, id: &str) -> String {
    let id = bare(kind, id);
    let urls = ["https://portal.issn.org/resource/issn/", "http://portal.issn.org/resource/issn/"];
    match kind {
        Kind::Plain => urls.iter().find_map(|url| id.strip_prefix(url)).unwrap_or(&id).to_owned(),
        _ => id,
    }
}

#[cfg(test)]
mod tests;
