//! The compiler of Pinakes: dumps of scholarly metadata become a snapshot.
//!
//! Two stages, as a compiler and a linker have them. [`compile`](mod@compile) turns each input part
//! into an object, cached by content; [`link`] turns objects into a published snapshot. Both stream,
//! within the memory they are given, and the bytes that come out depend on what went in alone.

#![forbid(unsafe_code)]

pub mod cli;
pub mod compile;
mod derived;
pub mod error;
pub mod export;
mod identifier;
pub mod input;
pub mod inspect;
mod institution_types;
pub mod interrupt;
mod inverted_index;
mod iso;
mod lenient;
mod lines;
pub mod link;
pub mod mirror;
mod native;
mod object;
mod openalex;
pub mod output;
pub mod progress;
pub mod reading;
mod report;
mod rows;
pub mod selection;
pub mod shown;
mod side;
mod sort;
mod strict;
mod taxonomy_table;
mod times;
