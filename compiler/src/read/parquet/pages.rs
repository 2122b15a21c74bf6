//! The pages of a file's columns: read one at a time, checked and decompressed.
//!
//! ```text
//! column chunk: [header | dictionary page] [header | page] [header | page] …
//! ```
//!
//! A header states the size of its page before and after compression. Both are checked against what is
//! left of the column and of the limits before the page takes memory.
//!
//! The page reader of the `parquet` crate (60.1) does not replace this one: it takes memory for the size that a header
//! states, up to 2 GiB, and tells no caller the size first. A damaged file would pass `--memory` and `--max-inflated`.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use crate::read::limits::ReadLimits;
use crate::read::parquet::fault::ParquetFault;
use crate::read::parquet::page_header::{PageHeader, PageKind};
use crate::read::parquet::thrift::ThriftFault;
use crate::read::part_file::PartFile;

/// Bytes that are read for a page header at first; few headers are longer.
const HEADER_BYTES: u64 = 256;
/// The longest page header. Only statistics make a header long.
const HEADER_BYTES_MAX: u64 = 1 << 20;
/// Memory for a decoded value at most: a view of a text, its place in lists, and the levels of nesting.
const VALUE_BYTES: u64 = 32;

/// The file whose pages are read, and what they take.
pub(super) struct PageSource {
    file: PartFile,
    pages_to: u64,
    inflated_bytes_max: u64,
    held_bytes_max: u64,
    /// Uncompressed bytes so far.
    inflated_bytes: AtomicU64,
    /// Estimated memory of the pages in use.
    held_bytes: AtomicU64,
    /// Memory of pages that the current batch may still refer to.
    released_bytes: AtomicU64,
    lacks_checksums: AtomicBool,
    /// The reason of the first failure. The errors of the `parquet` crate carry texts only.
    fault: Mutex<Option<ParquetFault>>,
}

impl PageSource {
    pub(super) fn new(file: PartFile, pages_to: u64, limits: &ReadLimits) -> PageSource {
        PageSource {
            file,
            pages_to,
            inflated_bytes_max: limits.inflated_bytes_max,
            held_bytes_max: limits.part_memory_bytes,
            inflated_bytes: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            released_bytes: AtomicU64::new(0),
            lacks_checksums: AtomicBool::new(false),
            fault: Mutex::new(None),
        }
    }

    pub(super) fn inflated_bytes(&self) -> u64 {
        self.inflated_bytes.load(Ordering::Relaxed)
    }

    /// Whether a page had no checksum.
    pub(super) fn lacks_checksums(&self) -> bool {
        self.lacks_checksums.load(Ordering::Relaxed)
    }

    /// Counts the memory of the batch before as free.
    pub(super) fn begin_batch(&self) {
        let released = self.released_bytes.swap(0, Ordering::Relaxed);
        self.held_bytes.fetch_sub(released, Ordering::Relaxed);
    }

    /// The reason of the first failure, if a page failed.
    pub(super) fn take_fault(&self) -> Option<ParquetFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn fail(&self, fault: ParquetFault) -> ParquetError {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        ParquetError::General("a page was refused".into())
    }

    /// Counts a page that is about to take memory, and returns the estimate of what it takes.
    fn hold(&self, header: &PageHeader) -> Result<u64, ParquetError> {
        let bytes = u64::from(header.uncompressed_bytes);
        if self.inflated_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > self.inflated_bytes_max
        {
            return Err(self.fail(ParquetFault::TooManyBytes));
        }
        let values = u64::from(header.values) * VALUE_BYTES;
        let taken = bytes + u64::from(header.stored_bytes) + values;
        let held = self.held_bytes.fetch_add(taken, Ordering::Relaxed) + taken;
        if held > self.held_bytes_max {
            let fault = ParquetFault::TooMuchMemory { what: "its pages", bytes: held };
            return Err(self.fail(fault));
        }
        Ok(taken)
    }

    fn release(&self, taken: u64) {
        self.released_bytes.fetch_add(taken, Ordering::Relaxed);
    }

    fn read(&self, from: u64, bytes: u64) -> Result<Vec<u8>, ParquetError> {
        // The cast is exact: the sizes of pages and headers have 32 bits.
        let mut buffer = vec![0; bytes as usize];
        let read = self.file.read_exact_at(&mut buffer, from);
        read.map_err(|error| self.fail(ParquetFault::Read(error)))?;
        Ok(buffer)
    }
}

/// The compression of a column.
enum Codec {
    Plain,
    Snappy(snap::raw::Decoder),
    Gzip,
    Zstd(zstd::bulk::Decompressor<'static>),
}

impl Codec {
    fn has(compression: Compression) -> bool {
        use Compression::{GZIP, SNAPPY, UNCOMPRESSED, ZSTD};
        matches!(compression, UNCOMPRESSED | SNAPPY | GZIP(_) | ZSTD(_))
    }

    fn new(compression: Compression) -> Result<Codec, ParquetFault> {
        match compression {
            Compression::UNCOMPRESSED => Ok(Codec::Plain),
            Compression::SNAPPY => Ok(Codec::Snappy(snap::raw::Decoder::new())),
            Compression::GZIP(_) => Ok(Codec::Gzip),
            Compression::ZSTD(_) => {
                zstd::bulk::Decompressor::new().map(Codec::Zstd).map_err(ParquetFault::Read)
            }
            other => Err(ParquetFault::Unsupported(format!("pages compressed with {other}"))),
        }
    }

    /// Appends the uncompressed form, which has exactly `bytes` bytes; `None` if the data are damaged.
    fn inflate(&mut self, stored: &[u8], bytes: usize, out: &mut Vec<u8>) -> Option<()> {
        let from = out.len();
        match self {
            Codec::Plain => out.extend_from_slice(stored),
            Codec::Snappy(decoder) => {
                if snap::raw::decompress_len(stored).ok()? != bytes {
                    return None;
                }
                out.resize(from + bytes, 0);
                decoder.decompress(stored, &mut out[from..]).ok()?;
            }
            Codec::Gzip => {
                let members = flate2::read::MultiGzDecoder::new(stored);
                members.take(bytes as u64 + 1).read_to_end(out).ok()?;
            }
            Codec::Zstd(decoder) => {
                let mut plain = Vec::with_capacity(bytes);
                decoder.decompress_to_buffer(stored, &mut plain).ok()?;
                if from == 0 {
                    *out = plain;
                } else {
                    out.extend_from_slice(&plain);
                }
            }
        }
        (out.len() - from == bytes).then_some(())
    }
}

/// Checks where the pages of a column lie, and that the compiler reads their compression.
pub(super) fn check_column(
    column: &ColumnChunkMetaData,
    pages_to: u64,
) -> Result<(), ParquetFault> {
    if column.file_path().is_some() {
        return Err(ParquetFault::Unsupported("columns in other files".into()));
    }
    if !Codec::has(column.compression()) {
        // Such as `BROTLI(BrotliLevel(1))`.
        let codec = column.compression().to_string();
        let name = codec.split('(').next().unwrap_or_default();
        return Err(ParquetFault::Unsupported(format!("pages compressed with {name}")));
    }
    let range = page_range(column).filter(|(from, to)| from <= to && *to <= pages_to);
    range.map(drop).ok_or_else(|| {
        ParquetFault::Footer(format!(
            "its footer places column `{}` outside of the file",
            column.column_path().string()
        ))
    })
}

/// Where the pages of a column begin and end.
fn page_range(column: &ColumnChunkMetaData) -> Option<(u64, u64)> {
    let data = column.data_page_offset();
    // Some writers state a dictionary at offset 0 for none.
    let dictionary = column.dictionary_page_offset().filter(|from| *from > 0);
    let from = u64::try_from(dictionary.map_or(data, |dictionary| dictionary.min(data))).ok()?;
    let to = from.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
    (from >= 4).then_some((from, to))
}

/// The row groups of a file, with the columns that are read.
pub(super) struct FileRowGroups {
    pub source: Arc<PageSource>,
    pub metadata: Arc<ParquetMetaData>,
    /// The number of each column in the file.
    pub leaves: Vec<usize>,
}

impl RowGroups for FileRowGroups {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.file_metadata().num_rows()).unwrap_or_default()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        let leaf = *self
            .leaves
            .get(column)
            .ok_or_else(|| ParquetError::General("no such column".into()))?;
        let (source, metadata) = (self.source.clone(), self.metadata.clone());
        Ok(Box::new(ColumnChunks { source, metadata, leaf, group: 0 }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The chunks of one column, one per row group.
struct ColumnChunks {
    source: Arc<PageSource>,
    metadata: Arc<ParquetMetaData>,
    leaf: usize,
    group: usize,
}

impl Iterator for ColumnChunks {
    type Item = Result<Box<dyn PageReader>, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let groups = self.metadata.row_groups();
        let column = groups.get(self.group)?.columns().get(self.leaf)?;
        self.group += 1;
        let opened = check_column(column, self.source.pages_to)
            .and_then(|()| ChunkPages::new(self.source.clone(), column));
        Some(match opened {
            Ok(pages) => Ok(Box::new(pages)),
            Err(fault) => Err(self.source.fail(fault)),
        })
    }
}

impl PageIterator for ColumnChunks {}

/// The pages of one column in one row group.
struct ChunkPages {
    source: Arc<PageSource>,
    codec: Codec,
    /// Where the next header begins, or the page of a header that was read.
    at: u64,
    to: u64,
    header: Option<PageHeader>,
    /// Memory of the page in use, and of the dictionary.
    page_taken: u64,
    dictionary_taken: u64,
}

impl ChunkPages {
    fn new(
        source: Arc<PageSource>,
        column: &ColumnChunkMetaData,
    ) -> Result<ChunkPages, ParquetFault> {
        let (at, to) = page_range(column).unwrap_or_default();
        let codec = Codec::new(column.compression())?;
        Ok(ChunkPages { source, codec, at, to, header: None, page_taken: 0, dictionary_taken: 0 })
    }

    /// Reads the header of the next page of values or of a dictionary, unless it was read.
    fn peek(&mut self) -> Result<Option<PageHeader>, ParquetError> {
        while self.header.is_none() && self.at < self.to {
            let header = self.read_header()?;
            match header.kind {
                PageKind::Other => self.at += u64::from(header.stored_bytes),
                _ => self.header = Some(header),
            }
        }
        Ok(self.header)
    }

    fn read_header(&mut self) -> Result<PageHeader, ParquetError> {
        let left = self.to - self.at;
        let mut window = HEADER_BYTES;
        loop {
            let bytes = self.source.read(self.at, window.min(left))?;
            match PageHeader::read(&bytes) {
                Ok((header, header_bytes)) => {
                    self.at += header_bytes as u64;
                    if u64::from(header.stored_bytes) > self.to - self.at {
                        return Err(self.damaged("a page is longer than its column"));
                    }
                    return Ok(header);
                }
                Err(ThriftFault::Cut) if window < left.min(HEADER_BYTES_MAX) => window *= 16,
                Err(_) => return Err(self.damaged("a page header is not valid")),
            }
        }
    }

    fn damaged(&self, reason: &str) -> ParquetError {
        let reason = format!("{reason}, at byte {} of the file", self.at);
        self.source.fail(ParquetFault::Page(reason))
    }

    fn read_page(&mut self, header: PageHeader) -> Result<Page, ParquetError> {
        // The new page counts before the page before is released: both are in memory at the same time.
        let taken = self.source.hold(&header)?;
        let last = match header.kind {
            PageKind::Dictionary { .. } => &mut self.dictionary_taken,
            _ => &mut self.page_taken,
        };
        self.source.release(std::mem::replace(last, taken));

        // The checksum is of the stored bytes.
        let stored = self.source.read(self.at, header.stored_bytes.into())?;
        match header.checksum {
            Some(sum) if crc32fast::hash(&stored) != sum => {
                return Err(self.damaged("a page differs from its checksum"));
            }
            Some(_) => {}
            None => self.source.lacks_checksums.store(true, Ordering::Relaxed),
        }
        let buf = self.inflate(&header, stored)?;
        self.at += u64::from(header.stored_bytes);
        let encoding = |number: i32| {
            let known = Encoding::VARIANTS.iter().find(|encoding| **encoding as i32 == number);
            known.copied().ok_or_else(|| {
                self.source.fail(ParquetFault::Unsupported(format!("encoding {number}")))
            })
        };
        Ok(match header.kind {
            PageKind::Dictionary { encoding: number, is_sorted } => Page::DictionaryPage {
                buf,
                num_values: header.values,
                encoding: encoding(number)?,
                is_sorted,
            },
            PageKind::Data { encoding: number, def_levels, rep_levels } => Page::DataPage {
                buf,
                num_values: header.values,
                encoding: encoding(number)?,
                def_level_encoding: encoding(def_levels)?,
                rep_level_encoding: encoding(rep_levels)?,
                statistics: None,
            },
            PageKind::DataV2 { encoding: number, nulls, rows, def_bytes, rep_bytes, .. } => {
                // The crate cuts the levels off without a check.
                if def_bytes as usize + rep_bytes as usize > buf.len() {
                    return Err(self.damaged("a page is shorter than its levels"));
                }
                Page::DataPageV2 {
                    buf,
                    num_values: header.values,
                    encoding: encoding(number)?,
                    num_nulls: nulls,
                    num_rows: rows,
                    def_levels_byte_len: def_bytes,
                    rep_levels_byte_len: rep_bytes,
                    // `inflate` has inflated the values.
                    is_compressed: false,
                    statistics: None,
                }
            }
            PageKind::Other => return Err(self.damaged("a page is of an unknown kind")),
        })
    }

    /// Decompresses a page. The levels of a page of version 2 are never compressed.
    fn inflate(&mut self, header: &PageHeader, stored: Vec<u8>) -> Result<Bytes, ParquetError> {
        let uncompressed = header.uncompressed_bytes as usize;
        let (levels, is_compressed) = match header.kind {
            PageKind::DataV2 { def_bytes, rep_bytes, is_compressed, .. } => {
                (def_bytes as usize + rep_bytes as usize, is_compressed)
            }
            _ => (0, true),
        };
        if !is_compressed || matches!(self.codec, Codec::Plain) {
            return Ok(stored.into());
        }
        let mut plain = Vec::new();
        let inflated = stored.split_at_checked(levels).and_then(|(levels, values)| {
            plain.extend_from_slice(levels);
            let bytes = uncompressed.checked_sub(levels.len())?;
            // A page of nulls alone stores no values, and no compressed form of none.
            if bytes == 0 { Some(()) } else { self.codec.inflate(values, bytes, &mut plain) }
        });
        inflated.ok_or_else(|| self.damaged("a page does not decompress to its size"))?;
        Ok(plain.into())
    }
}

impl Drop for ChunkPages {
    fn drop(&mut self) {
        self.source.release(self.page_taken + self.dictionary_taken);
    }
}

impl Iterator for ChunkPages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for ChunkPages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let Some(header) = self.peek()? else { return Ok(None) };
        self.header = None;
        self.read_page(header).map(Some)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        let Some(header) = self.peek()? else { return Ok(None) };
        let num_rows = match header.kind {
            PageKind::DataV2 { rows, .. } => Some(rows as usize),
            _ => None,
        };
        let is_dict = matches!(header.kind, PageKind::Dictionary { .. });
        let num_levels = (!is_dict).then_some(header.values as usize);
        Ok(Some(PageMetadata { num_rows, num_levels, is_dict }))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        if let Some(header) = self.peek()? {
            self.header = None;
            self.at += u64::from(header.stored_bytes);
        }
        Ok(())
    }
}
