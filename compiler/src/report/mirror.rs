//! What a pull or a publication did: a line or a few for people, the members of a build's report that it
//! has, and its own.

use pinakes_format::storage::publication::{Publication, moment};
use serde::Serialize;

use crate::report::file::{Report, family};
use crate::report::run_info::Course;
use crate::store::prune::Pruned;

/// A report of `pull` or `publish`, as `--report` writes it.
#[derive(Clone, Debug, Serialize)]
pub struct MirrorReport {
    /// How it went.
    #[serde(flatten)]
    pub course: Course,
    /// The snapshot that is current now, or the publication that was written; `null` where there is none.
    pub snapshot: Option<String>,
    /// The snapshot's id.
    pub snapshot_id: Option<String>,
    /// Its newest `updated_date`, as the publication says it.
    pub version: Option<String>,
    /// When it was published.
    pub created: Option<String>,
    /// When it is no longer to be taken for the newest.
    pub expires: Option<String>,
    /// Whether it had expired.
    pub is_stale: bool,
    /// The id of the key that signed it; `null` where no key was asked for.
    pub signer: Option<String>,
    /// Whether the snapshot was there, whole, and nothing of it was fetched.
    pub was_here: bool,
    /// The id of a snapshot that was not taken, since it was rolled back from; `null` of others.
    pub held_back: Option<String>,
    /// Bytes that came from the host.
    pub fetched_bytes: u64,
    /// In how many requests.
    pub requests: u64,
    /// Bytes that an earlier run had fetched.
    pub kept_bytes: u64,
    /// Bytes that were copied from snapshots here.
    pub copied_bytes: u64,
    /// What `--keep` removed; `null` without it.
    pub pruned: Option<Pruned>,
    /// Seconds that it took.
    pub seconds: f64,
}

impl MirrorReport {
    /// What is known of a run that begins.
    pub fn begin(command: &'static str) -> MirrorReport {
        MirrorReport {
            course: Course::begin(command),
            snapshot: None,
            snapshot_id: None,
            version: None,
            created: None,
            expires: None,
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

    /// Takes what a publication says of itself.
    pub fn take_publication(&mut self, publication: &Publication) {
        let Publication { version, created, expires, snapshot, .. } = publication;
        self.snapshot_id = Some(snapshot.id.clone());
        self.version = Some(version.clone());
        self.created = Some(created.clone());
        self.expires = Some(expires.clone());
    }

    /// What came of a run that ended well, in a line or a few: what the mail of a cron ends with.
    pub fn outcome(&self) -> String {
        let (Some(snapshot), None) = (&self.snapshot, &self.held_back) else {
            return String::new();
        };
        let what = if self.was_here { "is here" } else { "published" };
        let version = self.version.as_deref().unwrap_or("none");
        let expires = self.expires.as_deref().unwrap_or("never");
        let mut text = format!(
            "{what:>10} {snapshot}: version {version}, expires {expires}; {:.1} s\n",
            self.seconds
        );
        text.extend(self.pruned.as_ref().map(Pruned::outcome));
        text
    }
}

impl Report for MirrorReport {
    fn textfile(&self) -> String {
        let course = &self.course;
        let mut text = String::new();
        let mut one = |name: &str, help: &str, value: f64| {
            let name = format!("pinakes_{}_{name}", course.command);
            family(&mut text, &name, help, [(String::new(), value)]);
        };
        let seconds = |text: &Option<String>| {
            text.as_deref().and_then(moment).map(|moment| moment.timestamp() as f64)
        };
        one("exit_code", "What the last run ended with.", f64::from(course.exit_code.unwrap_or(1)));
        one("started_timestamp_seconds", "When it began.", course.started.timestamp() as f64);
        if let Some(ended) = course.ended {
            one("ended_timestamp_seconds", "When it ended.", ended.timestamp() as f64);
        }
        if let Some(bytes) = course.peak_memory_bytes {
            one("peak_memory_bytes", "The most memory in use.", bytes as f64);
        }
        if let Some(version) = seconds(&self.version) {
            one(
                "version_timestamp_seconds",
                "The newest updated_date of what is published.",
                version,
            );
        }
        if let Some(expires) = seconds(&self.expires) {
            one("expires_timestamp_seconds", "When it is no longer the newest.", expires);
        }
        if course.command == "pull" {
            one("fetched_bytes", "Bytes that came from the host.", self.fetched_bytes as f64);
            let is_held = f64::from(u8::from(self.held_back.is_some()));
            one("held_back", "1 where what is published was rolled back from here.", is_held);
        }
        let stages = course.stages.iter();
        let stages = stages.map(|stage| (format!("{{stage=\"{}\"}}", stage.stage), stage.seconds));
        let name = format!("pinakes_{}_stage_seconds", course.command);
        family(&mut text, &name, "What each stage took.", stages);
        text
    }
}
