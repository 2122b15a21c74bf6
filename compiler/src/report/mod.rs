//! The report of a run: a table for people, JSON and metrics for programs, and a list of bad records.
//!
//! - `codes` explains the codes of warnings and bad records.
//! - `file` writes the report files.
//! - `mirror` is the report of `pull` and `publish`.
//! - `quarantine` writes the list of bad records.
//! - `run_info` holds the members that all reports share.
//!
//! Imports `compile`, `drift`, `error`, `link`, `object`, `parallel`, `store`, `terminal`.

pub(crate) mod codes;
pub(crate) mod file;
pub(crate) mod mirror;
pub(crate) mod quarantine;
pub(crate) mod run_info;

use std::{collections::BTreeMap, fmt::Write as _};

use pinakes_store::rolled_back::BlockedSnapshot;
use serde::Serialize;

use crate::compile::CompileStage;
use crate::drift::Drift;
use crate::link::forecast::LinkForecast;
use crate::link::{NotTakenOver, SideTally, Tally};
use crate::object::Warnings;
use crate::parallel::cost::TaskCost;
use crate::report::codes::Code;
use crate::report::quarantine::Quarantine;
use crate::report::run_info::RunInfo;
use crate::store::prune::PruneReport;
use crate::terminal::escape::escape_path;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// A column of the table of counts.
struct CountColumn {
    name: &'static str,
    width: usize,
    count: fn(&Tally) -> u64,
}

const fn column(name: &'static str, width: usize, count: fn(&Tally) -> u64) -> CountColumn {
    CountColumn { name, width, count }
}

/// The width of the names of entities.
const ENTITY_WIDTH: usize = 18;
/// The columns that every table has.
const COLUMNS_KEPT: usize = 2;

/// The columns of the table of counts.
const COUNT_COLUMNS: [CountColumn; 12] = [
    column("read", 12, |tally| tally.read),
    column("published", 12, Tally::published),
    column("duplicate", 11, |tally| tally.duplicates),
    column("superseded", 11, |tally| tally.superseded),
    column("conflicts", 10, |tally| tally.conflicts),
    column("merged", 8, |tally| tally.merged),
    column("deleted", 9, |tally| tally.deleted),
    column("excluded", 12, |tally| tally.excluded),
    column("suppressed", 12, |tally| tally.suppressed),
    column("bad", 12, |tally| tally.quarantined),
    column("derived", 9, |tally| tally.derived),
    column("dangling", 12, |tally| tally.dangling),
];

/// The report of `build`, `compile` or `link`, as `--report` writes it.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// State, times, stages and memory of the run.
    #[serde(flatten)]
    pub run_info: RunInfo,
    /// Path of the current snapshot at the end: the new one, or the old one if the new one was held back;
    /// `null` if the run published none.
    pub snapshot: Option<String>,
    pub snapshot_id: Option<String>,
    /// Newest `updated_date` among the published records.
    pub newest_updated_date: Option<String>,
    /// Number of parts in the inputs.
    pub parts: u64,
    /// Number of parts parsed in this run; the other parts had objects from earlier runs.
    pub parts_parsed: u64,
    /// Paths of the parts parsed in this run.
    pub parsed: Vec<String>,
    /// Uncompressed bytes of the parts parsed in this run.
    pub parsed_bytes: u64,
    /// Lines of these parts whose records were copied from objects of earlier runs instead.
    pub copied_lines: u64,
    /// Bytes of the new snapshot.
    pub snapshot_bytes: u64,
    /// Input files of an unknown kind.
    pub skipped_files: Vec<String>,
    /// Record counts by entity.
    pub entities: BTreeMap<String, Tally>,
    /// Row counts by side table.
    pub side_tables: BTreeMap<String, SideTally>,
    /// Number of records by entity whose index entries were taken over from the previous snapshot.
    pub rows_reused: BTreeMap<String, u64>,
    /// Parts of the previous snapshot that could not be taken over, because they are damaged.
    pub not_taken_over: Vec<NotTakenOver>,
    /// How far the members differ from the current snapshot; `null` if nothing was compared.
    pub drift: Option<Drift>,
    /// Number of warnings by code.
    pub warnings: BTreeMap<String, u64>,
    /// Place of the first warning of each code, as `file:line:byte_offset` or as a file.
    pub first_warnings: BTreeMap<String, String>,
    /// Number of bad records by code.
    pub bad_records: BTreeMap<String, u64>,
    /// The files that list the bad records.
    pub quarantine: Quarantine,
    /// Id of the new snapshot if it was held back because of an earlier rollback; otherwise `null`.
    pub held_back: Option<String>,
    /// Snapshots and objects that `--keep` removed; `null` without `--keep`.
    pub pruned: Option<PruneReport>,
    /// Estimate of the link, made before it began; `null` if the run links nothing.
    pub forecast: Option<LinkForecast>,
    /// Records that a link takes per second: measured by this run, or before its link ends by the last
    /// run with the same report; `null` if none has linked.
    pub link_records_per_second: Option<f64>,
    /// Wall-clock seconds of the run.
    pub seconds: f64,
}

impl RunReport {
    /// Makes the report of a run that begins now.
    pub fn new(command: &'static str) -> RunReport {
        RunReport {
            run_info: RunInfo::new(command),
            snapshot: None,
            snapshot_id: None,
            newest_updated_date: None,
            parts: 0,
            parts_parsed: 0,
            parsed: Vec::new(),
            parsed_bytes: 0,
            copied_lines: 0,
            snapshot_bytes: 0,
            skipped_files: Vec::new(),
            entities: BTreeMap::new(),
            side_tables: BTreeMap::new(),
            rows_reused: BTreeMap::new(),
            not_taken_over: Vec::new(),
            drift: None,
            warnings: BTreeMap::new(),
            first_warnings: BTreeMap::new(),
            bad_records: BTreeMap::new(),
            quarantine: Quarantine::default(),
            held_back: None,
            pruned: None,
            forecast: None,
            link_records_per_second: None,
            seconds: 0.0,
        }
    }

    /// Adds the results of the compile stage.
    ///
    /// `skipped` and `warnings` are those of the inputs.
    pub fn add_compiled(
        &mut self,
        skipped: Vec<String>,
        mut warnings: Warnings,
        stage: &CompileStage,
    ) {
        let report = self;
        let parsed = stage.parts.iter().filter(|part| !part.was_cached);
        report.parsed = parsed.map(|part| escape_path(&part.part.path)).collect();
        report.parts = stage.parts.len() as u64;
        report.parts_parsed = report.parsed.len() as u64;
        report.parsed_bytes = stage.parsed_bytes;
        report.copied_lines = stage.copied_lines;
        report.skipped_files = skipped;
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
            let file = escape_path(&part.part.path);
            warnings.take_positions(&file, of_part);
            // Not stored in the object, because an object must not depend on the clock.
            let is_future = of_part.newest_updated_micros.is_some_and(|newest| newest > tomorrow);
            warnings.add("future_updated_date", is_future.into(), || file);
        }
        (report.warnings, report.first_warnings) = (warnings.counts, warnings.first);
    }

    /// Marks the new snapshot as held back, and clears its date and size: readers of the report would
    /// take them for those of the current snapshot.
    pub fn set_blocked(&mut self, blocked: &BlockedSnapshot) {
        self.held_back = Some(blocked.id.clone());
        self.snapshot = Some(escape_path(&blocked.path));
        self.snapshot_id = blocked.path.file_name().map(|id| id.to_string_lossy().into_owned());
        self.newest_updated_date = None;
        self.snapshot_bytes = 0;
    }

    /// Returns the newest `updated_date` in seconds since 1970.
    pub fn newest_moment(&self) -> Option<i64> {
        let text = self.newest_updated_date.as_deref()?;
        Some(text.parse::<chrono::NaiveDateTime>().ok()?.and_utc().timestamp())
    }

    /// Formats the last lines of a run that published: its result and what `--keep` removed.
    pub fn outcome(&self) -> String {
        let mut text = String::new();
        let (Some(snapshot), None) = (&self.snapshot, &self.held_back) else { return text };
        let records: u64 = self.entities.values().map(Tally::published).sum();
        let outputs = self.entities.get("outputs").map_or(0, Tally::published);
        let newest = self.newest_updated_date.as_deref().unwrap_or("none");
        let _ = writeln!(
            text,
            "{:>10} {snapshot}: {records} records, {outputs} outputs, newest updated_date {newest}; \
             {} of {} parts parsed, {:.1} s",
            "published", self.parts_parsed, self.parts, self.seconds
        );
        text.extend(self.pruned.as_ref().map(PruneReport::outcome));
        text
    }

    fn write_counts(&self, width: usize, text: &mut String) {
        let has_counts =
            |column: &CountColumn| self.entities.values().any(|tally| (column.count)(tally) > 0);
        let mut columns: Vec<&CountColumn> = COUNT_COLUMNS.iter().collect();
        let mut left_out = Vec::new();
        let width_of = |columns: &[&CountColumn]| {
            ENTITY_WIDTH + columns.iter().map(|column| column.width).sum::<usize>()
        };
        while width_of(&columns) > width && columns.len() > COLUMNS_KEPT {
            // A column without counts is left out first, then the last one. The first columns always stay.
            let empty = columns[COLUMNS_KEPT..].iter().rposition(|column| !has_counts(column));
            let dropped = columns.remove(empty.map_or(columns.len() - 1, |at| at + COLUMNS_KEPT));
            left_out.extend(has_counts(dropped).then_some(dropped.name));
        }
        let _ = write!(text, "{:<ENTITY_WIDTH$}", "entity");
        for CountColumn { name, width, .. } in &columns {
            let _ = write!(text, "{name:>width$}");
        }
        let _ = writeln!(text);
        for (entity, tally) in &self.entities {
            let _ = write!(text, "{entity:<ENTITY_WIDTH$}");
            for CountColumn { count, width, .. } in &columns {
                let _ = write!(text, "{:>width$}", count(tally));
            }
            let _ = writeln!(text);
        }
        if !left_out.is_empty() {
            // The columns were left out from the right.
            left_out.reverse();
            let names = left_out.join(", ");
            let _ = writeln!(text, "not shown here, but in `--report`: {names}");
        }
    }

    /// Formats the table of record counts, warnings and bad records. A table that is wider than `width` loses
    /// its last columns, those without a count first; the report has them.
    pub fn table(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        // A run that linked nothing has no counts.
        if !self.entities.is_empty() {
            self.write_counts(width.unwrap_or(usize::MAX), &mut text);
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
            let _ = writeln!(text, "skipped, because the kind of file is unknown:");
            for path in self.skipped_files.iter().take(10) {
                let _ = writeln!(text, "  {path}");
            }
            if let Some(more) = self.skipped_files.len().checked_sub(10).filter(|more| *more > 0) {
                let _ = writeln!(text, "  and {more} more");
            }
        }
        if !self.not_taken_over.is_empty() {
            let _ =
                writeln!(text, "not taken over from the previous snapshot (made again instead)");
        }
        for part in &self.not_taken_over {
            let _ = writeln!(text, "  {part}");
        }
        let excesses = self.drift.iter().flat_map(|drift| &drift.excesses);
        for excess in excesses.filter(|excess| excess.is_allowed) {
            let _ = writeln!(text, "allowed: {excess}");
        }
        self.write_tasks(&mut text);
        self.write_warnings(&mut text);
        self.write_bad_records(&mut text);
        text
    }

    /// Writes the work and the span of compiling and linking, and the times that follow from them.
    fn write_tasks(&self, text: &mut String) {
        for (phase, tasks) in &self.run_info.tasks {
            let TaskCost { work_seconds, span_seconds, simulated_seconds, .. } = tasks;
            let times = simulated_seconds.iter().filter(|(cores, _)| **cores > 2);
            let times = times.map(|(cores, seconds)| format!("{seconds:.1} s on {cores}"));
            let times = times.collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                text,
                "{phase} tasks: work {work_seconds:.1} s, span {span_seconds:.1} s\n  simulated cores: {times}"
            );
        }
    }

    /// Writes the warnings by code.
    fn write_warnings(&self, text: &mut String) {
        if self.warnings.is_empty() {
            return;
        }
        let _ = writeln!(text, "warnings (every record was kept)");
        for (code, count) in &self.warnings {
            let first = self.first_warnings.get(code).map_or("", String::as_str);
            write_code(text, code, *count, first, codes::warning(code));
        }
    }

    /// Writes the bad records by code, and the names of the files that list them.
    fn write_bad_records(&self, text: &mut String) {
        if self.bad_records.is_empty() {
            return;
        }
        let _ = writeln!(text, "bad records (left out of the snapshot)");
        for (code, count) in &self.bad_records {
            let first = self.quarantine.first.get(code).map_or("", String::as_str);
            write_code(text, code, *count, first, codes::bad_record(code));
        }
        let Quarantine { list: Some(list), lines: Some(lines), listed, .. } = &self.quarantine
        else {
            return;
        };
        let _ = writeln!(
            text,
            "`{}` lists the bad records, `{}` holds their lines",
            escape_path(list),
            escape_path(lines)
        );
        let counted: u64 = self.bad_records.values().sum();
        if counted > *listed {
            let _ = writeln!(
                text,
                "only {listed} of {counted} are listed: the first 10,000 of each part"
            );
        }
    }
}

/// Writes a code's count and first place, and below them its meaning and remedy.
fn write_code(text: &mut String, name: &str, count: u64, first: &str, code: &Code) {
    let at = if first.is_empty() { "" } else { "  first at " };
    let _ = writeln!(text, "  {name:<24}{count:>12}{at}{first}");
    let _ = writeln!(text, "      {}; {}", code.meaning, code.remedy);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_drops_empty_columns_first() {
        let mut report = RunReport::new("build");
        let tally = Tally { read: 7, merged: 2, dangling: 1, ..Tally::default() };
        report.entities.insert("works".to_owned(), tally);
        let header = |width| {
            let table = report.table(width);
            let first = table.lines().next().unwrap_or_default().to_owned();
            assert!(
                table.lines().all(|line| width.is_none_or(|width| line.len() <= width)),
                "{table}"
            );
            first.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        let all = COUNT_COLUMNS.map(|column| column.name).join(" ");
        assert_eq!(header(None), all);
        assert_eq!(header(Some(200)), all);
        assert_eq!(header(Some(80)), "read published duplicate merged dangling");
        assert_eq!(header(Some(64)), "read published merged dangling");
        let table = report.table(Some(60));
        assert!(table.ends_with("not shown here, but in `--report`: dangling\n"), "{table}");
    }
}
