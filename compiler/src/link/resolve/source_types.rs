//! Institution types: the dump's own or the fixed nine, with the sums of their institutions.

use std::collections::BTreeMap;

use pinakes_format::record;
use pinakes_format::record::value::{Code, Id, TABLE_FIRST, Table, UtcTimestamp};
use pinakes_format::record::{Institution, InstitutionType};
use pinakes_format::snapshot::split_blob;

use crate::error::Result;
use crate::link::broken;
use crate::link::merge::add_up;
use crate::link::resolve::taxonomy::frame;
use crate::link::resolve::unresolved::Strays;
use crate::read::institution_types::{FIXED, PROVISIONAL_FROM, capitalised};

/// Outputs and citations by the code of the institutions' type.
pub(crate) type TypeSums = BTreeMap<u32, (u64, u64)>;

/// Adds an institution's linked blob to the sums of its type.
pub(crate) fn add_institution(sums: &mut TypeSums, blob: &[u8]) -> Result<()> {
    let (archived, _) = split_blob(blob).ok_or_else(broken)?;
    let institution = record::access::<Institution>(archived).ok_or_else(broken)?;
    let Some(kind) = institution.kind.as_ref() else { return Ok(()) };
    let count = |count: &rkyv::Archived<Option<u64>>| count.as_ref().map_or(0, |n| n.to_native());
    let sum = sums.entry(kind.0.to_native()).or_default();
    *sum = add_up(*sum, (count(&institution.outputs_count), count(&institution.cited_by_count)));
    Ok(())
}

/// The list, as blobs in the order of their ids.
pub(crate) struct TypeList {
    /// Ids and blobs.
    pub types: Vec<(u64, Vec<u8>)>,
}

impl TypeList {
    /// Completes the dump's types, or makes the fixed ones where it has none.
    ///
    /// `dump` holds the linked blobs of the dump's types.
    pub(crate) fn make(
        dump: &[Vec<u8>],
        sums: &TypeSums,
        strays: &Strays,
        newest_micros: Option<i64>,
    ) -> Result<TypeList> {
        let mut types = Vec::new();
        for blob in dump {
            let (archived, _) = split_blob(blob).ok_or_else(broken)?;
            let archived = record::access::<InstitutionType>(archived).ok_or_else(broken)?;
            let record = rkyv::deserialize::<InstitutionType, rkyv::rancor::Error>(archived);
            let record = record.map_err(|_| broken())?;
            let code = record.code.map(|code| code_text(strays, code.0)).transpose()?;
            types.push((code.unwrap_or_default(), record));
        }
        one_of_each_code(&mut types);
        if types.is_empty() {
            for (at, fixed) in FIXED.iter().enumerate() {
                let code = strays.code(Table::InstitutionType, fixed.code).ok_or_else(broken)?;
                let record = InstitutionType {
                    id: Id(at as u64 + 1),
                    code: Some(Code(code)),
                    ..InstitutionType::default()
                };
                types.push((fixed.code.to_owned(), record));
            }
        }
        // Where one has no id of its own, all get theirs by the order of their codes.
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
            let archived =
                record::archive(&record, &mut arena, vec![0; 4]).map_err(|_| broken())?;
            blobs.push((record.id.0, frame(archived)?));
        }
        Ok(TypeList { types: blobs })
    }
}

/// Leaves the newest type of each code: dumps of several kinds may number one code in several ways,
/// or not at all. A number of its own outlives its record.
fn one_of_each_code(types: &mut Vec<(String, InstitutionType)>) {
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
    // What an export says of a part of a dump is of the whole.
    record.outputs_count.get_or_insert(sum.0);
    record.cited_by_count.get_or_insert(sum.1);
    record.name.get_or_insert_with(|| capitalised(code));
    if record.description.is_none() {
        let fixed = FIXED.iter().find(|fixed| fixed.code == code);
        record.description = fixed.map(|fixed| fixed.description.to_owned());
    }
    let newest = newest_micros.map(UtcTimestamp::from_micros);
    record.created_date = record.created_date.or(newest);
    record.updated_date = record.updated_date.or(newest);
}

fn code_text(strays: &Strays, code: u32) -> Result<String> {
    let first = strays.of(TABLE_FIRST).start;
    let mention = strays.get(first + code as usize).ok_or_else(broken)?;
    Ok(mention.name.unwrap_or_default().to_owned())
}
