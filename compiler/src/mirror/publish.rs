//! `publish`: a snapshot, and the objects it is linked from, as a tree of static files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::{
    PUBLICATION, PUBLICATION_VERSION, PUBLICATIONS, Publication, PublishedSnapshot, moment,
};

use crate::error::{Error, Result};
use crate::mirror::run::MirrorRun;
use crate::mirror::signature::read_secret;
use crate::mirror::tree::Tree;
use crate::mirror::{OBJECTS, SNAPSHOTS};
use crate::store::files::{make_directory, refuse_open, refuse_open_inside};
use crate::store::interrupt;
use crate::store::lock::{OutputLock, check_out};
use crate::terminal::escape::shown;
use crate::terminal::progress::Progress;

/// The version of what has no date.
const NO_DATE: &str = "1970-01-01T00:00:00Z";
/// What a signal says that comes while a tree is written.
const NOTHING_PUBLISHED: &str = "nothing was published";

/// What is asked of a publication.
#[derive(Debug)]
pub struct Publish {
    /// A directory of snapshots, whose current one is published, or a snapshot.
    pub snapshots: PathBuf,
    /// Where the tree is.
    pub to: PathBuf,
    /// The secret key to sign with.
    pub key: Option<PathBuf>,
    /// Where the objects are that the snapshot was linked from, if they are to be published.
    pub objects: Option<PathBuf>,
    /// Days until the publication expires.
    pub valid_days: u32,
    /// The licence of what is published.
    pub licence: Option<String>,
    /// How many publications the tree keeps, this one included.
    pub keep: usize,
    /// The largest manifest or list of objects that is published without a word, in bytes.
    pub manifest_bytes_max: u64,
    /// Memory to link in.
    pub memory_bytes: usize,
    /// How progress is shown.
    pub progress: Progress,
}

/// Publishes a snapshot into a tree: readers find the one before or this one, whole. Its publication's path.
///
/// # Errors
///
/// Whatever stopped it; what the tree published is then what it was.
pub fn publish(asked: &Publish, run: &mut MirrorRun) -> Result<PathBuf> {
    let key = asked.key.as_deref().map(read_secret).transpose()?;
    let source = match asked.snapshots.join(MANIFEST).exists() {
        true => asked.snapshots.clone(),
        false => asked.snapshots.join("current"),
    };
    let source = fs::canonicalize(&source).map_err(Error::input(&source))?;
    let snapshot = Snapshot::open(&source).map_err(|error| Error::Refused(error.to_string()))?;
    if asked.objects.is_some() {
        refuse_suppressed(snapshot.manifest())?;
    }
    let now = Utc::now();
    refuse_snapshots(asked, &source)?;
    refuse_open(&asked.to)?;
    refuse_open_inside(&asked.to, &[SNAPSHOTS, OBJECTS, PUBLICATIONS])?;
    let mut publication = publication_of(asked, snapshot.manifest(), now)?;
    let lock = check_out(&asked.to)?;
    interrupt::begin(lock.scratch(), NOTHING_PUBLISHED);
    hide(&lock)?;
    run.say_begun()?;
    for directory in [SNAPSHOTS, OBJECTS, PUBLICATIONS] {
        make_directory(&asked.to.join(directory))?;
    }
    let tree = Tree { asked, lock: &lock, manifest: snapshot.manifest() };
    tree.clear();
    if let Some(directory) = &asked.objects {
        publication.objects = Some(tree.put_objects(directory)?);
    }
    tree.put_snapshot(&source)?;
    tree.warn_large(MANIFEST, publication.snapshot.manifest_bytes);
    interrupt::publishing(|| tree.exchange(&publication, key.as_ref()))?;
    tree.prune()?;
    drop(lock);
    interrupt::end();
    run.report.take_publication(&publication);
    Ok(asked.to.join(PUBLICATION))
}

/// Keeps what is the run's own, and not published, from a host that runs as another user.
fn hide(lock: &OutputLock) -> Result<()> {
    for (path, mode) in [(lock.directory().join(".lock"), 0o600), (lock.scratch().into(), 0o700)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(Error::output(path))?;
    }
    Ok(())
}

/// Refuses to publish into a directory of snapshots: what a tree does not need is removed from it.
fn refuse_snapshots(asked: &Publish, source: &Path) -> Result<()> {
    let is_there = |name: &str| fs::symlink_metadata(asked.to.join(name)).is_ok();
    let to = fs::canonicalize(&asked.to).ok();
    let given = fs::canonicalize(&asked.snapshots).ok();
    let is_given = to.is_some_and(|to| to.starts_with(source) || Some(to) == given);
    if !is_given && !is_there("current") && !is_there(".history") {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{}` holds snapshots, and a tree is no place for them; give `--to` a directory of its own",
        shown(&asked.to)
    )))
}

/// What is published, but for the objects; nothing is written that could not be.
fn publication_of(asked: &Publish, manifest: &Manifest, now: DateTime<Utc>) -> Result<Publication> {
    let publication = Publication {
        publication_version: PUBLICATION_VERSION,
        snapshot: PublishedSnapshot {
            id: manifest.id.clone(),
            root: manifest.root.clone(),
            manifest_bytes: manifest.text().len() as u64,
        },
        version: version_of(manifest, now)?,
        created: text_of(now),
        expires: text_of(now + TimeDelta::days(i64::from(asked.valid_days))),
        licence: asked.licence.clone(),
        objects: None,
    };
    Publication::read(&publication.text()).map_err(|error| Error::Usage(error.to_string()))?;
    Ok(publication)
}

/// Refuses to publish the objects of a snapshot that records were withheld from: they hold them still.
fn refuse_suppressed(manifest: &Manifest) -> Result<()> {
    match manifest.suppressed.values().sum::<u64>() {
        0 => Ok(()),
        records => Err(Error::Usage(format!(
            "`--suppress` left {records} records out of this snapshot, and its objects hold them still; \
             publish it without `--objects`"
        ))),
    }
}

/// The version of a snapshot: its newest date, which no mirror takes before it has come.
fn version_of(manifest: &Manifest, now: DateTime<Utc>) -> Result<String> {
    let Some(newest) = &manifest.source.newest_updated_date else { return Ok(NO_DATE.into()) };
    let version = format!("{newest}Z");
    let at = moment(&version).ok_or_else(|| {
        Error::Internal(format!("`{version}` is no moment, as a version must be"))
    })?;
    if at > now + TimeDelta::days(1) {
        return Err(Error::Refused(format!(
            "the newest `updated_date`, {newest}, is in the future: no mirror would take it for what is \
             newest until then. Mend that record in the dump, or the clock here"
        )));
    }
    Ok(version)
}

fn text_of(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}
