//! The file that a compiled unit leaves beside its objects: the name of each part's object.
//!
//! Its name holds the plan's hash and the unit, and its bytes depend on the parts alone. So two runs of a
//! unit write the same file. It appears after the last object, so a killed run leaves none.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::object::ObjectStore;

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
pub(crate) fn write(objects: &ObjectStore, plan: &str, unit: u32, names: &[String]) -> Result<()> {
    let file = UnitFile { plan: plan.to_owned(), unit, objects: names.to_vec() };
    let text = serde_json::to_vec(&file)
        .map_err(|error| Error::Internal(format!("cannot encode a unit: {error}")))?;
    objects.write(&file_name(plan, unit), &text)
}

/// Reads the names of a unit's objects, one for each part. `None` if there is no file, or if it is cut
/// or belongs to another unit.
pub(crate) fn read(
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
