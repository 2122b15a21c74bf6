//! `publish`: a snapshot, and the objects it is linked from, as a tree of static files.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::PermissionsExt},
    },
    path::{Path, PathBuf},
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use minisign::SecretKey;
use pinakes_format::{
    integrity::read_levels,
    manifest::{FileEntry, ID_DIGITS, MANIFEST, Manifest},
    publication::{
        PUBLICATION, PUBLICATION_VERSION, PUBLICATIONS, Publication, PublishedObjects,
        PublishedSnapshot, is_hash, moment,
    },
    snapshot::Snapshot,
};
use rayon::prelude::*;

use super::{
    OBJECTS, SIGNATURE, SNAPSHOTS,
    list::{ListedObject, ObjectList},
    object_path, objects,
    place::{make_directory, open_regular, put, refuse_open, sync_directory},
    signature::{read_secret, sign},
};
use crate::{
    error::{Error, Result},
    interrupt,
    object::{Object, file::OBJECT_VERSION},
    output::{OutputLock, check_out, remove_tree},
    progress::Progress,
    shown::shown,
};

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

/// Publishes a snapshot into a tree: readers find the one before or this one, whole.
///
/// # Errors
///
/// Whatever stopped it; what the tree published is then what it was.
pub fn publish(asked: &Publish) -> Result<()> {
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
    let mut publication = publication_of(asked, snapshot.manifest(), now)?;
    let lock = check_out(&asked.to)?;
    interrupt::begin(lock.scratch(), NOTHING_PUBLISHED);
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
    let place = asked.to.join(PUBLICATION);
    let line = [place.as_os_str().as_bytes(), b"\n"].concat();
    io::stdout().write_all(&line).map_err(Error::output("standard output"))
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

/// A tree that a snapshot is put into.
struct Tree<'a> {
    asked: &'a Publish,
    lock: &'a OutputLock,
    manifest: &'a Manifest,
}

impl Tree<'_> {
    fn at(&self, path: &str) -> PathBuf {
        self.asked.to.join(path)
    }

    fn say(&self, what: &str, of: &str) {
        if self.asked.progress != Progress::Quiet {
            eprintln!("{what:>10} {of}");
        }
    }

    fn warn_large(&self, what: &str, bytes: u64) {
        if bytes > self.asked.manifest_bytes_max {
            eprintln!(
                "warning: {what} has {bytes} bytes: who pulls it must say `--max-manifest {bytes}`"
            );
        }
    }

    /// Puts the snapshot's files into the tree, each verified as it is put there.
    fn put_snapshot(&self, source: &Path) -> Result<()> {
        let place = self.at(&format!("{SNAPSHOTS}/{}", self.manifest.id));
        let is_there = fs::symlink_metadata(&place).is_ok();
        if is_there && self.is_whole(&place) {
            return Ok(());
        }
        let fresh = self.lock.scratch().join("tree");
        make_directory(&fresh)?;
        let files = &self.manifest.files;
        for directory in files.iter().filter_map(|entry| entry.path.split_once('/')) {
            make_directory(&fresh.join(directory.0))?;
        }
        let bytes: u64 = files.iter().map(|entry| entry.size_bytes).sum();
        let bar = self.asked.progress.begin("verify", "files", files.len() as u64, bytes);
        files.par_iter().try_for_each(|entry| {
            let from = source.join(&entry.path);
            let file = open_regular(&from).map_err(Error::input(&from))?;
            let found = hash_of(&file).map_err(Error::input(&from))?;
            if found != entry.blake3 {
                return Err(Error::Refused(format!(
                    "`{}` has hash {found}, expected {} by the manifest; rebuild the snapshot",
                    shown(&from),
                    entry.blake3
                )));
            }
            take(file, &fresh.join(&entry.path), &found)?;
            bar.advance(entry.size_bytes);
            Ok(())
        })?;
        bar.end();
        put(&fresh.join(MANIFEST), &self.manifest.text())?;
        for directory in files.iter().filter_map(|entry| entry.path.split_once('/')) {
            let directory = fresh.join(directory.0);
            sync_directory(&directory).map_err(Error::output(&directory))?;
        }
        if is_there {
            // It goes with the run; whom it failed asks again.
            let damaged = self.lock.scratch().join("damaged");
            fs::rename(&place, damaged).map_err(Error::output(&place))?;
            self.say("mended", &format!("snapshot {}", self.manifest.id));
        }
        let placed = fs::rename(&fresh, &place).and_then(|()| sync_directory(&self.at(SNAPSHOTS)));
        placed.map_err(Error::output(&place))
    }

    /// Whether a snapshot in the tree is the one its manifest lists, byte for byte.
    fn is_whole(&self, place: &Path) -> bool {
        let is_listed = |entry: &FileEntry| -> io::Result<bool> {
            let file = open_regular(&place.join(&entry.path))?;
            let is_sized = file.metadata()?.len() == entry.size_bytes;
            Ok(is_sized && hash_of(&file)? == entry.blake3)
        };
        fs::read(place.join(MANIFEST)).is_ok_and(|text| text == self.manifest.text())
            && self.manifest.files.par_iter().all(|entry| is_listed(entry).unwrap_or(false))
    }

    /// Puts the objects that the snapshot was linked from into the tree, after linking them once more:
    /// only what links to the same root hash is of use to a mirror.
    fn put_objects(&self, directory: &Path) -> Result<PublishedObjects> {
        let chosen = self.choose(directory)?;
        let (places, opened): (Vec<PathBuf>, Vec<Object>) = chosen.into_iter().unzip();
        let progress = self.asked.progress;
        objects::link(&opened, self.manifest, self.lock, self.asked.memory_bytes, progress)?;
        drop(opened);

        let mut hashes = Vec::new();
        let mut listed = Vec::new();
        for place in &places {
            let file = open_regular(place).map_err(Error::input(place))?;
            let (root, size_bytes) =
                read_levels(&file, &mut hashes).map_err(Error::input(place))?;
            let blake3 = root.to_hex().to_string();
            let name = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let to = self.at(&object_path(&blake3, "object"));
            if fs::symlink_metadata(&to).map(|found| found.len()).ok() != Some(size_bytes) {
                take(file, &to, &blake3)?;
            }
            listed.push(ListedObject { name, size_bytes, blake3 });
        }
        let hashes_blake3 = blake3::hash(&hashes).to_hex().to_string();
        put(&self.at(&object_path(&hashes_blake3, "hashes")), &hashes)?;
        let list = ObjectList { object_version: OBJECT_VERSION, hashes_blake3, objects: listed };
        let text = list.text();
        ObjectList::read(&text)
            .map_err(|reason| Error::Input { path: directory.into(), reason })?;
        let list_blake3 = blake3::hash(&text).to_hex().to_string();
        put(&self.at(&object_path(&list_blake3, "json")), &text)?;
        self.say("objects", &format!("{} link to the same root hash", list.objects.len()));
        let list_bytes = text.len() as u64;
        self.warn_large("the list of objects", list_bytes);
        Ok(PublishedObjects { list_bytes, list_blake3 })
    }

    /// The objects of the snapshot's parts, ascending by name.
    fn choose(&self, directory: &Path) -> Result<Vec<(PathBuf, Object)>> {
        let refused = |reason: String| Error::Input { path: directory.to_owned(), reason };
        let mut places: Vec<PathBuf> = fs::read_dir(directory)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>())
            .map_err(Error::input(directory))?;
        places.retain(|place| place.extension().is_some_and(|extension| extension == "object"));
        places.sort();
        let wanted: BTreeSet<&str> =
            self.manifest.source.parts.iter().map(String::as_str).collect();
        let opened: Vec<Option<Object>> = places
            .par_iter()
            .map(|place| Object::open(place).map_err(Error::input(place)))
            .collect::<Result<_>>()?;
        let chosen: Vec<(PathBuf, Object)> = places
            .into_iter()
            .zip(opened)
            .filter_map(|(place, object)| Some((place, object?)))
            .filter(|(_, object)| wanted.contains(object.part()))
            .collect();
        let mut found = BTreeSet::new();
        for (_, object) in &chosen {
            if !found.insert(object.part()) {
                return Err(refused(format!(
                    "holds two objects of part {}, compiled with different options; compile into a \
                     directory of its own",
                    object.part()
                )));
            }
        }
        match wanted.iter().find(|part| !found.contains(*part)) {
            Some(part) => Err(refused(format!(
                "holds no object of part {part}, of which the snapshot was linked"
            ))),
            None => Ok(chosen),
        }
    }

    /// Exchanges what the tree publishes. Between the two renames a reader may find a text and the other's
    /// signature, which it refuses and asks again.
    fn exchange(&self, publication: &Publication, key: Option<&SecretKey>) -> Result<()> {
        let text = publication.text();
        let Publication { version, snapshot, .. } = publication;
        let comment = format!("pinakes publication\tversion:{version}\tsnapshot:{}", snapshot.id);
        let signature = key.map(|key| sign(key, &text, &comment)).transpose()?;
        self.warn_older(publication);
        put(&self.at(&format!("{PUBLICATIONS}/{}.json", snapshot.id)), &text)?;
        put(&self.at(PUBLICATION), &text)?;
        let place = self.at(SIGNATURE);
        match signature {
            Some(signature) => {
                put(&place, &signature)?;
                self.say("signed", SIGNATURE);
            }
            None => {
                // Another's would only be refused.
                let _ = fs::remove_file(&place);
                self.say("unsigned", "sign it by `--key`, or `minisign -Sm publication.json`");
            }
        }
        Ok(())
    }

    /// Says so where mirrors will take this for a rollback.
    fn warn_older(&self, publication: &Publication) {
        let before = fs::read(self.at(PUBLICATION)).ok();
        let before = before.and_then(|text| Publication::read(&text).ok());
        let is_older = |before: &Publication| before.version_at() > publication.version_at();
        if let Some(before) = before.filter(is_older) {
            eprintln!(
                "warning: version {} is older than {}, which was published before; mirrors refuse it \
                 without `--allow-rollback`",
                publication.version, before.version
            );
        }
    }

    /// Removes what runs that died left half written; the lock says none of them is alive.
    fn clear(&self) {
        for (directory, is_ours) in [
            ("", (|name| [PUBLICATION, SIGNATURE].contains(&name)) as fn(&str) -> bool),
            (PUBLICATIONS, |name| id_of(name).is_some()),
            (OBJECTS, is_objects),
        ] {
            for name in names_in(&self.at(directory)) {
                if unfinished(&name).is_some_and(is_ours) {
                    let _ = fs::remove_file(self.at(directory).join(name));
                }
            }
        }
    }

    /// Removes all but the newest publications, and what only they needed. What has another name than a
    /// tree's files have is not its to remove.
    fn prune(&self) -> Result<()> {
        // Of one that cannot be read, as of a newer program, the snapshot stays.
        let mut kept: BTreeSet<String> = BTreeSet::new();
        let mut known: Vec<(DateTime<Utc>, PathBuf, Publication)> = Vec::new();
        for name in names_in(&self.at(PUBLICATIONS)) {
            let Some(id) = id_of(&name) else { continue };
            kept.insert(id.to_owned());
            let path = self.at(PUBLICATIONS).join(&name);
            let read = fs::read(&path).ok().and_then(|text| Publication::read(&text).ok());
            if let Some(publication) = read.filter(|publication| publication.snapshot.id == id) {
                known.push((publication.created_at(), path, publication));
            }
        }
        // Of two of the same second the one that is published now is the newer.
        known.sort_by_key(|(created, _, of)| (of.snapshot.id == self.manifest.id, *created));
        let old = known.len().saturating_sub(self.asked.keep);
        let mut kept_objects = BTreeSet::new();
        for (_, _, publication) in &known[old..] {
            self.add_objects(publication, &mut kept_objects);
        }
        for (_, path, publication) in &known[..old] {
            fs::remove_file(path).map_err(Error::output(path))?;
            kept.remove(&publication.snapshot.id);
        }
        for id in names_in(&self.at(SNAPSHOTS)) {
            if is_id(&id) && !kept.contains(&id) {
                remove_tree(&self.at(SNAPSHOTS).join(&id));
                self.say("removed", &format!("snapshot {id}"));
            }
        }
        for name in names_in(&self.at(OBJECTS)) {
            if is_objects(&name) && !kept_objects.contains(&name) {
                let _ = fs::remove_file(self.at(OBJECTS).join(name));
            }
        }
        if kept.len() > 1 && self.manifest.suppressed.values().any(|records| *records > 0) {
            eprintln!(
                "warning: older publications in the tree may hold what `--suppress` left out; `--keep 1` \
                 removes them"
            );
        }
        Ok(())
    }

    /// Adds the names of the files that a publication's objects are in.
    fn add_objects(&self, publication: &Publication, kept: &mut BTreeSet<String>) {
        let Some(objects) = &publication.objects else { return };
        let list = object_path(&objects.list_blake3, "json");
        let read = fs::read(self.at(&list)).ok().and_then(|text| ObjectList::read(&text).ok());
        let mut keep = |path: String| {
            kept.extend(path.rsplit('/').next().map(str::to_owned));
        };
        keep(list);
        if let Some(list) = read {
            keep(object_path(&list.hashes_blake3, "hashes"));
            list.objects.iter().for_each(|object| keep(object_path(&object.blake3, "object")));
        }
    }
}

/// The names in a directory; none where it cannot be read.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The name that a file was to have once it is whole; `None` where [`put`] and [`take`] write under no
/// such name.
fn unfinished(name: &str) -> Option<&str> {
    let (name, run) = name.rsplit_once(".tmp")?;
    let is_run = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    (run.is_empty() || run.strip_prefix('-').is_some_and(is_run)).then_some(name)
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The snapshot's id in the name of a publication that is kept.
fn id_of(name: &str) -> Option<&str> {
    name.strip_suffix(".json").filter(|id| is_id(id))
}

/// Whether a name is one that a tree gives to what belongs to objects.
fn is_objects(name: &str) -> bool {
    let kinds = ["json", "hashes", "object"];
    name.split_once('.').is_some_and(|(blake3, kind)| is_hash(blake3) && kinds.contains(&kind))
}

fn hash_of(file: &File) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Puts a file that was read and hashed at another place too: the same file under another name where the
/// file system can, since published files never change; else a copy, hashed again as it is made.
fn take(file: File, to: &Path, blake3: &str) -> Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    // By what is open, not by the name it had: that may be another file's by now.
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    if is_read_only(&file) && linkat(CWD, &opened, CWD, to, AtFlags::SYMLINK_FOLLOW).is_ok() {
        return Ok(());
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".tmp");
    let fresh = PathBuf::from(name);
    let copy = || -> io::Result<blake3::Hash> {
        let _ = fs::remove_file(&fresh);
        let mut from = file;
        from.rewind()?;
        let mut copied = File::create_new(&fresh)?;
        let mut hasher = blake3::Hasher::new();
        let mut room = vec![0; 1 << 20];
        loop {
            let count = from.read(&mut room)?;
            if count == 0 {
                break;
            }
            copied.write_all(&room[..count])?;
            hasher.update(&room[..count]);
        }
        copied.set_permissions(fs::Permissions::from_mode(0o444))?;
        copied.sync_all()?;
        Ok(hasher.finalize())
    };
    let outcome = copy().map_err(Error::output(to)).and_then(|found| {
        if found.to_hex().as_str() != blake3 {
            let reason = "it changed while it was copied; run again when it is still".into();
            return Err(Error::Damaged { path: to.to_owned(), reason });
        }
        fs::rename(&fresh, to).map_err(Error::output(to))
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    outcome
}

/// Whether a file is one that is never written again, and may be read by a host.
fn is_read_only(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o777 == 0o444)
}
