//! The records that `--where` selects and all records they refer to; without `--where`, all records.
//! Minus the records that `--suppress` lists.
//!
//! ```text
//! --where outputs:year:2020     matches  W1, W7
//! follow references             A3, S2 (from W1), A9 (from W7), P4 (from S2)
//! renumber                      kept rows keep their order, without gaps
//! ```
//!
//! The records are merged and resolved as for a full snapshot, and counts, siblings and children are
//! those of the full snapshot. Only then are rows dropped.
//!
//! Memory: one bit for each row while selecting, half a bit more while renumbering. Cost: one link
//! and filter evaluation for each record of a filtered entity, and one read for each kept record.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::{BufWriter, Write};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::word_bits;
use pinakes_format::index::encoding::ReferenceLookup;
use pinakes_format::query::Predicate;
use pinakes_format::record::{NO_CODE, Table};
use pinakes_format::storage::unnamed_file;

use crate::error::{Error, Result};
use crate::external_sort::Spill;
use crate::link::atomic_bitset::{AtomicBitset, RankBitset};
use crate::link::column::{Column, IdRow, IdRows};
use crate::link::context::{Linker, Segments, broken_object, inconsistent_object};
use crate::link::merge::entity_rows::EntityRows;
use crate::link::record::linker::RecordLinker;
use crate::link::record::type_sums::{TypeSums, read_type_sums};
use crate::link::resolve::renumbering::Renumbering;
use crate::link::resolve::resolved::ResolvedSymbols;
use crate::link::resolve::unresolved::{UnresolvedSymbol, UnresolvedSymbols};
use crate::link::select::full_records::FullRecords;
use crate::link::select::suppressed::Suppressed;
use crate::link::selection::RecordSelection;
use crate::parallel;
use crate::read::institution_types::FIXED;

/// Words of 64 rows in one thread's task.
const WORDS_PER_TASK: usize = 32;

/// The kept rows and codes, marked by all threads.
struct Reached {
    /// By entity; rows of unresolved references follow the records.
    rows: Vec<AtomicBitset>,
    codes: AtomicBitset,
}

/// A selected subset, and facts about the full records that writing the subset needs.
pub(crate) struct Subset {
    pub renumbering: Renumbering,
    /// Sums of all institutions by type, with the code numbers of the subset.
    pub type_sums: TypeSums,
    /// By the new row of a suppressed source's placeholder, the code of the source's type.
    pub placeholder_types: BTreeMap<u32, u32>,
    /// Listed ids that `--suppress` did not find.
    pub unknown_ids: u64,
}

impl Linker<'_> {
    /// Selects the subset. `linker` links the full records.
    ///
    /// Fails if no record matches and the selection requires one.
    pub(crate) fn select(
        &self,
        selection: &RecordSelection,
        linker: &RecordLinker<'_, '_>,
    ) -> Result<Subset> {
        let mut full = FullRecords::new(linker)?;
        full.suppressed =
            Suppressed::find(selection.suppression(), &full).map_err(broken_object(None, None))?;
        let reached = Reached::new(&full);
        if selection.has_queries() {
            let mut matches = 0;
            for query in selection.queries() {
                let predicate = Predicate::new(query, &full);
                let predicate = predicate.map_err(broken_object(query.entity, None))?;
                matches += full.mark_matches(query.entity, &predicate, &reached)?;
            }
            if matches == 0 && !selection.allows_none() {
                return Err(Error::NoneMatch);
            }
            full.follow(&reached)?;
        } else {
            full.mark_unsuppressed(&reached)?;
        }
        // The list of institution types is complete in every subset.
        let types = Entity::InstitutionType;
        (0..full.count(types))
            .for_each(|row| _ = reached.rows[types as usize].insert(row as usize));
        for fixed in &FIXED {
            let code = linker.inputs.resolved.unresolved.code(Table::InstitutionType, fixed.code);
            reached.insert_code(code.ok_or_else(inconsistent_object)?)?;
        }
        let sources = full.suppressed.records(Entity::Source).iter();
        let types: Vec<(u32, u32)> =
            sources.filter_map(|row| Some((*row, linker.source_type(*row)?))).collect();
        for (_, code) in types.iter().filter(|(_, code)| *code != NO_CODE) {
            reached.insert_code(*code)?;
        }
        let unknown_ids = full.suppressed.unknown_ids;
        let renumbering = full.into_renumbering(reached);
        let type_sums = read_type_sums(linker.inputs)?;
        let type_sums = type_sums
            .into_iter()
            .filter_map(|(code, sum)| Some((renumbering.codes.rank(code)?, sum)))
            .collect();
        let placeholder_types = types.into_iter().filter_map(|(row, code)| {
            let code = if code == NO_CODE { code } else { renumbering.codes.rank(code)? };
            Some((renumbering.row(Entity::Source, row)?, code))
        });
        let placeholder_types = placeholder_types.collect();
        Ok(Subset { renumbering, type_sums, placeholder_types, unknown_ids })
    }

    /// Drops the rows and symbols outside the subset.
    pub(crate) fn keep_subset(
        &self,
        rows: Vec<EntityRows>,
        resolved: ResolvedSymbols,
        renumbering: Renumbering,
        segments: &[Segments<'_>],
    ) -> Result<(Vec<EntityRows>, ResolvedSymbols)> {
        let unresolved = self.keep_unresolved(&rows, &resolved.unresolved, &renumbering)?;
        let rows = rows
            .into_iter()
            .zip(Entity::all())
            .zip(segments)
            .map(|((rows, entity), segments)| self.keep_rows(rows, entity, &renumbering, segments))
            .collect::<Result<Vec<EntityRows>>>()?;
        Ok((rows, resolved.renumbered(unresolved, renumbering)))
    }

    fn keep_rows(
        &self,
        rows: EntityRows,
        entity: Entity,
        renumbering: &Renumbering,
        segments: &Segments<'_>,
    ) -> Result<EntityRows> {
        let count = rows.order.len();
        let mut suppressed = 0;
        for row in renumbering.placeholders[entity as usize].records() {
            let (_, _, place) =
                rows.locate(*row as usize, segments).ok_or_else(inconsistent_object)?;
            suppressed += u64::from(place.origin.is_read());
        }
        // Kept records keep their order, so that their new rows are their ranks among the kept rows.
        let kept = &renumbering.rows[entity as usize];
        let file = self.scratch_result(unnamed_file(&self.scratch))?;
        let mut order = BufWriter::with_capacity(1 << 18, file);
        let (mut read, mut derived) = (0, 0);
        for row in kept.iter().map(|row| row as usize).take_while(|row| *row < count) {
            let (_, _, place) = rows.locate(row, segments).ok_or_else(inconsistent_object)?;
            let tally = if place.origin.is_read() { &mut read } else { &mut derived };
            *tally += 1;
            let position = rows.order.get(row).ok_or_else(inconsistent_object)?;
            self.scratch_result(order.write_all(position))?;
        }
        let by_id = self.scratch_result(self.keep_ids(&rows.by_id, kept))?;
        // Excluded are the lines that were published in full and are neither kept nor suppressed.
        let mut tally = rows.tally;
        tally.suppressed = suppressed;
        tally.excluded = tally.published_from_input - read - suppressed;
        (tally.published_from_input, tally.derived) = (read, derived);
        let order = self.scratch_result(Column::map(order, EntityRows::ORDER_BYTES))?;
        Ok(EntityRows { order, by_id, contents: None, tally, ..rows })
    }

    fn keep_ids(&self, by_id: &IdRows, kept: &RankBitset) -> io::Result<IdRows> {
        let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        for IdRow { id, row } in by_id.iter() {
            if let Some(row) = kept.rank(row) {
                IdRow { id, row }.write(&mut file)?;
            }
        }
        IdRows::map(file, &self.scratch)
    }

    fn keep_unresolved(
        &self,
        rows: &[EntityRows],
        unresolved: &UnresolvedSymbols,
        renumbering: &Renumbering,
    ) -> Result<UnresolvedSymbols> {
        let symbol_at = |index: usize| {
            let symbol = unresolved.get(index).map(UnresolvedSymbol::from);
            symbol.ok_or_else(|| io::Error::other("an unresolved symbol cannot be read"))
        };
        let of_entity = |entity: Entity| {
            let count = rows[entity as usize].order.len();
            let kept = &renumbering.rows[entity as usize];
            let indices = unresolved.range(entity as u8);
            let indices = indices.clone().filter(move |index| {
                let row = u32::try_from(count + (index - indices.start)).ok();
                row.is_some_and(|row| kept.rank(row).is_some())
            });
            let placeholders = &renumbering.placeholders[entity as usize];
            placeholders.merge_into(entity, indices.map(symbol_at))
        };
        let codes = unresolved
            .codes()
            .filter(|index| renumbering.codes.rank(unresolved.code_number(*index)).is_some());
        let all = Entity::all().flat_map(of_entity).chain(codes.map(symbol_at));
        self.scratch_result(self.write_unresolved(all, |_, _| Ok(())))
    }
}

impl Reached {
    fn new(full: &FullRecords<'_, '_, '_>) -> Reached {
        let of_entity = |entity| AtomicBitset::new(full.all_rows(entity) as usize);
        let rows = Entity::all().map(of_entity).collect();
        Reached { rows, codes: AtomicBitset::new(full.codes.len()) }
    }

    fn insert_row(&self, entity: Entity, row: u32) -> Result<()> {
        self.rows[entity as usize]
            .insert(row as usize)
            .then_some(())
            .ok_or_else(inconsistent_object)
    }

    fn insert_code(&self, code: u32) -> Result<()> {
        self.codes.insert(code as usize).then_some(()).ok_or_else(inconsistent_object)
    }
}

impl FullRecords<'_, '_, '_> {
    /// Numbers the reached rows and codes, and makes the placeholders.
    fn into_renumbering(mut self, reached: Reached) -> Renumbering {
        let rows: Vec<RankBitset> =
            reached.rows.into_iter().map(AtomicBitset::into_rank_bitset).collect();
        let suppressed = std::mem::take(&mut self.suppressed);
        let first_unresolved = |entity, id| self.unresolved_with(entity, id).start;
        let placeholders = suppressed.into_placeholders(&rows, first_unresolved);
        Renumbering { rows, codes: reached.codes.into_rank_bitset(), placeholders }
    }

    /// Marks a row, or the need for a placeholder if the row is suppressed.
    fn mark(&self, entity: Entity, row: u32, reached: &Reached) -> Result<()> {
        if self.suppressed.note_reference(entity, row) {
            return Ok(());
        }
        reached.insert_row(entity, row)
    }

    /// Marks every row that is not suppressed, except unresolved references that only suppressed
    /// records make.
    fn mark_unsuppressed(&self, reached: &Reached) -> Result<()> {
        let mut orphaned: BTreeSet<(Entity, u32)> = BTreeSet::new();
        for entity in Entity::all() {
            let count = self.count(entity);
            let mut others = (0..count).filter(|row| !self.suppressed.has(entity, *row));
            others.try_for_each(|row| reached.insert_row(entity, row))?;
            for row in self.suppressed.records(entity) {
                self.each_target(entity, *row, |target, row| {
                    let unresolved = target.filter(|target| row >= self.count(*target));
                    orphaned.extend(unresolved.map(|target| (target, row)));
                    Ok(())
                })?;
            }
        }
        // Other records may make the same references. Finding these records means reading all of
        // them, so skip that if there is nothing to find.
        if !orphaned.is_empty() {
            self.follow(reached)?;
        }
        for entity in Entity::all() {
            let unresolved = self.count(entity)..self.all_rows(entity);
            let mut kept = unresolved.filter(|row| {
                !self.suppressed.has(entity, *row) && !orphaned.contains(&(entity, *row))
            });
            kept.try_for_each(|row| reached.insert_row(entity, row))?;
        }
        (0..self.codes.len() as u32).try_for_each(|code| reached.insert_code(code))?;
        self.suppressed.note_all_references();
        Ok(())
    }

    /// Marks the records that match the predicate and returns their number.
    fn mark_matches(
        &self,
        entity: Entity,
        predicate: &Predicate,
        reached: &Reached,
    ) -> Result<u64> {
        let words = reached.rows[entity as usize].word_count();
        let count = self.count(entity);
        let tasks = (0..words.div_ceil(WORDS_PER_TASK)).collect();
        let matches = parallel::try_map(tasks, |task| {
            let rows = WORDS_PER_TASK as u32 * 64;
            let from = task as u32 * rows;
            let mut matches = 0;
            for row in from..from.saturating_add(rows).min(count) {
                if self.suppressed.has(entity, row) {
                    continue;
                }
                if predicate.is_true_of(self, row).map_err(broken_object(entity, row))? {
                    reached.insert_row(entity, row)?;
                    matches += 1;
                }
            }
            Ok::<u64, Error>(matches)
        })?;
        Ok(matches.into_iter().sum())
    }

    /// Marks every record that a marked record refers to, directly or through others.
    ///
    /// Repeats rounds over all entities until a round finds no new row.
    fn follow(&self, reached: &Reached) -> Result<()> {
        let mut followed: Vec<Vec<u64>> =
            reached.rows.iter().map(|rows| vec![0; rows.word_count()]).collect();
        loop {
            let mut has_more = false;
            for (entity, followed) in Entity::all().zip(&mut followed) {
                has_more |= self.follow_entity(entity, followed, reached)?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Follows the marked records of an entity that are not in `followed`. Returns whether there
    /// were any.
    fn follow_entity(
        &self,
        entity: Entity,
        followed: &mut [u64],
        reached: &Reached,
    ) -> Result<bool> {
        let rows = &reached.rows[entity as usize];
        let count = self.count(entity);
        let follow_word = |at: usize, followed: &mut u64| {
            let fresh = rows.word(at) & !*followed;
            *followed |= fresh;
            // Unresolved references have no record to follow.
            word_bits(at, fresh)
                .filter(|row| *row < count)
                .try_for_each(|row| self.follow_row(entity, row, reached))
                .map(|()| fresh != 0)
        };
        let tasks = followed.chunks_mut(WORDS_PER_TASK).enumerate().collect();
        let had_any = parallel::try_map(tasks, |(task, words): (usize, &mut [u64])| {
            let mut had_any = false;
            for (at, word) in words.iter_mut().enumerate() {
                had_any |= follow_word(task * WORDS_PER_TASK + at, word)?;
            }
            Ok::<_, Error>(had_any)
        })?;
        Ok(had_any.contains(&true))
    }

    fn follow_row(&self, entity: Entity, row: u32, reached: &Reached) -> Result<()> {
        self.each_target(entity, row, |target, number| match target {
            Some(entity) => self.mark(entity, number, reached),
            None => reached.insert_code(number),
        })
    }
}
