//! The row of every symbol of every segment.
//!
//! Two passes, because the rows of unresolved references are known only when all are:
//!
//! 1. Look up each symbol's id among the rows; send symbols without a record to a sorter.
//! 2. Number the sorted unresolved symbols, sort these numbers by the places of the symbols, and fill them in.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record::Table;
use pinakes_format::storage::unnamed_file;

use crate::error::{Error, Result};
use crate::external_sort::{Sorted, Sorter};
use crate::link::column::{Column, IdRow};
use crate::link::context::{Linker, Segments, check_rows, inconsistent_object};
use crate::link::merge::entity_rows::EntityRows;
use crate::link::resolve::renumbering::Renumbering;
use crate::link::resolve::unresolved::{NO_PLACE, UnresolvedSymbol, UnresolvedSymbols};
use crate::object::{Segment, Symbol};
use crate::parallel;
use crate::read::institution_types::FIXED;

/// Marks a symbol without a record after the first pass.
const UNRESOLVED: u32 = u32::MAX;

/// For each entity and each of its segments, the row of each symbol.
pub(crate) struct ResolvedSymbols {
    /// By entity, then by segment: a range of `numbers`.
    ranges: Vec<Vec<Range<usize>>>,
    /// Rows and codes, one for each symbol.
    numbers: Column,
    pub unresolved: UnresolvedSymbols,
    /// Translates full row numbers into those of a subset, if one is written.
    renumbering: Option<Renumbering>,
}

impl ResolvedSymbols {
    /// Reads the numbers of symbols, each with its segment. Symbols of neighbouring rows are in many segments, so that
    /// each number is a wait for memory: in a loop without other work the processor waits for several at once.
    pub(crate) fn load_together(&self, entity: Entity, symbols: &[(usize, u32)]) {
        let numbers = symbols.iter().filter_map(|(segment_at, symbol)| {
            let range = self.ranges[entity as usize].get(*segment_at)?;
            self.numbers.u32(range.start + *symbol as usize)
        });
        std::hint::black_box(numbers.fold(0, |sum, number| sum ^ number));
    }

    /// Switches to the row numbers of a subset and its unresolved symbols.
    pub(crate) fn renumbered(
        self,
        unresolved: UnresolvedSymbols,
        renumbering: Renumbering,
    ) -> ResolvedSymbols {
        ResolvedSymbols { unresolved, renumbering: Some(renumbering), ..self }
    }

    /// The row or code number of a segment's symbol; `None` if the segment has no such symbol or
    /// the subset drops the row.
    pub(crate) fn number(
        &self,
        entity: Entity,
        segment_at: usize,
        segment: &Segment<'_>,
        symbol: u32,
    ) -> Option<u32> {
        let mut range = self.ranges[entity as usize].get(segment_at)?.clone();
        let number = self.numbers.u32(range.nth(symbol as usize)?)?;
        let Some(renumbering) = &self.renumbering else { return Some(number) };
        match Entity::from_index(segment.symbols.subject(symbol)?.0) {
            Some(entity) => renumbering.row(entity, number),
            None => renumbering.codes.rank(number),
        }
    }
}

impl<'o> Linker<'o> {
    /// Resolves every symbol of every segment. `codes` are extra codes from side tables: the table
    /// and the text.
    pub(crate) fn resolve(
        &self,
        segments: &[Segments<'o>],
        rows: &[EntityRows],
        codes: BTreeSet<(u8, String)>,
    ) -> Result<ResolvedSymbols> {
        let sorter = Mutex::new(Sorter::new(&self.scratch, self.sorter_bytes()));
        let push = |symbols: Vec<UnresolvedSymbol>| {
            let mut sorter = sorter.lock().unwrap_or_else(PoisonError::into_inner);
            symbols.into_iter().try_for_each(|symbol| self.scratch_result(sorter.push(symbol)))
        };
        // Codes that no record may name: the fixed types of institutions, and those of side tables.
        let types = Table::InstitutionType as u8;
        let fixed = FIXED.iter().map(|fixed| UnresolvedSymbol::code(types, fixed.code.to_owned()));
        push(fixed.collect())?;
        let codes = codes.into_iter().map(|(table, code)| UnresolvedSymbol::code(table, code));
        push(codes.collect())?;
        let all: Vec<_> = segments.iter().flatten().collect();
        // First pass: the rows of symbols with a record. All threads share one sorter for the other symbols.
        let first_numbers = self.scratch_result(NumbersFile::new(&self.scratch))?;
        let first_pass = parallel::try_map(all, |segment| {
            let (numbers, mut unresolved) = find_records(segment, rows)?;
            let range = self.scratch_result(first_numbers.push(&numbers))?;
            unresolved.iter_mut().for_each(|symbol| symbol.place += range.start as u64);
            push(unresolved)?;
            Ok::<_, Error>(range)
        })?;
        let first_numbers = self.scratch_result(first_numbers.finish())?;
        let sorter = sorter.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sorted = self.scratch_result(sorter.finish())?;
        // The numbers of unresolved symbols by their places, each as an `IdRow`.
        let mut placed = Sorter::new(&self.scratch, self.sorter_bytes());
        let number_symbol = |symbol: &UnresolvedSymbol, number: usize| {
            if symbol.place == NO_PLACE {
                return Ok(());
            }
            let records = rows.get(usize::from(symbol.kind)).map_or(0, |rows| rows.order.len());
            // More rows than u32 has numbers are refused below.
            let row = u32::try_from(records + number).unwrap_or(UNRESOLVED);
            placed.push(IdRow { id: symbol.place, row })
        };
        let written =
            parallel::step("number symbols", || self.write_unresolved(sorted, number_symbol));
        let unresolved = self.scratch_result(written)?;
        for (entity, rows) in Entity::all().zip(rows) {
            check_rows(entity, (rows.order.len() + unresolved.range(entity as u8).len()) as u64)?;
        }
        // Second pass: fills the numbers of unresolved symbols in.
        let fill = || fill_unresolved(&first_numbers, placed.finish()?, &self.scratch);
        let numbers = self.scratch_result(parallel::step("fill numbers", fill))?;
        numbers.read_by_page();
        let mut by_segment = first_pass.into_iter();
        let ranges =
            segments.iter().map(|of| by_segment.by_ref().take(of.len()).collect()).collect();
        Ok(ResolvedSymbols { ranges, numbers, unresolved, renumbering: None })
    }
}

/// The numbers of all segments in one file, in the order threads push them. One file per segment
/// would exceed the limit of mappings: a run may have thousands of segments.
struct NumbersFile(Mutex<(BufWriter<File>, usize)>);

impl NumbersFile {
    fn new(scratch: &Path) -> io::Result<NumbersFile> {
        let file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
        Ok(NumbersFile(Mutex::new((file, 0))))
    }

    /// Appends a segment's numbers and returns their range.
    fn push(&self, numbers: &[u32]) -> io::Result<Range<usize>> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, count) = &mut *guard;
        file.write_all(&bytes)?;
        let from = *count;
        *count += numbers.len();
        Ok(from..*count)
    }

    fn finish(self) -> io::Result<Column> {
        let (file, _) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        Column::map(file, size_of::<u32>())
    }
}

/// Replaces a merged id by the id at the end of its chain.
fn follow_redirects(kind: u8, id: u64, rows: &[EntityRows]) -> u64 {
    match Entity::from_index(kind) {
        Some(entity) if id != NO_ID => rows[entity as usize].redirects.end(id),
        _ => id,
    }
}

/// First pass: the row of each symbol that has a record, and the other symbols with their places in the segment.
/// Symbols ascend by kind and id, so the lookups read the ids of each entity front to back.
fn find_records(
    segment: &Segment<'_>,
    rows: &[EntityRows],
) -> Result<(Vec<u32>, Vec<UnresolvedSymbol>)> {
    segment.read_symbols_ahead();
    let mut numbers = vec![UNRESOLVED; segment.symbols.count()];
    let mut unresolved = Vec::new();
    for at in segment.symbols.ascending() {
        let (kind, id) = segment.symbols.subject(at).ok_or_else(inconsistent_object)?;
        let id = follow_redirects(kind, id, rows);
        let entity = Entity::from_index(kind);
        match entity.and_then(|entity| rows[entity as usize].by_id.row_of(id)) {
            Some(row) => *numbers.get_mut(at as usize).ok_or_else(inconsistent_object)? = row,
            None => {
                let symbol = segment.symbols.get(at).ok_or_else(inconsistent_object)?;
                let symbol = UnresolvedSymbol::from(Symbol { id, ..symbol });
                unresolved.push(UnresolvedSymbol { place: at.into(), ..symbol });
            }
        }
    }
    Ok((numbers, unresolved))
}

/// Second pass: replaces each [`UNRESOLVED`] by the next number of `placed`, which ascend by place.
fn fill_unresolved(
    first: &Column,
    mut placed: Sorted<IdRow>,
    scratch: &Path,
) -> io::Result<Column> {
    let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
    for (at, number) in first.chunks().iter().enumerate() {
        let mut number = *number;
        if u32::from_le_bytes(number) == UNRESOLVED {
            let next = placed.next().transpose()?.filter(|next| next.id == at as u64);
            let next = next.ok_or_else(|| io::Error::other("a symbol has no number"))?;
            number = next.row.to_le_bytes();
        }
        file.write_all(&number)?;
    }
    Column::map(file, size_of::<u32>())
}
