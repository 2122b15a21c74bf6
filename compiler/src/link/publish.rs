//! From linked files to a published snapshot, atomically.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use pinakes_format::{
    entity::Entity,
    file::{FORMAT_VERSION, Written, append_levels},
    manifest::{self, Counts, FileEntry, HASHES, MANIFEST, Manifest, REPORT, SourceParts},
    record::{
        self, Output,
        value::{Slot, Slots},
    },
    render::{Page, Shape},
    snapshot::{Snapshot, split_blob},
    time,
};

use super::{
    Linker, SideTally, Tally, broken,
    merge::{Rows, Sums, has_mentioned_alone},
    orphans::{Above, Orphans},
    part::Part,
    records::{Plan, WrittenFile, write_strings},
    taxonomy::{LEVELS, parent_id, sums_above},
};
use crate::{
    error::{Error, Result},
    interrupt::publishing,
    object::Object,
    output::{OutputLock, put_in_place},
    selection::Selection,
};

/// The code of the warning that counts ids to be withheld which the dump does not have.
const UNKNOWN_IDS: &str = "suppressed_unknown";
/// Rows of each entity that the self-check renders.
const CHECKED_ROWS: u32 = 1_000;

/// The report of a snapshot. A type of its own, since the order of a `serde_json::Value`'s members
/// depends on the features that other crates of a build ask for, and these are bytes of the snapshot.
#[derive(serde::Serialize)]
struct Accounting {
    entities: BTreeMap<String, Tally>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    side_tables: BTreeMap<String, SideTally>,
    warnings: BTreeMap<String, u64>,
}

/// The rows of every entity, and what merging them told.
struct Merged {
    /// By entity.
    rows: Vec<Rows>,
    /// Of the taxonomy's levels.
    sums: BTreeMap<Entity, Sums>,
    /// The newest `updated_date`, in microseconds since 1970.
    newest: Option<i64>,
    /// Topics without a place in the taxonomy.
    orphans: Orphans,
}

/// The accounting by entity, and warnings by code.
type Tallies = (BTreeMap<String, Tally>, BTreeMap<String, u64>);

/// A finished snapshot.
#[derive(Debug)]
pub struct Published {
    /// Where it lies: in its place once it is published, in the scratch directory before.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// The accounting by entity.
    pub tallies: BTreeMap<String, Tally>,
    /// The accounting by side table, of those there were.
    pub side_tallies: BTreeMap<String, SideTally>,
    /// Warnings by code.
    pub warnings: BTreeMap<String, u64>,
    /// The topics set aside because a parent of theirs has no record.
    pub orphans: Orphans,
}

/// What the merges of all entities see as they go.
struct Seen<'s> {
    sums: &'s mut BTreeMap<Entity, Sums>,
    mentioned: &'s mut Option<BTreeSet<u64>>,
    newest: &'s mut Option<i64>,
    orphans: &'s mut Orphans,
}

/// Links objects, or the selected part of them, into a snapshot that is whole and checked, but not
/// published yet.
///
/// # Errors
///
/// Where something cannot be written or an object makes no sense.
pub fn link(
    objects: &[&Object],
    lock: &OutputLock,
    selection: Option<&Selection>,
    memory_bytes: usize,
    progress: crate::progress::Progress,
) -> Result<Published> {
    let linker = Linker::new(objects, lock.scratch(), memory_bytes, progress);
    let directory = lock.scratch().join("snapshot");
    fs::create_dir(&directory).map_err(Error::output(&directory))?;
    let finished = linker.write_snapshot(selection, &directory)?;
    self_check(&directory)?;
    Ok(finished)
}

/// Puts a finished snapshot in its place and makes it the current one.
///
/// # Errors
///
/// Where the system refuses; `current` is then what it was.
pub fn publish(finished: &mut Published, lock: &OutputLock) -> Result<()> {
    let id = &finished.manifest.id;
    finished.path = publishing(|| put_in_place(&finished.path, lock.directory(), id))?;
    Ok(())
}

/// Checks a snapshot that lies whole in a directory beside where it belongs, and publishes it as
/// [`publish`] does; its path.
///
/// # Errors
///
/// Where its own reader refuses it, or the system does; `current` is then what it was.
pub fn publish_directory(directory: &Path, lock: &OutputLock, id: &str) -> Result<PathBuf> {
    self_check(directory)?;
    publishing(|| put_in_place(directory, lock.directory(), id))
}

/// Makes a snapshot that is in its place the current one; its path.
///
/// # Errors
///
/// Where the system refuses; `current` is then what it was.
pub fn make_current(lock: &OutputLock, id: &str) -> Result<PathBuf> {
    // What has its name already is not moved.
    publishing(|| put_in_place(&lock.directory().join(id), lock.directory(), id))
}

/// Refuses a snapshot in which an entity has less than four fifths of the records it has in the
/// current one: half a download looks like that. Where no snapshot is current, or one of another part
/// of its dump, there is nothing to compare; nor is there where its manifest cannot be read, which a new
/// snapshot mends.
///
/// # Errors
///
/// [`Error::Shrunk`], of the first such entity.
pub fn refuse_shrinking(snapshots: &Path, fresh: &Manifest) -> Result<()> {
    let Ok(text) = fs::read(snapshots.join("current").join(MANIFEST)) else { return Ok(()) };
    let Ok(current) = Manifest::read(&text) else { return Ok(()) };
    let chosen = |of: &Manifest| of.selection.as_ref().map(|selection| selection.filters.clone());
    if chosen(&current) != chosen(fresh) {
        return Ok(());
    }
    for entity in Entity::all() {
        let name = entity.facts().plural;
        // What is suppressed is there, and left out.
        let count = |of: &Manifest| {
            let suppressed = of.suppressed.get(name).copied().unwrap_or_default();
            of.counts.get(name).map_or(0, |counts| counts.published) + suppressed
        };
        let (before, after) = (count(&current), count(fresh));
        if after * 5 < before * 4 {
            return Err(Error::Shrunk { entity: name, before, after });
        }
    }
    Ok(())
}

impl Linker<'_> {
    fn write_snapshot(&self, selection: Option<&Selection>, directory: &Path) -> Result<Published> {
        let segments: Vec<_> = Entity::all().map(|entity| self.segments(entity)).collect();
        let Merged { mut rows, sums, newest, orphans } = self.merge_all(&segments)?;

        let bar =
            self.progress.begin("resolve", "segments", segments.iter().flatten().count() as u64, 0);
        let mut side = self.side_tables(&segments, &rows)?;
        let mut resolved = self.resolve(&segments, &rows, side.codes()?)?;
        bar.end();

        let (mut type_sums, mut withheld_kinds) = (BTreeMap::new(), BTreeMap::new());
        let (mut tree, mut unknown_ids) = (None, 0);
        let mut suppressed = BTreeMap::new();
        if let Some(selection) = selection {
            let mut whole = Plan::new(&segments, &rows, &resolved, &side, &sums, newest);
            whole.read_tree()?;
            whole.read_source_kinds()?;
            let total: u64 = rows.iter().map(|rows| rows.order.len() as u64).sum();
            let bar = self.progress.begin("select", "records", total, total);
            let Part { kept, type_sums: sums, withheld_kinds: kinds, unknown_ids: unknown } =
                self.reach(selection, &whole)?;
            (type_sums, withheld_kinds, unknown_ids) = (sums, kinds, unknown);
            suppressed = kept.suppressed();
            tree = kept.has_nameless().then(|| whole.tree.in_part(&kept));
            (rows, resolved) = self.reduce(rows, resolved, kept, &segments)?;
            // What it knows of rows is of those before.
            side = self.side_tables(&segments, &rows)?;
            bar.end();
        }

        let total: u64 = rows.iter().map(|rows| rows.order.len() as u64).sum();
        let bar = self.progress.begin("write", "records", total, total);
        let mut plan = Plan::new(&segments, &rows, &resolved, &side, &sums, newest);
        plan.is_part = selection.is_some();
        (plan.type_sums, plan.withheld_kinds) = (type_sums, withheld_kinds);
        match tree {
            // What is withheld stands in it, though no record tells where.
            Some(tree) => plan.tree = tree,
            None => plan.read_tree()?,
        }
        let mut files = Vec::new();
        // Venues show their source's type, and types sum up their institutions.
        let sources_first = std::iter::once(Entity::Source)
            .chain(Entity::all().filter(|entity| *entity != Entity::Source));
        for entity in sources_first {
            files.extend(plan.write(entity, directory)?);
        }
        files.push(write_strings(&resolved, directory)?);
        let dangling = plan.dangling;
        bar.end();
        let counts = self.counts(directory)?;
        files.extend(self.write_indexes(directory, counts.clone())?);
        let (entities, mut warnings) = self.tallies(&rows, &dangling, &counts)?;
        if unknown_ids > 0 {
            warnings.insert(UNKNOWN_IDS.to_owned(), unknown_ids);
        }
        let side_tables = side.tallies(self.objects)?;
        let chosen = selection.filter(|selection| selection.has_queries());
        let selection = chosen.map(|selection| manifest::Selection {
            filters: selection.filters(),
            excluded: entities.iter().map(|(name, tally)| (name.clone(), tally.excluded)).collect(),
        });
        let accounting = Accounting { entities, side_tables, warnings };
        let left_out = (selection, suppressed);
        let mut finished = self.seal(directory, files, newest, counts, left_out, accounting)?;
        finished.orphans = orphans;
        Ok(finished)
    }

    /// Merges every entity's keys.
    fn merge_all(&self, segments: &[super::Segments<'_>]) -> Result<Merged> {
        let records: u64 = segments.iter().flatten().map(|segment| segment.count() as u64).sum();
        let bar = self.progress.begin("merge", "keys", records, records);
        let mut sums = BTreeMap::new();
        let mut newest = None;
        let mut orphans = Orphans::default();
        let above = Above::find(self, segments)?;
        // Which nodes of the level under way the published records below it name.
        let mut mentioned = None;
        let mut rows: Vec<Option<Rows>> = Entity::all().map(|_| None).collect();
        // Outputs first: their sums are the counts of taxonomy nodes without their own, each
        // level's before the next.
        let bottom_up = LEVELS.into_iter().chain(Entity::all()).collect::<Vec<_>>();
        for entity in std::iter::once(Entity::Output).chain(bottom_up) {
            if rows[entity as usize].is_none() {
                let mut seen = Seen {
                    sums: &mut sums,
                    mentioned: &mut mentioned,
                    newest: &mut newest,
                    orphans: &mut orphans,
                };
                let merged = self.merge_level(entity, segments, &above, &mut seen)?;
                if entity == Entity::Output {
                    mentioned = self.topics_named(segments, &merged)?;
                }
                rows[entity as usize] = Some(merged);
            }
        }
        bar.end();
        Ok(Merged { rows: rows.into_iter().flatten().collect(), sums, newest, orphans })
    }

    /// Merges an entity's keys, and sums up what they tell of the level above.
    fn merge_level(
        &self,
        entity: Entity,
        segments: &[super::Segments<'_>],
        above: &Above,
        seen: &mut Seen<'_>,
    ) -> Result<Rows> {
        let Seen { sums, mentioned, newest, orphans } = seen;
        let own = sums.get(&entity).cloned().unwrap_or_default();
        let mut by_group = Sums::new();
        let mut parents = BTreeMap::new();
        let of_entity = &segments[entity as usize];
        let is_level = LEVELS.contains(&entity);
        let named = mentioned.as_ref().filter(|_| is_level);
        let rows = self.merge(entity, of_entity, &own, named, |key, segment| {
            if is_level {
                let segment = of_entity.get(segment).ok_or_else(broken)?;
                let blob = segment.blob(key).ok_or_else(broken)?;
                if let Some(parent) = parent_id(entity, blob, segment) {
                    parents.insert(key.id, parent);
                }
                if entity == Entity::Topic && !above.holds(blob, segment)? {
                    orphans.take(key);
                    return Ok(false);
                }
            }
            if key.origin.is_read() && key.updated_micros != i64::MIN {
                **newest = (**newest).max(Some(key.updated_micros));
            }
            Linker::add_to_sums(&mut by_group, key);
            Ok(true)
        })?;
        if is_level && mentioned.is_some() {
            **mentioned = Some(parents.values().copied().collect());
        }
        match entity {
            Entity::Output => {
                sums.insert(Entity::Topic, by_group);
            }
            Entity::Topic => {
                sums.insert(Entity::Subfield, sums_above(&own, &parents));
            }
            Entity::Subfield => {
                sums.insert(Entity::Field, sums_above(&own, &parents));
            }
            Entity::Field => {
                sums.insert(Entity::Domain, sums_above(&own, &parents));
            }
            _ => {}
        }
        Ok(rows)
    }

    /// The topics that published outputs name, where an object may name others.
    ///
    /// An object notes the nodes all its lines name. Where every line is published that is the
    /// same; where copies were superseded or merged the published ones are read again, unless
    /// every topic has a record of its own and nothing depends on it.
    fn topics_named(
        &self,
        segments: &[super::Segments<'_>],
        outputs: &Rows,
    ) -> Result<Option<BTreeSet<u64>>> {
        let tally = &outputs.tally;
        let topics = &segments[Entity::Topic as usize];
        if tally.superseded + tally.merged == 0 || !has_mentioned_alone(topics)? {
            return Ok(None);
        }
        let of_outputs = &segments[Entity::Output as usize];
        let mut named = BTreeSet::new();
        for row in 0..outputs.order.len() {
            let (_, segment, key) = outputs.place(row, of_outputs).ok_or_else(broken)?;
            let blob = segment.blob(&key).ok_or_else(broken)?;
            let (archived, _) = split_blob(blob).ok_or_else(broken)?;
            let output = record::access::<Output>(archived).ok_or_else(broken)?;
            output.slots(&mut |slot| {
                if let Slot::Target(number) = slot {
                    let mention = segment.mentions.get(number.to_native());
                    let topic = mention.filter(|of| of.kind == Entity::Topic as u8);
                    named.extend(topic.map(|topic| topic.id));
                }
            });
        }
        Ok(Some(named))
    }

    /// Writes the report, the hashes and, last, the manifest.
    fn seal(
        &self,
        directory: &Path,
        mut files: Vec<WrittenFile>,
        newest: Option<i64>,
        counts: BTreeMap<String, Counts>,
        (selection, suppressed): (Option<manifest::Selection>, BTreeMap<String, u64>),
        accounting: Accounting,
    ) -> Result<Published> {
        let mut text = serde_json::to_vec_pretty(&accounting)
            .map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        let report = write_whole(&directory.join(REPORT), &text)?;
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut entries = vec![FileEntry {
            path: REPORT.into(),
            size_bytes: text.len() as u64,
            blake3: report.to_hex().to_string(),
        }];
        entries.extend(files.iter().map(|(path, written)| FileEntry {
            path: path.clone(),
            size_bytes: written.size_bytes,
            blake3: written.root.to_hex().to_string(),
        }));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.push(write_hashes(directory, &entries, files)?);
        entries.sort_by(|a, b| a.path.cmp(&b.path));

        let mut parts: Vec<String> =
            self.objects.iter().map(|object| object.part().to_owned()).collect();
        parts.sort();
        parts.dedup();
        let mut manifest = Manifest {
            format_version: FORMAT_VERSION,
            id: String::new(),
            root: String::new(),
            source: SourceParts { newest_updated_date: newest.and_then(moment_text), parts },
            selection,
            suppressed,
            counts,
            files: entries,
        };
        manifest.seal();
        write_whole(&directory.join(MANIFEST), &manifest.text())?;
        Ok(Published {
            path: directory.to_path_buf(),
            manifest,
            tallies: accounting.entities,
            side_tallies: accounting.side_tables,
            warnings: accounting.warnings,
            orphans: Orphans::default(),
        })
    }

    /// Rows of each entity, as the headers of its files say them.
    fn counts(&self, directory: &Path) -> Result<BTreeMap<String, Counts>> {
        use pinakes_format::{
            file::{HEADER_BYTES, Header, Kind},
            snapshot::archive_path,
        };
        let header_of = |kind, entity| {
            let name = archive_path(kind, Some(entity));
            let path = directory.join(name);
            let mut bytes = [0; HEADER_BYTES];
            File::open(&path)
                .and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes))
                .map_err(Error::output(&path))?;
            Header::decode(&bytes, kind, Some(entity)).map_err(Error::self_check)
        };
        Entity::all()
            .map(|entity| {
                let ids = header_of(Kind::Ids, entity)?;
                let redirects = header_of(Kind::Redirects, entity)?;
                let counts =
                    Counts { published: ids.published, rows: ids.rows, redirects: redirects.rows };
                Ok((entity.facts().plural.to_string(), counts))
            })
            .collect()
    }

    /// The accounting of every entity, which must close.
    fn tallies(
        &self,
        rows: &[Rows],
        dangling: &[u64],
        counts: &BTreeMap<String, Counts>,
    ) -> Result<Tallies> {
        let mut tallies = BTreeMap::new();
        let mut warnings = BTreeMap::new();
        for object in self.objects {
            for (code, count) in &object.report().warnings {
                *warnings.entry(code.clone()).or_default() += count;
            }
        }
        for entity in Entity::all() {
            let name = entity.facts().plural;
            for (code, count) in rows[entity as usize].redirect_warnings() {
                *warnings.entry(code.to_string()).or_default() += count;
            }
            let mut tally = rows[entity as usize].tally;
            tally.dangling = dangling[entity as usize];
            let published = counts.get(name).map_or(0, |counts| counts.published);
            // Of institution types with one code one is published.
            let same = tally.published_from_input.saturating_sub(published);
            tally.superseded += same;
            tally.published_from_input -= same;
            tally.derived = published.saturating_sub(tally.published_from_input);
            for object in self.objects {
                let report = object.report();
                tally.read += report.read.get(name).copied().unwrap_or(0);
                tally.quarantined += report.quarantined.get(name).copied().unwrap_or(0);
            }
            if !tally.closes() {
                return Err(Error::Internal(format!(
                    "the accounting of {name} does not close: {tally:?}"
                )));
            }
            tallies.insert(name.to_string(), tally);
        }
        Ok((tallies, warnings))
    }
}

fn moment_text(micros: i64) -> Option<String> {
    let mut text = Vec::new();
    let digits = if micros.rem_euclid(1_000_000) == 0 { 0 } else { 6 };
    time::write_moment(&mut text, micros, digits)?;
    String::from_utf8(text).ok()
}

/// Writes a small file and makes it durable.
fn write_whole(path: &Path, text: &[u8]) -> Result<blake3::Hash> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(text)?;
        file.sync_all()
    };
    write().map_err(Error::output(path))?;
    Ok(blake3::hash(text))
}

/// Gathers every file's levels, in the order of the manifest. The report is one chunk or has its
/// levels made here.
fn write_hashes(
    directory: &Path,
    entries: &[FileEntry],
    files: Vec<WrittenFile>,
) -> Result<FileEntry> {
    let path = directory.join(HASHES);
    let mut written: BTreeMap<String, Written> = files.into_iter().collect();
    let mut write = || -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 18, File::create_new(&path)?);
        for entry in entries {
            match written.remove(&entry.path) {
                Some(written) => append_levels(written, &mut out)?,
                None => {
                    let text = fs::read(directory.join(&entry.path))?;
                    let levels = pinakes_format::integrity::levels_of(&text);
                    out.write_all(&levels)?;
                }
            }
        }
        out.into_inner().map_err(|error| error.into_error())?.sync_all()
    };
    write().map_err(Error::output(&path))?;
    let file = File::open(&path).map_err(Error::output(&path))?;
    let size_bytes = file.metadata().map_err(Error::output(&path))?.len();
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(Error::output(&path))?;
    let blake3 = hasher.finalize().to_hex().to_string();
    Ok(FileEntry { path: HASHES.into(), size_bytes, blake3 })
}

/// Opens the finished snapshot as a server would, and renders records spread over every entity.
fn self_check(directory: &Path) -> Result<()> {
    let snapshot = Snapshot::open(directory).map_err(Error::self_check)?;
    let mut page = Page::new(&snapshot, Shape::Single);
    for entity in Entity::all() {
        let count = snapshot.count(entity);
        for row in (0..count).step_by((count / CHECKED_ROWS).max(1) as usize) {
            page.out.clear();
            snapshot
                .render(entity, row, &mut page)
                .map_err(|error| Error::SelfCheck(format!("row {row} of {entity}: {error}")))?;
        }
    }
    Ok(())
}
