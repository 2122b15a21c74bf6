//! The files of a snapshot: their frame, their hash tree, and their verified reading.
//!
//! - `mmap`: maps files, and survives failed reads of them.
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
pub mod header;
pub mod ids;
pub mod integrity;
pub mod leb128;
pub mod long_text;
pub mod manifest;
pub mod mmap;
pub mod names;
pub mod publication;
