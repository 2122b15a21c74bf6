//! Verifies orders.

use crate::index::bitset::{Bitset, CHUNK_ROWS};
use crate::index::check::{CheckError, ensure};
use crate::index::orders::{Order, RankSource};
use crate::schema::Values;
use crate::storage::Ids;

/// The code and the id of a row.
#[derive(Clone, Copy)]
struct CodedId {
    code: u64,
    id: u64,
}

impl Order<'_> {
    /// Checks the order of the entity with these ids. `seen` has space for all rows; its content does
    /// not matter.
    pub(crate) fn verify(&self, ids: &Ids, seen: &mut Bitset) -> Result<(), CheckError> {
        self.verify_values()?;
        seen.clear();
        let mut checkpoint = 0;
        let mut last = None;
        for rank in 0..self.rows() {
            if checkpoint < self.checkpoints() && self.checkpoint_rank(checkpoint)? == rank {
                self.verify_checkpoint(checkpoint, seen)?;
                checkpoint += 1;
            }
            let row = self.row_at(rank)?;
            ensure(seen.insert(row), "a row has two ranks, another none")?;
            let ranked = CodedId { code: self.code_of(row)?, id: ids.id(row as usize)? };
            self.verify_neighbours(rank, last, ranked)?;
            let begins_value = last.is_none_or(|last: CodedId| last.code != ranked.code);
            if self.layout.has_starts() && begins_value && ranked.code < self.no_code() {
                let is_start = self.start_of(ranked.code)? == rank;
                ensure(is_start, "the first rank of a value is not where it begins")?;
            }
            last = Some(ranked);
        }
        ensure(checkpoint == self.checkpoints(), "the rank checkpoints do not ascend")?;
        self.verify_checkpoint(checkpoint, seen)
    }

    fn is_of_ids(&self) -> bool {
        matches!(self.source, RankSource::Ids(_))
    }

    fn verify_values(&self) -> Result<(), CheckError> {
        let (distinct, valued) = (self.layout.distinct, self.layout.valued);
        if self.is_of_ids() {
            let all = distinct == self.rows && valued == self.rows && self.layout.code_width == 0;
            return ensure(all, "an order of ids has a row without an id");
        }
        let width = match distinct {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        ensure(
            self.layout.code_width == width,
            "the width of codes does not fit the number of values",
        )?;
        ensure((distinct == 0) == (valued == 0), "a value has no row")?;
        if matches!(self.spec.values, Values::Texts | Values::Codes) {
            return Ok(());
        }
        let mut last = None;
        for code in 0..distinct {
            let value = self.archive.u64_at(self.layout.values_from + code * 8)?;
            ensure(last.is_none_or(|last| last < value), "the values do not ascend")?;
            last = Some(value);
        }
        Ok(())
    }

    /// Checks that a row may follow the row of the previous rank, given both.
    fn verify_neighbours(
        &self,
        rank: u32,
        last: Option<CodedId>,
        CodedId { code, id }: CodedId,
    ) -> Result<(), CheckError> {
        if self.is_of_ids() {
            return ensure(last.is_none_or(|last| last.id < id), "the ids do not ascend");
        }
        let follows = match last {
            None => code == 0,
            Some(last) => code == last.code || code == last.code + 1,
        };
        ensure(follows, "the codes do not ascend by one")?;
        let is_by_id = last.is_none_or(|last| code != last.code || last.id < id);
        ensure(is_by_id, "rows of one value do not ascend by id")?;
        let has_value = code < self.no_code();
        ensure(has_value == (rank < self.valued()), "rows without a value do not come last")?;
        let is_last = rank + 1 == self.valued();
        ensure(!is_last || code + 1 == self.no_code(), "a value has no row")
    }

    /// Checks that the intervals up to a checkpoint hold the rows of all lower ranks; those up to the end,
    /// all rows. Rows beyond the last are in interval 0.
    fn verify_checkpoint(&self, checkpoint: usize, seen: &Bitset) -> Result<(), CheckError> {
        for (chunk, seen) in (0u32..).zip(seen.chunks()) {
            if chunk as usize >= self.rows.div_ceil(CHUNK_ROWS) {
                break;
            }
            let mut expected = *seen;
            for low in (self.rows - chunk as usize * CHUNK_ROWS).min(CHUNK_ROWS)..CHUNK_ROWS {
                expected[low / 64] |= 1 << (low % 64);
            }
            let holds = self.intervals(chunk)?.within(0..checkpoint + 1) == expected;
            ensure(
                holds,
                "the intervals before a rank checkpoint do not hold the rows ranked before it",
            )?;
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
    use crate::storage::header::{FileKind, HEADER_BYTES, Header};
    use crate::storage::ids::ColumnsWriter;

    const ROWS: u32 = 66_000;

    fn header(kind: FileKind) -> Header {
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
        let mut ids = ColumnsWriter::create(path, header(FileKind::Ids)).unwrap();
        (0..ROWS).for_each(|row| ids.push(u64::from(row)).unwrap());
        (0..ROWS).for_each(|row| ids.push_pair(u64::from(row), &row.to_le_bytes()).unwrap());
        ids.finish().unwrap();
    }

    /// A third of the rows with one value, a third with another, and a third without; ranks and rows
    /// differ.
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
        let mut writer = OrdersWriter::create(path, header(FileKind::Orders), 1).unwrap();
        writer.push(ranked, OrderParts::All { has_values: true }).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn verification_refuses_a_change_of_any_byte_except_values() {
        let dir = tempfile::tempdir().unwrap();
        let (of_ids, of_orders) = (dir.path().join("ids"), dir.path().join("orders"));
        write_ids(&of_ids);
        write_orders(&of_orders);
        let ids = Ids::open(archive(&of_ids, FileKind::Ids)).unwrap();
        let spec = keys::Order {
            counts_references: false,
            path: "count".into(),
            values: Values::Integers,
            is_row_order: false,
            lists: None,
        };
        let whole = fs::read(&of_orders).unwrap();
        let damaged_path = dir.path().join("damaged");
        let verify = |bytes: &[u8]| -> Option<Result<(), CheckError>> {
            fs::write(&damaged_path, bytes).unwrap();
            let archive = archive(&damaged_path, FileKind::Orders);
            let specs = std::slice::from_ref(&spec);
            let orders = OrdersFile::open(archive, specs, ROWS as usize).ok()?;
            let order = orders.order(0, &spec, &ids).unwrap();
            assert!(order.checkpoints() > 0);
            Some(order.verify(&ids, &mut Bitset::new(ROWS)))
        };
        verify(&whole).unwrap().unwrap();
        // After the values: a sample of the rows, codes and interval numbers; all ranks of checkpoints.
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
