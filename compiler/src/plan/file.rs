//! The file of a plan: JSON lines, one for what all units share and one for each unit.
//!
//! Every line bears the plan's hash, so that a line can be handed on alone, and lines of two plans do not mix.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::compile::input::Part;
use crate::error::{Error, Result};
use crate::object::unfinished::UnfinishedFile;
use crate::plan::{Plan, PlanFacts};

/// Hexadecimal digits of a plan's hash.
const HASH_DIGITS: usize = 32;

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct PlanLine<T> {
    /// The plan's hash.
    plan: String,
    #[serde(flatten)]
    content: T,
}

/// A unit, as a line holds it.
#[derive(Serialize)]
struct UnitLine<'p> {
    unit: usize,
    bytes: u64,
    parts: &'p [Part],
}

#[derive(Deserialize)]
struct ReadUnit {
    unit: usize,
    parts: Vec<Part>,
}

impl<'p> UnitLine<'p> {
    fn new(unit: usize, parts: &'p [Part]) -> UnitLine<'p> {
        UnitLine { unit, bytes: parts.iter().map(|part| part.size_bytes).sum(), parts }
    }
}

/// Hashes a plan: its lines without the member `plan`.
pub(crate) fn hash(facts: &PlanFacts, units: &[Vec<Part>]) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&encode(facts)?);
    for (unit, parts) in units.iter().enumerate() {
        hasher.update(&encode(&UnitLine::new(unit, parts))?);
    }
    Ok(hasher.finalize().to_hex()[..HASH_DIGITS].to_owned())
}

fn encode<T: Serialize>(content: &T) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(content);
    let mut line =
        text.map_err(|error| Error::Internal(format!("cannot encode a plan: {error}")))?;
    line.push(b'\n');
    Ok(line)
}

impl Plan {
    /// Writes the plan, and replaces the file at `path` when the new one is complete.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut file = BufWriter::new(UnfinishedFile::create(path)?);
        let mut write = |line: Vec<u8>| file.write_all(&line).map_err(Error::output(path));
        write(encode(&PlanLine { plan: self.hash.clone(), content: &self.facts })?)?;
        for (unit, parts) in self.units.iter().enumerate() {
            let content = UnitLine::new(unit, parts);
            write(encode(&PlanLine { plan: self.hash.clone(), content })?)?;
        }
        let written = file.into_inner().map_err(|failed| failed.into_error());
        written.map_err(Error::output(path))?.finish()
    }

    /// Reads a plan and checks it against its hash.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, is incomplete or changed, holds lines of several plans, or was
    /// written by a compiler whose objects are of another version.
    pub(crate) fn read(path: &Path) -> Result<Plan> {
        let damaged = |reason: String| Error::Damaged { path: path.to_path_buf(), reason };
        let file = BufReader::new(File::open(path).map_err(Error::input(path))?);
        let mut lines = file.lines().enumerate();
        let mut next = || -> Result<Option<(usize, String)>> {
            let Some((at, line)) = lines.next() else { return Ok(None) };
            Ok(Some((at + 1, line.map_err(Error::input(path))?)))
        };
        let (_, first) = next()?.ok_or_else(|| damaged("it is empty; plan again".into()))?;
        let PlanLine { plan: hash, content: facts } = parse::<PlanFacts>(path, 1, &first)?;
        // Another version may write other units, so its lines are not parsed.
        if facts.objects != crate::compile::object_version() {
            let reason = "another version of the compiler wrote this plan; run the same version \
                          everywhere, or plan again";
            return Err(Error::Input { path: path.to_path_buf(), reason: reason.into() });
        }
        let mut units = Vec::new();
        while let Some((number, line)) = next()? {
            let PlanLine { plan, content: unit } = parse::<ReadUnit>(path, number, &line)?;
            if plan != hash {
                return Err(damaged(format!(
                    "line {number} belongs to the plan {plan}, not {hash}"
                )));
            }
            if unit.unit != units.len() {
                let (found, expected) = (unit.unit, units.len());
                let reason = format!("line {number} is unit {found}, expected unit {expected}");
                return Err(damaged(reason));
            }
            units.push(unit.parts);
        }
        // The hash covers the number of units and their order, so a copy that was cut or mixed is noticed.
        if self::hash(&facts, &units)? != hash || u32::try_from(units.len()) != Ok(facts.units) {
            let (found, expected) = (units.len(), facts.units);
            let reason = format!(
                "its {found} of {expected} units do not have the hash {hash}; copy it again, or plan again"
            );
            return Err(damaged(reason));
        }
        Ok(Plan { hash, facts, units })
    }
}

fn parse<T: DeserializeOwned>(path: &Path, number: usize, line: &str) -> Result<PlanLine<T>> {
    serde_json::from_str(line).map_err(|error| Error::Damaged {
        path: path.to_path_buf(),
        reason: format!("line {number} is no line of a plan: {error}; plan again"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, num::NonZeroU32};

    use super::*;
    use crate::compile::input::{Inputs, PartKind};
    use crate::read::limits::ReadLimits;
    use pinakes_format::entity::Entity;

    fn plan(units: u32) -> Plan {
        let part = |(path, kind): (&str, PartKind)| Part {
            path: path.into(),
            kind,
            size_bytes: path.len() as u64,
            etag: None,
            listed_records: Some(7),
        };
        let parts = [
            ("works/part_0000.gz", PartKind::Records(Entity::Output)),
            ("works/deleted_ids.csv", PartKind::Deleted(Some(Entity::Output))),
            ("topics.csv", PartKind::Taxonomy),
        ];
        let inputs = Inputs { parts: parts.map(part).into(), ..Inputs::default() };
        let limits = ReadLimits { part_memory_bytes: 0, ..ReadLimits::default() };
        Plan::new(inputs, NonZeroU32::new(units).unwrap(), limits).unwrap()
    }

    #[test]
    fn a_plan_reads_back_as_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.jsonl");
        for units in [1, 2, 5] {
            let written = plan(units);
            written.write(&path).unwrap();
            let read = Plan::read(&path).unwrap();
            assert_eq!((&read.hash, &read.facts), (&written.hash, &written.facts));
            assert_eq!(read.units, written.units);
            let text = fs::read_to_string(&path).unwrap();
            let bears = |line: &str| line.starts_with(&format!("{{\"plan\":\"{}\",", read.hash));
            assert!(text.lines().all(bears), "{text}");
        }
    }

    #[test]
    fn a_changed_plan_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.jsonl");
        plan(2).write(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        plan(3).write(&path).unwrap();
        let other = fs::read_to_string(&path).unwrap();
        let other: Vec<&str> = other.lines().collect();
        let check = |text: &str, code: u8, phrase: &str| {
            fs::write(&path, text).unwrap();
            let error = Plan::read(&path).unwrap_err();
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(phrase), "{error}");
        };
        check("", 5, "it is empty");
        check(&lines[..2].join("\n"), 5, "its 1 of 2 units");
        check(&text.replace("topics.csv", "topicz.csv"), 5, "do not have the hash");
        check(&text.replace("\"taxonomy\"", "\"planets\""), 5, "`planets` is no kind of a part");
        check(&[lines[0], lines[2], lines[1]].join("\n"), 5, "line 2 is unit 1, expected unit 0");
        check(&[lines[0], other[1], lines[2]].join("\n"), 5, "line 2 belongs to the plan");
        let version = format!("\"objects\":\"{}\"", crate::compile::object_version());
        check(&text.replace(&version, "\"objects\":\"1\""), 3, "another version of the compiler");
    }
}
