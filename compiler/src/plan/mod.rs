//! Plans: the parts of a dump, divided into units that a scheduler compiles on many machines.
//!
//! `plan` writes the file ([`file`]) once. `compile --plan` compiles one unit and leaves a file beside
//! the objects that names them ([`linked`]). `link --plan` reads these files, so it links
//! the plan's objects and no others:
//!
//! ```text
//! plan.jsonl             {"plan":"b1e4…", "units":2, …}         limits, skipped files, warnings
//!                        {"plan":"b1e4…", "unit":0, "parts":[…]} path, kind and size of each part
//!                        {"plan":"b1e4…", "unit":1, "parts":[…]}
//! objects/b1e4….0.unit   {"plan":"b1e4…", "unit":0, "objects":["03c5…", …]}
//! objects/03c5….object   the object of the unit's first part
//! ```
//!
//! All names depend on contents alone. So it does no harm if a unit runs twice, at the same time, on two
//! hosts, or is killed.
//!
//! Imports `compile`, `error`, `object`, `read`, `remote`, `terminal`.

pub(crate) mod balance;
pub(crate) mod file;
pub(crate) mod linked;

use std::{collections::BTreeSet, fs, num::NonZeroU32};

use serde::{Deserialize, Serialize};

use crate::compile::input::{Inputs, Part};
use crate::compile::{CompileStage, compile};
use crate::error::{Error, Result};
use crate::object::{Check, ObjectStore, Warnings};
use crate::plan::balance::balance;
use crate::read::ReadLimits;
use crate::remote::file::register_planned;
use crate::terminal::progress::Progress;

/// A plan, as its file holds it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// BLAKE3 of everything below, in 32 hexadecimal digits.
    pub hash: String,
    pub facts: PlanFacts,
    /// The parts of each unit, sorted by path.
    pub units: Vec<Vec<Part>>,
}

/// Everything that the units share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlanFacts {
    /// Version of the objects: a compiler of another version refuses the plan.
    pub objects: String,
    /// Number of units.
    pub units: u32,
    /// Number of parts in all units.
    pub parts: u64,
    /// Bytes of all parts.
    pub bytes: u64,
    /// The limits under which every unit reads its parts.
    pub limits: ReadLimits,
    /// Escaped paths of the files in the inputs whose kind is unknown.
    pub skipped: Vec<String>,
    /// Warnings about the inputs as a whole.
    pub warnings: Warnings,
}

impl Plan {
    /// Divides the parts of inputs into `units` units with about the same number of bytes.
    ///
    /// # Errors
    ///
    /// Where a path is not UTF-8, because the plan is JSON.
    pub(crate) fn new(inputs: Inputs, units: NonZeroU32, limits: ReadLimits) -> Result<Plan> {
        if let Some(part) = inputs.parts.iter().find(|part| part.path.to_str().is_none()) {
            let reason = "its path is not UTF-8, so no plan can name it; rename it".into();
            return Err(Error::Input { path: part.path.clone(), reason });
        }
        let facts = PlanFacts {
            objects: crate::compile::object_version(),
            units: units.get(),
            parts: inputs.parts.len() as u64,
            bytes: inputs.parts.iter().map(|part| part.size_bytes).sum(),
            limits,
            skipped: inputs.skipped_paths(),
            warnings: inputs.warnings,
        };
        let units = balance(inputs.parts, units);
        let hash = file::hash(&facts, &units)?;
        Ok(Plan { hash, facts, units })
    }

    /// Returns the parts of a unit.
    ///
    /// # Errors
    ///
    /// Where the plan has no such unit.
    pub(crate) fn unit(&self, unit: u32) -> Result<&[Part]> {
        let parts = usize::try_from(unit).ok().and_then(|unit| self.units.get(unit));
        parts.map(Vec::as_slice).ok_or_else(|| {
            let (count, last) = (self.facts.units, self.facts.units - 1);
            let reason = format!("the plan has {count} units, 0 to {last}, but no unit {unit}");
            Error::Usage(format!("{reason}; give an array of `0-{last}`"))
        })
    }

    /// Compiles a unit, and writes the file that names its objects.
    ///
    /// # Errors
    ///
    /// Where a part is missing, has another size than in the plan, or cannot be compiled. The finished
    /// objects stay.
    pub(crate) fn compile_unit(
        &self,
        unit: u32,
        objects: &ObjectStore,
        part_memory_bytes: u64,
        progress: Progress,
    ) -> Result<CompileStage> {
        let parts = self.unit(unit)?;
        parts.iter().try_for_each(check_size)?;
        let limits = ReadLimits { part_memory_bytes, ..self.facts.limits.clone() };
        let stage = compile(parts.to_vec(), objects, &limits, Check::Whole, progress)?;
        linked::write_unit(objects, &self.hash, unit, &stage.object_names)?;
        Ok(stage)
    }

    /// The error that names the units whose objects are missing or damaged.
    fn missing(&self, objects: &ObjectStore, units: &BTreeSet<u32>) -> Error {
        Error::UnitsMissing {
            objects: objects.place(),
            plan: self.hash.clone(),
            missing: units.len() as u64,
            units: self.facts.units,
            ranges: ranges(units),
        }
    }
}

/// Checks that a part has the size that the plan says, or that only its version is read.
fn check_size(part: &Part) -> Result<()> {
    if let Some(etag) = &part.etag {
        // Every request for the part names its version, so that another version is refused.
        return register_planned(&part.path, part.size_bytes, etag);
    }
    let size = fs::metadata(&part.path).map_err(Error::input(&part.path))?.len();
    if size == part.size_bytes {
        return Ok(());
    }
    let reason = format!("{size} bytes, but {} when it was planned; plan again", part.size_bytes);
    Err(Error::Damaged { path: part.path.clone(), reason })
}

/// Formats numbers as schedulers take them for an array: `0,4-6,9`.
fn ranges(units: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for unit in units {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *unit => *last = *unit,
            _ => ranges.push((*unit, *unit)),
        }
    }
    let texts = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_units_are_named_as_an_array_of_a_scheduler() {
        let check = |units: &[u32], expected: &str| {
            assert_eq!(ranges(&units.iter().copied().collect()), expected);
        };
        check(&[], "");
        check(&[3], "3");
        check(&[9, 0, 4, 5, 6], "0,4-6,9");
        check(&[0, 1], "0-1");
    }
}
