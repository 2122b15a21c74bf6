//! What a run leaves for programs: the report as JSON, metrics for Prometheus' node_exporter, and the path of the
//! snapshot on standard output.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::report::RunReport;

/// A report that is written as JSON and as metrics.
pub trait Report: Serialize {
    /// Formats the metrics in Prometheus' text format.
    fn textfile(&self) -> String;
}

/// The report files requested by `--report` and `--textfile`.
#[derive(Clone, Debug, Default)]
pub struct ReportFiles {
    /// The JSON file, written when the run begins and when it ends.
    pub report: Option<PathBuf>,
    /// The metrics file, written when the run ends.
    pub textfile: Option<PathBuf>,
}

impl ReportFiles {
    /// Writes the JSON report of a run that begins. Also checks that the folder of the metrics file exists,
    /// so that a wrong path fails before the work and not after it.
    pub fn write_begin(&self, report: &impl Report) -> Result<()> {
        if let Some(path) = &self.textfile {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::metadata(folder.unwrap_or(Path::new("."))).map_err(Error::output(path))?;
        }
        self.write_report(report)
    }

    /// Reads the speed of the last link from the report that an earlier run left.
    pub fn last_link_rate(&self) -> Option<f64> {
        let path = self.report.as_deref()?;
        // A pipe has no earlier report, and its reader may not be there yet.
        fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let report: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let rate = report.get("link_records_per_second")?.as_f64()?;
        (rate > 0.0).then_some(rate)
    }

    fn write_report(&self, report: &impl Report) -> Result<()> {
        let Some(path) = &self.report else { return Ok(()) };
        let text = serde_json::to_vec_pretty(report);
        let mut text = text.map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        replace(path, &text)
    }

    /// Writes both files of a run that ends.
    pub fn write_end(&self, report: &impl Report) -> Result<()> {
        self.write_report(report)?;
        match &self.textfile {
            Some(path) => replace(path, report.textfile().as_bytes()),
            None => Ok(()),
        }
    }
}

/// Replaces a file in one step: a reader finds the old or the new text.
fn replace(path: &Path, text: &[u8]) -> Result<()> {
    // Replaces the target of a link, not the link.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_special = fs::metadata(&place).is_ok_and(|metadata| !metadata.is_file());
    let mut beside = place.clone().into_os_string();
    beside.push(".tmp");
    let beside = PathBuf::from(beside);
    let write = || -> io::Result<()> {
        if is_special {
            // A pipe or a device is written directly.
            return fs::File::options().append(true).open(&place)?.write_all(text);
        }
        fs::write(&beside, text)?;
        // Readable by the monitoring user, whatever the umask.
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
        metrics(self)
    }
}

/// Writes one metric with its help and samples; nothing without samples.
pub(crate) fn write_metric<V: Display>(
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

/// Formats the metrics of a build report.
fn metrics(report: &RunReport) -> String {
    let run_info = &report.run_info;
    let mut text = String::new();
    let mut one = |name: &str, help: &str, value: f64| {
        write_metric(&mut text, &format!("pinakes_build_{name}"), help, [(String::new(), value)]);
    };
    one("exit_code", "Exit code of the last run.", f64::from(run_info.exit_code.unwrap_or(1)));
    one("started_timestamp_seconds", "Start of the last run.", run_info.started.timestamp() as f64);
    if let Some(ended) = run_info.ended {
        one("ended_timestamp_seconds", "End of the last run.", ended.timestamp() as f64);
    }
    one("parts", "Parts in the inputs.", report.parts as f64);
    one("parts_parsed", "Parts parsed by the last run.", report.parts_parsed as f64);
    if let Some(bytes) = run_info.peak_memory_bytes {
        one("peak_memory_bytes", "Peak resident memory of the last run.", bytes as f64);
    }
    let is_blocked = report.held_back.is_some();
    one(
        "held_back",
        "1 if the last run published nothing, because its snapshot was rolled back earlier.",
        f64::from(u8::from(is_blocked)),
    );
    // A snapshot that is held back is not the published one.
    if report.snapshot.is_some() && !is_blocked {
        one("snapshot_bytes", "Bytes of the published snapshot.", report.snapshot_bytes as f64);
    }
    if let Some(moment) = report.newest_moment() {
        one(
            "newest_updated_timestamp_seconds",
            "Newest updated_date among the published records.",
            moment as f64,
        );
    }
    let label = |name: &str, of: &str| format!("{{{name}=\"{of}\"}}");
    let bad = report.bad_records.iter().map(|(code, count)| (label("code", code), count));
    write_metric(&mut text, "pinakes_build_bad_records", "Bad records by code.", bad);
    let warnings = report.warnings.iter().map(|(code, count)| (label("code", code), count));
    write_metric(&mut text, "pinakes_build_warnings", "Warnings by code.", warnings);
    let records = report.entities.iter();
    let records = records.map(|(entity, tally)| (label("entity", entity), tally.published()));
    write_metric(&mut text, "pinakes_build_records", "Published records by entity.", records);
    let drift =
        report.drift.iter().flat_map(|drift| &drift.members).flat_map(|(member, shares)| {
            shares.iter().map(move |(kind, share)| {
                (format!("{{member=\"{member}\",kind=\"{}\"}}", kind.name()), share.share)
            })
        });
    let help =
        "Share of compared records in which a member differs from the snapshot before, if above 0.";
    write_metric(&mut text, "pinakes_build_drift", help, drift);
    let stages = run_info.stages.iter().map(|stage| (label("stage", stage.stage), stage.seconds));
    write_metric(&mut text, "pinakes_build_stage_seconds", "Seconds by stage.", stages);
    let stages = run_info.stages.iter();
    let stages = stages.map(|stage| (label("stage", stage.stage), stage.cpu_seconds));
    let help = "Processor seconds by stage.";
    write_metric(&mut text, "pinakes_build_stage_cpu_seconds", help, stages);
    text
}

/// Prints the path of the current snapshot as the last line of a run. `written` is the outcome of writing the
/// report. The snapshot is published, so that an error becomes a warning and the exit code stays 0.
pub(crate) fn print_published(path: &Path, written: Result<()>) {
    let line = [path.as_os_str().as_bytes(), b"\n"].concat();
    let printed = io::stdout().write_all(&line).map_err(Error::output(STANDARD_OUTPUT));
    for error in [written, printed].into_iter().filter_map(Result::err) {
        eprintln!("warning: published, but {}", error.message_without_publishing());
    }
}
