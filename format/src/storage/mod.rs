//! `storage`.

pub mod archive;
pub mod blobs;
pub mod error;
pub mod header;
pub mod ids;
pub mod integrity;
pub mod long_text;
pub mod manifest;
pub mod mmap;
pub mod publication;
