//! The list of institution types: the dump's, or nine fixed types if the dump has none.

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::{Code, Id, InstitutionType, RecordWriter, Table, UtcTimestamp};

use crate::error::Result;
use crate::link::context::{broken_object, inconsistent_object};
use crate::link::record::type_sums::TypeSums;
use crate::link::resolve::unresolved::UnresolvedSymbols;
use crate::read::institution_types::{FIXED, PROVISIONAL_FROM, capitalised};

/// Lists the institution types: ids and blobs, ascending by id.
///
/// Completes the dump's types, whose linked blobs are `dump`, or makes the fixed ones if the dump has
/// none. `sums` are outputs and citations by the code of the institutions' type.
pub(crate) fn list_institution_types(
    dump: &[Vec<u8>],
    sums: &TypeSums,
    codes: &UnresolvedSymbols,
    newest_micros: Option<i64>,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut types = Vec::new();
    for blob in dump {
        let record = record::access(blob).and_then(|stored| record::read(stored.packed));
        let record: InstitutionType =
            record.map_err(broken_object(Entity::InstitutionType, None))?;
        let code = record.code.map(|code| code_text(codes, code.0)).transpose()?;
        types.push((code.unwrap_or_default(), record));
    }
    keep_newest_of_each_code(&mut types);
    if types.is_empty() {
        for (at, fixed) in FIXED.iter().enumerate() {
            let code =
                codes.code(Table::InstitutionType, fixed.code).ok_or_else(inconsistent_object)?;
            let record = InstitutionType {
                id: Id(at as u64 + 1),
                code: Some(Code(code)),
                ..InstitutionType::default()
            };
            types.push((fixed.code.to_owned(), record));
        }
    }
    // If a type has no id of its own, number all types by the order of their codes.
    if types.iter().any(|(_, record)| record.id.0 >= PROVISIONAL_FROM) {
        types.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (at, (_, record)) in types.iter_mut().enumerate() {
            record.id = Id(at as u64 + 1);
        }
    }
    types.sort_by_key(|(_, record)| record.id.0);
    let mut arena = rkyv::ser::allocator::Arena::new();
    let mut blobs = Vec::new();
    for (code, mut record) in types {
        complete(&mut record, &code, sums, newest_micros);
        let packed = record::pack(&record, &mut RecordWriter::default());
        let mut blob = Vec::new();
        record::store(&packed, &[], &mut arena, &mut blob).map_err(|_| inconsistent_object())?;
        blobs.push((record.id.0, blob));
    }
    Ok(blobs)
}

/// Keeps the newest type of each code and the smallest id: several dumps may give one code different
/// ids or none.
fn keep_newest_of_each_code(types: &mut Vec<(String, InstitutionType)>) {
    let micros = |record: &InstitutionType| record.updated_date.map(|date| date.micros);
    types.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then(micros(other).cmp(&micros(one))).then(one.id.0.cmp(&other.id.0))
    });
    types.dedup_by(|(code, record), (kept_code, kept)| {
        let is_same = code == kept_code && !code.is_empty();
        if is_same {
            kept.id.0 = kept.id.0.min(record.id.0);
        }
        is_same
    });
}

fn complete(record: &mut InstitutionType, code: &str, sums: &TypeSums, newest_micros: Option<i64>) {
    let sum = record.code.and_then(|code| sums.get(&code.0)).copied().unwrap_or_default();
    // Counts in an export of a subset are those of the full snapshot, so they are kept.
    record.outputs_count.get_or_insert(sum.outputs);
    record.cited_by_count.get_or_insert(sum.citations);
    record.name.get_or_insert_with(|| capitalised(code));
    if record.description.is_none() {
        let fixed = FIXED.iter().find(|fixed| fixed.code == code);
        record.description = fixed.map(|fixed| fixed.description.to_owned());
    }
    let newest = newest_micros.map(UtcTimestamp::from_micros);
    record.created_date = record.created_date.or(newest);
    record.updated_date = record.updated_date.or(newest);
}

fn code_text(codes: &UnresolvedSymbols, code: u32) -> Result<String> {
    codes.code_text(code).map(str::to_owned).ok_or_else(inconsistent_object)
}
