//! Which records a snapshot is made of: `--where`, in the words of the lists' `filter`, and `--suppress`,
//! by their ids.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use clap::Args;
use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::query::{Query, Refusal, nearest};
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_format::storage::manifest::Filters;

use crate::error::{Error, Result};

/// Options of every command that publishes a snapshot.
#[derive(Args, Debug, Default)]
pub struct SelectionArgs {
    /// Publish a part: `ENTITY:FILTER`, as `outputs:year:>2020,is_oa:true`. ENTITY is a list of the
    /// interface, and FILTER what its `filter` takes. Kept are the records that match and every record
    /// they refer to, directly or through others; outputs, to which nothing refers, are kept only where
    /// they match. May be given several times, or several in one text with a line each, as in PINAKES_WHERE:
    /// filters of one entity must all hold, those of different entities each choose records of their
    /// own. Everything else is counted as excluded.
    #[arg(long = "where", value_name = "ENTITY:FILTER", env = "PINAKES_WHERE")]
    wheres: Vec<String>,

    /// Leave out the records whose ids stand in this file, one a line, as if the inputs did not have
    /// them: `HX_W12`, `W12`, `https://openalex.org/W12`, `fields/17`; what follows a `#` is a comment.
    /// What refers to such a record keeps its id, without a name. An id that the inputs do not have is
    /// counted and no error.
    #[arg(long, value_name = "FILE", env = "PINAKES_SUPPRESS")]
    suppress: Option<PathBuf>,
}

/// The records that are asked for, and everything they refer to; all, where nothing is asked for. But
/// for those that are suppressed.
#[derive(Debug)]
pub struct Selection {
    queries: BTreeMap<Entity, Query>,
    suppression: SuppressionList,
    /// Whether a snapshot is published even where nothing matches.
    allows_none: bool,
}

impl SelectionArgs {
    /// What the options select; `None` where there is none, and everything is published. Where nothing
    /// matches, a snapshot is published if that is allowed.
    ///
    /// # Errors
    ///
    /// A usage error that says of every part what is wrong with it, and what would be right.
    pub fn read(&self, allows_none: bool) -> Result<Option<Selection>> {
        let suppression = self.suppress.as_deref().map(SuppressionList::read).transpose();
        let suppression = suppression.map_err(|error| Error::Usage(error.to_string()))?;
        let suppression = suppression.unwrap_or_default();
        if self.wheres.is_empty() && suppression.is_empty() {
            return Ok(None);
        }
        let mut queries = BTreeMap::new();
        let mut refusals = Vec::new();
        for given in self.wheres.iter().flat_map(|given| lines_of(given)) {
            if let Err(refused) = take(&mut queries, given) {
                refusals.push((given, refused));
            }
        }
        if refusals.is_empty() {
            return Ok(Some(Selection { queries, suppression, allows_none }));
        }
        let mut text = String::from("nothing was read, since what to publish is not understood");
        for (given, refused) in refusals {
            let _ = write!(text, "\n  --where {given}");
            for Refusal { part, reason } in refused {
                let _ = write!(text, "\n    `{part}`: {reason}");
            }
        }
        Err(Error::Usage(text))
    }
}

/// The filters of one text, a line each; the text as it is where it has none.
fn lines_of(given: &str) -> impl Iterator<Item = &str> {
    let is_blank = given.trim().is_empty();
    let lines = given.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.chain(is_blank.then_some(given))
}

/// Adds one filter to those of its entity.
fn take(
    queries: &mut BTreeMap<Entity, Query>,
    given: &str,
) -> std::result::Result<(), Vec<Refusal>> {
    let Some((name, filter)) = given.split_once(':') else {
        let reason = "lacks its filter; write `ENTITY:FILTER`, as `outputs:year:>2020`";
        return Err(vec![Refusal::new(given, reason)]);
    };
    let Some(facts) = CATALOG.iter().find(|facts| facts.plural == name) else {
        return Err(vec![Refusal::new(name, unknown_entity(name))]);
    };
    let query = queries.entry(facts.entity).or_insert_with(|| Query::new(facts.entity));
    query.filter(filter)
}

/// What is wrong with the name of an entity.
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

impl Selection {
    /// What a manifest says was selected. Whether anything matches is for its root hash to say.
    ///
    /// # Errors
    ///
    /// Where a filter is none that this program knows.
    pub fn of(filters: &Filters) -> Result<Selection> {
        let mut queries = BTreeMap::new();
        for (entity, expressions) in filters {
            for expression in expressions {
                let given = format!("{entity}:{expression}");
                take(&mut queries, &given).map_err(|_| {
                    let reason = "is not understood by this program; update it";
                    Error::Refused(format!("the selection `{given}` of the manifest {reason}"))
                })?;
            }
        }
        Ok(Selection { queries, suppression: SuppressionList::default(), allows_none: true })
    }

    /// Whether a snapshot is published even where nothing matches.
    pub fn allows_none(&self) -> bool {
        self.allows_none
    }

    /// What is left out, whatever is asked for.
    pub fn suppression(&self) -> &SuppressionList {
        &self.suppression
    }

    /// Whether something is asked for; all is, where nothing is.
    pub fn has_queries(&self) -> bool {
        !self.queries.is_empty()
    }

    /// The question to each list.
    pub fn queries(&self) -> impl Iterator<Item = &Query> {
        self.queries.values()
    }

    /// The filters by entity, each expression once and in one order, however they were given.
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

    fn read(wheres: &[&str]) -> Result<Option<Selection>> {
        let wheres = wheres.iter().map(|text| (*text).to_owned()).collect();
        SelectionArgs { wheres, suppress: None }.read(false)
    }

    #[test]
    fn filters_are_the_same_in_whatever_order_they_are_given() {
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
    fn what_is_not_understood_is_said_of_every_part() {
        let check = |wheres: &[&str], expected: &str| {
            let error = read(wheres).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wheres:?}");
            let first = "nothing was read, since what to publish is not understood";
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
             institutions, publishers, funders, topics, domains, fields, subfields, institution-types",
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
