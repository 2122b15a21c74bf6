//! What a run did: a table for people, JSON for programs, a line for each bad record.

pub(crate) mod codes;
pub(crate) mod file;
pub(crate) mod mirror;
pub(crate) mod quarantine;
pub(crate) mod run_info;

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use crate::compile::CompileStage;
use crate::compile::input::Inputs;
use crate::link::{SideTally, Tally};
use crate::report::codes::Code;
use crate::report::quarantine::Quarantine;
use crate::report::run_info::Course;
use crate::store::prune::Pruned;
use crate::store::rolled_back::HeldBack;
use crate::terminal::escape::shown;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// A run's report, as `--report` writes it.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// How it went.
    #[serde(flatten)]
    pub course: Course,
    /// The published snapshot, or the one in use still where what was made is held back; `null` where there
    /// is none.
    pub snapshot: Option<String>,
    /// Its id.
    pub snapshot_id: Option<String>,
    /// The newest `updated_date` of what was published.
    pub newest_updated_date: Option<String>,
    /// Parts of the inputs.
    pub parts: u64,
    /// Of those, parsed in this run; the others' objects were there.
    pub parts_parsed: u64,
    /// Which those are, by path.
    pub parsed: Vec<String>,
    /// Uncompressed bytes parsed.
    pub parsed_bytes: u64,
    /// Bytes of the snapshot.
    pub snapshot_bytes: u64,
    /// Files in the inputs that are nothing the compiler knows.
    pub skipped_files: Vec<String>,
    /// The accounting by entity.
    pub entities: BTreeMap<String, Tally>,
    /// The accounting by side table, of those there were.
    pub side_tables: BTreeMap<String, SideTally>,
    /// Warnings by code, all of them.
    pub warnings: BTreeMap<String, u64>,
    /// Where the first of each code stands, as `file:line:byte_offset`, or its file.
    pub first_warnings: BTreeMap<String, String>,
    /// Bad records by code, all of them.
    pub bad_records: BTreeMap<String, u64>,
    /// Where bad records are listed.
    pub quarantine: Quarantine,
    /// The id of the snapshot that was made but not published, since it was rolled back from; `null` of others.
    pub held_back: Option<String>,
    /// What `--keep` removed; `null` without it.
    pub pruned: Option<Pruned>,
    /// Seconds of the two stages together.
    pub seconds: f64,
}

impl RunReport {
    /// What is known of a run that begins.
    pub fn begin(command: &'static str) -> RunReport {
        RunReport {
            course: Course::begin(command),
            snapshot: None,
            snapshot_id: None,
            newest_updated_date: None,
            parts: 0,
            parts_parsed: 0,
            parsed: Vec::new(),
            parsed_bytes: 0,
            snapshot_bytes: 0,
            skipped_files: Vec::new(),
            entities: BTreeMap::new(),
            side_tables: BTreeMap::new(),
            warnings: BTreeMap::new(),
            first_warnings: BTreeMap::new(),
            bad_records: BTreeMap::new(),
            quarantine: Quarantine::default(),
            held_back: None,
            pruned: None,
            seconds: 0.0,
        }
    }

    /// Takes what is known after the first stage.
    pub fn take_compiled(&mut self, inputs: &Inputs, stage: &CompileStage) {
        let report = self;
        let parsed = stage.parts.iter().filter(|part| !part.was_cached);
        report.parsed = parsed.map(|part| shown(&part.part.path)).collect();
        report.parts = stage.parts.len() as u64;
        report.parts_parsed = report.parsed.len() as u64;
        report.parsed_bytes = stage.parsed_bytes;
        report.skipped_files = inputs.skipped.iter().map(|path| shown(path)).collect();
        let mut warnings = inputs.warnings.clone();
        for (code, count) in &stage.warnings.counts {
            let first = || stage.warnings.first.get(code).cloned().unwrap_or_default();
            warnings.add(code, *count, first);
        }
        let tomorrow = chrono::Utc::now().timestamp_micros() + DAY_MICROS;
        for part in &stage.parts {
            let of_part = part.object.report();
            for (code, count) in &of_part.bad_by_code {
                *report.bad_records.entry(code.clone()).or_default() += count;
            }
            let file = shown(&part.part.path);
            warnings.take_positions(&file, of_part);
            // A warning of this run alone: what an object says does not depend on a clock.
            let is_future = of_part.newest_updated_micros.is_some_and(|newest| newest > tomorrow);
            warnings.add("future_updated_date", is_future.into(), || file);
        }
        (report.warnings, report.first_warnings) = (warnings.counts, warnings.first);
    }

    /// Takes that what was made is not published: nothing that tells how new or large what is published is
    /// may speak of it.
    pub fn take_held(&mut self, held: &HeldBack) {
        self.held_back = Some(held.id.clone());
        self.snapshot = Some(shown(&held.path));
        self.snapshot_id = held.path.file_name().map(|id| id.to_string_lossy().into_owned());
        self.newest_updated_date = None;
        self.snapshot_bytes = 0;
    }

    /// The newest `updated_date`, in seconds since 1970.
    pub fn newest_moment(&self) -> Option<i64> {
        let text = self.newest_updated_date.as_deref()?;
        Some(text.parse::<chrono::NaiveDateTime>().ok()?.and_utc().timestamp())
    }

    /// What came of a run that published, in a line or a few: what the mail of a cron ends with.
    pub fn outcome(&self) -> String {
        let mut text = String::new();
        let Some(snapshot) = &self.snapshot else { return text };
        let records: u64 = self.entities.values().map(Tally::published).sum();
        let outputs = self.entities.get("outputs").map_or(0, Tally::published);
        let newest = self.newest_updated_date.as_deref().unwrap_or("none");
        let _ = writeln!(
            text,
            "{:>10} {snapshot}: {records} records, {outputs} outputs, newest updated_date {newest}; \
             {} of {} parts parsed, {:.1} s",
            "published", self.parts_parsed, self.parts, self.seconds
        );
        text.extend(self.pruned.as_ref().map(Pruned::outcome));
        text
    }

    /// The table shown at a run's end.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{:<18}{:>12}{:>12}{:>11}{:>11}{:>8}{:>12}{:>12}{:>12}{:>9}{:>12}",
            "entity",
            "read",
            "published",
            "duplicate",
            "superseded",
            "merged",
            "excluded",
            "suppressed",
            "bad",
            "derived",
            "dangling"
        );
        for (entity, tally) in &self.entities {
            let _ = writeln!(
                text,
                "{entity:<18}{:>12}{:>12}{:>11}{:>11}{:>8}{:>12}{:>12}{:>12}{:>9}{:>12}",
                tally.read,
                tally.published(),
                tally.duplicates,
                tally.superseded,
                tally.merged,
                tally.excluded,
                tally.suppressed,
                tally.quarantined,
                tally.derived,
                tally.dangling
            );
        }
        if !self.side_tables.is_empty() {
            let _ = writeln!(
                text,
                "{:<18}{:>12}{:>12}{:>11}{:>12}",
                "side table", "read", "joined", "unmatched", "bad"
            );
        }
        for (table, tally) in &self.side_tables {
            let _ = writeln!(
                text,
                "{table:<18}{:>12}{:>12}{:>11}{:>12}",
                tally.read, tally.joined, tally.unmatched, tally.quarantined
            );
        }
        if !self.skipped_files.is_empty() {
            let _ = writeln!(text, "skipped, being nothing the compiler knows:");
            for path in self.skipped_files.iter().take(10) {
                let _ = writeln!(text, "  {path}");
            }
            if let Some(more) = self.skipped_files.len().checked_sub(10).filter(|more| *more > 0) {
                let _ = writeln!(text, "  and {more} more");
            }
        }
        self.say_warnings(&mut text);
        self.say_bad_records(&mut text);
        text
    }

    /// Warnings by code.
    fn say_warnings(&self, text: &mut String) {
        if self.warnings.is_empty() {
            return;
        }
        let _ = writeln!(text, "warnings, which cost no record");
        for (code, count) in &self.warnings {
            let first = self.first_warnings.get(code).map_or("", String::as_str);
            say_code(text, code, *count, first, codes::warning(code));
        }
    }

    /// Bad records by code, and where each is listed.
    fn say_bad_records(&self, text: &mut String) {
        if self.bad_records.is_empty() {
            return;
        }
        let _ = writeln!(text, "bad records, which are set aside");
        for (code, count) in &self.bad_records {
            let first = self.quarantine.first.get(code).map_or("", String::as_str);
            say_code(text, code, *count, first, codes::bad_record(code));
        }
        let Quarantine { list: Some(list), lines: Some(lines), listed, .. } = &self.quarantine
        else {
            return;
        };
        let _ = writeln!(
            text,
            "each is listed in `{}`, its line is in `{}`",
            shown(list),
            shown(lines)
        );
        let counted: u64 = self.bad_records.values().sum();
        if counted > *listed {
            let _ =
                writeln!(text, "listed are {listed} of {counted}: of each part the first 10,000");
        }
    }
}

/// How many of a code there are and where the first is; below it what that means, and what to do.
fn say_code(text: &mut String, name: &str, count: u64, first: &str, code: &Code) {
    let at = if first.is_empty() { "" } else { "  first at " };
    let _ = writeln!(text, "  {name:<24}{count:>12}{at}{first}");
    let _ = writeln!(text, "      {}; {}", code.meaning, code.remedy);
}
