//! `pull`: a published snapshot, fetched or linked from fetched objects, published here.

use std::{
    fs,
    io::Write,
    num::NonZeroUsize,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use chrono::Utc;
use minisign::PublicKey;
use pinakes_format::{
    manifest::Manifest,
    publication::{PUBLICATION, PUBLICATIONS, Publication, kept_path},
    snapshot::Snapshot,
};

use super::{
    fetch::Gains,
    host::{Host, Patience},
    objects,
    place::{make_directory, put, refuse_open},
    seen::Seen,
    signature::read_public,
    snapshot,
    trust::{self, Fetched, check_age},
};
use crate::{
    error::{Error, Result},
    interrupt, link,
    output::{OutputLock, check_out, prune},
    progress::Progress,
    shown::shown,
};

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

/// Pulls what a host publishes.
///
/// # Errors
///
/// Whatever stopped it: nothing is published then, and `current` is what it was.
pub fn pull(asked: &Pull) -> Result<()> {
    let keys: Vec<PublicKey> =
        asked.pubkeys.iter().map(|path| read_public(path)).collect::<Result<_>>()?;
    let host = Host::new(&asked.url, asked.patience, asked.tls_ca.as_deref())?;
    refuse_open(&asked.out)?;
    if let Some(objects) = &asked.objects {
        objects::refuse_place(objects)?;
    }
    let lock = check_out(&asked.out)?;
    interrupt::begin(lock.scratch(), FETCHED_IS_KEPT);
    let fetched = trust::fetch(&host, &keys)?;
    accept(asked, &host, &fetched)?;
    let publication = &fetched.publication;
    let place = asked.out.join(&publication.snapshot.id);
    let path = if fs::symlink_metadata(&place).is_ok() {
        check_there(&place, publication)?;
        asked.say("is here", &publication.snapshot.id);
        keep(asked, &fetched)?;
        link::make_current(&lock, &publication.snapshot.id)?
    } else {
        let manifest = snapshot::fetch_manifest(&host, publication, asked.manifest_bytes_max)?;
        // What was begun of others would only take the room of this one.
        snapshot::remove_remains(&asked.out, Some(&manifest));
        let finished = asked.fetch(&host, publication, &manifest, &lock)?;
        keep(asked, &fetched)?;
        link::publish_directory(&finished, &lock, &manifest.id)?
    };
    snapshot::remove_remains(&asked.out, None);
    forget(&asked.out);
    if let Some(keep) = asked.keep {
        let pruned = prune(&lock, keep, None);
        for id in &pruned.snapshots {
            asked.say("removed", id);
        }
        for failed in &pruned.failed {
            eprintln!("published, but not all that is beyond --keep was removed: {failed}");
        }
    }
    drop(lock);
    interrupt::end();
    let line = [path.as_os_str().as_bytes(), b"\n"].concat();
    // It is published; any exit code but 0 would say that it is not.
    if let Err(error) = std::io::stdout().write_all(&line) {
        eprintln!("published all the same: cannot write `standard output`: {error}");
    }
    Ok(())
}

impl Pull {
    fn say(&self, what: &str, of: &str) {
        if self.progress != Progress::Quiet {
            eprintln!("{what:>10} {of}");
        }
    }

    /// Brings a snapshot into a directory under the one of snapshots, whole.
    fn fetch(
        &self,
        host: &Host,
        publication: &Publication,
        manifest: &Manifest,
        lock: &OutputLock,
    ) -> Result<PathBuf> {
        let (connections, progress) = (self.connections, self.progress);
        let Some(directory) = &self.objects else {
            let fetched = snapshot::fetch(host, manifest, &self.out, connections, progress)?;
            self.say_gains(host, &fetched.1);
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
        self.say("objects", &format!("{new} of {all} were not here"));
        self.say_gains(host, &fetched.gains);
        let opened = objects::open_all(&fetched.places)?;
        Ok(objects::link(&opened, manifest, lock, self.memory_bytes, progress)?.path)
    }

    fn say_gains(&self, host: &Host, gains: &Gains) {
        let (bytes, requests) = host.fetched();
        let kept = gains.kept_bytes.load(Ordering::Relaxed);
        let copied = gains.copied_bytes.load(Ordering::Relaxed);
        self.say(
            "fetched",
            &format!(
                "{bytes} bytes in {requests} requests; {kept} were fetched before, {copied} copied from \
                 snapshots here"
            ),
        );
    }
}

/// Decides whether a publication is taken, and remembers it if so.
fn accept(asked: &Pull, host: &Host, fetched: &Fetched) -> Result<()> {
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
        Some(signer) => asked.say("signed", &format!("by key {signer}")),
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
    Ok(())
}

/// Demands that a snapshot that is here already is the one that was published.
fn check_there(place: &Path, publication: &Publication) -> Result<()> {
    let refused = |reason: String| {
        Error::Refused(format!("{reason}; remove `{}` and pull again", shown(place)))
    };
    let snapshot = Snapshot::open(place).map_err(|error| refused(error.to_string()))?;
    let (found, expected) = (&snapshot.manifest().root, &publication.snapshot.root);
    if found == expected {
        return Ok(());
    }
    Err(refused(format!("`{}` has root hash {found}, expected {expected}", shown(place))))
}

/// Keeps the publication beside the snapshots, for those that serve them, before they see the snapshot.
fn keep(asked: &Pull, fetched: &Fetched) -> Result<()> {
    make_directory(&asked.out.join(PUBLICATIONS))?;
    put(&kept_path(&asked.out, &fetched.publication.snapshot.id), &fetched.text)
}

/// Removes the publications of snapshots that are gone.
fn forget(snapshots: &Path) {
    let entries = fs::read_dir(snapshots.join(PUBLICATIONS)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".json").filter(|id| id.len() == 16);
        if id.is_some_and(|id| !snapshots.join(id).is_dir()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
