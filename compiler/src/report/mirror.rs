//! The report of `pull` and `publish`: lines for people, JSON and metrics for programs.

use pinakes_format::storage::publication::{Publication, moment};
use serde::Serialize;

use crate::report::file::{Report, write_metric};
use crate::report::run_info::RunInfo;
use crate::store::prune::PruneReport;

/// The report of `pull` or `publish`, as `--report` writes it.
#[derive(Clone, Debug, Serialize)]
pub struct MirrorReport {
    /// State, times, stages and memory of the run.
    #[serde(flatten)]
    pub run_info: RunInfo,
    /// Path of the current or scheduled snapshot (`pull`) or of the written publication (`publish`); `null`
    /// after a failure.
    pub snapshot: Option<String>,
    pub snapshot_id: Option<String>,
    /// Time of the publication.
    pub version: Option<String>,
    /// Expiry time of the publication.
    pub expires: Option<String>,
    /// When servers switch to the snapshot, if that is scheduled; otherwise `null`.
    pub activate_at: Option<String>,
    /// Whether the publication had expired.
    pub is_stale: bool,
    /// Id of the key that signed the publication; `null` without `--pubkey`.
    pub signer: Option<String>,
    /// Whether the snapshot was complete before the run, so that nothing was fetched.
    pub was_here: bool,
    /// Id of the published snapshot if it was held back because of an earlier rollback; otherwise `null`.
    pub held_back: Option<String>,
    /// Body bytes received from the host.
    pub fetched_bytes: u64,
    /// Number of requests.
    pub requests: u64,
    /// Bytes that an earlier run had fetched and kept.
    pub kept_bytes: u64,
    /// Bytes copied from local snapshots.
    pub copied_bytes: u64,
    /// Snapshots that `--keep` removed; `null` without `--keep`.
    pub pruned: Option<PruneReport>,
    /// Wall-clock seconds of the run.
    pub seconds: f64,
}

impl MirrorReport {
    /// Makes the report of a run that begins now.
    pub fn new(command: &'static str) -> MirrorReport {
        MirrorReport {
            run_info: RunInfo::new(command),
            snapshot: None,
            snapshot_id: None,
            version: None,
            expires: None,
            activate_at: None,
            is_stale: false,
            signer: None,
            was_here: false,
            held_back: None,
            fetched_bytes: 0,
            requests: 0,
            kept_bytes: 0,
            copied_bytes: 0,
            pruned: None,
            seconds: 0.0,
        }
    }

    /// Copies the members of a publication into the report.
    pub fn set_publication(&mut self, publication: &Publication) {
        let Publication { version, expires, snapshot, .. } = publication;
        self.snapshot_id = Some(snapshot.id.clone());
        self.version = Some(version.clone());
        self.expires = Some(expires.clone());
    }

    /// Formats the last lines of a successful run: its result and what `--keep` removed.
    pub fn outcome(&self) -> String {
        let (Some(snapshot), None) = (&self.snapshot, &self.held_back) else {
            return String::new();
        };
        let what = if self.was_here { "unchanged" } else { "published" };
        let activation = match &self.activate_at {
            Some(at) => format!(", servers switch at {at}"),
            None => String::new(),
        };
        let version = self.version.as_deref().unwrap_or("none");
        let expires = self.expires.as_deref().unwrap_or("never");
        let mut text = format!(
            "{what:>10} {snapshot}: version {version}, expires {expires}{activation}; {:.1} s\n",
            self.seconds
        );
        text.extend(self.pruned.as_ref().map(PruneReport::outcome));
        text
    }
}

impl Report for MirrorReport {
    fn textfile(&self) -> String {
        let run_info = &self.run_info;
        let mut text = String::new();
        let mut one = |name: &str, help: &str, value: f64| {
            let name = format!("pinakes_{}_{name}", run_info.command);
            write_metric(&mut text, &name, help, [(String::new(), value)]);
        };
        let seconds = |text: &Option<String>| {
            text.as_deref().and_then(moment).map(|moment| moment.timestamp() as f64)
        };
        one("exit_code", "Exit code of the last run.", f64::from(run_info.exit_code.unwrap_or(1)));
        one(
            "started_timestamp_seconds",
            "Start of the last run.",
            run_info.started.timestamp() as f64,
        );
        if let Some(ended) = run_info.ended {
            one("ended_timestamp_seconds", "End of the last run.", ended.timestamp() as f64);
        }
        if let Some(bytes) = run_info.peak_memory_bytes {
            one("peak_memory_bytes", "Peak resident memory of the last run.", bytes as f64);
        }
        if let Some(version) = seconds(&self.version) {
            one("version_timestamp_seconds", "Time of the publication.", version);
        }
        if let Some(expires) = seconds(&self.expires) {
            one("expires_timestamp_seconds", "Expiry of the publication.", expires);
        }
        if run_info.command == "pull" {
            one("fetched_bytes", "Body bytes received from the host.", self.fetched_bytes as f64);
            let is_blocked = f64::from(u8::from(self.held_back.is_some()));
            one(
                "held_back",
                "1 if the published snapshot was rolled back here earlier.",
                is_blocked,
            );
        }
        let stages = run_info.stages.iter();
        let stages = stages.map(|stage| (format!("{{stage=\"{}\"}}", stage.stage), stage.seconds));
        let name = format!("pinakes_{}_stage_seconds", run_info.command);
        write_metric(&mut text, &name, "Seconds by stage.", stages);
        text
    }
}
