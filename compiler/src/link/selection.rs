//! Parses `--where`, in the syntax of the lists' `filter`, and `--suppress`, a file of ids.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use clap::Args;
use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::query::{ParamError, Query, nearest};
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_format::storage::manifest::Filters;

use crate::error::{Error, Result};

/// Options of every command that publishes a snapshot.
#[derive(Args, Debug, Default)]
pub struct SelectionArgs {
    /// Publish a subset: `ENTITY:FILTER`, as `outputs:year:>2020,is_oa:true`. ENTITY is the name of a
    /// list, and FILTER has the syntax of the list's `filter`. The subset has the records that match, and
    /// every record they refer to, directly or through others; no record refers to outputs, so only
    /// matching outputs are kept. May be given several times, or several in one text with a line each, as
    /// in PINAKES_WHERE: filters of one entity must all hold, filters of different entities each select
    /// records of their own. All other records are counted as excluded.
    #[arg(long = "where", value_name = "ENTITY:FILTER", env = "PINAKES_WHERE")]
    wheres: Vec<String>,

    /// Leave out the records whose ids this file lists, one a line, as if the inputs did not have them:
    /// `HX_W12`, `W12`, `https://openalex.org/W12`, `fields/17`; a `#` starts a comment. References to
    /// such a record keep its id, without a name. An id that the inputs do not have is counted and no
    /// error.
    #[arg(long, value_name = "FILE", env = "PINAKES_SUPPRESS")]
    suppress: Option<PathBuf>,

    /// Leave out the full-text index, about a quarter of a snapshot: `search=` of outputs then answers that the snapshot has no
    /// such index.
    #[arg(long, env = "PINAKES_NO_SEARCH")]
    no_search: bool,
}

/// The selected records: those that match the queries and all records they refer to, or all records if
/// there is no query, without the suppressed records.
#[derive(Debug)]
pub struct RecordSelection {
    queries: BTreeMap<Entity, Query>,
    suppression: SuppressionList,
    /// Whether a selection without a match is published.
    allows_none: bool,
    /// Whether the snapshot has a full-text index.
    has_search: bool,
}

impl SelectionArgs {
    /// Parses the options; `None` if none is given. `allows_none` permits a selection without a match.
    ///
    /// The usage error names the faults of every part of every filter.
    pub fn read(&self, allows_none: bool) -> Result<Option<RecordSelection>> {
        let suppression = self.suppress.as_deref().map(SuppressionList::read).transpose();
        let suppression = suppression.map_err(|error| Error::Usage(error.to_string()))?;
        let suppression = suppression.unwrap_or_default();
        if self.wheres.is_empty() && suppression.is_empty() && !self.no_search {
            return Ok(None);
        }
        let mut queries = BTreeMap::new();
        let mut refusals = Vec::new();
        for given in self.wheres.iter().flat_map(|given| lines_of(given)) {
            if let Err(refused) = add_filter(&mut queries, given) {
                refusals.push((given, refused));
            }
        }
        if refusals.is_empty() {
            let has_search = !self.no_search;
            return Ok(Some(RecordSelection { queries, suppression, allows_none, has_search }));
        }
        let mut text = String::from("cannot parse what to publish; no input was read");
        for (given, refused) in refusals {
            let _ = write!(text, "\n  --where {given}");
            for error in refused {
                let _ = write!(text, "\n    `{}`: {}", error.text, error.reason);
            }
        }
        Err(Error::Usage(text))
    }
}

/// Splits a text into filters, one a line. A blank text is one filter, so that it is rejected.
fn lines_of(given: &str) -> impl Iterator<Item = &str> {
    let is_blank = given.trim().is_empty();
    let lines = given.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.chain(is_blank.then_some(given))
}

/// Parses a filter and adds it to the query of its entity.
pub(crate) fn add_filter(
    queries: &mut BTreeMap<Entity, Query>,
    given: &str,
) -> std::result::Result<(), Vec<ParamError>> {
    let Some((name, filter)) = given.split_once(':') else {
        let reason = "lacks its filter; write `ENTITY:FILTER`, as `outputs:year:>2020`";
        return Err(vec![ParamError::new(given, reason)]);
    };
    let Some(facts) = CATALOG.iter().find(|facts| facts.plural == name) else {
        return Err(vec![ParamError::new(name, unknown_entity(name))]);
    };
    let query = queries.entry(facts.entity).or_insert_with(|| Query::new(facts.entity));
    query.add_filter(filter)
}

/// The reason for rejecting the name of an entity.
fn unknown_entity(name: &str) -> String {
    let plurals = || CATALOG.iter().map(|facts| facts.plural);
    let meant = Entity::from_dump_name(name).map(|entity| entity.facts().plural);
    match meant.or_else(|| nearest(name, plurals())) {
        Some(meant) => format!("is no entity; did you mean `{meant}`?"),
        None => {
            let known: Vec<&str> = plurals().collect();
            format!("is no entity; there are {}", known.join(", "))
        }
    }
}

impl RecordSelection {
    /// Parses the filters of a manifest. Permits no match: the manifest's root hash decides that.
    pub fn from_filters(filters: &Filters) -> Result<RecordSelection> {
        let mut queries = BTreeMap::new();
        for (entity, expressions) in filters {
            for expression in expressions {
                let given = format!("{entity}:{expression}");
                add_filter(&mut queries, &given).map_err(|_| {
                    let reason = "is not understood by this program; update it";
                    Error::Refused(format!("the selection `{given}` of the manifest {reason}"))
                })?;
            }
        }
        Ok(RecordSelection {
            queries,
            suppression: SuppressionList::default(),
            allows_none: true,
            has_search: true,
        })
    }

    pub fn allows_none(&self) -> bool {
        self.allows_none
    }

    pub fn suppression(&self) -> &SuppressionList {
        &self.suppression
    }

    /// Whether queries select records. Without queries all records are selected.
    pub fn has_queries(&self) -> bool {
        !self.queries.is_empty()
    }

    /// Whether all records are selected.
    pub fn is_whole(&self) -> bool {
        self.queries.is_empty() && self.suppression.is_empty()
    }

    /// Whether the snapshot has a full-text index.
    pub fn has_search(&self) -> bool {
        self.has_search
    }

    pub fn queries(&self) -> impl Iterator<Item = &Query> {
        self.queries.values()
    }

    /// The filters by entity: each expression once, sorted.
    pub fn filters(&self) -> Filters {
        let texts = |query: &Query| {
            let mut texts: Vec<String> =
                query.filter.iter().map(|expression| expression.text.clone()).collect();
            texts.sort_unstable();
            texts.dedup();
            texts
        };
        let named =
            |(entity, query): (&Entity, &Query)| (entity.facts().plural.to_owned(), texts(query));
        self.queries.iter().map(named).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(wheres: &[&str]) -> Result<Option<RecordSelection>> {
        let wheres = wheres.iter().map(|text| (*text).to_owned()).collect();
        SelectionArgs { wheres, suppress: None, no_search: false }.read(false)
    }

    #[test]
    fn filters_do_not_depend_on_the_order_of_options() {
        let check = |wheres: &[&str], expected: &[(&str, &[&str])]| {
            let found = read(wheres).unwrap().unwrap().filters();
            let expected: Filters = expected
                .iter()
                .map(|(entity, texts)| {
                    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
                    ((*entity).to_owned(), texts)
                })
                .collect();
            assert_eq!(found, expected, "{wheres:?}");
        };
        let both: &[(&str, &[&str])] = &[("outputs", &["is_oa:true", "year:>2015"])];
        check(&["outputs:year:>2015,is_oa:true"], both);
        check(&["outputs:is_oa:true,year:>2015"], both);
        check(&["outputs:year:>2015", "outputs:is_oa:true", "outputs:year:>2015"], both);
        check(
            &["outputs:doi:https://doi.org/10.1/a|\"b,c\"", "authors:name.search:ada l"],
            &[
                ("authors", &["name.search:ada l"]),
                ("outputs", &["doi:https://doi.org/10.1/a|\"b,c\""]),
            ],
        );
        assert!(read(&[]).unwrap().is_none());
    }

    #[test]
    fn a_usage_error_names_the_faults_of_every_part() {
        let check = |wheres: &[&str], expected: &str| {
            let error = read(wheres).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wheres:?}");
            let first = "cannot parse what to publish; no input was read";
            assert_eq!(error.to_string(), format!("{first}{expected}"), "{wheres:?}");
        };
        check(
            &["outputs"],
            "\n  --where outputs\n    `outputs`: lacks its filter; write `ENTITY:FILTER`, as \
             `outputs:year:>2020`",
        );
        check(
            &["works:year:2015"],
            "\n  --where works:year:2015\n    `works`: is no entity; did you mean `outputs`?",
        );
        check(
            &["author:id:HX_A1"],
            "\n  --where author:id:HX_A1\n    `author`: is no entity; did you mean `authors`?",
        );
        check(
            &["planets:id:1"],
            "\n  --where planets:id:1\n    `planets`: is no entity; there are outputs, authors, sources, \
             institutions, publishers, funders, topics, domains, fields, subfields, institution-types, \
             awards",
        );
        check(&["fields:id:17"], "\n  --where fields:id:17\n    `id`: /fields takes no filter");
        check(
            &["outputs:year:abc,is_oa:1", "authors:id:HX_A1", "topics:"],
            "\n  --where outputs:year:abc,is_oa:1\n    `year:abc`: `abc` must be an integer of at most \
             64 bits, a range such as `1-5`, `1-` or `-5`, a comparison such as `>5`, or `null`\n    \
             `is_oa:1`: `1` must be `true`, `false` or `null`\n  --where topics:\n    ``: an expression is \
             empty; write `key:value`, with one comma between two",
        );
    }
}
