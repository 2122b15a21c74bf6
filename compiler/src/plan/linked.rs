//! Opens the objects of a whole plan for the link.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::compile::input::Part;
use crate::compile::{CompileStage, CompiledPart, drop_copies};
use crate::error::Result;
use crate::object::warnings::Warnings;
use crate::object::{Check, ObjectStore};
use crate::plan::{Plan, unit_file};

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
            let names = unit_file::read(objects, &self.hash, unit, parts.len())?;
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
