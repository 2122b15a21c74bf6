//! From a record to the terms and values its keys name.

use std::ops::Range;

use pinakes_format::entity::Entity;
use pinakes_format::index::encoding::{
    ReferenceLookup, folded_term, index_entry, named_value, order_value,
};
use pinakes_format::index::term_lists::{Term, text_term};
use pinakes_format::record::gather::{Gather, Gathered, PathTarget};
use pinakes_format::schema::keys::{Keys, PathUse, Values};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::fold::fold;
use pinakes_format::with_record;

use crate::error::Result;
use crate::link::context::readable;
use crate::link::index::names::Names;
use crate::link::index::value::{Text, Value};

/// What rows one after another gave.
pub(crate) struct Extracted {
    /// For each lists, the terms with the low half of their row in the lowest 16 bits.
    pub postings: Vec<Vec<Term>>,
    /// For each lists, the low halves of the rows that have a value.
    pub presence: Vec<Vec<u16>>,
    /// For each order, the value of each row.
    pub values: Vec<Vec<Option<Value>>>,
    /// The names.
    pub names: Names,
    /// For each lists, where the terms of the row under way begin.
    row_from: Vec<usize>,
}

impl Extracted {
    /// Drops what the row just extracted holds more than once.
    fn end_row(&mut self) {
        for (postings, from) in self.postings.iter_mut().zip(&mut self.row_from) {
            if postings.len() > *from + 1 {
                postings[*from..].sort_unstable();
                let mut kept = *from + 1;
                for at in *from + 1..postings.len() {
                    if postings[at] != postings[kept - 1] {
                        postings[kept] = postings[at];
                        kept += 1;
                    }
                }
                postings.truncate(kept);
            }
            *from = postings.len();
        }
    }
}

/// Extracts the rows of an entity.
pub(crate) struct Extractor<'a> {
    draft: &'a Snapshot,
    entity: Entity,
    keys: &'static Keys,
    /// By code, its term and its place among all codes by text.
    codes: Vec<(Term, u64)>,
    /// By end, for each row it refers to, what lies beyond: a node of the taxonomy's parent. They
    /// are few, and each is asked for by many records.
    parents: Vec<Vec<Option<(Entity, u32)>>>,
}

impl<'a> Extractor<'a> {
    pub fn new(draft: &'a Snapshot, entity: Entity, keys: &'static Keys) -> Result<Extractor<'a>> {
        let texts: std::result::Result<Vec<&str>, ReadError> =
            (0..draft.codes()).map(|code| draft.code(code)).collect();
        let texts = readable(texts)?;
        let mut by_text: Vec<(String, &str, usize)> =
            texts.iter().enumerate().map(|(code, text)| (fold(text), *text, code)).collect();
        by_text.sort_unstable();
        let mut codes: Vec<(Term, u64)> =
            texts.iter().map(|text| (text_term(&text.to_ascii_lowercase()), 0)).collect();
        // Two tables may hold one text; it is one value then.
        let mut place = 0;
        for (at, (folded, text, code)) in by_text.iter().enumerate() {
            let is_other = at > 0 && (&by_text[at - 1].0, by_text[at - 1].1) != (folded, *text);
            place += u64::from(is_other);
            codes[*code].1 = place;
        }
        let parents: Result<Vec<_>> = keys.ends.iter().map(|end| parents(draft, end)).collect();
        Ok(Extractor { draft, entity, keys, codes, parents: parents? })
    }

    pub fn keys(&self) -> &'static Keys {
        self.keys
    }

    pub fn entity(&self) -> Entity {
        self.entity
    }

    fn nothing(&self, rows: usize) -> Extracted {
        let lists = self.keys.lists.len();
        Extracted {
            postings: vec![Vec::new(); lists],
            presence: vec![Vec::new(); lists],
            values: vec![vec![None; rows]; self.keys.orders.len()],
            names: Names::default(),
            row_from: vec![0; lists],
        }
    }

    /// Extracts consecutive rows of one chunk.
    pub fn rows(&self, rows: Range<u32>) -> Result<Extracted> {
        let mut extracted = self.nothing(rows.len());
        for (at, row) in rows.enumerate() {
            let mut outcome = Ok(());
            with_record!(self.entity, R => {
                if let Some(record) = readable(self.draft.archived::<R>(row))? {
                    record.gather(&self.keys.tree, &mut |end, value| {
                        let mut taking = Taking { from: self, row, at, into: &mut extracted };
                        if outcome.is_ok() {
                            outcome = taking.take(end, value);
                        }
                    });
                }
            });
            readable(outcome)?;
            extracted.end_row();
            extracted.names.end_row();
        }
        Ok(extracted)
    }

    /// Extracts the name of a row without a record.
    pub fn stray(&self, row: u32) -> Result<Extracted> {
        let mut extracted = self.nothing(0);
        if let Some(lists) = self.keys.unresolved_names
            && let Some(name) = readable(self.draft.row_name(self.entity, row))?
        {
            let mut taking = Taking { from: self, row, at: 0, into: &mut extracted };
            if let Some(term) = folded_term(&fold(name)) {
                taking.push(lists, term);
            }
        }
        Ok(extracted)
    }
}

impl ReferenceLookup for Extractor<'_> {
    fn count(&self, entity: Entity) -> u32 {
        self.draft.count(entity)
    }

    fn row_id(&self, entity: Entity, row: u32) -> std::result::Result<u64, ReadError> {
        self.draft.row_id(entity, row)
    }

    fn row_name(&self, entity: Entity, row: u32) -> std::result::Result<Option<&str>, ReadError> {
        self.draft.row_name(entity, row)
    }

    fn code_term(&self, code: u32) -> std::result::Result<Term, ReadError> {
        let code = self
            .codes
            .get(code as usize)
            .ok_or(ReadError::corrupt("strings", "a code is in no table"))?;
        Ok(code.0)
    }
}

/// What lies beyond each row an end refers to; nothing where it asks for nothing beyond.
fn parents(draft: &Snapshot, end: &PathUse) -> Result<Vec<Option<(Entity, u32)>>> {
    let Some((target, beyond)) = &end.beyond else { return Ok(Vec::new()) };
    let parent_of = |row| {
        let mut parent = None;
        with_record!(*target, R => {
            if let Some(record) = readable(draft.archived::<R>(row))? {
                record.gather(beyond, &mut |_, value| {
                    if let Gathered::Reference(entity, row) = value {
                        parent = Some((entity, row));
                    }
                });
            }
        });
        Ok(parent)
    };
    (0..draft.count(*target)).map(parent_of).collect()
}

/// A row being extracted.
struct Taking<'a, 'e> {
    from: &'a Extractor<'a>,
    row: u32,
    /// Its place among the rows extracted together.
    at: usize,
    into: &'e mut Extracted,
}

impl Taking<'_, '_> {
    fn take(&mut self, number: usize, value: Gathered<'_>) -> std::result::Result<(), ReadError> {
        let end = &self.from.keys.ends[number];
        if let (Some(_), Gathered::Reference(_, row)) = (&end.beyond, value) {
            let parent = self.from.parents[number].get(row as usize).copied().flatten();
            return match (end.lists, parent) {
                (Some(lists), Some((entity, row))) => {
                    self.list(lists, &PathTarget::Id, Gathered::Reference(entity, row), None)
                }
                _ => Ok(()),
            };
        }
        let Some(value) = named_value(value, self.from)? else { return Ok(()) };
        // Folded once for all that it feeds.
        let folded = match value {
            Gathered::Text(text) if self.from.keys.is_folded(end) => Some(fold(text)),
            _ => None,
        };
        if let (Some(names), Some(folded)) = (end.names, &folded) {
            self.into.names.name(names, folded, self.row as u16);
        }
        if let Some(lists) = end.lists {
            self.list(lists, &end.target, value, folded.as_deref())?;
        }
        if let Some(order) = end.order {
            let value = self.value(order, value, folded.as_deref());
            if let Some(slot) = self.into.values[order].get_mut(self.at) {
                *slot = value;
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        lists: usize,
        part: &PathTarget,
        value: Gathered<'_>,
        folded: Option<&str>,
    ) -> std::result::Result<(), ReadError> {
        let listed =
            index_entry(self.from.keys.lists[lists].terms, part, value, folded, self.from)?;
        if listed.is_present {
            self.present(lists);
        }
        if let Some(term) = listed.term {
            self.push(lists, term);
        }
        Ok(())
    }

    fn present(&mut self, lists: usize) {
        let presence = &mut self.into.presence[lists];
        let low = self.row as u16;
        if presence.last() != Some(&low) {
            presence.push(low);
        }
    }

    fn push(&mut self, lists: usize, term: Term) {
        self.into.postings[lists].push(term << 16 | Term::from(self.row as u16));
    }

    /// The value of an order, as a number that ascends with the order.
    fn value(&self, order: usize, value: Gathered<'_>, folded: Option<&str>) -> Option<Value> {
        let spec = &self.from.keys.orders[order];
        let number = match (spec.values, value) {
            (Values::Codes, Gathered::Code(code)) => self.from.codes.get(code as usize)?.1,
            (Values::Texts, Gathered::Text(text)) => {
                return Some(Value::Text(Text::new(folded.unwrap_or_default(), text)));
            }
            (values, value) => order_value(values, value)?,
        };
        Some(Value::Number(if spec.is_descending() { !number } else { number }))
    }
}
