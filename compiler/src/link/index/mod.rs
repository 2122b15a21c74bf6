//! Indexing: the term lists, orders and dictionaries by which lists are filtered, sorted and searched.
//!
//! Takes the written records, ids, names and citations of a snapshot. Gives the index files of every entity.
//!
//! ```text
//! records ─extract→ terms       ─invert→ runs, one per chunk of 65,536 rows ─merge→ term lists
//!                   target rows ──────────────────────────────────────────────────→ targets
//!                   order values ────────────────────────────────────────────rank→ orders
//!                   words, names ─────→ runs, one per chunk ──────────────────merge→ dictionaries,
//!                                                                                  prefix statistics
//! ```
//!
//! All threads read records in row order, batch by batch. Terms and words are sorted in memory, written
//! as one run per chunk, and merged term by term. Order values are written as columns. One order is sorted while the
//! one before is written. Memory does not grow with the number of rows, except for bitmaps of rows.
//! If the previous snapshot is at hand, only changed records are read, and `renumber/` takes the entries of the
//! others over. Imports `link/{column, context, previous, radix_sort, resolve}`.

pub(crate) mod dictionary;
pub(crate) mod extract;
pub(crate) mod gather;
pub(crate) mod invert;
pub(crate) mod names;
pub(crate) mod order_values;
pub(crate) mod prefix_stats;
pub(crate) mod rank;
pub(crate) mod renumber;
pub(crate) mod runs;
pub(crate) mod value;
pub(crate) mod word_state;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use pinakes_format::autocomplete::Ranking;
use pinakes_format::entity::Entity;
use pinakes_format::index::dictionary::Dictionary;
use pinakes_format::index::orders::OrdersFile;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::schema::keys::{Keys, Terms, keys_of};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::{OpenError, Snapshot, archive_path, open_draft_archive};
use pinakes_format::storage::archive::Archive;
use pinakes_format::storage::blobs::Spool;
use pinakes_format::storage::file_writer::{VALUES, Written};
use pinakes_format::storage::header::{FileKind, Header};
use pinakes_format::storage::manifest::Counts;

use crate::error::{Error, Result};
use crate::link::context::{Linker, WrittenFile, inconsistent_object, readable};
use crate::link::index::dictionary::write_dictionary;
use crate::link::index::extract::Extractor;
use crate::link::index::gather::{IndexBuilders, TargetsBuilder};
use crate::link::index::names::{NameRuns, TextRuns};
use crate::link::index::prefix_stats::PrefixStats;
use crate::link::index::renumber::lists::OldLists;
use crate::link::index::renumber::orders::OrderRenumbering;
use crate::link::index::renumber::words::{OldWords, write_renumbered};
use crate::link::index::renumber::{Unchanged, mismatch};
use crate::link::index::word_state::WordStateWriter;
use crate::link::previous::Previous;
use crate::link::resolve::changes::Changes;
use crate::terminal::progress::Bar;

/// The path by which names are ranked.
const CITED: &str = "cited_by_count";
/// The index files of an entity.
const INDEXES: [FileKind; 6] = [
    FileKind::TermLists,
    FileKind::Orders,
    FileKind::Words,
    FileKind::PrefixStats,
    FileKind::Alternatives,
    FileKind::Targets,
];

/// The index files of an entity, and the state of its words for the next link.
pub(crate) struct Indexed {
    pub entity: Entity,
    pub files: Vec<WrittenFile>,
    /// The state of the words, if the entity has names.
    pub words: Option<Spool>,
    /// The number of records whose entries were taken over from the previous snapshot.
    pub reused: u64,
}

impl Linker<'_> {
    /// Writes the indexes of every entity. Records, ids and names are in the directory.
    pub(crate) fn write_indexes(
        &self,
        directory: &Path,
        counts: BTreeMap<String, Counts>,
        previous: Option<(&Previous, &Changes)>,
    ) -> Result<Vec<Indexed>> {
        let draft = Snapshot::open_draft(directory, counts).map_err(Error::self_check)?;
        let rows: u64 = Entity::all().map(|entity| u64::from(draft.count(entity))).sum();
        let bar = self.progress.begin("index", "records", rows, rows);
        let out = |entity| EntityDirectory { draft: &draft, entity, path: directory };
        let unchanged = |entity| match previous {
            Some((previous, changes)) => {
                Unchanged::find(self, previous, changes, (entity, draft.count(entity)))
            }
            None => Ok(None),
        };
        let indexed = Entity::all().filter(|entity| !keys_of(*entity).keys.is_empty());
        let mut entities: Vec<Entity> = indexed.collect();
        entities.sort_by_key(|entity| draft.rows(*entity));
        let Some(largest) = entities.pop().map(out) else { return Ok(Vec::new()) };
        let unchanged_largest = unchanged(largest.entity)?;
        let unchanged_largest = unchanged_largest.as_ref();
        // Gathering uses all threads. Merging the largest entity uses few; the others index the other entities
        // meanwhile.
        let gathered = self.gather(&largest, unchanged_largest, &bar);
        let index = |entity| {
            let (out, unchanged) = (out(entity), unchanged(entity)?);
            let gathered = self.gather(&out, unchanged.as_ref(), &bar);
            self.index(&out, gathered, unchanged.as_ref(), &bar)
        };
        let (first, others) = rayon::join(
            || self.index(&largest, gathered, unchanged_largest, &bar),
            || entities.into_iter().map(index).collect::<Result<Vec<_>>>(),
        );
        bar.end();
        let mut all = others?;
        all.push(first?);
        Ok(all)
    }

    /// Bytes one sorter may hold while two entities are indexed concurrently.
    fn index_bytes(&self) -> usize {
        self.sorter_bytes() / 2
    }

    /// Writes the indexes of an entity from what was gathered. If entries of the previous snapshot cannot be
    /// taken over, for instance because a file is damaged, makes all of them from scratch.
    fn index(
        &self,
        out: &EntityDirectory<'_>,
        gathered: Result<IndexBuilders<'_>>,
        unchanged: Option<&Unchanged<'_>>,
        bar: &Bar,
    ) -> Result<Indexed> {
        let written = gathered.and_then(|gathered| self.write_index(out, gathered, unchanged));
        if unchanged.is_none() || written.is_ok() {
            return written;
        }
        for kind in INDEXES {
            out.remove(kind)?;
        }
        self.write_index(out, self.gather(out, None, bar)?, None)
    }

    /// Merges and sorts the runs and columns of an entity into its index files.
    fn write_index(
        &self,
        out: &EntityDirectory<'_>,
        indexes: IndexBuilders<'_>,
        unchanged: Option<&Unchanged<'_>>,
    ) -> Result<Indexed> {
        let EntityDirectory { draft, entity, .. } = *out;
        let keys = keys_of(entity);
        let IndexBuilders { mut inverter, mut columns, names, dropped_names, targets } = indexes;
        let order_writer = rank::OrderWriter {
            draft,
            entity,
            scratch: &self.scratch,
            memory_bytes: self.index_bytes(),
        };
        let old_lists = |number, terms| {
            let scratch = (self.scratch.as_path(), self.index_bytes() / 4);
            unchanged.map(|of| OldLists::open(of, (number, terms), scratch)).transpose()
        };
        let lists = || {
            let header = out.header_counting(FileKind::TermLists, keys.lists.len() as u64);
            out.write(FileKind::TermLists, |path| inverter.write(path, header, old_lists))
        };
        let orders = || {
            let extractors = unchanged.map(|unchanged| {
                let old = Extractor::new(unchanged.old(), entity, keys)?;
                Ok::<_, Error>((unchanged, Extractor::new(draft, entity, keys)?, old))
            });
            let extractors = extractors.transpose()?;
            let header = out.header(FileKind::Orders);
            out.write(FileKind::Orders, |path| match &extractors {
                None => columns.write(&order_writer, path, header),
                Some((unchanged, extractor, old_extractor)) => {
                    let renumbering = OrderRenumbering { unchanged, extractor, old_extractor };
                    columns.write_renumbered(&order_writer, &renumbering, path, header)
                }
            })
        };
        let orders = || (!keys.orders.is_empty()).then(orders).transpose();
        let names = || match keys.has_names() {
            true => self.write_names(out, keys, (names, dropped_names), unchanged),
            false => Ok((Vec::new(), None)),
        };
        let lists = || (!keys.lists.is_empty()).then(lists).transpose();
        let targets = || match (targets, unchanged) {
            (TargetsBuilder::None, _) => Ok(None),
            (TargetsBuilder::All(writer), _) => {
                out.write(FileKind::Targets, |_| writer.finish()).map(Some)
            }
            (TargetsBuilder::Changed(changed), Some(unchanged)) => {
                let mut writer = out.targets_writer(keys)?;
                let write = |_: &Path| {
                    changed.write(keys, unchanged, draft, &mut writer)?;
                    writer.finish()
                };
                out.write(FileKind::Targets, write).map(Some)
            }
            (TargetsBuilder::Changed(_), None) => Err(inconsistent_object()),
        };
        // The longest work first, so that the threads end together.
        let lists_and_targets = || rayon::join(lists, targets);
        let (names, ((lists, targets), orders)) = match is_ranked_by_rows(keys) {
            true => rayon::join(names, || rayon::join(lists_and_targets, orders)),
            false => {
                let (lists, (orders, names)) =
                    rayon::join(lists_and_targets, || (orders(), names()));
                (names, (lists, orders))
            }
        };
        let mut files: Vec<WrittenFile> =
            lists?.into_iter().chain(orders?).chain(targets?).collect();
        let (dictionaries, words) = names?;
        files.extend(dictionaries);
        let reused = unchanged.map_or(0, |unchanged| unchanged.count);
        Ok(Indexed { entity, files, words, reused })
    }

    /// Writes the dictionaries and prefix statistics, and the state of the words. Needs the entity's orders, unless
    /// the rows are ranked by citations.
    fn write_names(
        &self,
        out: &EntityDirectory<'_>,
        keys: &Keys,
        (names, dropped): (NameRuns, NameRuns),
        unchanged: Option<&Unchanged<'_>>,
    ) -> Result<(Vec<WrittenFile>, Option<Spool>)> {
        let (rows, ids) = (out.draft.count(out.entity), out.draft.ids(out.entity));
        let orders = match is_ranked_by_rows(keys) {
            true => None,
            false => {
                let file = out.open(FileKind::Orders)?;
                let orders = OrdersFile::open(file, &keys.orders, rows as usize);
                Some(orders.map_err(Error::self_check)?)
            }
        };
        let ranking = match &orders {
            None => Ranking::Rows,
            Some(orders) => {
                let number = keys.order(CITED).ok_or_else(inconsistent_object)?;
                Ranking::new(readable(orders.order(number, &keys.orders[number], ids))?, ids)
            }
        };
        type Words<'w, 'p> = Option<(&'w mut PrefixStats<'p>, &'w mut WordStateWriter)>;
        let write = |kind, (changed, dropped): (TextRuns, TextRuns), words: Words<'_, '_>| {
            let header = out.header(kind);
            out.write(kind, |path| {
                let Some(unchanged) = unchanged else {
                    return write_dictionary(changed, path, header, words);
                };
                let old = unchanged.old();
                let (old, state) = match kind {
                    FileKind::Words => {
                        let state = unchanged.previous.state.words(out.entity);
                        (old.words(out.entity).map_err(io::Error::other)?, state)
                    }
                    _ => (old.alternatives(out.entity).ok_or_else(mismatch)?, &[][..]),
                };
                let old = OldWords { unchanged, dictionary: old, state };
                write_renumbered(&old, (changed, dropped), (path, header, &self.scratch), words)
            })
        };
        let write_words = || {
            let mut prefixes = PrefixStats::new(ranking, rows, &self.scratch, self.index_bytes());
            let mut state = WordStateWriter::new(&self.scratch);
            let runs = (names.words, dropped.words);
            let words = write(FileKind::Words, runs, Some((&mut prefixes, &mut state)))?;
            let dictionary =
                Dictionary::open(out.open(FileKind::Words)?).map_err(Error::self_check)?;
            let prefix_stats = out.write(FileKind::PrefixStats, |path| {
                prefixes.write(&dictionary, rows, path, out.header(FileKind::PrefixStats))
            })?;
            Ok::<_, Error>(([words, prefix_stats], state.finish()))
        };
        let runs = (names.alternatives, dropped.alternatives);
        let (words, alternatives) = rayon::join(write_words, || {
            let write = || write(FileKind::Alternatives, runs, None);
            keys.has_alternatives().then(write).transpose()
        });
        let (words, state) = words?;
        Ok((words.into_iter().chain(alternatives?).collect(), Some(state)))
    }
}

/// Whether the rows are in the order of citations.
fn is_ranked_by_rows(keys: &Keys) -> bool {
    keys.order(CITED).is_some_and(|number| keys.orders[number].is_row_order)
}

/// The directory of the snapshot, for the index files of one entity.
struct EntityDirectory<'a> {
    draft: &'a Snapshot,
    entity: Entity,
    path: &'a Path,
}

impl EntityDirectory<'_> {
    fn path_of(&self, kind: FileKind) -> PathBuf {
        self.path.join(archive_path(kind, Some(self.entity)))
    }

    /// The header of a file with one item for each record.
    fn header(&self, kind: FileKind) -> Header {
        self.header_counting(kind, self.draft.count(self.entity).into())
    }

    fn header_counting(&self, kind: FileKind, count: u64) -> Header {
        Header {
            kind,
            entity: Some(self.entity),
            published: count,
            rows: count,
            schema_hash: schema_hash(),
        }
    }

    /// Creates the file of target rows.
    fn targets_writer(&self, keys: &Keys) -> Result<TargetsWriter> {
        let path = self.path_of(FileKind::Targets);
        let rows = keys.targets.iter().map(|number| match keys.lists[*number].terms {
            Terms::Rows(target) => self.draft.rows(target),
            _ => 0,
        });
        let writer = TargetsWriter::create(&path, self.header(FileKind::Targets), rows);
        writer.map_err(Error::output(&path))
    }

    /// Writes an index file and returns it with its path in the snapshot.
    fn write(
        &self,
        kind: FileKind,
        write: impl FnOnce(&Path) -> io::Result<Written>,
    ) -> Result<WrittenFile> {
        let path = self.path_of(kind);
        let written = write(&path).map_err(Error::output(&path))?;
        Ok((archive_path(kind, Some(self.entity)), written))
    }

    /// Removes an index file that may be incomplete.
    fn remove(&self, kind: FileKind) -> Result<()> {
        let path = self.path_of(kind);
        let mut values = path.clone().into_os_string();
        values.push(VALUES);
        for path in [path, values.into()] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::output(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens a written file.
    fn open(&self, kind: FileKind) -> Result<Archive> {
        open_draft_archive(&self.path_of(kind), kind, Some(self.entity)).map_err(|cause| {
            let file = archive_path(kind, Some(self.entity));
            Error::self_check(OpenError { path: self.path.into(), file, cause })
        })
    }
}
