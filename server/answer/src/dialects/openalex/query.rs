//! Parses the query of a list in OpenAlex's words into the [`Query`] of the interface.
//!
//! ```text
//! filter=authorships.institutions.ror:04wxnsj81,publication_year:>2020
//!        authors.affiliations.id, looked up later        year:>2020
//! ```

use std::num::NonZeroU32;

use pinakes_format::autocomplete::Identifier;
use pinakes_format::entity::Entity;
use pinakes_format::query::{
    Grouping, Operand, ParamError, Query, RELEVANCE, RELEVANCE_SCORE, ResultKind,
    SAMPLE_RECORDS_MAX, Sample, nearest,
};
use pinakes_format::schema::{Bound, Key, Kind};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::dialects::openalex::filter_text::{
    PLUS, conjuncts, expressions, has_other_identifier, open_version, translated,
};
use crate::dialects::openalex::members::{Member, members};
use crate::dialects::openalex::names::{KeyName, List, Reads};
use crate::list::parameters::{PAGE_MAX, SEARCH_EXACT};
use crate::reply::{DETAILS_MAX, Detail};
use crate::request::named_snapshot::is_snapshot_id;
use crate::request::parameters::{GIVEN_TWICE, query_pairs_with};

/// The most records, or groups, of a page.
const PER_PAGE_MAX: u32 = 200;
/// The end of a key whose search compares words as they are written.
const EXACT: &str = ".exact";
/// The parameters that search some fields, and the keys of the same searches.
const FIELD_SEARCHES: [(&str, &str); 3] = [
    ("search.title", "title.search"),
    ("search.abstract", "abstract.search"),
    ("search.title_and_abstract", "title_and_abstract.search"),
];
/// The end of a `group_by` that counts the records without a value too.
const INCLUDE_UNKNOWN: &str = ":include_unknown";
/// The cursor of the first page.
const FIRST_CURSOR: &str = "*";

/// The parameters, each with its names.
const PARAMETERS: [&[&str]; 16] = [
    &["filter"],
    &["search"],
    &[SEARCH_EXACT],
    &["search.title"],
    &["search.abstract"],
    &["search.title_and_abstract"],
    &["search.semantic"],
    &["group_by", "group-by", "groupby"],
    &["sort"],
    &["select"],
    &["sample"],
    &["seed"],
    &["per_page", "per-page"],
    &["page"],
    &["cursor"],
    // Options of OpenAlex without a meaning here.
    &["data-version", "include_xpac", "include-xpac"],
];

/// A checked request for a list.
pub struct Request {
    pub query: Query,
    lookups: Vec<Lookup>,
    /// The members to show.
    pub members: Vec<&'static Member>,
    pub has_score: bool,
    /// Whether pages are by cursor.
    pub is_by_cursor: bool,
    /// How the values of groups print.
    pub group_reads: Reads,
    /// The query whose searches also list records with most words, if the query's own do not.
    pub lenient: Option<Query>,
}

/// An expression whose ids are those of the records with other identifiers.
struct Lookup {
    /// The index of the expression.
    expression: usize,
    entity: Entity,
    identifiers: Vec<Identifier>,
}

/// A place in a list of one snapshot.
pub struct Cursor {
    pub snapshot: String,
    position: u64,
}

impl Cursor {
    /// Parses a cursor of an earlier page.
    pub fn parse(text: &str) -> Option<Cursor> {
        let (snapshot, position) = text.split_once('-')?;
        let position = position.parse().ok()?;
        is_snapshot_id(snapshot).then(|| Cursor { snapshot: snapshot.to_owned(), position })
    }

    /// The text of the cursor of a place.
    pub fn text(snapshot: &str, position: u64) -> String {
        format!("{snapshot}-{position}")
    }
}

impl Request {
    /// Parses the text after the `?`.
    ///
    /// # Errors
    ///
    /// The invalid parameters, at most ten.
    pub fn parse(
        list: &'static List,
        raw: &str,
        snapshot: &Snapshot,
    ) -> Result<Request, Vec<Detail>> {
        let request = Request {
            query: Query::openalex(list.entity),
            lookups: Vec::new(),
            members: members(list.entity).iter().collect(),
            has_score: true,
            is_by_cursor: false,
            group_reads: Reads::Same,
            lenient: None,
        };
        let mut parser = Parser { list, given: Vec::new(), request, details: Vec::new() };
        parser.read(raw);
        parser.parse_all(&snapshot.manifest().id);
        parser.details.truncate(DETAILS_MAX);
        if parser.details.is_empty() { Ok(parser.request) } else { Err(parser.details) }
    }

    /// The query, with the ids of the records that identifiers were given of.
    ///
    /// Cost: one look-up for each identifier.
    pub fn resolved(&self, snapshot: &Snapshot) -> Result<Query, ReadError> {
        self.resolve(&self.query, snapshot)
    }

    /// As [`resolved`](Self::resolved), of the query or of the more lenient one.
    pub fn resolve(&self, query: &Query, snapshot: &Snapshot) -> Result<Query, ReadError> {
        let mut query = query.clone();
        for Lookup { expression, entity, identifiers } in &self.lookups {
            let mut operands = Vec::new();
            for identifier in identifiers {
                for (_, rows) in identifier.find_rows(snapshot, &[*entity])? {
                    for row in rows {
                        operands.push(Operand::Record(*entity, snapshot.row_id(*entity, row)?));
                    }
                }
            }
            if operands.is_empty() {
                operands.push(Operand::Nothing);
            }
            query.filter[*expression].operands = operands;
        }
        Ok(query)
    }
}

struct Parser {
    list: &'static List,
    /// The parameters that are not yet parsed: name, value.
    given: Vec<(String, String)>,
    request: Request,
    details: Vec<Detail>,
}

impl Parser {
    /// Splits the query into parameters.
    fn read(&mut self, raw: &str) {
        for pair in query_pairs_with(raw, PLUS) {
            let (name, value) = match pair {
                // Only a filter has plus signs that join values.
                Ok((name, value)) if name != "filter" => (name, value.replace(PLUS, " ")),
                Ok(pair) => pair,
                Err(detail) => {
                    self.details.push(detail);
                    continue;
                }
            };
            let Some(names) = PARAMETERS.iter().find(|names| names.contains(&&*name)) else {
                let known = PARAMETERS.into_iter().flatten().copied();
                let hint = nearest(&name, known)
                    .map_or(String::new(), |known| format!("; did you mean `{known}`?"));
                self.refuse(&name, &value, format!("is no parameter of this list{hint}"));
                continue;
            };
            match self.given.iter().any(|(given, _)| names.contains(&&**given)) {
                // Scripts send what their users left empty.
                _ if value.trim().is_empty() => {}
                true => self.refuse(&name, &value, GIVEN_TWICE.to_owned()),
                false => self.given.push((name, value)),
            }
        }
    }

    /// Takes a parameter by its usual name.
    fn take(&mut self, usual: &str) -> Option<(String, String)> {
        let names = PARAMETERS.iter().find(|names| names.contains(&usual))?;
        let at = self.given.iter().position(|(name, _)| names.contains(&&**name))?;
        Some(self.given.swap_remove(at))
    }

    fn refuse(&mut self, parameter: &str, value: &str, reason: String) {
        self.details.push(Detail::new(parameter, value, reason));
    }

    fn refuse_all(&mut self, parameter: &str, given: Option<&str>, errors: Vec<ParamError>) {
        for error in errors {
            self.refuse(parameter, given.unwrap_or(&error.text), error.reason);
        }
    }

    fn parse_all(&mut self, snapshot: &str) {
        if let Some((_, text)) = self.take("filter") {
            for expression in expressions(&text) {
                self.add_expression(&expression);
            }
        }
        if let Some((name, text)) = self.take("search") {
            let added = self.request.query.add_search(&text);
            self.refuse_all(&name, None, added.err().unwrap_or_default());
        }
        if let Some((name, text)) = self.take(SEARCH_EXACT) {
            match self.request.query.is_searched() {
                true => {
                    let reason = "does not go with `search`; leave out one of the two";
                    self.refuse(&name, &text, reason.to_owned());
                }
                false => {
                    let added = self.request.query.add_exact_search(&text);
                    self.refuse_all(&name, None, added.err().unwrap_or_default());
                }
            }
        }
        for (parameter, key) in FIELD_SEARCHES {
            let Some((name, text)) = self.take(parameter) else { continue };
            let added = self.request.query.add_search_in(key, &text, false);
            self.refuse_all(&name, Some(&text), added.err().unwrap_or_default());
        }
        // Searches in fields are part of the filter. The list is ordered by the first of them, if no other search is
        // there.
        self.request.query.rank_by_filter();
        // OpenAlex requires all words. If records with most of the words are found besides, the reply says so.
        let lenient = self.request.query.clone();
        if self.request.query.require_all_words() {
            self.request.lenient = Some(lenient);
        }
        if let Some((name, text)) = self.take("search.semantic") {
            self.refuse(&name, &text, "is not offered; use `search`".to_owned());
        }
        // `sort`, `select` and the size of a page depend on whether the list has groups.
        if let Some((name, text)) = self.take("group_by") {
            self.group_by(&name, &text);
        }
        if let Some((_, text)) = self.take("sort") {
            self.sort(&text);
        }
        if let Some((_, text)) = self.take("select") {
            self.select(&text);
        }
        self.sample();
        self.pages(snapshot);
    }

    fn add_expression(&mut self, joined: &str) {
        let text = &joined.replace(PLUS, " ");
        let Some((name, value)) = text.split_once(':') else {
            let reason = "lacks its colon; an expression is `key:value`";
            return self.refuse("filter", text, reason.to_owned());
        };
        let (name, value) = (name.trim_matches(' '), value.trim_matches(' '));
        // The own keys have no form for exact searches, so the search is added without the text of a filter.
        if let Some(search) = name.strip_suffix(EXACT).filter(|name| name.ends_with(".search"))
            && let Some(key) = self.list.key(search).filter(|found| self.has_filter(found.own))
        {
            let added = self.request.query.add_search_in(key.own, value, true);
            return self.refuse_all("filter", Some(text), added.err().unwrap_or_default());
        }
        let Some(KeyName { own: key, reads }) =
            self.list.key(name).filter(|found| self.has_filter(found.own))
        else {
            let reason = self.unknown_key(name, "filter");
            return self.refuse("filter", text, reason);
        };
        let found = self.request.query.keys.filter(key);
        let (kind, is_many) = found.map_or((None, false), |(key, _)| (Some(key.kind), key.is_many));
        // A DOI or an ORCID iD in place of an id is looked up in the snapshot, which a plan does not read.
        if let Some(Kind::Id(entity)) = kind
            && has_other_identifier(entity, value)
        {
            return self.look_up(text, key, entity, value);
        }
        let expressions = match reads {
            Reads::OpenVersion => match open_version(value) {
                Some(expression) => vec![expression.to_owned()],
                None => {
                    let reason = "must be `any`, `acceptedOrPublished`, `published`, `null`, or a version of a location";
                    return self.refuse("filter", text, reason.to_owned());
                }
            },
            reads => {
                let joined =
                    joined.split_once(':').map_or("", |(_, value)| value).trim_matches(' ');
                let values = if is_many { conjuncts(kind, joined) } else { vec![value.to_owned()] };
                let translated =
                    |value: &String| format!("{key}:{}", translated(kind, reads, value));
                values.iter().map(translated).collect()
            }
        };
        for expression in expressions {
            let added = self.request.query.add_filter(&expression);
            self.refuse_all("filter", Some(text), added.err().unwrap_or_default());
        }
    }

    /// Adds an expression whose ids are known once the snapshot's files are read.
    fn look_up(&mut self, text: &str, key: &str, entity: Entity, value: &str) {
        let (sign, values) = match value.strip_prefix('!') {
            Some(values) => ("!", values),
            None => ("", value),
        };
        let mut identifiers = Vec::new();
        for value in values.split('|').map(str::trim) {
            let Some(identifier) = Identifier::parse(value) else {
                let reason = format!("`{value}` is no identifier of {}", entity.facts().plural);
                return self.refuse("filter", text, reason);
            };
            identifiers.push(identifier);
        }
        // The first id takes the place of the ids that `Request::resolved` finds.
        let any = format!("{key}:{sign}{}", entity.id_text(1));
        match self.request.query.add_filter(&any) {
            Ok(()) => {
                let expression = self.request.query.filter.len() - 1;
                self.request.query.filter[expression].text = text.to_owned();
                self.request.lookups.push(Lookup { expression, entity, identifiers });
            }
            Err(errors) => self.refuse_all("filter", Some(text), errors),
        }
    }

    fn has_filter(&self, key: &str) -> bool {
        self.request.query.keys.filter(key).is_some()
    }

    fn has_sort(&self, key: &str) -> bool {
        self.request.query.keys.sorts().any(|known| known == key)
    }

    /// Why a key is refused, with the nearest name that the list knows.
    fn unknown_key(&self, name: &str, parameter: &str) -> String {
        let keys = self.request.query.keys;
        let list = self.list.name();
        if let Some(reason) = self.list.refusal(name) {
            return format!("`{name}` is no key of {list} here: {reason}");
        }
        if parameter != "filter"
            && let Some(found) = self.list.key(name)
            && let Some((key, _)) = keys.filter(found.own)
        {
            let why = match parameter {
                "sort" => format!("no order sorts by it, as {}", why_unsorted(key)),
                _ => format!("no groups are made by it, as {}", why_ungrouped(key, found.reads)),
            };
            return format!("`{name}` filters {list}, and {why}; `/openalex` lists the keys");
        }
        let known: Vec<&str> = match parameter {
            "sort" => keys.sorts().flat_map(|key| self.list.names(key)).collect(),
            "group_by" => Grouping::key_names(keys).flat_map(|key| self.list.names(key)).collect(),
            _ => keys.filters().flat_map(|key| self.list.names(key)).collect(),
        };
        let hint = nearest(name, known.into_iter())
            .map_or(String::new(), |known| format!("; did you mean `{known}`?"));
        format!(
            "`{name}` is no key of {list} here, as no index holds it{hint}; `/openalex` lists the keys"
        )
    }

    fn sort(&mut self, text: &str) {
        let is_of_groups = matches!(self.request.query.result_kind, ResultKind::Groups(_));
        let mut parts = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (name, direction) = match part.split_once(':') {
                Some((name, direction)) => (name, direction),
                None if part == RELEVANCE_SCORE => (part, "desc"),
                None => match part.strip_prefix('-') {
                    Some(name) => (name, "desc"),
                    None => (part, "asc"),
                },
            };
            let key = match self.list.key(name) {
                _ if is_of_groups && ["count", "key"].contains(&name) => name,
                // Names that match a search have no score, and the most used come first.
                _ if name == RELEVANCE_SCORE && self.is_scoreless() => continue,
                _ if name == RELEVANCE_SCORE => RELEVANCE,
                Some(KeyName { own, .. }) if self.has_sort(own) => own,
                _ => {
                    let reason = self.unknown_key(name, "sort");
                    self.refuse("sort", part, reason);
                    continue;
                }
            };
            parts.push(format!("{key}:{direction}"));
        }
        if parts.iter().any(|part| part.starts_with(RELEVANCE)) && !self.request.query.is_searched()
        {
            let reason = "sorts by the relevance of a search, and needs `search`";
            return self.refuse("sort", text, reason.to_owned());
        }
        if !parts.is_empty() {
            let set = self.request.query.set_sort(&parts.join(","));
            self.refuse_all("sort", Some(text), set.err().unwrap_or_default());
        }
    }

    /// Whether the list has a search whose records have no score.
    fn is_scoreless(&self) -> bool {
        self.request.query.is_searched() && !self.request.query.keys.has_full_text()
    }

    fn group_by(&mut self, parameter: &str, text: &str) {
        let (name, has_unknown) = match text.strip_suffix(INCLUDE_UNKNOWN) {
            Some(name) => (name, true),
            None => (text, false),
        };
        let found = match self.list.key(name) {
            Some(KeyName { reads: Reads::NameOf(key), .. }) => Some((key, Reads::NameOf(key))),
            Some(KeyName { reads: Reads::Repository, .. }) | None => None,
            Some(KeyName { own, reads }) => Some((own, reads)),
        };
        let known = found.and_then(|(own, reads)| {
            let mut names = Grouping::key_names(self.request.query.keys);
            Some((names.find(|known| *known == own)?, reads))
        });
        let Some((key, reads)) = known else {
            let reason = self.unknown_key(name, "group_by");
            return self.refuse(parameter, text, reason);
        };
        self.request.group_reads = reads;
        let set = self.request.query.set_group_by(key);
        if let ResultKind::Groups(grouping) = &mut self.request.query.result_kind
            && !has_unknown
        {
            grouping.leave_out_null();
        }
        self.refuse_all(parameter, Some(text), set.err().unwrap_or_default());
    }

    fn select(&mut self, text: &str) {
        let all = members(self.list.entity);
        let mut selected = Vec::new();
        let mut has_score = false;
        for name in text.split(',').map(str::trim) {
            match all.iter().find(|member| member.name == name) {
                Some(member) => selected.push(member),
                None if name == RELEVANCE_SCORE => has_score = true,
                None => {
                    let reason = "is no member of these records, or is not at the root of them";
                    self.refuse("select", name, reason.to_owned());
                }
            }
        }
        self.request.members = selected;
        self.request.has_score = has_score;
    }

    fn sample(&mut self) {
        let (sample, seed) = (self.take("sample"), self.take("seed"));
        // A seed is any text.
        let seed = seed.map_or(0, |(_, text)| {
            text.parse().unwrap_or_else(|_| {
                text.bytes()
                    .fold(0u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
            })
        });
        let Some((name, text)) = sample else { return };
        if matches!(self.request.query.result_kind, ResultKind::Groups(_)) {
            let reason = "does not go with `group_by`; leave out one of the two";
            return self.refuse(&name, &text, reason.to_owned());
        }
        if let Some(by) = self.request.query.by_values {
            let own = by.key.name;
            let reason = format!(
                "does not go with a sort by `{own}`, which no order holds; leave out one of the two"
            );
            return self.refuse(&name, &text, reason);
        }
        match text.parse().ok().filter(|records| (1..=SAMPLE_RECORDS_MAX).contains(records)) {
            Some(records) => self.request.query.sample = Some(Sample { records, seed }),
            None => {
                let reason = format!("must be a whole number from 1 to {SAMPLE_RECORDS_MAX}");
                self.refuse(&name, &text, reason);
            }
        }
    }

    fn pages(&mut self, snapshot: &str) {
        let has_groups = matches!(self.request.query.result_kind, ResultKind::Groups(_));
        // OpenAlex lists as many groups, if the client names no size.
        if has_groups {
            self.request.query.per_page = PER_PAGE_MAX;
        }
        if let Some((name, text)) = self.take("per_page") {
            match text.parse().ok().filter(|size| (1..=PER_PAGE_MAX).contains(size)) {
                Some(size) => self.request.query.per_page = size,
                None => {
                    let reason = format!("must be a whole number from 1 to {PER_PAGE_MAX}");
                    self.refuse(&name, &text, reason);
                }
            }
        }
        let (page, cursor) = (self.take("page"), self.take("cursor"));
        match (page, cursor) {
            (Some((name, text)), Some(_)) => {
                let reason = "does not go with `cursor`; leave out one of the two";
                self.refuse(&name, &text, reason.to_owned());
            }
            (Some((name, text)), None) => {
                let page: Option<NonZeroU32> = text.parse().ok();
                match page.filter(|page| page.get() <= PAGE_MAX) {
                    Some(page) => self.request.query.page = page,
                    None => {
                        let reason = format!("must be a whole number from 1 to {PAGE_MAX}");
                        self.refuse(&name, &text, reason);
                    }
                }
            }
            (None, Some((name, text))) => {
                self.request.is_by_cursor = true;
                if text != FIRST_CURSOR
                    && let Err(reason) = self.go_on(&text, snapshot)
                {
                    self.refuse(&name, &text, reason.to_owned());
                }
            }
            (None, None) => {}
        }
    }

    /// Goes on from a cursor of an earlier page.
    fn go_on(&mut self, text: &str, snapshot: &str) -> Result<(), &'static str> {
        let cursor =
            Cursor::parse(text).ok_or("must be `*`, or `meta.next_cursor` of the page before")?;
        if cursor.snapshot != snapshot {
            return Err("is of another snapshot than the path names");
        }
        let size = u64::from(self.request.query.per_page);
        if cursor.position % size != 0 {
            return Err("is of pages of another size; keep `per_page` as it was");
        }
        let page = u32::try_from(cursor.position / size + 1).ok().and_then(NonZeroU32::new);
        let page = page.filter(|page| page.get() <= PAGE_MAX);
        self.request.query.page = page.ok_or("is past the last page")?;
        Ok(())
    }
}

/// Why no list is sorted by a key that filters.
fn why_unsorted(key: &Key) -> &'static str {
    match key.kind {
        _ if key.is_many => "a record may have several values",
        Kind::Day(Bound::From | Bound::To) | Kind::Moment(Bound::From | Bound::To) => {
            "it bounds another key"
        }
        _ => "its values have no order",
    }
}

/// Why no groups are made by a key that filters.
fn why_ungrouped(key: &Key, reads: Reads) -> &'static str {
    match key.kind {
        _ if reads == Reads::Repository => {
            "journals would be counted too; `locations.source.id` groups by both"
        }
        Kind::Day(_) | Kind::Moment(_) => "it is a date; years group",
        Kind::Words | Kind::Search => "it searches words",
        Kind::Identifier(_) => "it is the beginning of an identifier",
        Kind::Number => "a record may have several fractional numbers",
        _ => "it is the name of another record",
    }
}
