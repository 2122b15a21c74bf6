//! From options to jobs: the records of each entity that an export writes, and their members.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::formats::table::Columns;
use pinakes_format::query::{ParamError, Query, RELEVANCE, Sample, parse_select};
use pinakes_format::record::{Members, View};

use crate::error::{Error, Result};
use crate::export::options::{Compression, ExportArgs, Format};
use crate::link::selection::add_filter;

/// The records of one entity, and their members.
pub(crate) struct Job {
    pub(crate) entity: Entity,
    pub(crate) query: Query,
    /// Most records.
    pub(crate) limit: u64,
    /// The selected members; `None` for whole records.
    pub(crate) select: Option<Members>,
}

impl Job {
    /// Whether every record of the entity is written.
    pub(crate) fn has_all_records(&self) -> bool {
        let Query { filter, sample, one_of_versions, .. } = &self.query;
        filter.is_empty() && sample.is_none() && !one_of_versions && self.limit == u64::MAX
    }
}

/// Checks the options and makes a job of each entity.
///
/// # Errors
///
/// Options that do not parse, or contradict each other.
pub(crate) fn plan(args: &ExportArgs, format: Format) -> Result<Vec<Job>> {
    check(args, format)?;
    let mut refused = Refusals::default();
    let is_chosen = |entity: &Entity| args.entities.is_empty() || args.entities.contains(entity);
    let entities: Vec<Entity> = Entity::all().filter(is_chosen).collect();
    let mut queries: BTreeMap<Entity, Query> =
        entities.iter().map(|entity| (*entity, Query::new(*entity))).collect();
    let known = queries.len();
    for given in &args.wheres {
        refused.add("--where", given, add_filter(&mut queries, &with_entity(&entities, given)));
        // `add_filter` adds a query for an entity that has none.
        if queries.len() > known {
            let reason = "filters an entity that is not among the exported ones";
            refused.add::<()>("--where", given, Err(vec![ParamError::new(given, reason)]));
            break;
        }
    }
    let mut jobs = Vec::new();
    for (entity, mut query) in queries {
        if let Some(search) = &args.search {
            refused.add("--search", search, query.add_search(search));
        }
        if let Some(search) = &args.search_exact {
            refused.add("--search-exact", search, query.add_exact_search(search));
        }
        if let Some(sort) = &args.sort {
            refused.add("--sort", sort, query.set_sort(sort));
        }
        if query.relevance.is_some() && (query.search().is_none() || args.sample.is_some()) {
            let reason =
                "sorts by the relevance of a search, which needs `--search` and no `--sample`";
            refused.add::<()>("--sort", RELEVANCE, Err(vec![ParamError::new(RELEVANCE, reason)]));
        }
        let select = args.select.as_ref().and_then(|text| {
            refused.add("--select", text, parse_select(entity, View::Export, text))
        });
        query.one_of_versions = args.one_of_versions;
        query.sample = args.sample.map(|records| Sample { records, seed: args.seed });
        jobs.push(Job { entity, query, limit: args.limit.unwrap_or(u64::MAX), select });
    }
    refused.into_result(jobs)
}

/// Refuses options that do not go together.
fn check(args: &ExportArgs, format: Format) -> Result<()> {
    let refuse = |text: &str| Err(Error::Usage(format!("{text}; nothing was exported")));
    if args.entities.len() != 1 && (args.sort.is_some() || args.select.is_some()) {
        return refuse(
            "`--sort` and `--select` need one ENTITY, because members differ between entities",
        );
    }
    let has_search = args.search.is_some() || args.search_exact.is_some();
    if has_search && args.entities != [Entity::Output] {
        return refuse("`--search` is of outputs; name `outputs` as the one ENTITY");
    }
    if args.one_of_versions && args.entities != [Entity::Output] {
        return refuse("`--one-of-versions` is of outputs; name `outputs` as the one ENTITY");
    }
    if format.is_compressed() && args.compress.is_some_and(|by| by != Compression::None) {
        return refuse("`--compress` is for text; Parquet and workbooks are always compressed");
    }
    let has_references = args.columns == Columns::References;
    if (has_references || args.max_cell.is_some()) && !format.is_table() {
        return refuse("`--columns` and `--max-cell` need `--format csv` or `--format xlsx`");
    }
    if args.bom && format != Format::Csv {
        return refuse("`--bom` needs `--format csv`");
    }
    if has_references || format.references().is_some() {
        if args.entities != [Entity::Output] {
            return refuse("references are of outputs; name `outputs` as the one ENTITY");
        }
        if args.select.is_some() {
            return refuse("`--select` is of members; those of references are fixed");
        }
    }
    if args.integer_ids && format != Format::Parquet {
        return refuse("`--integer-ids` needs `--format parquet`");
    }
    if args.edges && format != Format::Parquet {
        return refuse("`--edges` needs `--format parquet`");
    }
    if args.edges && !args.entities.is_empty() && !args.entities.contains(&Entity::Output) {
        return refuse("`--edges` are those of outputs; name `outputs` among the entities");
    }
    Ok(())
}

/// Adds the name of the one entity to a filter without a name.
fn with_entity(entities: &[Entity], given: &str) -> String {
    let is_named = given
        .split_once(':')
        .is_some_and(|(name, _)| CATALOG.iter().any(|facts| facts.plural == name));
    match entities {
        [entity] if !is_named => format!("{entity}:{given}"),
        _ => given.to_owned(),
    }
}

/// The options that do not parse, with the reasons.
#[derive(Default)]
struct Refusals(String);

impl Refusals {
    /// Notes the errors of an option; returns its value if it has none.
    fn add<T>(
        &mut self,
        option: &str,
        given: &str,
        parsed: std::result::Result<T, Vec<ParamError>>,
    ) -> Option<T> {
        let errors = match parsed {
            Ok(value) => return Some(value),
            Err(errors) => errors,
        };
        let _ = write!(self.0, "\n  {option} {given}");
        for error in errors {
            let _ = write!(self.0, "\n    `{}`: {}", error.text, error.reason);
        }
        None
    }

    fn into_result<T>(self, value: T) -> Result<T> {
        if self.0.is_empty() {
            return Ok(value);
        }
        Err(Error::Usage(format!("cannot parse what to export; nothing was exported{}", self.0)))
    }
}
