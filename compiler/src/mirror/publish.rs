//! `publish`: writes a snapshot, and optionally its objects, as a tree of static files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use minisign::PublicKey;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::{
    PUBLICATION, PUBLICATION_VERSION, PUBLICATIONS, Publication, PublishedSnapshot,
};
use pinakes_remote::manifest::SNAPSHOTS;
use pinakes_store::directory::find_snapshot;
use pinakes_store::files::{
    make_directory, refuse_unsafe_subdirectories, refuse_writable_by_others, write_atomically,
};
use pinakes_store::lock::LockedDirectory;

use crate::error::{Error, Result};
use crate::mirror::OBJECTS;
use crate::mirror::options::PublishOptions;
use crate::mirror::run::MirrorRun;
use crate::mirror::signature::read_secret;
use crate::mirror::site::{Site, refuse_large_files};
use crate::mirror::tree::Tree;
use crate::store::{interrupt, lock_output};
use crate::terminal::escape::escape_path;

/// The outcome that a signal prints while a tree is written.
const NOTHING_PUBLISHED: &str = "nothing was published";

/// Publishes a snapshot into a tree and returns the path of the publication. A reader finds the old or
/// the new publication, complete.
///
/// # Errors
///
/// The first failure; the tree still publishes what it published before.
pub fn publish(options: &PublishOptions, run: &mut MirrorRun) -> Result<PathBuf> {
    let key = options.key.as_deref().map(read_secret).transpose()?;
    let source = find_snapshot(&options.snapshots)?;
    let snapshot = Snapshot::open(&source).map_err(|error| Error::Refused(error.to_string()))?;
    if options.objects.is_some() {
        refuse_suppressed(snapshot.manifest())?;
    }
    let site = options.site.as_deref().map(|site| {
        refuse_large_files(&snapshot.manifest().files)?;
        let pubkey = key.as_ref().map(PublicKey::from_secret_key).transpose();
        Site::read(site, pubkey.map_err(|error| Error::Usage(error.to_string()))?.as_ref())
    });
    let site = site.transpose()?;
    let now = Utc::now();
    // All refusals precede the lock and the first change of the tree.
    refuse_snapshot_directory(options, &source)?;
    refuse_writable_by_others(&options.to)?;
    refuse_unsafe_subdirectories(&options.to, &[SNAPSHOTS, OBJECTS, PUBLICATIONS])?;
    let mut publication = new_publication(options, snapshot.manifest(), now)?;
    let lock = lock_output(&options.to)?;
    interrupt::remove_on_signal(lock.scratch(), NOTHING_PUBLISHED);
    hide_private_files(&lock)?;
    run.write_begin()?;
    for directory in [SNAPSHOTS, OBJECTS, PUBLICATIONS] {
        make_directory(&options.to.join(directory))?;
    }
    let tree = Tree { options, lock: &lock, manifest: snapshot.manifest() };
    tree.remove_leftovers();
    if let Some(directory) = &options.objects {
        publication.objects = Some(tree.add_objects(directory)?);
    }
    // The files come before the publication that names them: a reader of the new publication finds all of them.
    tree.add_snapshot(&source)?;
    tree.warn_if_large(MANIFEST, publication.snapshot.manifest_bytes);
    if let Some(site) = &site {
        site.write(&options.to)?;
        // A browser reads the copy at once with the publication.
        write_atomically(&options.to.join(MANIFEST), &snapshot.manifest().text())?;
    }
    interrupt::publish_uninterrupted(|| tree.replace_publication(&publication, key.as_ref()))?;
    // Readers of the earlier publication may fetch its files until the publication is replaced.
    tree.prune()?;
    drop(lock);
    interrupt::keep_on_signal();
    run.report.set_publication(&publication);
    run.report.activate_at = publication.activate_at.clone();
    Ok(options.to.join(PUBLICATION))
}

/// Hides the lock file and the scratch directory from a web server that runs as another user.
fn hide_private_files(lock: &LockedDirectory) -> Result<()> {
    for (path, mode) in [(lock.directory().join(".lock"), 0o600), (lock.scratch().into(), 0o700)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(Error::output(path))?;
    }
    Ok(())
}

/// Refuses to publish into a directory of snapshots, because pruning a tree would remove snapshots.
fn refuse_snapshot_directory(options: &PublishOptions, source: &Path) -> Result<()> {
    let is_there = |name: &str| fs::symlink_metadata(options.to.join(name)).is_ok();
    let to = fs::canonicalize(&options.to).ok();
    let given = fs::canonicalize(&options.snapshots).ok();
    let is_given = to.is_some_and(|to| to.starts_with(source) || Some(to) == given);
    if !is_given && !is_there("current") && !is_there(".history") {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{}` is a directory of snapshots; give `--to` another directory",
        escape_path(&options.to)
    )))
}

/// Makes the publication, without its objects, and checks that a mirror could read it.
fn new_publication(
    options: &PublishOptions,
    manifest: &Manifest,
    now: DateTime<Utc>,
) -> Result<Publication> {
    let expires = now + TimeDelta::days(i64::from(options.valid_days));
    let publication = Publication {
        publication_version: PUBLICATION_VERSION,
        snapshot: PublishedSnapshot {
            id: manifest.id.clone(),
            root: manifest.root.clone(),
            manifest_bytes: manifest.text().len() as u64,
        },
        version: now.to_rfc3339_opts(SecondsFormat::Micros, true),
        expires: expires.to_rfc3339_opts(SecondsFormat::Secs, true),
        activate_at: options.activate_at.map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
        licence: options.licence.clone(),
        objects: None,
    };
    Publication::read(&publication.text()).map_err(|error| Error::Usage(error.to_string()))?;
    if let Some(at) = publication.activate_at.as_ref().filter(|_| options.activate_at <= Some(now))
    {
        eprintln!("warning: `--activate-at` {at} has passed; servers switch as soon as they pull");
    }
    Ok(publication)
}

/// Refuses to publish the objects of a snapshot made with `--suppress`: they still hold those records.
fn refuse_suppressed(manifest: &Manifest) -> Result<()> {
    match manifest.suppressed.values().sum::<u64>() {
        0 => Ok(()),
        records => Err(Error::Usage(format!(
            "`--suppress` left {records} records out of this snapshot, but its objects still hold them; \
             publish it without `--objects`"
        ))),
    }
}
