//! From a record to the terms and values its keys name.

use std::ops::Range;

use pinakes_format::{
    entity::{Entity, NO_ID},
    fold::fold,
    keys::{End, Keys, Terms, Values},
    lists::{Term, any_row_term, integer_term, text_term},
    orders::{ordered_integer, ordered_number},
    record::gather::{Gather, Gathered, Part},
    render::RenderError,
    snapshot::Snapshot,
    with_record,
};

use super::{names::Names, read};
use crate::error::Result;

/// What an order sorts a row by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number that ascends with the value.
    Number(u64),
    /// A text: folded, and as it is.
    Text(String, String),
}

/// What rows one after another gave.
pub(super) struct Extracted {
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
pub(super) struct Extractor<'a> {
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
        let texts: std::result::Result<Vec<&str>, RenderError> =
            (0..draft.codes()).map(|code| draft.code(code)).collect();
        let texts = read(texts)?;
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
                if let Some(record) = read(self.draft.archived::<R>(row))? {
                    record.gather(&self.keys.tree, &mut |end, value| {
                        let mut taking = Taking { from: self, row, at, into: &mut extracted };
                        if outcome.is_ok() {
                            outcome = taking.take(end, value);
                        }
                    });
                }
            });
            read(outcome)?;
            extracted.end_row();
            extracted.names.end_row();
        }
        Ok(extracted)
    }

    /// Extracts the name of a row without a record.
    pub fn stray(&self, row: u32) -> Result<Extracted> {
        let mut extracted = self.nothing(0);
        if let Some(lists) = self.keys.stray_names
            && let Some(name) = read(self.draft.row_name(self.entity, row))?
        {
            let mut taking = Taking { from: self, row, at: 0, into: &mut extracted };
            taking.text(lists, &fold(name));
        }
        Ok(extracted)
    }
}

/// What lies beyond each row an end refers to; nothing where it asks for nothing beyond.
fn parents(draft: &Snapshot, end: &End) -> Result<Vec<Option<(Entity, u32)>>> {
    let Some((target, beyond)) = &end.beyond else { return Ok(Vec::new()) };
    let parent_of = |row| {
        let mut parent = None;
        with_record!(*target, R => {
            if let Some(record) = read(draft.archived::<R>(row))? {
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
    fn take(&mut self, number: usize, value: Gathered<'_>) -> std::result::Result<(), RenderError> {
        let (draft, end) = (self.from.draft, &self.from.keys.ends[number]);
        if let (Some(_), Gathered::Reference(_, row)) = (&end.beyond, value) {
            let parent = self.from.parents[number].get(row as usize).copied().flatten();
            return match (end.lists, parent) {
                (Some(lists), Some((entity, row))) => {
                    self.list(lists, &Part::Id, Gathered::Reference(entity, row), None)
                }
                _ => Ok(()),
            };
        }
        let value = match value {
            Gathered::NameOf(entity, row) => match draft.row_name(entity, row)? {
                Some(name) => Gathered::Text(name),
                None => return Ok(()),
            },
            value => value,
        };
        // Folded once for lists and order.
        let folded = match value {
            Gathered::Text(text) => Some(fold(text)),
            _ => None,
        };
        if let (Some(names), Some(folded)) = (end.names, &folded) {
            self.into.names.name(names, folded, self.row as u16);
        }
        if let Some(lists) = end.lists {
            self.list(lists, &end.part, value, folded.as_deref())?;
        }
        if let Some(order) = end.order {
            let value = self.value(order, value, folded);
            if let Some(slot) = self.into.values[order].get_mut(self.at) {
                *slot = value;
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        lists: usize,
        part: &Part,
        value: Gathered<'_>,
        folded: Option<&str>,
    ) -> std::result::Result<(), RenderError> {
        let term = match (self.from.keys.lists[lists].terms, value) {
            (Terms::Rows(_) | Terms::Presence, Gathered::Reference(entity, row)) => {
                if self.shows(part, entity, row)? {
                    self.present(lists);
                }
                if self.from.keys.lists[lists].terms != Terms::Presence {
                    self.push(lists, Term::from(row));
                }
                return Ok(());
            }
            (Terms::AnyRows, Gathered::Reference(entity, row)) => any_row_term(entity, row),
            (Terms::Values, Gathered::Integer(value)) => integer_term(value),
            (Terms::Values, Gathered::Boolean(value)) => Term::from(value),
            (Terms::Identifiers(scheme), Gathered::Text(text)) => text_term(&scheme.normal(text)),
            (Terms::Codes, Gathered::Code(code)) => match self.from.codes.get(code as usize) {
                Some((term, _)) => *term,
                None => return Err(RenderError::Record),
            },
            (Terms::Texts, Gathered::Text(_)) => {
                self.present(lists);
                self.text(lists, folded.unwrap_or_default());
                return Ok(());
            }
            (Terms::Presence, _) => {
                self.present(lists);
                return Ok(());
            }
            _ => return Err(RenderError::Record),
        };
        self.present(lists);
        self.push(lists, term);
        Ok(())
    }

    /// Whether a reference has what is asked of it: strays may lack an id or a name.
    fn shows(
        &self,
        part: &Part,
        entity: Entity,
        row: u32,
    ) -> std::result::Result<bool, RenderError> {
        let draft = self.from.draft;
        Ok(match part {
            _ if row < draft.count(entity) => true,
            Part::Name => draft.row_name(entity, row)?.is_some(),
            _ => draft.row_id(entity, row)? != NO_ID,
        })
    }

    fn present(&mut self, lists: usize) {
        let presence = &mut self.into.presence[lists];
        let low = self.row as u16;
        if presence.last() != Some(&low) {
            presence.push(low);
        }
    }

    /// A text that folds to nothing is there and is found by nothing.
    fn text(&mut self, lists: usize, folded: &str) {
        if !folded.is_empty() {
            self.push(lists, text_term(folded));
        }
    }

    fn push(&mut self, lists: usize, term: Term) {
        self.into.postings[lists].push(term << 16 | Term::from(self.row as u16));
    }

    /// The value of an order, as a number that ascends with the order.
    fn value(&self, order: usize, value: Gathered<'_>, folded: Option<String>) -> Option<Value> {
        let spec = &self.from.keys.orders[order];
        let number = match (spec.values, value) {
            (Values::Integers, Gathered::Integer(value)) => ordered_integer(value),
            (Values::Numbers, Gathered::Number(value)) => ordered_number(value),
            (Values::Days, Gathered::Day(value)) => ordered_integer(i64::from(value)),
            (Values::Moments, Gathered::Moment(value)) => ordered_integer(value),
            (Values::Codes, Gathered::Code(code)) => self.from.codes.get(code as usize)?.1,
            (Values::Texts, Gathered::Text(text)) => {
                return Some(Value::Text(folded.unwrap_or_default(), text.to_owned()));
            }
            _ => return None,
        };
        Some(Value::Number(if spec.is_descending() { !number } else { number }))
    }
}
