//! The files of a snapshot: their frame, their hash tree, and their verified reading.
//!
//! - `mmap`: maps files, and survives failed reads of them. In WebAssembly `given` stands in its place: nothing can be mapped
//!   there, and a host gives the bytes.
//! - `loading`: how a file is loaded, and how it changed since.
//! - `integrity`: the hash tree over every file, and the verifier of its chunks.
//! - `header`, `archive`: the frame of an archive and its verified bytes.
//! - `absent`: chunks that are not on this disk, and how fetched ones are written.
//! - `file_writer`: writes and hashes a file.
//! - `blobs`, `ids`, `names`, `long_text`: tables of byte strings, maps of ids, names of rows,
//!   compressed texts.
//! - `manifest`, `publication`: what a snapshot consists of, and what a host publishes.
//! - `leb128`: numbers of one to nine bytes.
//! - `error`: why bytes could not be read.
//!
//! Imports `entity`.

pub mod absent;
pub mod archive;
pub mod blobs;
pub mod error;
pub mod file_writer;
#[cfg(any(target_family = "wasm", test))]
#[cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "its tests use a part"))]
pub mod given;
pub mod header;
pub mod ids;
pub mod integrity;
pub mod leb128;
pub mod loading;
pub mod long_text;
pub mod manifest;
#[cfg(not(target_family = "wasm"))]
pub mod mmap;
pub mod names;
pub mod publication;

pub use crate::storage::archive::{Archive, ArchiveError};
pub(crate) use crate::storage::archive::{
    InArchive, Reading, SHORT_SEARCH_BYTES, little_endian, search_steps,
};
pub use crate::storage::blobs::{Blobs, BlobsWriter, Spool, Spooled, unnamed_file};
pub use crate::storage::error::{FileFault, ReadError};
pub use crate::storage::file_writer::{Chunks, FileWriter, VALUES, Written, append_levels};
pub use crate::storage::header::{FORMAT_VERSION, FileKind, HEADER_BYTES, Header};
pub use crate::storage::ids::{ColumnsWriter, Ids, Redirects};
pub use crate::storage::integrity::{CHUNK_BYTES, Verifier, thread_time_working};
pub use crate::storage::loading::{FileChange, LoadMode};
pub use crate::storage::long_text::{Deflater, bytes_in, inflate, text_in};
pub use crate::storage::manifest::{
    Counts, FileEntry, ID_DIGITS, MANIFEST, Manifest, ManifestError, SubsetFilters,
};
pub use crate::storage::names::{Names, NamesWriter};

#[cfg(target_family = "wasm")]
pub use given as mmap;
