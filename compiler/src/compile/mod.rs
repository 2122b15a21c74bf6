//! The compile stage: turns each part into an object, unless the object is cached.
//!
//! The name of an object is a hash of everything that its bytes depend on: the part's bytes and
//! kind, the limits, and the format version. A part without an object is parsed, except for lines whose records
//! [`earlier`] objects have.
//!
//! A later run hashes all parts first: which parts are new decides whether their lines are looked for in earlier
//! objects. A run without any object parses each part right after its hash was computed, while the part is in
//! memory. Parts in buckets are parsed while they are transferred.
//!
//! Imports `error`, `external_sort`, `frontend`, `object`, `parallel`, `read`, `remote`, `terminal`.

pub(crate) mod bounds;
pub(crate) mod earlier;
pub(crate) mod input;
pub(crate) mod part;

use std::cmp::Reverse;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Advice;

use crate::compile::earlier::EarlierRecords;
use crate::compile::input::{Part, PartKind};
use crate::compile::part::{ReadCounts, read_part};
use crate::error::{Error, Result};
use crate::object::directory::OBJECT_VERSION;
use crate::object::store::Lookup;
use crate::object::{Check, Object, ObjectStore, ObjectWriter, SegmentBuilder, Warnings};
use crate::parallel;
use crate::parallel::cost::Phase;
use crate::read::file_version::FileVersion;
use crate::read::part_file::PartFile;
use crate::read::{Container, ReadLimits, part_file};
use crate::remote::file;
use crate::remote::file::RemoteFile;
use crate::terminal::escape::escape_path;
use crate::terminal::progress::Progress;

/// A part and its object.
pub struct CompiledPart {
    pub part: Part,
    /// The name of the object.
    pub name: String,
    pub object: Object,
    /// Whether the object existed before the run.
    pub was_cached: bool,
}

/// The result of [`compile`].
pub struct CompileStage {
    /// Sorted by path.
    pub parts: Vec<CompiledPart>,
    /// The name of the object of every given part, in the order given.
    pub object_names: Vec<String>,
    /// Uncompressed bytes of the parts that were not cached.
    pub parsed_bytes: u64,
    /// Lines of these parts that were not parsed, because earlier objects have their records.
    pub copied_lines: u64,
    pub warnings: Warnings,
}

/// Compiles every part that has no object in `objects`. `check` says how much of the objects is checked.
///
/// Of several parts with the same bytes and kind, the object of the first by path is kept, and the others count as
/// warnings. A first run parses them all.
///
/// # Errors
///
/// The error of the first part that failed; the finished objects stay.
pub fn compile(
    parts: Vec<Part>,
    objects: &ObjectStore,
    limits: &ReadLimits,
    check: Check,
    progress: Progress,
) -> Result<CompileStage> {
    objects.prepare()?;
    let check = objects.check_before_sharing(check);
    let mut stage = ObjectMaker::new(objects, limits, check);
    stage.is_first_run = objects.is_new()?;
    // Parts in buckets are parsed while they are transferred, before their hash tells whether they are new: earlier
    // records are found first, for parts of versions that this host has not read.
    let unread = parts.iter().map(|part| Ok(stage.is_unread_remote(part)?.then_some(part)));
    let unread: Vec<&Part> = unread.filter_map(Result::transpose).collect::<Result<_>>()?;
    stage.find_earlier(&unread, progress)?;
    let mut named = stage.name_parts(parts, progress)?;
    let object_names = named.iter().map(|named| named.name.clone()).collect();
    let mut warnings = Warnings::default();
    // Equal parts have equal names and one object: a second copy would give each record twice.
    drop_copies(&mut named, |named| (&named.name, &named.part), &mut warnings);
    for named in &named {
        warnings
            .add("misnamed_container", named.is_misnamed.into(), || escape_path(&named.part.path));
    }

    // The hashes tell which local parts are new, and these decide whether earlier records are worth reading.
    if stage.earlier.is_none() {
        let is_missing = |named: &&NamedPart| named.object.is_none() && !objects.has(&named.name);
        let unread: Vec<&Part> = named.iter().filter(is_missing).map(|named| &named.part).collect();
        stage.find_earlier(&unread, progress)?;
    }
    let mut compiled = stage.compile_parts(named, progress)?;
    compiled.sort_by(|a, b| a.part.path.cmp(&b.part.path));
    let (parsed_bytes, copied_lines) =
        (stage.parsed_bytes.into_inner(), stage.copied_lines.into_inner());
    Ok(CompileStage { parts: compiled, object_names, parsed_bytes, copied_lines, warnings })
}

impl CompileStage {
    /// The objects of all parts.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.parts.iter().map(|part| &part.object)
    }

    /// Checks all bytes of every object, and compiles the parts of damaged ones again, one after another.
    ///
    /// # Errors
    ///
    /// A part could not be compiled, or has changed since it was compiled before.
    pub(crate) fn check_whole(&mut self, objects: &ObjectStore, limits: &ReadLimits) -> Result<()> {
        let stage = ObjectMaker::new(objects, limits, Check::Whole);
        let parts = self.parts.iter_mut().collect();
        let checked = parallel::map(parts, |part: &mut CompiledPart| {
            (!part.object.is_intact()).then_some(part)
        });
        for part in checked.into_iter().flatten() {
            let named = stage.name_part(part.part.clone())?;
            if named.name != part.name {
                return Err(changed(&part.part.path));
            }
            *part = stage.compile_part(named)?;
        }
        self.parsed_bytes += stage.parsed_bytes.into_inner();
        Ok(())
    }
}

/// Keeps the first part by path of each object, and counts the other parts as warnings.
/// `named` returns the name of the object, and the part.
pub(crate) fn drop_copies<T>(
    parts: &mut Vec<T>,
    named: impl Fn(&T) -> (&String, &Part),
    warnings: &mut Warnings,
) {
    let key = |of: &T| {
        let (name, part) = named(of);
        (name.clone(), part.path.clone())
    };
    parts.sort_by_cached_key(key);
    parts.dedup_by(|same, kept| {
        let ((name, part), (kept, _)) = (named(same), named(kept));
        let is_same = name == kept;
        warnings.add("same_parts", is_same.into(), || escape_path(&part.path));
        is_same
    });
}

/// A part, its hash, and the name of its object.
struct NamedPart {
    part: Part,
    version: PartVersion,
    hash: String,
    name: String,
    /// Whether the container differs from the one that the extension announces.
    is_misnamed: bool,
    /// The object, if it was made already.
    object: Option<Object>,
}

/// The version of a part that is hashed and parsed.
enum PartVersion {
    /// The version from before the hash was computed.
    OnDisk(FileVersion),
    InBucket(Arc<RemoteFile>),
}

impl PartVersion {
    fn new(path: &Path) -> Result<PartVersion> {
        if let Some(file) = file::find(path) {
            return Ok(PartVersion::InBucket(file));
        }
        Ok(PartVersion::OnDisk(version_of(path)?))
    }

    /// Checks that the part is still the same. A change or a failed transfer explains any parse error, so it is
    /// reported first.
    fn check(&self, path: &Path) -> Result<()> {
        match self {
            PartVersion::InBucket(file) => file.take_failure().map_or(Ok(()), Err),
            PartVersion::OnDisk(before) if before.has_content_of(&version_of(path)?) => Ok(()),
            PartVersion::OnDisk(_) => Err(changed(path)),
        }
    }
}

/// Makes the objects of parts.
struct ObjectMaker<'a> {
    objects: &'a ObjectStore,
    limits: &'a ReadLimits,
    check: Check,
    /// Whether no run has made an object before; see [`ObjectStore::is_new`].
    is_first_run: bool,
    earlier: Option<EarlierRecords>,
    /// Uncompressed bytes of the parts that were not cached.
    parsed_bytes: AtomicU64,
    copied_lines: AtomicU64,
    /// The builders of finished objects, at most one for each thread. Another object uses their memory, which would
    /// otherwise be unmapped, mapped and grown again.
    spare_builders: Mutex<Vec<SegmentBuilder>>,
}

impl<'a> ObjectMaker<'a> {
    fn new(objects: &'a ObjectStore, limits: &'a ReadLimits, check: Check) -> ObjectMaker<'a> {
        let (parsed_bytes, copied_lines, spare_builders) = Default::default();
        ObjectMaker {
            objects,
            limits,
            check,
            is_first_run: false,
            earlier: None,
            parsed_bytes,
            copied_lines,
            spare_builders,
        }
    }

    fn spare_builders(&self) -> MutexGuard<'_, Vec<SegmentBuilder>> {
        self.spare_builders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a part lies in a bucket and this host has not read its version.
    fn is_unread_remote(&self, part: &Part) -> Result<bool> {
        let Some(file) = file::find(&part.path) else { return Ok(false) };
        Ok(self.objects.on_this_host().known_hash(&file.version())?.is_none())
    }

    /// Finds the records of earlier objects, if the parts that have to be read are worth it.
    fn find_earlier(&mut self, unread: &[&Part], progress: Progress) -> Result<()> {
        self.earlier = EarlierRecords::find(self.objects, unread, self.limits, progress)?;
        Ok(())
    }

    /// Names parts, and returns them in the order given.
    fn name_parts(&self, parts: Vec<Part>, progress: Progress) -> Result<Vec<NamedPart>> {
        let total = parts.iter().map(|part| part.size_bytes).sum();
        let stage = if self.is_first_run { "compile" } else { "read" };
        let bar =
            progress.begin(stage, "parts", parts.len() as u64, total).recorded(Phase::Compile);
        let mut numbered: Vec<(usize, Part)> = parts.into_iter().enumerate().collect();
        numbered.sort_by_key(|(_, part)| Reverse(part.size_bytes));
        let mut named = parallel::try_map(numbered, |(number, part)| {
            let named = self.name_part(part)?;
            bar.advance(named.part.size_bytes);
            Ok::<_, Error>((number, named))
        })?;
        bar.end();
        named.sort_by_key(|(number, _)| *number);
        Ok(named.into_iter().map(|(_, named)| named).collect())
    }

    /// Computes the name of a part's object. Also makes the object in a first run, and of a part that is parsed while
    /// it is transferred.
    fn name_part(&self, part: Part) -> Result<NamedPart> {
        let version = PartVersion::new(&part.path)?;
        let container = Container::detect(&part.path);
        version.check(&part.path)?;
        let container = container?;
        let is_misnamed = part.size_bytes > 0 && container != Container::from_extension(&part.path);
        let (hash, unfinished) = match &version {
            PartVersion::OnDisk(version) => (self.hash_on_disk(&part.path, version)?, None),
            PartVersion::InBucket(file) => match self.objects.known_hash(&file.version())? {
                Some(hash) => (hash, None),
                None => self.hash_remote(&part, &version, file, container)?,
            },
        };
        let name = object_name(part.kind, &hash, self.limits);
        let mut named = NamedPart { part, version, hash, name, is_misnamed, object: None };
        named.object = match unfinished {
            Some(unfinished) => Some(self.finish(&named, unfinished, false)?),
            None if self.is_first_run => Some(self.make_object(&named, false)?),
            None => None,
        };
        Ok(named)
    }

    /// Returns the hash of a part on disk; reads the part if no earlier run has read this version of it.
    ///
    /// # Errors
    ///
    /// The file at the path has another content than `version`: another file took its place, or it was written to.
    fn hash_on_disk(&self, path: &Path, version: &FileVersion) -> Result<String> {
        let (known, is_settled) = (self.objects.on_this_host(), version.is_settled());
        if is_settled && let Some(hash) = known.known_hash(&version.name())? {
            return Ok(hash);
        }
        let file = part_file::open_local(path, Advice::Sequential).map_err(Error::input(path))?;
        let hash = hash_bytes(&file, path)?;
        // The version of the file that was hashed: by now, the path may name another.
        let hashed = file.metadata().map_err(Error::input(path))?;
        let hashed = FileVersion::of(&hashed);
        if !version.has_content_of(&hashed) {
            return Err(changed(path));
        }
        if is_settled && *version == hashed {
            known.remember_hash(&version.name(), &hash)?;
        }
        Ok(hash)
    }

    /// Reads a part in a bucket to learn its hash, and remembers it. A part of lines is parsed meanwhile, so that it
    /// is transferred once. Of a Parquet part, which is not read in the order of its bytes, only the hash is
    /// computed. Returns the hash, and the unfinished object of a part that was parsed.
    fn hash_remote(
        &self,
        part: &Part,
        version: &PartVersion,
        file: &RemoteFile,
        container: Container,
    ) -> Result<(String, Option<ObjectWriter>)> {
        let mut unfinished = None;
        if container != Container::Parquet {
            let place = self.objects.object_path(&file.version());
            unfinished = Some(self.parse(part, version, &place)?);
        }
        let hash = match file.content_hash() {
            Some(hash) => hash.to_owned(),
            // The parser has no need of the last bytes.
            None => {
                let file = PartFile::open(&part.path, Advice::Sequential);
                let file = file.map_err(Error::input(&part.path));
                let hash = file.and_then(|file| hash_bytes(file, &part.path));
                version.check(&part.path)?;
                hash?
            }
        };
        self.objects.remember_hash(&file.version(), &hash)?;
        Ok((hash, unfinished))
    }

    /// Parses a part into the unfinished object of `place`.
    fn parse(&self, part: &Part, version: &PartVersion, place: &Path) -> Result<ObjectWriter> {
        let mut writer = ObjectWriter::create(place, self.spare_builders().pop())?;
        let read = read_part(part, self.limits, self.earlier.as_ref(), &mut writer);
        version.check(&part.path)?;
        let ReadCounts { uncompressed_bytes, copied_lines } = read?;
        self.parsed_bytes.fetch_add(uncompressed_bytes, Ordering::Relaxed);
        self.copied_lines.fetch_add(copied_lines, Ordering::Relaxed);
        Ok(writer)
    }

    /// Makes the object of a part. `replaces` is true if the one in the bucket is damaged.
    fn make_object(&self, named: &NamedPart, replaces: bool) -> Result<Object> {
        let path = self.objects.object_path(&named.name);
        self.finish(named, self.parse(&named.part, &named.version, &path)?, replaces)
    }

    /// Finishes the object of a parsed part, shares it, and checks its number of records.
    fn finish(
        &self,
        named: &NamedPart,
        mut unfinished: ObjectWriter,
        replaces: bool,
    ) -> Result<Object> {
        part_file::drop_pages(&named.part.path);
        let path = self.objects.object_path(&named.name);
        unfinished.set_path(&path);
        let spare = unfinished.finish(&named.hash)?;
        self.spare_builders().extend(spare);
        let written = Object::open(&path, self.check).map_err(Error::input(&path))?;
        let object = written.ok_or_else(|| Error::Damaged {
            path,
            reason: "the object does not read back as written; check the disk".into(),
        })?;
        self.objects.share(&named.name, replaces)?;
        check_record_count(&named.part, &object, self.limits)?;
        Ok(object)
    }

    /// Finds or makes the objects of all parts. In a first run they are made already.
    fn compile_parts(
        &self,
        mut named: Vec<NamedPart>,
        progress: Progress,
    ) -> Result<Vec<CompiledPart>> {
        if self.is_first_run {
            return parallel::try_map(named, |named| self.compile_part(named));
        }
        let total = named.iter().map(|named| named.part.size_bytes).sum();
        let bar =
            progress.begin("compile", "parts", named.len() as u64, total).recorded(Phase::Compile);
        // The largest parts come first, so that no thread starts a large part last.
        named.sort_by_key(|named| Reverse(named.part.size_bytes));
        let compiled = parallel::try_map(named, |named| {
            let compiled = self.compile_part(named)?;
            bar.advance(compiled.part.size_bytes);
            Ok::<_, Error>(compiled)
        })?;
        bar.end();
        Ok(compiled)
    }

    /// Finds the object of a part, or makes it.
    fn compile_part(&self, mut named: NamedPart) -> Result<CompiledPart> {
        let (object, was_cached) = match named.object.take() {
            Some(object) => (object, false),
            None => match self.objects.open(&named.name, self.check)? {
                Lookup::Found(object) => {
                    part_file::drop_pages(&named.part.path);
                    self.objects.share(&named.name, false)?;
                    check_record_count(&named.part, &object, self.limits)?;
                    (*object, true)
                }
                Lookup::Missing => (self.make_object(&named, false)?, false),
                Lookup::DamagedInBucket => (self.make_object(&named, true)?, false),
            },
        };
        Ok(CompiledPart { part: named.part, name: named.name, object, was_cached })
    }
}

fn version_of(path: &Path) -> Result<FileVersion> {
    fs::metadata(path).map(|metadata| FileVersion::of(&metadata)).map_err(Error::input(path))
}

fn changed(path: &Path) -> Error {
    let reason = "the file changed while it was read; run again when it is complete";
    Error::Damaged { path: path.to_path_buf(), reason: reason.into() }
}

/// Hashes the compressed bytes of the part at `path`; the result is in hexadecimal.
fn hash_bytes(part: impl Read, path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(part).map_err(Error::input(path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The version of the objects that this program writes and links.
pub(crate) fn object_version() -> String {
    let schema = pinakes_format::schema::layout::schema_hash();
    format!("{OBJECT_VERSION} {schema:016x}")
}

/// The name of an object: a hash of everything that its bytes depend on.
fn object_name(kind: PartKind, hash: &str, limits: &ReadLimits) -> String {
    let (version, limits) = (object_version(), limits.fingerprint());
    let name = format!("{version} {kind:?} {limits} {hash}");
    blake3::hash(name.as_bytes()).to_hex()[..32].to_string()
}

/// Checks the number of records read against the manifest.
fn check_record_count(part: &Part, object: &Object, limits: &ReadLimits) -> Result<()> {
    let Some(listed) = part.listed_records else { return Ok(()) };
    let read: u64 = object.report().read.values().sum();
    if read == listed || (limits.allow_truncated && read < listed) {
        return Ok(());
    }
    let reason = format!("{read} records, expected {listed} by its manifest; fetch it again");
    Err(Error::Damaged { path: part.path.clone(), reason })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use super::*;
    use crate::compile::input::{ManifestPolicy, find};

    #[test]
    fn the_object_of_a_part_that_changed_is_not_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let (input, objects) = (directory.path().join("funders"), directory.path().join("objects"));
        let write_part = |name: &str| {
            let line =
                format!("{{\"id\":\"https://openalex.org/F1\",\"display_name\":\"{name}\"}}");
            fs::write(input.join("part_000.jsonl"), line).unwrap();
        };
        fs::create_dir(&input).unwrap();
        write_part("before");
        let parts = find(&[&input], ManifestPolicy::default()).unwrap().parts;
        let (store, limits) = (ObjectStore::local(&objects), ReadLimits::default());
        let compile =
            || compile(parts.clone(), &store, &limits, Check::Directory, Progress::Quiet).unwrap();
        let damage = |stage: &CompileStage| {
            let path = store.object_path(&stage.object_names[0]);
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            File::options().write(true).open(path).unwrap().write_all_at(&[0xff; 8], 0).unwrap();
        };

        let mut stage = compile();
        damage(&stage);
        stage.check_whole(&store, &limits).unwrap();
        assert!(stage.parts[0].object.is_intact() && !stage.parts[0].was_cached);

        damage(&stage);
        write_part("after");
        let error = stage.check_whole(&store, &limits).unwrap_err();
        assert!(error.to_string().contains("the file changed while it was read"), "{error}");
    }

    #[test]
    fn the_hash_of_a_part_that_took_the_place_of_another_is_not_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let (part, objects) = (directory.path().join("part"), directory.path().join("objects"));
        fs::write(&part, "{}").unwrap();
        fs::create_dir(&objects).unwrap();
        let (objects, limits) = (ObjectStore::local(&objects), ReadLimits::default());
        let maker = ObjectMaker::new(&objects, &limits, Check::Directory);
        // A file that was written long ago, so that its hash may be remembered.
        let before = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let version = version_of(&before).unwrap();
        maker.hash_on_disk(&part, &version).unwrap_err();
        assert_eq!(objects.known_hash(&version.name()).unwrap(), None);

        let hash = maker.hash_on_disk(&before, &version).unwrap();
        assert_eq!(objects.known_hash(&version.name()).unwrap(), Some(hash));
    }
}
