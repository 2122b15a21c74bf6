//! Lower bounds of a build, with which benchmarks compare it: parts are parsed or decoded, and dropped.

use crate::compile::input::Part;
use crate::compile::part::open_rows;
use crate::error::Result;
use crate::read::lines::Lines;
use crate::read::{Batch, Container, Diagnostics, ReadLimits};

/// Decompresses and parses a part, drops the records, and returns the number of uncompressed bytes.
pub fn parse_only(part: &Part) -> Result<u64> {
    let Some((front_end, entity)) = part.kind.front_end() else { return Ok(0) };
    if Container::detect(&part.path)? == Container::Parquet {
        return each_batch(part, |batch| {
            let columns = batch.columns();
            // As of a bad line, only a build reports a bad row.
            columns.rows().for_each(|(_, row)| _ = front_end.parse_row(entity, row));
        });
    }
    let diagnostics = Diagnostics::default();
    let mut lines = Lines::open(&part.path, &ReadLimits::default(), &diagnostics)?;
    while let Some(line) = lines.next_line()? {
        let text = simdutf8::basic::from_utf8(line.bytes).unwrap_or_default();
        // A bad line counts towards the cost too; only a build reports it.
        let _ = front_end.parse_line(entity, text);
    }
    Ok(lines.offset_bytes())
}

/// Decodes the columns of a Parquet part that are read, drops them, and returns the number of uncompressed
/// bytes: the lower bound of [`parse_only`] for such a part.
pub fn decode_only(part: &Part) -> Result<u64> {
    each_batch(part, drop)
}

fn each_batch(part: &Part, mut visit: impl FnMut(Batch)) -> Result<u64> {
    let Some((front_end, entity)) = part.kind.front_end() else { return Ok(0) };
    let (limits, diagnostics) = (ReadLimits::default(), Diagnostics::default());
    let mut rows = open_rows(part, front_end, entity, &limits, &diagnostics)?;
    while let Some(batch) = rows.next_batch()? {
        visit(batch);
    }
    Ok(rows.inflated_bytes())
}
