//! `pull`: fetches a published snapshot, or links it from fetched objects, and makes it current here, at once
//! or at the time that the publication states.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use chrono::Utc;
use minisign::PublicKey;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::snapshot::next::{CURRENT, NEXT};
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::{PUBLICATION, PUBLICATIONS, Publication};
use pinakes_remote::error::RemoteError;
use pinakes_remote::host::{Host, RetryPolicy};
use pinakes_remote::manifest::fetch_manifest;
use pinakes_remote::signature::read_public;
use pinakes_remote::trust::{self, FetchedPublication, check_age};
use pinakes_store::directory::current;
use pinakes_store::files::{
    raise_open_files, refuse_unsafe_subdirectories, refuse_writable_by_others,
};
use pinakes_store::lock::LockedDirectory;
use pinakes_store::publications;
use pinakes_store::publish::is_intact;
use pinakes_store::rolled_back::find_blocked;

use crate::error::{Error, Result};
use crate::link;
use crate::link::{Published, UnchangedSource, reuse};
use crate::mirror::run::MirrorRun;
use crate::mirror::transfer::Transfer;
use crate::mirror::{objects, snapshot};
use crate::remote::USER_AGENT;
use crate::store::prune::prune;
use crate::store::{interrupt, lock_output};
use crate::terminal::escape::escape_path;
use crate::terminal::progress::Progress;

/// The option that bounds manifests.
const MAX_MANIFEST: &str = "--max-manifest";
/// The outcome that a signal prints while files are fetched.
const FETCHED_IS_KEPT: &str =
    "nothing was published; fetched files are kept, run again to continue";

/// The options of `pull`.
#[derive(Debug)]
pub struct PullOptions {
    /// Address of the published tree.
    pub url: String,
    /// Local directory of snapshots.
    pub out: PathBuf,
    /// Public keys, one of which must have signed; empty accepts an unsigned publication.
    pub pubkeys: Vec<PathBuf>,
    /// Directory of objects, if the snapshot is to be linked from objects.
    pub objects: Option<PathBuf>,
    /// Whether to accept a publication older than the newest accepted one.
    pub allow_rollback: bool,
    /// Accept a publication that has expired.
    pub allow_stale: bool,
    /// Most concurrent requests.
    pub connections: usize,
    /// Timeouts and attempts.
    pub retry_policy: RetryPolicy,
    /// How many local snapshots to keep; `None` keeps all.
    pub keep: Option<NonZeroUsize>,
    /// Largest accepted manifest or list of objects, in bytes.
    pub manifest_bytes_max: u64,
    /// PEM file with root certificates for the host.
    pub tls_ca: Option<PathBuf>,
    /// Memory for linking, in bytes.
    pub memory_bytes: usize,
    /// How progress is shown.
    pub progress: Progress,
}

/// Pulls the snapshot that a host publishes and returns the path of the current snapshot, or of the scheduled
/// one.
///
/// # Errors
///
/// The first failure; `current` is unchanged.
pub fn pull(options: &PullOptions, run: &mut MirrorRun) -> Result<PathBuf> {
    let keys = options.pubkeys.iter().map(|path| read_public(path));
    let keys: Vec<PublicKey> = keys.collect::<std::result::Result<_, RemoteError>>()?;
    let tls_ca = options.tls_ca.as_deref();
    let host = Host::new(&options.url, USER_AGENT, options.retry_policy, tls_ca)?;
    refuse_writable_by_others(&options.out)?;
    refuse_unsafe_subdirectories(&options.out, &[PUBLICATIONS])?;
    if let Some(objects) = &options.objects {
        objects::refuse_unsafe_directory(objects)?;
    }
    let lock = lock_output(&options.out)?;
    // Each fetched file stays open, and the files of local snapshots that give it chunks. With too low a limit, the system's
    // error names the file.
    let _ = raise_open_files();
    interrupt::remove_on_signal(lock.scratch(), FETCHED_IS_KEPT);
    run.write_begin()?;
    let outcome = options.pull_publication(&host, &keys, &lock, run);
    (run.report.fetched_bytes, run.report.requests) = host.fetched();
    let path = outcome?;
    if let Some(keep) = options.keep.filter(|_| run.report.held_back.is_none()) {
        run.report.pruned = Some(prune(&lock, keep, None));
    }
    drop(lock);
    interrupt::keep_on_signal();
    Ok(path)
}

impl PullOptions {
    /// Pulls the publication, unless it is blocked by a rollback, and returns the path of the current or
    /// scheduled snapshot.
    fn pull_publication(
        &self,
        host: &Host,
        keys: &[PublicKey],
        lock: &LockedDirectory,
        run: &mut MirrorRun,
    ) -> Result<PathBuf> {
        let fetched = trust::fetch(host, keys)?;
        let publication = &fetched.publication;
        run.report.set_publication(publication);
        run.report.signer = fetched.signer.clone();
        run.report.is_stale = accept(self, host, &fetched, run)?;
        let id = &publication.snapshot.id;
        if let Some(path) = self.check_blocked(id, run)? {
            return Ok(path);
        }
        let place = self.out.join(id);
        let is_here = fs::symlink_metadata(&place).is_ok();
        let path = if is_here && is_complete(&place, publication, self.progress)? {
            run.report.was_here = true;
            publications::keep(&self.out, &fetched)?;
            link::link_snapshot(lock, id, self.choose_link(publication, run))?
        } else {
            let manifest =
                fetch_manifest(host, publication, self.manifest_bytes_max, Some(MAX_MANIFEST))?;
            // Unfinished downloads of other snapshots only take space from this one.
            snapshot::remove_downloads(&self.out, Some(&manifest));
            let finished = self.fetch(host, publication, &manifest, lock, run)?;
            // The operator may have rolled back during the download.
            if let Some(path) = self.check_blocked(id, run)? {
                return Ok(path);
            }
            publications::keep(&self.out, &fetched)?;
            let link = self.choose_link(publication, run);
            let path = link::publish_directory(&finished.path, lock, id, link)?;
            finished.remember(&path, &self.out);
            path
        };
        snapshot::remove_downloads(&self.out, None);
        publications::remove_stale(&self.out);
        Ok(path)
    }

    /// Chooses the link for the snapshot: `next` if servers are to switch later, and reports that.
    fn choose_link(&self, publication: &Publication, run: &mut MirrorRun) -> &'static str {
        let is_later = publication.activates_at().is_some_and(|at| at > Utc::now());
        if !is_later || current(&self.out).as_ref() == Some(&publication.snapshot.id) {
            return CURRENT;
        }
        run.report.activate_at.clone_from(&publication.activate_at);
        NEXT
    }

    /// If a rollback blocks the snapshot, prints a warning and returns the current snapshot's path.
    fn check_blocked(&self, id: &str, run: &mut MirrorRun) -> Result<Option<PathBuf>> {
        let Some(blocked) = find_blocked(&self.out, id)? else { return Ok(None) };
        eprintln!("warning: {}", blocked.warning());
        run.report.snapshot_id =
            blocked.path.file_name().map(|id| id.to_string_lossy().into_owned());
        run.report.held_back = Some(blocked.id);
        Ok(Some(blocked.path))
    }

    /// Fetches or links a complete snapshot.
    fn fetch(
        &self,
        host: &Host,
        publication: &Publication,
        manifest: &Manifest,
        lock: &LockedDirectory,
        run: &mut MirrorRun,
    ) -> Result<FetchedSnapshot> {
        let (connections, progress) = (self.connections, self.progress);
        let Some(directory) = &self.objects else {
            let fetched = snapshot::fetch(host, manifest, &self.out, connections, progress)?;
            report_transfer(host, &fetched.1, run);
            return Ok(FetchedSnapshot { path: fetched.0, linked: None });
        };
        let Some(published) = &publication.objects else {
            return Err(Error::Fetch {
                url: host.display(PUBLICATION),
                reason:
                    "the publication has no objects; pull the snapshot itself, without `--objects`"
                        .into(),
            });
        };
        let bytes_max = self.manifest_bytes_max;
        let fetched = objects::fetch(host, published, directory, bytes_max, connections, progress)?;
        let (all, new) = (fetched.paths.len(), fetched.fetched);
        run.print_progress("objects", &format!("{new} of {all} were missing"));
        report_transfer(host, &fetched.transfer, run);
        let opened = objects::open_all(&fetched.paths)?;
        let unchanged = UnchangedSource::Current;
        let linked =
            objects::link(&opened, manifest, unchanged, lock, self.memory_bytes, progress)?;
        // A subset depends on more than its objects, so a later build cannot know it by them.
        let is_subset = manifest.selection.is_some() || manifest.suppression.is_some();
        let inputs = (!is_subset).then(|| reuse::identify(opened.iter(), None));
        Ok(FetchedSnapshot { path: linked.path.clone(), linked: inputs.map(|of| (linked, of)) })
    }
}

/// A complete snapshot in a temporary directory.
struct FetchedSnapshot {
    path: PathBuf,
    /// The link that made it, and the objects and the selection that it linked. `None` if the files were fetched.
    linked: Option<(Published, String)>,
}

impl FetchedSnapshot {
    /// Keeps what the next link of the mirror takes over.
    fn remember(self, path: &Path, snapshots: &Path) {
        let Some((linked, inputs)) = self.linked else { return };
        let published = Published { path: path.to_path_buf(), ..linked };
        if let Err(error) = reuse::remember(&published, snapshots, inputs) {
            eprintln!("warning: published, but {}", error.message_without_publishing());
        }
    }
}

/// Reports how many bytes were fetched, kept and copied.
fn report_transfer(host: &Host, transfer: &Transfer, run: &mut MirrorRun) {
    let (bytes, requests) = host.fetched();
    let Transfer { kept_bytes: kept, copied_bytes: copied } = *transfer;
    (run.report.kept_bytes, run.report.copied_bytes) = (kept, copied);
    let line = format!(
        "{bytes} bytes in {requests} requests; {kept} bytes fetched before, {copied} copied from local \
         snapshots"
    );
    run.print_progress("fetched", &line);
}

/// Checks the age of a publication, records it as accepted, and returns whether it has expired.
fn accept(
    options: &PullOptions,
    host: &Host,
    fetched: &FetchedPublication,
    run: &MirrorRun,
) -> Result<bool> {
    let FetchedPublication { publication, signer, .. } = fetched;
    let url = host.display(PUBLICATION);
    let is_stale = check_age(publication, &url, Utc::now(), options.allow_stale)?;
    publications::accept(&options.out, host, fetched, None, options.allow_rollback)?;
    match signer {
        Some(signer) => run.print_progress("signed", &format!("by key {signer}")),
        // Printed with `--quiet` too, because it limits what the result guarantees.
        None => eprintln!(
            "warning: without `--pubkey` the publisher is unknown: the fetched files match the hashes \
             that `{url}` lists, and nothing proves who wrote that list"
        ),
    }
    if is_stale {
        eprintln!(
            "warning: stale: the publication expired {}; the host may be hiding a newer one",
            publication.expires
        );
    }
    Ok(is_stale)
}

/// Whether the local snapshot is the published one, byte for byte. Reads all its files.
///
/// # Errors
///
/// The local snapshot has another root hash.
fn is_complete(place: &Path, publication: &Publication, progress: Progress) -> Result<bool> {
    let manifest = fs::read(place.join(MANIFEST)).ok();
    let Some(manifest) = manifest.and_then(|text| Manifest::read(&text).ok()) else {
        return Ok(false);
    };
    let (found, expected) = (&manifest.root, &publication.snapshot.root);
    if found != expected {
        let place = escape_path(place);
        return Err(Error::Refused(format!(
            "`{place}` has root hash {found}, expected {expected}; remove `{place}` and pull again"
        )));
    }
    let total_bytes = manifest.files.iter().map(|entry| entry.size_bytes).sum();
    let bar = progress.begin("verify", "files", manifest.files.len() as u64, total_bytes);
    let is_intact = is_intact(place, &manifest, |bytes| bar.advance(bytes));
    bar.end();
    Ok(is_intact && Snapshot::open(place).is_ok())
}
