//! Where programs read what a run did: a report in JSON, and a text for Prometheus' node_exporter.

use std::{
    fmt::{Display, Write as _},
    fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::report::RunReport;

/// What a run says of itself to programs.
pub trait Report: Serialize {
    /// What it says as Prometheus reads it.
    fn textfile(&self) -> String;
}

/// The files that a run was told to write.
#[derive(Clone, Debug, Default)]
pub struct ReportFiles {
    /// As JSON: once as the run begins, and once as it ends.
    pub report: Option<PathBuf>,
    /// As Prometheus reads it: once as the run ends.
    pub textfile: Option<PathBuf>,
}

impl ReportFiles {
    /// Says that a run is under way; where that cannot be said it is better known now than at the end.
    ///
    /// # Errors
    ///
    /// Where a file cannot be written.
    pub fn say_begun(&self, report: &impl Report) -> Result<()> {
        if let Some(path) = &self.textfile {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::metadata(folder.unwrap_or(Path::new("."))).map_err(Error::output(path))?;
        }
        self.write_report(report)
    }

    fn write_report(&self, report: &impl Report) -> Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        let text = serde_json::to_vec_pretty(report);
        let mut text = text.map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        replace(path, &text)
    }

    /// Says what came of it.
    ///
    /// # Errors
    ///
    /// Where a file cannot be written.
    pub fn say_ended(&self, report: &impl Report) -> Result<()> {
        self.write_report(report)?;
        match &self.textfile {
            Some(path) => replace(path, report.textfile().as_bytes()),
            None => Ok(()),
        }
    }
}

/// Puts a text in the place of a file, in one step: who reads it finds the old or the new one.
fn replace(path: &Path, text: &[u8]) -> Result<()> {
    // What a link leads to is replaced, not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_special = fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file());
    let mut beside = place.clone().into_os_string();
    beside.push(".tmp");
    let beside = PathBuf::from(beside);
    let write = || -> io::Result<()> {
        if is_special {
            // A pipe or a device is written as it is.
            return fs::File::options().append(true).open(&place)?.write_all(text);
        }
        fs::write(&beside, text)?;
        // Whoever runs the monitor is to read it, whatever the umask.
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o644))?;
        fs::rename(&beside, &place)
    };
    write().map_err(|error| {
        if !is_special {
            let _ = fs::remove_file(&beside);
        }
        Error::output(path)(error)
    })
}

impl Report for RunReport {
    fn textfile(&self) -> String {
        text(self)
    }
}

/// One family of samples; none where there is no sample.
pub(crate) fn family<V: Display>(
    text: &mut String,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = (String, V)>,
) {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_some() {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
}

/// The report as Prometheus reads it.
fn text(report: &RunReport) -> String {
    let course = &report.course;
    let mut text = String::new();
    let mut one = |name: &str, help: &str, value: f64| {
        family(&mut text, &format!("pinakes_build_{name}"), help, [(String::new(), value)]);
    };
    one("exit_code", "What the last run ended with.", f64::from(course.exit_code.unwrap_or(1)));
    one("started_timestamp_seconds", "When it began.", course.started.timestamp() as f64);
    if let Some(ended) = course.ended {
        one("ended_timestamp_seconds", "When it ended.", ended.timestamp() as f64);
    }
    one("parts", "Parts of its inputs.", report.parts as f64);
    one("parts_parsed", "Of those, parsed.", report.parts_parsed as f64);
    if let Some(bytes) = course.peak_memory_bytes {
        one("peak_memory_bytes", "The most memory in use.", bytes as f64);
    }
    let is_held = report.held_back.is_some();
    one(
        "held_back",
        "1 where what it made was rolled back from, so that nothing was published.",
        f64::from(u8::from(is_held)),
    );
    if report.snapshot.is_some() && !is_held {
        one("snapshot_bytes", "Bytes of what it published.", report.snapshot_bytes as f64);
    }
    if let Some(moment) = report.newest_moment() {
        one("newest_updated_timestamp_seconds", "Its newest updated_date.", moment as f64);
    }
    let label = |name: &str, of: &str| format!("{{{name}=\"{of}\"}}");
    let bad = report.bad_records.iter().map(|(code, count)| (label("code", code), count));
    family(&mut text, "pinakes_build_bad_records", "Records set aside.", bad);
    let warnings = report.warnings.iter().map(|(code, count)| (label("code", code), count));
    family(&mut text, "pinakes_build_warnings", "What was odd but stopped nothing.", warnings);
    let records = report.entities.iter();
    let records = records.map(|(entity, tally)| (label("entity", entity), tally.published()));
    family(&mut text, "pinakes_build_records", "Records published.", records);
    let stages = course.stages.iter().map(|stage| (label("stage", stage.stage), stage.seconds));
    family(&mut text, "pinakes_build_stage_seconds", "What each stage took.", stages);
    text
}
