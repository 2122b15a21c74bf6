//! Crossings: counts the rows of frequent terms, once the term lists and the orders of an entity are written.

use std::io;

use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::index::crossings::{BLOCK_RANKS, CountedRows, CrossingsWriter, FrequentTerms};
use pinakes_format::index::orders::{Order, OrdersFile};
use pinakes_format::index::term_lists::TermListsFile;
use pinakes_format::schema::{Terms, keys_of};
use pinakes_format::storage::{FileKind, ReadError};

use crate::error::Error;
use crate::link::context::{Linker, WrittenFile, unreadable};
use crate::link::index::directory::EntityDirectory;
use crate::link::take_over::TakeOver;
use crate::parallel;

/// Pairs of terms are counted by so many of their first terms at a time, each time in one task.
const FIRSTS: usize = 8;

impl Linker<'_> {
    /// Writes the counts of an entity's frequent terms.
    pub(super) fn write_crossings(
        &self,
        out: &EntityDirectory<'_>,
    ) -> Result<WrittenFile, TakeOver> {
        let (entity, keys) = (out.entity, keys_of(out.entity));
        let rows = out.draft.count(entity) as usize;
        let terms: Vec<Terms> = keys.lists.iter().map(|lists| lists.terms).collect();
        let lists = TermListsFile::open(out.open(FileKind::TermLists)?, &terms);
        let lists = lists.map_err(Error::self_check)?;
        let orders = OrdersFile::open(out.open(FileKind::Orders)?, &keys.orders, rows);
        let orders = orders.map_err(Error::self_check)?;
        let order = |number: usize| -> Result<Order<'_>, ReadError> {
            orders.order(number, &keys.orders[number], out.draft.ids(entity))
        };
        let frequent = FrequentTerms::find(&lists, keys, rows);
        let frequent = frequent.map_err(unreadable(entity, None::<u32>))?;
        let count = frequent.terms().len();
        let header = out.header(FileKind::Crossings);
        out.write(FileKind::Crossings, |path| {
            let mut writer = CrossingsWriter::create(path, header, &frequent)?;
            // The counts of several tasks are in memory before they are written.
            let ranges = |length: usize| {
                (0..count).step_by(length).map(move |from| from..count.min(from + length))
            };
            let pairs_bytes = FIRSTS * count * rows.div_ceil(CHUNK_ROWS) * size_of::<u32>();
            let together = FIRSTS * (self.index_bytes() / pairs_bytes.max(1)).max(1);
            for terms in ranges(together) {
                let firsts = terms.clone().step_by(FIRSTS);
                let firsts = firsts.map(|from| from..terms.end.min(from + FIRSTS)).collect();
                let pairs = parallel::try_map(firsts, |firsts| frequent.pairs_of(firsts));
                for counts in pairs.map_err(io::Error::other)? {
                    writer.push_pairs(&counts)?;
                }
            }
            let together = (self.index_bytes() / rows.div_ceil(BLOCK_RANKS).max(1)).max(1);
            for counted in &keys.counted {
                let first = counted.first.map(order).transpose().map_err(io::Error::other)?;
                let by = order(counted.order).map_err(io::Error::other)?;
                let rows = CountedRows::new(first, by, self.index_bytes(), writer.directory())?;
                writer.begin_order(&rows)?;
                for terms in ranges(together) {
                    let along = |term| frequent.count_along(term, &rows);
                    let counts = parallel::try_map(terms.collect(), along);
                    for counts in counts.map_err(io::Error::other)? {
                        writer.push_counts(counts)?;
                    }
                }
                writer.end_order()?;
            }
            Ok(writer.finish()?)
        })
    }
}
