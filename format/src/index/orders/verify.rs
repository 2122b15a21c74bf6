//! Demanding of an order what it promises.

use crate::index::bitset::{Bitset, CHUNK_ROWS, EMPTY_CHUNK};
use crate::index::check::{CheckError, ensure};
use crate::index::orders::{Order, PLACE_BYTES, RankSource};
use crate::index::postings::container_bytes;
use crate::schema::keys::Values;
use crate::storage::ids::Ids;

impl Order<'_> {
    /// Demands that the order, of the entity with these ids, is what it promises. The set is of all
    /// its rows and holds anything.
    pub(crate) fn verify(&self, ids: &Ids, seen: &mut Bitset) -> Result<(), CheckError> {
        self.verify_values()?;
        self.verify_places()?;
        seen.clear();
        let mut step = 0;
        let mut last = None;
        for rank in 0..self.rows() {
            if step < self.checkpoints() && self.checkpoint_rank(step)? == rank {
                self.verify_step(step, seen)?;
                step += 1;
            }
            let row = self.row_at(rank)?;
            ensure(seen.insert(row), "a row has two ranks, another none")?;
            let (code, id) = (self.code_of(row)?, ids.id(row as usize)?);
            self.verify_neighbours(rank, last, (code, id))?;
            last = Some((code, id));
        }
        ensure(step == self.checkpoints(), "the steps of its ladder do not ascend")
    }

    fn is_of_ids(&self) -> bool {
        matches!(self.source, RankSource::Ids(_))
    }

    fn verify_values(&self) -> Result<(), CheckError> {
        let (distinct, valued) = (self.layout.distinct, self.layout.valued);
        if self.is_of_ids() {
            let all = distinct == self.rows && valued == self.rows && self.layout.width == 0;
            return ensure(all, "an order of ids has a row without one");
        }
        let width = match distinct {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        ensure(self.layout.width == width, "its codes are wider or narrower than their number")?;
        ensure((distinct == 0) == (valued == 0), "it has values without rows")?;
        if matches!(self.spec.values, Values::Texts | Values::Codes) {
            return Ok(());
        }
        let mut last = None;
        for code in 0..distinct {
            let value = self.archive.u64_at(self.layout.values_from + code * 8)?;
            ensure(last.is_none_or(|last| last < value), "its values do not ascend")?;
            last = Some(value);
        }
        Ok(())
    }

    /// Demands that a row stands rightly after the one before it, given code and id of both.
    fn verify_neighbours(
        &self,
        rank: u32,
        last: Option<(u64, u64)>,
        (code, id): (u64, u64),
    ) -> Result<(), CheckError> {
        if self.is_of_ids() {
            return ensure(last.is_none_or(|(_, last)| last < id), "its ids do not ascend");
        }
        let follows = match last {
            None => code == 0,
            Some((last, _)) if code == last => true,
            Some((last, _)) => code == last + 1,
        };
        ensure(follows, "its codes do not ascend one by one")?;
        let is_by_id = last.is_none_or(|(last, last_id)| code != last || last_id < id);
        ensure(is_by_id, "rows of one value do not ascend by id")?;
        let has_value = code < self.no_code();
        ensure(has_value == (rank < self.valued()), "rows without a value do not come last")?;
        let is_last = rank + 1 == self.valued();
        ensure(!is_last || code + 1 == self.no_code(), "it has values without rows")
    }

    /// Demands that the ladder's containers lie one after another.
    fn verify_places(&self) -> Result<(), CheckError> {
        let mut at = self.layout.codes_from + self.rows * self.layout.width;
        let count = self.rows.div_ceil(CHUNK_ROWS) * self.layout.steps;
        for place in 0..count {
            let place = self.layout.places_from + place * PLACE_BYTES;
            let from = self.archive.u64_at(place)?;
            ensure(from == at as u64, "the containers of its ladder do not follow one another")?;
            at = at.saturating_add(container_bytes(self.archive.u32_at(place + 8)?));
        }
        ensure(at == self.layout.places_from, "its places do not follow its containers")
    }

    /// Demands that a step tells of the rows seen before it.
    fn verify_step(&self, step: usize, seen: &Bitset) -> Result<(), CheckError> {
        for chunk in 0..self.rows.div_ceil(CHUNK_ROWS) {
            let view = self.rows_before_checkpoint(step, chunk as u32)?;
            let mut bits = EMPTY_CHUNK;
            view.add_to(&mut bits);
            let is_true = view.is_sound() && bits == seen.chunks()[chunk];
            ensure(is_true, "a step of its ladder tells of other rows than stand before it")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::index::orders::{OrderParts, OrdersFile, OrdersWriter, RankedRow, RankedValue};
    use crate::schema::keys;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{HEADER_BYTES, Header, Kind};
    use crate::storage::ids::ColumnsWriter;

    const ROWS: u32 = 66_000;

    fn header(kind: Kind) -> Header {
        let rows = u64::from(ROWS);
        Header {
            kind,
            entity: Some(Entity::Field),
            published: rows,
            rows,
            schema_hash: schema_hash(),
        }
    }

    /// Ids that ascend with the rows.
    fn write_ids(path: &Path) {
        let mut ids = ColumnsWriter::create(path, header(Kind::Ids)).unwrap();
        (0..ROWS).for_each(|row| ids.push(u64::from(row)).unwrap());
        (0..ROWS).for_each(|row| ids.push_pair(u64::from(row), &row.to_le_bytes()).unwrap());
        ids.finish().unwrap();
    }

    /// A value of many rows, one of few, and rows without, none where the rows stand.
    fn write_orders(path: &Path) {
        let thirds = [1, 2, 0].map(|rest| (0..ROWS).filter(move |row| row % 3 == rest));
        let values = [RankedValue::Next(5), RankedValue::Next(9), RankedValue::None];
        let ranked = thirds.into_iter().zip(values).flat_map(|(rows, value)| {
            let mut value = value;
            rows.map(move |row| {
                let after =
                    if value == RankedValue::None { RankedValue::None } else { RankedValue::Same };
                Ok(RankedRow { row, value: std::mem::replace(&mut value, after) })
            })
        });
        let mut writer = OrdersWriter::create(path, header(Kind::Orders), 1).unwrap();
        writer.push(ranked, OrderParts::All { has_values: true }).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn a_change_of_any_byte_but_a_value_s_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (of_ids, of_orders) = (dir.path().join("ids"), dir.path().join("orders"));
        write_ids(&of_ids);
        write_orders(&of_orders);
        let ids = Ids::open(archive(&of_ids, Kind::Ids)).unwrap();
        let spec =
            keys::Order { path: "count".into(), values: Values::Integers, is_row_order: false };
        let whole = fs::read(&of_orders).unwrap();
        let damaged_path = dir.path().join("damaged");
        let verify = |bytes: &[u8]| -> Option<Result<(), CheckError>> {
            fs::write(&damaged_path, bytes).unwrap();
            let archive = archive(&damaged_path, Kind::Orders);
            let specs = std::slice::from_ref(&spec);
            let orders = OrdersFile::open(archive, specs, ROWS as usize).ok()?;
            let order = orders.order(0, &spec, &ids).unwrap();
            assert!(order.checkpoints() > 0);
            Some(order.verify(&ids, &mut Bitset::new(ROWS)))
        };
        verify(&whole).unwrap().unwrap();
        // Behind the values: much of rows, codes and containers; all of places and steps.
        let from = HEADER_BYTES + 2 * 8;
        let tail = whole.len() - 200;
        for at in (from..tail).step_by(7_919).chain(tail..whole.len()) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(!matches!(verify(&damaged), Some(Ok(()))), "byte {at} of {}", whole.len());
        }
        let mut unordered = whole.clone();
        unordered[HEADER_BYTES] = 10;
        assert!(matches!(verify(&unordered), Some(Err(CheckError::Violation(_)))));
    }
}
