//! Judges whether the parts of a run, or of a whole plan, have too many bad records or no record.

use std::{collections::BTreeMap, path::PathBuf};

use pinakes_format::entity::CATALOG;

use crate::cli::options::{AcceptanceArgs, Share};
use crate::compile::CompileStage;
use crate::compile::input::PartKind;
use crate::error::Error;
use crate::object::part_report::PartReport;

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
/// `--max-bad-rows`. Takes the reports of all parts, each with the escaped path of its part. Returns the first
/// excess.
pub(crate) fn find_excess<'r>(
    reports: impl Iterator<Item = (&'r str, &'r PartReport)>,
    args: &AcceptanceArgs,
) -> Option<Excess> {
    let (of_records, of_rows) = args.bad_shares();
    let (tables, dumps): (Vec<_>, Vec<_>) = reports.partition(|(_, report)| is_table(report));
    let check = |parts: &[(&str, &PartReport)], of: String, option, share: Share| {
        let reports = || parts.iter().map(|(_, report)| report);
        let read: u64 = reports().flat_map(|report| report.read.values()).sum();
        let quarantined: u64 = reports().flat_map(|report| report.quarantined.values()).sum();
        let is_within = quarantined as f64 <= (read as f64 * share.0).floor();
        (!is_within).then_some(Excess { quarantined, read, of, option, share })
    };
    check(&dumps, "records".into(), "--max-bad", of_records).or_else(|| {
        tables.into_iter().find_map(|(file, report)| {
            check(&[(file, report)], format!("rows of `{file}`"), "--max-bad-rows", of_rows)
        })
    })
}

/// Whether a part is a side table or a list of deleted ids: its rows are those of no entity.
fn is_table(report: &PartReport) -> bool {
    let mut kinds = report.read.keys().chain(report.quarantined.keys());
    kinds.any(|kind| CATALOG.iter().all(|facts| facts.plural != kind))
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
