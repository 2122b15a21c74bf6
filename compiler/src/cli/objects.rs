//! The objects of a run, each with the name of its part.

use rayon::prelude::*;

use crate::compile::CompileStage;
use crate::error::{Error, Result};
use crate::object::{Check, Object, ObjectStore};
use crate::terminal::escape::escape_path;

/// An object, and the escaped path of its part.
pub(crate) struct NamedObject {
    pub(crate) file: String,
    pub(crate) object: Object,
}

/// Names the objects of the compile stage by their parts.
pub(crate) fn named(stage: CompileStage) -> Vec<NamedObject> {
    let named = stage
        .parts
        .into_iter()
        .map(|part| NamedObject { file: escape_path(&part.part.path), object: part.object });
    named.collect()
}

/// Opens and checks all objects of a directory or a bucket.
pub(crate) fn open_all(objects: &ObjectStore, check: Check) -> Result<Vec<NamedObject>> {
    let names = objects.names()?;
    if names.is_empty() {
        let reason = "contains no object; run `compile --objects` with this directory first";
        return Err(Error::Input { path: objects.place(), reason: reason.into() });
    }
    objects.prepare_cache()?;
    names
        .into_par_iter()
        .map(|name| {
            let object = objects.open(&name, check)?.object().ok_or_else(|| Error::Damaged {
                path: objects.place().join(format!("{name}.object")),
                reason: "its content does not match its hash; compile its part again".into(),
            })?;
            Ok(NamedObject { file: format!("part {}", object.part()), object })
        })
        .collect()
}
