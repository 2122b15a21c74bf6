//! Indexing: the term lists, orders and dictionaries by which lists are filtered, sorted and searched.
//!
//! Takes the written records, ids, names and citations of a snapshot. Gives the index files of every entity.
//!
//! ```text
//! records ─extract→ terms       ─→ runs, one per chunk of 65,536 rows ─┐
//!                   words       ─→ runs, one per chunk                 ├─merge→ term lists, dictionaries,
//!                   order values ─sort→ one run per order              │        prefix statistics, orders, targets
//!                   target rows ─→ one run                             │
//! previous snapshot: the same files, behind a map from old rows to new ┘
//! ```
//!
//! From scratch all records are extracted, and there is no previous snapshot. Otherwise only changed records are
//! extracted, and each file of the previous snapshot is one more run of the merge (`unchanged`). Each kind of file has its
//! runs, its old run and its merge in one module: `term_lists`, `orders`, `dictionary`, `prefix_stats`,
//! `targets`, `full_text`. From the finished lists and orders follow the `crossings`.
//!
//! All threads read records in row order, batch by batch. One order is sorted while the one before is written. Memory does
//! not grow with the number of rows, except for bitmaps of rows.
//!
//! Imports `link/{atomic_bitset, column, context, previous, radix_sort, resolve, take_over}`.

pub(crate) mod crossings;
pub(crate) mod dictionary;
pub(crate) mod directory;
pub(crate) mod extract;
pub(crate) mod full_text;
pub(crate) mod gather;
pub(crate) mod orders;
pub(crate) mod prefix_stats;
pub(crate) mod runs;
pub(crate) mod sort_key;
pub(crate) mod targets;
pub(crate) mod term_lists;
pub(crate) mod unchanged;

use std::{collections::BTreeMap, path::Path};

use pinakes_format::autocomplete::Ranking;
use pinakes_format::entity::Entity;
use pinakes_format::index::dictionary::Dictionary;
use pinakes_format::index::orders::OrdersFile;
use pinakes_format::schema::{Keys, keys_of, text_paths};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{Counts, FileKind, Spool};

use crate::error::{Error, Result};
use crate::link::context::{Linker, WrittenFile, inconsistent_object, unreadable};
use crate::link::index::dictionary::names::NameRuns;
use crate::link::index::dictionary::word_state::WordStateWriter;
use crate::link::index::dictionary::{DictionaryRuns, OldDictionary, WordStats, write_dictionary};
use crate::link::index::directory::EntityDirectory;
use crate::link::index::extract::{Extractor, Reads};
use crate::link::index::full_text::TermRuns;
use crate::link::index::gather::IndexBuilders;
use crate::link::index::orders::old::OldOrders;
use crate::link::index::orders::{OrderWriter, SORTED_TOGETHER};
use crate::link::index::prefix_stats::PrefixStats;
use crate::link::index::term_lists::Sorting;
use crate::link::index::unchanged::{Earlier, Unchanged};
use crate::link::take_over::{TakeOver, TakenPart};
use crate::parallel;
use crate::parallel::cost::Phase;
use crate::terminal::progress::Bar;

/// The index files of an entity.
const INDEXES: [FileKind; 8] = [
    FileKind::TermLists,
    FileKind::Orders,
    FileKind::Words,
    FileKind::PrefixStats,
    FileKind::Alternatives,
    FileKind::Targets,
    FileKind::FullText,
    FileKind::Crossings,
];

/// The index files of an entity, and the state of its words for the next link.
pub(crate) struct EntityIndexes {
    pub entity: Entity,
    pub files: Vec<WrittenFile>,
    /// The state of the words, if the entity has names.
    pub words: Option<Spool>,
    /// The number of records whose entries were taken over from the previous snapshot.
    pub reused: u64,
}

/// An entity whose records are extracted, or why that failed.
struct Gathered<'e, 'k> {
    /// The rows that are taken over; `None` from scratch.
    unchanged: Option<&'e Unchanged<'e>>,
    builders: std::result::Result<IndexBuilders<'k>, TakeOver>,
}

impl Linker<'_> {
    /// Writes the indexes of every entity. Records, ids and names are in the directory.
    pub(crate) fn write_indexes(
        &self,
        directory: &Path,
        counts: BTreeMap<String, Counts>,
        earlier: Option<Earlier<'_>>,
    ) -> Result<Vec<EntityIndexes>> {
        let draft = Snapshot::open_draft(directory, counts).map_err(Error::self_check)?;
        let rows: u64 = Entity::all().map(|entity| u64::from(draft.count(entity))).sum();
        let bar = self.progress.begin("index", "records", rows, rows).recorded(Phase::Link);
        let out = |entity| EntityDirectory { draft: &draft, entity, path: directory };
        let find_unchanged = |entity| -> Result<_> {
            let Some(earlier) = earlier else { return Ok(None) };
            let found = Unchanged::find(self, earlier, entity, draft.count(entity));
            Ok(self.not_taken_over.or_note(TakenPart::Indexes, entity, found)?.flatten())
        };
        let indexed = Entity::all().filter(|entity| !keys_of(*entity).keys.is_empty());
        let mut entities: Vec<Entity> = indexed.collect();
        entities.sort_by_key(|entity| draft.rows(*entity));
        let Some(largest) = entities.pop().map(out) else { return Ok(Vec::new()) };
        // Gathering uses all threads. Merging the largest entity uses few; the others index the other entities
        // meanwhile.
        let unchanged = find_unchanged(largest.entity)?;
        let gathered = self.gather_entity(&largest, unchanged.as_ref(), &bar);
        let index = |entity| {
            let (out, unchanged) = (out(entity), find_unchanged(entity)?);
            let gathered = self.gather_entity(&out, unchanged.as_ref(), &bar);
            self.index(&out, gathered, &bar)
        };
        let (first, others) = parallel::join(
            || self.index(&largest, gathered, &bar),
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

    fn gather_entity<'e>(
        &self,
        out: &EntityDirectory<'_>,
        unchanged: Option<&'e Unchanged<'e>>,
        bar: &Bar,
    ) -> Gathered<'e, 'static> {
        Gathered { unchanged, builders: self.gather(out, unchanged, bar) }
    }

    /// Writes the indexes of an entity from what was gathered. If the previous snapshot cannot be read, makes all of
    /// them from scratch. Any other error ends the run.
    fn index(
        &self,
        out: &EntityDirectory<'_>,
        gathered: Gathered<'_, '_>,
        bar: &Bar,
    ) -> Result<EntityIndexes> {
        let Gathered { unchanged, builders } = gathered;
        let written = builders.and_then(|builders| self.write_index(out, builders, unchanged));
        let written = self.not_taken_over.or_note(TakenPart::Indexes, out.entity, written)?;
        if let Some(written) = written {
            return Ok(written);
        }
        // Some of the files are begun.
        for kind in INDEXES {
            out.remove(kind)?;
        }
        let builders = self.gather(out, None, bar);
        let written = builders.and_then(|builders| self.write_index(out, builders, None));
        written.map_err(TakeOver::into_error)
    }

    /// Merges the runs and columns of an entity into its index files.
    fn write_index(
        &self,
        out: &EntityDirectory<'_>,
        builders: IndexBuilders<'_>,
        unchanged: Option<&Unchanged<'_>>,
    ) -> std::result::Result<EntityIndexes, TakeOver> {
        let EntityDirectory { draft, entity, .. } = *out;
        let keys = keys_of(entity);
        let IndexBuilders { mut inverter, columns, names, dropped_names, targets, texts } =
            builders;
        let lists = || {
            let header = out.header_counting(FileKind::TermLists, keys.lists.len() as u64);
            let memory_bytes = self.index_bytes() / 4;
            let sorting = Sorting { scratch: &self.scratch, memory_bytes };
            parallel::step("term lists", || {
                out.write(FileKind::TermLists, |path| {
                    inverter.write(path, header, unchanged, sorting)
                })
            })
        };
        let lists = || (!keys.lists.is_empty()).then(lists).transpose();
        let orders = || parallel::step("orders", || self.write_orders(out, columns, unchanged));
        let orders = || (!keys.orders.is_empty()).then(orders).transpose();
        let names = || self.write_names(out, names, dropped_names, unchanged);
        let names = || keys.has_names().then(names).transpose();
        let targets = || {
            let write = |of: targets::Targets| {
                parallel::step("targets", || {
                    out.write(FileKind::Targets, |_| of.finish(keys, unchanged, draft))
                })
            };
            targets.map(write).transpose()
        };
        let full_text = || {
            let has_texts = self.has_search && text_paths(entity).is_some();
            has_texts.then(|| self.write_full_text(out, texts, unchanged)).transpose()
        };
        let crossings = || parallel::step("crossings", || self.write_crossings(out));
        let crossings = || (!keys.counted.is_empty()).then(crossings).transpose();
        // The crossings count along the orders the rows of the lists.
        let filters = || -> std::result::Result<Vec<WrittenFile>, TakeOver> {
            let (orders, lists) = parallel::join(orders, lists);
            let files = orders?.into_iter().chain(lists?);
            Ok(files.chain(crossings()?).collect())
        };
        // Orders first: they take the longest, and where they leave a thread idle it finds other work.
        let others = || parallel::join(full_text, targets);
        let ((filters, names), (full_text, targets)) = match is_ranked_by_rows(keys) {
            true => {
                let (filters, (names, others)) =
                    parallel::join(filters, || parallel::join(names, others));
                ((filters, names), others)
            }
            false => parallel::join(|| (filters(), names()), others),
        };
        let mut files = filters?;
        files.extend(targets?);
        files.extend(full_text?);
        let names = names?;
        let words = names.map(|names| {
            files.extend(names.files);
            names.state
        });
        let reused = unchanged.map_or(0, |unchanged| unchanged.count);
        Ok(EntityIndexes { entity, files, words, reused })
    }

    fn write_orders(
        &self,
        out: &EntityDirectory<'_>,
        mut columns: orders::Columns<'_>,
        unchanged: Option<&Unchanged<'_>>,
    ) -> std::result::Result<WrittenFile, TakeOver> {
        let old = |unchanged| {
            Ok::<_, TakeOver>(OldOrders {
                unchanged,
                extractor: Extractor::new(out.draft, Reads::New, out.entity)?,
                old_extractor: Extractor::new(unchanged.old(), Reads::Previous, out.entity)?,
            })
        };
        let writer = OrderWriter {
            draft: out.draft,
            entity: out.entity,
            scratch: &self.scratch,
            memory_bytes: self.index_bytes() / SORTED_TOGETHER,
            old: unchanged.map(old).transpose()?,
        };
        let header = out.header(FileKind::Orders);
        out.write(FileKind::Orders, |path| columns.write(&writer, path, header))
    }

    /// Writes the full-text index.
    fn write_full_text(
        &self,
        out: &EntityDirectory<'_>,
        texts: TermRuns,
        unchanged: Option<&Unchanged<'_>>,
    ) -> std::result::Result<WrittenFile, TakeOver> {
        let old = match unchanged {
            None => None,
            Some(of) => {
                let index = of
                    .old()
                    .full_text(out.entity)
                    .map_err(TakeOver::at(out.entity, None::<u32>))?;
                let lost = || TakeOver::contradiction("there is no full-text index");
                Some((of, index.ok_or_else(lost)?))
            }
        };
        let header = out.header(FileKind::FullText);
        let sorting = Sorting { scratch: &self.scratch, memory_bytes: self.index_bytes() / 4 };
        parallel::step("texts", || {
            out.write(FileKind::FullText, |path| texts.write(path, header, old, sorting))
        })
    }

    /// Writes the dictionaries and prefix statistics, and the state of the words. Needs the entity's orders, unless
    /// the rows are ranked by citations.
    fn write_names(
        &self,
        out: &EntityDirectory<'_>,
        names: NameRuns,
        dropped: NameRuns,
        unchanged: Option<&Unchanged<'_>>,
    ) -> std::result::Result<NameFiles, TakeOver> {
        let keys = keys_of(out.entity);
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
                let number = keys.ranking().ok_or_else(inconsistent_object)?;
                let order = orders.order(number, &keys.orders[number], ids);
                Ranking::new(order.map_err(unreadable(out.entity, None::<u32>))?, ids)
            }
        };
        let write = |kind, runs: DictionaryRuns, words: Option<WordStats<'_, '_>>| {
            let old =
                unchanged.map(|unchanged| self.old_dictionary(unchanged, kind)).transpose()?;
            let header = out.header(kind);
            out.write(kind, |path| write_dictionary(runs, old.as_ref(), path, header, words))
        };
        let write_words = || {
            let mut prefixes = PrefixStats::new(ranking, rows, &self.scratch, self.index_bytes());
            let mut state = WordStateWriter::new(&self.scratch);
            let runs = DictionaryRuns { texts: names.words, dropped: dropped.words };
            let stats = WordStats { prefixes: &mut prefixes, state: &mut state };
            let words = parallel::step("words", || write(FileKind::Words, runs, Some(stats)))?;
            // The sets of frequent prefixes come from the finished words.
            let dictionary =
                Dictionary::open(out.open(FileKind::Words)?).map_err(Error::self_check)?;
            let header = out.header(FileKind::PrefixStats);
            let prefix_stats = parallel::step("prefix statistics", || {
                out.write(FileKind::PrefixStats, |path| {
                    Ok(prefixes.write(&dictionary, rows, path, header)?)
                })
            })?;
            Ok::<_, TakeOver>(NameFiles { files: vec![words, prefix_stats], state: state.finish() })
        };
        let runs = DictionaryRuns { texts: names.alternatives, dropped: dropped.alternatives };
        let (words, alternatives) = parallel::join(write_words, || {
            let write =
                || parallel::step("alternatives", || write(FileKind::Alternatives, runs, None));
            keys.has_alternatives().then(write).transpose()
        });
        let mut files = words?;
        files.files.extend(alternatives?);
        Ok(files)
    }

    /// Opens a dictionary of the previous snapshot.
    fn old_dictionary<'u>(
        &'u self,
        unchanged: &'u Unchanged<'u>,
        kind: FileKind,
    ) -> std::result::Result<OldDictionary<'u>, TakeOver> {
        let (entity, old) = (unchanged.entity, unchanged.old());
        let (dictionary, state) = match kind {
            FileKind::Words => {
                let words = old.words(entity).map_err(TakeOver::at(entity, None::<u32>))?;
                (words, unchanged.previous.state.words(entity))
            }
            _ => {
                let lost = TakeOver::contradiction("there are no alternative names");
                let found = old.alternatives(entity).map_err(TakeOver::at(entity, None::<u32>))?;
                (found.ok_or(lost)?, &[][..])
            }
        };
        Ok(OldDictionary { unchanged, dictionary, state, scratch: &self.scratch })
    }
}

/// The dictionaries and prefix statistics of an entity, and the state of its words.
struct NameFiles {
    files: Vec<WrittenFile>,
    state: Spool,
}

/// Whether names are ranked in the order of the rows.
fn is_ranked_by_rows(keys: &Keys) -> bool {
    keys.ranking().is_some_and(|number| keys.orders[number].is_row_order)
}
