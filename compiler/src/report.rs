//! What a run did: a table for people, JSON for programs, a line for each bad record.

mod codes;
pub mod quarantine;

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use serde::Serialize;

use self::quarantine::Quarantine;
use crate::{
    compile::Stage,
    error::{Error, Result},
    input::Inputs,
    link::{SideTally, Tally},
    output::Pruned,
    shown::shown,
};

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// A run's report, as `--report` writes it.
#[derive(Debug, Default, Serialize)]
pub struct RunReport {
    /// The published snapshot; `null` where none was.
    pub snapshot: Option<String>,
    /// Parts of the inputs.
    pub parts: u64,
    /// Of those, parsed in this run; the others' objects were there.
    pub parts_parsed: u64,
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
    /// Warnings by code.
    pub warnings: BTreeMap<String, u64>,
    /// Bad records by code, all of them.
    pub bad_records: BTreeMap<String, u64>,
    /// Where bad records are listed.
    pub quarantine: Quarantine,
    /// What `--keep` removed; `null` without it.
    pub pruned: Option<Pruned>,
    /// Seconds of the two stages together.
    pub seconds: f64,
}

impl RunReport {
    /// What is known after the first stage.
    pub fn begin(inputs: &Inputs, stage: &Stage) -> RunReport {
        let mut report = RunReport {
            parts: stage.parts.len() as u64,
            parts_parsed: stage.parts.iter().filter(|part| !part.was_cached).count() as u64,
            parsed_bytes: stage.parsed_bytes,
            skipped_files: inputs.skipped.iter().map(|path| shown(path)).collect(),
            warnings: inputs.warnings.clone(),
            ..RunReport::default()
        };
        let add = |sums: &mut BTreeMap<String, u64>, counts: &BTreeMap<String, u64>| {
            for (code, count) in counts {
                *sums.entry(code.clone()).or_default() += count;
            }
        };
        add(&mut report.warnings, &stage.warnings);
        let tomorrow = chrono::Utc::now().timestamp_micros() + DAY_MICROS;
        for part in &stage.parts {
            let of_part = part.object.report();
            add(&mut report.bad_records, &of_part.bad_by_code);
            // A warning of this run alone: what an object says does not depend on a clock.
            if of_part.newest_updated_micros.is_some_and(|newest| newest > tomorrow) {
                *report.warnings.entry("future_updated_date".into()).or_default() += 1;
            }
        }
        report
    }

    /// The table shown at a run's end.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{:<18}{:>12}{:>12}{:>11}{:>11}{:>8}{:>12}{:>12}{:>9}{:>12}",
            "entity",
            "read",
            "published",
            "duplicate",
            "superseded",
            "merged",
            "excluded",
            "bad",
            "derived",
            "dangling"
        );
        for (entity, tally) in &self.entities {
            let _ = writeln!(
                text,
                "{entity:<18}{:>12}{:>12}{:>11}{:>11}{:>8}{:>12}{:>12}{:>9}{:>12}",
                tally.read,
                tally.published(),
                tally.duplicates,
                tally.superseded,
                tally.merged,
                tally.excluded,
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
        if !self.warnings.is_empty() {
            let counts: Vec<String> =
                self.warnings.iter().map(|(code, count)| format!("{code} {count}")).collect();
            let _ = writeln!(text, "warnings: {}", counts.join(", "));
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
        self.say_bad_records(&mut text);
        text
    }

    /// Bad records by code: how many, where the first is, what the code means; and what to do.
    fn say_bad_records(&self, text: &mut String) {
        if self.bad_records.is_empty() {
            return;
        }
        let first = |code: &str| self.quarantine.first.get(code).map_or("", String::as_str);
        let widest = self.bad_records.keys().map(|code| first(code).chars().count()).max();
        let width = widest.unwrap_or_default().max("first at".len());
        let _ = writeln!(text, "{:<16}{:>12}  {:<width$}  meaning", "bad records", "", "first at");
        for (code, count) in &self.bad_records {
            let (at, meaning) = (first(code), codes::meaning(code));
            let _ = writeln!(text, "{code:<16}{count:>12}  {at:<width$}  {meaning}");
        }
        let Quarantine { list: Some(list), lines: Some(lines), listed, .. } = &self.quarantine
        else {
            return;
        };
        let _ = writeln!(
            text,
            "each is listed in `{}`, its line is in `{}`; mend them in the dump, or leave them out",
            shown(list),
            shown(lines)
        );
        let counted: u64 = self.bad_records.values().sum();
        if counted > *listed {
            let _ =
                writeln!(text, "listed are {listed} of {counted}: of each part the first 10,000");
        }
    }

    /// Writes the report as JSON.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        std::fs::write(path, text).map_err(Error::output(path))
    }
}
