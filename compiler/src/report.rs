//! What a run did: a table for people, JSON for programs, a line for each bad record.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{
    compile::Stage,
    error::{Error, Result},
    input::Inputs,
    link::Tally,
    object::file::BadLine,
};

/// A run's report, as `--report` writes it.
#[derive(Debug, Default, Serialize)]
pub struct RunReport {
    /// The published snapshot; `null` where none was.
    pub snapshot: Option<PathBuf>,
    /// Parts of the inputs.
    pub parts: u64,
    /// Of those, parsed in this run; the others' objects were there.
    pub parts_parsed: u64,
    /// Uncompressed bytes parsed.
    pub parsed_bytes: u64,
    /// Bytes of the snapshot.
    pub snapshot_bytes: u64,
    /// Files in the inputs that are nothing the compiler knows.
    pub skipped_files: Vec<PathBuf>,
    /// The accounting by entity.
    pub entities: BTreeMap<String, Tally>,
    /// Warnings by code.
    pub warnings: BTreeMap<String, u64>,
    /// Bad records by code.
    pub bad_records: BTreeMap<String, u64>,
    /// Seconds of the two stages together.
    pub seconds: f64,
}

/// One bad record in the list of them.
#[derive(Serialize)]
struct ListedBadLine<'a> {
    file: &'a Path,
    #[serde(flatten)]
    line: &'a BadLine,
}

/// How many records were read and how many set aside, over a whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Records read.
    pub read: u64,
    /// Records set aside.
    pub quarantined: u64,
}

impl RunReport {
    /// What is known after the first stage; every bad record is written to `list`.
    ///
    /// # Errors
    ///
    /// Where the list cannot be written.
    pub fn begin(inputs: &Inputs, stage: &Stage, list: &Path) -> Result<(RunReport, Budget)> {
        let mut report = RunReport {
            parts: stage.parts.len() as u64,
            parts_parsed: stage.parts.iter().filter(|part| !part.was_cached).count() as u64,
            parsed_bytes: stage.parsed_bytes,
            skipped_files: inputs.skipped.clone(),
            warnings: inputs.warnings.clone(),
            ..RunReport::default()
        };
        if stage.same_parts > 0 {
            report.warnings.insert("same_parts".into(), stage.same_parts);
        }
        let mut budget = Budget::default();
        let file = File::create(list).map_err(Error::output(list))?;
        let mut out = BufWriter::new(file);
        for part in &stage.parts {
            let of_part = part.object.report();
            budget.read += of_part.read.values().sum::<u64>();
            budget.quarantined += of_part.quarantined.values().sum::<u64>();
            for line in &of_part.bad_lines {
                *report.bad_records.entry(line.code.clone()).or_default() += 1;
                let listed = ListedBadLine { file: &part.part.path, line };
                let text = serde_json::to_vec(&listed)
                    .map_err(|error| Error::Internal(error.to_string()))?;
                out.write_all(&text)
                    .and_then(|()| out.write_all(b"\n"))
                    .map_err(Error::output(list))?;
            }
        }
        out.flush().map_err(Error::output(list))?;
        Ok((report, budget))
    }

    /// The table shown at a run's end.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{:<18}{:>12}{:>12}{:>11}{:>11}{:>8}{:>12}{:>9}{:>12}",
            "entity",
            "read",
            "published",
            "duplicate",
            "superseded",
            "merged",
            "bad",
            "derived",
            "dangling"
        );
        for (entity, tally) in &self.entities {
            let _ = writeln!(
                text,
                "{entity:<18}{:>12}{:>12}{:>11}{:>11}{:>8}{:>12}{:>9}{:>12}",
                tally.read,
                tally.published(),
                tally.duplicates,
                tally.superseded,
                tally.merged,
                tally.quarantined,
                tally.derived,
                tally.dangling
            );
        }
        for (title, counts) in [("bad records", &self.bad_records), ("warnings", &self.warnings)] {
            if !counts.is_empty() {
                let counts: Vec<String> =
                    counts.iter().map(|(code, count)| format!("{code} {count}")).collect();
                let _ = writeln!(text, "{title}: {}", counts.join(", "));
            }
        }
        if !self.skipped_files.is_empty() {
            let _ = writeln!(text, "skipped, being nothing the compiler knows:");
            for path in self.skipped_files.iter().take(10) {
                let _ = writeln!(text, "  {}", path.display());
            }
            if let Some(more) = self.skipped_files.len().checked_sub(10).filter(|more| *more > 0) {
                let _ = writeln!(text, "  and {more} more");
            }
        }
        text
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
