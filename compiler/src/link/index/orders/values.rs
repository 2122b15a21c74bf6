//! Reads the value of one order from single records.

use pinakes_format::index::encoding::named_value;
use pinakes_format::record::{Gather, Gathered, PathTree};
use pinakes_format::text::fold::fold;
use pinakes_format::with_record;

use crate::link::index::extract::Extractor;
use crate::link::index::sort_key::SortText;
use crate::link::index::unchanged::Taken;

/// The values of one order. Reads the members up to the value, and no others.
pub(crate) struct OrderValues<'v> {
    extractor: &'v Extractor<'v>,
    order: usize,
    tree: PathTree,
}

impl<'v> OrderValues<'v> {
    pub(crate) fn new(extractor: &'v Extractor<'v>, order: usize) -> OrderValues<'v> {
        let keys = extractor.keys();
        let is_of_order = |end: &usize| {
            let end = &keys.ends[*end];
            end.order == Some(order) && end.beyond.is_none()
        };
        OrderValues { extractor, order, tree: keys.tree.pruned(&is_of_order) }
    }

    /// Converts the value of a record; the last one, if the record has several.
    fn read<T>(&self, row: u32, convert: impl Fn(Gathered<'_>) -> Option<T>) -> Taken<Option<T>> {
        let extractor = self.extractor;
        let read = || {
            let (mut found, mut outcome) = (None, Ok(()));
            let mut visit = |_: usize, value: Gathered<'_>| match named_value(value, extractor) {
                Ok(Some(value)) => found = convert(value),
                Ok(None) => {}
                Err(error) => outcome = Err(error),
            };
            let entity = extractor.entity();
            if let Some(mut from) = extractor.snapshot().reader(entity, row)? {
                with_record!(entity, R => R::gather(&mut from, &self.tree, &mut visit))?;
            }
            outcome.map(|()| found)
        };
        read().map_err(extractor.failure(row))
    }

    /// The sort key of a record in an order of numbers or codes.
    pub(crate) fn number(&self, row: u32) -> Taken<Option<u64>> {
        self.read(row, |value| self.extractor.order_number(self.order, value))
    }

    /// The text of a record.
    pub(crate) fn text(&self, row: u32) -> Taken<Option<String>> {
        self.read(row, |value| match value {
            Gathered::Text(text) => Some(text.to_owned()),
            _ => None,
        })
    }

    /// The sort key of a record in an order of texts.
    pub(crate) fn key(&self, row: u32) -> Taken<Option<SortText>> {
        Ok(self.text(row)?.map(|text| SortText::new(&fold(&text), &text)))
    }
}
