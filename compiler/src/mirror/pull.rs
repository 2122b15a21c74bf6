//! `pull`: a published snapshot, fetched or linked from fetched objects, published here.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use chrono::Utc;
use minisign::PublicKey;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::{PUBLICATION, PUBLICATIONS, Publication, kept_path};

use crate::error::{Error, Result};
use crate::link;
use crate::mirror::fetch::Gains;
use crate::mirror::host::{Host, Patience};
use crate::mirror::last_seen::Seen;
use crate::mirror::run::MirrorRun;
use crate::mirror::signature::read_public;
use crate::mirror::trust::{Fetched, check_age};
use crate::mirror::{objects, snapshot, trust};
use crate::store::files::{is_unfinished, make_directory, put, refuse_open, refuse_open_inside};
use crate::store::interrupt;
use crate::store::lock::{OutputLock, check_out};
use crate::store::prune::prune;
use crate::store::publish::is_whole;
use crate::store::rolled_back::held_back;
use crate::terminal::escape::shown;
use crate::terminal::progress::Progress;

/// What a signal says that comes while something is fetched.
const FETCHED_IS_KEPT: &str = "nothing was published; what was fetched is kept, run again to go on";

/// What is asked of a pull.
#[derive(Debug)]
pub struct Pull {
    /// The address of the published tree.
    pub url: String,
    /// Where snapshots are published here.
    pub out: PathBuf,
    /// The keys of which one must have signed; none for anybody.
    pub pubkeys: Vec<PathBuf>,
    /// Where objects are kept, from which the snapshot is to be linked.
    pub objects: Option<PathBuf>,
    /// Whether an older publication than was seen is taken.
    pub allow_rollback: bool,
    /// Whether one that has expired is refused.
    pub require_fresh: bool,
    /// Requests at a time.
    pub connections: usize,
    /// How long the host is waited for.
    pub patience: Patience,
    /// How many snapshots are kept here; all where nobody says.
    pub keep: Option<NonZeroUsize>,
    /// The largest manifest or list of objects, in bytes.
    pub manifest_bytes_max: u64,
    /// Certificates to trust the host by.
    pub tls_ca: Option<PathBuf>,
    /// Memory to link in.
    pub memory_bytes: usize,
    /// How progress is shown.
    pub progress: Progress,
}

/// Pulls what a host publishes; the snapshot that is current then.
///
/// # Errors
///
/// Whatever stopped it: nothing is published then, and `current` is what it was.
pub fn pull(asked: &Pull, run: &mut MirrorRun) -> Result<PathBuf> {
    let keys: Vec<PublicKey> =
        asked.pubkeys.iter().map(|path| read_public(path)).collect::<Result<_>>()?;
    let host = Host::new(&asked.url, asked.patience, asked.tls_ca.as_deref())?;
    refuse_open(&asked.out)?;
    refuse_open_inside(&asked.out, &[PUBLICATIONS])?;
    if let Some(objects) = &asked.objects {
        objects::refuse_place(objects)?;
    }
    let lock = check_out(&asked.out)?;
    interrupt::begin(lock.scratch(), FETCHED_IS_KEPT);
    run.say_begun()?;
    let outcome = asked.take(&host, &keys, &lock, run);
    (run.report.fetched_bytes, run.report.requests) = host.fetched();
    let path = outcome?;
    if let Some(keep) = asked.keep.filter(|_| run.report.held_back.is_none()) {
        run.report.pruned = Some(prune(&lock, keep, None));
    }
    drop(lock);
    interrupt::end();
    Ok(path)
}

impl Pull {
    /// Takes what the host publishes, unless it is held back; the snapshot that is current then.
    fn take(
        &self,
        host: &Host,
        keys: &[PublicKey],
        lock: &OutputLock,
        run: &mut MirrorRun,
    ) -> Result<PathBuf> {
        let fetched = trust::fetch(host, keys)?;
        let publication = &fetched.publication;
        run.report.take_publication(publication);
        run.report.signer = fetched.signer.clone();
        run.report.is_stale = accept(self, host, &fetched, run)?;
        let id = &publication.snapshot.id;
        if let Some(path) = self.held_back(id, run)? {
            return Ok(path);
        }
        let place = self.out.join(id);
        let is_here = fs::symlink_metadata(&place).is_ok();
        let path = if is_here && is_whole_there(&place, publication, self.progress)? {
            run.report.was_here = true;
            keep(self, &fetched)?;
            link::make_current(lock, id)?
        } else {
            let manifest = snapshot::fetch_manifest(host, publication, self.manifest_bytes_max)?;
            // What was begun of others would only take the room of this one.
            snapshot::remove_remains(&self.out, Some(&manifest));
            let finished = self.fetch(host, publication, &manifest, lock, run)?;
            // Fetching takes long enough for somebody to go back meanwhile.
            if let Some(path) = self.held_back(id, run)? {
                return Ok(path);
            }
            keep(self, &fetched)?;
            link::publish_directory(&finished, lock, id)?
        };
        snapshot::remove_remains(&self.out, None);
        forget(&self.out);
        Ok(path)
    }

    /// Where a snapshot is held back, says so; the one that is current then.
    fn held_back(&self, id: &str, run: &mut MirrorRun) -> Result<Option<PathBuf>> {
        let Some(held) = held_back(&self.out, id)? else { return Ok(None) };
        eprintln!("warning: {}", held.text());
        run.report.snapshot_id = held.path.file_name().map(|id| id.to_string_lossy().into_owned());
        run.report.held_back = Some(held.id);
        Ok(Some(held.path))
    }

    /// Brings a snapshot into a directory under the one of snapshots, whole.
    fn fetch(
        &self,
        host: &Host,
        publication: &Publication,
        manifest: &Manifest,
        lock: &OutputLock,
        run: &mut MirrorRun,
    ) -> Result<PathBuf> {
        let (connections, progress) = (self.connections, self.progress);
        let Some(directory) = &self.objects else {
            let fetched = snapshot::fetch(host, manifest, &self.out, connections, progress)?;
            take_gains(host, &fetched.1, run);
            return Ok(fetched.0);
        };
        let Some(published) = &publication.objects else {
            return Err(Error::Fetch {
                url: host.shown(PUBLICATION),
                reason: "publishes no objects; pull the snapshot itself, without `--objects`"
                    .into(),
            });
        };
        let bytes_max = self.manifest_bytes_max;
        let fetched = objects::fetch(host, published, directory, bytes_max, connections, progress)?;
        let (all, new) = (fetched.places.len(), fetched.fetched);
        run.say("objects", &format!("{new} of {all} were not here"));
        take_gains(host, &fetched.gains, run);
        let opened = objects::open_all(&fetched.places)?;
        Ok(objects::link(&opened, manifest, lock, self.memory_bytes, progress)?.path)
    }
}

/// Says what came from the host, and what did not have to.
fn take_gains(host: &Host, gains: &Gains, run: &mut MirrorRun) {
    let (bytes, requests) = host.fetched();
    let kept = gains.kept_bytes.load(Ordering::Relaxed);
    let copied = gains.copied_bytes.load(Ordering::Relaxed);
    (run.report.kept_bytes, run.report.copied_bytes) = (kept, copied);
    let line = format!(
        "{bytes} bytes in {requests} requests; {kept} were fetched before, {copied} copied from snapshots \
         here"
    );
    run.say("fetched", &line);
}

/// Decides whether a publication is taken, and remembers it if so; whether it has expired.
fn accept(asked: &Pull, host: &Host, fetched: &Fetched, run: &MirrorRun) -> Result<bool> {
    let Fetched { publication, signer, .. } = fetched;
    let url = host.shown(PUBLICATION);
    let is_stale = check_age(publication, &url, Utc::now(), asked.require_fresh)?;
    let address = host.shown("");
    let mut names = vec![format!("address {}", address.trim_end_matches('/'))];
    names.extend(signer.as_ref().map(|signer| format!("key {signer}")));
    let seen = Seen::read(&asked.out)?;
    if let Some(reason) = seen.is_newer_than(&names, publication)
        && !asked.allow_rollback
    {
        return Err(Error::Untrusted { url, reason });
    }
    seen.remember(&asked.out, &names, publication)?;
    match signer {
        Some(signer) => run.say("signed", &format!("by key {signer}")),
        // Not an answer of a quiet run, but what it does not promise.
        None => eprintln!(
            "warning: without `--pubkey` nothing says who published this: what is fetched has the hashes \
             that `{url}` names, and no more is known of it"
        ),
    }
    if is_stale {
        eprintln!(
            "warning: stale: it expired {}; a newer one may be kept from us",
            publication.expires
        );
    }
    Ok(is_stale)
}

/// Whether the snapshot that is here already is the one that was published, byte for byte. Cost: reads all
/// of it, as a build that comes to the same snapshot does.
///
/// # Errors
///
/// Where another stands in its place.
fn is_whole_there(place: &Path, publication: &Publication, progress: Progress) -> Result<bool> {
    let manifest = fs::read(place.join(MANIFEST)).ok();
    let Some(manifest) = manifest.and_then(|text| Manifest::read(&text).ok()) else {
        return Ok(false);
    };
    let (found, expected) = (&manifest.root, &publication.snapshot.root);
    if found != expected {
        let place = shown(place);
        return Err(Error::Refused(format!(
            "`{place}` has root hash {found}, expected {expected}; remove `{place}` and pull again"
        )));
    }
    let total_bytes = manifest.files.iter().map(|entry| entry.size_bytes).sum();
    let bar = progress.begin("verify", "files", manifest.files.len() as u64, total_bytes);
    let is_whole = is_whole(place, &manifest, |bytes| bar.advance(bytes));
    bar.end();
    Ok(is_whole && Snapshot::open(place).is_ok())
}

/// Keeps the publication beside the snapshots, for those that serve them, before they see the snapshot.
fn keep(asked: &Pull, fetched: &Fetched) -> Result<()> {
    make_directory(&asked.out.join(PUBLICATIONS))?;
    put(&kept_path(&asked.out, &fetched.publication.snapshot.id), &fetched.text)
}

/// Removes the publications of snapshots that are gone, and what runs that died left of others.
fn forget(snapshots: &Path) {
    let entries = fs::read_dir(snapshots.join(PUBLICATIONS)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".json").filter(|id| id.len() == 16);
        if is_unfinished(&name) || id.is_some_and(|id| !snapshots.join(id).is_dir()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
