//! Judges whether the parts of a run, or of a whole plan, have too many bad records or no record.

use std::{collections::BTreeMap, path::PathBuf};

use crate::cli::options::{AcceptanceArgs, Share};
use crate::compile::input::PartKind;
use crate::compile::{CompileStage, CompiledPart};
use crate::error::Error;
use crate::terminal::escape::escape_path;

/// More bad records, or more bad rows of one side table, than allowed.
pub(crate) struct Excess {
    quarantined: u64,
    read: u64,
    /// The counted things: `records`, or the rows of a table.
    of: String,
    option: &'static str,
    share: Share,
}

impl Excess {
    /// Makes the error; `report` is the file that lists the bad records and rows.
    pub(crate) fn into_error(self, report: PathBuf) -> Error {
        let Excess { quarantined, read, of, option, share } = self;
        let allowed = format!("{}%", share.0 * 100.0);
        Error::TooManyBad { quarantined, read, of, option, allowed, report }
    }
}

/// Compares the bad records of all dumps with `--max-bad`, and the bad rows of each side table with
/// `--max-bad-rows`. Returns the first excess.
pub(crate) fn find_excess(stage: &CompileStage, args: &AcceptanceArgs) -> Option<Excess> {
    let (of_records, of_rows) = args.bad_shares();
    let (tables, dumps): (Vec<_>, Vec<_>) =
        stage.parts.iter().partition(|part| part.part.kind.is_side());
    let check = |parts: &[&CompiledPart], of: String, option, share: Share| {
        let reports = || parts.iter().map(|part| part.object.report());
        let read: u64 = reports().flat_map(|report| report.read.values()).sum();
        let quarantined: u64 = reports().flat_map(|report| report.quarantined.values()).sum();
        let is_within = quarantined as f64 <= (read as f64 * share.0).floor();
        (!is_within).then_some(Excess { quarantined, read, of, option, share })
    };
    check(&dumps, "records".into(), "--max-bad", of_records).or_else(|| {
        tables.into_iter().find_map(|table| {
            let of = format!("rows of `{}`", escape_path(&table.part.path));
            check(&[table], of, "--max-bad-rows", of_rows)
        })
    })
}

/// Names the entities whose parts contain no record, as ` of authors, works` for [`Error::Empty`].
/// Returns an empty text if no part contains a good record, and `None` if every entity has records.
pub(crate) fn empty_entities(stage: &CompileStage) -> Option<String> {
    let mut read: BTreeMap<&str, u64> = Default::default();
    for part in &stage.parts {
        if let PartKind::Records(entity) | PartKind::Native(entity) = part.part.kind {
            let name = entity.facts().plural;
            *read.entry(name).or_default() += part.object.report().read.get(name).unwrap_or(&0);
        }
    }
    let records = || stage.parts.iter().filter(|part| !part.part.kind.is_side());
    let reports = || records().map(|part| part.object.report());
    let all: u64 = reports().flat_map(|report| report.read.values()).sum();
    let bad: u64 = reports().flat_map(|report| report.quarantined.values()).sum();
    if all == bad {
        return Some(String::new());
    }
    let names: Vec<&str> =
        read.into_iter().filter(|(_, read)| *read == 0).map(|(name, _)| name).collect();
    (!names.is_empty()).then(|| format!(" of {}", names.join(", ")))
}
