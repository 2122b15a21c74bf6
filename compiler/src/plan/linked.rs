//! Opens the objects of a whole plan for the link.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::compile::input::Part;
use crate::compile::{CompileStage, CompiledPart, drop_copies};
use crate::error::{Error, Result};
use crate::object::{Check, ObjectStore, Warnings};
use crate::plan::Plan;

/// A part of a plan, its unit, and the name of its object.
struct PlannedPart {
    unit: u32,
    part: Part,
    name: String,
}

impl Plan {
    /// Opens and checks the objects of all units, as if one run had found them all in its cache.
    ///
    /// # Errors
    ///
    /// Names every unit that was not compiled into this directory, or else every unit with an object that
    /// does not match its hash.
    pub(crate) fn open(&self, objects: &ObjectStore, check: Check) -> Result<CompileStage> {
        let mut planned = self.planned_parts(objects)?;
        let mut warnings = Warnings::default();
        drop_copies(&mut planned, |planned| (&planned.name, &planned.part), &mut warnings);
        objects.prepare_cache()?;
        let opened = planned
            .into_par_iter()
            .map(|PlannedPart { unit, part, name }| {
                let object = objects.open(&name, check)?.object();
                let part =
                    object.map(|object| CompiledPart { part, name, object, was_cached: true });
                Ok((unit, part))
            })
            .collect::<Result<Vec<_>>>()?;
        let damaged: BTreeSet<u32> =
            opened.iter().filter(|(_, part)| part.is_none()).map(|(unit, _)| *unit).collect();
        if !damaged.is_empty() {
            return Err(self.missing(objects, &damaged));
        }
        let mut parts: Vec<CompiledPart> =
            opened.into_iter().filter_map(|(_, part)| part).collect();
        parts.sort_by(|a, b| a.part.path.cmp(&b.part.path));
        let (object_names, parsed_bytes, copied_lines) = Default::default();
        Ok(CompileStage { parts, object_names, parsed_bytes, copied_lines, warnings })
    }

    /// Lists every part with its object. Looks which objects exist, but reads none of them.
    fn planned_parts(&self, objects: &ObjectStore) -> Result<Vec<PlannedPart>> {
        let existing = objects.names()?;
        let mut planned = Vec::new();
        let mut missing = BTreeSet::new();
        for (unit, parts) in (0..).zip(&self.units) {
            let names = read_unit(objects, &self.hash, unit, parts.len())?;
            let exists = |name: &String| existing.contains(name);
            let Some(names) = names.filter(|names| names.iter().all(exists)) else {
                missing.insert(unit);
                continue;
            };
            let parts = parts.iter().cloned().zip(names);
            planned.extend(parts.map(|(part, name)| PlannedPart { unit, part, name }));
        }
        if missing.is_empty() { Ok(planned) } else { Err(self.missing(objects, &missing)) }
    }
}

/// The file that a compiled unit leaves beside its objects: the name of each part's object.
///
/// Its name holds the plan's hash and the unit, and its bytes depend on the parts alone. So two runs of a
/// unit write the same file. It appears after the last object, so a killed run leaves none.
#[derive(Serialize, Deserialize)]
struct UnitFile {
    plan: String,
    unit: u32,
    /// Names of the objects, in the order of the unit's parts.
    objects: Vec<String>,
}

fn file_name(plan: &str, unit: u32) -> String {
    format!("{plan}.{unit}.unit")
}

/// Writes the file of a unit.
pub(super) fn write_unit(
    objects: &ObjectStore,
    plan: &str,
    unit: u32,
    names: &[String],
) -> Result<()> {
    let file = UnitFile { plan: plan.to_owned(), unit, objects: names.to_vec() };
    let text = serde_json::to_vec(&file)
        .map_err(|error| Error::Internal(format!("cannot encode a unit: {error}")))?;
    objects.write(&file_name(plan, unit), &text)
}

/// Reads the names of a unit's objects, one for each part. `None` if there is no file, or if it is cut
/// or belongs to another unit.
fn read_unit(
    objects: &ObjectStore,
    plan: &str,
    unit: u32,
    parts: usize,
) -> Result<Option<Vec<String>>> {
    let Some(text) = objects.read(&file_name(plan, unit))? else { return Ok(None) };
    let file = serde_json::from_slice::<UnitFile>(&text).ok();
    let is_own = |file: &UnitFile| {
        let is_name = |name: &String| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_of_unit = file.plan == plan && file.unit == unit && file.objects.len() == parts;
        is_of_unit && file.objects.iter().all(is_name)
    };
    Ok(file.filter(is_own).map(|file| file.objects))
}
