//! One expression of a filter as sets of rows that indexes hold.
//!
//! A side is the union of its atoms, or what is left beside it. Each atom can tell the rows of one
//! chunk without touching those of others.

use std::ops::Range;

use super::{AnswerError, Expression, Operand, range::ValueRange};
use crate::{
    entity::Entity,
    keys::{Index, Terms, keys_of},
    lists::{Term, any_row_term},
    postings::{Bits, CHUNK_ROWS, NO_BITS, Postings, View},
    render::RenderError,
    snapshot::{Found, Snapshot},
};

/// Lists in one side beyond which the small ones are gathered into one set.
const LISTS_MAX: usize = 8;
/// Rows a list has in a chunk, on average, to be asked chunk by chunk rather than gathered.
const CHUNK_ROWS_FEW: u32 = 4;

/// Rows that an index holds together.
pub(super) enum Atom<'s> {
    /// These, ascending.
    Points(Vec<u32>),
    /// The rows from one to another.
    Rows(Range<u32>),
    /// A posting list.
    List(Postings<'s>),
    /// All but a posting list.
    Absent(Postings<'s>),
    /// The rows with certain values.
    Values(ValueRange<'s>),
    /// Rows by a bit each, of whole chunks.
    Bits(Vec<u64>),
}

/// One expression.
pub(super) struct Side<'s> {
    pub is_negated: bool,
    pub atoms: Vec<Atom<'s>>,
    /// The expression as it was written.
    pub text: String,
}

impl<'s> Side<'s> {
    /// Finds the sets of an expression.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged.
    pub fn resolve(
        snapshot: &'s Snapshot,
        entity: Entity,
        expression: &Expression,
    ) -> Result<Side<'s>, AnswerError> {
        let mut atoms = Vec::new();
        for operand in &expression.operands {
            Resolving { snapshot, entity, atoms: &mut atoms }.operand(expression.index, operand)?;
        }
        let mut side =
            Side { is_negated: expression.is_negated, atoms, text: expression.text.clone() };
        side.gather_points(snapshot.count(entity).div_ceil(CHUNK_ROWS as u32))?;
        Ok(side)
    }

    /// Brings many small sets together, so that a chunk asks one and not each of them.
    fn gather_points(&mut self, chunks: u32) -> Result<(), RenderError> {
        let is_small = |atom: &Atom<'_>| match atom {
            Atom::List(list) => list.count() <= chunks.saturating_mul(CHUNK_ROWS_FEW),
            Atom::Points(_) => true,
            _ => false,
        };
        if self.atoms.iter().filter(|atom| is_small(atom)).count() <= LISTS_MAX {
            return Ok(());
        }
        let (small, mut kept): (Vec<_>, Vec<_>) = self.atoms.drain(..).partition(is_small);
        let mut points = Vec::new();
        for atom in small {
            match atom {
                Atom::List(list) => list.each(|row| {
                    points.push(row);
                    true
                })?,
                Atom::Points(rows) => points.extend(rows),
                _ => {}
            }
        }
        points.sort_unstable();
        points.dedup();
        kept.push(Atom::Points(points));
        self.atoms = kept;
        Ok(())
    }

    /// How many rows it holds at most, of so many.
    pub fn count_max(&self, rows: u32) -> u64 {
        let union: u64 = self.atoms.iter().map(|atom| atom.count_max(rows)).sum();
        match self.is_negated {
            false => union.min(u64::from(rows)),
            // One set alone is left out exactly.
            true if self.atoms.len() == 1 => u64::from(rows).saturating_sub(union),
            true => u64::from(rows),
        }
    }
}

/// Finds the sets of one operand.
struct Resolving<'a, 's> {
    snapshot: &'s Snapshot,
    entity: Entity,
    atoms: &'a mut Vec<Atom<'s>>,
}

impl<'s> Resolving<'_, 's> {
    fn operand(&mut self, index: Index, operand: &Operand) -> Result<(), RenderError> {
        match (index, operand) {
            (_, Operand::Nothing) | (Index::Ids, Operand::Null) => {}
            (Index::Ids, Operand::Record(entity, id)) => {
                let row = self.record(*entity, *id)?;
                self.atoms.extend(row.map(|row| Atom::Points(vec![row])));
            }
            (Index::Lists(lists), operand) => self.in_lists(lists, operand)?,
            (Index::Presence(lists), Operand::Presence(is_there)) => {
                let presence = self.snapshot.lists(self.entity)?.presence(lists)?;
                let atom = if *is_there { Atom::List(presence) } else { Atom::Absent(presence) };
                self.atoms.push(atom);
            }
            (Index::Names { named, .. }, Operand::Null) => {
                let presence = self.snapshot.lists(self.entity)?.presence(named)?;
                self.atoms.push(Atom::Absent(presence));
            }
            (Index::Names { entity, rows, .. }, Operand::Term(name)) => {
                self.by_name(entity, rows, *name)?;
            }
            (Index::Order(order), operand) => self.in_order(order, operand)?,
            (Index::Words, Operand::Words(words)) => self.by_words(words)?,
            // No other operand is read for these.
            _ => return Err(RenderError::Record),
        }
        Ok(())
    }

    /// The row of a record, where a merged id leads to the record it lives in.
    fn record(&self, entity: Entity, id: u64) -> Result<Option<u32>, RenderError> {
        match self.snapshot.find(entity, id)? {
            Found::Row(row) => Ok(Some(row)),
            Found::Absent => Ok(None),
            Found::Merged(into) => match self.snapshot.find(entity, into)? {
                Found::Row(row) => Ok(Some(row)),
                _ => Ok(None),
            },
        }
    }

    fn in_lists(&mut self, lists: usize, operand: &Operand) -> Result<(), RenderError> {
        let file = self.snapshot.lists(self.entity)?;
        let spec = keys_of(self.entity).lists.get(lists).ok_or(RenderError::Record)?;
        match operand {
            Operand::Null => self.atoms.push(Atom::Absent(file.presence(lists)?)),
            Operand::Term(term) => self.atoms.extend(file.find(lists, *term)?.map(Atom::List)),
            Operand::Record(entity, id) => {
                let strays = || self.snapshot.strays(*entity, *id);
                let rows = match self.record(*entity, *id)? {
                    Some(row) => row..row + 1,
                    None => strays()?,
                };
                for row in rows {
                    let term = match spec.terms {
                        Terms::AnyRows => any_row_term(*entity, row),
                        _ => Term::from(row),
                    };
                    self.atoms.extend(file.find(lists, term)?.map(Atom::List));
                }
            }
            Operand::Between(low, high) => {
                let mut at = file.lower_bound(lists, Term::from(*low))?;
                let end = file.lower_bound(lists, Term::from(*high) + 1)?;
                while at < end {
                    self.atoms.push(Atom::List(file.postings(lists, at)?));
                    at += 1;
                }
            }
            Operand::Presence(_) | Operand::Words(_) | Operand::Nothing => {
                return Err(RenderError::Record);
            }
        }
        Ok(())
    }

    /// The rows that refer to a record, or to a stray, with this name.
    fn by_name(&mut self, target: Entity, lists: usize, name: Term) -> Result<(), RenderError> {
        let keys = keys_of(target);
        let names = self.snapshot.lists(target)?;
        let own = match keys.filter("name") {
            Some((_, Index::Lists(own))) => Some(own),
            _ => None,
        };
        let file = self.snapshot.lists(self.entity)?;
        for lists_of_names in own.into_iter().chain(keys.stray_names) {
            let Some(named) = names.find(lists_of_names, name)? else { continue };
            let mut rows = Vec::new();
            named.each(|row| {
                rows.push(row);
                true
            })?;
            for row in rows {
                self.atoms.extend(file.find(lists, Term::from(row))?.map(Atom::List));
            }
        }
        Ok(())
    }

    /// The rows whose names hold a word with each of these beginnings.
    fn by_words(&mut self, words: &[String]) -> Result<(), RenderError> {
        let lists = keys_of(self.entity).words.ok_or(RenderError::Record)?;
        let file = self.snapshot.lists(self.entity)?;
        let mut found = Vec::with_capacity(words.len());
        for word in words {
            let places = self.snapshot.words_beginning(self.entity, word)?;
            let lists: Result<Vec<Postings<'s>>, RenderError> =
                places.map(|place| file.postings(lists, place as usize)).collect();
            found.push(lists?);
        }
        // The rarest word first: what is left of it only shrinks.
        found.sort_by_cached_key(|lists| count_max(lists));
        let mut found = found.into_iter();
        let Some(rarest) = found.next() else { return Ok(()) };
        let rows = self.snapshot.count(self.entity);
        if count_max(&rarest) <= u64::from(rows / 32) {
            let mut points = rows_of_lists(&rarest)?;
            for lists in found {
                let bits = bits_of_lists(&lists, rows)?;
                let is_in = |row: u32| {
                    bits.get(row as usize / 64).is_some_and(|word| word & (1 << (row % 64)) != 0)
                };
                points.retain(|row| is_in(*row));
            }
            self.atoms.push(Atom::Points(points));
            return Ok(());
        }
        let mut bits = bits_of_lists(&rarest, rows)?;
        for lists in found {
            let other = bits_of_lists(&lists, rows)?;
            bits.iter_mut().zip(&other).for_each(|(bit, word)| *bit &= word);
        }
        self.atoms.push(Atom::Bits(bits));
        Ok(())
    }

    fn in_order(&mut self, order: usize, operand: &Operand) -> Result<(), RenderError> {
        let order = self.snapshot.order(self.entity, order)?;
        let atom = match operand {
            Operand::Null => ValueRange::without_value(order)?.into_atom(),
            Operand::Between(low, high) => {
                ValueRange::new(order, order.codes_between(*low, *high)?)?.into_atom()
            }
            _ => return Err(RenderError::Record),
        };
        self.atoms.push(atom);
        Ok(())
    }
}

/// How many rows a chunk has.
pub(super) fn rows_of(rows: u32, chunk: u32) -> u32 {
    (rows - (chunk << 16)).min(CHUNK_ROWS as u32)
}

/// Sets the bits of all rows a chunk has.
pub(super) fn fill(bits: &mut Bits, rows: u32, chunk: u32) {
    set_range(bits, 0..rows_of(rows, chunk));
}

fn set_range(bits: &mut Bits, range: Range<u32>) {
    for (at, word) in bits.iter_mut().enumerate() {
        let first = at as u32 * 64;
        let from = range.start.clamp(first, first + 64) - first;
        let to = range.end.clamp(first, first + 64) - first;
        if from < to {
            let below = |bit: u32| if bit == 64 { u64::MAX } else { (1 << bit) - 1 };
            *word |= below(to) & !below(from);
        }
    }
}

impl<'s> Atom<'s> {
    /// How many rows it holds, of so many.
    pub fn count_max(&self, rows: u32) -> u64 {
        match self {
            Atom::Points(points) => points.len() as u64,
            Atom::Rows(range) => range.len() as u64,
            Atom::List(list) => u64::from(list.count()),
            Atom::Absent(list) => u64::from(rows.saturating_sub(list.count())),
            Atom::Values(values) => values.count() as u64,
            Atom::Bits(bits) => bits.iter().map(|word| u64::from(word.count_ones())).sum(),
        }
    }

    /// What it is, for plans.
    pub fn name(&self) -> &'static str {
        match self {
            Atom::Points(_) => "rows",
            Atom::Rows(_) => "row interval",
            Atom::List(_) => "list",
            Atom::Absent(_) => "all but a list",
            Atom::Values(_) => "value range",
            Atom::Bits(_) => "set of rows",
        }
    }

    /// The rows of a chunk, where they lie as such; `None` where they have to be worked out.
    pub fn view(&self, chunk: u32) -> Result<Option<View<'s>>, RenderError> {
        match self {
            Atom::List(list) => list.view(chunk).map(Some),
            _ => Ok(None),
        }
    }

    /// Sets the bits of its rows in a chunk.
    pub fn add_to(&self, rows: u32, chunk: u32, bits: &mut Bits) -> Result<(), RenderError> {
        let first = u64::from(chunk) << 16;
        match self {
            Atom::Points(points) => add_points(points, chunk, bits),
            Atom::Rows(range) => {
                let within = |row: u32| (u64::from(row).max(first) - first).min(CHUNK_ROWS as u64);
                set_range(bits, within(range.start) as u32..within(range.end) as u32);
            }
            Atom::List(list) => list.view(chunk)?.add_to(bits),
            Atom::Absent(list) => {
                let mut absent = NO_BITS;
                fill(&mut absent, rows, chunk);
                list.view(chunk)?.take_from(&mut absent);
                bits.iter_mut().zip(&absent).for_each(|(bit, word)| *bit |= word);
            }
            Atom::Values(values) => values.add_to(chunk, bits)?,
            Atom::Bits(own) => {
                let words = own.iter().skip(chunk as usize * bits.len());
                bits.iter_mut().zip(words).for_each(|(bit, word)| *bit |= word);
            }
        }
        Ok(())
    }

    /// Whether a row is among them. The view is its own of the row's chunk, where it has one.
    pub fn contains(&self, view: Option<&View<'_>>, row: u32) -> Result<bool, RenderError> {
        Ok(match self {
            Atom::Points(points) => points.binary_search(&row).is_ok(),
            Atom::Rows(range) => range.contains(&row),
            Atom::List(_) => view.is_some_and(|view| view.contains(row as u16)),
            Atom::Absent(list) => !list.view(row >> 16)?.contains(row as u16),
            Atom::Values(values) => values.contains(row)?,
            Atom::Bits(bits) => {
                bits.get(row as usize / 64).is_some_and(|word| word & (1 << (row % 64)) != 0)
            }
        })
    }
}

/// Those of ascending rows that lie in a chunk.
pub(super) fn points_of(points: &[u32], chunk: u32) -> &[u32] {
    let from = points.partition_point(|row| row >> 16 < chunk);
    let to = points.partition_point(|row| row >> 16 <= chunk);
    &points[from..to]
}

/// Sets the bits of those of ascending rows that lie in a chunk.
pub(super) fn add_points(points: &[u32], chunk: u32, bits: &mut Bits) {
    for low in points_of(points, chunk).iter().map(|row| row & 0xffff) {
        bits[low as usize / 64] |= 1 << (low % 64);
    }
}

/// How many rows lists have together, at most.
fn count_max(lists: &[Postings<'_>]) -> u64 {
    lists.iter().map(|list| u64::from(list.count())).sum()
}

/// The rows of lists, ascending.
fn rows_of_lists(lists: &[Postings<'_>]) -> Result<Vec<u32>, RenderError> {
    let mut rows = Vec::with_capacity(count_max(lists) as usize);
    for list in lists {
        list.each(|row| {
            rows.push(row);
            true
        })?;
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// A bit for each row of lists, of so many rows in whole chunks.
fn bits_of_lists(lists: &[Postings<'_>], rows: u32) -> Result<Vec<u64>, RenderError> {
    let mut bits = vec![0u64; rows.div_ceil(CHUNK_ROWS as u32) as usize * CHUNK_ROWS / 64];
    for list in lists {
        list.each(|row| {
            if let Some(word) = bits.get_mut(row as usize / 64) {
                *word |= 1 << (row % 64);
            }
            true
        })?;
    }
    Ok(bits)
}
