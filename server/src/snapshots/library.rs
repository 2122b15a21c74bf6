//! The snapshot being served: opened, poisoned when it proves damaged, replaced by an older one.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use chrono::{DateTime, Utc};
use pinakes_format::snapshot::{OpenError, Snapshot, read_manifest};
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::mmap::LoadMode;

use crate::event_counts::{LOADS, Load, POISONED, Poison};
use crate::http::etag::SnapshotHeaders;
use crate::snapshots::freshness::Freshness;
use crate::snapshots::health;
use crate::snapshots::health::{Reminder, Signs, Trouble};
use crate::snapshots::suppression::Takedowns;

/// The snapshot being served, and where to look for another.
pub struct Library {
    served: ArcSwap<Served>,
    snapshots: Option<PathBuf>,
    handling: Handling,
    /// Held by whoever puts another snapshot in its place.
    changing: Mutex<Read>,
    /// Ids of snapshots that proved damaged; none of them is served again.
    poisoned: Mutex<BTreeSet<String>>,
    /// What was served before, as long as a request is answered from it.
    before: Mutex<Weak<Served>>,
    signs: Arc<Signs>,
    reminder: Mutex<Reminder>,
}

/// Where the snapshot to serve is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotSource {
    /// The snapshot that `current` in this directory leads to.
    Current(PathBuf),
    /// The snapshot in this directory.
    Fixed(PathBuf),
}

/// How whatever is served is opened.
pub struct Handling {
    /// Whether all of a snapshot is read before it is served.
    pub verify: bool,
    /// How its bytes are had.
    pub hold: LoadMode,
    /// What is withheld of it.
    pub takedowns: Option<Takedowns>,
}

/// What was read of `current` last.
#[derive(Debug, Default)]
struct Read {
    /// The link it was.
    link: Option<Link>,
    /// Since when it leads nowhere, as far as was looked.
    astray: Option<Instant>,
    /// Why what it led to was refused, and when.
    refused: Option<(String, Instant)>,
}

/// What tells a link from the one that takes its place, even where both lead to the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    inode: u64,
    /// Seconds and nanoseconds since 1970.
    changed: (i64, i64),
}

impl Link {
    /// `current` in a directory of snapshots, as it is now; `None` where there is none.
    fn of(snapshots: &Path) -> Option<Link> {
        let metadata = fs::symlink_metadata(snapshots.join(CURRENT)).ok()?;
        Some(Link { inode: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) })
    }
}

/// The link that leads to the snapshot to serve.
const CURRENT: &str = "current";
/// How long `current` may lead nowhere: whoever exchanges it may take two steps to it.
const ASTRAY_TIMEOUT: Duration = Duration::from_secs(2);
/// Within what time a snapshot that is refused again for the same reason is no news: its link and a SIGHUP
/// tell of it one after another.
const SAME_REFUSAL: Duration = Duration::from_secs(1);
/// How long requests may hold up the next snapshot but one.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is looked whether they still do.
const RELEASE_INTERVAL: Duration = Duration::from_millis(2);

/// A snapshot, and whether it is still trusted.
pub struct Served {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Until when it is to be taken for the newest.
    pub freshness: Freshness,
    stamp: SnapshotHeaders,
    poisoned: AtomicBool,
    signs: Arc<Signs>,
}

/// Why no snapshot could be served.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// `current` leads nowhere it may lead.
    #[error(
        "`{}` {reason}; expected a symbolic link to a snapshot beside it, as `pinakes-compiler build \
         --out` makes it", path.display()
    )]
    Current {
        /// The link.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The snapshot was refused.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It proved damaged where records to be withheld were looked up in it.
    #[error("snapshot `{}`: {error}", path.display())]
    Damaged {
        /// The snapshot.
        path: PathBuf,
        /// What is wrong with it.
        error: ReadError,
    },
}

impl Served {
    fn new(snapshot: Snapshot, signs: &Arc<Signs>) -> Served {
        let stamp = SnapshotHeaders::for_edition(&snapshot.manifest().id, &snapshot.edition());
        let freshness = Freshness::of(&snapshot);
        let (poisoned, signs) = (AtomicBool::new(false), Arc::clone(signs));
        Served { snapshot, freshness, stamp, poisoned, signs }
    }

    /// One that was opened just now, and is counted as such.
    fn opened(snapshot: Snapshot, signs: &Arc<Signs>) -> Served {
        LOADS.count(Load::Opened);
        Served::new(snapshot, signs)
    }

    /// What every reply from it bears.
    pub fn reply_headers(&self) -> &SnapshotHeaders {
        &self.stamp
    }

    /// Whether it proved damaged, so that nothing more is answered from it.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Relaxed)
    }

    /// What is not as it should be, the gravest first.
    pub fn troubles(&self, now: DateTime<Utc>) -> Vec<Trouble> {
        let has = |trouble: &Trouble| match trouble {
            Trouble::Unavailable => self.is_poisoned(),
            Trouble::Fallback => !self.is_poisoned() && self.signs.is_fallback(),
            Trouble::TakedownsRefused => self.signs.is_list_refused(),
            Trouble::Stale => self.freshness.expired(now).is_some(),
        };
        Trouble::ALL.into_iter().filter(has).collect()
    }
}

impl Library {
    /// Opens the snapshot at a place; with `verify`, only after reading all of it.
    ///
    /// # Errors
    ///
    /// Naming the file, what was expected and what was found.
    pub fn open(place: &SnapshotSource, verify: bool) -> Result<Library, LibraryError> {
        let handling = Handling { verify, hold: LoadMode::Mapped, takedowns: None };
        Library::open_with(place, handling)
    }

    /// The same, with whatever is served handled in this way. Where what `current` leads to is damaged, the
    /// snapshot that would take its place in a server that runs is served, and the log says so: whatever
    /// damaged it may well have started the server anew.
    ///
    /// # Errors
    ///
    /// As [`Library::open`]; of what `current` leads to, where there is no other either.
    pub fn open_with(place: &SnapshotSource, handling: Handling) -> Result<Library, LibraryError> {
        // Before it is followed: a link that is put in its place meanwhile is another one.
        let (link, path, snapshots) = match place {
            SnapshotSource::Fixed(path) => (None, path.clone(), None),
            SnapshotSource::Current(snapshots) => {
                (Link::of(snapshots), current(snapshots)?, Some(snapshots.clone()))
            }
        };
        let (signs, mut poisoned) = (Arc::new(Signs::default()), BTreeSet::new());
        let opened = match (handling.open(&path), &snapshots) {
            (Err(error), Some(snapshots)) => {
                signs.set_fallback(true);
                handling.open_instead(snapshots, &path, error, &mut poisoned)?
            }
            (opened, _) => opened?,
        };
        let served = ArcSwap::from_pointee(Served::opened(opened, &signs));
        Ok(Library {
            served,
            snapshots,
            handling,
            changing: Mutex::new(Read { link, ..Read::default() }),
            poisoned: Mutex::new(poisoned),
            before: Mutex::new(Weak::new()),
            signs,
            reminder: Mutex::default(),
        })
    }

    /// Serves the snapshot `current` leads to now, if another link stands there than when it was last
    /// read, and withholds what the list of takedowns holds now. Costs one look at each where neither
    /// changed. What has expired meanwhile is in the log.
    pub fn follow(&self) {
        self.withhold(false);
        let served = self.served();
        served.freshness.tell(&served.snapshot);
        self.remind(&served);
        let Some(snapshots) = &self.snapshots else { return };
        let link = Link::of(snapshots);
        let mut read = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = link.is_some() && link != read.link;
        let is_told = self.signs.is_fallback();
        let is_news = if fs::metadata(snapshots.join(CURRENT)).is_ok() {
            read.astray.take().is_some() && is_told
        } else {
            // What is served stays for a moment that may be one between two links; then that is said once.
            let now = Instant::now();
            let since = *read.astray.get_or_insert(now);
            now.duration_since(since) >= ASTRAY_TIMEOUT && !is_told
        };
        drop(read);
        if is_other || is_news {
            self.reload_snapshot();
        }
    }

    /// Says again what has not been put right for long.
    fn remind(&self, served: &Served) {
        let troubles = served.troubles(Utc::now());
        let mut reminder = self.reminder.lock().unwrap_or_else(PoisonError::into_inner);
        if reminder.is_due(!troubles.is_empty(), Instant::now()) {
            troubles.into_iter().for_each(|of| health::remind(&served.snapshot.manifest().id, of));
        }
    }

    /// Serves the snapshot `current` leads to now, and withholds what the list of takedowns holds now;
    /// where one of them cannot be read, it stays as it was. Waits for the last request to the snapshot
    /// served before this one, so that no three are mapped at a time.
    pub fn reload(&self) {
        self.withhold(true);
        self.reload_snapshot();
    }

    /// Withholds what the list holds now, where it was changed, or in any case where that is demanded.
    fn withhold(&self, is_demanded: bool) {
        let Some(takedowns) = &self.handling.takedowns else { return };
        takedowns.follow(is_demanded);
        self.signs.set_list_refused(takedowns.is_refused());
        let list = takedowns.list();
        loop {
            let served = self.served();
            if served.snapshot.suppresses(&list) {
                return;
            }
            let fresh = match served.snapshot.without(&list) {
                Ok(snapshot) => Served::new(snapshot, &self.signs),
                // Nothing is shown that should be withheld: another snapshot is served, or none.
                Err(error) if served.is_poisoned() => {
                    return tracing::error!(%error, "no record can be withheld of what is not served");
                }
                Err(error) => return self.poison(&served, &error),
            };
            fresh.poisoned.store(served.is_poisoned(), Ordering::Relaxed);
            tell_withheld(&fresh.snapshot);
            // Where another took its place meanwhile, that one is looked at too.
            self.served.compare_and_swap(&served, Arc::new(fresh));
        }
    }

    fn reload_snapshot(&self) {
        let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let served = self.served();
        let id = &served.snapshot.manifest().id;
        let path = match &self.snapshots {
            Some(snapshots) => {
                let link = Link::of(snapshots);
                if link != changing.link {
                    changing.refused = None;
                }
                changing.link = link;
                current(snapshots)
            }
            None => Ok(served.snapshot.path().to_path_buf()),
        };
        let found = path.and_then(|path| {
            if path == served.snapshot.path() && !served.is_poisoned() {
                return Ok(None);
            }
            self.await_release();
            self.handling.open(&path).and_then(|other| self.pardon(other)).map(Some)
        });
        match found {
            Ok(None) => {
                self.signs.set_fallback(false);
                served.freshness.refresh(&served.snapshot);
                tracing::info!(snapshot = id, "`current` leads where it did");
            }
            Ok(Some(other)) => {
                self.signs.set_fallback(false);
                let before = self.served.swap(Arc::new(Served::opened(other, &self.signs)));
                *self.before.lock().unwrap_or_else(PoisonError::into_inner) =
                    Arc::downgrade(&before);
            }
            Err(error) => {
                self.signs.set_fallback(true);
                let (text, now) = (error.to_string(), Instant::now());
                let is_same = |(before, at): &(String, Instant)| {
                    *before == text && now.duration_since(*at) < SAME_REFUSAL
                };
                if !changing.refused.as_ref().is_some_and(is_same) {
                    LOADS.count(Load::Refused);
                    tracing::error!(%error, snapshot = id, "the snapshot served before stays");
                    changing.refused = Some((text, now));
                }
            }
        }
    }

    /// The same snapshot; one that proved damaged only if all of it is whole now.
    fn pardon(&self, snapshot: Snapshot) -> Result<Snapshot, LibraryError> {
        let id = snapshot.manifest().id.clone();
        if !self.poisoned().contains(&id) {
            return Ok(snapshot);
        }
        tracing::info!(snapshot = id, "it proved damaged before; verifying every byte and record");
        snapshot.verify()?;
        self.poisoned().remove(&id);
        tracing::info!(snapshot = id, "it is whole again");
        Ok(snapshot)
    }

    /// Waits until no request is answered from the snapshot before the one served, but not forever.
    fn await_release(&self) {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let begun = Instant::now();
        while before.strong_count() > 0 && begun.elapsed() < RELEASE_TIMEOUT {
            std::thread::sleep(RELEASE_INTERVAL);
        }
    }

    fn poisoned(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.poisoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the files served are still what they were: one that was cut poisons the snapshot,
    /// what was verified of one that was written to is verified again. Costs a system call a file.
    pub fn look(&self) {
        let served = self.served();
        if served.is_poisoned() {
            return;
        }
        match served.snapshot.check_files() {
            Err(fault) => self.poison(&served, &fault.into()),
            Ok(written) => written.into_iter().for_each(|file| {
                let snapshot = &served.snapshot.manifest().id;
                tracing::warn!(
                    snapshot,
                    file,
                    "a published file was written to or touched; all of it is checked again"
                );
            }),
        }
    }

    /// The snapshot to answer one request from, whole.
    pub fn served(&self) -> Arc<Served> {
        self.served.load_full()
    }

    /// Takes a snapshot that proved damaged out of service, and another in if there is one.
    pub fn poison(&self, served: &Arc<Served>, error: &ReadError) {
        if served.poisoned.swap(true, Ordering::Relaxed) {
            return;
        }
        POISONED.count(match error {
            ReadError::Damage(_) => Poison::Damage,
            ReadError::Fault(_) => Poison::Fault,
            _ => Poison::Content,
        });
        let id = &served.snapshot.manifest().id;
        tracing::error!(snapshot = id, %error, "snapshot poisoned: nothing more is answered from it");
        let mut poisoned = self.poisoned();
        poisoned.insert(id.clone());
        let other = loop {
            let Some(other) = self.other_than(served, &poisoned) else {
                tracing::error!(
                    "no other snapshot can be served; answering 503 until `current` is made anew, or \
                     SIGHUP comes, and what it leads to is whole"
                );
                return;
            };
            let id = other.manifest().id.clone();
            match self.handling.withhold(other) {
                Ok(other) => break other,
                Err(error) => tracing::error!(snapshot = id, %error, "cannot be served instead"),
            }
            poisoned.insert(id);
        };
        tracing::warn!(snapshot = other.manifest().id, "serving another snapshot in its place");
        let other = Arc::new(Served::opened(other, &self.signs));
        // Where `current` was made anew meanwhile, that is served already.
        if Arc::ptr_eq(&self.served.compare_and_swap(served, other), served) {
            self.signs.set_fallback(true);
        }
    }

    /// The best of those that may be served in place of a snapshot.
    fn other_than(&self, served: &Served, poisoned: &BTreeSet<String>) -> Option<Snapshot> {
        let snapshots = self.snapshots.as_ref()?;
        let mut found =
            crate::snapshots::fallback::candidates(snapshots, served.snapshot.manifest(), poisoned);
        while let Some(best) = found.pop() {
            match self.handling.hold {
                LoadMode::Mapped => return Some(best),
                // One alone is copied.
                LoadMode::Pinned => match Snapshot::open_with_mode(best.path(), LoadMode::Pinned) {
                    Ok(pinned) => return Some(pinned),
                    Err(error) => tracing::warn!(%error, "this one cannot be served instead"),
                },
            }
        }
        None
    }
}

impl Handling {
    /// Opens a snapshot; with `verify`, only after reading all of it.
    fn open(&self, path: &Path) -> Result<Snapshot, LibraryError> {
        let snapshot = Snapshot::open_with_mode(path, self.hold)?;
        let manifest = snapshot.manifest();
        if self.verify {
            tracing::info!(snapshot = manifest.id, "verifying every byte and record");
            snapshot.verify()?;
        }
        tracing::info!(
            snapshot = manifest.id,
            path = %path.display(),
            newest_updated_date = manifest.source.newest_updated_date,
            "snapshot opened; parts are checked as they are first touched"
        );
        self.withhold(snapshot)
    }

    /// Opens the best that may be served in place of a snapshot that was refused, which is noted among
    /// those that proved damaged: it is read whole before it is served again.
    ///
    /// # Errors
    ///
    /// Why that was refused, where there is none. It is so where its manifest cannot be read: nobody
    /// knows what was left out of it, and others may show that.
    fn open_instead(
        &self,
        snapshots: &Path,
        path: &Path,
        error: LibraryError,
        poisoned: &mut BTreeSet<String>,
    ) -> Result<Snapshot, LibraryError> {
        let Ok(lost) = read_manifest(path) else { return Err(error) };
        poisoned.insert(lost.id.clone());
        let mut found = crate::snapshots::fallback::candidates(snapshots, &lost, poisoned);
        while let Some(best) = found.pop() {
            match self.open(best.path()) {
                Ok(other) => {
                    LOADS.count(Load::Refused);
                    tracing::error!(%error, snapshot = lost.id, "what `current` leads to is refused");
                    let snapshot = &other.manifest().id;
                    tracing::warn!(snapshot, "serving another snapshot in its place");
                    return Ok(other);
                }
                Err(error) => tracing::error!(%error, "cannot be served instead"),
            }
        }
        Err(error)
    }

    /// A snapshot without the records that are withheld.
    fn withhold(&self, snapshot: Snapshot) -> Result<Snapshot, LibraryError> {
        let Some(takedowns) = &self.takedowns else { return Ok(snapshot) };
        let path = snapshot.path().to_path_buf();
        let rest = snapshot
            .without(&takedowns.list())
            .map_err(|error| LibraryError::Damaged { path, error })?;
        tell_withheld(&rest);
        Ok(rest)
    }
}

/// Says how much is withheld: no ids, which a log would keep longer than the list does.
fn tell_withheld(snapshot: &Snapshot) {
    let suppressed = snapshot.suppressed();
    tracing::info!(
        snapshot = snapshot.manifest().id,
        records = suppressed.records(),
        unknown_ids = suppressed.unknown_ids(),
        "records are withheld by the list of takedowns"
    );
}

/// Where `current` leads: a plain name beside it, and nowhere else.
fn current(snapshots: &Path) -> Result<PathBuf, LibraryError> {
    let link = snapshots.join(CURRENT);
    let refused = |reason: String| LibraryError::Current { path: link.clone(), reason };
    let target = fs::read_link(&link).map_err(|error: io::Error| refused(error.to_string()))?;
    let mut parts = target.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => {
            let place = snapshots.join(name);
            match fs::symlink_metadata(&place) {
                Ok(metadata) if metadata.is_dir() => Ok(place),
                Ok(_) => Err(refused(format!("leads to `{}`, no directory", place.display()))),
                Err(error) => Err(refused(format!("leads to `{}`: {error}", place.display()))),
            }
        }
        _ => Err(refused(format!("leads to `{}`", target.display()))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn current_may_only_lead_beside_itself() {
        let directory =
            std::env::temp_dir().join(format!("pinakes-current-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let link = directory.join("current");
        fs::create_dir_all(directory.join("0123456789abcdef")).unwrap();
        std::os::unix::fs::symlink("/etc", directory.join("hop")).unwrap();
        let targets =
            [("0123456789abcdef", true), ("../x", false), ("/etc", false), ("a/b", false)];
        for (target, is_good) in targets.into_iter().chain([("hop", false), ("absent", false)]) {
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(current(&directory).is_ok(), is_good, "{target}");
            fs::remove_file(&link).unwrap();
        }
        assert!(current(&directory).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
