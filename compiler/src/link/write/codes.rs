//! The tables of codes, each code with its name.

use std::path::Path;

use pinakes_format::record::{TABLE_FIRST, TABLE_NAMES};
use pinakes_format::schema::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::{BlobsWriter, FileKind, Header};

use crate::error::{Error, Result};
use crate::link::context::{WrittenFile, inconsistent_object};
use crate::link::resolve::unresolved::UnresolvedSymbols;
use crate::read::iso;

/// Writes every table: the number of each table's first code, then text and name of each code.
pub(crate) fn write_codes(symbols: &UnresolvedSymbols, directory: &Path) -> Result<WrittenFile> {
    let tables = TABLE_FIRST..TABLE_FIRST + TABLE_NAMES.len() as u8;
    let codes = symbols.codes();
    // A reader finds a table by its first code, and its end by the next table's.
    let mut prefix = Vec::new();
    for table in tables {
        let first = symbols.range(table).start - codes.start;
        prefix.extend_from_slice(&(first as u64).to_le_bytes());
    }
    let count = codes.len() as u64;
    prefix.extend_from_slice(&count.to_le_bytes());
    let name = archive_path(FileKind::Strings, None);
    let path = directory.join(&name);
    let header = Header {
        kind: FileKind::Strings,
        entity: None,
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let refused = || Error::output(&path);
    let mut writer = BlobsWriter::create(&path, header, &prefix).map_err(refused())?;
    for index in codes {
        let code = symbols.get(index).ok_or_else(inconsistent_object)?;
        let text = code.name.ok_or_else(inconsistent_object)?;
        writer.push(Some(text.as_bytes())).map_err(refused())?;
        let name = iso::name(code.kind, text);
        writer.push(name.map(str::as_bytes)).map_err(refused())?;
    }
    Ok((name, writer.finish().map_err(refused())?))
}
