//! The footer of a Parquet file: its schema, and where the pages of its columns lie.
//!
//! ```text
//! PAR1 | pages … | footer (Thrift) | footer bytes u32 | PAR1
//! ```

use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};

use crate::read::lines::container::PARQUET_MAGIC as MAGIC;
use crate::read::parquet::fault::ParquetFault;
use crate::read::parquet::thrift::{Compact, LIST, ThriftFault};
use crate::read::part_file::PartFile;

/// The last bytes of a Parquet file whose footer is encrypted.
const ENCRYPTED_MAGIC: [u8; 4] = *b"PARE";
/// The length of the footer, and the magic number.
const TAIL_BYTES: u64 = 8;
/// Nested groups of a schema. The records of dumps need about ten: lists are two groups each.
const SCHEMA_DEPTH_MAX: usize = 64;
/// Columns and groups of a schema. Works have about 300.
const SCHEMA_ELEMENTS_MAX: usize = 10_000;
/// A row group takes more bytes than this in a footer.
const ROW_GROUP_BYTES_MIN: usize = 16;

/// Reads the footer of a file. A footer of more than `bytes_max` bytes is refused.
pub(super) fn read(
    file: &PartFile,
    file_bytes: u64,
    bytes_max: u64,
) -> Result<ParquetMetaData, ParquetFault> {
    let mut head = [0; MAGIC.len()];
    let mut tail = [0; TAIL_BYTES as usize];
    let pages_to = file_bytes
        .checked_sub(TAIL_BYTES)
        .filter(|from| *from >= MAGIC.len() as u64)
        .ok_or(ParquetFault::NoFooter)?;
    file.read_exact_at(&mut head, 0).map_err(ParquetFault::Read)?;
    file.read_exact_at(&mut tail, pages_to).map_err(ParquetFault::Read)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic == ENCRYPTED_MAGIC {
        return Err(ParquetFault::Unsupported("an encrypted footer".into()));
    }
    if magic != MAGIC {
        return Err(ParquetFault::NoFooter);
    }
    if head != MAGIC {
        return Err(ParquetFault::Footer("it does not begin as a Parquet file".into()));
    }
    let footer_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let footer_from = pages_to.checked_sub(footer_bytes).filter(|from| *from >= MAGIC.len() as u64);
    let footer_from = footer_from.ok_or_else(|| {
        ParquetFault::Footer(format!("its footer has {footer_bytes} bytes, more than the file"))
    })?;
    if footer_bytes > bytes_max {
        return Err(ParquetFault::TooMuchMemory { what: "its footer", bytes: footer_bytes });
    }
    // The cast is exact: the length has 32 bits.
    let mut footer = vec![0; footer_bytes as usize];
    file.read_exact_at(&mut footer, footer_from).map_err(ParquetFault::Read)?;
    check(&footer)?;
    let options = ParquetMetaDataOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
    ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options))
        .map_err(|error| ParquetFault::Footer(format!("its footer is not valid: {error}")))
}

/// Checks what the crate trusts: it recurses into groups as deep as the schema says, and reserves memory
/// for as many children and row groups as the footer announces.
fn check(footer: &[u8]) -> Result<(), ParquetFault> {
    let mut children = Vec::new();
    let mut row_groups = 0usize;
    // Field 2 is the schema, and field 4 lists the row groups. Field 5 of a schema element is the number of its
    // children.
    let walked = Compact::new(footer).fields(|footer, field| match (field.id, field.kind) {
        (2, LIST) => footer.structs(|element| {
            let mut count = 0;
            element.fields(|element, field| match field.id {
                5 => element.size(field).map(|size| count = size),
                _ => element.skip(field),
            })?;
            children.push(count);
            Ok(())
        }),
        (4, LIST) => footer.structs(|group| {
            row_groups += 1;
            group.fields(|group, field| group.skip(field))
        }),
        _ => footer.skip(field),
    });
    let reason = match walked {
        Err(ThriftFault::Cut) => "its footer ends too early",
        Err(ThriftFault::Malformed) => "its footer is not valid",
        // The crate reserves memory for the stated number, so the footer must have the bytes of as many groups.
        Ok(()) if row_groups > footer.len() / ROW_GROUP_BYTES_MIN => {
            "its footer lists more row groups than it holds"
        }
        Ok(()) if children.len() > SCHEMA_ELEMENTS_MAX => "its schema has more than 10,000 columns",
        Ok(()) if !is_tree(&children) => {
            "its schema is no tree of at most 64 levels; it may be nested too deeply"
        }
        Ok(()) => return Ok(()),
    };
    Err(ParquetFault::Footer(reason.into()))
}

/// Whether the numbers of children, in the order of a depth-first walk, make a tree that is not too deep.
///
/// ```text
/// [2, 0, 1, 0]    root (2) → leaf (0), group (1) → leaf (0)
/// ```
fn is_tree(children: &[u32]) -> bool {
    // The children that each open group still lacks.
    let mut open: Vec<u32> = Vec::new();
    for (at, count) in children.iter().enumerate() {
        if at > 0 {
            while open.last() == Some(&0) {
                open.pop();
            }
            match open.last_mut() {
                Some(lacking) => *lacking -= 1,
                None => return false,
            }
        }
        if *count as usize > children.len() {
            return false;
        }
        if *count > 0 {
            open.push(*count);
        }
        if open.len() > SCHEMA_DEPTH_MAX {
            return false;
        }
    }
    open.iter().all(|lacking| *lacking == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_a_tree_of_bounded_depth() {
        for good in [&[2, 0, 1, 0][..], &[1, 1, 1, 0], &[0]] {
            assert!(is_tree(good), "{good:?}");
        }
        for bad in [&[2, 0][..], &[1, 0, 0], &[u32::MAX, 0], &[0, 0]] {
            assert!(!is_tree(bad), "{bad:?}");
        }
        let nested = |groups: usize| [vec![1; groups], vec![0]].concat();
        assert!(is_tree(&nested(SCHEMA_DEPTH_MAX)) && !is_tree(&nested(SCHEMA_DEPTH_MAX + 1)));
    }
}
