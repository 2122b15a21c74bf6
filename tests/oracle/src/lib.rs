//! What the server must answer for a dump, by the book and without haste.
//!
//! The oracle reads OpenAlex dumps as the compiler does and holds every record in memory as JSON. It shares
//! no code with the compiler, the format or the server: it is written from the interface, the behaviour and
//! the mapping alone, so that a test may hold their answers against [`read`]'s with [`same`].
//! [`Lists`] answers what lists are asked: filters, sorting, searching and pages; [`Autocomplete`] suggests
//! records while their names are typed; [`Older`] answers for the older variant of topics and domains.
//!
//! # What it reads
//!
//! JSON lines of the ten entities and of institution types (plain or gzip; the entity by the nearest name on
//! the path, else by the first id), merged-ids tables and the taxonomy CSV (by their headers). Not: zstd,
//! native exports, ROR, ORCID and the journal tables; manifests are passed over unchecked. The names of
//! countries and languages and the descriptions of institution types are `"*"`, which [`same`] takes for
//! any string or `null`.
//!
//! # Where the rules are silent
//!
//! What was decided here, for a second reader to settle:
//!
//! - **Ids.** Any URL counts by its last part. `0` is an id. `HX_` is upper case, the letter in either case.
//!   A reference whose id is none of its entity shows `id: null` and its own name.
//! - **Integers.** All integer members but years are counts: 0 to 2^53 − 1, else null. A year is 1 to 9999.
//!   A number in a string is one only as a JSON literal (`" 5"`, `"05"`, `"+5"` are null).
//! - **Fractions.** Whole values to ±2^53 are integers; beyond, the shortest form of the double (`1e16`).
//! - **Text.** Never trimmed; a number where text belongs is null, except under `ids`.
//! - **Timestamps.** The fraction stays digit by digit (`.450000`). `T` may be a space. Zones: `Z`, `±HH`,
//!   `±HHMM`, `±HH:MM`. A publication date is exactly ten characters.
//! - **Lines.** 16 MiB at most; nesting of 127 at most; a repeated key at any depth quarantines.
//!   A file reached by two inputs is read once.
//! - **Copies.** Second and later copies of one line are duplicates, also where that line itself loses; all
//!   other losers are superseded, those of the winner's date also conflicts.
//! - **Merges.** The copies of an id compete first; the winner stays if newer than midnight of the merge day,
//!   else it counts as merged. Of two rows for one id the newer day holds, then the greater hash. A reference
//!   into a cycle keeps its id; one whose chain ends at no record shows the end's id.
//! - **Empty lists.** `[]` given as siblings or children is given, not derived.
//! - **Taxonomy objects.** An object's own null is final: neither the CSV nor the sums fill in single members.
//!   Nodes without an object are known from: CSV rows (overridden rows still name their parents); the parents
//!   named in objects of topics, subfields and fields; topics and their parents in outputs. Siblings and
//!   children name no node. Within one source the newest record that names one gives name and parents. Sums count the
//!   published outputs by the topic record's own parents, and are 0 where nothing is summed.
//! - **Quarantined topics.** A parent id of another level, or one that no source names. Two parents are not
//!   looked for.
//! - **CSV.** A row is one topic line read; its hash is over its cells joined by commas. Subfields, fields and
//!   domains from it are derived. Empty keywords are null.
//! - **Venues.** A null primary_location falls back to host_venue as an absent one does (source null without
//!   id and name), and then no location is dropped. A primary id that no location has drops position 0.
//!   The source's type is its record's, else the given one.
//! - **Author's and host's own words.** `orcid` becomes a URL where bare; the host's given name goes before
//!   its record's.
//! - **Funders.** `grants` only where `funders` is no list; grants are gathered by funder in first order. An
//!   award of a funder not listed is dropped.
//! - **Abstract.** Blank words are dropped; two words at one position keep the object's order.
//! - **Joins by id** (awards, topic shares) are made before merges are followed; the first share counts.
//! - **`ids.openalex`** is built from the record's id.
//! - **International names.** Order as given; a blank name is null.
//! - **Institution types.** Dates at milliseconds are cut, not rounded; `newest` is over published records.
//!   Types the list lacks are in no sum. Ids where the folder has no integer: the place in code order.
//! - **Dangling.** Every reference shown in a single record whose id has no record, roles included, awards
//!   not, counted with the entity that refers.

mod entity;
mod input;
mod json;
mod lists;
mod outputs;
mod query;
mod render;
mod same;
mod settle;
mod taxonomy;
mod values;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::entity::{ALL, Entity};
use crate::render::Renderer;
use crate::settle::Records;

pub use crate::query::{
    Answer, Autocomplete, INSTITUTION_TYPES_ROUTE, Key, Kind, Lists, OLDER_ROUTES, Older,
    OlderAnswer, Refused, Suggestions, Unanswered, fold,
};
pub use crate::same::same;

/// Everything the server answers with, in its order.
#[derive(Debug)]
pub struct Library {
    /// By the plural of the route (`outputs`, `authors` …), records in default list order.
    pub entities: BTreeMap<&'static str, Vec<Entry>>,
    /// The institution types by id.
    pub institution_types: Vec<Value>,
    /// The merged ids that no newer record has taken back, by entity and number.
    pub redirects: Vec<Redirect>,
    /// By the plural of the route.
    pub tallies: BTreeMap<&'static str, Tallies>,
    /// Files inside directories that are nothing known.
    pub skipped: Vec<PathBuf>,
}

/// One record in both shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The id as the route takes it: `HX_A1`, `17`.
    pub id: String,
    /// The body of the single record.
    pub single: Value,
    /// The item in lists.
    pub list: Value,
}

/// What a merged id leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The plural of the route.
    pub entity: &'static str,
    /// The merged id as the route takes it.
    pub from: String,
    /// The record at the end of its chain; `None` if there is none or the chain is a cycle.
    pub to: Option<String>,
}

/// What became of the lines of one entity:
/// read + derived = published + duplicates + superseded + merged + quarantined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Lines that are not blank; for topics also rows of the taxonomy CSV.
    pub read: u64,
    /// Records served.
    pub published: u64,
    /// Lines read before, byte for byte.
    pub duplicates: u64,
    /// Lines that lost against another of their id, or a CSV row against an object.
    pub superseded: u64,
    /// Winners removed by a merge.
    pub merged: u64,
    /// Those superseded at their winner's own date.
    pub conflicts: u64,
    /// Lines that are no record.
    pub quarantined: u64,
    /// Records served without a line of their own.
    pub derived: u64,
    /// References in published records whose id has no record.
    pub dangling: u64,
}

impl Tallies {
    /// As members of an object, in the order above.
    pub fn to_json(self) -> Value {
        values::object([
            ("read", self.read.into()),
            ("published", self.published.into()),
            ("duplicates", self.duplicates.into()),
            ("superseded", self.superseded.into()),
            ("merged", self.merged.into()),
            ("conflicts", self.conflicts.into()),
            ("quarantined", self.quarantined.into()),
            ("derived", self.derived.into()),
            ("dangling", self.dangling.into()),
        ])
    }
}

/// Why the inputs could not be read.
#[derive(Debug)]
pub enum Error {
    /// A path that is missing, unreadable or damaged.
    Io {
        /// The path.
        path: PathBuf,
        /// What the system or the decompressor said.
        source: std::io::Error,
    },
    /// A file named as input that is none of the known tables.
    Unrecognised(PathBuf),
}

impl Error {
    fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, source } => write!(f, "cannot read `{}`: {source}", path.display()),
            Error::Unrecognised(path) => write!(
                f,
                "`{}` is not recognised; expected OpenAlex JSON lines, a merged-ids table or the taxonomy CSV",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Unrecognised(_) => None,
        }
    }
}

/// Reads the inputs, directories or files, and answers for them. Costs memory of several times the dump.
///
/// # Errors
///
/// A path that cannot be read, a damaged file, or a file named as input that is nothing known.
pub fn read(inputs: &[PathBuf]) -> Result<Library, Error> {
    let mut lines = input::read(inputs)?;
    let skipped = std::mem::take(&mut lines.skipped);
    let records = settle::settle(lines);
    let renderer = Renderer::new(&records);
    let mut entities = BTreeMap::new();
    let mut tallies = BTreeMap::new();
    for entity in ALL {
        let entries = entries(entity, &records, &renderer);
        let mut tally = records.tallies[entity as usize];
        tally.published = entries.len() as u64;
        tally.dangling = renderer.take_dangling();
        tallies.insert(entity.route(), tally);
        entities.insert(entity.route(), entries);
    }
    let institutions = &entities[Entity::Institutions.route()];
    Ok(Library {
        institution_types: institution_types(&records, institutions),
        redirects: redirects(&records),
        entities,
        tallies,
        skipped,
    })
}

/// All records of an entity: most cited outputs first, else most outputs first, null last, ties by id.
fn entries(entity: Entity, records: &Records, renderer: &Renderer<'_>) -> Vec<Entry> {
    let rank = match entity {
        Entity::Outputs => "cited_by_count",
        _ => "outputs_count",
    };
    let mut entries: Vec<(Option<u64>, u64, Entry)> = records
        .of(entity)
        .map(|(number, record)| {
            let single = renderer.single(entity, number, record);
            let entry = Entry {
                id: entity.route_id(number),
                list: lists::in_list(entity, &single),
                single,
            };
            (entry.single[rank].as_u64(), number, entry)
        })
        .collect();
    entries.sort_by_key(|(rank, number, _)| (Reverse(*rank), *number));
    entries.into_iter().map(|(_, _, entry)| entry).collect()
}

const INSTITUTION_TYPES: [&str; 9] = [
    "education",
    "healthcare",
    "company",
    "archive",
    "nonprofit",
    "government",
    "facility",
    "funder",
    "other",
];

fn institution_types(records: &Records, institutions: &[Entry]) -> Vec<Value> {
    let newest =
        records.newest.map_or(Value::Null, |micros| values::millisecond_timestamp(micros).into());
    let fixed = INSTITUTION_TYPES.map(|code| (code.to_owned(), Value::Null));
    let listed: Vec<(String, Value)> = match records.institution_types.is_empty() {
        true => fixed.into(),
        false => records.institution_types.clone().into_iter().collect(),
    };
    let mut types: Vec<Value> = listed
        .into_iter()
        .zip(1_u64..)
        .map(|((code, given), place)| {
            let sum = |member: &str| -> Value {
                let of_type =
                    institutions.iter().filter(|entry| entry.single["type"] == code.as_str());
                let counts = of_type.filter_map(|entry| entry.single[member].as_u64());
                counts.fold(0_u64, |sum, count| (sum + count).min(values::COUNT_MAX)).into()
            };
            let or = |value: Value, other: Value| if value.is_null() { other } else { value };
            let dated = |member: &str| {
                let own = values::moment(&given[member]);
                own.map_or(newest.clone(), |own| values::millisecond_timestamp(own.micros).into())
            };
            let id = given["id"].as_u64().unwrap_or(place);
            values::object([
                ("id", id.into()),
                ("code", code.as_str().into()),
                ("name", or(values::text(&given["display_name"]), capitalised(&code).into())),
                ("description", or(values::text(&given["description"]), values::ANY_NAME.into())),
                ("outputs_count", sum("outputs_count")),
                ("cited_by_count", sum("cited_by_count")),
                ("created_date", dated("created_date")),
                ("updated_date", dated("updated_date")),
            ])
        })
        .collect();
    types.sort_by_key(|of| of["id"].as_u64());
    types
}

fn capitalised(code: &str) -> String {
    let mut characters = code.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

fn redirects(records: &Records) -> Vec<Redirect> {
    let redirect = |(entity, from): &(Entity, u64)| {
        let end = records.end_of(*entity, *from);
        let to = end.filter(|end| records.by_id.contains_key(&(*entity, *end)));
        Redirect {
            entity: entity.route(),
            from: entity.route_id(*from),
            to: to.map(|to| entity.route_id(to)),
        }
    };
    records.merges.keys().map(redirect).collect()
}

#[cfg(test)]
mod tests;
