//! Writes an entity's records as lines, rendered and compressed by all threads, in row order.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use flate2::write::GzEncoder;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::Page;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::error::ReadError;
use rayon::prelude::*;

use crate::error::Error;
use crate::export::{Compression, damaged};
use crate::frontend::native::REFERENCES;
use crate::read::limits::LINE_BYTES_MAX;
use crate::terminal::progress::Bar;

/// Rows in a batch. Fixed, because each batch is compressed separately, and the bytes of an export must
/// depend on the records alone.
const BATCH_ROWS: u32 = 512;
/// Bytes of text that a batch buffers before it compresses them.
const TEXT_BYTES: usize = 1 << 20;
/// Compression level of zstd.
const ZSTD_LEVEL: i32 = 3;

/// The size of an entity's file.
pub(crate) struct Written {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of lines longer than the default of `--max-line`.
    pub long_lines: u64,
}

/// Why an entity's lines could not be written.
pub(crate) enum LinesError {
    /// The file cannot be written.
    Output(io::Error),
    /// The record of a row cannot be read.
    Record(Entity, u32, ReadError),
}

impl LinesError {
    /// Converts the error, given the path of the file.
    pub(crate) fn into_error(self, path: PathBuf) -> Error {
        match self {
            LinesError::Output(source) => Error::Output { path, source },
            LinesError::Record(entity, row, error) => damaged(entity, row as usize, &error),
        }
    }
}

impl From<io::Error> for LinesError {
    fn from(error: io::Error) -> LinesError {
        LinesError::Output(error)
    }
}

/// Consecutive rows, compressed.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    rows: u32,
    long_lines: u64,
}

/// Writes every record of an entity to a file, and syncs the file.
pub(crate) fn write(
    snapshot: &Snapshot,
    entity: Entity,
    compression: Compression,
    file: File,
    bar: &Bar,
) -> Result<Written, LinesError> {
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let mut written = Written { bytes: 0, long_lines: 0 };
    let mut write_all = |batches: &[Batch]| -> io::Result<()> {
        for batch in batches {
            file.write_all(&batch.bytes)?;
            written.bytes += batch.bytes.len() as u64;
            written.long_lines += batch.long_lines;
            bar.advance(u64::from(batch.rows));
        }
        Ok(())
    };
    let starts: Vec<u32> = (0..snapshot.count(entity)).step_by(BATCH_ROWS as usize).collect();
    let mut done: Vec<Batch> = Vec::new();
    for wave in starts.chunks(rayon::current_num_threads() * 2) {
        // Writes one wave of batches while the next is rendered.
        let (outcome, next) = rayon::join(
            || write_all(&done),
            || -> Result<Vec<Batch>, LinesError> {
                wave.par_iter()
                    .map(|from| render_batch(snapshot, entity, *from, compression))
                    .collect()
            },
        );
        outcome?;
        done = next?;
    }
    write_all(&done)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(written)
}

fn render_batch(
    snapshot: &Snapshot,
    entity: Entity,
    from: u32,
    compression: Compression,
) -> Result<Batch, LinesError> {
    let to = from.saturating_add(BATCH_ROWS).min(snapshot.count(entity));
    let mut encoder = Encoder::new(compression)?;
    let mut page = Page::for_export(snapshot);
    let mut long_lines = 0;
    for row in from..to {
        let line_from = page.out.len();
        let rendered = snapshot.render(entity, row, &mut page);
        rendered.map_err(|error| LinesError::Record(entity, row, error))?;
        if keys_of(entity).has_citations() {
            let added = add_references(snapshot, entity, row, &mut page.out);
            added.map_err(|error| LinesError::Record(entity, row, error))?;
        }
        long_lines += u64::from(page.out.len() - line_from > LINE_BYTES_MAX);
        page.out.push(b'\n');
        if page.out.len() >= TEXT_BYTES {
            encoder.write_all(&page.out)?;
            page.out.clear();
        }
    }
    encoder.write_all(&page.out)?;
    Ok(Batch { bytes: encoder.finish()?, rows: to - from, long_lines })
}

/// Adds the ids that a record refers to as the last member of its line.
fn add_references(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    line: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let ids = RecordLookup::references(snapshot, entity, row)?;
    let Some((first, others)) = ids.split_first() else { return Ok(()) };
    line.pop();
    line.extend_from_slice(format!(",\"{REFERENCES}\":[\"").as_bytes());
    entity.write_id(*first, line);
    for id in others {
        line.extend_from_slice(b"\",\"");
        entity.write_id(*id, line);
    }
    line.extend_from_slice(b"\"]}");
    Ok(())
}

/// The compressor of a batch.
enum Encoder {
    Zst(zstd::Encoder<'static, Vec<u8>>),
    Gz(GzEncoder<Vec<u8>>),
    None(Vec<u8>),
}

impl Encoder {
    fn new(compression: Compression) -> io::Result<Encoder> {
        Ok(match compression {
            Compression::Zst => {
                let mut encoder = zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zst(encoder)
            }
            Compression::Gz => {
                Encoder::Gz(GzEncoder::new(Vec::new(), flate2::Compression::default()))
            }
            Compression::None => Encoder::None(Vec::new()),
        })
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Zst(encoder) => encoder.write_all(text),
            Encoder::Gz(encoder) => encoder.write_all(text),
            Encoder::None(out) => out.write_all(text),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Zst(encoder) => encoder.finish(),
            Encoder::Gz(encoder) => encoder.finish(),
            Encoder::None(out) => Ok(out),
        }
    }
}
