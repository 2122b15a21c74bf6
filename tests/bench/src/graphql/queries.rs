//! Generates random GraphQL queries from the schema: any fields, any arguments, ids of existing records.

use pinakes_answer::parts::{Field, FieldSource, ObjectType};
use pinakes_format::entity::Entity;
use pinakes_format::schema::keys::{Key, keys_of};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use pinakes_generate::Random;

/// Maximum depth of fields below a root field; the server refuses deeper queries.
const DEPTH_MAX: u64 = 9;
/// Prefixes of words in the names of generated dumps.
const WORDS: [&str; 8] = ["a", "e", "st", "co", "th", "in", "university", "study"];

/// Generates queries of a snapshot.
pub struct QueryGenerator<'s> {
    snapshot: &'s Snapshot,
    roots: &'static [Field],
}

/// Joins root fields to a query; each gets an alias: `{r0:author(…){id} r1:…}`.
pub fn text(roots: &[String]) -> String {
    let aliased = roots.iter().enumerate().map(|(at, root)| format!("r{at}:{root}"));
    format!("{{{}}}", aliased.collect::<Vec<_>>().join(" "))
}

impl<'s> QueryGenerator<'s> {
    pub fn new(snapshot: &'s Snapshot) -> QueryGenerator<'s> {
        QueryGenerator { snapshot, roots: object("Query").map_or(&[], |query| &query.fields) }
    }

    /// Draws choose to four root fields.
    pub fn random_roots(&self, random: &mut Random) -> Result<Vec<String>, ReadError> {
        (0..=random.below(4)).map(|_| self.random_root(random)).collect()
    }

    /// Draws a root field with its arguments and fields.
    pub fn random_root(&self, random: &mut Random) -> Result<String, ReadError> {
        if random.below(20) == 0 {
            return Ok(introspection(random));
        }
        let field = choose(random, self.roots);
        self.field(random, field, 1 + random.clone().below(DEPTH_MAX), true)
    }

    fn field(
        &self,
        random: &mut Random,
        field: &Field,
        depth: u64,
        is_root: bool,
    ) -> Result<String, ReadError> {
        let arguments = self.arguments(random, field, is_root)?;
        let members = match object(field.type_name()) {
            Some(object) => self.members(random, object, depth)?,
            None => String::new(),
        };
        Ok(format!("{}{arguments}{members}", field.name))
    }

    fn members(
        &self,
        random: &mut Random,
        object: &ObjectType,
        depth: u64,
    ) -> Result<String, ReadError> {
        let is_leaf = |field: &Field| self::object(field.type_name()).is_none();
        // 8, 30 or 100 percent of the fields; all fields of a page.
        let per_cent = *choose(random, &[8, 30, 100]);
        let is_page = object.name.ends_with("Page");
        let mut chosen = Vec::new();
        for field in &object.fields {
            let is_chosen = is_page || random.below(100) < per_cent;
            if is_chosen && (is_leaf(field) || depth > 1) {
                chosen.push(self.field(random, field, depth.saturating_sub(1), false)?);
            }
        }
        if chosen.is_empty() {
            chosen.push("__typename".to_owned());
        }
        Ok(format!("{{{}}}", chosen.join(" ")))
    }

    fn arguments(
        &self,
        random: &mut Random,
        field: &Field,
        is_root: bool,
    ) -> Result<String, ReadError> {
        Ok(match field.source {
            FieldSource::ById(entity) => {
                let row = random.below(self.snapshot.count(entity).into()) as u32;
                // The first rows are the most cited, and usually the largest records.
                let row = if random.below(2) == 0 { row.min(20) } else { row };
                let mut id = Vec::new();
                entity.write_id(self.snapshot.row_id(entity, row)?, &mut id);
                format!("(id:\"{}\")", String::from_utf8_lossy(&id))
            }
            FieldSource::List(entity, _) => list_arguments(random, entity, is_root),
            FieldSource::Autocomplete => format!("(query:\"{}\")", words(random)),
            _ => String::new(),
        })
    }
}

fn object(name: &str) -> Option<&'static ObjectType> {
    pinakes_answer::parts::types().get(name)
}

fn list_arguments(random: &mut Random, entity: Entity, is_root: bool) -> String {
    let size = if is_root { *choose(random, &[10, 25, 50, 100]) } else { 10 };
    let mut arguments = vec![format!("per_page:{size}")];
    let keys = keys_of(entity);
    let filters: Vec<&Key> = keys.keys.iter().filter(|key| key.filter.is_some()).collect();
    if !filters.is_empty() && random.below(2) == 0 {
        let count = *choose(random, &[1, 1, 2, 3, 6, 50]);
        let expressions: Vec<String> = (0..count)
            .map(|_| {
                let key = *choose(random, &filters);
                expression(random, key)
            })
            .collect();
        arguments.push(format!("filter:\"{}\"", expressions.join(",")));
    }
    let sorts: Vec<&Key> = keys.keys.iter().filter(|key| key.sort.is_some()).collect();
    if !sorts.is_empty() && random.below(2) == 0 {
        let mut by: Vec<&str> =
            (0..1 + random.below(3)).map(|_| choose(random, &sorts).name).collect();
        by.sort_unstable();
        by.dedup();
        let by: Vec<String> =
            by.iter().map(|key| format!("{key}:{}", choose(random, &["asc", "desc"]))).collect();
        arguments.push(format!("sort:\"{}\"", by.join(",")));
    }
    if random.below(3) == 0 {
        arguments.push(format!("page:{}", choose(random, &[1, 7, 999, 2_147_483_647])));
    }
    if !filters.is_empty() && random.below(8) == 0 {
        arguments.push(format!("search:\"{}\"", words(random)));
    }
    format!("({})", arguments.join(" "))
}

/// A filter expression that many records match.
fn expression(random: &mut Random, key: &Key) -> String {
    let year = random.between(1950, 2025);
    let value = match key.kind.name() {
        "words" => words(random),
        "int" => choose(random, &[">0", "<1000", "0-100", "!3", "!null"]).to_string(),
        "num" => choose(random, &[">0.5", "<2", "!null"]).to_string(),
        "bool" => choose(random, &["true", "false", "null"]).to_string(),
        "date" if key.name.contains("from_") || key.name.contains("to_") => year.to_string(),
        "date" => format!(">{year}"),
        _ => choose(random, &["!null", "!x", "!a|b|c"]).to_string(),
    };
    format!("{}:{value}", key.name)
}

fn words(random: &mut Random) -> String {
    let words: Vec<&str> = (0..1 + random.below(3)).map(|_| *choose(random, &WORDS)).collect();
    words.join(" ")
}

/// An introspection query whose types are nested up to three times.
fn introspection(random: &mut Random) -> String {
    let inner = "name description kind ";
    let mut members = inner.to_owned();
    for _ in 0..random.below(4) {
        members = format!("{inner} fields{{name args{{name type{{name}}}} type{{{members}}}}}");
    }
    format!("__schema{{types{{{members}}}}}")
}

fn choose<'t, T>(random: &mut Random, from: &'t [T]) -> &'t T {
    &from[random.below(from.len() as u64) as usize]
}
