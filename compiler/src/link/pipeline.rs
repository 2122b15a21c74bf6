//! Runs the steps of a link in order, from objects to a complete snapshot directory.

use std::{collections::BTreeMap, fs, fs::File, io, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::header::{FileKind, HEADER_BYTES, Header};
use pinakes_format::storage::manifest;
use pinakes_format::storage::manifest::Counts;

use crate::error::{Error, Result};
use crate::frontend::id_lists::DELETED_IDS;
use crate::link::citations::ResolvedReferences;
use crate::link::context::Linker;
use crate::link::merge::levels::Merged;
use crate::link::merge::rows::Rows;
use crate::link::previous::state::NextState;
use crate::link::previous::{Previous, UnchangedSource};
use crate::link::publish::{Published, self_check};
use crate::link::record::inputs::LinkInputs;
use crate::link::record::linker::RecordLinker;
use crate::link::record::old_records::OldRecords;
use crate::link::record::source_types::SourceTypes;
use crate::link::record::type_sums::read_type_sums;
use crate::link::select::subset::Subset;
use crate::link::selection::Selection;
use crate::link::tally::{SideTally, Tally};
use crate::link::write::codes::write_codes;
use crate::link::write::manifest::{Accounting, ManifestFacts};
use crate::link::write::records::RecordsWriter;
use crate::object::Object;
use crate::object::part_report::PartReport;
use crate::store::lock::OutputLock;
use crate::terminal::progress::Progress;

/// The warning code that counts ids of `--suppress` that the inputs do not have.
const UNKNOWN_IDS: &str = "suppressed_unknown";
/// The accounting by entity, and warnings by code.
type Tallies = (BTreeMap<String, Tally>, BTreeMap<String, u64>);

/// Links objects, or the selected records of them, into a complete and checked snapshot in the
/// scratch directory. The snapshot is not published yet.
///
pub fn link(
    objects: &[&Object],
    lock: &OutputLock,
    selection: Option<&Selection>,
    unchanged: UnchangedSource,
    memory_bytes: usize,
    progress: Progress,
) -> Result<Published> {
    let takes_over = selection.is_none() && unchanged == UnchangedSource::Current;
    let previous = takes_over.then(|| Previous::open(lock.directory())).flatten();
    objects.iter().for_each(|object| object.read_by_page());
    let linker = Linker::new(objects, lock.scratch(), memory_bytes, progress);
    let directory = lock.scratch().join("snapshot");
    fs::create_dir(&directory).map_err(Error::output(&directory))?;
    let finished = linker.write_snapshot(selection, previous.as_ref(), &directory)?;
    drop(previous);
    let bar = progress.begin("check", "files", finished.manifest.files.len() as u64, 0);
    self_check(&directory)?;
    bar.end();
    Ok(finished)
}

/// Without what the previous snapshot gives, if it is damaged: then nothing is taken over.
fn unless_damaged<T>(taken_over: Result<T>) -> Result<Option<T>> {
    match taken_over {
        Err(Error::Internal(_)) => Ok(None),
        taken_over => taken_over.map(Some),
    }
}

fn total_records(rows: &[Rows]) -> u64 {
    rows.iter().map(|rows| rows.order.len() as u64).sum()
}

/// Batches of records that take the memory of a sorter.
const BATCHES_IN_SORTER: usize = 8;

impl Linker<'_> {
    /// Writes every file of a snapshot into a directory. Takes index entries over from `previous`.
    fn write_snapshot(
        &self,
        selection: Option<&Selection>,
        previous: Option<&Previous>,
        directory: &Path,
    ) -> Result<Published> {
        let segments = self.segments();
        let Merged { mut rows, sums, newest_micros, orphans } = self.merge_all(&segments)?;

        let segment_count = segments.iter().flatten().count() as u64;
        let bar = self.progress.begin("resolve", "segments", segment_count, 0);
        let mut side_tables = self.side_tables(&segments, &rows)?;
        let mut resolved = self.resolve(&segments, &rows, side_tables.codes()?)?;
        bar.end();

        let (mut type_sums, mut placeholder_types) = (None, BTreeMap::new());
        let (mut tree, mut unknown_ids) = (None, 0);
        let mut suppressed = BTreeMap::new();
        if let Some(selection) = selection {
            let total = total_records(&rows);
            let inputs = LinkInputs {
                segments: &segments,
                rows: &rows,
                resolved: &resolved,
                side_tables: &side_tables,
                sums: &sums,
            };
            let source_types = SourceTypes::read(&inputs, BTreeMap::new())?;
            let full = RecordLinker::new(inputs, source_types)?;
            let bar = self.progress.begin("select", "records", total, total);
            let subset = self.select(selection, &full)?;
            let Subset { renumbering, .. } = subset;
            type_sums = Some(subset.type_sums);
            (placeholder_types, unknown_ids) = (subset.placeholder_types, subset.unknown_ids);
            suppressed = renumbering.count_suppressed();
            let has_placeholders = renumbering.has_placeholders();
            tree = has_placeholders.then(|| full.tree().renumbered(&renumbering));
            (rows, resolved) = self.keep_subset(rows, resolved, renumbering, &segments)?;
            // The side tables refer to institutions by their rows in the full records.
            side_tables = self.side_tables(&segments, &rows)?;
            bar.end();
        }

        let total = total_records(&rows);
        let bar = self.progress.begin("write", "records", total, total);
        let inputs = LinkInputs {
            segments: &segments,
            rows: &rows,
            resolved: &resolved,
            side_tables: &side_tables,
            sums: &sums,
        };
        let source_types = SourceTypes::read(&inputs, placeholder_types)?;
        let mut next_state = NextState::new(|entity| side_tables.has_table_of(entity));
        let mut linker = match tree {
            // Placeholders keep their position in the taxonomy, which no record states.
            Some(tree) => RecordLinker::with_tree(inputs, source_types, tree),
            None => RecordLinker::new(inputs, source_types)?,
        };
        let compared = previous.map(|previous| self.compare(previous, &linker));
        let changes = unless_damaged(compared.transpose())?.flatten().flatten();
        if let Some((previous, changes)) = previous.zip(changes.as_ref()) {
            let old = OldRecords::new(&previous.snapshot, changes, &resolved.unresolved);
            linker.old = unless_damaged(old)?;
        }
        let old = linker.old.as_ref();
        let type_sums = type_sums.map_or_else(|| read_type_sums(&inputs), Ok)?;
        let is_subset = selection.is_some();
        let writer = RecordsWriter {
            linker: &linker,
            directory,
            type_sums,
            is_subset,
            newest_micros,
            batch_bytes: self.sorter_bytes() / BATCHES_IN_SORTER,
        };
        let mut files = Vec::new();
        let mut dangling = Vec::with_capacity(Entity::COUNT);
        let mut unresolved_references = [0; Entity::COUNT];
        for entity in Entity::all() {
            let folder = directory.join(entity.facts().plural);
            fs::create_dir(&folder).map_err(Error::output(&folder))?;
            let references = self.resolve_references(&inputs, entity, old)?;
            let Some(ResolvedReferences { lists, unresolved, dangling: unresolved_links }) =
                references
            else {
                let (written, dangling_in_records) = writer.write(entity, None)?;
                files.extend(written);
                dangling.push(dangling_in_records);
                continue;
            };
            unresolved_references[entity as usize] = unresolved_links;
            // The citation graph takes one thread; the others write records meanwhile.
            let (written, citations) = rayon::join(
                || writer.write(entity, Some(&unresolved)),
                || self.write_citations(lists, &unresolved, directory),
            );
            let (written, dangling_in_records) = written?;
            files.extend(written);
            dangling.push(dangling_in_records);
            files.push(citations?);
        }
        files.push(write_codes(&resolved.unresolved, directory)?);
        bar.end();

        let counts = self.counts(directory)?;
        let mut rows_reused = BTreeMap::new();
        let previous = previous.zip(linker.old.as_ref().map(|old| old.changes));
        for indexed in self.write_indexes(directory, counts.clone(), previous)? {
            files.extend(indexed.files);
            next_state.words[indexed.entity as usize] = indexed.words;
            if indexed.reused > 0 {
                rows_reused.insert(indexed.entity.facts().plural.to_owned(), indexed.reused);
            }
        }
        let state = self.scratch.join("state");
        let has_state = next_state.write(&rows, &state).map_err(Error::output(&state))?;
        let (mut entities, mut warnings) = self.tallies(&rows, &dangling, &counts)?;
        for (entity, count) in Entity::all().zip(unresolved_references) {
            if let Some(tally) = entities.get_mut(entity.facts().plural) {
                tally.unresolved_references = count;
            }
        }
        if unknown_ids > 0 {
            warnings.insert(UNKNOWN_IDS.to_owned(), unknown_ids);
        }
        let mut side_tables = side_tables.tallies(self.objects)?;
        side_tables.extend(self.deleted_tally(&rows)?);
        let list = selection.map(Selection::suppression).filter(|list| !list.is_empty());
        let suppression = list.map(|list| list.digits().to_string());
        let with_queries = selection.filter(|selection| selection.has_queries());
        let selection = with_queries.map(|selection| manifest::Selection {
            filters: selection.filters(),
            excluded: entities.iter().map(|(name, tally)| (name.clone(), tally.excluded)).collect(),
        });
        let accounting = Accounting { entities, side_tables, warnings };
        let facts = ManifestFacts { newest_micros, counts, selection, suppressed, suppression };
        let bar = self.progress.begin("sync", "files", files.len() as u64, 0);
        let manifest = self.write_manifest(directory, files, facts, &accounting)?;
        bar.end();
        Ok(Published {
            path: directory.to_path_buf(),
            manifest,
            tallies: accounting.entities,
            side_tallies: accounting.side_tables,
            warnings: accounting.warnings,
            orphans,
            rows_reused,
            state: has_state.then_some(state),
        })
    }

    /// Reads the row counts of each entity from the headers of its files.
    fn counts(&self, directory: &Path) -> Result<BTreeMap<String, Counts>> {
        let header_of = |kind, entity| {
            let name = archive_path(kind, Some(entity));
            let path = directory.join(name);
            let mut bytes = [0; HEADER_BYTES];
            File::open(&path)
                .and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes))
                .map_err(Error::output(&path))?;
            Header::decode(&bytes, kind, Some(entity), schema_hash()).map_err(Error::self_check)
        };
        Entity::all()
            .map(|entity| {
                let ids = header_of(FileKind::Ids, entity)?;
                let redirects = header_of(FileKind::Redirects, entity)?;
                let counts =
                    Counts { published: ids.published, rows: ids.rows, redirects: redirects.rows };
                Ok((entity.facts().plural.to_string(), counts))
            })
            .collect()
    }

    /// The accounting of all lists of deleted ids, under their name; `None` without such a list.
    fn deleted_tally(&self, rows: &[Rows]) -> Result<Option<(String, SideTally)>> {
        let reports = || self.objects.iter().map(|object| object.report());
        let sum = |counts: fn(&PartReport) -> &BTreeMap<String, u64>| -> u64 {
            reports().filter_map(|report| counts(report).get(DELETED_IDS)).sum()
        };
        let (read, quarantined) = (sum(|report| &report.read), sum(|report| &report.quarantined));
        let joined: u64 = rows.iter().map(|rows| rows.deletions.joined).sum();
        let unmatched = read.checked_sub(joined + quarantined).ok_or_else(|| {
            Error::Internal(format!("the accounting of {DELETED_IDS} does not close: {read} rows"))
        })?;
        let tally = SideTally { read, joined, unmatched, quarantined };
        Ok((read > 0).then(|| (DELETED_IDS.to_owned(), tally)))
    }

    /// The accounting of every entity. Fails if an entity's accounting does not close.
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
            for (code, count) in rows[entity as usize].warnings() {
                *warnings.entry(code.to_string()).or_default() += count;
            }
            let mut tally = rows[entity as usize].tally;
            tally.dangling = dangling[entity as usize];
            let published = counts.get(name).map_or(0, |counts| counts.published);
            // The list of institution types keeps one type of each code.
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
