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

#[cfg(target_family = "wasm")]
pub use given as mmap;
