//! A second, naive implementation of the interface, with which tests compare the programs.
//!
//! The oracle reads a dump into memory as JSON and computes every answer by looking at every record. It
//! shares no code with the compiler, the format or the server. It is written from the text of the interface,
//! of its behaviour notes and of the mapping from dumps to records.
//!
//! - [`read`] gives every record in both JSON shapes; [`same`] compares a reply with one of them.
//! - [`Lists`] answers filters, sorts, searches and pages; [`select`] and [`Cells`] are selections and tables.
//! - [`Autocomplete`] ranks suggestions.
//! - [`Legacy`] answers for the legacy variant of topics and domains.
//!
//! # Inputs
//!
//! - JSON lines, plain or gzip, of the ten entities and of institution types. The nearest known name on the
//!   path names the entity; without one, the first id does.
//! - Tables of merged ids and the taxonomy CSV, detected by their headers.
//!
//! The oracle reads no zstd, no native dump and no side table, and it ignores manifests. Country names,
//! language names and descriptions of institution types are `"*"`: [`same`] accepts any string or `null`
//! there.
//!
//! # Where the rules are silent
//!
//! The oracle decides these cases, for a second reader to check:
//!
//! - **Ids.** Any URL counts by its last part. `0` is an id. `HX_` is upper case, the letter in either case.
//!   A reference with an id of another entity shows `id: null` and the reference's name.
//! - **Integers.** All integer members but years are counts: 0 to 2^53 − 1, else null. A year is 1 to 9999.
//!   A number in a string is one only as a JSON literal (`" 5"`, `"05"`, `"+5"` are null).
//! - **Fractions.** Whole values to ±2^53 are integers; beyond, the shortest form of the double (`1e16`).
//! - **Text.** Never trimmed; a number where text belongs is null, except under `ids`.
//! - **Timestamps.** The fraction stays digit by digit (`.450000`). `T` may be a space. Zones: `Z`, `±HH`,
//!   `±HHMM`, `±HH:MM`. A publication date is exactly ten characters.
//! - **Lines.** A line has at most 16 MiB and a nesting of at most 127. A line with a repeated key at any
//!   depth is quarantined. A file that two inputs reach is read once.
//! - **Copies.** Second and later copies of one line are duplicates, even if that line loses. All other
//!   losers are superseded; losers with the winner's date are also conflicts.
//! - **Merges.** The copies of an id compete first. The winner stays if it is newer than midnight of the
//!   merge day, else it counts as merged. Of two rows for one id the newer day wins, then the greater hash.
//!   A reference into a cycle keeps its id. A reference whose chain ends at no record shows the last id of
//!   the chain.
//! - **Empty lists.** `[]` given as siblings or children is given, not derived.
//! - **Taxonomy objects.** An object's own null is final: neither the CSV nor the sums fill in single members.
//!   Nodes without an object are known from: CSV rows (overridden rows still name their parents); the parents
//!   named in objects of topics, subfields and fields; topics and their parents in outputs. Siblings and
//!   children name no node. Within one source the newest record that names a node gives its name and
//!   parents. Sums count the published outputs by the topic record's own parents; a sum of nothing is 0.
//! - **Quarantined topics.** A topic is quarantined if a parent id has another level or no source names it.
//!   A topic with two parents is not detected.
//! - **CSV.** A row is one topic line read; its hash is over its cells joined by commas. Subfields, fields and
//!   domains from it are derived. Empty keywords are null.
//! - **Venues.** A null or absent `primary_location` falls back to `host_venue` (source null without id and
//!   name), and then no location is dropped. A location whose members are all null counts as null, in
//!   `locations` too. A primary id that no location has drops position 0. The source's type comes from the
//!   source's record, else from the location.
//! - **Members of authors and hosts.** A bare `orcid` becomes a URL. The host's name in the referring record
//!   takes precedence over the name in the host's record.
//! - **Funders.** Grants are grouped by funder, in the order of each funder's first grant; without an id, by
//!   name. Beside a list of `funders`, an award or a grant of a funder that is not listed is dropped.
//! - **Abstract.** Blank words are dropped; two words at one position keep the object's order.
//! - **Joins by id** (awards, topic shares) precede the resolution of merged ids; the first share counts.
//! - **`ids.openalex`** is built from the record's id.
//! - **International names.** The order stays as given; a blank name is null.
//! - **Institution types.** Dates are truncated to milliseconds, not rounded. Absent dates take the newest
//!   date of a published record. Institutions of an unlisted type are in no sum. A type without an integer
//!   id takes its position in code order.
//! - **Dangling.** Every reference in a single record to an id without a record counts for the entity that
//!   refers. Roles count, awards do not.

mod derived;
mod entity;
mod input;
mod json;
mod lists;
mod outputs;
mod query;
mod render;
mod same;
mod search;
mod settle;
mod taxonomy;
mod values;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unicode_script::{Script, UnicodeScript};

use crate::entity::{ALL, Entity};
use crate::render::Renderer;
use crate::settle::Records;

pub use crate::query::{
    Answer, Autocomplete, Cells, Group, INSTITUTION_TYPES_ROUTE, Key, Kind, LEGACY_ROUTES, Legacy,
    LegacyAnswer, Lists, Numbers, Refused, Suggestions, Unanswered, fold, select, value_paths,
};
pub use crate::same::same;
pub use crate::search::{Search, Searched};

/// The records of a dump as the server must show them.
#[derive(Debug)]
pub struct Library {
    /// Records in default list order, by the plural of the route (`outputs`, `authors` …).
    pub entities: BTreeMap<&'static str, Vec<Entry>>,
    /// The institution types, ordered by id.
    pub institution_types: Vec<Value>,
    /// The merged ids without a newer record of their own, by entity and number.
    pub redirects: Vec<Redirect>,
    /// Line counts, by the plural of the route.
    pub tallies: BTreeMap<&'static str, Tallies>,
    /// Unrecognised files inside directories.
    pub skipped: Vec<PathBuf>,
}

/// One record in both JSON shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The id as the route accepts it: `HX_A1`, `17`.
    pub id: String,
    /// The body of the reply with the single record.
    pub single: Value,
    /// The item that lists show.
    pub list: Value,
    /// The members that no reply shows, as members of the single record.
    pub unshown: Value,
    /// The values of keys that follow from several members or records, by the names of the keys.
    pub derived: Value,
}

/// A merged id and the record that replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The plural of the route.
    pub entity: &'static str,
    /// The merged id as the route accepts it.
    pub from: String,
    /// The record at the end of the chain; `None` if no record is there or the chain is a cycle.
    pub to: Option<String>,
}

/// Line counts of one entity:
/// read + derived = published + duplicates + superseded + merged + quarantined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Lines that are not blank; for topics also rows of the taxonomy CSV.
    pub read: u64,
    /// Records served.
    pub published: u64,
    /// Lines equal to another line, byte for byte.
    pub duplicates: u64,
    /// Lines that lost against another line of the same id, and CSV rows that lost against an object.
    pub superseded: u64,
    /// Winning lines that a merge removed.
    pub merged: u64,
    /// Superseded lines with the same date as the winning line.
    pub conflicts: u64,
    /// Lines that are not a record of the entity.
    pub quarantined: u64,
    /// Records made from references alone.
    pub derived: u64,
    /// References in published records to ids without a record.
    pub dangling: u64,
}

impl Tallies {
    /// Writes the counts as an object, in the order of the fields.
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

/// A failure to read the inputs.
#[derive(Debug)]
pub enum Error {
    /// A path that is missing, unreadable or damaged.
    Io {
        /// The path that cannot be read.
        path: PathBuf,
        /// The error of the system or of the decompressor.
        source: std::io::Error,
    },
    /// A file that is named as input and whose kind is unknown.
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

/// Reads directories and files into records. Memory use is several times the size of the dump.
///
/// # Errors
///
/// An unreadable path, a damaged file, or an unrecognised file that is named as input.
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
    derived::add(&mut entities);
    let institutions = &entities[Entity::Institutions.route()];
    Ok(Library {
        institution_types: institution_types(&records, institutions),
        redirects: redirects(&records),
        entities,
        tallies,
        skipped,
    })
}

/// All records of an entity in default list order: outputs by citations, other entities by outputs, both
/// descending; null last, ties by id.
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
                unshown: renderer.unshown(entity, record),
                derived: Value::Null,
                single,
            };
            (entry.single[rank].as_u64(), number, entry)
        })
        .collect();
    entries.sort_by_key(|(rank, number, _)| (Reverse(*rank), *number));
    let mut entries: Vec<Entry> = entries.into_iter().map(|(_, _, entry)| entry).collect();
    if let Entity::Outputs = entity {
        add_citations(&mut entries);
        add_versions(&mut entries);
    }
    entries
}

/// Gives each output the ids of the outputs that refer to it.
fn add_citations(outputs: &mut [Entry]) {
    let mut citing: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for output in outputs.iter() {
        for id in output.unshown["references"]["id"].as_array().into_iter().flatten() {
            let id = id.as_str().unwrap_or_default().to_owned();
            citing.entry(id).or_default().push(output.id.as_str().into());
        }
    }
    for output in outputs {
        let ids = citing.remove(&output.id).unwrap_or_default();
        output.unshown["referenced_by"] = Value::Array(ids);
    }
}

/// Gives each output the ids of its other versions: outputs with its title and its first author. A title has three words, or eight
/// characters of a script without spaces. Two of one source and type are no versions.
fn add_versions(outputs: &mut [Entry]) {
    let title = |output: &Entry| fold(output.single["title"].as_str().unwrap_or_default());
    let mut titled: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, output) in outputs.iter().enumerate() {
        titled.entry(title(output)).or_default().push(at);
    }
    let unspaced = |c: &char| {
        matches!(
            c.script(),
            Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Thai
        )
    };
    titled.retain(|title, _| {
        title.split(' ').count() >= 3 || title.chars().filter(unspaced).count() >= 8
    });
    for at in 0..outputs.len() {
        let (own, empty) = (&outputs[at], Vec::new());
        let others = titled.get(&title(own)).unwrap_or(&empty);
        let others = others.iter().map(|at| &outputs[*at]);
        let ids: Vec<Value> = others
            .filter(|other| other.id != own.id && are_versions(own, other))
            .map(|other| other.id.as_str().into())
            .collect();
        outputs[at].unshown["is_version_of"] = Value::Array(ids);
    }
}

fn are_versions(one: &Entry, other: &Entry) -> bool {
    let author = |output: &Entry| -> Vec<String> {
        let first = &output.single["authors"][0];
        let printed = output.unshown["authors"][0]["raw_author_name"].as_str();
        // An author with an id and without a name may be suppressed.
        let printed = printed.filter(|_| first["id"].is_null());
        let folded = fold(first["name"].as_str().or(printed).unwrap_or_default());
        folded.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (own, others) = (author(one), author(other));
    let (Some(first), Some(last)) = (own.first(), own.last()) else { return false };
    let is_alike = others.last() == Some(last)
        && others.first().is_some_and(|other| other.chars().next() == first.chars().next());
    let words = |name: &[String]| -> BTreeMap<String, usize> {
        name.iter().fold(BTreeMap::new(), |mut counts, word| {
            *counts.entry(word.clone()).or_default() += 1;
            counts
        })
    };
    let source = |output: &Entry| output.single["primary_venue"]["source"]["id"].clone();
    let is_series = !source(one).is_null()
        && source(one) == source(other)
        && one.single["type"] == other.single["type"];
    !is_series && (is_alike || words(&own) == words(&others))
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
        .map(|((code, given), position)| {
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
            let id = given["id"].as_u64().unwrap_or(position);
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
