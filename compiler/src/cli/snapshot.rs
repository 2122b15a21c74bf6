//! The commands that read a published snapshot.

use std::path::Path;

use pinakes_format::snapshot::Snapshot;

use crate::{
    error::{Error, Result},
    inspect,
};

pub(super) fn open(path: &Path) -> Result<Snapshot> {
    let place = std::fs::canonicalize(path).map_err(Error::input(path))?;
    Snapshot::open(&place).map_err(|error| Error::Refused(error.to_string()))
}

pub(super) fn verify(path: &Path) -> Result<()> {
    let snapshot = open(path)?;
    snapshot.verify().map_err(|error| Error::Refused(error.to_string()))?;
    println!("{} verified: every byte and every record", snapshot.manifest().id);
    Ok(())
}

pub(super) fn show(path: &Path, json: bool) -> Result<()> {
    let snapshot = open(path)?;
    if json {
        let text = serde_json::to_string_pretty(&inspect::as_json(&snapshot))
            .map_err(|error| Error::Internal(error.to_string()))?;
        println!("{text}");
    } else {
        print!("{}", inspect::as_table(&snapshot));
    }
    Ok(())
}
